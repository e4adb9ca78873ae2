"""Names of devices: what an operator may write, which of them this host has, which one a model gets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import jax

AUTO: Final = "auto"
ACCELERATORS: Final = ("cuda", "cpu")  # in the order in which `auto` tries them
VALIDATED: Final = frozenset({"cpu"})  # recorded reference answers were compared there
_SYNTAX: Final = re.compile(r"([a-z][a-z0-9_]*)(?::([0-9]{1,4}))?")


class DeviceMissing(Exception):
    """This host does not have the device that was asked for."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The devices a model runs on, mostly one; `label` is what the card and the metrics call them."""

    accelerator: str
    label: str
    devices: tuple[jax.Device, ...]

    @property
    def device(self) -> jax.Device:
        """The first device."""
        return self.devices[0]

    @property
    def validated(self) -> bool:
        """Whether answers on this kind of device were compared with recorded ones."""
        return self.accelerator in VALIDATED


def check_device(text: str) -> tuple[str, int | None]:
    """Read `auto`, an accelerator, or an accelerator with an index. Raises ValueError for anything else."""
    match = _SYNTAX.fullmatch(text.lower())
    name, index = match.groups() if match else ("", None)
    allowed = (AUTO, *ACCELERATORS)
    if name not in allowed or (name == AUTO and index is not None):
        raise ValueError(
            f"{text!r} is no device; allowed are {', '.join(allowed)}, and an index behind an accelerator, as in cuda:0"
        )
    return name, None if index is None else int(index)


def place(text: str, count: int = 1) -> Placement:
    """Choose the device for what the operator wrote, and those behind it where a model needs several.

    Raises ValueError, or DeviceMissing when the host lacks them.
    """
    name, index = check_device(text)
    available = available_devices()
    if name == AUTO:
        name = next(each for each in ACCELERATORS if available[each])
    first, found = index or 0, available[name]
    if first >= len(found):
        raise DeviceMissing(
            f"this host has no device {text!r}; it has {', '.join(labels(available)) or 'none that can be used'}"
        )
    if first + count > len(found):
        raise DeviceMissing(
            f"engine_args.mesh asks for {count} devices, this host has {len(found) - first} from {_label(name, first)} "
            "on: split the model over fewer"
        )
    label = _label(name, first)
    if count > 1 and name != "cpu":
        label = f"{label}-{first + count - 1}"
    return Placement(name, label, tuple(found[first : first + count]))


def available_devices() -> Mapping[str, Sequence[jax.Device]]:
    """Devices of this host by accelerator, in the order in which `auto` tries them."""
    return {name: _devices(name) for name in ACCELERATORS}


def labels(available: Mapping[str, Sequence[jax.Device]]) -> list[str]:
    """Labels of the devices, those that `auto` tries first in front."""
    return [_label(name, index) for name, devices in available.items() for index in range(len(devices))]


def survey() -> dict[str, Any]:
    """What `vela devices` prints: the label that `auto` tries first, and all labels."""
    found = labels(available_devices())
    return {AUTO: found[0] if found else None, "devices": found}


def _label(name: str, index: int) -> str:
    return name if name == "cpu" else f"{name}:{index}"


def _devices(name: str) -> Sequence[jax.Device]:
    import jax

    try:
        devices: Sequence[jax.Device] = jax.local_devices(backend=name)
    except RuntimeError:  # this installation of the library knows no such backend
        return []
    return devices
