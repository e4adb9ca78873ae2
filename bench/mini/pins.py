"""Puts exported packages where the project ships them, and pins what they hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from checkpoints.embedded import OWN
from checkpoints.files import PackageFolder, file_digests
from checkpoints.package import resolve, verify
from checkpoints.tables.embedded import PINS

_COMPONENTS: Final = ["apache-2.0", "WordNet-3.0"]


def ship(packages: Sequence[Path], home: Path = OWN, pins: Path = PINS) -> None:
    """Copy packages to `home`, named as their folders are, and write their pins; others that lie there stay.

    Raises PackageError for a folder that is no sound package.
    """
    known: dict[str, Any] = json.loads(pins.read_text(encoding="utf-8")) if pins.is_file() else {}
    for package in packages:
        name = package.resolve().name
        found = pin(package)
        shutil.rmtree(home / name, ignore_errors=True)
        shutil.copytree(package, home / name, copy_function=shutil.copyfile)
        known[name] = found
    pins.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def pin(package: Path) -> dict[str, Any]:
    """What is pinned of a package: all that is read of it."""
    verified = verify(resolve(str(package)))
    provenance = verified.provenance
    return {
        "parameters": provenance.parameters,
        "model_sha256": provenance.model_sha256,
        "component_licences": _COMPONENTS,
        "files": dict(file_digests(PackageFolder.local(package), sorted(verified.reading.files))),
    }
