"""How the time of a decoder's request grows with its questions, beside one plain forward a question in PyTorch."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bench.command import Workplace
from bench.decisions.memory import added, most_taken
from bench.peers.command import CLOCKS, is_installed
from bench.peers.forward import LengthResult, compare_on
from bench.report import Cell, Chart, Table

VARIANT: Final = "vela2_decoder_0.8b"
COUNTS: Final = (1, 2, 4, 8)
STATES: Final = (512,)
TOLERANCE: Final = 2e-2
"""Of logits of a random network of 24 layers, which makes more of the last bits than a trained one."""
OURS: Final = "Vela JAX"
PEER: Final = "PyTorch"

Place = tuple[int, int]
"""Tokens of a state, and questions about it."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What was measured by state and questions; MiB of each engine: its weights, and the most of a call."""

    results: Mapping[Place, LengthResult]
    memory: Mapping[str, tuple[float, float]]

    def table(self) -> Table:
        """Times, ratios and growth."""
        columns = ["state", "questions", "tokens", "rounds", f"{OURS}, ms", f"{OURS}, one question = 1"]
        columns += [f"{PEER}, ms", f"{PEER}, one question = 1", f"{PEER} / ours", "quartiles", "difference"]
        table = Table("One request of several questions, and one plain forward a question", columns)
        for (state, questions), result in self.results.items():
            row: list[Cell] = [state, questions, result.length, len(result.milliseconds[OURS])]
            row += [result.median(OURS), self._grown(OURS, state, questions)]
            if PEER in result.milliseconds:
                ratio = result.ratio(PEER, OURS)
                row += [result.median(PEER), self._grown(PEER, state, questions), ratio.median]
                row += [f"{ratio.low:.2f} to {ratio.high:.2f}", result.differences[PEER]]
            table.rows.append([*row, *[None] * (len(columns) - len(row))])
        return table

    def memory_table(self) -> Table:
        """MiB by engine."""
        rows: list[Sequence[Cell]] = [[name, *sizes] for name, sizes in self.memory.items()]
        return Table("Memory, MiB", ["engine", "after loading", "most of a call beside it"], rows)

    def charts(self) -> list[Chart]:
        """Times by questions."""
        names = next(iter(self.results.values())).milliseconds
        series = {name: [result.median(name) for result in self.results.values()] for name in names}
        groups = [f"{state} tokens, {questions}" for state, questions in self.results]
        return [Chart("Questions about one state", "ms", groups, series, log=True)]

    def notes(self) -> list[str]:
        """Where outputs differ by more than they may."""
        return [
            f"state of {state} tokens, {questions} questions: outputs differ by {difference:.1e}, "
            f"more than {TOLERANCE:g}"
            for (state, questions), result in self.results.items()
            if (difference := result.differences.get(PEER, 0.0)) > TOLERANCE
        ]

    def _grown(self, name: str, state: int, questions: int) -> float:
        fewest = min(count for place, count in self.results if place == state)
        return self.results[state, questions].median(name) / self.results[state, fewest].median(name)


def add_growth_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this part."""
    parser.add_argument(
        "--decoder", type=Path, metavar="FOLDER", help="a Vela 2.0 decoder package (default: a random one of 0.8B)"
    )
    parser.add_argument("--decoder-states", type=int, nargs="+", default=list(STATES), help="tokens (default 512)")
    parser.add_argument("--questions", type=int, nargs="+", default=list(COUNTS), help="of a request, at most 8")


def measure_growth(folder: Path, arguments: argparse.Namespace, workplace: Workplace, notes: list[str]) -> Growth:
    """Run every request through the engines in turns, and see what memory they take."""
    from bench.decisions.decoder import EngineRequests
    from bench.decisions.request import Request, request_of
    from bench.decisions.signals import States
    from bench.peers.runner import RunnerOf

    ours, size = added(lambda: EngineRequests(folder))
    runners: list[RunnerOf[Request]] = [ours]
    sizes = [size]
    if is_installed(("torch", "transformers"), PEER, "pip install 'vela-jax[test]'", notes):
        from bench.decisions.decoder_pytorch import PyTorchQuestions

        peer, size = added(lambda: PyTorchQuestions(folder, arguments.threads))
        runners.append(peer)
        sizes.append(size)
    states, results = States(folder), {}
    limits = {"rounds": arguments.rounds, "budget": arguments.budget}
    most = dict.fromkeys((runner.name for runner in runners), 0.0)
    for tokens in arguments.decoder_states:
        texts = states.of(tokens)
        for count in arguments.questions:
            request = request_of(ours.model, texts, count)
            workplace.say(f"state of {tokens} tokens, {count} questions: {request.tokens} tokens, requests in turns")
            clock = CLOCKS[arguments.clock]
            results[tokens, count] = compare_on(request, runners, request.tokens, clock=clock, **limits)
            for runner in runners:
                most[runner.name] = max(most[runner.name], most_taken(partial(runner, request)))
    for runner in runners:
        runner.close()
    taken = zip(runners, sizes, strict=True)
    return Growth(results, {runner.name: (size, most[runner.name]) for runner, size in taken})
