"""What a package says of a generator beside its weights: enough to render prompts and to read answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from vela_jax.generation.vocabulary import Vocabulary

Side = Literal["left", "right"]


class SamplingDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What `generation_config.json` says of sampling; None leaves it to the general default."""

    repetition_penalty: float | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    max_new_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """A generator's text side.

    `templates` are its chat templates by name, "default" first of all; `template_variables` its special tokens as
    templates name them. `eos_ids` end a sequence, the tokenizer's own first. `max_logprobs` below 0 is no bound.
    `reasoning_parser` and `tool_parser` are names of parsers, None where the model's text is not parsed.
    """

    vocabulary: Vocabulary
    vocabulary_size: int  # of the logits, which may be padded
    max_model_len: int
    eos_ids: tuple[int, ...] = ()
    templates: Mapping[str, str] = field(default_factory=dict)
    template_variables: Mapping[str, str] = field(default_factory=dict)
    truncation_side: Side = "left"
    defaults: SamplingDefaults = field(default_factory=SamplingDefaults)
    reasoning_parser: str | None = None
    tool_parser: str | None = None
    max_logprobs: int = 20

    @property
    def max_id(self) -> int:
        """The greatest id that a prompt may hold."""
        return max(self.vocabulary.max_id, self.vocabulary_size - 1)

    @property
    def is_parsed(self) -> bool:
        """Whether answers to chat are read by a parser."""
        return self.reasoning_parser is not None or self.tool_parser is not None
