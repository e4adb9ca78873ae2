"""Model cards, and the list of them that `GET /v1/models` gives (HTTP contract, section 12)."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec

from serving.config import FAMILIES, Limits
from serving.loaded import LoadedModel
from serving.models import ServedModel
from serving.version import API_VERSION

OWNER: Final = "vllm-sr"
DISTRIBUTION: Final = "vela-jax"
ENGINE: Final = "jax"
PROFILE: Final = "exact"


def model_card(served: ServedModel) -> dict[str, Any]:
    """The card of a model; a short one until it is loaded."""
    loaded = served.loaded
    return {
        "id": served.id,
        "object": "model",
        **({} if loaded is None else {"created": _created(loaded), "owned_by": OWNER}),
        "family": _family(served),
        **({"surfaces": []} if loaded is None else _loaded_members(loaded)),
        "ready": served.status.is_ready,
        "status": served.status.state,
        "reason": served.status.reason,
        "golden": asdict(served.golden),
        "plugins": list(_plugins()),
    }


def model_list(models: Sequence[ServedModel], limits: Limits) -> dict[str, Any]:
    """The body of `GET /v1/models`; `models` is the same list as System One clients read it."""
    return {
        "object": "list",
        "api_version": API_VERSION,
        "data": [model_card(served) for served in models],
        "limits": {"max_bundle_tasks": limits.max_bundle_tasks, "max_request_bytes": limits.max_request_bytes},
        "models": [_entry(served.id, served.loaded) for served in models if served.loaded is not None],
    }


def _loaded_members(loaded: LoadedModel) -> dict[str, Any]:
    provenance = loaded.provenance
    description = {
        name: value
        for name, value in msgspec.to_builtins(loaded.description).items()
        if value is not None and name != "family"
    }
    return {
        "repo": provenance.repo,
        "revision": provenance.revision,
        "model_sha256": provenance.model_sha256,
        "manifest_sha256": provenance.manifest_sha256,
        **description,
        "licence": provenance.licence,
        "engine_args": dict(loaded.engine_args),
        "numerics": loaded.numerics,
        "buckets": loaded.buckets(),
        "profile": PROFILE,
        "profiles": [{"name": PROFILE, "numerics": loaded.numerics, "description": "as engine_args says"}],
        "engine": loaded.engine_name,
        "accelerator": loaded.accelerator,
        "device": loaded.device,
        "accelerator_validated": loaded.accelerator_validated,
    }


def _entry(name: str, loaded: LoadedModel) -> dict[str, str]:
    surfaces = ", ".join(loaded.description.surfaces)
    return {
        "name": name,
        "description": f"{loaded.identity} ({loaded.description.family}): {surfaces}",
        "release_date": loaded.provenance.release_date,
    }


def _family(served: ServedModel) -> str:
    if served.loaded is not None:
        return served.loaded.description.family
    return served.entry.family or "unknown"


def _created(loaded: LoadedModel) -> int:
    """The release date in whole seconds since 1970, which OpenAI clients read."""
    day = datetime.strptime(loaded.provenance.release_date, "%Y-%m-%d").replace(tzinfo=UTC)
    return int(day.timestamp())


@cache
def _plugins() -> tuple[dict[str, Any], ...]:
    """The built-in families and the engine, as members of this distribution."""
    version = importlib.metadata.version(DISTRIBUTION)
    members = [("vllm_srun.families", family) for family in FAMILIES] + [("vllm_srun.engines", ENGINE)]
    return tuple(
        {"group": group, "name": name, "distribution": DISTRIBUTION, "version": version, "capabilities": []}
        for group, name in members
    )
