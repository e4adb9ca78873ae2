"""When sequences end (token-in/token-out contract, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vela_jax.generation.stopping import Finish, StopRules, StopText

EOS = 9


def rules(**changes: object) -> StopRules:
    values: dict[str, object] = {"stop_ids": frozenset({EOS}), "max_tokens": 5, "min_tokens": 0, "room": 100}
    return StopRules(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "output", "finish"),
    [
        ({}, [1], None),
        ({}, [1, EOS], Finish.STOP),
        ({"stop_ids": frozenset()}, [1, EOS], None),
        ({"min_tokens": 3}, [1, EOS], None),
        ({"min_tokens": 2}, [1, EOS], Finish.STOP),
        ({}, [1, 2, 3, 4, 5], Finish.LENGTH),
        ({}, [1, 2, 3, 4, EOS], Finish.STOP),
        ({"room": 2}, [1, 2], Finish.LENGTH),
        ({"pattern_sizes": range(1, 3), "pattern_count": 2}, [7, 3, 3], Finish.REPETITION),
        ({"pattern_sizes": range(2, 3), "pattern_count": 2}, [7, 3, 3], None),
        ({"pattern_sizes": range(2, 3), "pattern_count": 2}, [1, 2, 1, 2], Finish.REPETITION),
        ({"pattern_sizes": range(1, 2**60), "pattern_count": 3}, [1, 2, 1, 2], None),
    ],
)
def test_ids_end_a_sequence(changes: dict[str, object], output: list[int], finish: Finish | None) -> None:
    assert rules(**changes).finish(output) is finish


def feed(text: StopText, parts: Sequence[str], silent: int = 0) -> tuple[str, bool]:
    """Add parts, of which the first ones do not count; give what was emitted, and whether a stop was found."""
    out = ""
    for number, part in enumerate(parts):
        stopped = text.add(part, counts=number >= silent)
        out += text.emit(last=stopped or number == len(parts) - 1)
        if stopped:
            return out, True
    return out, False


@pytest.mark.parametrize(
    ("stops", "included", "parts", "emitted", "stopped"),
    [
        (("STOP",), False, ["a ST", "OP b"], "a ", True),
        (("STOP",), True, ["a ST", "OP b"], "a STOP", True),
        (("absent",), False, ["a ", "b"], "a b", False),
        (("OP", "STOP", "P"), False, ["x STOP"], "x ST", True),  # the same end: the first named
        (("TOP b", "STOP"), False, ["x STOP b"], "x ", True),  # the smaller end
        ((), False, ["a", "b"], "ab", False),
    ],
)
def test_stop_strings(stops: tuple[str, ...], included: bool, parts: list[str], emitted: str, stopped: bool) -> None:
    assert feed(StopText(stops, included), parts) == (emitted, stopped)


def test_a_beginning_of_a_stop_string_is_held_back_and_let_out_at_the_end() -> None:
    text = StopText(("STOP",))
    assert not text.add("abcdST", counts=True)
    assert text.emit(last=False) == "abc"
    assert not text.add("x", counts=True)
    assert text.emit(last=False) == "d"
    assert text.emit(last=True) == "STx"


def test_text_before_min_tokens_does_not_count_but_a_match_may_begin_in_it() -> None:
    assert feed(StopText(("ab",)), ["ab", "c"], silent=1) == ("abc", False)
    assert feed(StopText(("ab",)), ["xa", "bc"], silent=1) == ("x", True)
