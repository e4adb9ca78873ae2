"""The longest prefix of a text that fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.text.designs import CORPUS, file_of, tokenizer_of
from vela_jax.text.prefix import longest_prefix
from vela_jax.text.tokenizer import Encoded, TextTokenizer


def prefix_of(design: str, text: str, room: int) -> tuple[str, int]:
    tokenizer = tokenizer_of(design)
    prefix = longest_prefix(tokenizer, text, tokenizer.encode(text).offsets, room)
    np.testing.assert_array_equal(prefix.encoded.ids, tokenizer.encode(text[: prefix.end]).ids)
    return text[: prefix.end], prefix.encoded.count


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("+7😀cd", 0, ("", 0)),
        ("+7😀cd", 2, ("+7", 2)),
        ("+7😀cd", 3, ("+7", 2)),  # one of the four bytes of a character fits: the character does not
        ("+7😀cd", 5, ("+7", 2)),
        ("+7😀cd", 6, ("+7😀", 6)),
        ("+7😀cd", 7, ("+7😀c", 7)),
        ("😀", 3, ("", 0)),
        ("+7", 9, ("+7", 2)),
    ],
)
def test_metaspace_with_bytes(text: str, room: int, expected: tuple[str, int]) -> None:
    assert prefix_of("metaspace", text, room) == expected


def test_one_character_of_many_tokens() -> None:
    assert prefix_of("compatibility", "\ufdfa and more", 10) == ("", 0)
    assert prefix_of("compatibility", "7+\ufdfa and more", 10) == ("7+", 2)


@pytest.mark.parametrize("design", ["metaspace", "byte_level", "word_piece", "one_word"])
@settings(deadline=None, max_examples=50)
@given(
    pieces=st.lists(
        st.one_of(st.sampled_from((*CORPUS, "😀", "e\u0301", "\u1112\u1161\u11ab")), st.text(max_size=8)), max_size=5
    ),
    room=st.integers(0, 60),
)
def test_equals_dropping_one_character_at_a_time(design: str, pieces: list[str], room: int) -> None:
    text, tokenizer = "".join(pieces), tokenizer_of(design)
    end = max((int(end) for _, end in tokenizer.encode(text).offsets[:room]), default=0)
    while tokenizer.encode(text[:end]).count > room:
        end -= 1
    assert prefix_of(design, text, room)[0] == text[:end]


class Swelling(TextTokenizer):
    """Gives a text read alone one token a character, whatever it gave before."""

    def encode(self, text: str) -> Encoded:
        self.calls = [*getattr(self, "calls", []), len(text)]
        ids: NDArray[np.int32] = np.zeros(len(text), np.int32)
        return Encoded(ids, np.zeros((len(text), 2), np.int32))


def test_work_is_bounded_when_a_prefix_has_far_more_tokens_than_the_same_text() -> None:
    tokenizer = Swelling.from_json(file_of("metaspace"))
    offsets = np.array([[0, 1_000_000]], np.int32)
    prefix = longest_prefix(tokenizer, "a" * 1_000_000, offsets, room=1)
    assert prefix.encoded.count <= 1
    assert len(tokenizer.calls) < 30
    small = Swelling.from_json(file_of("metaspace"))
    assert longest_prefix(small, "a" * 500, np.array([[0, 500]], np.int32), room=123).end == 123
