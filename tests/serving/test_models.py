"""Finding a served model by its names (HTTP contract, section 3.2)."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from serving.config import ModelEntry
from serving.errors import RequestFailed
from serving.models import ModelTable, ServedModel
from serving.text_side import TextSide
from tests.generation.packages import plain_profile
from tests.serving.fakes import Process, load_letters


def served(entry: ModelEntry, model_id: str | None = None, repo: str | None = None) -> ServedModel:
    """A model that is loaded when it has a package name."""
    made = ServedModel(entry)
    if model_id is not None:
        loaded = load_letters()
        provenance = dataclasses.replace(loaded.provenance, model_id=model_id, repo=repo)
        made.loaded = dataclasses.replace(loaded, provenance=provenance)
    return made


def found(table: ModelTable, name: object) -> int | str:
    """Position of the model that a name finds, or the error code."""
    try:
        return table.models.index(table.find(name))
    except RequestFailed as failed:
        return failed.code


SHA = "d" * 40
TABLE = ModelTable(
    [
        served(ModelEntry(model=f"acme/first@{SHA}", name="alias"), "first-package", "acme/first"),
        served(ModelEntry(model="/models/second"), "second-package"),
        served(ModelEntry(model="acme/alias")),
    ]
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("alias", 0),  # a served name wins over the third's last path component
        (f"acme/first@{SHA}", 0),
        ("acme/first", 0),
        ("first", 0),
        ("first-package", 0),
        ("/models/second", 1),
        ("second", 1),
        ("second-package", 1),
        ("acme/alias", 2),
        ("Alias", "model_not_found"),
        ("", "model_not_found"),
        ("nobody/else", "model_not_found"),
        (None, "invalid_request"),
        (3, "invalid_request"),
        (True, "invalid_request"),
        (["alias"], "invalid_request"),
    ],
)
def test_names_among_several(name: object, expected: int | str) -> None:
    assert found(TABLE, name) == expected


@pytest.mark.parametrize(
    ("only", "name", "expected"),
    [
        (served(ModelEntry(model="acme/first")), "anything", 0),  # unnamed and not loaded: its name is not known yet
        (served(ModelEntry(model="acme/first")), None, 0),
        (served(ModelEntry(model="acme/first", name="mine")), "anything", "model_not_found"),
        (served(ModelEntry(model="acme/first"), "first-package"), "anything", "model_not_found"),
        (served(ModelEntry(model="acme/first"), "first-package"), None, 0),
    ],
)
def test_names_of_a_single_model(only: ServedModel, name: object, expected: int | str) -> None:
    assert found(ModelTable([only]), name) == expected


@pytest.mark.parametrize("name", [None, "nobody", 3])
def test_a_refusal_lists_the_served_names_sorted(name: object) -> None:
    with pytest.raises(RequestFailed, match=r"\['acme/alias', 'alias', 'second-package'\]"):
        TABLE.find(name)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (served(ModelEntry(model="acme/first")), "acme/first"),
        (served(ModelEntry(model="acme/first"), "first-package"), "first-package"),
        (served(ModelEntry(model="acme/first", name="mine"), "first-package"), "mine"),
    ],
)
def test_served_id(model: ServedModel, expected: str) -> None:
    assert model.id == expected


def test_a_generator_is_found_without_a_name_when_it_is_the_only_one() -> None:
    table = ModelTable([served(ModelEntry(model=name)) for name in ("a", "b", "c")])
    with pytest.raises(RequestFailed, match="model is required"):
        table.find_generator(None)
    table.models[1].text = TextSide.of(plain_profile(), "b")
    assert table.find_generator(None) is table.models[1]
    assert table.find_generator("a") is table.models[0]
    table.models[2].text = table.models[1].text
    with pytest.raises(RequestFailed, match="model is required"):
        table.find_generator(None)


def test_the_text_side_is_there_before_the_model_is_ready() -> None:
    model = served(ModelEntry(model="a"))
    with pytest.raises(RequestFailed) as caught:
        model.require_text()
    assert caught.value.code == "not_ready"
    model.text = TextSide.of(plain_profile(), "a")
    assert model.require_text() is model.text


def test_a_model_that_writes_no_text() -> None:
    service = Process().up().service
    with pytest.raises(RequestFailed) as caught:
        service.text_side(None)
    assert caught.value.code == "unsupported_surface"
    asyncio.run(service.stop())
    with pytest.raises(RequestFailed, match="shutting down"):
        service.text_side(None)
