"""Ends the processes that a test brought up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving import fakes


@pytest.fixture(autouse=True)
def end_processes() -> Iterator[None]:
    """Leave no worker thread behind."""
    yield
    while fakes.STARTED:
        fakes.STARTED.pop().end()
