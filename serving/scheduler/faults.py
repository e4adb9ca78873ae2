"""How a request fails when its forward does (runtime rules, sections 3.4, 6 and 9.4)."""

from __future__ import annotations

from typing import Final

from serving.errors import ErrorCode
from vela_jax.contract import DeviceFault, OutOfMemory

Failure = tuple[ErrorCode, str]
"""Code and message of a request that fails; each request gets an exception of its own."""

STOPPING: Final[Failure] = (ErrorCode.NOT_READY, "the server is shutting down")
ALONE: Final = (
    "the device ran out of memory though the request had it to itself: "
    "send fewer or shorter inputs in one request, or serve the model on a device with more memory"
)
SHARED: Final = (
    "the device ran out of memory in a forward shared with other requests: try again later; "
    "if it happens often, lower max_batch_tokens"
)


def failure_of(error: BaseException, *, alone: bool) -> Failure:
    """Say how a request fails; `alone` tells whether the forward held rows of no other request."""
    if isinstance(error, OutOfMemory):
        return (ErrorCode.REQUEST_TOO_LARGE, ALONE) if alone else (ErrorCode.OVERLOADED, SHARED)
    return ErrorCode.INTERNAL_ERROR, f"{type(error).__name__}: {error}"


def refusal_after(fault: DeviceFault) -> Failure:
    """Say how every request fails that comes after a fault or still waited then."""
    return ErrorCode.NOT_READY, f"the device failed and the server is starting anew ({fault})"
