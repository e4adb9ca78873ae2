"""A package's folder read safely: which names may be read, links, JSON members and digests."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NoReturn

from checkpoints.progress import ByteCounter, Progress, Stage, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HASH_BLOCK_BYTES: Final = 8 << 20
HASH_THREADS: Final = 8
MAX_JSON_BYTES: Final = 64 << 20  # far above any config; a tokenizer is not read by this module


class PackageError(Exception):
    """A package that cannot be served: the message names the file, its fault, and what to do."""


@dataclass(frozen=True, slots=True)
class PackageFolder:
    """The files of one package.

    Names are relative POSIX paths. A local folder (`cache` None) holds no links. In a hub snapshot a link is followed
    when it ends inside `cache`, the hub cache that holds the snapshot (runtime rules, section 10).
    """

    root: Path
    cache: Path | None = None
    elsewhere: frozenset[str] = frozenset()  # files that the package has and this folder does not hold

    @classmethod
    def local(cls, root: Path) -> PackageFolder:
        """A folder named by the user. Raises PackageError for a link, a file, or a folder that holds links."""
        if root.is_symlink():
            raise PackageError(f"{root} is a link: give the folder that it points to")
        if not root.exists():
            raise PackageError(f"{root} does not exist: give the folder of a package")
        if not root.is_dir():
            raise PackageError(f"{root} is not a directory: give the folder that holds config.json")
        if not (root / "config.json").exists():
            raise PackageError(f"{root} holds no config.json: give the folder of a package")
        folder = cls(root)
        for name in folder.names():
            folder._refuse_link(name)
        return folder

    @classmethod
    def snapshot(cls, root: Path, cache: Path) -> PackageFolder:
        """A snapshot folder inside the hub cache `cache`."""
        if not root.is_dir():
            raise PackageError(f"{root} is not a directory: download the package again")
        return cls(root, cache)

    def names(self) -> tuple[str, ...]:
        """All files and links below the root, ignored ones left out, sorted. Links to folders are not entered."""
        held = (name for name in _walk(self.root) if not is_ignored(name))
        return tuple(sorted({*held, *self.elsewhere}))

    def has(self, name: str) -> bool:
        """True when the package has the file `name`."""
        return name in self.elsewhere or self._locate(name).exists()

    def require(self, names: Iterable[str]) -> None:
        """Raise PackageError when the package lacks one of the files."""
        missing = [name for name in names if not self.has(name)]
        if missing:
            raise PackageError(f"{', '.join(missing)}: missing from {self.root}; complete the package")

    def path(self, name: str) -> Path:
        """Where the file `name` is. Raises PackageError when it is missing, no file, or a link that is not allowed."""
        located = self._locate(name)
        if not located.exists():
            raise PackageError(f"{name} is missing from {self.root}: complete the package")
        if not located.is_file():
            raise PackageError(f"{name} in {self.root} is not a file: replace it")
        return located

    def json(self, name: str) -> Any:
        """The JSON document in the file `name`: UTF-8, no NaN or infinity."""
        path = self.path(name)
        size = path.stat().st_size
        if size > MAX_JSON_BYTES:
            raise PackageError(f"{name} has {size} bytes, at most {MAX_JSON_BYTES} are read: replace the file")
        try:
            return json.loads(path.read_bytes().decode("utf-8"), parse_constant=_refuse_constant)
        except UnicodeDecodeError as error:
            raise PackageError(f"{name} is not UTF-8 (byte {error.start}): fetch the file again") from error
        except RecursionError as error:
            raise PackageError(f"{name} is nested too deeply to be a package file: replace it") from error
        except ValueError as error:
            raise PackageError(f"{name} is not valid JSON ({error}): fetch the file again") from error

    def json_object(self, name: str) -> dict[str, Any]:
        """The JSON object in the file `name`."""
        value = self.json(name)
        if not isinstance(value, dict):
            raise PackageError(f"{name} holds {_kind(value)} where a JSON object is needed: replace the file")
        return value

    def _locate(self, name: str) -> Path:
        check_name(name)
        if self.cache is None:
            self._refuse_link(name)
            return self.root / name
        resolved = (self.root / name).resolve()
        if not resolved.is_relative_to(self.cache.resolve()):
            raise PackageError(f"{name} in {self.root} is a link out of the hub cache {self.cache}: download it again")
        return resolved

    def _refuse_link(self, name: str) -> None:
        path = self.root
        for part in PurePosixPath(name).parts:
            path = path / part
            if path.is_symlink():
                raise PackageError(
                    f"{name} in {self.root} is a link, and a local package holds none: replace it by the file, "
                    "or give the repository and its revision instead of the folder"
                )


def check_name(name: str) -> None:
    """Refuse a file name that is not a plain relative POSIX path."""
    parts = name.split("/")
    if "\\" in name or "\0" in name or any(part in ("", ".", "..") for part in parts) or Path(name).is_absolute():
        raise PackageError(f"{name!r} is not a file name of a package: relative, with '/', without '..' or a backslash")


def is_ignored(name: str) -> bool:
    """True for files that no package counts as its own (runtime rules, section 10)."""
    path = PurePosixPath(name)
    compiled = path.suffix == ".pyc" and path.parent.name == "__pycache__"
    return path.name == ".gitattributes" or path.parts[:2] == (".cache", "huggingface") or compiled


def file_digests(folder: PackageFolder, names: Iterable[str], progress: Progress = silent) -> dict[str, str]:
    """SHA-256 (hex) of each file, read in 8 MiB blocks on up to 8 threads."""
    paths = {name: folder.path(name) for name in sorted(set(names))}
    counter = ByteCounter(Stage.VERIFY, sum(path.stat().st_size for path in paths.values()), progress)
    threads = max(1, min(HASH_THREADS, len(paths), os.cpu_count() or 1))
    with ThreadPoolExecutor(threads, thread_name_prefix="hash") as pool:
        digests = pool.map(lambda path: _digest(path, counter), paths.values())
        return dict(zip(paths, digests, strict=True))


def _digest(path: Path, counter: ByteCounter) -> str:
    digest = hashlib.sha256()
    block = memoryview(bytearray(min(HASH_BLOCK_BYTES, max(1, path.stat().st_size))))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(block):
            digest.update(block[:count])
            counter.add(count)
    return digest.hexdigest()


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*files, *links):
            yield (Path(folder) / name).relative_to(root).as_posix()


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not allowed")


def _kind(value: Any) -> str:
    names: Sequence[tuple[type, str]] = ((list, "a list"), (str, "a string"), (bool, "a boolean"), (type(None), "null"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")
