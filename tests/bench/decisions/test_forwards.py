"""Our forward and PyTorch's on the row of a request, with tiny packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.decisions.ours import EngineRunner
from bench.decisions.signals import SIGNALS, States
from checkpoints.fixtures import write_fixture

OPTIONS = 14 + 1 + 2 + 1 + 2 + 1 + 4 + 1 + 3 + 1 + 8  # of choices and nouls one more, to abstain
LABELS = 17


@pytest.mark.parametrize("variant", ["vela2_both", "vela2_cosine"])
def test_both_give_the_same_logits(tmp_path: Path, variant: str) -> None:
    pytest.importorskip("torch")
    from bench.decisions.pytorch import PyTorchRunner

    folder = write_fixture(tmp_path / variant, variant)
    ours, peer = EngineRunner(folder), PyTorchRunner(folder, 1)
    try:
        row = ours.row(next(States(folder).of(20)))
        found, expected = ours(row), peer(row)
    finally:
        ours.close()
        peer.close()
    assert len(SIGNALS) == 7
    assert found.shape == (OPTIONS + row.length * LABELS,)
    assert np.abs(found).max() > 1
    np.testing.assert_allclose(found, expected, atol=5e-4)
