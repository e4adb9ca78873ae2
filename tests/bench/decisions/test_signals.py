from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from bench.decisions.signals import SIGNALS, States, requests
from checkpoints.fixtures import write_fixture


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_fixture(tmp_path_factory.mktemp("signals") / "encoder", "vela2_both")


@pytest.mark.parametrize("tokens", [1, 32, 200])
def test_states_have_the_tokens_they_are_asked_for(folder: Path, tokens: int) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found = list(islice(States(folder).of(tokens), 5))
    assert len(set(found)) == 5 or tokens == 1
    for text in found:
        assert tokens <= len(tokenizer.encode(text, add_special_tokens=False).ids) <= tokens + 3


def test_a_request_asks_for_every_signal(folder: Path) -> None:
    (first, second) = requests("m", States(folder).of(8), 2)
    assert first != second
    path, body = first
    assert path == "/v1/decisions"
    members = json.loads(body)
    assert members["questions"] == dict(SIGNALS)
    assert [len(members["questions"][name].get("criteria", [])) for name in ("domain", "topics")] == [14, 8]
