"""Greedy tokens and log-probabilities against the reference implementation, on random packages in FP32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch
import transformers

from checkpoints.fixtures import GENERATORS, write_fixture
from checkpoints.package import load, resolve, verify
from tests.generation.networks import Sink, run
from vela_jax.backbones.decoder import DecoderConfig
from vela_jax.generation.engine import TokenEngine
from vela_jax.generation.network import GeneratorNetwork
from vela_jax.generation.sequence import Choice, Generated
from vela_jax.generation.stopping import StopRules

NEW_TOKENS = 64
LENGTHS = (1, 2, 7, 16, 33, 64, 65, 128, 200, 333, 512, 600)
MARGIN = 1e-3
TOLERANCE = 2e-4


@pytest.fixture(scope="module", params=GENERATORS)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    variant: str = request.param
    return write_fixture(tmp_path_factory.mktemp("generators") / variant, variant, seed=2)


@pytest.mark.slow
def test_greedy_generation_equals_the_reference(package: Path) -> None:
    loaded = load(verify(resolve(str(package))))
    assert isinstance(loaded.backbone, DecoderConfig)
    size = loaded.backbone.vocab_size
    network = GeneratorNetwork(
        loaded.graphdef, loaded.params, loaded.backbone, jax.devices()[0], max_length=1024, pages=64
    )
    engine = TokenEngine(network, max_num_seqs=16)
    engine.warm(lambda *_: None)
    source = np.random.default_rng(7)
    prompts = [tuple(int(each) for each in source.integers(5, size, length)) for length in LENGTHS]
    sinks = [Sink() for _ in prompts]
    rules = StopRules(frozenset(), NEW_TOKENS, 0, 1024)
    choice = Choice(vocabulary=size, logprobs=2)
    run(
        engine,
        *(
            Generated(ids, choice, rules, sink, order=(0, n))
            for n, (ids, sink) in enumerate(zip(prompts, sinks, strict=True))
        ),
    )
    reference: Any = transformers.AutoModelForCausalLM.from_pretrained(package, dtype=torch.float32)
    reference.eval()
    for ids, sink in zip(prompts, sinks, strict=True):
        _compare(reference, ids, sink)


def _compare(reference: Any, prompt: tuple[int, ...], sink: Sink) -> None:
    """Score our tokens in one pass of the reference: each must be its best where the best is clear."""
    tokens = [token for delta in sink.deltas for token in delta.token_ids]
    assert len(tokens) == NEW_TOKENS
    with torch.no_grad():
        logits = reference(torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 : -1]
    scores = torch.log_softmax(logits, -1)
    best = scores.topk(2)
    clear = (best.values[:, 0] - best.values[:, 1]) >= MARGIN
    assert best.indices[:, 0][clear].tolist() == torch.tensor(tokens)[clear].tolist()
    ours = [found[0].logprob for delta in sink.deltas for found in delta.logprobs]
    np.testing.assert_allclose(ours, scores[range(NEW_TOKENS), tokens].numpy(), atol=TOLERANCE)
