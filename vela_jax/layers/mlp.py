"""The per-token networks of the backbones: gated in one product (GeGLU), plain, and gated in two products (SwiGLU)."""

from __future__ import annotations

import jax
from flax import nnx
from jaxtyping import Float

from vela_jax.layers.activations import ACTIVATIONS, silu
from vela_jax.layers.linear import Linear


class GatedMlp(nnx.Module):
    """Wo(act(u[:F]) * u[F:]) with u = Wi x (ModernBERT)."""

    def __init__(
        self, hidden_size: int, intermediate_size: int, *, activation: str, bias: bool, rngs: nnx.Rngs
    ) -> None:
        self.Wi = Linear(hidden_size, 2 * intermediate_size, bias=bias, rngs=rngs)
        self.Wo = Linear(intermediate_size, hidden_size, bias=bias, rngs=rngs)
        self.activation = activation

    def __call__(self, x: Float[jax.Array, "B T D"]) -> Float[jax.Array, "B T D"]:
        """Each token by itself."""
        u = self.Wi(x)
        half = u.shape[-1] // 2
        return self.Wo(ACTIVATIONS[self.activation](u[..., :half]) * u[..., half:])


class PlainMlp(nnx.Module):
    """output(act(intermediate(x))) (BERT)."""

    def __init__(self, hidden_size: int, intermediate_size: int, *, activation: str, rngs: nnx.Rngs) -> None:
        self.intermediate = Linear(hidden_size, intermediate_size, bias=True, rngs=rngs)
        self.output = Linear(intermediate_size, hidden_size, bias=True, rngs=rngs)
        self.activation = activation

    def __call__(self, x: Float[jax.Array, "B T D"]) -> Float[jax.Array, "B T D"]:
        """Each token by itself."""
        return self.output(ACTIVATIONS[self.activation](self.intermediate(x)))


class SwiGlu(nnx.Module):
    """down(silu(gate(x)) * up(x)) (Qwen3)."""

    def __init__(self, hidden_size: int, intermediate_size: int, *, rngs: nnx.Rngs) -> None:
        self.gate_proj = Linear(hidden_size, intermediate_size, bias=False, rngs=rngs)
        self.up_proj = Linear(hidden_size, intermediate_size, bias=False, rngs=rngs)
        self.down_proj = Linear(intermediate_size, hidden_size, bias=False, rngs=rngs)

    def __call__(self, x: Float[jax.Array, "B T D"]) -> Float[jax.Array, "B T D"]:
        """Each token by itself."""
        return self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))
