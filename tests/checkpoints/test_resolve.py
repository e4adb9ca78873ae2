"""What a MODEL argument stands for."""

from pathlib import Path

import pytest

from checkpoints.files import PackageError
from checkpoints.registry import REGISTRY
from checkpoints.resolve import EmbeddedArtifact, HubArtifact, LocalArtifact, parse_artifact
from checkpoints.tables.embedded import MINILM

NAME = "Vela-1.0-Encoder-307M-Guard"
ENTRY = REGISTRY.find(NAME)
assert ENTRY is not None
PIN = ENTRY.revision
OTHER = "0123456789abcdef0123456789abcdef01234567"


def test_an_existing_path_is_a_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_artifact(str(tmp_path)) == LocalArtifact(tmp_path)
    (tmp_path / NAME).mkdir()
    (tmp_path / f"model@{OTHER}").mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_artifact(NAME) == LocalArtifact(Path(NAME))
    assert parse_artifact(f"model@{OTHER}") == LocalArtifact(Path(f"model@{OTHER}"))


def test_a_local_folder_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="has no revision"):
        parse_artifact(str(tmp_path), OTHER)


def test_a_dangling_link_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert parse_artifact(str(tmp_path / "link")) == LocalArtifact(tmp_path / "link")


@pytest.mark.parametrize(
    ("argument", "revision"),
    [
        (NAME, None),
        (NAME.lower(), None),
        (f"vllm-sr/{NAME}", None),
        (f" {NAME} ", None),
        (NAME, PIN),
        (NAME, PIN[:7]),
        (NAME, PIN[:39]),
        (f"{NAME}@{PIN}", None),
        (f"{NAME}@{PIN[:10]}", None),
        (f"{NAME}@{PIN}", PIN),
    ],
)
def test_built_ins_at_their_pin(argument: str, revision: str | None) -> None:
    assert parse_artifact(argument, revision) == HubArtifact(f"vllm-sr/{NAME}", PIN, ENTRY)


def test_another_revision_of_a_built_in_has_no_pins() -> None:
    assert parse_artifact(NAME, OTHER) == HubArtifact(f"vllm-sr/{NAME}", OTHER, None)


def test_hub_repositories_need_a_commit() -> None:
    assert parse_artifact("acme/model", OTHER) == HubArtifact("acme/model", OTHER)
    assert parse_artifact(f"acme/model@{OTHER}") == HubArtifact("acme/model", OTHER)
    with pytest.raises(PackageError, match="acme/model is not built in, so it needs a revision"):
        parse_artifact("acme/model")


@pytest.mark.parametrize("repo", ["acme/model", NAME])
@pytest.mark.parametrize(
    "revision", ["main", "v1.0", OTHER[:7], OTHER[:6], OTHER.upper(), OTHER + "0", PIN[:6], "refs/pr/1", ""]
)
def test_other_revisions_are_refused(repo: str, revision: str) -> None:
    with pytest.raises(PackageError, match="is not a commit"):
        parse_artifact(repo, revision)


def test_two_revisions_must_agree() -> None:
    with pytest.raises(PackageError, match="give one of them"):
        parse_artifact(f"{NAME}@{PIN}", OTHER)


@pytest.mark.parametrize("argument", ["", "  "])
def test_an_empty_argument_is_refused(argument: str) -> None:
    with pytest.raises(PackageError, match="is empty"):
        parse_artifact(argument)


@pytest.mark.parametrize("argument", ["@", f"@{OTHER}", "model@"])
def test_a_model_or_a_revision_may_not_be_empty(argument: str) -> None:
    with pytest.raises(PackageError, match="is not MODEL@REVISION"):
        parse_artifact(argument)


@pytest.mark.parametrize(
    "argument",
    ["nothing", "./nothing", "a/b/c", "../up", "a--b/c", "-a/b", "a/b-", "a/..b", "a b/c", "x" * 5000, "a\0"],
)
def test_names_of_nothing_are_refused(argument: str) -> None:
    with pytest.raises(PackageError, match="no folder here, no built-in model and no hub repository"):
        parse_artifact(argument)


def test_a_misspelt_built_in_gets_a_hint() -> None:
    with pytest.raises(PackageError, match=f"did you mean .*{NAME}"):
        parse_artifact("vela-1.0-encoder-307m-gaurd")


def test_the_default_model_has_a_name() -> None:
    assert parse_artifact("all-MiniLM-L6-v2") == EmbeddedArtifact(MINILM)
    assert parse_artifact(" all-minilm-l6-v2 ") == EmbeddedArtifact(MINILM)
    with pytest.raises(PackageError, match="leave the revision out"):
        parse_artifact("all-MiniLM-L6-v2", OTHER)
