"""What may be written for a device, and which one it gives on this host."""

from __future__ import annotations

from typing import Any

import pytest

from serving import devices
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


def test_several_devices_that_the_host_lacks() -> None:
    with pytest.raises(DeviceMissing, match=r"engine_args\.mesh asks for 99 devices, this host has \d+ from cpu on"):
        place("cpu", 99)


@pytest.mark.parametrize(
    ("text", "count", "label", "held"),
    [
        ("cuda", 1, "cuda:0", "a"),
        ("cuda:1", 2, "cuda:1-2", "bc"),
        ("auto", 3, "cuda:0-2", "abc"),
        ("cpu", 2, "cpu", "xy"),
    ],
)
def test_several_devices_are_those_behind_the_first(
    monkeypatch: pytest.MonkeyPatch, text: str, count: int, label: str, held: str
) -> None:
    available: dict[str, Any] = {"cuda": list("abc"), "cpu": list("xy")}
    monkeypatch.setattr(devices, "available_devices", lambda: available)
    placement = place(text, count)
    assert (placement.label, "".join(map(str, placement.devices))) == (label, held)
    with pytest.raises(DeviceMissing, match=f"this host has 2 from {'cuda:1' if text == 'cuda:1' else 'cpu'} on"):
        place(text if text == "cuda:1" else "cpu", 4)


def test_survey_lists_labels_in_the_order_of_auto() -> None:
    found = survey()
    assert found["devices"][-1] == "cpu"
    assert found["auto"] == found["devices"][0]
