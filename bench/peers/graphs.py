"""Writes the peers' encoders as ONNX graphs: `ids` int64 [1 T] to `pooled` [1 D], for any T.

The graphs use the operators that ONNX Runtime has fast kernels for on CPUs (layer norm, GELU, fused attention), with
kernels transposed beforehand, so that the comparison is with the runtime at its best and not with an exporter.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from vela_jax.backbones.bert import BertConfig
from vela_jax.backbones.modernbert import SLIDING, ModernBertConfig
from vela_jax.layers.rotary import rope_table

OPSET: Final = 20
IR_VERSION: Final = 10
CONTRIB: Final = "com.microsoft"
HIDDEN_SCORE: Final = float(np.finfo(np.float32).min)

Array = NDArray[Any]


class Graph:
    """A graph under construction; `tensors` are the checkpoint's, by name."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self._tensors = tensors
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._numbers = itertools.count()

    def add(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; its output, or the list of its outputs where there are several."""
        names = [f"{kind.lower()}_{next(self._numbers)}" for _ in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Array) -> str:
        """Add a constant."""
        name = f"constant_{next(self._numbers)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def integers(self, *values: int) -> str:
        """Add a constant list of integers."""
        return self.constant(np.array(values, np.int64))

    def tensor(self, name: str) -> str:
        """Add a tensor of the checkpoint."""
        return self.constant(self._tensors[name])

    def linear(self, x: str, name: str, rows: slice | None = None) -> str:
        """x times the transposed kernel `<name>.weight`, plus the bias where there is one."""
        kernel = self._tensors[f"{name}.weight"]
        y: str = self.add("MatMul", x, self.constant((kernel if rows is None else kernel[rows]).T))
        if f"{name}.bias" in self._tensors:
            y = self.add("Add", y, self.tensor(f"{name}.bias"))
        return y

    def norm(self, x: str, name: str, eps: float) -> str:
        """Layer norm over the last axis."""
        bias = [self.tensor(f"{name}.bias")] if f"{name}.bias" in self._tensors else []
        y: str = self.add("LayerNormalization", x, self.tensor(f"{name}.weight"), *bias, axis=-1, epsilon=eps)
        return y

    def attention(self, q: str, k: str, v: str, heads: int, bias: str = "") -> str:
        """Softmax attention of q, k, v [1 T D] with an optional bias [1 1 T T] on the scores."""
        inputs = (q, k, v, "", "", bias) if bias else (q, k, v)
        y: str = self.add("MultiHeadAttention", *inputs, domain=CONTRIB, num_heads=heads)
        return y

    def write(self, pooled: str, width: int, path: Path) -> Path:
        """Close the graph with the output `pooled` and write it."""
        self._nodes.append(helper.make_node("Identity", [pooled], ["pooled"]))
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [1, width])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), path)
        return path


def write_graph(folder: Path, path: Path, max_length: int) -> Path:
    """Write the encoder of a package folder (ModernBERT without biases, or BERT) with mean pooling."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    graph = Graph(load_file(folder / "model.safetensors"))
    if config["model_type"] == "bert":
        bert = BertConfig.from_package(config)
        return graph.write(_bert(graph, bert), bert.hidden_size, path)
    modernbert = ModernBertConfig.from_package(config)
    return graph.write(_modernbert(graph, modernbert, max_length), modernbert.hidden_size, path)


def _bert(graph: Graph, config: BertConfig) -> str:
    tokens = graph.add("Gather", graph.tensor("embeddings.word_embeddings.weight"), "ids")
    positions = _first(graph, graph.tensor("embeddings.position_embeddings.weight"), _length(graph))
    kind = graph.add("Gather", graph.tensor("embeddings.token_type_embeddings.weight"), graph.integers(0))
    x = graph.add("Add", graph.add("Add", tokens, kind), positions)
    x = graph.norm(x, "embeddings.LayerNorm", config.layer_norm_eps)
    for i in range(config.num_hidden_layers):
        layer = f"encoder.layer.{i}"
        q, k, v = (graph.linear(x, f"{layer}.attention.self.{part}") for part in ("query", "key", "value"))
        mixed = graph.attention(q, k, v, config.num_attention_heads)
        mixed = graph.linear(mixed, f"{layer}.attention.output.dense")
        x = graph.norm(graph.add("Add", x, mixed), f"{layer}.attention.output.LayerNorm", config.layer_norm_eps)
        inner = graph.add("Gelu", graph.linear(x, f"{layer}.intermediate.dense"))
        inner = graph.linear(inner, f"{layer}.output.dense")
        x = graph.norm(graph.add("Add", x, inner), f"{layer}.output.LayerNorm", config.layer_norm_eps)
    return _mean(graph, x)


def _modernbert(graph: Graph, config: ModernBertConfig, max_length: int) -> str:
    hidden, heads, eps = config.hidden_size, config.num_attention_heads, config.norm_eps
    length = _length(graph)
    band = _band(graph, length, config.half_window)
    positions = graph.add("Unsqueeze", _range(graph, length), graph.integers(0))
    tables = {name: _tables(graph, config, name, max_length) for name, _ in config.ropes}
    x = graph.add("Gather", graph.tensor("embeddings.tok_embeddings.weight"), "ids")
    x = graph.norm(x, "embeddings.norm", eps)
    for i, kind in enumerate(config.layer_types):
        layer = f"layers.{i}"
        normed = graph.norm(x, f"{layer}.attn_norm", eps) if i else x
        q, k, v = (
            graph.linear(normed, f"{layer}.attn.Wqkv", slice(part * hidden, (part + 1) * hidden)) for part in range(3)
        )
        q, k = (
            graph.add("RotaryEmbedding", each, positions, *tables[kind], domain=CONTRIB, num_heads=heads)
            for each in (q, k)
        )
        mixed = graph.attention(q, k, v, heads, band if kind == SLIDING else "")
        x = graph.add("Add", x, graph.linear(mixed, f"{layer}.attn.Wo"))
        gate, up = graph.add(
            "Split",
            graph.linear(graph.norm(x, f"{layer}.mlp_norm", eps), f"{layer}.mlp.Wi"),
            outputs=2,
            axis=-1,
            num_outputs=2,
        )
        inner = graph.add("Mul", graph.add("Gelu", gate), up)
        x = graph.add("Add", x, graph.linear(inner, f"{layer}.mlp.Wo"))
    return _mean(graph, graph.norm(x, "final_norm", eps))


def _tables(graph: Graph, config: ModernBertConfig, name: str, max_length: int) -> tuple[str, str]:
    table = rope_table(dict(config.ropes)[name], max_length, config.head_width)
    return graph.constant(np.asarray(table.cos)), graph.constant(np.asarray(table.sin))


def _band(graph: Graph, length: str, half_window: int) -> str:
    """Bias [1 1 T T]: 0 within the window, else the lowest score."""
    places = _range(graph, length)
    rows, columns = (graph.add("Unsqueeze", places, graph.integers(axis)) for axis in (1, 0))
    near = graph.add("LessOrEqual", graph.add("Abs", graph.add("Sub", rows, columns)), graph.integers(half_window))
    zero, hidden = (graph.constant(np.array(value, np.float32)) for value in (0, HIDDEN_SCORE))
    band: str = graph.add("Unsqueeze", graph.add("Where", near, zero, hidden), graph.integers(0, 1))
    return band


def _length(graph: Graph) -> str:
    length: str = graph.add("Squeeze", graph.add("Shape", "ids", start=1, end=2))
    return length


def _range(graph: Graph, length: str) -> str:
    places: str = graph.add(
        "Range", graph.constant(np.array(0, np.int64)), length, graph.constant(np.array(1, np.int64))
    )
    return places


def _first(graph: Graph, table: str, length: str) -> str:
    """The first rows of a table."""
    end = graph.add("Unsqueeze", length, graph.integers(0))
    rows: str = graph.add("Slice", table, graph.integers(0), end, graph.integers(0))
    return rows


def _mean(graph: Graph, x: str) -> str:
    pooled: str = graph.add("ReduceMean", x, graph.integers(1), keepdims=0)
    return pooled
