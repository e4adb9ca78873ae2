"""Built-in names."""

import dataclasses
import re

import pytest

from checkpoints.registry import REGISTRY, Registry
from checkpoints.tables.entry import BuiltIn
from checkpoints.tables.vela1 import VELA1

_DOMAIN = VELA1[0]


@pytest.mark.parametrize(
    "name",
    [
        "vllm-sr/Vela-1.0-Encoder-307M-Domain",
        "Vela-1.0-Encoder-307M-Domain",
        "vela-1.0-encoder-307m-domain",
        "  VLLM-SR/VELA-1.0-ENCODER-307M-DOMAIN\n",
    ],
)
def test_names_are_found_in_any_case(name: str) -> None:
    assert REGISTRY.find(name) is _DOMAIN


@pytest.mark.parametrize("name", ["vela-domain", "Domain", "other/Vela-1.0-Encoder-307M-Domain", ""])
def test_there_are_no_other_aliases(name: str) -> None:
    assert REGISTRY.find(name) is None


def test_ambiguous_bare_names_stand_for_nothing() -> None:
    twin = dataclasses.replace(_DOMAIN, repo=f"other/{_DOMAIN.name}")
    registry = Registry((_DOMAIN, twin))
    assert registry.find(_DOMAIN.name) is None
    assert registry.find(twin.repo) is twin


def test_two_pins_of_one_repository_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two tables pin vllm-sr/vela-1\.0-encoder-307m-domain"):
        Registry((_DOMAIN, dataclasses.replace(_DOMAIN, repo=_DOMAIN.repo.upper())))


def test_close_names_help() -> None:
    assert "Vela-1.0-Encoder-307M-Guard" in REGISTRY.close_names("vela-1.0-encoder-307m-gard")
    assert REGISTRY.close_names("zzz") == []


PARAMETERS = {
    "Domain": 307541006,
    "Guard": 307531778,
    "Safety": 307531778,
    "Shield": 307531778,
    "FactCheck": 307531778,
    "Feedback": 307534085,
    "Modality": 307532547,
    "Hazard": 307539468,
    "PII": 307557155,
    "Halu": 307531778,
    "Embedding": 306939648,
    "Reranker": 306939648,
}


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS.items())
def test_parameters_of_the_encoders(name: str, parameters: int) -> None:
    entry = REGISTRY.find(f"Vela-1.0-Encoder-307M-{name}")
    assert entry is not None
    assert entry.parameters == parameters


@pytest.mark.parametrize("entry", REGISTRY.entries, ids=lambda entry: entry.name)
def test_every_pin_is_a_digest(entry: BuiltIn) -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", entry.revision)
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in (*entry.files.values(), entry.model_sha256))
    assert "config.json" in entry.files
    assert any(name.endswith(".safetensors") for name in entry.files)
    assert entry.licence == "apache-2.0"
    assert entry.manifest_sha256 == entry.files.get("MODEL_MANIFEST.json", "")


def test_labels_explain_the_parameters() -> None:
    backbone = PARAMETERS["Embedding"]
    head = 768 * 768 + 768
    assert PARAMETERS["PII"] == backbone + head + 35 * 769
    assert PARAMETERS["Domain"] == backbone + head + 14 * 769
