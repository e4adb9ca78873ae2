"""Licence policy: which licences must be accepted by name before a package is served (runtime rules, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_RESTRICTED: Final = ("nc", "non-commercial", "noncommercial", "research", "openrail")


def is_restricted(licence: str) -> bool:
    """True when the licence id holds one of the words that mark restricted use."""
    lowered = licence.lower()
    return any(word in lowered for word in _RESTRICTED)


def manifest_licences(manifest: Mapping[str, Any]) -> list[str]:
    """Licence ids that a package manifest names: its own first, then those of its components."""
    declared = manifest.get("licence")
    if declared is None:
        return []
    if isinstance(declared, str):
        return [declared]
    if not isinstance(declared, dict):
        raise PackageError("MODEL_MANIFEST.json: licence must be a string or an object with spdx and components")
    components = [] if declared.get("components") is None else declared["components"]
    if not isinstance(components, list) or not all(isinstance(component, dict) for component in components):
        raise PackageError("MODEL_MANIFEST.json: licence.components must be a list of objects")
    found = [declared.get("spdx"), *(component.get("licence") for component in components)]
    licences = [licence for licence in found if licence is not None]
    if not all(isinstance(licence, str) for licence in licences):
        raise PackageError("MODEL_MANIFEST.json: licence.spdx and licence.components[].licence must be strings")
    return licences


def require_accepted(licences: Iterable[str], accepted: Collection[str], model: str) -> None:
    """Refuse a package under a restricted licence that was not accepted; ids compare without regard to case."""
    names = {name.lower() for name in accepted}
    refused = sorted({licence for licence in licences if is_restricted(licence) and licence.lower() not in names})
    if refused:
        options = " ".join(f"--accept-licence {licence}" for licence in refused)
        raise PackageError(f"{model} is under {', '.join(refused)}, which restricts its use: to accept, add {options}")
