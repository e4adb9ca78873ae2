"""Digests that a package states of its own files, in `SHA256SUMS` and `MODEL_MANIFEST.json` (Vela 2.0, section 2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from checkpoints.files import PackageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from checkpoints.files import PackageFolder

SUMS: Final = "SHA256SUMS"
MANIFEST: Final = "MODEL_MANIFEST.json"
_LINE: Final = re.compile(r"([0-9a-fA-F]{64})\s+\*?(.+)")


def check_sums(folder: PackageFolder, digests: Mapping[str, str]) -> None:
    """Compare digests with those of `SHA256SUMS`, where the package has it; files that it does not name pass."""
    if not folder.has(SUMS):
        return
    try:
        lines = folder.path(SUMS).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise PackageError(f"{SUMS} is not UTF-8 (byte {error.start}): fetch the file again") from error
    stated: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            stated[match[2].removeprefix("./")] = match[1].lower()
        elif line.strip():
            raise PackageError(f"{SUMS}: line {number} is no digest and file name: fetch the file again")
    _compare(SUMS, {name: digest for name, digest in digests.items() if name in stated}, stated)


def check_manifest(folder: PackageFolder, digests: Mapping[str, str], weights: Collection[str]) -> None:
    """Compare the digests of the weight files with those of `MODEL_MANIFEST.json`, where the package has it."""
    if not folder.has(MANIFEST):
        return
    stated = folder.json_object(MANIFEST).get("files_sha256") or {}
    if not isinstance(stated, dict) or not all(each is None or isinstance(each, str) for each in stated.values()):
        raise PackageError(f"{MANIFEST}: files_sha256 must be an object of digests by file: fetch the file again")
    guarded = {name: stated[name].lower() for name in weights if stated.get(name) is not None}
    _compare(MANIFEST, {name: digests[name] for name in guarded}, guarded)


def _compare(guard: str, digests: Mapping[str, str], stated: Mapping[str, str]) -> None:
    wrong = sorted(name for name, digest in digests.items() if digest != stated[name])
    if wrong:
        raise PackageError(f"{guard} states other digests of {', '.join(wrong)}: fetch the package again")
