"""Steps of a training run: a schedule, an optimizer, and a loop that can be left and taken up again."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from bench.mini.student import Student
from bench.mini.training.losses import Batch, Losses, losses
from bench.mini.training.saved import Place, restore, save

Network = TypeVar("Network", bound=nnx.Module)
Loss = Callable[[Any, Any, jax.Array], tuple[jax.Array, Any]]
"""Of a network, a batch and weights: the loss, and what is reported of it."""
CHECKPOINT: Final = "run.npz"
_CLIP: Final = 1.0
_WARM_SHARE: Final = 0.03


class Source(Protocol):
    """Where batches come from."""

    def batches(self, chunk: int) -> Iterator[Any]:
        """The batches of a chunk, the same each time; each has `lengths` [B], 0 for an absent row."""


class Schedule(Protocol):
    """What a run is: its steps and its step size."""

    @property
    def steps(self) -> int:
        """Steps of the whole run."""

    @property
    def learning_rate(self) -> float:
        """Highest step size."""

    @property
    def weight_decay(self) -> float:
        """Of kernels."""

    @property
    def save_every(self) -> int:
        """Steps between checkpoints."""

    def weights(self, step: int, /) -> tuple[float, ...]:
        """What the parts of the loss weigh at a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The schedule of the decision model, and how much it learns from the teacher.

    For the first `distilled_steps` the teacher teaches, and labels with `early_weight`; from there on labels do, and
    the teacher with `distilled_weight`.
    """

    steps: int
    distilled_steps: int
    distilled_weight: float = 1.0
    early_weight: float = 0.3
    learning_rate: float = 4e-4
    weight_decay: float = 0.01
    save_every: int = 100

    def weights(self, step: int) -> tuple[float, float]:
        """Of labels, and of the teacher."""
        return (self.early_weight, 1.0) if step < self.distilled_steps else (1.0, self.distilled_weight)


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run reports after each step."""

    step: int
    losses: Any
    rows: int
    seconds: float  # of the step, making its batch included


class Trainer(Generic[Network]):
    """One run of one network. `home` holds its checkpoint."""

    def __init__(self, network: Network, recipe: Schedule, home: Path, loss: Loss) -> None:
        self._recipe = recipe
        self._path = home / CHECKPOINT
        self.graphdef, params = nnx.split(network)
        params = jax.tree.map(jnp.copy, params)  # they are given away step by step, and some are the teacher's
        self._optimizer = _optimizer(recipe)
        state = (params, self._optimizer.init(params))
        self.place = Place()
        if self._path.is_file():
            state, self.place = restore(self._path, state)
        self.params, self._moments = state
        self._step = jax.jit(partial(_step, self.graphdef, self._optimizer, loss), donate_argnums=(0, 1))

    def run(self, chunks: Source, report: Callable[[Progress], None], until: float | None = None) -> None:
        """Train to the last step, or to the time `until` (of `time.monotonic`); saves now and then and at the end."""
        steps = self._recipe.steps
        for chunk in itertools.count(self.place.chunk):
            read = self.place.batch if chunk == self.place.chunk else 0
            start = time.monotonic()
            for number, batch in enumerate(chunks.batches(chunk)):
                if number < read:
                    continue
                if self.place.step >= steps or (until is not None and time.monotonic() >= until):
                    self.save()
                    return
                found = self._advance(batch)
                self.place = Place(self.place.step + 1, chunk, number + 1)
                jax.block_until_ready(found)
                now = time.monotonic()
                report(Progress(self.place.step, found, int((batch.lengths > 0).sum()), now - start))
                start = now
                if self.place.step % self._recipe.save_every == 0:
                    self.save()

    def network(self) -> Network:
        """The network as it is now."""
        merged: Network = nnx.merge(self.graphdef, self.params)
        return merged

    def save(self) -> None:
        """Write the checkpoint."""
        save(self._path, (self.params, self._moments), self.place)

    def _advance(self, batch: Any) -> Any:
        weights = jnp.asarray(self._recipe.weights(self.place.step), jnp.float32)
        self.params, self._moments, found = self._step(self.params, self._moments, batch, weights)
        return found


def decision_loss(student: Student, batch: Batch, weights: jax.Array) -> tuple[jax.Array, Losses]:
    """The loss of the decision model."""
    found = losses(student, batch)
    return weights[0] * found.supervised + weights[1] * found.distilled, found


def _optimizer(recipe: Schedule) -> Any:
    warm = max(1, round(recipe.steps * _WARM_SHARE))
    rate = optax.warmup_cosine_decay_schedule(0.0, recipe.learning_rate, warm, max(recipe.steps, warm + 1))
    adam = optax.adamw(rate, b2=0.98, weight_decay=recipe.weight_decay, mask=_kernels)
    return optax.chain(optax.clip_by_global_norm(_CLIP), adam)


def _kernels(params: Any) -> Any:
    """Which parameters decay: those of more than one axis."""
    return jax.tree.map(lambda leaf: jnp.ndim(leaf) > 1, params)


def _step(
    graphdef: Any, optimizer: Any, loss: Loss, params: Any, moments: Any, batch: Any, weights: jax.Array
) -> tuple[Any, Any, Any]:
    def total(params: Any) -> tuple[jax.Array, Any]:
        return loss(nnx.merge(graphdef, params), batch, weights)

    (_, found), gradient = jax.value_and_grad(total, has_aux=True)(params)
    with jax.numpy_dtype_promotion("standard"):  # the library counts steps in integers
        updates, moments = optimizer.update(gradient, moments, params)
        return optax.apply_updates(params, updates), moments, found
