"""The figures of answers."""

from collections import Counter
from typing import Any

import pytest

from bench.mini.calibration import THRESHOLDS, Fitted, fit_temperature, fit_threshold
from bench.mini.measures import Tally, auc, micro_f1


def test_figures_of_one_answer_of_each_kind() -> None:
    tally = Tally()
    body = {
        "answers": {
            "c": {"choice": "a"},
            "n": {"noul": 0.7},
            "m": {"noul": 0.8},
            "l": {"score": 0.2},
            "h": {"score": 1.0},
            "p": {"noul": 0.9},
            "s": {},
        },
        "sets": {"s": {"selected": ["x", "y"]}},
        "spans": {"p": [{"label": "PERSON", "text": "Ann"}]},
    }
    tally.add({"choice": "a"}, body, "c")
    tally.add({"noul": True}, body, "n")
    tally.add({"noul": False}, body, "m")
    tally.add({"set": ["x"]}, body, "s")
    tally.add({"spans": []}, body, "p")
    tally.add({"pair": "q", "side": "low"}, body, "l")
    tally.add({"pair": "q", "side": "high"}, body, "h")
    figures = tally.figures().rounded()
    assert figures == {
        "choice": 1.0,
        "noul": 0.5,
        "noul_auc": 0.0,
        "set_exact": 0.0,
        "set_f1": 0.667,
        "span_f1": 0.0,
        "false_alarms": 1.0,
        "score_order": 1.0,
    }


def test_what_is_not_answered_is_wrong() -> None:
    tally = Tally()
    wants: tuple[dict[str, Any], ...] = ({"choice": "a"}, {"noul": False}, {"set": []}, {"spans": []})
    for want in (*wants, {"pair": "p", "side": "low"}, {"pair": "p", "side": "high"}):
        tally.add(want, {"answers": {"q": {"error": "max_length_exceeded"}}}, "q")
    figures = tally.figures()
    assert (figures.choice, figures.noul, figures.set_exact, figures.score_order) == (0, 0, 0, 0)
    assert figures.false_alarms == 1


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        ([(True, 0.9), (False, 0.1)], 1.0),
        ([(True, 0.1), (False, 0.9)], 0.0),
        ([(True, 0.5), (False, 0.5)], 0.5),
        ([(True, 0.5)], 0.0),
    ],
)
def test_area_under_the_curve(judged: list[tuple[bool, float]], expected: float) -> None:
    assert auc(judged) == expected


def test_f1_counts_repeated_things() -> None:
    assert micro_f1([(Counter({"a": 2}), Counter({"a": 1}))]) == pytest.approx(2 / 3)
    assert micro_f1([]) == 0.0


def test_a_temperature_fits_how_often_logits_are_right() -> None:
    sure, torn = ([2.0, 0.0], 0), ([2.0, 0.0], 1)
    assert fit_temperature([sure] * 20) < fit_temperature([sure] * 12 + [torn] * 8)
    assert fit_temperature([]) == 1.0


def test_a_threshold_is_the_middle_of_the_best() -> None:
    assert fit_threshold(lambda threshold: float(0.3 < threshold < 0.6)) == pytest.approx(0.45)
    assert fit_threshold(lambda _: 1.0) == THRESHOLDS[len(THRESHOLDS) // 2]


def test_the_calibration_is_what_its_members_say() -> None:
    fitted = Fitted(set_threshold=0.3)
    calibration, members = fitted.calibration(), fitted.members()
    assert calibration.presets == ("pii", "relevance")
    assert calibration.set_threshold("q") == members["thresholds"]["set:*"] == 0.3
    assert dict(calibration.span_presets["pii"].labels) == members["pii_schema"]["labels"]
