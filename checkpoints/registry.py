"""Built-in models by name: which table entry a repository id or a bare model name stands for."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import TYPE_CHECKING, Final

from checkpoints.tables.omni import OMNI
from checkpoints.tables.vela1 import VELA1
from checkpoints.tables.vela2 import VELA2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checkpoints.tables.entry import BuiltIn


class Registry:
    """Table entries by repository id or bare name, both without regard to case or surrounding spaces."""

    def __init__(self, entries: Iterable[BuiltIn]) -> None:
        """Raises ValueError when two entries pin one repository."""
        self.entries: Final = tuple(entries)
        counts = Counter(entry.repo.lower() for entry in self.entries)
        twice = sorted(repo for repo, count in counts.items() if count > 1)
        if twice:
            raise ValueError(f"two tables pin {', '.join(twice)}: keep one entry for each repository")
        self._by_repo = {entry.repo.lower(): entry for entry in self.entries}
        bare = Counter(entry.name.lower() for entry in self.entries)
        self._by_name = {entry.name.lower(): entry for entry in self.entries if bare[entry.name.lower()] == 1}

    def find(self, name: str) -> BuiltIn | None:
        """The entry of a repository id or bare name; None for unknown names and for bare names of two entries."""
        key = name.strip().lower()
        return self._by_repo.get(key) or self._by_name.get(key)

    def close_names(self, name: str) -> list[str]:
        """Bare names that look like `name`, at most three."""
        names = {entry.name.lower(): entry.name for entry in self.entries}
        found = difflib.get_close_matches(name.strip().rpartition("/")[2].lower(), names, n=3)
        return [names[key] for key in found]


REGISTRY: Final = Registry((*VELA1, *VELA2, *OMNI))
