"""How settings of a model reach what is loaded: precision, devices, and what is refused before weights are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from checkpoints.fixtures import write_fixture
from checkpoints.fixtures.vela2_decoder import TINY_SIZES, write_decoder
from checkpoints.package import resolve, verify
from checkpoints.placing import check_split, in_precision
from serving.assembly import FINAL_FAILURES, Assembler
from serving.config import ModelEntry, PackageSources
from serving.loaded import LoadedModel
from tests.end_to_end.server import COLD, keeping_compiled
from vela_jax.contract import Surface
from vela_jax.surfaces.requests import DecisionsRequest

QUESTIONS: dict[str, Any] = {
    "which": {"type": "choice", "instructions": "Which?", "criteria": {"x": None, "y": "why", "z": None}},
    "so": {"type": "noul", "instructions": "It is so."},
    "topics": {"type": "set", "instructions": "Which of them?", "criteria": {"m": None, "n": None}},
}
STATE = "Tom Baker asked what the largest daily dose is."
ONE_LENGTH = {"length_buckets": [512]}
BF16_TOLERANCE = 0.1
"""Of probabilities of a random network, which is more easily moved than a trained one."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("packages")
    for variant in ("vela2_both", "qwen3-lm"):
        write_fixture(root / variant, variant)
    backbone = {**TINY_SIZES.backbone, "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"]}
    (root / "vela2_decoder").mkdir()
    write_decoder(root / "vela2_decoder", replace(TINY_SIZES, backbone=backbone), 0, "F32")
    return root


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with keeping_compiled(tmp_path_factory):
        yield


def load(package: Path, **args: Any) -> LoadedModel:
    entry = ModelEntry(model=str(package), device="cpu", engine_args={**ONE_LENGTH, **args})
    return Assembler(PackageSources(), COLD).load(entry, lambda *_: None)


def probabilities(model: LoadedModel) -> dict[str, float]:
    """The answers as numbers by their places."""
    plan = model.model.plan(Surface.DECISIONS, DecisionsRequest(state=STATE, questions=QUESTIONS))
    for opening in model.engine.prepare(plan.rows):
        opening.result()
    results: list[Any] = [None] * len(plan.rows)
    for batch in model.engine.batches(plan.rows):
        for index, output in zip(batch.indices, model.engine.run(plan.rows, batch), strict=True):
            results[index] = output
    return dict(_numbers("", plan.assemble(results).body))


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    """Every number of an answer that is no count, by its place."""
    if isinstance(value, float):
        yield name, value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from _numbers(f"{name}.{key}", member)


@pytest.mark.parametrize("variant", ["vela2_decoder", "vela2_both"])
def test_reduced_precision_is_asked_for_and_shown(packages: Path, variant: str) -> None:
    usual, reduced = load(packages / variant), load(packages / variant, dtype="bfloat16")
    try:
        assert (usual.numerics, usual.description.dtype) == ("exact", "fp32")
        assert (reduced.numerics, reduced.description.dtype) == ("approximate", "bf16-autocast/fp32-heads")
        assert (usual.engine_args["dtype"], reduced.engine_args["dtype"]) == ("float32", "bfloat16")
        assert reduced.memory_bytes < 0.7 * usual.memory_bytes
        expected, found = probabilities(usual), probabilities(reduced)
    finally:
        usual.close()
        reduced.close()
    assert found.keys() == expected.keys()
    assert len(found) > len(QUESTIONS)
    differences = np.array([found[name] - expected[name] for name in expected])
    assert 0 < np.abs(differences).max() < BF16_TOLERANCE, dict(zip(expected, differences, strict=True))


@pytest.mark.parametrize("variant", ["vela2_decoder", "vela2_both"])
def test_kernels_and_tables_of_the_backbone_are_reduced(packages: Path, variant: str) -> None:
    abstract = in_precision(verify(resolve(str(packages / variant))).abstract, "bfloat16")
    for path, leaf in nnx.to_flat_state(abstract):
        is_table = path[0] == "backbone" and len(leaf.shape) == 2
        assert leaf.dtype == (jnp.bfloat16 if is_table else jnp.float32), path


@pytest.mark.parametrize(
    ("variant", "args", "says"),
    [
        ("vela2_decoder", {"dtype": "float16"}, r"engine_args: Invalid enum value 'float16' - at `\$\.dtype`"),
        ("vela2_decoder", {"dtype": 16}, r"at `\$\.dtype`"),
        ("vela2_decoder", {"mesh": 2}, r"at `\$\.mesh`"),
        ("vela2_decoder", {"mesh": {"data": 2}}, r"unknown field `data` - at `\$\.mesh`"),
        ("vela2_decoder", {"mesh": {"tensor": 0}}, r"tensor must be at least 1, got 0 - at `\$\.mesh`"),
        ("vela2_decoder", {"mesh": {"tensor": 99}}, "engine_args.mesh asks for 99 devices, this host has"),
        ("qwen3-lm", {"dtype": "bfloat16"}, "generates text, which runs in float32 on one device"),
    ],
)
def test_refusals_name_the_setting(packages: Path, variant: str, args: dict[str, Any], says: str) -> None:
    with pytest.raises(FINAL_FAILURES, match=says):
        load(packages / variant, **args)


@pytest.mark.parametrize(
    ("variant", "count", "says"),
    [
        ("vela2_decoder", 4, r"tensor is 4, .* num_key_value_heads \(2\), linear_num_key_heads \(2\) .* one of 1, 2"),
        ("vela2_decoder", 3, r"hidden_size \(64\), intermediate_size \(128\), num_attention_heads \(4\)"),
        ("vela2_both", 2, "engine_args.mesh: a modernbert backbone runs on one device, only qwen3, qwen3_5_text"),
    ],
)
def test_splits_that_a_backbone_does_not_allow(packages: Path, variant: str, count: int, says: str) -> None:
    reading = verify(resolve(str(packages / variant))).reading
    with pytest.raises(ValueError, match=says):
        check_split(reading.model_type, reading.backbone, count)


def test_one_device_is_no_mesh(packages: Path) -> None:
    model = load(packages / "vela2_decoder", mesh={"tensor": 1})
    model.close()
    assert (model.device, model.engine_args["mesh"]) == ("cpu", {"tensor": 1})
    assert len(jax.devices("cpu")) >= 1
