"""The hub: downloads, retries, the cache. The client is a fake; nothing leaves the machine."""

import fnmatch
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoints.files import PackageError, PackageFolder
from checkpoints.hub import MANIFEST, Hub, HubError, is_transient
from checkpoints.package import LOCAL, fetch, resolve, verify
from checkpoints.progress import Stage
from checkpoints.registry import REGISTRY
from checkpoints.resolve import HubArtifact

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "acme/model"


class Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class StatusError(OSError):
    def __init__(self, status: int) -> None:
        super().__init__(f"{status} from https://host/secret-path with token hf_secret")
        self.response = Response(status)


class TransportError(Exception):
    """Named like the failure of the HTTP library."""


class OfflineModeIsEnabled(ConnectionError):
    """Named like the failure of the hub's library."""


class FakeClient:
    """Holds a repository and a cache on disk; fails as told before it answers."""

    def __init__(self, cache: Path, files: dict[str, bytes], failures: list[Exception] | None = None) -> None:
        self.cache = cache
        self.files = files
        self.failures = failures or []
        self.commit: str | None = None
        self.calls: list[dict[str, Any]] = []

    @property
    def online_calls(self) -> list[dict[str, Any]]:
        return [call for call in self.calls if not call["local_files_only"]]

    def snapshot_download(self, repo_id: str, **options: Any) -> str:
        self.calls.append(options | {"repo_id": repo_id})
        commit = self.commit or options["revision"]
        path = self.cache / ("models--" + repo_id.replace("/", "--")) / "snapshots" / commit
        if options["local_files_only"]:
            if not path.exists():
                raise FileNotFoundError("not in the cache")
            return str(path)
        if self.failures:
            raise self.failures.pop(0)
        self._download(path, options)
        return str(path)

    def _download(self, path: Path, options: dict[str, Any]) -> None:
        path.mkdir(parents=True, exist_ok=True)
        bar = options["tqdm_class"](total=0, initial=0, unit="B", unit_scale=True, desc="bytes", name="hub.snapshot")
        for name, content in self.files.items():
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in options["allow_patterns"]):
                (path / name).parent.mkdir(exist_ok=True)
                (path / name).write_bytes(content)
                bar.total += len(content)
                bar.update(len(content))
                bar.refresh()
        list(options["tqdm_class"]([1, 2], desc="files"))
        bar.close()


MakeHub = Callable[..., Hub]


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def make_hub(tmp_path: Path, waits: list[float]) -> MakeHub:
    def make(client: FakeClient, *, offline: bool = False) -> Hub:
        return Hub(tmp_path / "cache", offline, client, waits.append)

    return make


@pytest.fixture
def make_client(tmp_path: Path) -> Callable[..., FakeClient]:
    def make(files: dict[str, bytes] | None = None, failures: list[Exception] | None = None) -> FakeClient:
        return FakeClient(tmp_path / "cache", {"config.json": b"{}", "a": b"1"} if files is None else files, failures)

    return make


MakeClient = Callable[..., FakeClient]


