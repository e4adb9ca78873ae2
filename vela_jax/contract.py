"""The few types that the rooms agree on: rows, readouts, batches, plans, results, item errors, refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray


class Surface(StrEnum):
    """What an endpoint answers."""

    DECISIONS = "decisions"
    CLASSIFY = "classify"
    EMBEDDINGS = "embeddings"
    RERANK = "rerank"


class ItemError(StrEnum):
    """Why one item of a request has no answer; its neighbours are answered."""

    INVALID_QUESTION = "invalid_question"
    INVALID_INPUT = "invalid_input"
    MAX_LENGTH_EXCEEDED = "max_length_exceeded"
    SCAN_BUDGET_EXCEEDED = "scan_budget_exceeded"
    INVALID_MODEL_OUTPUT = "invalid_model_output"
    DEADLINE_EXCEEDED = "deadline_exceeded"


class InvalidRequest(Exception):
    """The request as a whole is malformed; the message names the field, what came and what is allowed.

    `reason` is a finer reason and `limit` the bound that was exceeded, where the HTTP contract names one.
    """

    def __init__(self, message: str, *, reason: str | None = None, limit: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.limit = limit


class InputRefused(InvalidRequest):
    """The images, videos, assets or token count of one state are refused; in a batch its questions fail alone."""


class UnsupportedSurface(Exception):
    """The model does not serve what the request asks for."""


class OutOfMemory(Exception):
    """A forward needed more memory than the device has; the model goes on serving."""


class DeviceFault(Exception):
    """The device cannot be trusted any more; the process should be started anew."""


@dataclass(frozen=True, slots=True)
class Readout:
    """What is wanted of a row: the network's output `name`, found after `depth` layers.

    `per_token` readouts have a leading token axis and come back cut to the row's length.
    """

    name: str
    depth: int
    per_token: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """Tokens that rows continue, each by itself. They are read once for all rows of a plan that have equal ones."""

    ids: NDArray[np.int32]  # [S]
    key: bytes = field(init=False)  # equal for equal ids

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", hashlib.sha256(self.ids.tobytes()).digest())

    @property
    def length(self) -> int:
        """Tokens of the prefix."""
        return int(self.ids.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One tokenized input of the model, special tokens included, and the readout wanted of it.

    `marks` tell a network that asks for them (`Network.marks`) what stands where in the row. A row of a network that
    reads prefixes (`Network.read_prefix`) has one; ids, marks and readouts are then of what follows it.
    """

    ids: NDArray[np.int32]  # [S]
    readout: Readout
    marks: NDArray[np.int32] | None = None  # [K S]
    prefix: Prefix | None = None

    @property
    def length(self) -> int:
        """Tokens of the row, those of its prefix not among them."""
        return int(self.ids.shape[0])

    def input_bytes(self) -> bytes:
        """Equal for rows of one model that have equal prefixes, ids and marks."""
        before = b"" if self.prefix is None else self.prefix.key
        marks = b"" if self.marks is None else self.marks.tobytes()
        return before + self.ids.tobytes() + marks

    def content_key(self) -> bytes:
        """Equal for rows that have equal prefixes, ids, marks and readouts: 32 bytes."""
        label = f"{self.readout.name}\0{self.readout.depth}\0".encode()
        return hashlib.sha256(label + self.input_bytes()).digest()


def tokens_of(rows: Iterable[Row]) -> int:
    """Tokens that are read for rows, equal prefixes once."""
    rows = list(rows)
    prefixes = {row.prefix.key: row.prefix.length for row in rows if row.prefix is not None}
    return sum(row.length for row in rows) + sum(prefixes.values())


class Missing(Enum):
    """Stands where a row has no output."""

    EXPIRED = "the deadline passed before the row ran"


EXPIRED: Final = Missing.EXPIRED
Result = NDArray[np.float32] | Missing


@dataclass(frozen=True, slots=True)
class Answer:
    """A surface's answer: its body without `model`, and the family's own part of `meta`."""

    body: dict[str, Any]
    meta: dict[str, Any] = field(default_factory=dict)
    input_tokens: int = 0
    question_outcomes: tuple[tuple[str, str], ...] = ()  # (type, "answered" or item error), decisions only


class Plan(Protocol):
    """A validated and tokenized request: rows to run, and how their results become an answer."""

    @property
    def rows(self) -> Sequence[Row]:
        """Rows to run; may be empty when every item failed while planning."""

    def assemble(self, results: Sequence[Result]) -> Answer:
        """Make the answer from one result a row, in order. Never mutates a result."""


class Model(Protocol):
    """What a family gives the server: plans for the surfaces that the model serves."""

    def plan(self, surface: Surface, request: Any) -> Plan:
        """Validate, render and tokenize. Raises InvalidRequest or UnsupportedSurface."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that run in one forward of `count` x `length` positions through `depth` layers.

    `indices[i]` is the submitted row that reads slot `slots[i]`; equal rows share a slot. All continue one prefix or
    none; the batch that is to read it counts its positions too.
    """

    indices: tuple[int, ...]
    slots: tuple[int, ...]
    count: int
    length: int
    depth: int
    prefix: int = 0  # positions of the prefix, where it is read first

    @property
    def positions(self) -> int:
        """Positions that the forward computes."""
        return self.prefix + self.count * self.length


class Engine(Protocol):
    """Given rows, gives readouts. `batches` and `run` belong to one worker thread; knows nothing of requests."""

    def prepare(self, rows: Sequence[Row]) -> list[Future[None]]:
        """What must be waited for before rows can be placed; mostly nothing. May be called from any thread."""

    def batches(self, rows: Sequence[Row]) -> list[Batch]:
        """Place every row in exactly one batch."""

    def run(self, rows: Sequence[Row], batch: Batch) -> list[NDArray[np.float32]]:
        """Run one batch; the outputs are aligned with `batch.indices`. Raises OutOfMemory, DeviceFault."""
