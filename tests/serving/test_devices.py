"""What may be written for a device, and which one it gives on this host."""

from __future__ import annotations

import pytest

from serving.devices import DeviceMissing, check_device, place, survey


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", ("auto", None)),
        ("cpu", ("cpu", None)),
        ("CPU", ("cpu", None)),
        ("cpu:0", ("cpu", 0)),
        ("cuda", ("cuda", None)),
        ("Cuda:12", ("cuda", 12)),
    ],
)
def test_accepted(text: str, expected: tuple[str, int | None]) -> None:
    assert check_device(text) == expected


@pytest.mark.parametrize(
    "text", ["", "gpu", "cuda:x", "cuda:-1", "cuda:", "rocm", "auto:0", "cpu:0:0", " cpu", "cuda:99999", "cpu\n"]
)
def test_refused_with_the_list(text: str) -> None:
    with pytest.raises(ValueError, match="allowed are auto, cuda, cpu"):
        check_device(text)


def test_auto_and_cpu_give_a_device() -> None:
    cpu = place("cpu")
    assert (cpu.accelerator, cpu.label, cpu.validated) == ("cpu", "cpu", True)
    assert cpu.device.platform == "cpu"
    assert place("auto").label == survey()["auto"]


def test_a_device_that_the_host_lacks() -> None:
    with pytest.raises(DeviceMissing, match=r"no device 'cpu:7'; it has .*cpu"):
        place("cpu:7")


def test_survey_lists_labels_in_the_order_of_auto() -> None:
    found = survey()
    assert found["devices"][-1] == "cpu"
    assert found["auto"] == found["devices"][0]
