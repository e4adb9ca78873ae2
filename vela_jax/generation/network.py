"""The compiled steps of one generator: a page of one prompt, a token of some rows, and what is read of logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import lax
from numpy.typing import NDArray

from vela_jax.backbones.decoder import Caches, DecoderConfig
from vela_jax.forward.compilation_cache import seal_compiled
from vela_jax.forward.faults import translated
from vela_jax.generation.sampling import Draw, sample
from vela_jax.generation.spec import EngineOptions
from vela_jax.layers.compiler import compiler_options
from vela_jax.layers.paged_attention import PAGE, empty_pages
from vela_jax.layers.rotary import RopeTable, rope_table

PAGE_BUCKETS: Final = (16, PAGE)
"""Tokens of a page that are computed; those behind the prompt's end are padding."""
ROW_BUCKETS: Final = (2, 8, 16)
"""Rows of a step of decoding: never one, whose products would be summed in another order."""
PROMPT_BLOCK: Final = 16
"""Tokens of a prompt whose log-probabilities are computed at once."""

Ids = NDArray[np.int32]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Prefilled:
    """What a page of a prompt gives: its hidden states [T D], the most probable token and the logits [V] behind it."""

    hidden: jax.Array
    best: int
    logits: jax.Array


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a step gives: the most probable token of each row [B], -1 for a broken one, and the logits [V] of each."""

    best: NDArray[np.int32]
    logits: tuple[jax.Array, ...]


def page_count(config: DecoderConfig, options: EngineOptions, max_length: int) -> int:
    """Pages within the memory that is meant for them, as many as all seats can fill, and page 0.

    One sequence of full length fits in any case.
    """
    longest = -(-max_length // PAGE)
    budget = int(options.kv_cache_gib * 2**30) // config.page_bytes
    return max(longest, min(budget, options.max_num_seqs * longest)) + 1


class GeneratorNetwork:
    """A decoder on one device with its cache of `pages` pages; page 0 takes what empty rows write.

    Everything is compiled by `warm`, nothing later. Belongs to one thread at a time.
    """

    def __init__(
        self, graphdef: Any, params: Any, config: DecoderConfig, device: jax.Device, *, max_length: int, pages: int
    ) -> None:
        self.config = config
        self.max_length = max_length
        self.pages = pages
        self.table_width = -(-max_length // PAGE)
        self.compiles = 0
        self._graphdef = graphdef
        self._device = device
        self._params = jax.device_put(params, device)
        table = rope_table(config.rope, max_length, config.head_dim)
        self._rope: RopeTable = jax.device_put(table, device)
        self._caches = self._empty_caches()
        self._steps: dict[tuple[str, int], jax.stages.Compiled] = {}

    @property
    def memory_bytes(self) -> int:
        """Bytes of the weights and of the cache."""
        return sum(leaf.nbytes for leaf in jax.tree.leaves((self._params, self._caches)))

    def warm(self, progress: Progress) -> None:
        """Compile every step."""
        vocabulary = self.config.vocab_size
        logits = self._spec((vocabulary,), jnp.float32)
        hidden = self._spec((PAGE, self.config.hidden_size), jnp.float32)
        work: list[Callable[[], None]] = [
            *(partial(self._compile_prefill, width) for width in PAGE_BUCKETS),
            *(partial(self._compile_decode, rows) for rows in ROW_BUCKETS),
            partial(self._compile, ("sample", 0), sample, (logits, *Draw.specs(vocabulary, self._spec)), ()),
            partial(self._compile, ("logprobs", 0), jax.nn.log_softmax, (logits,), ()),
            *(partial(self._compile_prompt, width, hidden) for width in PAGE_BUCKETS),
        ]
        for done, compile_one in enumerate(work, 1):
            compile_one()
            progress(done, len(work))

    def prefill(self, ids: Sequence[int], start: int, table: Ids) -> Prefilled:
        """Run up to a page of a prompt from `start` on, a multiple of PAGE; `table` [P] lists the row's pages."""
        width = next(bucket for bucket in PAGE_BUCKETS if bucket >= len(ids))
        padded = np.zeros(width, np.int32)
        padded[: len(ids)] = ids
        span = np.array((start, len(ids)), np.int32)
        with translated():
            hidden, best, logits, self._caches = self._call(("prefill", width), padded, span, table)
            return Prefilled(hidden, int(best), logits)

    def decode(self, ids: Ids, places: Ids, tables: Ids) -> Decoded:
        """Run one token a row; their number is one of ROW_BUCKETS, and an empty row has zeros everywhere."""
        with translated():
            best, logits, self._caches = self._call(("decode", len(ids)), ids, places, tables)
            return Decoded(np.asarray(best), logits)

    def sample(self, logits: jax.Array, draw: Draw) -> tuple[int, jax.Array]:
        """Draw the next token from logits [V]; gives the counts of generated tokens with it."""
        with translated():
            token, counts = self._steps["sample", 0](logits, *self._put(draw.arguments()))
            return int(token), counts

    def logprobs(self, logits: jax.Array) -> NDArray[np.float32]:
        """Log-probabilities [V] of raw logits."""
        with translated():
            return np.asarray(self._steps["logprobs", 0](logits))

    def prompt_logprobs(self, hidden: jax.Array, first: int) -> NDArray[np.float32]:
        """Log-probabilities [PROMPT_BLOCK V] behind the tokens of a page from `first` on."""
        with translated():
            run = self._steps["prompt", hidden.shape[0]]
            return np.asarray(run(self._params, hidden, *self._put((np.int32(first),))))

    def clear(self) -> None:
        """Empty the cache."""
        self._caches = self._empty_caches()

    def _call(self, key: tuple[str, int], *inputs: Ids) -> Any:
        return self._steps[key](self._params, self._caches, self._rope, *self._put(inputs))

    def _put(self, values: Any) -> Any:
        return jax.device_put(values, self._device)

    def _empty_caches(self) -> Caches:
        config = self.config
        return [
            jax.device_put(empty_pages(self.pages, config.num_key_value_heads, config.head_dim), self._device)
            for _ in range(config.num_hidden_layers)
        ]

    def _spec(self, shape: tuple[int, ...], dtype: Any = jnp.int32) -> jax.ShapeDtypeStruct:
        sharding = jax.sharding.SingleDeviceSharding(self._device)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)

    def _compile_prefill(self, width: int) -> None:
        specs = (self._spec((width,)), self._spec((2,)), self._spec((self.table_width,)))
        self._compile_step("prefill", width, specs)

    def _compile_decode(self, rows: int) -> None:
        specs = (self._spec((rows,)), self._spec((rows,)), self._spec((rows, self.table_width)))
        self._compile_step("decode", rows, specs)

    def _compile_step(self, name: str, size: int, specs: tuple[Any, ...]) -> None:
        def run(params: Any, caches: Caches, rope: RopeTable, *inputs: jax.Array) -> Any:
            return getattr(nnx.merge(self._graphdef, params), name)(caches, rope, *inputs)

        self._compile((name, size), run, (self._params, self._caches, self._rope, *specs), (1,))

    def _compile_prompt(self, width: int, hidden: jax.ShapeDtypeStruct) -> None:
        def run(params: Any, hidden: jax.Array, first: jax.Array) -> jax.Array:
            some = lax.dynamic_slice_in_dim(hidden, first, PROMPT_BLOCK, axis=0)
            return jax.nn.log_softmax(nnx.merge(self._graphdef, params).logits(some[None]), axis=-1)

        shape = self._spec((width, hidden.shape[1]), jnp.float32)
        self._compile(("prompt", width), run, (self._params, shape, self._spec(())), ())

    def _compile(
        self, key: tuple[str, int], run: Callable[..., Any], specs: tuple[Any, ...], donated: tuple[int, ...]
    ) -> None:
        self.compiles += 1
        lowered = jax.jit(run, donate_argnums=donated).lower(*specs)
        self._steps[key] = lowered.compile(compiler_options(self._device.platform))
        seal_compiled()
