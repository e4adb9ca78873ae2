"""Identities: the pins of the tables, recomputed."""

import pytest

from checkpoints.identity import SENTENCE_BERT, canonical_json, model_sha256
from checkpoints.tables.embedded import MINILM
from checkpoints.tables.entry import BuiltIn
from checkpoints.tables.omni import OMNI
from checkpoints.tables.vela1 import VELA1


@pytest.mark.parametrize("entry", VELA1, ids=lambda entry: entry.name)
def test_pinned_identities_follow_from_the_pinned_digests(entry: BuiltIn) -> None:
    assert model_sha256(entry.files) == entry.model_sha256


@pytest.mark.parametrize("entry", OMNI, ids=lambda entry: entry.name)
def test_omni_identities_follow_from_the_pinned_digests(entry: BuiltIn) -> None:
    assert model_sha256(entry.files, "vela-omni/1") == entry.model_sha256


def test_the_default_model_has_its_own_label() -> None:
    assert model_sha256(MINILM.files, SENTENCE_BERT) == MINILM.model_sha256
    assert model_sha256(MINILM.files) != MINILM.model_sha256


def test_the_order_of_files_does_not_matter() -> None:
    assert model_sha256({"a": "1", "b": "2"}) == model_sha256({"b": "2", "a": "1"})
    assert model_sha256({"a": "1", "b": "2"}) != model_sha256({"a": "2", "b": "1"})


def test_a_local_package_of_five_files() -> None:
    files = {
        "config.json": "bcf1e2cf4f1c3ec33d3ac34b0b1b8fd7bd2c4b6ba2e0d7d1d7ac5a2a7a0a9f00",
        "model.safetensors": "00" * 32,
    }
    text = (
        b'{"files":{"config.json":"'
        + files["config.json"].encode()
        + b'","model.safetensors":"'
        + b"0" * 64
        + b'"},"format":"task-heads/1"}'
    )
    assert canonical_json({"format": "task-heads/1", "files": files}) == text


def test_canonical_json() -> None:
    assert canonical_json({"b": "é", "a": [1, None]}) == '{"a":[1,null],"b":"é"}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
