"""Reasoning, at once and in parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generation.packages import ids_of, parsed_profile
from vela_jax.generation.parsers.reasoning import ReasoningStream, prompt_state, split


@pytest.mark.parametrize(
    ("text", "thinks", "reasoning", "content"),
    [
        ("<think>R</think>A", True, "R", "A"),
        ("R</think>A", True, "R", "A"),
        ("\n<think>R</think>", True, "R", None),
        ("<think></think>A", True, None, "A"),
        ("<think>R", True, "R", None),
        ("plain", True, "plain", None),
        ("plain", False, None, "plain"),
        ("<think>R</think>A", False, "R", "A"),
        ("<think>R</think>A</think>B", True, "R", "A</think>B"),
        ("", True, None, None),
    ],
)
def test_split(text: str, thinks: bool, reasoning: str | None, content: str | None) -> None:
    assert split(text, thinks=thinks) == (reasoning, content)


@pytest.mark.parametrize(
    ("prompt", "state"), [("a", None), ("<think>", False), ("<think>x</think>", True), ("</think>a<think>", False)]
)
def test_the_last_mark_of_a_prompt_counts(prompt: str, state: bool | None) -> None:
    profile = parsed_profile()
    assert prompt_state(ids_of(profile, prompt), profile.vocabulary) is state


@settings(deadline=None, max_examples=150)
@given(
    reasoning=st.text("ab<th \n", max_size=12),
    content=st.text("ab<think>/ ", max_size=12),
    start=st.sampled_from(["", "<think>", "\n<think>"]),
    cut=st.integers(1, 6),
)
def test_parts_give_what_the_whole_gives(reasoning: str, content: str, start: str, cut: int) -> None:
    whole = f"{start}{reasoning}</think>{content}"
    stream = ReasoningStream()
    thoughts = answer = ""
    for place in range(0, len(whole), cut):
        first, second = stream.push(whole[place : place + cut])
        thoughts, answer = thoughts + first, answer + second
    assert stream.is_over
    assert (thoughts or None, None) == split(f"{start}{reasoning}</think>", thinks=True)
    assert answer == content


@pytest.mark.parametrize("text", ["<thi", "  ", "<think>a</thi", "no marks", "x<think>"])
def test_what_waits_in_vain_is_reasoning(text: str) -> None:
    stream = ReasoningStream()
    thoughts, answer = stream.push(text)
    assert (thoughts + stream.flush(), answer) == (text.removeprefix("<think>"), "")
