"""The running estimate of seconds a token."""

from __future__ import annotations

import pytest

from serving.scheduler.speed import Speed


def test_first_sample_replaces_the_guess_and_later_ones_are_smoothed() -> None:
    speed = Speed()
    assert speed.seconds_per_token == 2e-5
    speed.learn(1.0, 100)
    assert speed.seconds_per_token == pytest.approx(0.01)
    speed.learn(2.0, 100)
    assert speed.seconds_per_token == pytest.approx(0.011)


def test_a_forward_without_tokens_teaches_nothing() -> None:
    speed = Speed()
    speed.learn(1.0, 0)
    assert speed.seconds_per_token == 2e-5
