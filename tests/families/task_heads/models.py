"""Models of the handed packages' tokenizers with given readouts instead of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vela_jax.contract import EXPIRED, Answer, Plan, Result, Surface
from vela_jax.families.task_heads.facts import Facts
from vela_jax.families.task_heads.model import TaskHeadsModel, build_model
from vela_jax.families.task_heads.reading import Texts
from vela_jax.families.task_heads.spec import (
    ClassifierSpec,
    Exit,
    GroundedPolicy,
    Kind,
    OperatingPoint,
    PooledSpec,
    RelevanceSpec,
)
from vela_jax.heads.classifier import ClassifierConfig
from vela_jax.heads.pooling import Pooling
from vela_jax.surfaces.reading import check_members, read_request
from vela_jax.text.tokenizer import TextTokenizer

PACKAGES = Path(__file__).parents[2] / "data" / "vela1" / "packages"
LIMIT = 256
DEPTH = 4


@cache
def tokenizer() -> TextTokenizer:
    """Metaspace pieces with byte fallback; `<bos> A <eos>` and `<bos> A <eos> B <eos>`."""
    return TextTokenizer.from_json((PACKAGES / "pii" / "tokenizer.json").read_bytes())


@cache
def texts() -> Texts:
    return Texts.of(tokenizer())


def head_config(labels: int) -> ClassifierConfig:
    return ClassifierConfig(64, labels, "gelu", classifier_bias=False, norm_eps=1e-5, norm_bias=False)


def classifier(kind: Kind, *labels: str, **members: Any) -> TaskHeadsModel:
    spec = ClassifierSpec(kind, labels, Pooling.CLS, head_config(len(labels)), **members)
    return build_model(spec, texts(), DEPTH, Facts(LIMIT, 1000, "ef" * 32))


def sequence() -> TaskHeadsModel:
    return classifier(Kind.SEQUENCE, "no", "yes", "maybe")


def scores(*, strict: bool = False, window: tuple[int, int] | None = None, limit: int | None = None) -> TaskHeadsModel:
    point = OperatingPoint((0.5, 0.2, 0.9), strict, window, limit, "ab" * 32)
    return classifier(Kind.SCORES, "a", "b", "c", operating_point=point)


def token() -> TaskHeadsModel:
    return classifier(Kind.TOKEN, "O", "B-X", "I-X")


def grounded(*, strict: bool = True) -> TaskHeadsModel:
    policy = GroundedPolicy("Q {question} C {context}", 0.5, strict, 64, "cd" * 32)
    return classifier(Kind.GROUNDED, "bad", "supported", policy=policy)


def nli() -> TaskHeadsModel:
    return classifier(Kind.SEQUENCE, "NEUTRAL", "Entailment", "contradiction")


def pooled(*, normalized: bool = True) -> TaskHeadsModel:
    prompts = {"query": "find: ", "document": ""}
    spec = PooledSpec(Pooling.MEAN, (4, 2), (1, 3), normalized, final_norm_exits=False, prompts=prompts)
    return build_model(spec, texts(), DEPTH, Facts(LIMIT, 1000, "ef" * 32))


def relevance() -> TaskHeadsModel:
    spec = RelevanceSpec((Exit(2, 64), Exit(2, 32), Exit(4, 64)), Exit(4, 64))
    return build_model(spec, texts(), DEPTH, Facts(LIMIT, 1000, "ef" * 32))


def plan(model: TaskHeadsModel, surface: Surface, body: Mapping[str, Any]) -> Plan:
    check_members(surface, body)
    return model.plan(surface, read_request(surface, dict(body)))


def answer(plan: Plan, outputs: Sequence[ArrayLike | None]) -> Answer:
    """Assemble with outputs by row; None stands for a row that did not run in time."""
    results: list[Result] = [EXPIRED if output is None else np.asarray(output, np.float32) for output in outputs]
    assert len(results) == len(plan.rows)
    return plan.assemble(results)


def classify(
    model: TaskHeadsModel, inputs: Any, outputs: Sequence[ArrayLike | None], **options: Any
) -> list[dict[str, Any]]:
    planned = plan(model, Surface.CLASSIFY, {"input": inputs, "options": options})
    results: list[dict[str, Any]] = answer(planned, outputs).body["results"]
    return results
