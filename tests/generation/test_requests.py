"""Generate requests: members, defaults and validators (token-in/token-out contract, sections 2 and 14.1)."""

from __future__ import annotations

from typing import Any

import pytest

from vela_jax.generation.refusals import BadBody
from vela_jax.generation.requests import read_generate


def body(**changes: Any) -> dict[str, Any]:
    return {"token_ids": [1, 2, 3], "sampling_params": {}, **changes}


def test_an_empty_object_of_parameters_has_the_defaults() -> None:
    request, given = read_generate(body())
    assert request.sampling_params.max_tokens == 16
    assert "max_tokens" not in given
    assert not request.stream
    assert request.output_mode == "tokens"
    assert request.request_id != read_generate(body())[0].request_id


@pytest.mark.parametrize("value", [16, None])
def test_a_key_that_is_there_counts_as_given(value: int | None) -> None:
    assert "max_tokens" in read_generate(body(sampling_params={"max_tokens": value}))[1]


def test_unknown_members_are_ignored() -> None:
    read_generate(body(no_such=1, sampling_params={"no_such": 2}))


RANGE = {"offset": 0, "length": 2}
FEATURES = {"mm_hashes": {"image": ["h"]}, "mm_placeholders": {"image": [RANGE]}}


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"token_ids": []}, "token_ids"),
        ({"token_ids": [-1]}, "token_ids"),
        ({"token_ids": None}, "body.token_ids"),
        ({"token_ids": [1.5]}, "body.token_ids[0]"),
        ({"sampling_params": None}, "body.sampling_params"),
        ({"sampling_params": []}, "body.sampling_params"),
        ({"output_mode": "foo"}, "body.output_mode"),
        ({"output_mode": "text", "sampling_params": {"detokenize": False}}, "output_mode"),
        ({"sampling_params": {"detokenize": False, "stop": ["x"]}}, "stop"),
        ({"sampling_params": {"temperature": 0, "n": 2}}, "n"),
        ({"content_parts": [{"type": "image_url"}], "features": FEATURES}, "content_parts"),
        ({"features": {**FEATURES, "mm_metadata": {"image": ["m"]}}}, "features"),
        ({"features": {**FEATURES, "mm_placeholders": {"image": [{"offset": 2, "length": 2}]}}}, "features"),
        ({"cache_salt": ""}, "cache_salt"),
        ({"cache_salt": "x" * 129}, "cache_salt"),
        ({"cache_salt": "a@b"}, "cache_salt"),
        ({"cache_salt": "a/b"}, "cache_salt"),
        ({"cache_salt": "a\\b"}, "cache_salt"),
        ({"cache_salt": "a\0b"}, "cache_salt"),
        ({"cache_salt": 5}, "body.cache_salt"),
        ({"priority": 2**63}, "priority"),
        ({"priority": -(2**63) - 1}, "priority"),
    ],
)
def test_a_body_that_breaks_a_rule_is_refused(changes: dict[str, Any], param: str) -> None:
    with pytest.raises(BadBody) as refused:
        read_generate(body(**changes))
    assert refused.value.param == param


@pytest.mark.parametrize("missing", ["token_ids", "sampling_params"])
def test_required_members(missing: str) -> None:
    given = body()
    del given[missing]
    with pytest.raises(BadBody):
        read_generate(given)


@pytest.mark.parametrize("value", [[1], "x", None, 3])
def test_a_body_must_be_an_object(value: object) -> None:
    with pytest.raises(BadBody):
        read_generate(value)
