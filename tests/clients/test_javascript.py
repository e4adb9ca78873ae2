"""The clients for JavaScript, as released; they are there after `npm install` in the folder `javascript`."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.server import Running

FOLDER = Path(__file__).parent / "javascript"
NODE = shutil.which("node")
pytestmark = [
    pytest.mark.client,
    pytest.mark.skipif(NODE is None, reason="node is not installed"),
    pytest.mark.skipif(
        not (FOLDER / "node_modules").is_dir(),
        reason="the JavaScript clients are not installed: npm install in tests/clients/javascript",
    ),
]


@pytest.fixture(scope="module")
def found(decider: Running) -> Any:
    """What the clients got."""
    assert NODE is not None
    command = [NODE, str(FOLDER / "decide.mjs"), decider.url]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120, cwd=FOLDER)
    return json.loads(done.stdout)


def test_models(found: Any) -> None:
    assert [model["name"] for model in found["models"]] == ["decider"]
    assert found["openai"] == ["decider"]


def test_answers_to_every_form_of_state(found: Any) -> None:
    for response in found["answers"]:
        answers = response["answers"]
        assert list(answers) == ["n", "c", "d", "s"]
        assert list(answers["c"]["probabilities"]) == ["z", "a"]
        assert answers["s"]["legend"] == {"0": "low", "1": '{"much":1}'}


def test_refusals_have_their_classes(found: Any) -> None:
    assert (found["silent"]["name"], found["silent"]["status"]) == ("UnprocessableEntityError", 422)
    assert "questions.n: instructions" in found["silent"]["message"]
    assert "questions.s: criteria[1]" in found["level"]["message"]
    assert found["unknown"]["name"] == "NotFoundError"
    assert "decider" in found["unknown"]["message"]
