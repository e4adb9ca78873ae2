"""Packages that these tests write: tiny ones with a small limit, and ones whose network reads each token by itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from checkpoints.fixtures import write_fixture

HANDED: Final = Path(__file__).parents[1] / "data" / "vela1" / "packages"
# The file and member that bound an input's tokens, where it is not the backbone's positions.
_LIMITS: Final = {
    "grounded": ("operating_point.json", "max_input_tokens"),
    "sentence_bert": ("sentence_bert_config.json", "max_seq_length"),
}
_SPACES: Final = "Ġ▁"
MARK: Final = "@"


def write_small(directory: Path, variant: str, limit: int, seed: int = 3) -> Path:
    """Write the tiny package of `variant` with inputs of at most `limit` tokens."""
    root = write_fixture(directory, variant, seed)
    name, member = _LIMITS.get(variant, ("config.json", "max_position_embeddings"))
    edit(root / name, {member: limit})
    return root


def edit(path: Path, members: Mapping[str, Any]) -> None:
    """Change members of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **members}), encoding="utf-8")


def write_span_finder(directory: Path, source: Path, **config: Any) -> Path:
    """Copy a `token` package and make it find e-mail addresses: a mark `@` and the digits and dashes behind it.

    A token of digits that has a space before it begins an entity of its own.
    """
    labels = json.loads((source / "config.json").read_text(encoding="utf-8"))["label2id"]

    def judge(token: str) -> int:
        plain = token.lstrip(_SPACES)
        is_inside = plain != "" and all(character in "0123456789-" for character in plain)
        if plain == MARK or (is_inside and plain != token):
            return int(labels["B-EMAIL_ADDRESS"])
        return int(labels["I-EMAIL_ADDRESS" if is_inside else "O"])

    root = _write_judge(directory, source, judge, {})
    edit(root / "config.json", config)
    return root


def write_alarm(directory: Path, source: Path) -> Path:
    """Copy a `safety` package and make it call a text unsafe when a fifth of its tokens are marks `@`."""
    return _write_judge(directory, source, lambda token: int(token.lstrip(_SPACES) == MARK), {1: 20.0})


def _write_judge(directory: Path, source: Path, judge: Callable[[str], int], gains: Mapping[int, float]) -> Path:
    """Give the network one layer and weights with which every token is read by itself, as `judge` says of its text."""
    shutil.copytree(source, directory)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    one = {"layer_types": config["layer_types"][:1]} if config.get("layer_types") else {}
    edit(directory / "config.json", {"num_hidden_layers": 1, **one})
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    channels = {number: judge(token) for token, number in {**tokenizer["model"]["vocab"], **added}.items()}
    weights = {
        name: _judging(name, tensor, channels, gains).astype(tensor.dtype)
        for name, tensor in load_file(source / "model.safetensors").items()
        if ".layers." not in name or ".layers.0." in name
    }
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    return directory


def _judging(name: str, tensor: NDArray[Any], channels: Mapping[int, int], gains: Mapping[int, float]) -> NDArray[Any]:
    if name.endswith("norm.weight"):
        return np.ones_like(tensor)
    if name.endswith("tok_embeddings.weight"):
        return np.eye(*tensor.shape)[[channels.get(number, 0) for number in range(len(tensor))]]
    if name.endswith("dense.weight"):
        return np.diag([gains.get(channel, 1.0) for channel in range(len(tensor))])
    if name.endswith("classifier.weight"):
        return 4.0 * np.eye(*tensor.shape)
    return np.zeros_like(tensor)  # nothing passes between tokens
