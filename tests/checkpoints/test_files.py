"""Package folders: names, links, JSON members, digests."""

import hashlib
import os
from pathlib import Path

import pytest

from checkpoints.files import MAX_JSON_BYTES, PackageError, PackageFolder, check_name, file_digests, is_ignored
from checkpoints.progress import Stage


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "package"
    path.mkdir()
    (path / "config.json").write_text('{"a": 1}')
    return path


@pytest.mark.parametrize("name", ["a", "a/b.json", "1_Pooling/config.json", "..a", "a..b"])
def test_plain_names_are_accepted(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", "/a", "a//b", "a/", "./a", "../a", "a/../b", "a\\b", "a\0", "."])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(PackageError, match="not a file name of a package"):
        check_name(name)


@pytest.mark.parametrize(
    ("name", "ignored"),
    [
        (".gitattributes", True),
        (".cache/huggingface/download/config.json.lock", True),
        ("__pycache__/a.cpython-311.pyc", True),
        ("a/__pycache__/b.pyc", True),
        ("b.pyc", False),
        (".cache/other", False),
        ("config.json", False),
    ],
)
def test_ignored_names(name: str, ignored: bool) -> None:
    assert is_ignored(name) is ignored


def test_a_local_folder_is_opened(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "b").write_text("")
    (root / ".gitattributes").write_text("")
    folder = PackageFolder.local(root)
    assert folder.names() == ("config.json", "sub/b")
    assert folder.has("sub/b")
    assert not folder.has("sub/c")
    assert folder.path("config.json") == root / "config.json"


def test_what_is_no_package_folder_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="does not exist"):
        PackageFolder.local(tmp_path / "nowhere")
    with pytest.raises(PackageError, match="not a directory"):
        PackageFolder.local(root / "config.json")
    with pytest.raises(PackageError, match=r"no config\.json"):
        PackageFolder.local(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(root)
    with pytest.raises(PackageError, match="is a link"):
        PackageFolder.local(link)


@pytest.mark.parametrize("target", ["config.json", "/etc/hostname", "nowhere", ".."])
def test_links_in_a_local_folder_are_refused(root: Path, target: str) -> None:
    (root / "tokenizer.json").symlink_to(target)
    with pytest.raises(PackageError, match=r"tokenizer\.json in .* is a link"):
        PackageFolder.local(root)


def test_a_link_made_after_opening_is_refused(root: Path) -> None:
    folder = PackageFolder.local(root)
    (root / "sub").symlink_to("/etc")
    with pytest.raises(PackageError, match="is a link"):
        folder.path("sub/hostname")
    with pytest.raises(PackageError, match="is a link"):
        folder.has("sub/hostname")


def snapshot(cache: Path) -> Path:
    blobs = cache / "models--o--n" / "blobs"
    path = cache / "models--o--n" / "snapshots" / ("a" * 40)
    blobs.mkdir(parents=True)
    path.mkdir(parents=True)
    (blobs / "1").write_text("{}")
    (path / "config.json").symlink_to("../../blobs/1")
    return path


def test_links_inside_the_hub_cache_are_followed(tmp_path: Path) -> None:
    folder = PackageFolder.snapshot(snapshot(tmp_path / "cache"), tmp_path / "cache")
    assert folder.json_object("config.json") == {}
    assert folder.names() == ("config.json",)


def test_links_out_of_the_hub_cache_are_refused(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "cache")
    (tmp_path / "outside").write_text("{}")
    (path / "tokenizer.json").symlink_to("../../../../outside")
    folder = PackageFolder.snapshot(path, tmp_path / "cache")
    with pytest.raises(PackageError, match=r"tokenizer\.json .* link out of the hub cache"):
        folder.path("tokenizer.json")


def test_missing_files_are_named(root: Path) -> None:
    folder = PackageFolder.local(root)
    with pytest.raises(PackageError, match=r"tokenizer\.json is missing"):
        folder.path("tokenizer.json")
    with pytest.raises(PackageError, match="b, c: missing"):
        folder.require(("config.json", "b", "c"))
    (root / "sub").mkdir()
    with pytest.raises(PackageError, match=r"sub .* is not a file"):
        folder.path("sub")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"a": 1} x', "not valid JSON"),
        (b'{"a": NaN}', "NaN is not allowed"),
        (b'{"a": -Infinity}', "-Infinity is not allowed"),
        (b'\xef\xbb\xbf{"a": 1}', "not valid JSON"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply|not valid JSON"),
        (b"1" * 5000, "not valid JSON"),
        (b"[1]", "holds a list where a JSON object"),
        (b'"a"', "holds a string where"),
        (b"null", "holds null where"),
        (b"true", "holds a boolean where"),
        (b"1", "holds a number where"),
    ],
)
def test_bad_json_is_refused(root: Path, content: bytes, fault: str) -> None:
    (root / "policy.json").write_bytes(content)
    with pytest.raises(PackageError, match=fault) as caught:
        PackageFolder.local(root).json_object("policy.json")
    assert "policy.json" in str(caught.value)


def test_huge_json_is_not_read(root: Path) -> None:
    with (root / "policy.json").open("wb") as file:
        file.truncate(MAX_JSON_BYTES + 1)
    with pytest.raises(PackageError, match=r"policy\.json has .* at most"):
        PackageFolder.local(root).json("policy.json")


def test_digests_of_files_and_their_progress(root: Path) -> None:
    contents = {"config.json": b"{}", "empty": b"", "large": os.urandom(9 << 20)}
    for name, content in contents.items():
        (root / name).write_bytes(content)
    seen: list[tuple[Stage, int, int]] = []
    digests = file_digests(PackageFolder.local(root), contents, lambda *report: seen.append(report))
    assert digests == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    total = sum(map(len, contents.values()))
    assert seen[-1] == (Stage.VERIFY, total, total)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_no_files_have_no_digests(root: Path) -> None:
    assert file_digests(PackageFolder.local(root), ()) == {}
