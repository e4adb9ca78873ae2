"""The text side of a generator's package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.files import PackageError, PackageFolder
from checkpoints.readers.generator import ParserOptions, read_profile
from tests.generation.packages import MARKS
from tests.generation.tokenizers import byte_fallback_library, byte_level_library
from vela_jax.generation.profile import Profile, SamplingDefaults

CONFIG = {"vocab_size": 320, "max_position_embeddings": 64, "eos_token_id": 7}


def write(root: Path, **files: Any) -> PackageFolder:
    """Write a package; double underscores in names stand for dots, None leaves a file out."""
    contents: dict[str, Any] = {"config__json": CONFIG, "tokenizer__json": byte_level_library(*MARKS).to_str(), **files}
    for name, content in contents.items():
        if content is not None:
            path = root / name.replace("__", ".")
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return PackageFolder.local(root)


def read(root: Path, options: dict[str, Any] | None = None, **files: Any) -> Profile:
    return read_profile(write(root, **files), ParserOptions.from_mapping(options or {}))


def test_the_least_a_package_has(tmp_path: Path) -> None:
    profile = read(tmp_path)
    assert (profile.max_model_len, profile.vocabulary_size, profile.eos_ids) == (64, 320, (7,))
    assert (profile.templates, profile.template_variables, profile.truncation_side) == ({}, {}, "left")
    assert profile.defaults == SamplingDefaults()
    assert (profile.reasoning_parser, profile.tool_parser) == ("qwen3", "hermes")


def test_all_that_a_package_may_say(tmp_path: Path) -> None:
    described = {
        "bos_token": {"content": "<|start|>"},
        "eos_token": "<|end|>",
        "pad_token": None,
        "additional_special_tokens": ["<think>"],
        "chat_template": "member",
        "truncation_side": "right",
    }
    generation = {"eos_token_id": [256, 9], "temperature": 0.6, "top_k": 20, "max_new_tokens": 40, "do_sample": True}
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("tools")
    profile = read(
        tmp_path, tokenizer_config__json=described, generation_config__json=generation, chat_template__jinja="file"
    )
    assert profile.templates == {"default": "file", "tool_use": "tools"}
    assert profile.template_variables == {"bos_token": "<|start|>", "eos_token": "<|end|>"}
    assert (profile.eos_ids, profile.truncation_side) == ((256, 9), "right")
    assert profile.defaults == SamplingDefaults(temperature=0.6, top_k=20, max_new_tokens=40)
    special = [profile.vocabulary.id_of(text) for text in ("<|start|>", "<|end|>", "<think>")]
    assert profile.vocabulary.special_ids == set(special)


def test_templates_by_name(tmp_path: Path) -> None:
    listed = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]
    assert read(tmp_path, tokenizer_config__json={"chat_template": listed}).templates == {
        "default": "d",
        "tool_use": "t",
    }


def test_members_of_a_text_config(tmp_path: Path) -> None:
    config = {"text_config": CONFIG, "max_position_embeddings": 5}
    assert read(tmp_path, config__json=config).max_model_len == 64


@pytest.mark.parametrize(
    ("options", "parsers"),
    [
        ({}, (None, None)),
        ({"reasoning_parser": "qwen3", "tool_call_parser": "hermes"}, ("qwen3", "hermes")),
        ({"reasoning_parser": "none", "tool_call_parser": "auto"}, (None, None)),
    ],
)
def test_parsers_of_a_package_without_their_marks(
    tmp_path: Path, options: dict[str, Any], parsers: tuple[str | None, str | None]
) -> None:
    profile = read(tmp_path, options, tokenizer__json=byte_fallback_library().to_str())
    assert (profile.reasoning_parser, profile.tool_parser) == parsers


def test_parsers_may_be_left_out(tmp_path: Path) -> None:
    profile = read(tmp_path, {"reasoning_parser": "none", "tool_call_parser": "none"})
    assert (profile.reasoning_parser, profile.tool_parser, profile.is_parsed) == (None, None, False)


@pytest.mark.parametrize(
    "options", [{"reasoning_parser": "other"}, {"tool_call_parser": 3}, {"tool_call_parser": "qwen3"}]
)
def test_parsers_that_are_not_there(options: dict[str, Any]) -> None:
    with pytest.raises(PackageError, match="parser must be one of auto, none"):
        ParserOptions.from_mapping(options)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tokenizer__json": None}, "tokenizer.json is missing"),
        ({"tokenizer__json": "{}"}, "tokenizer.json is not a tokenizer"),
        ({"config__json": {"vocab_size": 5}}, "max_position_embeddings"),
        ({"tokenizer_config__json": {"chat_template": [{"name": "a"}]}}, "chat_template must be"),
        ({"generation_config__json": {"temperature": "warm"}}, "generation_config.json"),
        ({"generation_config__json": {"eos_token_id": "x"}}, "eos_token_id"),
        ({"chat_template__jinja": "x" * (1 << 20) + "y"}, "no chat template"),
    ],
)
def test_faults_name_their_file(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(PackageError, match=message):
        read(tmp_path, **files)


def test_a_template_that_is_no_text(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(PackageError, match="not UTF-8"):
        read_profile(folder, ParserOptions())
