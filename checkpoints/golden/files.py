"""Files of reference answers: a JSON object, entries by repository id or package name (runtime rules, section 9.3)."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

_IDENTITY: Final = re.compile(r"[0-9a-f]{64}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


class GoldenFileError(Exception):
    """A file of reference answers that cannot be used; the message names the file and the entry at fault."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is recorded of one package.

    `answers` holds values by device class, case and key. `partial` lists, by device class, the cases of which only
    some values are recorded. `tolerances` gives, by case and device class, a bound of the case's own.
    """

    model_sha256: str  # the identity of the package that gave the answers
    revision: str | None = None  # its commit; None for a package that no hub holds
    answers: dict[str, dict[str, dict[str, float]]]
    partial: dict[str, list[str]] = {}
    tolerances: dict[str, dict[str, Any]] = {}


_DECODER: Final = msgspec.json.Decoder(dict[str, Entry])


def read_entries(path: Path) -> dict[str, Entry]:
    """The entries of a file. Raises GoldenFileError."""
    try:
        entries = _DECODER.decode(path.read_bytes())
    except OSError as error:
        raise GoldenFileError(f"{path} cannot be read: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GoldenFileError(f"{path} is no file of reference answers: {error}") from None
    for name, entry in entries.items():
        fault = _find_fault(entry)
        if fault is not None:
            raise GoldenFileError(f"{path}: {name}: {fault}")
    return entries


def add_entry(path: Path, name: str, entry: Entry) -> None:
    """Write an entry into a file, which is made where it is missing; the other entries stay.

    Answers of other device classes stay too where they were recorded of the same package. Raises GoldenFileError
    for a file that holds anything else, OSError when it cannot be written.
    """
    entries = read_entries(path) if path.exists() else {}
    kept = entries.get(name)
    if kept is not None and kept.model_sha256 == entry.model_sha256:
        entry = _join(kept, entry)
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        staged.write_text(to_text({**entries, name: entry}), encoding="utf-8")
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)


def to_text(entries: dict[str, Entry]) -> str:
    """Entries as a file holds them: one value a line, members without content left out."""
    plain = {name: _without_empty(msgspec.to_builtins(entry)) for name, entry in entries.items()}
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _join(kept: Entry, fresh: Entry) -> Entry:
    """The newer answers of a device class take the place of the older ones."""
    partial = {each: cases for each, cases in kept.partial.items() if each not in fresh.answers}
    return msgspec.structs.replace(
        fresh,
        answers={**kept.answers, **fresh.answers},
        partial={**partial, **fresh.partial},
        tolerances={**kept.tolerances, **fresh.tolerances},
    )


def _without_empty(members: dict[str, Any]) -> dict[str, Any]:
    return {member: value for member, value in members.items() if value not in (None, {})}


def _find_fault(entry: Entry) -> str | None:
    """Say what an entry's types do not: identities that are none, cases that have no answers."""
    if not _IDENTITY.fullmatch(entry.model_sha256):
        return f"model_sha256 must be 64 lower-case hexadecimal digits, got {entry.model_sha256!r}"
    if entry.revision is not None and not _COMMIT.fullmatch(entry.revision):
        return f"revision must be 40 lower-case hexadecimal digits, got {entry.revision!r}"
    for device_class, cases in entry.partial.items():
        unknown = sorted(set(cases) - set(entry.answers.get(device_class, {})))
        if unknown:
            return f"partial: {device_class} has no answers to {', '.join(unknown)}"
    unknown = sorted(set(entry.tolerances) - {case for cases in entry.answers.values() for case in cases})
    return f"tolerances: there are no answers to {', '.join(unknown)}" if unknown else None
