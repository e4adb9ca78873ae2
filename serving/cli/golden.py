"""The `golden` command: computes reference answers of a model and prints them, or adds them to a file."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from typing import TYPE_CHECKING

from serving.cli.environment import prepare_environment
from serving.cli.failure import failing_on
from serving.devices import check_device

if TYPE_CHECKING:
    from checkpoints.golden import Entry
    from serving.cli.progress import Display
    from serving.loaded import LoadedModel


def compute(arguments: argparse.Namespace) -> int:
    """Print the values of a model's readiness requests on this device as a file of reference answers holds them."""
    with failing_on(ValueError):
        only_cpu = check_device(arguments.device)[0] == "cpu"
    prepare_environment(only_cpu=only_cpu)
    from checkpoints.golden import GoldenFileError, add_entry, read_entries, to_text
    from checkpoints.hub import HubError
    from serving.assembly import FINAL_FAILURES
    from serving.cli.progress import open_display
    from serving.golden import GoldenCheckFailed

    display = open_display()
    try:
        with failing_on(*FINAL_FAILURES, HubError, GoldenCheckFailed, GoldenFileError, OSError):
            if arguments.write is not None and arguments.write.exists():
                read_entries(arguments.write)  # what cannot be added to is said before the work
            loaded = _load(arguments, display)
            entry = _record(loaded)
            if arguments.write is None:
                display.close()
                print(to_text({loaded.identity: entry}), end="")
            else:
                add_entry(arguments.write, loaded.identity, entry)
                print(arguments.write)
    finally:
        display.close()
    return 0


def _load(arguments: argparse.Namespace, display: Display) -> LoadedModel:
    """The model as a server loads it; the few buckets that the requests need are compiled when they are asked for."""
    from serving.assembly import Assembler
    from serving.config import ModelEntry, PackageSources
    from vela_jax.forward.engine_args import EngineArgs

    sources = PackageSources(
        cache_dir=arguments.cache_dir,
        offline=arguments.offline,
        accepted_licences=tuple(arguments.accept_licence),
    )
    entry = ModelEntry(model=arguments.model, revision=arguments.revision, device=arguments.device)
    report = partial(display.stage, arguments.model)
    loaded = Assembler(sources, EngineArgs(warmup=(), background=(), row_buckets=(1,))).load(entry, report)
    loaded.warm(report)
    return loaded


def _record(loaded: LoadedModel) -> Entry:
    """The values of both runs, which are equal, to the nine digits that tell every two FP32 numbers apart."""
    from concurrent.futures import ThreadPoolExecutor

    from checkpoints.golden import Entry
    from serving import golden
    from serving.asking import asking
    from serving.config import Bounds, ModelEntry
    from serving.live import LiveModel
    from serving.models import ServedModel
    from serving.scheduler import Scheduler

    bounds = Bounds()
    scheduler = Scheduler(loaded.engine, max_jobs=bounds.max_queue, max_tokens=bounds.max_queued_tokens)
    scheduler.start()
    try:
        with ThreadPoolExecutor(1) as pool:
            ask = asking(ServedModel(ModelEntry(model=loaded.identity)), LiveModel(loaded, scheduler, pool))
            runs = asyncio.run(golden.run_cases(loaded.description, ask, loaded.accelerator))
    finally:
        scheduler.stop()
        loaded.close()
    source = loaded.provenance
    values = {run.case.name: {key: float(f"{value:.9g}") for key, value in run.values[0].items()} for run in runs}
    return Entry(model_sha256=source.model_sha256, revision=source.revision, answers={loaded.accelerator: values})