def test_exactly_the_named_files_are_downloaded(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client({"config.json": b"{}", "a": b"1", "b.py": b"print()"})
    folder = make_hub(client).fetch(REPO, COMMIT, ("config.json", "a"))
    assert folder.names() == ("a", "config.json")
    (call,) = client.online_calls
    assert call["repo_id"] == REPO
    assert call["revision"] == COMMIT
    assert call["allow_patterns"] == ["config.json", "a"]
    assert "token" not in call


def test_a_complete_cache_is_used_without_the_hub(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client()
    hub = make_hub(client)
    hub.fetch(REPO, COMMIT, ("config.json",))
    hub.fetch(REPO, COMMIT, ("config.json",))
    assert len(client.online_calls) == 1
    hub.fetch(REPO, COMMIT, ("config.json", "a"))
    assert len(client.online_calls) == 2


def test_bytes_are_reported(make_client: MakeClient, make_hub: MakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[Stage, int, int]] = []
    client = make_client({"config.json": b"{}", "a": b"12345"})
    make_hub(client).fetch(REPO, COMMIT, ("config.json", "a"), lambda *report: seen.append(report))
    assert seen[-1] == (Stage.DOWNLOAD, 7, 7)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [StatusError(429), StatusError(500), StatusError(503), TransportError("no route")])
def test_passing_failures_are_tried_again(
    make_client: MakeClient, make_hub: MakeHub, waits: list[float], error: Exception
) -> None:
    client = make_client(failures=[error, error])
    make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert waits == [1.0, 2.0]
    assert len(client.online_calls) == 3


def test_four_attempts_are_made(make_client: MakeClient, make_hub: MakeHub, waits: list[float]) -> None:
    client = make_client(failures=[ConnectionError("refused")] * 9)
    with pytest.raises(HubError, match=f"cannot be reached for {REPO}@{COMMIT}"):
        make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert waits == [1.0, 2.0, 4.0]
    assert len(client.online_calls) == 4


def test_a_busy_hub_is_named(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client(failures=[StatusError(503)] * 9)
    with pytest.raises(HubError, match="the hub answered 503 for acme/model"):
        make_hub(client).fetch(REPO, COMMIT, ("config.json",))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_fails_at_once(make_client: MakeClient, make_hub: MakeHub, waits: list[float], status: int) -> None:
    client = make_client(failures=[StatusError(status)])
    with pytest.raises(PackageError, match=f"the hub answered {status} .*HF_TOKEN") as caught:
        make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert waits == []
    assert len(client.online_calls) == 1
    assert "secret" not in str(caught.value)


def test_the_cause_of_a_wrapped_failure_decides() -> None:
    wrapped = FileNotFoundError("not found locally")
    wrapped.__cause__ = StatusError(502)
    assert is_transient(wrapped)
    wrapped.__cause__ = StatusError(403)
    assert not is_transient(wrapped)
    wrapped.__cause__ = OfflineModeIsEnabled("offline")
    assert not is_transient(wrapped)
    assert is_transient(TimeoutError())
    assert not is_transient(ValueError())


def test_the_environment_may_forbid_downloads(make_client: MakeClient, make_hub: MakeHub, waits: list[float]) -> None:
    client = make_client(failures=[OfflineModeIsEnabled("offline")])
    with pytest.raises(PackageError, match="unset HF_HUB_OFFLINE"):
        make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert waits == []


def test_offline_uses_the_cache_only(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client()
    with pytest.raises(PackageError, match="not complete in the hub cache: start once without --offline"):
        make_hub(client, offline=True).fetch(REPO, COMMIT, ("config.json",))
    make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert make_hub(client, offline=True).fetch(REPO, COMMIT, ("config.json",)).has("config.json")
    with pytest.raises(PackageError, match=r"lacks a: start once without --offline"):
        make_hub(client, offline=True).fetch(REPO, COMMIT, ("config.json", "a"))
    assert len(client.online_calls) == 1


def test_another_commit_is_refused(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client()
    client.commit = "f" * 40
    with pytest.raises(PackageError, match=f"gave commit {'f' * 40} of {REPO} where {COMMIT} was asked"):
        make_hub(client).fetch(REPO, COMMIT, ("config.json",))


def test_a_missing_pinned_file_is_named(make_client: MakeClient, make_hub: MakeHub) -> None:
    with pytest.raises(PackageError, match=f"{REPO}@{COMMIT} lacks b, c: check the repository"):
        make_hub(make_client()).fetch(REPO, COMMIT, ("config.json", "b", "c"))


def test_an_unknown_repository_is_fetched_by_patterns(make_client: MakeClient, make_hub: MakeHub) -> None:
    files = dict.fromkeys(("config.json", "onnx/model_layer_3.onnx", "onnx/other.onnx", "modeling.py"), b"{}")
    folder = make_hub(make_client(files)).fetch_package(REPO, COMMIT, ("config.json", "onnx/model_layer_*.onnx"))
    assert folder.names() == ("config.json", "onnx/model_layer_3.onnx")


def test_a_manifest_decides_what_is_fetched(make_client: MakeClient, make_hub: MakeHub) -> None:
    manifest = json.dumps({"files_sha256": {"a": "0" * 64, "sub/b": "0" * 64}}).encode()
    files = {"config.json": b"{}", MANIFEST: manifest, "a": b"", "sub/b": b"", "c": b""}
    folder = make_hub(make_client(files)).fetch_package(REPO, COMMIT, ("c",))
    assert folder.names() == (MANIFEST, "a", "config.json", "sub/b")


@pytest.mark.parametrize("manifest", [{}, {"files_sha256": {}}, {"files_sha256": ["a"]}])
def test_a_manifest_without_files_is_refused(
    make_client: MakeClient, make_hub: MakeHub, manifest: dict[str, Any]
) -> None:
    client = make_client({"config.json": b"{}", MANIFEST: json.dumps(manifest).encode()})
    with pytest.raises(PackageError, match="lists no files_sha256"):
        make_hub(client).fetch_package(REPO, COMMIT, ("a",))


def test_a_manifest_may_not_name_files_outside(make_client: MakeClient, make_hub: MakeHub) -> None:
    manifest = json.dumps({"files_sha256": {"../../x": "0" * 64}}).encode()
    with pytest.raises(PackageError, match="not a file name of a package"):
        make_hub(make_client({"config.json": b"{}", MANIFEST: manifest})).fetch_package(REPO, COMMIT, ())


def test_a_repository_without_config_is_no_package(make_client: MakeClient, make_hub: MakeHub) -> None:
    with pytest.raises(PackageError, match=r"lacks config\.json, so it is no package"):
        make_hub(make_client({"README.md": b""})).fetch_package(REPO, COMMIT, ("README.md",))


def contents(root: Path) -> dict[str, bytes]:
    folder = PackageFolder.local(root)
    return {name: folder.path(name).read_bytes() for name in folder.names()}


def test_a_hub_package_is_resolved_and_verified(
    originals: Callable[[str], Path], make_client: MakeClient, make_hub: MakeHub
) -> None:
    client = make_client({**contents(originals("sentence_bert")), "train.py": b"raise SystemExit"})
    package = resolve(f"{REPO}@{COMMIT}", hub=make_hub(client))
    assert "train.py" not in package.folder.names()
    provenance = verify(package).provenance
    assert (provenance.name, provenance.repo, provenance.revision) == ("model", REPO, COMMIT)
    assert (provenance.verification, provenance.licence) == (LOCAL, None)


def test_a_built_in_that_differs_is_refused(
    originals: Callable[[str], Path], make_client: MakeClient, make_hub: MakeHub
) -> None:
    entry = REGISTRY.find("Vela-1.0-Encoder-307M-Guard")
    assert entry is not None
    package = resolve(entry.name, hub=make_hub(make_client(contents(originals("guard")))))
    assert package.pins is entry
    with pytest.raises(PackageError) as caught:
        verify(package)
    message = str(caught.value)
    assert "is not the pinned package" in message
    for part in (*entry.files, "identity", f"pinned are {entry.parameters}"):
        assert part in message


def test_a_built_in_of_another_family_is_not_fetched(make_client: MakeClient, make_hub: MakeHub) -> None:
    entry = REGISTRY.find("Vela-1.0-Omni-Nano")
    assert entry is not None
    client = make_client()
    with pytest.raises(PackageError, match="family multimodal_embedding; this server has task_heads"):
        fetch(HubArtifact(entry.repo, entry.revision, entry), make_hub(client))
    assert client.calls == []
