"""What every backbone gives: hidden states after chosen layers, in one pass."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import jax
from jaxtyping import Float, Int32


@runtime_checkable
class BackboneConfig(Protocol):
    """The part of a backbone's config that is common to all."""

    @property
    def vocab_size(self) -> int:
        """Rows of the token table."""

    @property
    def hidden_size(self) -> int:
        """Channels of hidden states."""

    @property
    def num_hidden_layers(self) -> int:
        """Layers; also the last exit."""

    @property
    def max_position_embeddings(self) -> int:
        """Most tokens of a row."""


@runtime_checkable
class Backbone(Protocol):
    """A shared stack. Exit 0 is the embedding output, exit k the hidden states after k layers."""

    @property
    def config(self) -> BackboneConfig:
        """The config that it was built from."""

    def __call__(
        self,
        ids: Int32[jax.Array, "B S"],
        lengths: Int32[jax.Array, " B"],
        exits: tuple[int, ...],
        *,
        final_norm_exits: bool = False,
    ) -> dict[int, Float[jax.Array, "B S D"]]:
        """Hidden states at `exits`; layers beyond the largest are not run.

        Row b is the first `lengths[b]` of its ids; ids after them are 0 and their hidden states have no meaning.
        The last exit always went through the final norm; exits before it only with `final_norm_exits`.
        Raises ValueError for an exit that the backbone does not have.
        """


def check_exits(exits: tuple[int, ...], num_hidden_layers: int) -> None:
    """Raise ValueError for no exit at all, or one outside 0 .. `num_hidden_layers`."""
    wrong = [k for k in exits if not 0 <= k <= num_hidden_layers]
    if wrong or not exits:
        raise ValueError(f"exits must be some of 0 to {num_hidden_layers}; found {exits}")
