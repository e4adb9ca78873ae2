"""The teacher: the embedded sentence encoder, whose vectors of texts are kept on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from bench.mini.training.shapes import batches, padded
from bench.mini.vocabulary import BEGIN, END
from checkpoints.package import LoadedPackage, load, resolve, verify
from checkpoints.tables.embedded import MINILM
from vela_jax.layers.attention import real_tokens

Vectors = NDArray[np.float32]
_KEY_BYTES: Final = 16
_MOST_TOKENS: Final = 126
_PIECES_AT_ONCE: Final = 500
_KEPT_AT_ONCE: Final = 2048  # texts, so that a run that ends early has not worked in vain


class Teacher:
    """Gives sentence vectors [N D] of length 1. `home` keeps them between runs.

    `tokenizer_file` is the content of its package's `tokenizer.json`.
    """

    def __init__(self, home: Path, loaded: LoadedPackage | None = None) -> None:
        self._loaded = loaded or load_teacher()
        self.width = self._loaded.backbone.hidden_size
        self.tokenizer_file = (self._loaded.provenance.path / "tokenizer.json").read_text(encoding="utf-8")
        vocabulary = json.loads(self.tokenizer_file)["model"]["vocab"]
        self._begin, self._end = vocabulary[BEGIN], vocabulary[END]
        self._cache = _Cache(home, self.width)
        self._forward = jax.jit(_forward, static_argnums=0)

    @property
    def backbone(self) -> Any:
        """Its network."""
        return nnx.merge(self._loaded.graphdef, self._loaded.params).backbone

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One vector a text; those not kept yet are computed and kept."""
        missing = [text for text in dict.fromkeys(map(str.lower, texts)) if text not in self._cache]
        for start in range(0, len(missing), _KEPT_AT_ONCE):
            part = missing[start : start + _KEPT_AT_ONCE]
            self._cache.add(part, self._compute(part))
        return np.stack([self._cache[text] for text in texts])

    def piece_vectors(self, pieces: Sequence[int]) -> Vectors:
        """One vector a piece of its vocabulary, read as a text of its own. They are not kept."""
        rows = np.array([[self._begin, piece, self._end] for piece in pieces], np.int32)
        found = []
        for start in range(0, len(rows), _PIECES_AT_ONCE):
            part = rows[start : start + _PIECES_AT_ONCE]
            lengths = np.full(len(part), part.shape[1], np.int32)
            found.append(np.asarray(self._forward(self._loaded.graphdef, self._loaded.params, part, lengths)))
        return np.concatenate(found)

    def _compute(self, texts: Sequence[str]) -> Vectors:
        ids = [self._ids(text) for text in texts]
        found = np.zeros((len(texts), self.width), np.float32)
        for batch in batches([len(each) for each in ids]):
            rows, lengths = padded([ids[index] for index in batch.indices], batch)
            out = self._forward(self._loaded.graphdef, self._loaded.params, rows, lengths)
            found[list(batch.indices)] = np.asarray(out)[: len(batch.indices)]
        return found

    def _ids(self, text: str) -> NDArray[np.int32]:
        content = self._loaded.tokenizer.encode_ids(text)[:_MOST_TOKENS]
        return np.concatenate([[self._begin], content, [self._end]]).astype(np.int32)


def load_teacher() -> LoadedPackage:
    """The embedded model. Raises PackageError with the command to run where it is not installed."""
    return load(verify(resolve(MINILM.name)))


def _forward(graphdef: Any, params: Any, ids: jax.Array, lengths: jax.Array) -> jax.Array:
    backbone = nnx.merge(graphdef, params).backbone
    depth = backbone.config.num_hidden_layers
    hidden = backbone(ids, lengths, (depth,))[depth]
    real = real_tokens(lengths, ids.shape[1])[:, :, None]
    mean = jnp.sum(jnp.where(real, hidden, 0.0), axis=1) / jnp.maximum(lengths, 1).astype(jnp.float32)[:, None]
    return mean / jnp.maximum(jnp.sqrt(jnp.sum(jnp.square(mean), axis=-1, keepdims=True)), 1e-12)


class _Cache:
    """Vectors in half precision by text, in two files that only grow."""

    def __init__(self, home: Path, width: int) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._keys, self._values = home / "texts.keys", home / f"vectors-{width}.f16"
        self._width = width
        keys = self._keys.read_bytes() if self._keys.is_file() else b""
        values = np.fromfile(self._values, np.float16) if self._values.is_file() else np.zeros(0, np.float16)
        count = min(len(keys) // _KEY_BYTES, len(values) // width)  # a run may have ended between the two
        self._found = {
            keys[_KEY_BYTES * place : _KEY_BYTES * (place + 1)]: values[width * place : width * (place + 1)]
            for place in range(count)
        }
        self._truncate(count)

    def __contains__(self, text: str) -> bool:
        return _key(text) in self._found

    def __getitem__(self, text: str) -> Vectors:
        return self._found[_key(text)].astype(np.float32)

    def add(self, texts: Iterable[str], vectors: Vectors) -> None:
        """Keep new texts."""
        narrow = vectors.astype(np.float16)
        keys = [_key(text) for text in texts]
        self._found.update(zip(keys, narrow, strict=True))
        with self._values.open("ab") as values, self._keys.open("ab") as names:
            values.write(narrow.tobytes())
            names.write(b"".join(keys))

    def _truncate(self, count: int) -> None:
        for path, size in ((self._keys, _KEY_BYTES), (self._values, 2 * self._width)):
            if path.is_file():
                with path.open("r+b") as file:
                    file.truncate(count * size)


def _key(text: str) -> bytes:
    # Its tokenizer does not tell capitals from small letters.
    return hashlib.blake2b(text.lower().encode(), digest_size=_KEY_BYTES).digest()
