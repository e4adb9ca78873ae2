"""A generator's text side as its package says it: tokenizer, chat templates, generation config (no weights)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checkpoints.files import PackageError
from checkpoints.readers.reading import Members, is_integer
from vela_jax.generation.parsers import REASONING_PARSERS, TOOL_PARSERS
from vela_jax.generation.profile import Profile, SamplingDefaults
from vela_jax.generation.rendering.template import DEFAULT
from vela_jax.generation.vocabulary import Vocabulary
from vela_jax.text.tokenizer import TokenizerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checkpoints.files import PackageFolder

AUTO: Final = "auto"
NONE: Final = "none"
TEMPLATE_FILE: Final = "chat_template.jinja"
TEMPLATES_FOLDER: Final = "additional_chat_templates"
FILES: Final = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", TEMPLATE_FILE)
"""What the profile is read from; all but the first two may be missing."""
MAX_TEMPLATE_BYTES: Final = 1 << 20
_SPECIAL: Final = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@dataclass(frozen=True, slots=True)
class ParserOptions:
    """Which parsers read the answers: a name, `none`, or `auto` for what the package's marks ask for."""

    reasoning_parser: str = AUTO
    tool_call_parser: str = AUTO

    @classmethod
    def from_mapping(cls, options: Mapping[str, Any]) -> ParserOptions:
        """Read the options of a models file entry. Raises PackageError for a parser that is not there."""
        return cls(
            _choice(options, "reasoning_parser", REASONING_PARSERS), _choice(options, "tool_call_parser", TOOL_PARSERS)
        )


def read_profile(folder: PackageFolder, options: ParserOptions) -> Profile:
    """Read a package's text side. Raises PackageError naming the file at fault."""
    config = folder.json_object("config.json")
    described = _optional(folder, "tokenizer_config.json")
    generation = _optional(folder, "generation_config.json")
    vocabulary = _vocabulary(folder, described)
    templates = _templates(folder, described)
    text_config = Members("config.json", config.get("text_config") or config)
    return Profile(
        vocabulary=vocabulary,
        vocabulary_size=text_config.integer("vocab_size", 1),
        max_model_len=text_config.integer("max_position_embeddings", 1),
        eos_ids=_eos_ids(vocabulary, described, generation, text_config.values),
        templates=templates,
        template_variables={name: text for name, text in _named(described) if name in _SPECIAL},
        truncation_side="right" if described.get("truncation_side") == "right" else "left",
        defaults=_defaults(generation),
        reasoning_parser=_select(options.reasoning_parser, REASONING_PARSERS, vocabulary),
        tool_parser=_select(options.tool_call_parser, TOOL_PARSERS, vocabulary),
    )


def _choice(options: Mapping[str, Any], name: str, known: Mapping[str, tuple[str, ...]]) -> str:
    value = options.get(name, AUTO)
    if value not in (AUTO, NONE, *known):
        raise PackageError(f"option {name} must be one of {', '.join((AUTO, NONE, *known))}; found {value!r}")
    chosen: str = value
    return chosen


def _select(wanted: str, known: Mapping[str, tuple[str, ...]], vocabulary: Vocabulary) -> str | None:
    """The parser asked for; under `auto` the first whose marks are entries of the vocabulary."""
    if wanted == NONE:
        return None
    if wanted != AUTO:
        return wanted
    fits = (name for name, marks in known.items() if all(vocabulary.id_of(mark) is not None for mark in marks))
    return next(fits, None)


def _optional(folder: PackageFolder, name: str) -> dict[str, Any]:
    return folder.json_object(name) if folder.has(name) else {}


def _vocabulary(folder: PackageFolder, described: dict[str, Any]) -> Vocabulary:
    special = [text for _, text in _named(described)]
    try:
        return Vocabulary.from_json(folder.path("tokenizer.json").read_bytes(), special)
    except TokenizerError as error:
        raise PackageError(f"{error}. Fetch the file again, or serve another package") from error


def _named(described: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Special tokens that the tokenizer's config names: the member, and the token's text."""
    for name in _SPECIAL:
        text = _text_of(described.get(name))
        if text is not None:
            yield name, text
    more = described.get("additional_special_tokens") or described.get("extra_special_tokens") or ()
    for token in more.values() if isinstance(more, dict) else more:
        text = _text_of(token)
        if text is not None:
            yield "additional_special_tokens", text


def _text_of(token: Any) -> str | None:
    """A token is written as its text, or as an object that holds it."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _templates(folder: PackageFolder, described: dict[str, Any]) -> dict[str, str]:
    """The file beside the config goes before the config's member, which may be one template or several with names."""
    member = described.get("chat_template")
    templates: dict[str, str] = {}
    if isinstance(member, str):
        templates[DEFAULT] = member
    for each in member if isinstance(member, list) else ():
        if not (isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get("template"), str)):
            raise PackageError("tokenizer_config.json: chat_template must be a text or a list of name and template")
        templates[each["name"]] = each["template"]
    if folder.has(TEMPLATE_FILE):
        templates[DEFAULT] = _text_file(folder, TEMPLATE_FILE)
    for name in folder.names():
        parent, _, last = name.rpartition("/")
        if parent == TEMPLATES_FOLDER and last.endswith(".jinja"):
            templates[last.removesuffix(".jinja")] = _text_file(folder, name)
    return templates


def _text_file(folder: PackageFolder, name: str) -> str:
    path = folder.path(name)
    if path.stat().st_size > MAX_TEMPLATE_BYTES:
        raise PackageError(f"{name} has more than {MAX_TEMPLATE_BYTES} bytes: that is no chat template")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PackageError(f"{name} is not UTF-8 (byte {error.start}): fetch the file again") from error


def _defaults(generation: dict[str, Any]) -> SamplingDefaults:
    try:
        return msgspec.convert(generation, SamplingDefaults)
    except msgspec.ValidationError as error:
        raise PackageError(f"generation_config.json: {error}. Correct the file or fetch it again") from None


def _eos_ids(
    vocabulary: Vocabulary, described: dict[str, Any], generation: dict[str, Any], config: Mapping[str, Any]
) -> tuple[int, ...]:
    """The tokenizer's own end, then those of the generation config, or of the config where that names none."""
    text = _text_of(described.get("eos_token"))
    first = None if text is None else vocabulary.id_of(text)
    listed = generation.get("eos_token_id", config.get("eos_token_id"))
    more = listed if isinstance(listed, list) else [listed]
    if not all(each is None or is_integer(each) for each in more):
        raise PackageError(f"generation_config.json: eos_token_id must be an id or a list of them; found {listed!r}")
    return tuple(dict.fromkeys(each for each in (first, *more) if each is not None))
