"""Files of a hub repository at one commit: from the hub's cache, or downloaded into it."""

from __future__ import annotations

import fnmatch
import io
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from checkpoints.files import PackageError, PackageFolder, check_name
from checkpoints.progress import Progress, Stage, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

RETRY_WAITS: Final = (1.0, 2.0, 4.0)  # seconds before the second, third and fourth attempt
MANIFEST: Final = "MODEL_MANIFEST.json"
_CONFIG: Final = "config.json"
_REMEDY: Final = "check the repository and the revision"
_DOWNLOADS: Final = 8  # at once
_NO_CONNECTION: Final = frozenset({"TransportError", "ConnectionError", "TimeoutError", "gaierror"})
_OFFLINE: Final = "OfflineModeIsEnabled"


class HubError(Exception):
    """The hub could not be reached or gave an error; another try later may succeed."""


class HubClient(Protocol):
    """What this module uses of the hub's client library."""

    def model_info(self, repo_id: str, *, revision: str) -> Any:
        """A repository at a commit: `sha`, and `siblings` with an `rfilename` each."""

    def hf_hub_download(self, repo_id: str, filename: str, **options: Any) -> str:
        """Bring one file into the cache and give its path there."""


@dataclass(frozen=True, slots=True)
class Hub:
    """The hub as this process uses it. Tokens come from the environment or the token file; the client reads them."""

    cache_dir: Path | None = None
    offline: bool = False
    client: HubClient | None = None
    sleep: Callable[[float], None] = time.sleep

    def fetch(self, repo: str, revision: str, names: Sequence[str], progress: Progress = silent) -> PackageFolder:
        """A snapshot with the named files; those in the cache are used without asking the hub.

        Raises PackageError when the repository or one of them is not there, HubError when the hub fails for now.
        """
        return self._bring(repo, revision, names, _bar_class(progress))

    def _bring(self, repo: str, revision: str, names: Sequence[str], bars: type[Any]) -> PackageFolder:
        paths = {name: self._cached(repo, revision, name) for name in names}
        missing = [name for name, path in paths.items() if path is None]
        if missing and self.offline:
            raise _not_cached(repo, revision, missing)
        with ThreadPoolExecutor(_DOWNLOADS, thread_name_prefix="download") as pool:
            fetched = pool.map(lambda name: self._download(repo, revision, name, bars), missing)
            paths |= dict(zip(missing, fetched, strict=True))
        return _snapshot(repo, revision, {name: path for name, path in paths.items() if path is not None})

    def fetch_package(
        self, repo: str, revision: str, patterns: Sequence[str], progress: Progress = silent
    ) -> PackageFolder:
        """A snapshot of a repository that no table knows: its files of `patterns`, and those that its manifest lists.

        A manifest may list the weights alone, and weights may have names of their own. Offline it holds what the cache
        has of them.
        """
        if self.offline:
            return self._cached_package(repo, revision)
        bars = _bar_class(progress)
        held = self._list(repo, revision)
        if _CONFIG not in held:
            raise PackageError(f"{repo}@{revision} lacks {_CONFIG}, so it is no package: {_REMEDY}")
        names = {name for name in held if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
        if MANIFEST in held:
            names |= set(_manifest_files(self._bring(repo, revision, (MANIFEST,), bars), repo, revision))
        rest = sorted(names - {_CONFIG})
        if rest:
            self._bring(repo, revision, rest, bars)
        return self._bring(
            repo, revision, sorted({*names, _CONFIG}), bars
        )  # the config last: offline, it stands for a whole package

    def _cached_package(self, repo: str, revision: str) -> PackageFolder:
        folder = self.fetch(repo, revision, (_CONFIG,))
        if folder.has(MANIFEST):
            return self.fetch(repo, revision, _manifest_files(folder, repo, revision))
        return folder

    def _list(self, repo: str, revision: str) -> list[str]:
        """Names of the repository's files at the commit."""
        info = self._try(f"{repo}@{revision}", lambda client: client.model_info(repo, revision=revision))
        if info.sha != revision:
            raise PackageError(f"the hub gave commit {info.sha} of {repo} where {revision} was asked: try again")
        return [sibling.rfilename for sibling in info.siblings]

    def _cached(self, repo: str, revision: str, name: str) -> Path | None:
        check_name(name)
        options = {"revision": revision, "cache_dir": self.cache_dir, "local_files_only": True}
        try:
            return Path(self._client().hf_hub_download(repo, name, **options))
        except FileNotFoundError:  # the client's "not in the cache"
            return None

    def _download(self, repo: str, revision: str, name: str, bars: type[Any]) -> Path:
        options = {"revision": revision, "cache_dir": self.cache_dir, "local_files_only": False, "tqdm_class": bars}
        label = f"{name} of {repo}@{revision}"
        return Path(self._try(label, lambda client: client.hf_hub_download(repo, name, **options)))

    def _try(self, label: str, call: Callable[[HubClient], Any]) -> Any:
        """Make a call; failures that may pass are tried again."""
        for wait in (*RETRY_WAITS, None):
            try:
                return call(self._client())
            except Exception as error:
                if not is_transient(error):
                    raise PackageError(_explain(label, error)) from error
                if wait is None:
                    raise HubError(_explain(label, error)) from error
                self.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _client(self) -> HubClient:
        if self.client is not None:
            return self.client
        import huggingface_hub  # slow to import; local packages never need it

        return cast("HubClient", huggingface_hub)


def _snapshot(repo: str, revision: str, paths: Mapping[str, Path]) -> PackageFolder:
    """The folder that holds the files `paths`, whose name must be the commit."""
    roots = {path.parents[name.count("/")] for name, path in paths.items()}
    wrong = sorted(root.name for root in roots if root.name != revision)
    if wrong or len(roots) != 1:
        raise PackageError(f"the hub gave commit {wrong} of {repo} where {revision} was asked: try again")
    (root,) = roots
    return PackageFolder.snapshot(root, cache=root.parents[2])


def _manifest_files(folder: PackageFolder, repo: str, revision: str) -> list[str]:
    """Files that a package's manifest lists, the config and the manifest among them."""
    listed = folder.json_object(MANIFEST).get("files_sha256")
    if not isinstance(listed, dict) or not listed:
        raise PackageError(f"{MANIFEST} of {repo}@{revision} lists no files_sha256: choose another revision")
    return sorted({*listed, _CONFIG, MANIFEST})


def _not_cached(repo: str, revision: str, names: Sequence[str]) -> PackageError:
    return PackageError(f"the hub cache lacks {', '.join(names)} of {repo}@{revision}: start once without --offline")


def is_transient(error: BaseException) -> bool:
    """True for no connection, HTTP 429 and 500 or more: another try may succeed."""
    for cause in _chain(error):
        names = {kind.__name__ for kind in type(cause).__mro__}
        status = _status(cause)
        if _OFFLINE in names:
            return False
        if status is not None:
            return status == 429 or status >= 500
        if names & _NO_CONNECTION:
            return True
    return False


def _status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _explain(label: str, error: BaseException) -> str:
    """What went wrong in words, without the address, headers or body of the failed call."""
    status = next((code for code in map(_status, _chain(error)) if code is not None), None)
    if status in (401, 403, 404):
        return (
            f"the hub answered {status} for {label}: check the name and the revision; "
            "a gated or private repository needs a token in HF_TOKEN"
        )
    if any(type(cause).__name__ == _OFFLINE for cause in _chain(error)):
        return f"{label} is not complete in the hub cache, and the environment forbids downloads: unset HF_HUB_OFFLINE"
    if status is not None:
        return f"the hub answered {status} for {label}: try again later"
    return f"the hub cannot be reached for {label} ({type(error).__name__}): check the connection, or use --offline"


class _Received:
    """Bytes of the files that are being downloaded, added up over their bars."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def show(self, bar: int, done: float, total: float) -> None:
        with self._lock:
            self._bars[bar] = (int(done), int(total))
            sums = [sum(column) for column in zip(*self._bars.values(), strict=True)]
            self._progress(Stage.DOWNLOAD, *sums)


def _bar_class(progress: Progress) -> type[Any]:
    """A progress bar class for the client: bytes go to `progress`, nothing is drawn."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # comes with the client

    received = _Received(progress)
    numbers = itertools.count()

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, name: str | None = None, **options: Any) -> None:
            del name  # an option of the client's own bars
            self._number = next(numbers)
            super().__init__(*args, **{**options, "file": io.StringIO(), "disable": False})

        def display(self, *_: Any, **__: Any) -> None:
            if self.unit == "B":
                received.show(self._number, self.n, self.total or 0)

    return Bar
