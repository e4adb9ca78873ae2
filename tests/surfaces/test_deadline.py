from __future__ import annotations

import time

from vela_jax.surfaces.deadline import is_past_deadline, running_until


def test_a_deadline_holds_within_its_block() -> None:
    assert not is_past_deadline()
    with running_until(time.monotonic() - 1):
        assert is_past_deadline()
        with running_until(None):
            assert not is_past_deadline()
        assert is_past_deadline()
    with running_until(time.monotonic() + 60):
        assert not is_past_deadline()
    assert not is_past_deadline()
