"""The encoder that peers are compared on."""

from __future__ import annotations

from pathlib import Path

from bench.peers.package import RELEASED, write_encoder
from checkpoints.package import resolve, verify

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "local_attention": 8,
    "vocab_size": 512,
}


def test_the_encoder_is_a_sound_package(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder", SIZES)
    reading = verify(resolve(str(folder))).reading
    assert reading.backbone.hidden_size == 32
    assert reading.backbone.num_hidden_layers == 3
    assert reading.max_input_tokens == 32768


def test_equal_seeds_give_equal_weights(tmp_path: Path) -> None:
    first, second, other = (
        (write_encoder(tmp_path / name, SIZES, seed) / "model.safetensors").read_bytes()
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == second != other


def test_the_sizes_are_those_that_are_released() -> None:
    assert SIZES.keys() == RELEASED.keys()
