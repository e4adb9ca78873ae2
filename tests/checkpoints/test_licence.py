"""Licences that must be accepted by name."""

from typing import Any

import pytest

from checkpoints.files import PackageError
from checkpoints.licence import is_restricted, manifest_licences, require_accepted


@pytest.mark.parametrize(
    ("licence", "restricted"),
    [
        ("apache-2.0", False),
        ("MIT", False),
        ("cc-by-4.0", False),
        ("cc-by-nc-4.0", True),
        ("CC-BY-NC-SA-4.0", True),
        ("Non-Commercial", True),
        ("noncommercial-v1", True),
        ("acme-research-only", True),
        ("bigscience-openrail-m", True),
        ("license-ncsa", True),  # plain substrings, as the rule says
    ],
)
def test_restricted_licences(licence: str, restricted: bool) -> None:
    assert is_restricted(licence) is restricted


def test_a_restricted_licence_must_be_accepted() -> None:
    with pytest.raises(PackageError, match=r"m is under cc-by-nc-4\.0.*--accept-licence cc-by-nc-4\.0"):
        require_accepted(["apache-2.0", "cc-by-nc-4.0"], ["mit"], "m")
    require_accepted(["cc-by-nc-4.0"], ["CC-BY-NC-4.0"], "m")
    require_accepted(["apache-2.0"], [], "m")
    require_accepted([], [], "m")


@pytest.mark.parametrize(
    ("manifest", "licences"),
    [
        ({}, []),
        ({"licence": None}, []),
        ({"licence": "mit"}, ["mit"]),
        ({"licence": {"spdx": "mit"}}, ["mit"]),
        ({"licence": {"spdx": None, "components": [{"licence": "a"}, {}, {"licence": "b"}]}}, ["a", "b"]),
        ({"licence": {"spdx": "mit", "components": [{"licence": "cc-by-nc-4.0"}]}}, ["mit", "cc-by-nc-4.0"]),
    ],
)
def test_licences_of_a_manifest(manifest: dict[str, Any], licences: list[str]) -> None:
    assert manifest_licences(manifest) == licences


@pytest.mark.parametrize(
    "licence",
    [1, ["mit"], {"spdx": 1}, {"components": {}}, {"components": ["mit"]}, {"components": [{"licence": ["mit"]}]}],
)
def test_other_forms_are_refused(licence: object) -> None:
    with pytest.raises(PackageError, match=r"MODEL_MANIFEST\.json: licence"):
        manifest_licences({"licence": licence})
