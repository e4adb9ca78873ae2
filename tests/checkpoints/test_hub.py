"""The hub: downloads, retries, the cache. The client is a fake; nothing leaves the machine."""

import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
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
        self.listings = 0
        self.downloads: list[tuple[str, str, str]] = []
        self._lock = threading.Lock()

    def model_info(self, repo_id: str, *, revision: str) -> Any:
        assert repo_id == REPO
        self.listings += 1
        self._fail()
        return SimpleNamespace(
            sha=self.commit or revision, siblings=[SimpleNamespace(rfilename=name) for name in self.files]
        )

    def hf_hub_download(self, repo_id: str, filename: str, **options: Any) -> str:
        commit = self.commit or options["revision"]
        path = self.cache / ("models--" + repo_id.replace("/", "--")) / "snapshots" / commit / filename
        if options["local_files_only"]:
            if not path.exists():
                raise FileNotFoundError("not in the cache")
            return str(path)
        assert set(options) == {"revision", "cache_dir", "local_files_only", "tqdm_class"}  # no token
        with self._lock:
            self.downloads.append((repo_id, options["revision"], filename))
            self._fail()
        if filename not in self.files:
            raise StatusError(404)
        content = self.files[filename]
        with options["tqdm_class"](total=len(content), initial=0, unit="B", desc=filename, name="hub.file") as bar:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            bar.update(len(content))
        return str(path)

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


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
    client = make_client({"config.json": b"{}", "sub/a": b"1", "b.py": b"print()"})
    folder = make_hub(client).fetch(REPO, COMMIT, ("config.json", "sub/a"))
    assert folder.names() == ("config.json", "sub/a")
    assert sorted(client.downloads) == [(REPO, COMMIT, "config.json"), (REPO, COMMIT, "sub/a")]
    assert client.listings == 0


def test_what_the_cache_has_is_not_downloaded(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client()
    hub = make_hub(client)
    hub.fetch(REPO, COMMIT, ("config.json",))
    hub.fetch(REPO, COMMIT, ("config.json",))
    hub.fetch(REPO, COMMIT, ("config.json", "a"))
    assert [name for _, _, name in client.downloads] == ["config.json", "a"]


def test_bytes_are_reported(make_client: MakeClient, make_hub: MakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[Stage, int, int]] = []
    client = make_client({"config.json": b"{}", "a": b"12345"})
    make_hub(client).fetch_package(REPO, COMMIT, ("*",), lambda *report: seen.append(report))
    assert seen[-1] == (Stage.DOWNLOAD, 7, 7)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [StatusError(429), StatusError(500), StatusError(503), TransportError("no route")])
def test_passing_failures_are_tried_again(
    make_client: MakeClient, make_hub: MakeHub, waits: list[float], error: Exception
) -> None:
    client = make_client(failures=[error, error])
    make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert waits == [1.0, 2.0]
    assert len(client.downloads) == 3


def test_listings_are_tried_again(make_client: MakeClient, make_hub: MakeHub, waits: list[float]) -> None:
    client = make_client(failures=[StatusError(502)] * 3)
    make_hub(client).fetch_package(REPO, COMMIT, ("a",))
    assert waits == [1.0, 2.0, 4.0]
    assert client.listings == 4


def test_four_attempts_are_made(make_client: MakeClient, make_hub: MakeHub, waits: list[float]) -> None:
    client = make_client(failures=[ConnectionError("refused")] * 9)
    with pytest.raises(HubError, match=rf"cannot be reached for config\.json of {REPO}@{COMMIT}"):
        make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert waits == [1.0, 2.0, 4.0]
    assert len(client.downloads) == 4


