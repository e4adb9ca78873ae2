"""Which pages of the cache are whose, and which hold prompts that a later one may begin with."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from vela_jax.layers.paged_attention import PAGE


def prefix_keys(prompt: Sequence[int], salt: str | None) -> list[bytes]:
    """A key for each page of a prompt that another prompt could share; never that of its last token.

    A key stands for all tokens up to the page's end and for the salt: prompts of another salt, or of none, share
    nothing with it.
    """
    key = hashlib.sha256(b"" if salt is None else b"salt\0" + salt.encode()).digest()
    keys = []
    for start in range(0, (len(prompt) - 1) // PAGE * PAGE, PAGE):
        tokens = np.asarray(prompt[start : start + PAGE], np.int32).tobytes()
        key = hashlib.sha256(key + tokens).digest()
        keys.append(key)
    return keys


class PagePool:
    """The pages 1 to `count` - 1 of a cache; page 0 belongs to nobody.

    A page is held by the rows that use it. Pages of prompts stay known when nobody holds them any more, until their
    place is needed; the one that was let go first goes first.
    """

    def __init__(self, count: int) -> None:
        self.capacity = count - 1
        self._free = list(range(count - 1, 0, -1))
        self._holders: dict[int, int] = {}
        self._by_key: dict[bytes, int] = {}
        self._keys: dict[int, bytes] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()  # known pages that nobody holds

    @property
    def used(self) -> int:
        """Pages that rows hold."""
        return len(self._holders)

    @property
    def available(self) -> int:
        """Pages that can be taken."""
        return len(self._free) + len(self._idle)

    def take(self) -> int | None:
        """Give a page to one row; None when all are held."""
        if self._free:
            page = self._free.pop()
        elif self._idle:
            page, _ = self._idle.popitem(last=False)
            del self._by_key[self._keys.pop(page)]
        else:
            return None
        self._holders[page] = 1
        return page

    def find(self, keys: Sequence[bytes]) -> list[int]:
        """Let one more row hold the known pages of its prompt's beginning, as far as they go."""
        found: list[int] = []
        for key in keys:
            page = self._by_key.get(key)
            if page is None:
                break
            self._idle.pop(page, None)
            self._holders[page] = self._holders.get(page, 0) + 1
            found.append(page)
        return found

    def publish(self, page: int, key: bytes) -> None:
        """Make a filled page known; of no effect when another page holds the same tokens."""
        if key not in self._by_key:
            self._by_key[key] = page
            self._keys[page] = key

    def release(self, pages: Sequence[int]) -> None:
        """A row lets go of its pages; the last of a prompt is the first to go for good."""
        for page in reversed(pages):
            self._holders[page] -= 1
            if self._holders[page]:
                continue
            del self._holders[page]
            if page in self._keys:
                self._idle[page] = None
            else:
                self._free.append(page)

    def forget(self) -> None:
        """Know no prompt any more."""
        self._free.extend(self._idle)
        self._idle.clear()
        self._by_key.clear()
        self._keys.clear()
