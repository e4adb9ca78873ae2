"""This project's server and Infinity with one model and the same texts, in turns: requests a second and latency."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from bench.figures import Ratio, in_turns, paired_ratio
from bench.load import Request, Summary, measure, send_all
from bench.process import Server, StartFailed, free_port, serving, started
from bench.warm import wait_until_settled
from bench.workload import Mix, texts_of

OURS: Final = "Vela JAX"
INFINITY: Final = "Infinity"
MODEL: Final = "peer"
OFFLINE: Final = {"HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}
WARM_CALLS: Final = 64
CHECKED_TEXTS: Final = 8
_VERSIONS: Final = """
from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in ("infinity-emb", "torch", "transformers")), sep=", ")
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server under load and where it takes embeddings."""

    name: str
    server: Server
    path: str


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What so many callers got from each server, one summary a round."""

    callers: int
    summaries: dict[str, list[Summary]]

    def rate(self, name: str) -> float:
        """Median requests a second."""
        return median(summary.rate for summary in self.summaries[name])

    def wall(self, name: str, share: float) -> float:
        """Median over the rounds of a percentile of milliseconds a request."""
        return median(summary.percentiles["wall"][share] for summary in self.summaries[name])

    def ratio(self) -> Ratio:
        """Our requests a second over the peer's."""
        ours, theirs = ([summary.rate for summary in self.summaries[name]] for name in (OURS, INFINITY))
        return paired_ratio(ours, theirs)


@contextlib.contextmanager
def both_serving(model: str, python: Path, threads: int, logs: Path) -> Iterator[list[Peer]]:
    """Both servers with the embedder in the folder `model`; result caches off, FP32, the same threads."""
    arguments = [model, "--served-model-name", MODEL, "--result-cache-entries", "0", "--threads", str(threads)]
    with serving(arguments, logs / "vela.log") as ours, _infinity(model, python, threads, logs) as theirs:
        wait_until_settled(ours)
        yield [Peer(OURS, ours, "/v1/embeddings"), Peer(INFINITY, theirs, "/embeddings")]


@contextlib.contextmanager
def _infinity(model: str, python: Path, threads: int, logs: Path) -> Iterator[Server]:
    port = free_port()
    command = [
        *(str(python), str(python.with_name("infinity_emb")), "v2"),
        *("--model-id", model, "--served-model-name", MODEL),
        *("--engine", "torch", "--no-bettertransformer", "--device", "cpu", "--dtype", "float32"),
        *("--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"),
    ]
    environment = {**OFFLINE, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    with started(command, environment, port, logs / "infinity.log") as server:
        yield server


def infinity_versions(python: Path) -> str:
    """What the other environment has. Raises StartFailed when Infinity is not in it."""
    try:
        found = subprocess.run([str(python), "-c", _VERSIONS], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        raise StartFailed(f"{python} cannot be run: {error.strerror}") from error
    if found.returncode:
        raise StartFailed(f"{python} has no Infinity: run `{python} -m pip install 'infinity-emb[server,torch]'`")
    return found.stdout.strip()


def compare(peers: Sequence[Peer], mix: Mix, callers: int, *, calls: int, rounds: int) -> LoadResult:
    """Load the servers in turns with the same new texts in each round."""
    by_name = {peer.name: peer for peer in peers}
    for peer in peers:
        measure(peer.server.url, _requests(peer, mix, WARM_CALLS, seed=callers), callers)
    found: dict[str, list[Summary]] = {name: [] for name in by_name}
    for number in range(rounds):
        for name in in_turns(list(by_name), number):
            sent = _requests(by_name[name], mix, calls, seed=1000 * callers + number)
            found[name].append(measure(by_name[name].server.url, sent, callers))
    return LoadResult(callers, found)


def largest_difference(peers: Sequence[Peer], mix: Mix) -> float:
    """Largest difference between the vectors that the servers give for the same texts."""
    vectors = []
    for peer in peers:
        calls, _ = send_all(peer.server.url, _requests(peer, mix, CHECKED_TEXTS, seed=7), 1, keep=True)
        vectors.append(np.array([json.loads(call.answer)["data"][0]["embedding"] for call in calls]))
    return float(np.abs(vectors[0] - vectors[1]).max())


def _requests(peer: Peer, mix: Mix, count: int, seed: int) -> list[Request]:
    source = texts_of(mix, seed)
    return [(peer.path, json.dumps({"model": MODEL, "input": [next(source)]}).encode()) for _ in range(count)]
