"""The same model in PyTorch: ModernBERT of Transformers under a marker head (Vela 2.0 format, section 6), FP32."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np
import torch
import transformers
from safetensors.torch import load_file
from torch.nn import functional

from bench.peers.runner import Vector
from vela_jax.contract import Row
from vela_jax.heads.markers import POOLS

ENCODER: Final = "encoder."
NORM_EPS: Final = 1e-5


class PyTorchRunner:
    """Eager inference with scaled dot-product attention; the head is read only where a row asks for it."""

    def __init__(self, folder: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        members = json.loads((folder / "config.json").read_text(encoding="utf-8"))["encoder_config"]
        config = transformers.ModernBertConfig.from_dict(members)
        config._attn_implementation = "sdpa"
        with torch.device("meta"):
            model = transformers.ModernBertModel(config)
        tensors = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}
        encoder = {name.removeprefix(ENCODER): tensors.pop(name) for name in list(tensors) if name.startswith(ENCODER)}
        model.load_state_dict(encoder, assign=True)
        self._model = _with_tables(model, config).eval()
        self._head = tensors

    @property
    def name(self) -> str:
        """The peer."""
        return "PyTorch"

    def prepare(self, length: int) -> None:
        """Nothing is compiled."""

    def __call__(self, row: Row) -> Vector:
        """The logits of the options, then those of every token against the labels, flat."""
        assert row.marks is not None
        segment, pool, query, labels = (torch.from_numpy(each.astype(np.int64)) for each in row.marks)
        with torch.inference_mode():
            ids = torch.from_numpy(row.ids.astype(np.int64))
            hidden = self._model(input_ids=ids[None]).last_hidden_state[0]
            normed = self._norm(hidden)
            places = torch.nonzero(query)[:, 0]
            options = self._options(hidden, normed, segment, places, query[places], pool[places])
            words = _unit(self._linear("w_t", normed))
            names = _unit(self._linear("w_e", normed[labels[labels > 0]]))
            spans = words @ names.T / self._head["log_tau_span"].exp()
            vector: Vector = torch.cat([options, spans.flatten()]).numpy()
        return vector

    def close(self) -> None:
        """Let go of the weights."""
        del self._model, self._head

    def _options(
        self,
        hidden: torch.Tensor,
        normed: torch.Tensor,
        segment: torch.Tensor,
        places: torch.Tensor,
        queries: torch.Tensor,
        pools: torch.Tensor,
    ) -> torch.Tensor:
        """Cosine of each option with the mean of the parts it reads, plus its own network where there is one."""
        options = _unit(self._linear("w_o", normed[places]) + self._linear("w_q", normed[queries]))
        used, which = torch.unique(pools, return_inverse=True)
        means = [hidden[_within(segment, *POOLS[int(each)])].mean(dim=0) for each in used]
        pooled = _unit(self._linear("w_p", self._norm(torch.stack(means))))
        logits = (options * pooled[which]).sum(dim=-1) / self._head["log_tau"].exp()
        if "cls_mlp.0.weight" in self._head:
            inner = torch.relu(self._linear("cls_mlp.0", hidden[places]))
            logits = logits + self._linear("cls_mlp.3", inner)[:, 0]
        return logits

    def _norm(self, vectors: torch.Tensor) -> torch.Tensor:
        head = self._head
        return functional.layer_norm(vectors, vectors.shape[-1:], head["norm.weight"], head["norm.bias"], NORM_EPS)

    def _linear(self, name: str, vectors: torch.Tensor) -> torch.Tensor:
        return functional.linear(vectors, self._head[f"{name}.weight"], self._head[f"{name}.bias"])


def _with_tables(model: torch.nn.Module, config: transformers.ModernBertConfig) -> torch.nn.Module:
    """Make the rotary tables anew: they are no weights, so an abstract model has none."""
    kind = type(model.rotary_emb)
    model.rotary_emb = kind(config)
    return model


def _within(segment: torch.Tensor, first: int, last: int) -> torch.Tensor:
    return (segment >= first) & (segment <= last)


def _unit(vectors: torch.Tensor) -> torch.Tensor:
    return functional.normalize(vectors, dim=-1)
