"""Classifier packages: labels, pooling, operating points, policies."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from checkpoints.files import PackageError
from checkpoints.fixtures import configs
from checkpoints.readers.classifier import FIVE_FILES
from tests.checkpoints.conftest import Edit, MakePackage
from tests.checkpoints.readers.test_task_heads import read
from vela_jax.families.task_heads.spec import ClassifierSpec, Kind
from vela_jax.heads.pooling import Pooling


def classifier(path: Path) -> ClassifierSpec:
    spec = read(path).spec
    assert isinstance(spec, ClassifierSpec)
    return spec


@pytest.mark.parametrize(
    ("variant", "labels", "pooling"),
    [
        ("sequence", configs.DOMAIN, Pooling.CLS),
        ("guard", configs.GUARD, Pooling.CLS),
        ("safety", configs.SAFETY, Pooling.MEAN),
        ("factcheck", configs.FACT_CHECK, Pooling.MEAN),
        ("feedback", configs.FEEDBACK, Pooling.CLS),
        ("modality", configs.MODALITY, Pooling.MEAN),
        ("scores", configs.HAZARD, Pooling.MEAN),
        ("token", configs.PII, Pooling.CLS),
        ("grounded", configs.HALU, Pooling.CLS),
    ],
)
def test_labels_and_pooling(originals: MakePackage, variant: str, labels: tuple[str, ...], pooling: Pooling) -> None:
    reading = read(originals(variant))
    spec = classifier(originals(variant))
    assert spec.labels == labels
    assert spec.pooling is pooling
    assert spec.head.num_labels == len(labels)
    assert spec.head.hidden_size == 64
    assert reading.weight_prefix == "model."
    assert reading.max_input_tokens == (512 if variant == "grounded" else 32768)


def test_labels_are_ordered_by_index(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("guard")
    edit(path / "config.json", {"id2label": {"1": "b", "0": "a"}})
    assert classifier(path).labels == ("a", "b")


@pytest.mark.parametrize(
    "labels",
    [
        ...,
        None,
        {},
        ["a", "b"],
        "ab",
        {"0": "a", "2": "b"},
        {"1": "a", "2": "b"},
        {"0": "a", "-1": "b"},
        {"0": "a", "x": "b"},
        {"0": "a", "1.0": "b"},
        {"0": "a", "00": "b"},
        {"0": "a", "1": 2},
        {"0": "a", "1": None},
    ],
)
def test_bad_labels_are_refused(make_package: MakePackage, edit: Edit, labels: Any) -> None:
    path = make_package("guard")
    edit(path / "config.json", {"id2label": labels})
    with pytest.raises(PackageError, match=r"config\.json: id2label must be"):
        read(path)


@pytest.mark.parametrize("name", FIVE_FILES[1:])
@pytest.mark.parametrize("variant", ["sequence", "reranker"])
def test_all_five_files_are_required(make_package: MakePackage, variant: str, name: str) -> None:
    path = make_package(variant)
    (path / name).unlink()
    with pytest.raises(PackageError, match=f"{name}: missing"):
        read(path)


@pytest.mark.parametrize("variant", ["sequence", "token"])
def test_files_of_a_classifier(make_package: MakePackage, variant: str) -> None:
    path = make_package(variant)
    (path / "README.md").write_text("")
    assert read(path).files == FIVE_FILES


@pytest.mark.parametrize("pooling", ["max", "last_token", 1, ["cls"]])
def test_other_pooling_is_refused(make_package: MakePackage, edit: Edit, pooling: Any) -> None:
    path = make_package("guard")
    edit(path / "config.json", {"classifier_pooling": pooling})
    with pytest.raises(PackageError, match=r"config\.json: classifier_pooling must be 'cls' or 'mean'"):
        read(path)


def test_defaults(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("safety")
    edit(path / "config.json", {"classifier_pooling": ..., "problem_type": ...})
    spec = classifier(path)
    assert spec.pooling is Pooling.CLS
    assert spec.kind is Kind.SEQUENCE
    assert spec.operating_point is None


@pytest.mark.parametrize("problem", ["regression", "", 1, ["single_label_classification"]])
def test_other_problem_types_are_refused(make_package: MakePackage, edit: Edit, problem: Any) -> None:
    path = make_package("guard")
    edit(path / "config.json", {"problem_type": problem})
    with pytest.raises(PackageError, match=r"config\.json: problem_type must be"):
        read(path)


def test_a_policy_beside_one_label_is_refused(make_package: MakePackage) -> None:
    path = make_package("guard")
    (path / "operating_point.json").write_text("{}")
    with pytest.raises(PackageError, match=r"operating_point\.json beside problem_type single_label"):
        read(path)


def test_a_policy_must_be_an_object(make_package: MakePackage) -> None:
    path = make_package("token")
    (path / "operating_point.json").write_text("[]")
    with pytest.raises(PackageError, match=r"operating_point\.json holds a list"):
        read(path)


def test_a_token_head_without_spans_is_refused(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("token")
    edit(path / "config.json", {"id2label": {"0": "O", "1": "PERSON"}})
    with pytest.raises(PackageError, match=r"config\.json: id2label of a token classifier .* found O, PERSON"):
        read(path)
    edit(path / "config.json", {"id2label": {"0": "O", "1": "I-PERSON"}, "problem_type": "ignored"})
    assert classifier(path).kind is Kind.TOKEN


def test_a_token_policy_without_pair_is_hashed_only(make_package: MakePackage) -> None:
    path = make_package("token")
    (path / "operating_point.json").write_text('{"threshold": 0.5}')
    assert classifier(path).kind is Kind.TOKEN
    assert read(path).files == (*FIVE_FILES, "operating_point.json")


# Operating points of `scores` (section 10.3)


def test_an_operating_point(originals: MakePackage) -> None:
    path = originals("scores")
    point = classifier(path).operating_point
    assert point is not None
    assert len(point.thresholds) == len(configs.HAZARD)
    assert all(0.1 <= threshold <= 0.9 for threshold in point.thresholds)
    assert not point.strict
    assert point.window == (64, 16)
    assert point.max_document_tokens == 4096
    assert point.sha256 == hashlib.sha256((path / "operating_point.json").read_bytes()).hexdigest()
    assert read(path).files == (*FIVE_FILES, "operating_point.json")


def test_an_operating_point_is_optional(make_package: MakePackage) -> None:
    path = make_package("scores")
    (path / "operating_point.json").unlink()
    assert classifier(path).operating_point is None
    assert classifier(path).kind is Kind.SCORES


@pytest.mark.parametrize(
    ("policy", "window", "document"),
    [
        (..., None, None),
        (None, None, None),
        ({}, None, None),
        ({"strategy": "whole"}, None, None),
        ({"strategy": "whole", "max_document_tokens_including_special_tokens": 9}, None, 9),
        (
            {
                "strategy": "overlapping_content_windows",
                "window_tokens_including_special_tokens": 9,
                "overlap_content_tokens": 0,
                "stride": "not read",
            },
            (9, 0),
            None,
        ),
    ],
)
def test_input_policies(
    make_package: MakePackage, edit: Edit, policy: Any, window: tuple[int, int] | None, document: int | None
) -> None:
    path = make_package("scores")
    edit(path / "operating_point.json", {"input_policy": policy, "comparison": "score > threshold"})
    point = classifier(path).operating_point
    assert point is not None
    assert (point.window, point.max_document_tokens, point.strict) == (window, document, True)


WINDOW = {"strategy": "overlapping_content_windows", "window_tokens_including_special_tokens": 9}


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"score_type": "softmax"}, "score_type"),
        ({"score_type": ...}, "score_type"),
        ({"comparison": ">="}, "comparison"),
        ({"comparison": ...}, "comparison"),
        ({"labels": list(reversed(configs.HAZARD))}, "labels"),
        ({"labels": ...}, "labels"),
        ({"thresholds": [0.5]}, "thresholds"),
        ({"thresholds": ["0.5"] * 12}, "thresholds"),
        ({"thresholds": [True] * 12}, "thresholds"),
        ({"thresholds": 0.5}, "thresholds"),
        ({"thresholds": [10**400] * 12}, "thresholds"),
        ({"input_policy": []}, "input_policy"),
        ({"input_policy": WINDOW}, "overlap_content_tokens"),
        ({"input_policy": WINDOW | {"overlap_content_tokens": -1}}, "overlap_content_tokens"),
        ({"input_policy": WINDOW | {"window_tokens_including_special_tokens": 9.5}}, "window_tokens"),
        ({"input_policy": {"max_document_tokens_including_special_tokens": "9"}}, "max_document_tokens"),
    ],
)
def test_bad_operating_points_are_refused(
    make_package: MakePackage, edit: Edit, changes: dict[str, Any], member: str
) -> None:
    path = make_package("scores")
    edit(path / "operating_point.json", changes)
    with pytest.raises(PackageError, match=rf"operating_point\.json: .*{member}.* must be"):
        read(path)


# Policies of `grounded` (section 10.5)


def test_a_grounded_policy(originals: MakePackage) -> None:
    path = originals("grounded")
    policy = classifier(path).policy
    assert policy is not None
    assert policy.template == "User request: {question}\n\n{context}"
    assert (policy.threshold, policy.strict, policy.max_input_tokens) == (0.5, True, 512)
    assert policy.sha256 == hashlib.sha256((path / "operating_point.json").read_bytes()).hexdigest()


def test_defaults_of_a_grounded_policy(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("grounded")
    edit(path / "operating_point.json", {"answer_offsets": ..., "threshold_comparison": ..., "token_threshold": 1})
    policy = classifier(path).policy
    assert policy is not None
    assert policy.strict
    assert policy.threshold == 1.0
    edit(path / "operating_point.json", {"threshold_comparison": "greater_or_equal", "max_input_tokens": 99999})
    policy = classifier(path).policy
    assert policy is not None
    assert not policy.strict
    assert read(path).max_input_tokens == 32768


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"input_pair": None}, "input_pair"),
        ({"input_pair": ["{question}{context}"]}, "input_pair"),
        ({"input_pair": ["{question}{context}", "reply"]}, "input_pair"),
        ({"input_pair": [1, "answer"]}, "input_pair"),
        ({"input_pair": ["{question}", "answer"]}, "input_pair"),
        ({"input_pair": ["{question}{context}{answer}", "answer"]}, "input_pair"),
        ({"input_pair": ["{question!r}{context}", "answer"]}, "input_pair"),
        ({"input_pair": ["{question:>9}{context}", "answer"]}, "input_pair"),
        ({"input_pair": ["{question.x}{context}", "answer"]}, "input_pair"),
        ({"input_pair": ["{}{}", "answer"]}, "input_pair"),
        ({"input_pair": ["{question}{context", "answer"]}, "input_pair"),
        ({"label2id": {"supported": 1, "hallucinated": 0}}, "label2id"),
        ({"label2id": {"supported": False, "hallucinated": True}}, "label2id"),
        ({"label2id": ...}, "label2id"),
        ({"answer_offsets": "bytes"}, "answer_offsets"),
        ({"threshold_comparison": ">"}, "threshold_comparison"),
        ({"token_threshold": ...}, "token_threshold"),
        ({"token_threshold": "0.5"}, "token_threshold"),
        ({"token_threshold": True}, "token_threshold"),
        ({"max_input_tokens": ...}, "max_input_tokens"),
        ({"max_input_tokens": 0}, "max_input_tokens"),
        ({"max_input_tokens": 512.0}, "max_input_tokens"),
    ],
)
def test_bad_policies_are_refused(make_package: MakePackage, edit: Edit, changes: dict[str, Any], member: str) -> None:
    path = make_package("grounded")
    edit(path / "operating_point.json", changes)
    with pytest.raises(PackageError, match=rf"operating_point\.json: {member} must be"):
        read(path)


@pytest.mark.parametrize(
    "labels", [{"0": "supported", "1": "a", "2": "b"}, {"0": "a", "1": "b"}, {"0": "supported", "1": "supported"}]
)
def test_a_grounded_head_has_two_labels(make_package: MakePackage, edit: Edit, labels: dict[str, str]) -> None:
    path = make_package("grounded")
    edit(path / "config.json", {"id2label": labels})
    with pytest.raises(PackageError, match=r"config\.json: id2label of a grounded head must be two labels"):
        read(path)
