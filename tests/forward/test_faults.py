"""Telling faults of the device apart."""

import jax
import pytest

from vela_jax.contract import DeviceFault, OutOfMemory
from vela_jax.forward.faults import translated


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 byte\nmore"),
            OutOfMemory,
        ),
        (MemoryError(), OutOfMemory),
        (jax.errors.JaxRuntimeError("INTERNAL: CUDA error: an illegal memory access was encountered"), DeviceFault),
        (jax.errors.JaxRuntimeError("INTERNAL: device-side assert triggered"), DeviceFault),
        (jax.errors.JaxRuntimeError("INVALID_ARGUMENT: wrong shape"), jax.errors.JaxRuntimeError),
        (ValueError("mine"), ValueError),
    ],
)
def test_an_error_becomes_what_must_be_done_about_it(error: Exception, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught, translated():
        raise error
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
