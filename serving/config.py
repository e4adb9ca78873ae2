"""What the operator settled: served models, bounds, retries of a load; read from flags or a models file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec
import yaml

from serving.devices import check_device
from serving.schema import Schema
from serving.sockets import Address
from vela_jax.forward.engine_args import EngineArgs, read_engine_args

FAMILIES: Final = ("task_heads", "vela2", "generator")
"""Those of `checkpoints.families`, which takes seconds to import."""

ENGINES: Final = ("auto", "jax")
PROFILES: Final = ("exact",)
LONGEST_RETRY_DELAY: Final = 300.0


class ConfigError(Exception):
    """The server cannot start as it was told to; the message names the option or the file and entry."""


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One model to serve: an entry of the models file (HTTP contract, section 16).

    `engine_args` decides how it runs; `options` belongs to the family.
    """

    model: str
    revision: str | None = None
    name: str | None = None
    family: str | None = None
    device: str = "auto"
    engine: str = "auto"
    profile: str = "exact"
    memory_budget_gib: float | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    engine_args: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def label(self) -> str:
        """What the model is called before it is loaded."""
        return self.name or self.model

    @property
    def artifact_names(self) -> tuple[str, ...]:
        """Artifact as configured and its last path component, both also without an `@revision`."""
        plain = self.model.rpartition("@")[0] or self.model
        return tuple(dict.fromkeys((self.model, plain, PurePosixPath(self.model).name, PurePosixPath(plain).name)))

    def check(self) -> None:
        """Refuse values that are of the right type and still not allowed. Raises ConfigError."""
        if not self.model.strip():
            raise ConfigError("model must not be blank: give a package folder, a built-in name or OWNER/NAME")
        if self.name is not None and not self.name.strip():
            raise ConfigError("name must not be blank: leave it out for the package's own name")
        _check_choice("family", self.family, (None, *FAMILIES))
        _check_choice("engine", self.engine, ENGINES)
        _check_choice("profile", self.profile, PROFILES)
        try:
            check_device(self.device)
        except ValueError as error:
            raise ConfigError(f"device: {error}") from None
        try:
            read_engine_args(self.engine_args)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        budget = self.memory_budget_gib
        if budget is not None and not (math.isfinite(budget) and budget > 0):
            raise ConfigError(f"memory_budget_gib must be a finite number above 0, got {budget}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of the work one model accepts, and of the results it keeps."""

    max_queue: int = 256
    max_queued_tokens: int = 4_194_304
    result_cache_entries: int = 16_384  # 0 keeps none


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one HTTP request."""

    max_request_bytes: int = 8_388_608
    max_bundle_tasks: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a load is tried, and the first wait between two attempts."""

    attempts: int = 5
    seconds: float = 5.0

    def delay(self, attempt: int) -> float:
        """Seconds to wait after the given failed attempt, the first being 1."""
        return min(self.seconds * 2.0 ** min(attempt - 1, 30), LONGEST_RETRY_DELAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSources:
    """Where packages and their reference answers come from, and which licences were accepted."""

    cache_dir: Path | None = None
    offline: bool = False
    accepted_licences: tuple[str, ...] = ()
    golden_files: tuple[Path, ...] = ()  # reference answers beside those of this distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a serving process is told at its start; an entry's own `engine_args` go before those here."""

    entries: tuple[ModelEntry, ...]
    engine_args: EngineArgs = field(default_factory=EngineArgs)
    bounds: Bounds = field(default_factory=Bounds)
    limits: Limits = field(default_factory=Limits)
    retries: Retries = field(default_factory=Retries)
    address: Address = field(default_factory=Address)
    sources: PackageSources = field(default_factory=PackageSources)
    schema: Schema = Schema.V5
    with_page: bool = True


def read_models_file(path: Path, memory_budget_gib: float | None = None) -> tuple[ModelEntry, ...]:
    """Read the entries of a models file (YAML); the memory budget is for entries without their own.

    Raises ConfigError naming the file and the entry at fault.
    """
    try:
        document = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid YAML: {_one_line(error)}") from None
    if not isinstance(document, dict) or set(document) != {"models"}:
        raise ConfigError(f"{path}: the file must be a mapping with the one member 'models', got {_shape(document)}")
    models = document["models"]
    if not isinstance(models, list) or not models:
        raise ConfigError(f"{path}: models must be a list of at least one entry, got {_shape(models)}")
    entries = tuple(_read_entry(value, f"{path}: models[{index}]") for index, value in enumerate(models))
    check_names(entries, f"{path}: ")
    return tuple(
        msgspec.structs.replace(entry, memory_budget_gib=entry.memory_budget_gib or memory_budget_gib)
        for entry in entries
    )


def check_names(entries: Sequence[ModelEntry], where: str = "") -> None:
    """Refuse two models of one served name. Raises ConfigError."""
    twice = sorted(name for name, count in Counter(entry.label for entry in entries).items() if count > 1)
    if twice:
        raise ConfigError(f"{where}served names must differ, {', '.join(twice)} comes twice: give each entry a name")


def _read_entry(value: object, where: str) -> ModelEntry:
    allowed = [each.encode_name for each in msgspec.structs.fields(ModelEntry)]
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a mapping with at least 'model', got {_shape(value)}")
    unknown = sorted(str(key) for key in value if key not in allowed)
    if unknown:
        raise ConfigError(f"{where} has unknown members {unknown}; allowed are {sorted(allowed)}")
    if value.get("model") is None:
        raise ConfigError(f"{where} has no 'model': give a package folder, a built-in name or OWNER/NAME")
    try:
        entry = msgspec.convert(value, ModelEntry)
        entry.check()
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$.")
        raise ConfigError(f"{where}: {path.removesuffix('`') or 'the entry'}: {text[:1].lower()}{text[1:]}") from None
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return entry


def _check_choice(member: str, value: str | None, allowed: Sequence[str | None]) -> None:
    if value not in allowed:
        raise ConfigError(f"{member} must be one of {[each for each in allowed if each]}, got {value!r}")


def _shape(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a mapping with {sorted(map(str, value))}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "nothing" if value is None else repr(value)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
