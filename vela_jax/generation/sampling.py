"""Drawing one token from the logits of one row, on the device (token-in/token-out contract, section 13).

A row is drawn by itself and its random numbers follow from its seed and step alone, so company changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

_WORD = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Draw:
    """How the next token of a row is drawn.

    `hidden` [V] are tokens that must not come, `bias` [V] is added to the others. `seen` [V] are the prompt's tokens,
    `counts` [V] how often each was generated. A temperature of 0 takes the most probable token.
    """

    hidden: Any
    bias: Any
    seen: Any
    counts: Any
    penalties: tuple[float, float, float]  # repetition, frequency, presence
    temperature: float
    top_p: float
    min_p: float
    top_k: int
    seed: int
    step: int

    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `sample` behind the logits."""
        scalars = np.array((*self.penalties, self.temperature, self.top_p, self.min_p), np.float32)
        words = np.array((self.seed >> 32 & _WORD, self.seed & _WORD), np.uint32)
        return (
            self.hidden,
            self.bias,
            self.seen,
            self.counts,
            scalars,
            words,
            np.array((self.top_k, self.step), np.int32),
        )

    @staticmethod
    def specs(vocabulary: int, spec: Callable[..., Any]) -> tuple[Any, ...]:
        """Shapes and dtypes of `arguments`."""
        wide = (vocabulary,)
        return (
            spec(wide, jnp.bool_),
            spec(wide, jnp.float32),
            spec(wide, jnp.bool_),
            spec(wide, jnp.int32),
            spec((6,), jnp.float32),
            spec((2,), jnp.uint32),
            spec((2,), jnp.int32),
        )


def no_bias(vocabulary: int) -> NDArray[np.float32]:
    """A bias of nothing."""
    return np.zeros(vocabulary, np.float32)


def sample(
    logits: jax.Array,
    hidden: jax.Array,
    bias: jax.Array,
    seen: jax.Array,
    counts: jax.Array,
    scalars: jax.Array,
    words: jax.Array,
    integers: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Draw from logits [V]; gives the token and the counts with it. The other arguments are those of a `Draw`."""
    repetition, frequency, presence, temperature, top_p, min_p = (scalars[i] for i in range(6))
    top_k, step = integers[0], integers[1]
    x = jnp.where(hidden, -jnp.inf, logits) + bias
    x = _penalize(x, seen, counts, repetition, frequency, presence)

    def draw() -> jax.Array:
        warm = x / temperature
        warm = lax.cond(min_p > 0, lambda: _drop_unlikely(warm, min_p), lambda: warm)
        limited = (top_k > 0) | (top_p < 1)
        warm = lax.cond(limited, lambda: _keep_top(warm, top_k, top_p), lambda: warm)
        key = jax.random.fold_in(jax.random.wrap_key_data(words, impl="threefry2x32"), step)
        return jnp.argmax(warm + jax.random.gumbel(key, warm.shape, jnp.float32)).astype(jnp.int32)

    token = lax.cond(temperature > 0, draw, lambda: jnp.argmax(x).astype(jnp.int32))
    return token, counts.at[token].add(1)


def _penalize(
    x: jax.Array, seen: jax.Array, counts: jax.Array, repetition: jax.Array, frequency: jax.Array, presence: jax.Array
) -> jax.Array:
    repeated = seen | (counts > 0)
    x = jnp.where(repeated, jnp.where(x > 0, x / repetition, x * repetition), x)
    x = x - frequency * counts.astype(jnp.float32)
    return x - presence * (counts > 0).astype(jnp.float32)


def _drop_unlikely(x: jax.Array, min_p: jax.Array) -> jax.Array:
    probabilities = jax.nn.softmax(x)
    return jnp.where(probabilities < min_p * jnp.max(probabilities), -jnp.inf, x)


def _keep_top(x: jax.Array, top_k: jax.Array, top_p: jax.Array) -> jax.Array:
    """Drop what lies below the k-th largest, then the tail whose probabilities reach 1 - top_p at most."""
    size = x.shape[0]
    ordered, order = lax.sort_key_val(x, jnp.arange(size, dtype=jnp.int32))  # ascending
    kth = ordered[jnp.clip(size - top_k, 0, size - 1)]
    ordered = jnp.where((top_k > 0) & (ordered < kth), -jnp.inf, ordered)
    tail = jnp.cumsum(jax.nn.softmax(ordered)) <= 1 - top_p
    tail = tail.at[-1].set(False)
    kept = jnp.where((top_p < 1) & tail, -jnp.inf, ordered)
    return jnp.zeros_like(x).at[order].set(kept)
