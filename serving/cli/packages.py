"""Commands on packages, models and devices: list, verify, convert, write a fixture."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from serving.cli.environment import prepare_environment
from serving.cli.failure import failing_on

if TYPE_CHECKING:
    from checkpoints.hub import Hub
    from checkpoints.package import Provenance


def list_models(arguments: argparse.Namespace) -> int:
    """Print one line for each built-in model that this server can serve, the embedded ones first."""
    del arguments
    from checkpoints.registry import REGISTRY
    from checkpoints.tables.embedded import EMBEDDED
    from serving.config import FAMILIES

    for model in EMBEDDED:
        origin = "comes with this package" if model.distribution is None else f"from the package {model.distribution}"
        print(f"{model.name}  {origin}  {model.parameters} parameters")
    for entry in REGISTRY.entries:
        if entry.family in FAMILIES:
            print(f"{entry.repo}@{entry.revision}  {entry.backbone}  {entry.parameters} parameters")
    return 0


def list_devices(arguments: argparse.Namespace) -> int:
    """Print the devices of this host as JSON."""
    del arguments
    prepare_environment()
    from serving.devices import survey

    print(json.dumps(survey()))
    return 0


def list_plugins(arguments: argparse.Namespace) -> int:
    """Print what this server has of each kind as JSON."""
    del arguments
    from serving.config import ENGINES, FAMILIES, PROFILES
    from serving.devices import ACCELERATORS

    engines = [engine for engine in ENGINES if engine != "auto"]
    kinds = {"accelerators": ACCELERATORS, "engines": engines, "families": FAMILIES, "profiles": PROFILES}
    print(json.dumps({kind: sorted(names) for kind, names in kinds.items()}))
    return 0


def verify_package(arguments: argparse.Namespace) -> int:
    """Check a package's config, weights and digests, and print what it is."""
    prepare_environment(only_cpu=True)
    from checkpoints.files import PackageError
    from checkpoints.hub import HubError
    from checkpoints.package import resolve, verify
    from serving.cli.progress import open_display

    display = open_display()
    progress = partial(display.stage, arguments.model)
    try:
        with failing_on(PackageError, HubError):
            package = resolve(arguments.model, revision=arguments.revision, hub=_hub(arguments), progress=progress)
            verified = verify(package, None, arguments.accept_licence, progress)
    finally:
        display.close()
    print(json.dumps(_summary(verified.provenance)))
    return 0


def convert_package(arguments: argparse.Namespace) -> int:
    """Write a copy of a package whose weights need no conversion when it is loaded."""
    prepare_environment(only_cpu=True)
    from checkpoints.files import PackageError
    from checkpoints.hub import HubError
    from checkpoints.package import convert
    from serving.cli.progress import open_display

    display = open_display()
    try:
        with failing_on(PackageError, HubError, OSError):
            written = convert(
                arguments.model,
                arguments.output,
                revision=arguments.revision,
                hub=_hub(arguments),
                accepted_licences=arguments.accept_licence,
                progress=partial(display.stage, arguments.model),
            )
    finally:
        display.close()
    print(written)
    return 0


def write_fixture(arguments: argparse.Namespace) -> int:
    """Write a tiny random package."""
    from checkpoints.fixtures import packages

    with failing_on(ValueError, OSError):
        print(packages.write_fixture(arguments.output, arguments.variant, arguments.seed))
    return 0


def _hub(arguments: argparse.Namespace) -> Hub:
    from checkpoints.hub import Hub

    return Hub(arguments.cache_dir, arguments.offline)


def _summary(provenance: Provenance) -> dict[str, Any]:
    """What identifies a package."""
    return {
        "name": provenance.name,
        "repo": provenance.repo,
        "revision": provenance.revision,
        "model_sha256": provenance.model_sha256,
        "parameters": provenance.parameters,
        "licence": provenance.licence,
        "verification": provenance.verification,
    }
