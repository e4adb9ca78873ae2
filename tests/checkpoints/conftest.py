"""Tiny packages to change and break: written once a session, copied for each test."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoints.fixtures import write_fixture

MakePackage = Callable[[str], Path]
Edit = Callable[[Path, dict[str, Any]], None]


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the untouched package of a variant; do not write into it."""
    root = tmp_path_factory.mktemp("packages")

    def get(variant: str) -> Path:
        path = root / variant
        return path if path.exists() else write_fixture(path, variant)

    return get


@pytest.fixture
def make_package(originals: MakePackage, tmp_path: Path) -> MakePackage:
    """Gives a copy of the package of a variant, to write into."""

    def make(variant: str) -> Path:
        return Path(shutil.copytree(originals(variant), tmp_path / variant))

    return make


@pytest.fixture
def edit() -> Edit:
    """Sets members of a JSON object file; the value `...` removes a member."""

    def apply(path: Path, changes: dict[str, Any]) -> None:
        value = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({key: member for key, member in value.items() if member is not ...}))

    return apply
