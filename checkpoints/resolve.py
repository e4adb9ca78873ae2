"""What a MODEL argument stands for: a local folder, a built-in, an embedded model, or a hub repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkpoints.files import PackageError
from checkpoints.registry import REGISTRY, Registry
from checkpoints.tables.embedded import find_embedded

if TYPE_CHECKING:
    from checkpoints.embedded import Embedded
    from checkpoints.tables.entry import BuiltIn

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SHORT: Final = re.compile(r"[0-9a-f]{7,39}")
_PART: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
_REPO: Final = re.compile(f"{_PART}/{_PART}")


@dataclass(frozen=True, slots=True)
class LocalArtifact:
    """A package folder on this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class EmbeddedArtifact:
    """A model shipped by an installed Python package."""

    model: Embedded


@dataclass(frozen=True, slots=True)
class HubArtifact:
    """A repository at one commit; `pins` when it is a built-in at its pinned revision."""

    repo: str
    revision: str  # 40 lower-case hex digits
    pins: BuiltIn | None = None


Artifact = LocalArtifact | EmbeddedArtifact | HubArtifact


def parse_artifact(argument: str, revision: str | None = None, registry: Registry = REGISTRY) -> Artifact:
    """Resolve a MODEL argument and an optional revision, without reading any file (runtime rules, section 10).

    Raises PackageError when the argument names nothing, or with a revision that is not a commit.
    """
    if not argument.strip():
        raise PackageError("the model argument is empty: give a package folder, a built-in name or OWNER/NAME")
    if _is_path(argument):
        if revision is not None:
            raise PackageError(f"{argument} is a local folder, which has no revision: leave the revision out")
        return LocalArtifact(Path(argument))
    name, revision = _split_revision(argument, revision)
    entry = registry.find(name)
    if entry is not None:
        return _built_in(entry, revision)
    embedded = find_embedded(name)
    if embedded is not None:
        if revision is not None:
            raise PackageError(f"{name} comes with an installed Python package: leave the revision out")
        return EmbeddedArtifact(embedded)
    return _hub(name.strip(), revision, registry)


def _is_path(argument: str) -> bool:
    path = Path(argument)
    try:
        return path.is_symlink() or path.exists()
    except (OSError, ValueError):  # too long, or holds a NUL
        return False


def _split_revision(argument: str, revision: str | None) -> tuple[str, str | None]:
    """`MODEL@REVISION` splits at the last `@`."""
    name, at, own = argument.rpartition("@")
    if not at:
        return argument, revision
    if not name or not own:
        raise PackageError(f"{argument!r} is not MODEL@REVISION: write a model, '@' and a commit")
    if revision is not None and revision != own:
        raise PackageError(f"{argument} names revision {own}, the option names {revision}: give one of them")
    return name, own


def _built_in(entry: BuiltIn, revision: str | None) -> HubArtifact:
    if revision is None or (_SHORT.fullmatch(revision) and entry.revision.startswith(revision)):
        revision = entry.revision
    _require_commit(entry.repo, revision, f"leave it out for the built-in {entry.revision}, or give all 40 digits")
    return HubArtifact(entry.repo, revision, entry if revision == entry.revision else None)


def _hub(name: str, revision: str | None, registry: Registry) -> HubArtifact:
    if not _REPO.fullmatch(name) or "--" in name or ".." in name:
        close = registry.close_names(name)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise PackageError(
            f"{name!r} is no folder here, no built-in model and no hub repository: {hint}"
            "Give a package folder, a built-in name or OWNER/NAME with a revision"
        )
    if revision is None:
        raise PackageError(
            f"{name} is not built in, so it needs a revision: add @ and the 40 hexadecimal digits of a commit"
        )
    _require_commit(name, revision, "give the 40 hexadecimal digits of a commit")
    return HubArtifact(name, revision)


def _require_commit(repo: str, revision: str, remedy: str) -> None:
    if not _COMMIT.fullmatch(revision):
        raise PackageError(
            f"revision {revision!r} of {repo} is not a commit (40 lower-case hexadecimal digits; branches and tags "
            f"move and are not accepted): {remedy}"
        )
