"""This project's engine and the peers give the same vectors for the same weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench.peers.ours import EngineRunner
from bench.peers.package import write_encoder
from bench.peers.runner import Runner
from checkpoints.fixtures import write_fixture
from tests.bench.peers.test_package import SIZES

MAX_LENGTH = 64
TOLERANCE = 1e-5


@pytest.fixture(scope="module", params=["modernbert", "bert"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("encoders")
    if request.param == "bert":
        return write_fixture(root / "bert", "sentence_bert")
    return write_encoder(root / "modernbert", SIZES)


@pytest.fixture(scope="module")
def ours(folder: Path) -> Iterator[EngineRunner]:
    runner = EngineRunner(folder, MAX_LENGTH)
    yield runner
    runner.close()


def ids_of(length: int) -> np.ndarray:
    return np.random.default_rng(length).integers(5, 60, length, dtype=np.int32)


def check(peer: Runner, ours: Runner) -> None:
    assert peer.name != ours.name
    for length in (1, 7, 50):  # within the window, and beyond it
        ids = ids_of(length)
        for runner in (peer, ours):
            runner.prepare(length)
        vector = peer(ids)
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, ours(ids), atol=TOLERANCE, rtol=0)


def test_pytorch_agrees(folder: Path, ours: EngineRunner) -> None:
    pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from bench.peers.pytorch import PyTorchRunner

    threads = torch.get_num_threads()
    try:
        check(PyTorchRunner(folder, 1), ours)
    finally:
        torch.set_num_threads(threads)


def test_onnx_runtime_agrees(folder: Path, ours: EngineRunner, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from bench.peers.onnx_runtime import OnnxRunner

    check(OnnxRunner(folder, tmp_path, MAX_LENGTH, 1), ours)
