"""The longest prefix of a text that fits a budget, for heads whose answer points into the text.

Cutting ids could end inside a character or a word; the text itself is cut and read again instead
(Vela 1.0 format, section 8, `truncate` of token heads).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vela_jax.text.tokenizer import Encoded, TextTokenizer

# Characters read again while dropping one at a time; beyond, each drop is twice as long as the one before.
# Only a tokenizer that gives a prefix many more tokens than the same characters have in the text gets there.
_PATIENCE: Final = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """The text's first `end` characters and their tokens."""

    end: int
    encoded: Encoded


def longest_prefix(tokenizer: TextTokenizer, text: str, offsets: NDArray[np.int32], room: int) -> Prefix:
    """Give the longest prefix of at most `room` content tokens (0 or more).

    `offsets` [S 2] are those of the text's first tokens, `room` of them at least. The prefix ends where the first
    `room` tokens end; while it has more tokens than that when read alone, its last character is dropped.
    """
    end = int(offsets[:room, 1].max(initial=0))
    encoded = tokenizer.encode(text[:end])
    read, step = 0, 1
    while encoded.count > room and end > 0:
        read += end
        step = step * 2 if read > _PATIENCE else 1
        end = max(0, end - step)
        encoded = tokenizer.encode(text[:end])
    return Prefix(end, encoded.first(room))
