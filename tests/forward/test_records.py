"""Bit classes on disk."""

import logging
from pathlib import Path

import jax
import msgspec
import pytest

from vela_jax.forward.classes import BitClass, Bucket
from vela_jax.forward.records import ClassRecords, host_facts

BUCKET = Bucket(16, 2)
FOUND = BitClass((1, 2, 4), (8,))
ALONE = BitClass()
KEY = {"model": "a", "args": {"x": [1], "y": (2, 3)}}


def file_of(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_what_is_kept_is_known_later(tmp_path: Path) -> None:
    records = ClassRecords(tmp_path, KEY)
    assert records.known == {}
    records.keep(BUCKET, FOUND)
    records.keep(Bucket(32, 1), ALONE)
    assert ClassRecords(tmp_path, KEY).known == {BUCKET: FOUND, Bucket(32, 1): ALONE}


def test_a_record_is_of_one_setting(tmp_path: Path) -> None:
    ClassRecords(tmp_path, KEY).keep(BUCKET, FOUND)
    assert ClassRecords(tmp_path, {**KEY, "model": "b"}).known == {}


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe", b'{"format":"bit-classes/3"}'])
def test_a_damaged_record_is_ignored_and_rebuilt(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    ClassRecords(tmp_path, KEY).keep(BUCKET, FOUND)
    file_of(tmp_path).write_bytes(damage)
    with caplog.at_level(logging.WARNING):
        records = ClassRecords(tmp_path, KEY)
    assert "is not used" in caplog.text
    assert records.known == {}
    records.keep(BUCKET, ALONE)
    assert ClassRecords(tmp_path, KEY).known == {BUCKET: ALONE}


@pytest.mark.parametrize(
    "change",
    [
        {"format": "bit-classes/0"},
        {"key": {"model": "b"}},
        {"classes": {"x.2.0": {"members": [1]}}},
        {"classes": {"16.2.0": {"members": [2]}}},
        {"classes": {"16.2.0": {"members": [0]}}},
        {"classes": {"16.2.0": {"members": [1], "rejected": [1]}}},
        {"classes": {"16.2.0": {"members": []}}},
    ],
)
def test_a_record_that_makes_no_sense_is_ignored(tmp_path: Path, change: dict[str, object]) -> None:
    ClassRecords(tmp_path, KEY).keep(BUCKET, FOUND)
    path = file_of(tmp_path)
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), **change}))
    assert ClassRecords(tmp_path, KEY).known == {}


def test_a_disk_that_cannot_be_written_costs_only_the_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    records = ClassRecords(taken / "folder", KEY)
    with caplog.at_level(logging.WARNING):
        records.keep(BUCKET, FOUND)
    assert "cannot be written" in caplog.text
    assert records.known == {BUCKET: FOUND}


def test_host_facts_name_what_bits_depend_on() -> None:
    facts = host_facts(jax.devices("cpu")[0])
    assert facts["platform"] == "cpu"
    assert facts["processor"]
    assert facts["jaxlib"]
