"""The front of this room: from a MODEL argument to a loaded package, in the stages that the server reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from flax import nnx

from checkpoints import converted
from checkpoints.families import WEIGHTS, build_network, open_sources, require_served
from checkpoints.files import PackageError, PackageFolder, file_digests
from checkpoints.guards import check_manifest, check_sums
from checkpoints.hub import MANIFEST, Hub
from checkpoints.licence import manifest_licences, require_accepted
from checkpoints.loading import count_elements, plan_fills, read_params
from checkpoints.placing import in_precision
from checkpoints.progress import Progress, Stage, silent
from checkpoints.readers import DOWNLOAD_PATTERNS, read_package
from checkpoints.resolve import EmbeddedArtifact, HubArtifact, LocalArtifact, parse_artifact
from vela_jax.text.tokenizer import TextTokenizer, TokenizerError, without_added

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from checkpoints.loading import Fill, ParamTree
    from checkpoints.placing import Place
    from checkpoints.readers.reading import Reading, Spec
    from checkpoints.resolve import Artifact
    from vela_jax.backbones.decoder import DecoderConfig
    from vela_jax.backbones.registry import AnyConfig
    from vela_jax.forward.engine_args import Precision

PINNED: Final = "pinned"
LOCAL: Final = "local"


class Pins(Protocol):
    """What a pinned package must equal."""

    @property
    def files(self) -> Mapping[str, str]:
        """SHA-256 by file."""

    @property
    def model_sha256(self) -> str:
        """Identity."""

    @property
    def parameters(self) -> int:
        """Values of the network."""

    @property
    def licence(self) -> str:
        """Licence id."""

    @property
    def component_licences(self) -> tuple[str, ...]:
        """Licence ids of what the package contains beside its own work."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package whose files are on this machine."""

    folder: PackageFolder
    name: str
    repo: str | None = None
    revision: str | None = None
    pins: Pins | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Which package a model came from, as the card reports it."""

    name: str
    repo: str | None
    revision: str | None
    path: Path
    model_sha256: str
    manifest_sha256: str
    licence: str | None
    verification: str  # PINNED: equal to the built-in table; LOCAL: identity computed
    parameters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A package found sound: its files, its config, and the plan of its weights."""

    folder: PackageFolder
    reading: Reading
    graphdef: Any
    abstract: ParamTree
    fills: Mapping[Any, Fill]  # empty for a converted copy
    provenance: Provenance
    licences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedPackage:
    """All that serving needs of a package. `graphdef` and `params` are the split network of the family."""

    family: str
    spec: Spec
    model_type: str
    backbone: AnyConfig | DecoderConfig
    max_input_tokens: int
    tokenizer: TextTokenizer
    graphdef: Any
    params: ParamTree
    provenance: Provenance


def resolve(
    argument: str, *, revision: str | None = None, hub: Hub | None = None, progress: Progress = silent
) -> Package:
    """Find a MODEL argument, and download it where needed.

    Raises PackageError when it names no package, HubError when the hub fails for now.
    """
    progress(Stage.RESOLVE, 0, 0)
    return fetch(parse_artifact(argument, revision), hub or Hub(), progress)


def fetch(artifact: Artifact, hub: Hub, progress: Progress = silent) -> Package:
    """Bring the files of an artifact to this machine."""
    match artifact:
        case LocalArtifact(path):
            folder = PackageFolder.local(path)
            return Package(folder, path.resolve().name)
        case EmbeddedArtifact(model):
            return Package(PackageFolder.local(model.locate()), model.name, model.repo, pins=model)
        case HubArtifact(repo, revision, pins):
            if pins is None:
                folder = hub.fetch_package(repo, revision, DOWNLOAD_PATTERNS, progress)
            else:
                require_served(pins.family, repo)
                folder = hub.fetch(repo, revision, tuple(pins.files), progress)
            return Package(folder, repo.rpartition("/")[2], repo, revision, pins)


def verify(
    package: Package,
    options: Mapping[str, Any] | None = None,
    accepted_licences: Collection[str] = (),
    progress: Progress = silent,
) -> Verified:
    """Read a package's config, plan its weights, hash its files and compare them with the pins.

    `options` are those of the models file. Raises PackageError for anything that must not be served.
    """
    progress(Stage.VERIFY, 0, 0)
    record = converted.read_record(package.folder)
    folder = record.original(package.folder) if record else package.folder
    licences = _licences(package, record)
    if package.pins is None:
        require_accepted(licences, accepted_licences, package.name)
    reading = read_package(folder, options or {})
    graphdef, abstract = _abstract(reading)
    if record:
        converted.check(folder, record, progress)
        fills: Mapping[Any, Fill] = {}
        provenance = _converted_provenance(package, record)
    else:
        fills, parameters = _plan(folder, reading, abstract)
        provenance = _provenance(package, reading, parameters, licences, progress)
    return Verified(
        folder=folder,
        reading=reading,
        graphdef=graphdef,
        abstract=abstract,
        fills=fills,
        provenance=provenance,
        licences=licences,
    )


