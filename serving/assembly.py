"""From a configured entry to a loaded model: package, engine and card joined on the entry's device."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from checkpoints.families import WEIGHTS, answers_as_released
from checkpoints.files import PackageError
from checkpoints.golden import Reference, References
from checkpoints.hub import Hub
from checkpoints.models import ServedModel, build_model
from checkpoints.package import LoadedPackage, Verified, load, resolve, verify
from checkpoints.placing import Place, check_split, mesh_of
from serving.config import ModelEntry, PackageSources
from serving.devices import DeviceMissing, Placement, place
from serving.loaded import LoadedModel, Provenance, Report, TokenSide
from vela_jax.backbones.decoder import DecoderConfig
from vela_jax.forward.buckets import length_ladder
from vela_jax.forward.builder import Quiet
from vela_jax.forward.engine import BucketEngine
from vela_jax.forward.engine_args import EngineArgs, read_engine_args
from vela_jax.forward.network import pure_network
from vela_jax.forward.records import ClassRecords, host_facts
from vela_jax.generation.engine import TokenEngine
from vela_jax.generation.model import NoRows
from vela_jax.generation.network import PAGE_BUCKETS, GeneratorNetwork, page_count
from vela_jax.generation.plan import Planner
from vela_jax.generation.spec import GeneratorSpec
from vela_jax.layers.config import ConfigError
from vela_jax.text.envelope import EnvelopeError
from vela_jax.text.tokenizer import TokenizerError

GIB: Final = 2**30
SPARE_GIB: Final = 2.0  # activations and compiled code beside the weights (runtime rules, section 8)
RELEASED: Final = "float32"
DTYPES: Final = {RELEASED: "fp32", "bfloat16": "bf16-autocast/fp32-heads"}
"""What the card says of a model's precision (Vela 2.0 format, section 11.6)."""
PARAMETER_BYTES: Final = {RELEASED: 4, "bfloat16": 2}
ENGINE: Final = "jax"
TOKENIZER_STAGE: Final = "checking the tokenizer"
WARM_STAGE: Final = "compiling and probing buckets"


class MemoryBudgetExceeded(Exception):
    """The model is estimated to need more memory than the operator allows."""


FINAL_FAILURES: Final = (
    PackageError,
    ConfigError,
    EnvelopeError,
    TokenizerError,
    DeviceMissing,
    MemoryBudgetExceeded,
    ValueError,
)
"""Failures of a load that no later attempt can mend."""


@dataclass(frozen=True, slots=True)
class Assembler:
    """Loads configured entries with the process's sources and defaults."""

    sources: PackageSources
    engine_args: EngineArgs
    records: Path | None = None  # folder of what the probe found; None keeps nothing
    quiet: Quiet = field(default_factory=Quiet)  # shared by all models: one of them works in the background at a time

    def load(self, entry: ModelEntry, report: Report) -> LoadedModel:
        """Find, verify, read and place the entry's model; `report` is told of each stage.

        Raises one of FINAL_FAILURES for what is wrong for good, anything else for what may pass.
        """
        args = read_engine_args(entry.engine_args, self.engine_args)
        placement = place(entry.device, args.devices)
        hub = Hub(self.sources.cache_dir, self.sources.offline)
        package = resolve(entry.model, revision=entry.revision, hub=hub, progress=report)
        verified = verify(package, entry.options, self.sources.accepted_licences, report)
        _require_runnable(verified, args)
        _require_budget(entry, verified, args)
        loaded = load(verified, _place(placement), report, args.dtype)
        report(TOKENIZER_STAGE, 0, 0)
        model = build_model(loaded, placement.device.platform)
        if isinstance(loaded.spec, GeneratorSpec):
            return _join_generator(model, loaded, loaded.spec, placement, self.quiet)
        return self._join(model, loaded, args, placement, self._reference(entry, loaded, args, placement))

    def _join(
        self,
        model: ServedModel,
        loaded: LoadedPackage,
        args: EngineArgs,
        placement: Placement,
        reference: Reference | None,
    ) -> LoadedModel:
        network = pure_network(loaded.graphdef, loaded.params, loaded.max_input_tokens)
        engine = BucketEngine(network, args, placement.device, self._records(loaded, args, placement), self.quiet)

        def warm(report: Report) -> None:
            engine.warm(lambda done, total: report(WARM_STAGE, done, total))

        return LoadedModel(
            model=model,
            engine=engine,
            description=msgspec.structs.replace(model.describe(), dtype=DTYPES[args.dtype]),
            provenance=_provenance(loaded),
            accelerator=placement.accelerator,
            accelerator_validated=placement.validated,
            device=placement.label,
            engine_name=ENGINE,
            engine_args=msgspec.to_builtins(args),
            numerics=args.numerics,
            memory_bytes=network.memory_bytes,
            warm=warm,
            fill=engine.fill,
            lengths=length_ladder(network.max_length, args.length_buckets).sizes,
            buckets=engine.report,
            compiles=lambda: engine.compiles,
            close=engine.close,
            reference=reference,
        )

    def _reference(
        self, entry: ModelEntry, loaded: LoadedPackage, args: EngineArgs, placement: Placement
    ) -> Reference | None:
        """The recorded answers of the package as released: where options or precision change them there are none."""
        if not answers_as_released(entry.options) or args.dtype != RELEASED:
            return None
        references = References.read(self.sources.golden_files)
        return references.find(loaded.provenance.model_sha256, placement.accelerator)

    def _records(self, loaded: LoadedPackage, args: EngineArgs, placement: Placement) -> ClassRecords | None:
        """What the probe found of this model under these settings on this kind of device."""
        if self.records is None:
            return None
        shapes = {"length_buckets": args.length_buckets, "row_buckets": args.row_buckets}
        tokens = args.batch_tokens(placement.device.platform)
        key = {"model": loaded.provenance.model_sha256, "batch_tokens": tokens, **shapes}
        key |= {"dtype": args.dtype, "devices": args.devices}
        return ClassRecords(self.records, {**host_facts(placement.device), **msgspec.to_builtins(key)})


