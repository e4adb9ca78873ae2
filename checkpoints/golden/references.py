"""Which reference answers a package is judged by: those of its identity and of the class of its device."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from checkpoints.golden.files import Entry, read_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Expected:
    """Recorded values of one case; a partial recording says nothing of the keys that it lacks."""

    values: Mapping[str, float]
    is_partial: bool = False
    tolerances: Mapping[str, Any] = field(default_factory=dict)  # device class -> absolute bound, as it was read


@dataclass(frozen=True, slots=True)
class Reference:
    """The answers of one package on one class of device, by case."""

    name: str  # what the card calls it
    cases: Mapping[str, Expected]


class References:
    """Entries of several files; of two entries for one package the earlier one counts."""

    def __init__(self, entries: Iterable[tuple[str, Entry]]) -> None:
        self._by_identity: dict[str, tuple[str, Entry]] = {}
        for name, entry in entries:
            self._by_identity.setdefault(entry.model_sha256, (name, entry))

    @classmethod
    def read(cls, files: Iterable[Path]) -> References:
        """The entries of the operator's files, then those of this package. Raises GoldenFileError."""
        given = [named for path in files for named in read_entries(path).items()]
        return cls((*given, *packaged()))

    def find(self, model_sha256: str, device_class: str) -> Reference | None:
        """The reference of a package on a device class; None where nothing is recorded.

        An entry's name and revision play no part: equal identities mean equal files (runtime rules, section 10).
        """
        name, entry = self._by_identity.get(model_sha256, ("", None))
        if entry is None or device_class not in entry.answers:
            return None
        partial = entry.partial.get(device_class, ())
        cases = {
            case: Expected(values, case in partial, entry.tolerances.get(case, {}))
            for case, values in entry.answers[device_class].items()
        }
        return Reference(f"{name}@{entry.revision or model_sha256}", cases)


@cache
def packaged() -> tuple[tuple[str, Entry], ...]:
    """Name and entry of every reference that comes with this package."""
    return tuple(named for path in sorted(FOLDER.glob("*.json")) for named in read_entries(path).items())
