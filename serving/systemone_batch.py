"""The form of several System One requests in one call (System One semantics, section 3.5)."""

from __future__ import annotations

from typing import Any, Final

from serving.bundle import check_count
from vela_jax.contract import InvalidRequest
from vela_jax.surfaces.shown import kind_of, shown

_MEMBER: Final = "requests"


def read_batch(body: Any, max_requests: int) -> dict[str, Any]:
    """The requests by name; each is judged by itself.

    Raises InvalidRequest for what has not the form, RequestFailed (413) for more than `max_requests`.
    """
    if not isinstance(body, dict):
        raise InvalidRequest(f"the body must be a JSON object, got {kind_of(body)}")
    unknown = sorted(name for name in body if name != _MEMBER)
    if unknown:
        raise InvalidRequest(f"unknown members {shown(unknown)}; a batch takes {[_MEMBER]}")
    requests = body.get(_MEMBER)
    if not isinstance(requests, dict) or not requests:
        raise InvalidRequest(f"{_MEMBER} must be an object with at least one request, got {kind_of(requests)}")
    if not all(name.strip() for name in requests):
        raise InvalidRequest(f"{_MEMBER} has a blank name; a name needs at least one visible character")
    check_count(len(requests), max_requests, _MEMBER)
    return requests
