"""The form of multimodal feature objects."""

from __future__ import annotations

from typing import Any

import pytest

from vela_jax.generation.features import Features
from vela_jax.generation.refusals import BadBody, read_record

GOOD: dict[str, Any] = {
    "mm_hashes": {"image": ["a", "b"], "audio": ["c"]},
    "mm_placeholders": {
        "image": [{"offset": 0, "length": 2}, {"offset": 4, "length": 1}],
        "audio": [{"offset": 2, "length": 2}],
    },
    "kwargs_data": {"image": ["x", None], "audio": ["z"]},
}


def check(count: int = 5, cached: bool = False, **members: Any) -> None:
    read_record({**GOOD, **members}, Features).check(count, has_encoder_cache=cached)


def test_ranges_that_touch_fit() -> None:
    check()
    check(kwargs_data=None)


@pytest.mark.parametrize(
    "members",
    [
        {"mm_hashes": {"image": ["a", "b"]}},
        {"mm_hashes": {"image": ["a"], "audio": ["c"]}},
        {"kwargs_data": {"image": ["x", None]}},
        {"kwargs_data": {"image": ["x"], "audio": ["z"]}},
        {"mm_metadata": {"image": ["x", "y"]}},
        {"mm_metadata": {"image": ["x"], "audio": ["z"]}},
        {"mm_placeholders": {"image": GOOD["mm_placeholders"]["image"], "audio": [{"offset": 1, "length": 2}]}},
        {"mm_placeholders": {"image": GOOD["mm_placeholders"]["image"], "audio": [{"offset": -1, "length": 1}]}},
        {"mm_placeholders": {"image": GOOD["mm_placeholders"]["image"], "audio": [{"offset": 2, "length": 0}]}},
        {"count": 4},
    ],
)
def test_what_does_not_fit(members: dict[str, Any]) -> None:
    with pytest.raises(BadBody):
        check(**members)


def test_metadata_alone_needs_an_encoder_cache() -> None:
    known = {"image": ["m", None], "audio": ["m"]}
    check(mm_metadata=known)
    for data in (None, {"image": [None, None], "audio": ["z"]}):
        with pytest.raises(BadBody, match="ec_transfer_params"):
            check(mm_metadata=known, kwargs_data=data)
        check(mm_metadata=known, kwargs_data=data, cached=True)
