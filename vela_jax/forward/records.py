"""Bit classes kept on disk, so that a later start need not probe again."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import tempfile
import threading
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import msgspec

from vela_jax.forward.classes import BitClass, Bucket

_FORMAT = "bit-classes/4"
_CPU_FACTS = ("model name", "flags", "CPU implementer", "CPU part", "Features")

_log = logging.getLogger(__name__)


class _Record(msgspec.Struct, frozen=True):
    """A record file: what it holds for, and the classes by `<length>.<depth>.<room>`."""

    format: str
    key: dict[str, Any]
    classes: dict[str, BitClass]


class ClassRecords:
    """The record of one model under one setting on one kind of device. Safe for threads."""

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        text = json.dumps(dict(key), sort_keys=True)
        self._key: dict[str, Any] = json.loads(text)  # as it comes back from disk: tuples are lists there
        digest = hashlib.sha256(text.encode()).hexdigest()
        self._path = folder / f"{digest}.json"
        self._lock = threading.Lock()
        self._classes = self._read()

    @property
    def known(self) -> dict[Bucket, BitClass]:
        """Classes that an earlier process or this one found."""
        with self._lock:
            return dict(self._classes)

    def keep(self, bucket: Bucket, found: BitClass) -> None:
        """Add or replace one class, on disk too; a disk that cannot be written only costs the next start a probe."""
        with self._lock:
            self._classes[bucket] = found
            named = {".".join(map(str, bucket)): kept for bucket, kept in sorted(self._classes.items())}
            try:
                _write(self._path, msgspec.json.encode(_Record(_FORMAT, self._key, named)))
            except OSError as error:
                _log.warning("the probe's record %s cannot be written: %s", self._path, error)

    def _read(self) -> dict[Bucket, BitClass]:
        """The classes on disk; none when the file is absent, corrupt, or of another setting."""
        try:
            record = msgspec.json.decode(self._path.read_bytes(), type=_Record)
            if record.format != _FORMAT or record.key != self._key:
                raise ValueError("the record is of another setting")
            return {_bucket(name): _checked(found) for name, found in record.classes.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, msgspec.DecodeError) as error:
            _log.warning("the probe's record %s is not used: %s", self._path, error)
            return {}


def host_facts(device: jax.Device) -> dict[str, Any]:
    """What may change bits from host to host: device kind, processor, library versions, compiler flags."""
    return {
        "platform": device.platform,
        "device": device.device_kind,
        "processor": _processor() if device.platform == "cpu" else "",
        "machine": platform.machine(),
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "flags": os.environ.get("XLA_FLAGS", ""),
    }


def _processor() -> str:
    """Model and instruction sets of the first processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    except OSError:
        return platform.processor()
    facts = dict(line.partition(":")[::2] for line in lines)
    return "; ".join(value.strip() for name, value in facts.items() if name.strip() in _CPU_FACTS)


def _bucket(name: str) -> Bucket:
    length, depth, room = name.split(".")
    return Bucket(int(length), int(depth), int(room))


def _checked(found: BitClass) -> BitClass:
    if 1 not in found.members or min(found.members) < 1 or set(found.members) & set(found.rejected):
        raise ValueError(f"{found} is no bit class")
    return found


def _write(path: Path, data: bytes) -> None:
    """Write a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
