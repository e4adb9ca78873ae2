"""Files of reference answers: what is read, what is refused, what a new entry leaves as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.golden import Entry, GoldenFileError, add_entry, read_entries

SHA = "a" * 64
OTHER = "b" * 64
MINIMAL: dict[str, Any] = {"model_sha256": SHA, "answers": {"cpu": {"rerank": {"0.logit": 1.5}}}}


def write(path: Path, **members: Any) -> Path:
    path.write_text(json.dumps({"acme/ranker": {**MINIMAL, **members}}), encoding="utf-8")
    return path


def test_an_entry_is_read(tmp_path: Path) -> None:
    members: dict[str, Any] = {
        "revision": "c" * 40,
        "partial": {"cpu": ["rerank"]},
        "tolerances": {"rerank": {"mps": 0.002}},
    }
    entry = read_entries(write(tmp_path / "file.json", **members))["acme/ranker"]
    assert entry == Entry(model_sha256=SHA, answers={"cpu": {"rerank": {"0.logit": 1.5}}}, **members)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no file of reference answers"),
        (b"\xff", "no file of reference answers"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"a": {}}', "missing required field `model_sha256`"),
        (json.dumps({"a": {"model_sha256": SHA}}).encode(), "missing required field `answers`"),
        (json.dumps({"a": {**MINIMAL, "notes": ""}}).encode(), "unknown field `notes`"),
        (json.dumps({"a": {**MINIMAL, "answers": {"cpu": {"rerank": {"0.logit": "1"}}}}}).encode(), "Expected `float`"),
        (
            json.dumps({"a": {**MINIMAL, "answers": {"cpu": {"rerank": {"0.logit": True}}}}}).encode(),
            "Expected `float`",
        ),
        (json.dumps({"a": {**MINIMAL, "answers": {"cpu": {"rerank": {"0": float("nan")}}}}}).encode(), "malformed"),
    ],
)
def test_what_is_no_such_file(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(GoldenFileError, match=r"file\.json") as raised:
        read_entries(path)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"model_sha256": SHA.upper()}, "acme/ranker: model_sha256 must be 64 lower-case hexadecimal digits, got 'AAA"),
        ({"revision": "main"}, "revision must be 40 lower-case hexadecimal digits, got 'main'"),
        ({"partial": {"cpu": ["texts"]}}, "partial: cpu has no answers to texts"),
        ({"partial": {"cuda": ["rerank"]}}, "partial: cuda has no answers to rerank"),
        ({"tolerances": {"texts": {"mps": 1}}}, "tolerances: there are no answers to texts"),
    ],
)
def test_entries_at_fault_are_named(members: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(GoldenFileError) as raised:
        read_entries(write(tmp_path / "file.json", **members))
    assert message in str(raised.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(GoldenFileError, match=r"missing\.json cannot be read: No such file"):
        read_entries(tmp_path / "missing.json")


def answers(device_class: str, value: float) -> dict[str, dict[str, dict[str, float]]]:
    return {device_class: {"rerank": {"0.logit": value}}}


def test_entries_are_added_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    first = Entry(model_sha256=SHA, answers=answers("cpu", 0.1))
    second = Entry(model_sha256=OTHER, revision="d" * 40, answers=answers("cpu", -2.5e-9))
    add_entry(path, "first", first)
    add_entry(path, "second", second)
    assert read_entries(path) == {"first": first, "second": second}
    assert "revision" not in json.loads(path.read_text())["first"]
    assert list(tmp_path.iterdir()) == [path]


def test_answers_of_other_devices_stay_and_a_partial_recording_is_replaced(tmp_path: Path) -> None:
    members: dict[str, Any] = {
        "answers": {**answers("cpu", 1.0), **answers("cuda", 2.0)},
        "partial": {"cpu": ["rerank"], "cuda": ["rerank"]},
        "tolerances": {"rerank": {"cpu": 1e-4}},
    }
    path = write(tmp_path / "file.json", **members)
    add_entry(path, "acme/ranker", Entry(model_sha256=SHA, answers=answers("cpu", 3.0)))
    entry = read_entries(path)["acme/ranker"]
    assert entry.answers == {**answers("cpu", 3.0), **answers("cuda", 2.0)}
    assert entry.partial == {"cuda": ["rerank"]}
    assert entry.tolerances == {"rerank": {"cpu": 1e-4}}


def test_another_package_of_the_name_replaces_all(tmp_path: Path) -> None:
    path = write(tmp_path / "file.json", answers={**answers("cpu", 1.0), **answers("cuda", 2.0)})
    fresh = Entry(model_sha256=OTHER, answers=answers("cpu", 3.0))
    add_entry(path, "acme/ranker", fresh)
    assert read_entries(path) == {"acme/ranker": fresh}


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("[1]")
    with pytest.raises(GoldenFileError):
        add_entry(path, "a", Entry(model_sha256=SHA, answers=answers("cpu", 1.0)))
    assert path.read_text() == "[1]"
