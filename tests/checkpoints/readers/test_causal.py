"""Packages that generate text: detection, options, shards, identity (token-in/token-out contract, section 13)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flax import nnx
from safetensors.numpy import load_file, save_file

from checkpoints.files import PackageError
from checkpoints.fixtures import GENERATORS, write_fixture
from checkpoints.package import load, resolve, verify
from vela_jax.generation.spec import FAMILY, GeneratorSpec


@pytest.fixture(params=GENERATORS)
def package(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_fixture(tmp_path / request.param, request.param)


def change(package: Path, name: str, **members: Any) -> None:
    path = package / name
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **members}), encoding="utf-8")


def spec_of(package: Path, **options: Any) -> GeneratorSpec:
    spec = verify(resolve(str(package)), options).reading.spec
    assert isinstance(spec, GeneratorSpec)
    return spec


def test_a_package_is_read_with_its_weights(package: Path) -> None:
    loaded = load(verify(resolve(str(package))))
    assert loaded.family == FAMILY
    stored = {key: value for file in package.glob("*.safetensors") for key, value in load_file(file).items()}
    leaves = {".".join(map(str, path)): leaf for path, leaf in nnx.to_flat_state(loaded.params)}
    assert len(leaves) == len(stored)
    for name, leaf in leaves.items():
        np.testing.assert_array_equal(np.asarray(leaf[...]), stored[name.replace("backbone", "model")])


def test_the_text_side_is_read(package: Path) -> None:
    spec = spec_of(package)
    assert spec.profile.max_model_len == 1024
    assert spec.profile.eos_ids[-1] == 1
    assert spec.profile.defaults.temperature == 0.7
    assert "default" in spec.profile.templates


def test_options_bound_lengths_and_seats(package: Path) -> None:
    spec = spec_of(package, max_model_len=100, max_logprobs=-1, max_num_seqs=3, scheduling="priority", layers=3)
    assert (spec.profile.max_model_len, spec.profile.max_logprobs) == (100, -1)
    assert (spec.options.max_num_seqs, spec.options.scheduling) == (3, "priority")


@pytest.mark.parametrize(
    "options",
    [
        {"max_model_len": 2000},
        {"max_model_len": 1},
        {"max_model_len": True},
        {"max_logprobs": -2},
        {"max_num_seqs": 0},
        {"kv_cache_gib": 0},
        {"scheduling": "random"},
        {"reasoning_parser": "other"},
    ],
)
def test_an_option_out_of_bounds_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    package = write_fixture(tmp_path / "lm", "qwen3-lm")
    with pytest.raises(PackageError, match=next(iter(options))):
        spec_of(package, **options)


def test_a_changed_file_has_another_identity(package: Path) -> None:
    before = verify(resolve(str(package))).provenance.model_sha256
    change(package, "generation_config.json", temperature=0.8)
    assert verify(resolve(str(package))).provenance.model_sha256 != before


def test_a_head_stored_beside_the_table_it_is_tied_to_is_passed_by(tmp_path: Path) -> None:
    package = write_fixture(tmp_path / "lm", "qwen3-lm")
    weights = load_file(package / "model.safetensors")
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].copy()
    save_file(weights, package / "model.safetensors")
    assert verify(resolve(str(package))).fills


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    package = write_fixture(tmp_path / "lm", "llama-lm")
    (package / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(PackageError, match="model-00002-of-00002"):
        verify(resolve(str(package)))


def test_what_the_decoder_does_not_compute_is_refused(tmp_path: Path) -> None:
    package = write_fixture(tmp_path / "lm", "llama-lm")
    change(package, "config.json", mlp_bias=True)
    with pytest.raises(PackageError, match="mlp_bias"):
        verify(resolve(str(package)))
    change(package, "config.json", mlp_bias=False, rope_scaling={"rope_type": "llama3", "factor": 8.0})
    with pytest.raises(PackageError, match="rope_type"):
        verify(resolve(str(package)))


def test_a_tokenizer_of_more_ids_than_the_network_is_refused(package: Path) -> None:
    change(package, "config.json", vocab_size=100)
    with pytest.raises(PackageError, match="vocab_size"):
        verify(resolve(str(package)))
