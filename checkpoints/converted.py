"""Converted copies: a package whose weights lie in an Orbax checkpoint, ready for the network, beside its other files.

A copy is a folder with the package's small files, `params/` and the record `converted.json`, which names the package
it was made from and holds a digest of every file. The folder is moved into place when it is complete, so a half-written
copy is never used.
"""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jax
import msgspec
from flax import nnx

from checkpoints.files import PackageError, PackageFolder, file_digests
from checkpoints.placing import Place, placed
from checkpoints.progress import Progress, silent

if TYPE_CHECKING:
    from checkpoints.loading import ParamTree

RECORD: Final = "converted.json"
PARAMS: Final = "params"
FORMAT: Final = "vela-jax-converted/1"
_WEIGHTS: Final = ("model.safetensors", "model-*-of-*.safetensors")
_GRAPHS: Final = "onnx/"  # only the names of graphs matter here
_REMEDY: Final = "remove the copy and convert again"


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `converted.json` holds."""

    format: str
    name: str
    repo: str | None
    revision: str | None
    licences: list[str]
    parameters: int
    model_sha256: str  # of the package that it was made from
    package_files: list[str]  # that the package had
    contents: dict[str, str] = {}  # SHA-256 of every other file of the copy

    def original(self, folder: PackageFolder) -> PackageFolder:
        """The folder as its package's readers see it: with the files that were left out."""
        held = set(folder.names())
        return replace(folder, elsewhere=frozenset(self.package_files) - held)


def read_record(folder: PackageFolder) -> Record | None:
    """The record of a converted copy, None for a package as released. Raises PackageError when it is not sound."""
    if not folder.has(RECORD):
        return None
    try:
        record = msgspec.convert(folder.json_object(RECORD), Record)
    except msgspec.ValidationError as error:
        raise PackageError(f"{RECORD} is not the record of a converted copy ({error}): convert again") from error
    if record.format != FORMAT:
        raise PackageError(f"{RECORD} has the format {record.format!r}, this version reads {FORMAT!r}: convert again")
    return record


def check(folder: PackageFolder, record: Record, progress: Progress = silent) -> None:
    """Compare every file of a copy with its digest."""
    held = {name for name in folder.names() if name != RECORD} - folder.elsewhere
    if held != set(record.contents):
        names = ", ".join(sorted(held ^ set(record.contents)))
        raise PackageError(f"the converted copy {folder.root} has other files than {RECORD} lists ({names}): {_REMEDY}")
    digests = file_digests(folder, held, progress)
    wrong = sorted(name for name in held if digests[name] != record.contents[name])
    if wrong:
        raise PackageError(f"{', '.join(wrong)} in {folder.root} differ from {RECORD}: {_REMEDY}")


def restore(folder: PackageFolder, abstract: ParamTree, place: Place = None) -> ParamTree:
    """The param tree of a copy whose files were checked."""
    import orbax.checkpoint as ocp  # a second to import; packages as released never need it

    wanted = {
        _name(path): jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=placed(place, path, leaf.shape))
        for path, leaf in nnx.to_flat_state(abstract)
    }
    try:
        with ocp.StandardCheckpointer() as checkpointer:
            arrays = checkpointer.restore((folder.root / PARAMS).resolve(), wanted)
    except Exception as error:  # the library raises many kinds
        raise PackageError(f"{PARAMS} in {folder.root} does not fit config.json ({error}): {_REMEDY}") from error
    return nnx.from_flat_state(
        [(path, leaf.replace(arrays[_name(path)])) for path, leaf in nnx.to_flat_state(abstract)]
    )


def write_copy(folder: PackageFolder, record: Record, params: ParamTree, output: Path) -> Path:
    """Write a converted copy of the package in `folder` to `output`, which must not exist. Raises PackageError.

    `record` says what was converted; its `contents` are filled in here.
    """
    output = Path(os.path.abspath(output))  # Orbax takes absolute paths only
    if output.exists() or output.is_symlink():
        raise PackageError(f"{output} exists already: choose another output")
    output.parent.mkdir(parents=True, exist_ok=True)
    staged = output.with_name(f".{output.name}.{secrets.token_hex(4)}.part")
    try:
        _write_contents(folder, record, params, staged)
        staged.rename(output)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return output


def _write_contents(folder: PackageFolder, record: Record, params: ParamTree, staged: Path) -> None:
    import orbax.checkpoint as ocp

    staged.mkdir()
    for name in record.package_files:
        if not name.startswith(_GRAPHS) and not any(fnmatchcase(name, pattern) for pattern in _WEIGHTS):
            (staged / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(folder.path(name), staged / name)
    arrays: dict[str, Any] = {_name(path): leaf[...] for path, leaf in nnx.to_flat_state(params)}
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(staged / PARAMS, arrays)
    copy = PackageFolder(staged)
    complete = msgspec.structs.replace(record, contents=file_digests(copy, copy.names()))
    (staged / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(complete), indent=1) + b"\n")


def _name(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path))