def test_a_busy_hub_is_named(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client(failures=[StatusError(503)] * 9)
    with pytest.raises(HubError, match="the hub answered 503 for acme/model"):
        make_hub(client).fetch_package(REPO, COMMIT, ("a",))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_fails_at_once(make_client: MakeClient, make_hub: MakeHub, waits: list[float], status: int) -> None:
    client = make_client(failures=[StatusError(status)])
    with pytest.raises(PackageError, match=rf"the hub answered {status} .*HF_TOKEN") as caught:
        make_hub(client).fetch(REPO, COMMIT, ("config.json",))
    assert waits == []
    assert len(client.downloads) == 1
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


def test_the_library_of_the_hub_is_asked_as_it_expects(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match=rf"the hub cache lacks config\.json of {REPO}@{COMMIT}"):
        Hub(tmp_path, offline=True).fetch(REPO, COMMIT, ("config.json",))
    with pytest.raises(PackageError, match="unset HF_HUB_OFFLINE"):  # the tests' own setting
        Hub(tmp_path).fetch(REPO, COMMIT, ("config.json",))
    path = tmp_path / "models--acme--model" / "snapshots" / COMMIT
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    folder = Hub(tmp_path).fetch(REPO, COMMIT, ("config.json",))
    assert (folder.root, folder.cache) == (path, tmp_path)


def test_offline_uses_the_cache_only(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client()
    offline = make_hub(client, offline=True)
    with pytest.raises(PackageError, match=r"the hub cache lacks config\.json, a of .*: start once without --offline"):
        offline.fetch(REPO, COMMIT, ("config.json", "a"))
    with pytest.raises(PackageError, match=r"the hub cache lacks config\.json"):
        offline.fetch_package(REPO, COMMIT, ("a",))
    make_hub(client).fetch_package(REPO, COMMIT, ("config.json", "a"))
    assert offline.fetch(REPO, COMMIT, ("config.json",)).has("config.json")
    assert offline.fetch_package(REPO, COMMIT, ("a",)).names() == ("a", "config.json")
    assert client.listings == 1


def test_the_config_comes_last(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client({"config.json": b"{}", "a": b"1", "b": b"2"})
    make_hub(client).fetch_package(REPO, COMMIT, ("config.json", "a", "b"))
    assert client.downloads[-1][2] == "config.json"


def test_another_commit_is_refused(make_client: MakeClient, make_hub: MakeHub) -> None:
    client = make_client()
    client.commit = "f" * 40
    for fetch_it in (make_hub(client).fetch, make_hub(client).fetch_package):
        with pytest.raises(PackageError, match=rf"gave commit .*{'f' * 40}.* of {REPO} where {COMMIT} was asked"):
            fetch_it(REPO, COMMIT, ("config.json",))


def test_a_missing_pinned_file_is_named(make_client: MakeClient, make_hub: MakeHub) -> None:
    with pytest.raises(PackageError, match=f"the hub answered 404 for b of {REPO}@{COMMIT}: check the name"):
        make_hub(make_client()).fetch(REPO, COMMIT, ("config.json", "b"))


def test_an_unknown_repository_is_fetched_by_patterns(make_client: MakeClient, make_hub: MakeHub) -> None:
    names = ("config.json", "onnx/model_layer_3.onnx", "onnx/other.onnx", "modeling.py")
    hub = make_hub(make_client(dict.fromkeys(names, b"{}")))
    folder = hub.fetch_package(REPO, COMMIT, ("config.json", "onnx/model_layer_*.onnx"))
    assert folder.names() == ("config.json", "onnx/model_layer_3.onnx")


def test_what_a_manifest_lists_is_fetched_too(make_client: MakeClient, make_hub: MakeHub) -> None:
    manifest = json.dumps({"files_sha256": {"a": "0" * 64, "sub/b": "0" * 64}}).encode()
    client = make_client({"config.json": b"{}", MANIFEST: manifest, "a": b"", "sub/b": b"", "c": b"", "d": b""})
    assert make_hub(client).fetch_package(REPO, COMMIT, ("c",)).names() == (MANIFEST, "a", "c", "config.json", "sub/b")
    offline = make_hub(client, offline=True)
    assert offline.fetch_package(REPO, COMMIT, ("c",)).has("sub/b")
    (client.cache / "models--acme--model" / "snapshots" / COMMIT / "a").unlink()
    with pytest.raises(PackageError, match="the hub cache lacks a of"):
        offline.fetch_package(REPO, COMMIT, ("c",))


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


def test_a_decoder_is_fetched_with_what_its_manifest_leaves_out(
    originals: Callable[[str], Path], make_client: MakeClient, make_hub: MakeHub
) -> None:
    client = make_client({**contents(originals("vela2_decoder")), "vela2_inference.py": b"raise SystemExit"})
    listed = set(json.loads(client.files[MANIFEST])["files_sha256"])
    assert listed == {name for name in client.files if name.endswith(".safetensors")}
    package = resolve(f"{REPO}@{COMMIT}", hub=make_hub(client))
    assert set(package.folder.names()) == set(client.files) - {"vela2_inference.py"}
    provenance = verify(package).provenance
    assert provenance.manifest_sha256 == hashlib.sha256(client.files[MANIFEST]).hexdigest()
    assert (provenance.repo, provenance.revision, provenance.verification) == (REPO, COMMIT, LOCAL)
    again = resolve(f"{REPO}@{COMMIT}", hub=make_hub(make_client({}), offline=True))
    assert verify(again).provenance == provenance


@pytest.mark.parametrize(
    ("digest", "says"),
    [
        ("0" * 64, "MODEL_MANIFEST.json states other digests of model-00002-of-00002.safetensors"),
        (7, "files_sha256 must be an object of digests by file"),
    ],
)
def test_a_shard_that_the_manifest_does_not_state_is_refused(
    originals: Callable[[str], Path], make_client: MakeClient, make_hub: MakeHub, digest: Any, says: str
) -> None:
    files = contents(originals("vela2_decoder"))
    manifest = json.loads(files[MANIFEST])
    manifest["files_sha256"]["model-00002-of-00002.safetensors"] = digest
    del files["SHA256SUMS"]
    client = make_client({**files, MANIFEST: json.dumps(manifest).encode()})
    with pytest.raises(PackageError, match=says):
        verify(resolve(f"{REPO}@{COMMIT}", hub=make_hub(client)))


def test_a_built_in_that_differs_is_refused(
    originals: Callable[[str], Path], make_client: MakeClient, make_hub: MakeHub
) -> None:
    entry = REGISTRY.find("Vela-1.0-Encoder-307M-Guard")
    assert entry is not None
    client = make_client(contents(originals("guard")))
    package = resolve(entry.name, hub=make_hub(client))
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
    assert client.downloads == []
