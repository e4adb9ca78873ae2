"""Profiles of small generators, one with parsers and one without."""

from __future__ import annotations

from functools import cache
from typing import Final

from tests.generation.tokenizers import byte_fallback, byte_level
from vela_jax.generation.profile import Profile, SamplingDefaults

MARKS: Final = ("<|start|>", "<tool_call>", "</tool_call>", "<think>", "</think>")
TEMPLATE: Final = (
    "{%- if tools %}{{- '[' }}{%- for tool in tools %}{{- tool.function.name + ' ' }}{%- endfor %}{{- ']' }}"
    "{%- endif %}"
    "{%- for message in messages %}"
    "{{- '<|start|>' + message.role + ':' + message.content + '<|end|>' }}"
    "{%- if message.reasoning %}{{- '(' + message.reasoning + ')' }}{%- endif %}"
    "{%- for call in message.tool_calls or [] %}{{- call.function.arguments | tojson }}{%- endfor %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|start|>assistant:' }}"
    "{%- if enable_thinking is defined and not enable_thinking %}{{- '<think></think>' }}{%- endif %}{%- endif %}"
)
STRICT_TEMPLATE: Final = (
    "{{- bos_token }}{%- for message in messages %}"
    "{%- if message.role not in ('user', 'assistant') %}{{- raise_exception('no ' + message.role) }}{%- endif %}"
    "{{- '[INST] ' + message.content + ' [/INST]' }}{%- endfor %}"
)


@cache
def parsed_profile() -> Profile:
    """Byte-level, with reasoning and tools; 512 tokens."""
    vocabulary = byte_level(*MARKS)
    return Profile(
        vocabulary=vocabulary,
        vocabulary_size=320,
        max_model_len=512,
        eos_ids=(256,),
        templates={"default": TEMPLATE},
        defaults=SamplingDefaults(temperature=0.6, top_p=0.95, top_k=20),
        reasoning_parser="qwen3",
        tool_parser="hermes",
    )


@cache
def plain_profile() -> Profile:
    """Byte fallback and leading-space pieces, no parsers; 256 tokens."""
    return Profile(
        vocabulary=byte_fallback("Hello", "one", "two", "end"),
        vocabulary_size=400,
        max_model_len=256,
        eos_ids=(2,),
        templates={"default": STRICT_TEMPLATE},
        template_variables={"bos_token": "<s>", "eos_token": "</s>"},
        defaults=SamplingDefaults(repetition_penalty=1.1, max_new_tokens=40),
    )


def ids_of(profile: Profile, text: str) -> list[int]:
    """The tokens of a text, without special ones around it."""
    ids: list[int] = profile.vocabulary.encode(text, add_special_tokens=False).ids
    return ids
