"""Bounds of pending work."""

from __future__ import annotations

import pytest

from serving.errors import ErrorCode, RequestFailed
from serving.scheduler.admission import Admission


@pytest.mark.parametrize(
    ("pending", "new", "admitted"),
    [
        ([], [10], True),
        ([], [1000], True),  # one oversized job on an idle model
        ([1], [1000], False),
        ([50], [50], True),  # exactly the bound
        ([50], [51], False),
        ([1, 1], [1], True),
        ([1, 1, 1], [1], False),
        ([1, 1], [1, 1], False),  # a group is refused whole
        ([], [], True),
        ([1, 1, 1], [], True),
    ],
)
def test_bounds(pending: list[int], new: list[int], admitted: bool) -> None:
    admission = Admission(max_jobs=3, max_tokens=100)
    admission.admit(pending)
    if admitted:
        admission.admit(new)
        assert (admission.jobs, admission.tokens) == (len(pending + new), sum(pending + new))
        return
    with pytest.raises(RequestFailed) as refused:
        admission.admit(new)
    assert refused.value.code is ErrorCode.OVERLOADED
    assert refused.value.status == 429
    assert (admission.jobs, admission.tokens) == (len(pending), sum(pending)), "a refused group left something behind"


def test_release_makes_room() -> None:
    admission = Admission(max_jobs=1, max_tokens=10)
    admission.admit([7])
    admission.release(7)
    admission.admit([9])
    assert (admission.jobs, admission.tokens) == (1, 9)
