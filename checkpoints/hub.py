"""Files of a hub repository at one commit: from the hub's cache, or downloaded into it."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from checkpoints.files import PackageError, PackageFolder
from checkpoints.progress import Progress, Stage, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RETRY_WAITS: Final = (1.0, 2.0, 4.0)  # seconds before the second, third and fourth attempt
MANIFEST: Final = "MODEL_MANIFEST.json"
_NO_CONNECTION: Final = frozenset({"TransportError", "ConnectionError", "TimeoutError", "gaierror"})
_OFFLINE: Final = "OfflineModeIsEnabled"


class HubError(Exception):
    """The hub could not be reached or gave an error; another try later may succeed."""


class HubClient(Protocol):
    """What this module uses of the hub's client library."""

    def snapshot_download(self, repo_id: str, **options: Any) -> str:
        """Download files of a repository and give the snapshot folder."""


@dataclass(frozen=True, slots=True)
class Hub:
    """The hub as this process uses it. Tokens come from the environment or the token file; the client reads them."""

    cache_dir: Path | None = None
    offline: bool = False
    client: HubClient | None = None
    sleep: Callable[[float], None] = time.sleep

    def fetch(self, repo: str, revision: str, names: Sequence[str], progress: Progress = silent) -> PackageFolder:
        """A snapshot that holds exactly the named files. A complete cache is used without asking the hub.

        Raises PackageError when the repository or one of them is not there, HubError when the hub fails for now.
        """
        cached = self._cached(repo, revision, names)
        if cached is not None and all(cached.has(name) for name in names):
            return cached
        folder = self._download(repo, revision, names, progress)
        missing = [name for name in names if not folder.has(name)]
        if missing:
            raise PackageError(f"{repo}@{revision} lacks {', '.join(missing)}: {self._remedy}")
        return folder

    def fetch_package(
        self, repo: str, revision: str, patterns: Sequence[str], progress: Progress = silent
    ) -> PackageFolder:
        """A snapshot of a repository that no table knows: the files its manifest lists, else those of `patterns`."""
        first = self._download(repo, revision, ("config.json", MANIFEST), progress)
        if not first.has("config.json"):
            raise PackageError(f"{repo}@{revision} lacks config.json, so it is no package: {self._remedy}")
        if not first.has(MANIFEST):
            return self._download(repo, revision, patterns, progress)
        listed = first.json_object(MANIFEST).get("files_sha256")
        if not isinstance(listed, dict) or not listed:
            raise PackageError(f"{MANIFEST} of {repo}@{revision} lists no files_sha256: choose another revision")
        return self.fetch(repo, revision, sorted({*listed, "config.json", MANIFEST}), progress)

    @property
    def _remedy(self) -> str:
        return "start once without --offline" if self.offline else "check the repository and the revision"

    def _cached(self, repo: str, revision: str, names: Sequence[str]) -> PackageFolder | None:
        try:
            return self._ask(repo, revision, names, silent, local_only=True)
        except FileNotFoundError:  # the client's "not in the cache"
            return None

    def _download(self, repo: str, revision: str, names: Sequence[str], progress: Progress) -> PackageFolder:
        label = f"{repo}@{revision}"
        if self.offline:
            try:
                return self._ask(repo, revision, names, silent, local_only=True)
            except FileNotFoundError as error:
                raise PackageError(f"{label} is not complete in the hub cache: start once without --offline") from error
        for wait in (*RETRY_WAITS, None):
            try:
                return self._ask(repo, revision, names, progress, local_only=False)
            except PackageError:
                raise
            except Exception as error:
                if not is_transient(error):
                    raise PackageError(_explain(label, error)) from error
                if wait is None:
                    raise HubError(_explain(label, error)) from error
                self.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _ask(
        self, repo: str, revision: str, names: Sequence[str], progress: Progress, *, local_only: bool
    ) -> PackageFolder:
        path = Path(
            self._client().snapshot_download(
                repo,
                revision=revision,
                allow_patterns=list(names),
                cache_dir=self.cache_dir,
                local_files_only=local_only,
                tqdm_class=_bar_class(progress),
            )
        )
        if path.name != revision:
            raise PackageError(f"the hub gave commit {path.name} of {repo} where {revision} was asked: try again")
        return PackageFolder.snapshot(path, cache=path.parents[2])

    def _client(self) -> HubClient:
        if self.client is not None:
            return self.client
        import huggingface_hub  # takes a second to import; local packages never need it

        return cast("HubClient", huggingface_hub)


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
    """The largest byte counts that any bar of one download has shown."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = self._total = 0

    def show(self, done: float, total: float) -> None:
        self._done, self._total = max(self._done, int(done)), max(self._total, int(total))
        self._progress(Stage.DOWNLOAD, self._done, self._total)


def _bar_class(progress: Progress) -> type[Any]:
    """A progress bar class for the client: bytes go to `progress`, nothing is drawn."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # comes with the client

    received = _Received(progress)

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, name: str | None = None, **options: Any) -> None:
            del name  # an option of the client's own bars
            super().__init__(*args, **{**options, "file": io.StringIO(), "disable": False})

        def display(self, *_: Any, **__: Any) -> None:
            if self.unit == "B":
                received.show(self.n, self.total or 0)

    return Bar
