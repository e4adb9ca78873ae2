"""Whatever the text and the need, the tokens read are the whole text's first tokens."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.designs import CORPUS, DESIGNS, tokenizer_of
from vela_jax.text.bounds import BoundedReader

ATOMS = (
    *CORPUS,
    " ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "  \n", "a", "ab", "aaaa", "0", "123", "=", "+/", "_", "'s", "...",
    "é", "e\u0301", "\u0301", "\u0323", "\u0301\u0323", "か", "\u3099", "か\u3099", "ｶ", "ﾞ", "中", "今天", "，",
    "한", "\u1112", "\u1161", "\u11ab", "\u1112\u1161\u11ab", "ﷺ", "½", "ﬁ", "᾽", "İ", "ß", "😀", "👩\u200d👧",
    "\ufe0f", "\u200b", "\u200d", "\ufeff", "\0", "\x7f", "\x1c", "<eos>", "<bos>", "[MASK]", "<mask", ">", "▁",
    "<0x41>", "e", "z",
)  # fmt: skip
PIECES = st.tuples(
    st.one_of(st.sampled_from(ATOMS), st.text(max_size=12)), st.sampled_from((1, 1, 2, 3, 17, 300, 2500))
)
TEXTS = st.lists(PIECES, min_size=1, max_size=14).map(lambda pieces: "".join(atom * times for atom, times in pieces))


@cache
def reader_of(design: str) -> BoundedReader:
    return BoundedReader(tokenizer_of(design))


@pytest.mark.parametrize("design", DESIGNS)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS, need=st.sampled_from((0, 1, 5, 60, 300)))
def test_reading_keeps_the_whole_texts_first_tokens(design: str, text: str, need: int) -> None:
    text = text[:12_000]
    whole = tokenizer_of(design).encode(text)
    reading = reader_of(design).read(text, need)
    np.testing.assert_array_equal(reading.ids, whole.ids[: reading.count])
    np.testing.assert_array_equal(reading.offsets, whole.offsets[: reading.count])
    assert reading.count == whole.count if reading.complete else need <= reading.count <= whole.count
    for limit in (-1, 0, 1, need, whole.count, whole.count + 1):
        assert not reader_of(design).surely_over(text, limit) or whole.count > max(0, limit)
