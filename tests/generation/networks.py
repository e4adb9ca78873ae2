"""Small compiled generators for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import jax
import numpy as np
from flax import nnx

from vela_jax.backbones.decoder import CausalLM, DecoderConfig
from vela_jax.generation.engine import TokenEngine
from vela_jax.generation.network import GeneratorNetwork
from vela_jax.generation.pages import prefix_keys
from vela_jax.generation.sequence import Choice, Delta, Generated
from vela_jax.generation.stopping import StopRules
from vela_jax.layers.rotary import Rope

VOCABULARY = 96
MAX_LENGTH = 256


def config(**changes: object) -> DecoderConfig:
    """A decoder of two layers."""
    values: dict[str, object] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": MAX_LENGTH,
        "rms_norm_eps": 1e-6,
        "attention_bias": False,
        "rope": Rope(10_000.0),
        "head_norms": True,
        "tie_word_embeddings": True,
    }
    return DecoderConfig(**{**values, **changes})  # type: ignore[arg-type]


@cache
def warmed() -> TokenEngine:
    """An engine whose steps are compiled and proved; its network is shared by the engines of `engine`."""
    graphdef, params = nnx.split(CausalLM(config(), rngs=nnx.Rngs(3)), nnx.Param)
    params = jax.tree.map(lambda leaf: leaf * 6 if leaf.ndim == 2 else leaf, params)  # sharper than at the start
    device = jax.devices()[0]
    network = GeneratorNetwork(graphdef, params, config(), device, max_length=MAX_LENGTH, pages=24)
    found = TokenEngine(network, max_num_seqs=16)
    found.warm(lambda *_: None)
    return found


def engine(*, pages: int = 24, max_num_seqs: int = 16, prefix_caching: bool = True) -> TokenEngine:
    """A fresh engine; `pages` below the network's own leave the others unused."""
    network = warmed().network
    network.clear()
    made = TokenEngine(network, max_num_seqs=max_num_seqs, prefix_caching=prefix_caching, pages=pages)
    made.proof = warmed().proof
    return made


class Sink:
    """Keeps what sequences were told."""

    def __init__(self, also: Callable[[Generated, Delta], None] | None = None) -> None:
        self.deltas: list[Delta] = []
        self._also = also

    def __call__(self, sequence: Generated, delta: Delta) -> None:
        self.deltas.append(delta)
        if self._also is not None:
            self._also(sequence, delta)

    def bits(self) -> list[object]:
        """Tokens, their log-probabilities as they are, and the end."""
        return [(delta.token_ids, delta.logprobs, delta.finish) for delta in self.deltas]


def prompt(length: int, seed: int = 0) -> tuple[int, ...]:
    """Random ids."""
    return tuple(int(each) for each in np.random.default_rng((seed, length)).integers(0, VOCABULARY, length))


def sequence(
    ids: Iterable[int], sink: Sink, *, tokens: int = 8, arrival: int = 0, salt: str | None = None, **choice: object
) -> Generated:
    """A sequence that reports two candidates a token, unless told otherwise."""
    ids = tuple(ids)
    chosen = {"vocabulary": VOCABULARY, "logprobs": 2, **choice}
    return Generated(
        prompt=ids,
        choice=Choice(**chosen),  # type: ignore[arg-type]
        rules=StopRules(frozenset(), tokens, 0, MAX_LENGTH - len(ids)),
        sink=sink,
        order=(0, arrival),
        keys=prefix_keys(ids, salt),
    )


def run(made: TokenEngine, *sequences: Generated) -> None:
    """Step until all have ended."""
    made.submit(sequences)
    for _ in range(2_000):
        if not made.step():
            return
    raise AssertionError("the engine does not come to an end")