def _join_generator(
    model: ServedModel, loaded: LoadedPackage, spec: GeneratorSpec, placement: Placement, quiet: Quiet
) -> LoadedModel:
    assert isinstance(loaded.backbone, DecoderConfig)
    options = spec.options
    length = spec.profile.max_model_len
    network = GeneratorNetwork(
        loaded.graphdef,
        loaded.params,
        loaded.backbone,
        placement.device,
        max_length=length,
        pages=page_count(loaded.backbone, options, length),
    )
    engine = TokenEngine(network, max_num_seqs=options.max_num_seqs, prefix_caching=options.prefix_caching, quiet=quiet)

    def warm(report: Report) -> None:
        engine.warm(lambda done, total: report(WARM_STAGE, done, total))

    return LoadedModel(
        model=model,
        engine=NoRows(),
        description=model.describe(),
        provenance=_provenance(loaded),
        accelerator=placement.accelerator,
        accelerator_validated=placement.validated,
        device=placement.label,
        engine_name=ENGINE,
        engine_args=msgspec.to_builtins(options),
        numerics="exact",
        memory_bytes=network.memory_bytes,
        warm=warm,
        fill=lambda: None,
        lengths=PAGE_BUCKETS,
        buckets=engine.report,
        compiles=lambda: network.compiles,
        close=lambda: None,
        tokens=TokenSide(Planner(spec.profile, options), engine),
    )


def _provenance(loaded: LoadedPackage) -> Provenance:
    source = loaded.provenance
    return Provenance(
        model_id=source.name,
        repo=source.repo,
        revision=source.revision,
        model_sha256=source.model_sha256,
        manifest_sha256=source.manifest_sha256,
        licence=source.licence,
        release_date=_date_of(source.path / WEIGHTS, source.path),
    )


def _date_of(*candidates: Path) -> str:
    """The day on which the first of the files that exists was written: packages state no date of their own."""
    path = next(path for path in candidates if path.exists())
    return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC).strftime("%Y-%m-%d")


def _place(placement: Placement) -> Place:
    return mesh_of(placement.devices) if len(placement.devices) > 1 else placement.device


def _require_runnable(verified: Verified, args: EngineArgs) -> None:
    """Refuse settings that the model cannot run with."""
    reading = verified.reading
    if isinstance(reading.spec, GeneratorSpec) and (args.dtype != RELEASED or args.devices > 1):
        raise ValueError(
            f"engine_args: {verified.provenance.name} generates text, which runs in {RELEASED} on one device: "
            "leave dtype and mesh out"
        )
    if args.devices > 1:
        check_split(reading.model_type, reading.backbone, args.devices)


def _require_budget(entry: ModelEntry, verified: Verified, args: EngineArgs) -> None:
    if entry.memory_budget_gib is None:
        return
    needed = verified.provenance.parameters * PARAMETER_BYTES[args.dtype] / GIB + SPARE_GIB
    if needed > entry.memory_budget_gib:
        raise MemoryBudgetExceeded(
            f"{verified.provenance.name} is estimated to need {needed:.2f} GiB, the memory budget is "
            f"{entry.memory_budget_gib:g} GiB: raise the budget or leave the model out"
        )
