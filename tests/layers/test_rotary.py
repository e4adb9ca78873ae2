"""Rotary tables: the format's check values, the reference's frequencies, and what is refused."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from transformers import ModernBertConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from vela_jax.layers.config import ConfigError
from vela_jax.layers.rotary import Rope, Yarn, read_rope, rope_table, rotate

VELA = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192, "rope_theta": 160000.0}


def read(**values: Any) -> Rope:
    return read_rope(values, "rope_parameters", theta=10000.0, max_positions=32768)


@pytest.mark.parametrize(
    ("theta", "bounds", "frequencies"),
    [
        (160000.0, (9, 20), [1.0, 3.438280e-2, 2.203148e-2, 2.148273e-3, 1.397543e-4, 2.272212e-6]),
        (10000.0, (12, 25), [1.0, 7.498942e-2, 5.623413e-2, 1.102720e-2, 1.702765e-3, 3.333804e-5]),
    ],
)
def test_yarn_check_table(theta: float, bounds: tuple[int, float], frequencies: list[float]) -> None:
    yarn = Yarn(4.0, 8192)
    rope = Rope(theta, yarn)
    assert yarn.ramp_bounds(64, theta) == bounds
    assert rope.attention_scale == pytest.approx(1.138629436, abs=1e-9)
    np.testing.assert_allclose(rope.inverse_frequencies(64)[[0, 9, 10, 15, 20, 31]], frequencies, rtol=1e-6)


@pytest.mark.parametrize("theta", [10000.0, 160000.0, 1000000.0])
@pytest.mark.parametrize("width", [16, 64, 128])
def test_default_frequencies(theta: float, width: int) -> None:
    exact = theta ** (-np.arange(0, width, 2, dtype=np.float64) / width)
    ours = Rope(theta).inverse_frequencies(width)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, exact, rtol=3e-7)
    theirs = 1.0 / (theta ** (torch.arange(0, width, 2, dtype=torch.int64).float() / width))
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1.3e-7)


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"attention_factor": 1.05},
        {"mscale": 1.2, "mscale_all_dim": 0.7},
        {"mscale": 1.2},
        {"factor": 0.5},
        {"beta_fast": 8.0, "beta_slow": 2.0},
        {"original_max_position_embeddings": 20},
    ],
)
def test_yarn_equals_the_reference(extra: dict[str, Any]) -> None:
    parameters = {**VELA, **extra}
    config = ModernBertConfig(
        hidden_size=256,
        num_attention_heads=4,
        max_position_embeddings=32768,
        rope_parameters={"full_attention": parameters, "sliding_attention": {"rope_type": "default"}},
    )
    theirs, scale = ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"), layer_type="full_attention")
    rope = read(**parameters)
    assert rope.attention_scale == pytest.approx(scale, rel=1e-12)
    np.testing.assert_allclose(rope.inverse_frequencies(64), theirs.numpy(), rtol=2.5e-7)


@pytest.mark.parametrize("rope", [Rope(160000.0), Rope(160000.0, Yarn(4.0, 8192)), Rope(1e6)])
def test_tables_of_long_rows_are_those_of_fp32_angles(rope: Rope) -> None:
    length, width = 32768, 64
    table = rope_table(rope, length, width)
    frequencies = torch.from_numpy(rope.inverse_frequencies(width))
    angles = torch.arange(length).float()[:, None] * frequencies[None, :]
    scale = rope.attention_scale
    np.testing.assert_allclose(table.cos, (angles.cos() * scale).numpy(), rtol=0, atol=2.5e-7)
    np.testing.assert_allclose(table.sin, (angles.sin() * scale).numpy(), rtol=0, atol=2.5e-7)
    assert table.cos.dtype == table.sin.dtype == np.float32


def test_a_longer_table_begins_with_the_shorter_one() -> None:
    short, long = (rope_table(Rope(10000.0), length, 16) for length in (16, 48))
    np.testing.assert_array_equal(long.cos[:16], short.cos)
    np.testing.assert_array_equal(long.sin[:16], short.sin)


def test_rotation_turns_pairs_of_the_two_halves() -> None:
    x = np.random.default_rng(0).standard_normal((2, 5, 3, 8)).astype(np.float32)
    angles = np.arange(5)[:, None] * 100.0 ** (-np.arange(4) / 4)
    pairs = (x[..., :4] + 1j * x[..., 4:]) * np.exp(1j * angles)[None, :, None, :]
    turned = np.asarray(rotate(jnp.asarray(x), rope_table(Rope(100.0), 5, 8)))
    np.testing.assert_allclose(turned, np.concatenate([pairs.real, pairs.imag], axis=-1), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, Rope(10000.0)),
        ({"rope_type": "default", "rope_theta": 5000}, Rope(5000.0)),
        ({"type": "yarn", "factor": 2.0}, Rope(10000.0, Yarn(2.0, 32768))),
        ({"rope_type": "default", "type": "yarn", "factor": 2.0}, Rope(10000.0)),
        ({"rope_type": "yarn", "original_max_position_embeddings": 8192}, Rope(10000.0, Yarn(4.0, 8192))),
        ({"rope_type": "yarn", "factor": 0, "beta_fast": 0, "beta_slow": None}, Rope(10000.0, Yarn(1.0, 32768))),
    ],
)
def test_reading(values: dict[str, Any], expected: Rope) -> None:
    assert read(**values) == expected


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"rope_type": "dynamic"}, "rope_parameters.rope_type"),
        ({"type": "linear"}, "rope_parameters.type"),
        ({"rope_theta": -1}, "rope_parameters.rope_theta"),
        ({"rope_type": "yarn", "rope_theta": 1}, "rope_parameters.rope_theta"),
        ({"rope_type": "yarn", "factor": "4"}, "rope_parameters.factor"),
        ({"rope_type": "yarn", "factor": -4}, "rope_parameters.factor"),
        ({"rope_type": "yarn", "beta_slow": -1}, "rope_parameters.beta_slow"),
        ({"rope_type": "yarn", "original_max_position_embeddings": 8192.5}, "original_max_position_embeddings"),
    ],
)
def test_refused(values: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        read(**values)
