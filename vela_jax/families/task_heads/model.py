"""A loaded task-heads model as the server sees it: its card and its plans."""

from __future__ import annotations

from typing import Any

from vela_jax.contract import Plan, Readout, Surface, UnsupportedSurface
from vela_jax.families.task_heads.classify import HEAD_NAME, Head, plan_classify
from vela_jax.families.task_heads.embeddings import plan_embeddings
from vela_jax.families.task_heads.facts import Facts
from vela_jax.families.task_heads.grounded import GroundedHead
from vela_jax.families.task_heads.networks import LOGITS
from vela_jax.families.task_heads.nli import QUESTION_TYPES, entailment_index, plan_decisions
from vela_jax.families.task_heads.reading import Texts
from vela_jax.families.task_heads.rerank import plan_rerank
from vela_jax.families.task_heads.sequence import ScoresHead, SequenceHead
from vela_jax.families.task_heads.settings import default_overflow, default_window
from vela_jax.families.task_heads.spec import ClassifierSpec, Exit, Kind, PooledSpec, RelevanceSpec, Spec
from vela_jax.families.task_heads.token import TokenHead
from vela_jax.surfaces.card import Description, EmbeddingCard, ExitCard, HeadCard, RerankCard, WindowCard


class ClassifierModel:
    """Serves classify; a model with entailment labels serves decisions too."""

    def __init__(self, spec: ClassifierSpec, texts: Texts, depth: int, facts: Facts) -> None:
        self._spec = spec
        self._texts = texts
        self._facts = facts
        self._head = _head(spec, texts, depth)
        self._entailment = entailment_index(spec.labels) if spec.kind is Kind.SEQUENCE else None
        self._readout = Readout(LOGITS, depth)

    def plan(self, surface: Surface, request: Any) -> Plan:
        """Validate, render and tokenize."""
        limit = self._facts.max_input_tokens
        if surface is Surface.CLASSIFY:
            return plan_classify(request, self._spec, self._head, limit)
        if surface is Surface.DECISIONS and self._entailment is not None:
            return plan_decisions(request, self._texts, self._readout, self._entailment, limit)
        raise UnsupportedSurface(_unsupported(surface, self.describe()))

    def describe(self) -> Description:
        """The family's part of the card."""
        card = _head_card(self._spec, self._head)
        if self._entailment is None:
            return self._facts.describe([Surface.CLASSIFY], heads=[card])
        surfaces = [Surface.CLASSIFY, Surface.DECISIONS]
        return self._facts.describe(surfaces, heads=[card], question_types=list(QUESTION_TYPES))


class PooledModel:
    """Serves embeddings."""

    def __init__(self, spec: PooledSpec, texts: Texts, facts: Facts) -> None:
        self._spec = spec
        self._texts = texts
        self._facts = facts

    def plan(self, surface: Surface, request: Any) -> Plan:
        """Validate, render and tokenize."""
        if surface is not Surface.EMBEDDINGS:
            raise UnsupportedSurface(_unsupported(surface, self.describe()))
        return plan_embeddings(request, self._spec, self._texts, self._facts)

    def describe(self) -> Description:
        """The family's part of the card."""
        card = EmbeddingCard(
            dimensions=list(self._spec.dimensions),
            layers=list(self._spec.layers),
            modalities=["text"],
            normalized=self._spec.normalized,
            pooling=str(self._spec.pooling),
            input_types=sorted(self._spec.prompts),
        )
        return self._facts.describe([Surface.EMBEDDINGS], embedding=card)


class RelevanceModel:
    """Serves rerank."""

    def __init__(self, spec: RelevanceSpec, texts: Texts, facts: Facts) -> None:
        self._spec = spec
        self._texts = texts
        self._facts = facts

    def plan(self, surface: Surface, request: Any) -> Plan:
        """Validate, render and tokenize."""
        if surface is not Surface.RERANK:
            raise UnsupportedSurface(_unsupported(surface, self.describe()))
        return plan_rerank(request, self._spec, self._texts, self._facts.max_input_tokens)

    def describe(self) -> Description:
        """The family's part of the card."""
        exits = [_exit_card(exit_) for exit_ in self._spec.exits]
        return self._facts.describe(
            [Surface.RERANK], rerank=RerankCard(exits=exits, default=_exit_card(self._spec.default))
        )


TaskHeadsModel = ClassifierModel | PooledModel | RelevanceModel


def build_model(spec: Spec, texts: Texts, depth: int, facts: Facts) -> TaskHeadsModel:
    """Join what the package says with the reading of its texts; `depth` is the backbone's last layer."""
    if isinstance(spec, ClassifierSpec):
        return ClassifierModel(spec, texts, depth, facts)
    if isinstance(spec, PooledSpec):
        return PooledModel(spec, texts, facts)
    return RelevanceModel(spec, texts, facts)


def _head(spec: ClassifierSpec, texts: Texts, depth: int) -> Head:
    pooled = Readout(LOGITS, depth)
    tokens = Readout(LOGITS, depth, per_token=True)
    if spec.kind is Kind.SEQUENCE:
        return SequenceHead(texts, spec.labels, pooled)
    if spec.kind is Kind.SCORES:
        return ScoresHead(texts, spec.labels, pooled, spec.operating_point)
    if spec.policy is not None:
        return GroundedHead(texts, spec.labels, tokens, spec.policy)
    return TokenHead(texts, spec.labels, tokens)


def _head_card(spec: ClassifierSpec, head: Head) -> HeadCard:
    point, policy = spec.operating_point, spec.policy
    window = default_window(spec)
    reductions = {Kind.TOKEN: "span_union", Kind.GROUNDED: None}
    source = point or policy
    return HeadCard(
        name=HEAD_NAME,
        kind=head.kind,
        labels=list(spec.labels),
        inputs=list(head.inputs),
        default_threshold=policy.threshold if policy else None,
        thresholds=list(point.thresholds) if point else None,
        overflow=default_overflow(spec),
        window=WindowCard(*window) if window else None,
        reduction=reductions.get(spec.kind, "max"),
        operating_point_sha256=source.sha256 if source else None,
    )


def _exit_card(exit_: Exit) -> ExitCard:
    return ExitCard(exit_.layer, exit_.dimension)


def _unsupported(surface: Surface, description: Description) -> str:
    served = [str(name) for name in description.surfaces]
    return f"this model does not serve {surface}; it serves {served}"
