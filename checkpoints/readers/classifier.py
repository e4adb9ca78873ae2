"""Classifier packages: labels, pooling, operating points of `scores` and policies of `grounded` heads.

(Vela 1.0 format, sections 1, 7, 10.3 and 10.5.)
"""

from __future__ import annotations

import hashlib
import string
from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError
from checkpoints.identity import TASK_HEADS
from checkpoints.readers.reading import Members, Reading, is_integer, is_number, read_backbone
from vela_jax.families.task_heads.spec import ClassifierSpec, GroundedPolicy, Kind, OperatingPoint
from vela_jax.heads.classifier import ClassifierConfig
from vela_jax.heads.pooling import Pooling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder

SEQUENCE: Final = "ModernBertForSequenceClassification"
TOKEN: Final = "ModernBertForTokenClassification"
TASK_ARCHITECTURES: Final = (SEQUENCE, TOKEN)
FIVE_FILES: Final = (
    "config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)
POLICY: Final = "operating_point.json"
_SINGLE: Final = "single_label_classification"
_MULTI: Final = "multi_label_classification"
_WINDOWS: Final = "overlapping_content_windows"
_SUPPORTED: Final = "supported"


def read(folder: PackageFolder, config: Mapping[str, Any], architecture: str) -> Reading:
    """Read a package whose config lists one task architecture."""
    members = Members("config.json", config)
    labels = read_labels(members)
    policy = Members(POLICY, folder.json_object(POLICY)) if folder.has(POLICY) else None
    kind = _kind(members, architecture, labels, policy)
    backbone = read_backbone("modernbert", config)
    grounded = _read_grounded(folder, policy, labels) if kind is Kind.GROUNDED and policy else None
    spec = ClassifierSpec(
        kind=kind,
        labels=labels,
        pooling=Pooling(members.choice("classifier_pooling", ("cls", "mean"), "cls")),
        head=ClassifierConfig.from_package(config, len(labels)),
        operating_point=_read_operating_point(folder, policy, labels) if kind is Kind.SCORES and policy else None,
        policy=grounded,
    )
    folder.require(FIVE_FILES)
    limit = backbone.max_position_embeddings
    return Reading(
        spec=spec,
        model_type="modernbert",
        backbone=backbone,
        weight_prefix="model.",
        max_input_tokens=min(limit, grounded.max_input_tokens) if grounded else limit,
        files=(*FIVE_FILES, POLICY) if policy else FIVE_FILES,
        identity_label=TASK_HEADS,
    )


def read_labels(config: Members) -> tuple[str, ...]:
    """Labels in index order: keys are exactly 0 .. n-1."""
    named = config.values.get("id2label")
    if not isinstance(named, dict) or not named or not all(isinstance(label, str) for label in named.values()):
        config.fail("id2label", "a non-empty object of label names by index")
    try:
        by_index = {int(key): label for key, label in named.items()}
    except ValueError:
        config.fail("id2label", "an object whose keys are integers")
    if len(by_index) != len(named) or set(by_index) != set(range(len(named))):
        config.fail("id2label", f"an object whose keys are exactly 0 to {len(named) - 1}")
    return tuple(by_index[index] for index in range(len(by_index)))


def _kind(config: Members, architecture: str, labels: tuple[str, ...], policy: Members | None) -> Kind:
    if architecture == TOKEN:
        if policy and "input_pair" in policy.values:
            return Kind.GROUNDED
        if not any(label.startswith(("B-", "I-")) for label in labels):
            raise PackageError(
                "config.json: id2label of a token classifier must name spans by labels with B- or I-, "
                f"or {POLICY} must have input_pair; found {', '.join(labels[:8])}"
            )
        return Kind.TOKEN
    if config.choice("problem_type", (_SINGLE, _MULTI), _SINGLE) == _MULTI:
        return Kind.SCORES
    if policy:
        raise PackageError(f"{POLICY} beside problem_type {_SINGLE}: remove the file, or set problem_type to {_MULTI}")
    return Kind.SEQUENCE


def _read_operating_point(folder: PackageFolder, policy: Members, labels: tuple[str, ...]) -> OperatingPoint:
    policy.choice("score_type", ("independent_sigmoid",))
    comparison = policy.choice("comparison", ("score >= threshold", "score > threshold"))
    if policy.values.get("labels") != list(labels):
        policy.fail("labels", f"the labels of config.json in order, {list(labels)}")
    thresholds = policy.values.get("thresholds")
    if not isinstance(thresholds, list) or len(thresholds) != len(labels) or not all(map(is_number, thresholds)):
        policy.fail("thresholds", f"a list of {len(labels)} numbers, one a label")
    reading = policy.section("input_policy")
    return OperatingPoint(
        thresholds=tuple(map(float, thresholds)),
        strict=comparison == "score > threshold",
        window=_read_window(reading) if reading and reading.values.get("strategy") == _WINDOWS else None,
        max_document_tokens=_read_document_limit(reading) if reading else None,
        sha256=_digest(folder),
    )


def _read_window(reading: Members) -> tuple[int, int]:
    tokens = reading.integer("window_tokens_including_special_tokens", 1)
    return tokens, reading.integer("overlap_content_tokens", 0)


def _read_document_limit(reading: Members) -> int | None:
    key = "max_document_tokens_including_special_tokens"
    return None if reading.values.get(key) is None else reading.integer(key, 1)


def _read_grounded(folder: PackageFolder, policy: Members, labels: tuple[str, ...]) -> GroundedPolicy:
    if len(labels) != 2 or labels.count(_SUPPORTED) != 1:
        raise PackageError(
            f"config.json: id2label of a grounded head must be two labels, one of them {_SUPPORTED}; found {labels}"
        )
    label_ids = policy.values.get("label2id")
    if label_ids != {label: index for index, label in enumerate(labels)} or not all(
        map(is_integer, label_ids.values())
    ):
        policy.fail("label2id", "the label map of config.json")
    policy.choice("answer_offsets", ("Unicode code points",), "Unicode code points")
    comparison = policy.choice(
        "threshold_comparison", ("strictly_greater", "greater_or_equal"), default="strictly_greater"
    )
    return GroundedPolicy(
        template=_read_template(policy),
        threshold=policy.number("token_threshold"),
        strict=comparison == "strictly_greater",
        max_input_tokens=policy.integer("max_input_tokens", 1),
        sha256=_digest(folder),
    )


def _read_template(policy: Members) -> str:
    pair = policy.values.get("input_pair")
    wanted = 'a pair of a template with {question} and {context}, and "answer"'
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str) or pair[1] != "answer":
        policy.fail("input_pair", wanted)
    try:
        parts = list(string.Formatter().parse(pair[0]))
    except ValueError:
        policy.fail("input_pair", wanted)
    fields = [field for _, field, _, _ in parts if field is not None]
    plain = all(not spec and not conversion for _, _, spec, conversion in parts)
    if sorted(fields) != ["context", "question"] or not plain:
        policy.fail("input_pair", wanted)
    template: str = pair[0]
    return template


def _digest(folder: PackageFolder) -> str:
    return hashlib.sha256(folder.path(POLICY).read_bytes()).hexdigest()
