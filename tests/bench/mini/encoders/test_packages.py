"""Every encoder from its start to a package that the server's own path reads and answers with."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.mini.encoders import embedding, reranking
from bench.mini.encoders.model import Exam
from bench.mini.encoders.package import write_encoder
from bench.mini.encoders.run import ENCODERS, EncoderRun
from bench.mini.encoders.served import Served
from bench.mini.training.trainer import Progress
from checkpoints.fixtures import configs
from checkpoints.fixtures.packages import EMBEDDER_EXITS
from tests.bench.mini.encoders.conftest import SIZE, OpenEncoder


def write(run: EncoderRun, folder: Path, dtype: str = "F32") -> Path:
    network, pieces = run.trainer.network(), run.start.pieces
    return write_encoder(folder, run.encoder, network, run.config, pieces, figures={"good": 0.5}, dtype=dtype)


@pytest.mark.parametrize("name", list(ENCODERS))
def test_an_encoder_is_trained_written_served_and_judged(name: str, open_tiny: OpenEncoder, tmp_path: Path) -> None:
    if name == "reranker":
        open_tiny("embedding", tmp_path)
    run = open_tiny(name, tmp_path)
    seen: list[Progress] = []
    run.trainer.run(run.chunks, seen.append)
    assert [progress.step for progress in seen] == [1, 2]
    assert all(np.isfinite(float(value)) for value in seen[-1].losses.values())
    served = Served(write(run, tmp_path / "package", "BF16"))
    figures = run.encoder.figures(Exam(served, run.teacher, 8))
    assert all(-1 <= value <= 1 for key, value in figures.items() if key not in ("pairs", "texts", "queries"))
    assert len(figures) > 2
    card = (tmp_path / "package" / "README.md").read_text()
    assert run.encoder.title in card
    assert "| good | 0.5 |" in card
    assert "WordNet 3.0" in (tmp_path / "package" / "NOTICE").read_text()


def test_what_was_left_goes_on_where_it_was(open_tiny: OpenEncoder, tmp_path: Path) -> None:
    run = open_tiny("guard", tmp_path)
    run.trainer.run(run.chunks, lambda _: None, until=0.0)
    assert run.trainer.place.step == 0
    run.trainer.run(run.chunks, lambda _: None)
    again = open_tiny("guard", tmp_path)
    assert again.trainer.place.step == 2
    np.testing.assert_array_equal(again.start.vectors, run.start.vectors)


def test_the_reranker_begins_as_the_embedder_ended(open_tiny: OpenEncoder, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="train embedding in"):
        open_tiny("reranker", tmp_path)
    old = open_tiny("embedding", tmp_path)
    run = open_tiny("reranker", tmp_path)
    networks: list[Any] = [each.trainer.network() for each in (run, old)]
    new, other = (network.backbone for network in networks)
    table, before = (np.asarray(each.embeddings.tok_embeddings.weight[...]) for each in (new, other))
    np.testing.assert_array_equal(table, before[run.start.pieces.rows])
    np.testing.assert_array_equal(new.layers[1].mlp.Wi.weight[...], other.layers[1].mlp.Wi.weight[...])


def test_labels_and_contracts_are_those_of_the_released_models(open_tiny: OpenEncoder, tmp_path: Path) -> None:
    labels = {"domain": configs.DOMAIN, "guard": configs.GUARD, "pii": configs.PII}
    for name, wanted in labels.items():
        assert ENCODERS[name].members()["label2id"] == {label: index for index, label in enumerate(wanted)}
    assert (embedding.CONTRACT, reranking.CONTRACT) == (configs.EMBEDDER_CONTRACT, configs.RERANKER_CONTRACT)
    assert EMBEDDER_EXITS[-1] > 1
    config = json.loads((write(open_tiny("pii", tmp_path), tmp_path / "package") / "config.json").read_text())
    assert (config["vocab_size"], config["hidden_size"]) == (SIZE.pieces, SIZE.hidden)
    assert (config["pad_token_id"], config["cls_token_id"], config["sep_token_id"]) == (0, 2, 3)


def test_a_folder_in_use_and_an_unknown_dtype_are_refused(open_tiny: OpenEncoder, tmp_path: Path) -> None:
    run = open_tiny("guard", tmp_path)
    with pytest.raises(ValueError, match="not empty"):
        write(run, tmp_path)
    with pytest.raises(ValueError, match="choose one of BF16"):
        write(run, tmp_path / "x", "I8")
