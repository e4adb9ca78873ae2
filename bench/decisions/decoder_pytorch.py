"""The same decoder in PyTorch: Qwen3.5 of Transformers under a candidate head, FP32, one plain forward a question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import torch
import transformers
from safetensors import safe_open
from torch.nn import functional

from bench.decisions.request import Request
from bench.peers.runner import Vector
from vela_jax.contract import Row
from vela_jax.families.vela2.decoder_network import SET

BACKBONE: Final = "backbone."
HEADS: Final = ("head.", "set_bias")
NORM_EPS: Final = 1e-5


class PyTorchQuestions:
    """Eager inference: every question is read with its state before it (Vela 2.0 format, section 7)."""

    def __init__(self, folder: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        members = json.loads((folder / "config.json").read_text(encoding="utf-8"))["backbone_config"]
        config = transformers.Qwen3_5TextConfig.from_dict(members)
        config._attn_implementation = "sdpa"
        with torch.device("meta"):
            model = transformers.Qwen3_5TextModel(config)
        tensors = dict(_tensors(folder, (BACKBONE, *HEADS)))
        held = [name for name in tensors if name.startswith(BACKBONE)]
        model.load_state_dict({name.removeprefix(BACKBONE): tensors.pop(name) for name in held}, assign=True)
        model.rotary_emb = type(model.rotary_emb)(config)  # no weights, so an abstract model has none
        model.train(False)
        self._model = model
        self._head = tensors
        self._turn = 0

    @property
    def name(self) -> str:
        """The peer."""
        return "PyTorch"

    def prepare(self, length: int) -> None:
        """Begin with the first state. Nothing is compiled."""
        del length
        self._turn = 0

    def __call__(self, request: Request) -> Vector:
        """What the questions' readouts give for their tokens, one after another."""
        rows = request.turns[self._turn % len(request.turns)]
        self._turn += 1
        with torch.inference_mode():
            found: Vector = torch.cat([self._read(row) for row in rows]).numpy()
        return found

    def close(self) -> None:
        """Let go of the weights."""
        del self._model, self._head

    def _read(self, row: Row) -> torch.Tensor:
        assert row.prefix is not None
        ids = torch.from_numpy(np.concatenate([row.prefix.ids, row.ids]).astype(np.int64))
        hidden: torch.Tensor = self._model(input_ids=ids[None], use_cache=False).last_hidden_state[
            0, row.prefix.length :
        ]
        logits = self._options(hidden)
        if row.readout.name == SET:
            logits = logits + self._head["set_bias"]
        return logits

    def _options(self, hidden: torch.Tensor) -> torch.Tensor:
        """The logit of every token as the end of an option of the question that ends the row (section 7.7)."""
        head = self._head
        candidates, query = self._norm("candidate_norm", hidden), self._norm("query_norm", hidden[-1:])
        keys, sought = candidates @ head["head.key.weight"].T, query @ head["head.query.weight"].T
        judged = functional.linear(candidates, head["head.candidate_mlp.weight"], head["head.candidate_mlp.bias"])
        judged = functional.gelu(judged + query @ head["head.query_mlp.weight"].T)
        likeness = (keys * sought).sum(dim=-1) * keys.shape[-1] ** -0.5
        logits: torch.Tensor = likeness + (judged @ head["head.scalar.weight"].T)[:, 0]
        return logits

    def _norm(self, name: str, vectors: torch.Tensor) -> torch.Tensor:
        weight, bias = (self._head[f"head.{name}.{kind}"] for kind in ("weight", "bias"))
        return functional.layer_norm(vectors, vectors.shape[-1:], weight, bias, NORM_EPS)


def _tensors(folder: Path, prefixes: tuple[str, ...]) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors of a package's shards whose names begin so, in FP32."""
    for path in sorted(folder.glob("model-*-of-*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118
                if name.startswith(prefixes):
                    yield name, file.get_tensor(name).to(torch.float32, copy=True)
