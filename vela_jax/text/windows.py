"""Windows over a long text's content tokens, and which window speaks for a token (Vela 1.0 format, section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class WindowError(ValueError):
    """No windows of the asked geometry exist for this text: the item's input is invalid."""


class Window(NamedTuple):
    """The content tokens `start` up to, not including, `end`."""

    start: int
    end: int


def windows(count: int, size: int, overlap: int, envelope_size: int) -> tuple[Window, ...]:
    """Cut `count` content tokens into windows of `size` framed tokens that share `overlap` content tokens.

    Raises WindowError when there is no content, no room for it, or the overlap leaves no progress.
    """
    width = size - envelope_size
    if width <= 0:
        raise WindowError(f"a window of {size} tokens has no room beside {envelope_size} special tokens")
    if not 0 <= overlap < width:
        raise WindowError(f"a window's overlap is {overlap}, allowed are 0 to {width - 1} for {size} tokens")
    if count <= 0:
        raise WindowError("the text has no tokens to read in windows")
    stride = width - overlap
    # The last window is the first one that reaches the end.
    last = max(0, -(-(count - width) // stride))
    return tuple(Window(k * stride, min(k * stride + width, count)) for k in range(last + 1))


def owners(parts: Sequence[Window], count: int) -> NDArray[np.int32]:
    """Give for each of `count` content tokens the index [S] of the window in which it lies deepest.

    The depth of token t is min(t - start, end - t - 1); of equal depths the earlier window wins.
    Raises RuntimeError when a token lies in no window.
    """
    best = np.full(count, -1, dtype=np.int32)
    owner = np.zeros(count, dtype=np.int32)
    for index, (start, end) in enumerate(parts):
        rising = np.arange(end - start, dtype=np.int32)
        depth = np.minimum(rising, rising[::-1])
        deeper = depth > best[start:end]
        best[start:end][deeper] = depth[deeper]
        owner[start:end][deeper] = index
    if count and best.min() < 0:
        raise RuntimeError(f"token {int(best.argmin())} of {count} lies in none of {len(parts)} windows")
    return owner
