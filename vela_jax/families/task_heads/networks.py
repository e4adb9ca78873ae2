"""Networks of the task-heads family: a backbone and what is read from its hidden states."""

from __future__ import annotations

from flax import nnx
from jaxtyping import Array, Float, Int32

from vela_jax.backbones.registry import AnyConfig, build
from vela_jax.families.task_heads.spec import ClassifierSpec, Kind, PooledSpec, RelevanceSpec, Spec
from vela_jax.heads.classifier import ClassifierHead
from vela_jax.heads.pooling import pool
from vela_jax.heads.relevance import RelevanceScorers

LOGITS = "logits"
Readouts = dict[str, Float[Array, "B ..."]]


class ClassifierNetwork(nnx.Module):
    """A backbone and a classifier head: `logits` [B C], or [B S C] where every token is judged."""

    def __init__(self, config: AnyConfig, spec: ClassifierSpec, *, rngs: nnx.Rngs) -> None:
        self.backbone = build(config, rngs=rngs)
        self.head = ClassifierHead(spec.head, rngs=rngs)
        self.per_token = (LOGITS,) if spec.kind in (Kind.TOKEN, Kind.GROUNDED) else ()
        self.pooling = spec.pooling
        self.marks = ()
        self.depths = (config.num_hidden_layers,)

    def __call__(self, ids: Int32[Array, "B S"], lengths: Int32[Array, " B"], depth: int) -> Readouts:
        """Readouts by name."""
        hidden = self.backbone(ids, lengths, (depth,))[depth]
        rows = hidden if self.per_token else pool(hidden, lengths, self.pooling)
        return {LOGITS: self.head(rows)}


class PooledNetwork(nnx.Module):
    """A backbone whose rows are pooled: `pooled.<layer>` [B D]."""

    def __init__(self, config: AnyConfig, spec: PooledSpec, *, rngs: nnx.Rngs) -> None:
        self.backbone = build(config, rngs=rngs)
        self.per_token = ()
        self.pooling = spec.pooling
        self.final_norm_exits = spec.final_norm_exits
        self.marks = ()
        self.depths = spec.layers

    def __call__(self, ids: Int32[Array, "B S"], lengths: Int32[Array, " B"], depth: int) -> Readouts:
        """Readouts by name."""
        hidden = self.backbone(ids, lengths, (depth,), final_norm_exits=self.final_norm_exits)[depth]
        return {f"pooled.{depth}": pool(hidden, lengths, self.pooling)}


class RelevanceNetwork(nnx.Module):
    """A backbone and one scorer an exit: `logit.<layer>.<dimension>` [B]."""

    def __init__(self, config: AnyConfig, spec: RelevanceSpec, *, rngs: nnx.Rngs) -> None:
        self.backbone = build(config, rngs=rngs)
        exits = tuple((exit_.layer, exit_.dimension) for exit_ in spec.exits)
        self.scorers = RelevanceScorers(exits, rngs=rngs)
        self.per_token = ()
        self.exits = exits
        self.marks = ()
        default = spec.default.layer
        self.depths = (*sorted({exit_.layer for exit_ in spec.exits} - {default}), default)

    def __call__(self, ids: Int32[Array, "B S"], lengths: Int32[Array, " B"], depth: int) -> Readouts:
        """Readouts by name."""
        first = self.backbone(ids, lengths, (depth,), final_norm_exits=True)[depth][:, 0]
        here = [exit_ for exit_ in self.exits if exit_[0] == depth]
        return {f"logit.{layer}.{dimension}": self.scorers(first, layer, dimension) for layer, dimension in here}


def build_network(
    config: AnyConfig, spec: Spec, *, rngs: nnx.Rngs
) -> ClassifierNetwork | PooledNetwork | RelevanceNetwork:
    """The network of a package, its parameters random."""
    if isinstance(spec, ClassifierSpec):
        return ClassifierNetwork(config, spec, rngs=rngs)
    if isinstance(spec, PooledSpec):
        return PooledNetwork(config, spec, rngs=rngs)
    return RelevanceNetwork(config, spec, rngs=rngs)
