"""From the options of `vela serve` to the settings of the process."""

from __future__ import annotations

import argparse
from typing import Any

from checkpoints.files import PackageError
from checkpoints.golden import GoldenFileError, References
from checkpoints.resolve import EmbeddedArtifact, parse_artifact
from checkpoints.tables.embedded import defaults
from serving.cli.failure import CommandFailed, failing_on
from serving.config import (
    Bounds,
    ConfigError,
    Limits,
    ModelEntry,
    PackageSources,
    Retries,
    Settings,
    check_names,
    read_models_file,
)
from serving.schema import Schema
from serving.sockets import Address
from vela_jax.forward.engine_args import EngineArgs, read_engine_args

ENTRY_OPTIONS = ("device", "engine", "family", "profile")
FAMILY_OPTIONS = ("reasoning_parser", "tool_call_parser")
"""Flags of the one MODEL that go into its entry's `options`."""


def read_settings(arguments: argparse.Namespace) -> Settings:
    """Settle what `vela serve` was told. Raises CommandFailed for what cannot be done."""
    with failing_on(ConfigError, PackageError, GoldenFileError):
        References.read(arguments.golden)  # a bad file is said now, not when a model is ready
        entries = _read_entries(arguments)
        for entry in entries:
            artifact = parse_artifact(entry.model, entry.revision)
            if isinstance(artifact, EmbeddedArtifact):
                artifact.model.locate()
    return Settings(
        entries=entries,
        engine_args=_engine_args(arguments),
        bounds=Bounds(
            max_queue=arguments.max_queue,
            max_queued_tokens=arguments.max_queued_tokens,
            result_cache_entries=arguments.result_cache_entries,
        ),
        limits=Limits(max_request_bytes=arguments.max_request_bytes, max_bundle_tasks=arguments.max_bundle_tasks),
        retries=Retries(attempts=arguments.load_attempts, seconds=arguments.load_retry_seconds),
        address=Address(host=arguments.host, port=arguments.port, uds=arguments.uds),
        sources=PackageSources(
            cache_dir=arguments.cache_dir,
            offline=arguments.offline,
            accepted_licences=tuple(arguments.accept_licence),
            golden_files=tuple(arguments.golden),
        ),
        schema=Schema(arguments.systemone_schema),
        with_page=arguments.page,
    )


def _read_entries(arguments: argparse.Namespace) -> tuple[ModelEntry, ...]:
    given: dict[str, Any] = {name: getattr(arguments, name) for name in ENTRY_OPTIONS if getattr(arguments, name)}
    options = {name: getattr(arguments, name) for name in FAMILY_OPTIONS if getattr(arguments, name) is not None}
    single = {"--revision": arguments.revision, "--served-model-name": arguments.served_model_name}
    single |= {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    if arguments.models_file is not None:
        refused = [name for name, value in single.items() if value] + [f"--{name}" for name in given]
        return _read_file(arguments, refused)
    models = arguments.models or defaults()
    named = [name for name, value in single.items() if value]
    if named and len(arguments.models) != 1:
        raise CommandFailed(f"{' and '.join(named)} need exactly one MODEL, got {len(arguments.models)}")
    given |= {"revision": arguments.revision, "name": arguments.served_model_name, "options": options}
    entries = tuple(ModelEntry(model=model, memory_budget_gib=arguments.memory_budget, **given) for model in models)
    for entry in entries:
        entry.check()
    check_names(entries)
    return entries


def _read_file(arguments: argparse.Namespace, refused: list[str]) -> tuple[ModelEntry, ...]:
    if arguments.models:
        raise CommandFailed("give MODELs or --models FILE, not both")
    if refused:
        raise CommandFailed(f"{', '.join(refused)} cannot go with --models FILE: say it in the file's entries")
    return read_models_file(arguments.models_file, arguments.memory_budget)


def _engine_args(arguments: argparse.Namespace) -> EngineArgs:
    """Process defaults of `engine_args`; an entry's own go before them."""
    given = {"batching": arguments.batching, "max_batch_tokens": arguments.max_batch_tokens}
    return read_engine_args({name: value for name, value in given.items() if value is not None})