def load(
    verified: Verified, place: Place = None, progress: Progress = silent, precision: Precision = "float32"
) -> LoadedPackage:
    """Read the weights of a verified package to where they run, and put the network together."""
    progress(Stage.READ, 0, 0)
    abstract = in_precision(verified.abstract, precision)
    if verified.fills:
        params = read_params(abstract, verified.fills, place, progress)
    else:
        params = converted.restore(verified.folder, abstract, place)
    progress(Stage.BUILD, 0, 0)
    reading = verified.reading
    return LoadedPackage(
        family=reading.family,
        spec=reading.spec,
        model_type=reading.model_type,
        backbone=reading.backbone,
        max_input_tokens=reading.max_input_tokens,
        tokenizer=_tokenizer(verified.folder, reading),
        graphdef=verified.graphdef,
        params=params,
        provenance=verified.provenance,
    )


def convert(
    argument: str,
    output: Path,
    *,
    revision: str | None = None,
    hub: Hub | None = None,
    accepted_licences: Collection[str] = (),
    progress: Progress = silent,
) -> Path:
    """Write a converted copy of a package to `output`; the copy is a package that `resolve` takes."""
    package = resolve(argument, revision=revision, hub=hub, progress=progress)
    verified = verify(package, None, accepted_licences, progress)
    source = verified.provenance
    record = converted.Record(
        format=converted.FORMAT,
        name=source.name,
        repo=source.repo,
        revision=source.revision,
        licences=list(verified.licences),
        parameters=source.parameters,
        model_sha256=source.model_sha256,
        package_files=sorted(verified.reading.files),
    )
    return converted.write_copy(verified.folder, record, load(verified, None, progress).params, output)


def _abstract(reading: Reading) -> tuple[Any, ParamTree]:
    """The graph of the network and its param tree without values."""
    network = nnx.eval_shape(lambda: build_network(reading, nnx.Rngs(0)))
    graphdef, params = nnx.split(network, nnx.Param)
    return graphdef, params


def _plan(folder: PackageFolder, reading: Reading, abstract: ParamTree) -> tuple[Mapping[Any, Fill], int]:
    """The plan of the weights, and how many values the checkpoint files give to the network."""
    sources = open_sources(folder, reading)
    fills = plan_fills(abstract, sources)
    parameters = 0
    for source in (each for each in sources if each.counted):
        file = source.file
        used = count_elements(fills, file)
        held = sum(info.elements for key, info in file.tensors.items() if not source.key_map.is_ignored(key))
        if used != held and not source.partial:
            raise PackageError(f"{file.name} has {held} values, the network takes {used} of them")
        parameters += used
    return fills, parameters


def _provenance(
    package: Package, reading: Reading, parameters: int, licences: tuple[str, ...], progress: Progress
) -> Provenance:
    digests = file_digests(package.folder, reading.files, progress)
    identity = reading.identity(digests)
    if package.pins is not None:
        _compare(package, package.pins, digests, identity, parameters)
    if reading.identity_label is None:  # a format whose packages state their own digests
        check_sums(package.folder, digests)
        check_manifest(package.folder, digests, reading.identity_files)
    return Provenance(
        name=package.name,
        repo=package.repo,
        revision=package.revision,
        path=package.folder.root,
        model_sha256=identity,
        manifest_sha256=digests.get(MANIFEST, "") if reading.identity_label is None else "",
        licence=next(iter(licences), None),
        verification=PINNED if package.pins else LOCAL,
        parameters=parameters,
    )


def _compare(package: Package, pins: Pins, digests: Mapping[str, str], identity: str, parameters: int) -> None:
    differing = sorted(name for name, _ in set(digests.items()) ^ set(pins.files.items()))
    faults = [f"{name} differs from its pin" for name in dict.fromkeys(differing)]
    if identity != pins.model_sha256:
        faults.append(f"the identity is {identity}, pinned is {pins.model_sha256}")
    if parameters != pins.parameters:
        faults.append(f"{WEIGHTS} has {parameters} values, pinned are {pins.parameters}")
    if faults:
        raise PackageError(
            f"{package.name} in {package.folder.root} is not the pinned package: {'; '.join(faults)}. "
            "Remove it and fetch it again"
        )


def _converted_provenance(package: Package, record: converted.Record) -> Provenance:
    return Provenance(
        name=record.name,
        repo=record.repo,
        revision=record.revision,
        path=package.folder.root,
        model_sha256=record.model_sha256,
        manifest_sha256="",
        licence=next(iter(record.licences), None),
        verification=LOCAL,
        parameters=record.parameters,
    )


def _licences(package: Package, record: converted.Record | None) -> tuple[str, ...]:
    """The package's own licence, then those of its components."""
    if package.pins is not None:
        return (package.pins.licence, *package.pins.component_licences)
    if record is not None:
        return tuple(record.licences)
    folder = package.folder
    return tuple(manifest_licences(folder.json_object(MANIFEST))) if folder.has(MANIFEST) else ()


def _tokenizer(folder: PackageFolder, reading: Reading) -> TextTokenizer:
    try:
        data = folder.path("tokenizer.json").read_bytes()
        tokenizer = TextTokenizer.from_json(without_added(data, reading.hidden_tokens))
    except (TokenizerError, UnicodeDecodeError) as error:
        raise PackageError(f"tokenizer.json: {error}. Fetch the file again") from error
    if tokenizer.vocab_size > reading.backbone.vocab_size:
        raise PackageError(
            f"tokenizer.json has {tokenizer.vocab_size} entries, more than vocab_size {reading.backbone.vocab_size} "
            "of config.json: the two files belong to different packages"
        )
    return tokenizer
