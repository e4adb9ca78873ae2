"""Which parameters are split over a mesh, and by which axis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from flax import nnx
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from checkpoints.package import load, resolve, verify
from checkpoints.placing import TENSOR, in_precision, mesh_of, placed

ROWS, COLUMNS, WHOLE = PartitionSpec(TENSOR), PartitionSpec(None, TENSOR), PartitionSpec()


@pytest.mark.parametrize(
    ("path", "shape", "spec"),
    [
        ("backbone.embed_tokens.weight", (512, 64), COLUMNS),
        ("backbone.layers.3.self_attn.q_proj.weight", (256, 64), ROWS),
        ("backbone.layers.3.self_attn.o_proj.weight", (64, 128), COLUMNS),
        ("backbone.layers.0.linear_attn.in_proj_qkv.weight", (128, 64), ROWS),
        ("backbone.layers.0.linear_attn.out_proj.weight", (64, 64), COLUMNS),
        ("backbone.layers.0.mlp.gate_proj.weight", (128, 64), ROWS),
        ("backbone.layers.0.mlp.down_proj.weight", (64, 128), COLUMNS),
        ("backbone.layers.3.self_attn.q_proj.bias", (256,), WHOLE),
        ("backbone.layers.0.linear_attn.conv1d.weight", (128, 1, 4), WHOLE),
        ("backbone.norm.weight", (64,), WHOLE),
        ("head.key.weight", (32, 64), WHOLE),
    ],
)
def test_parameters_have_their_places(path: str, shape: tuple[int, ...], spec: PartitionSpec) -> None:
    mesh = mesh_of(jax.devices()[:1])
    assert placed(mesh, path.split("."), shape) == NamedSharding(mesh, spec)
    assert placed(jax.devices()[0], path.split("."), shape) == SingleDeviceSharding(jax.devices()[0])
    assert placed(None, path.split("."), shape) == SingleDeviceSharding(jax.devices()[0])


def test_parameters_are_loaded_to_their_places(originals: Callable[[str], Path]) -> None:
    mesh = mesh_of(jax.devices()[:1])
    loaded = load(verify(resolve(str(originals("vela2_decoder")))), mesh, precision="bfloat16")
    specs = {leaf[...].sharding.spec for _, leaf in nnx.to_flat_state(loaded.params)}
    assert specs == {ROWS, COLUMNS, WHOLE}
    assert {leaf[...].dtype for _, leaf in nnx.to_flat_state(loaded.params)} == {
        jnp.dtype(d) for d in ("float32", "bfloat16")
    }


def test_the_release_has_the_precision_that_it_has(originals: Callable[[str], Path]) -> None:
    abstract = verify(resolve(str(originals("vela2_decoder")))).abstract
    assert in_precision(abstract, "float32") is abstract
