"""`decisions`: what a router's signals cost as one request, by phase, and beside the same model in PyTorch."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.command import Benchmark, Workplace, parameters
from bench.decisions import growth
from bench.load import COLUMNS, Summary, measure
from bench.peers.command import CLOCKS, is_installed
from bench.process import Server, serving
from bench.report import Cell, Chart, Report, Table
from bench.warm import wait_until_settled
from checkpoints.fixtures import write_fixture
from serving.cli.environment import usable_cpus

if TYPE_CHECKING:
    from bench.peers.forward import LengthResult

FORWARD: Final = "forward"
HTTP: Final = "http"
QUESTIONS: Final = "questions"
PARTS: Final = (FORWARD, HTTP, QUESTIONS)
USUAL_PARTS: Final = (FORWARD, HTTP)  # the third takes a decoder of gigabytes
VARIANT: Final = "vela2_0.3b"
STATES: Final = (32, 128, 512, 2048)
TOLERANCE: Final = 1e-3  # of logits, which are cosines divided by temperatures of about 0.06
SHARES: Final = ((0.5, "p50"), (0.95, "p95"))
WARM_CALLS: Final = 2
ONLY_ASKED: Final[Mapping[str, Sequence[int]]] = {"warmup": (), "background": ()}
"""No lengths but those of the calls: to prove the usual ones of a large model takes long, and is no part of a call."""
OURS: Final = "Vela JAX"
PEER: Final = "PyTorch"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", type=Path, metavar="FOLDER", help="a Vela 2.0 encoder package (default: a random one of 0.3B)"
    )
    usual = list(USUAL_PARTS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=usual, help=f"default: {' '.join(usual)}")
    growth.add_growth_arguments(parser)
    parser.add_argument("--states", type=int, nargs="+", default=list(STATES), help="tokens of a state")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="CPU threads of a forward (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of a forward (default 9)")
    parser.add_argument(
        "--budget", type=float, default=120.0, help="seconds for one state, bounds the rounds (default 120)"
    )
    parser.add_argument(
        "--clock", choices=sorted(CLOCKS), default="wall", help="cpu: processor time, for busy hosts with --threads 1"
    )
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 4], help="callers at once (default 1 4)")
    parser.add_argument("--calls", type=int, default=40, help="calls of each kind (default 40)")


def _run(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    os.environ["NPROC"] = str(arguments.threads)  # read when the numerical library starts
    os.environ["JAX_PLATFORMS"] = "cpu"
    tables: list[Table] = []
    charts: list[Chart] = []
    notes: list[str] = []
    folder = _package(arguments.model, VARIANT, workplace) if set(arguments.parts) & set(USUAL_PARTS) else None
    if folder is not None and FORWARD in arguments.parts:
        results = _forwards(folder, arguments, workplace, notes)
        tables.append(_forward_table(results))
        charts += _forward_charts(results)
    if folder is not None and HTTP in arguments.parts:
        found = _calls(folder, arguments, workplace)
        tables.append(_phase_table(found))
        charts.append(_phase_chart(found))
    if QUESTIONS in arguments.parts:
        decoder = _package(arguments.decoder, growth.VARIANT, workplace)
        grown = growth.measure_growth(decoder, arguments, workplace, notes)
        tables += [grown.table(), grown.memory_table()]
        charts += grown.charts()
        notes += grown.notes()
    shown = ("model", "decoder", "parts", "states", "decoder_states", "questions")
    names = (*shown, "threads", "rounds", "clock", "callers", "calls")
    kept = not any("outputs differ" in note for note in notes)
    return Report("decisions", parameters(arguments, names), tables, charts, notes, kept)


def _package(given: Path | None, variant: str, workplace: Workplace) -> Path:
    """The package that was named, else a random one."""
    if given is not None:
        return given
    workplace.say(f"writing a random package: {variant}")
    return write_fixture(workplace.folder / variant, variant)


def _forwards(
    folder: Path, arguments: argparse.Namespace, workplace: Workplace, notes: list[str]
) -> Mapping[int, LengthResult]:
    """The forward of every state in turns, by tokens of the state."""
    from bench.decisions.ours import EngineRunner
    from bench.decisions.signals import States
    from bench.peers.forward import compare_on
    from bench.peers.runner import RunnerOf
    from vela_jax.contract import Row

    ours = EngineRunner(folder)
    runners: list[RunnerOf[Row]] = [ours]
    if is_installed(("torch", "transformers"), PEER, "pip install 'vela-jax[test]'", notes):
        from bench.decisions.pytorch import PyTorchRunner

        runners.append(PyTorchRunner(folder, arguments.threads))
    states, results = States(folder), {}
    for tokens in arguments.states:
        row = ours.row(next(states.of(tokens)))
        workplace.say(f"state of {tokens} tokens, row of {row.length}: forwards in turns")
        limits = {"rounds": arguments.rounds, "budget": arguments.budget}
        results[tokens] = compare_on(row, runners, row.length, clock=CLOCKS[arguments.clock], **limits)
        difference = results[tokens].differences.get(PEER, 0.0)
        if difference > TOLERANCE:
            notes.append(f"state of {tokens} tokens: outputs differ by {difference:.1e}, more than {TOLERANCE:g}")
    for runner in runners:
        runner.close()
    return results


def _forward_table(results: Mapping[int, LengthResult]) -> Table:
    columns = ["state", "tokens", "rounds", f"{OURS}, ms", f"{PEER}, ms", f"{PEER} / ours", "quartiles", "difference"]
    table = Table("One forward of a request with the router's signals", columns)
    for state, result in results.items():
        row: list[Cell] = [state, result.length, len(result.milliseconds[OURS]), result.median(OURS)]
        if PEER in result.milliseconds:
            ratio = result.ratio(PEER, OURS)
            row += [result.median(PEER), ratio.median, f"{ratio.low:.2f} to {ratio.high:.2f}", result.differences[PEER]]
        table.rows.append([*row, *[None] * (len(columns) - len(row))])
    return table


def _forward_charts(results: Mapping[int, LengthResult]) -> list[Chart]:
    compared = {state: result for state, result in results.items() if PEER in result.milliseconds}
    if not compared:
        return []
    ratios = [result.ratio(PEER, OURS).median for result in compared.values()]
    title = "The router's signals: time of PyTorch / ours, by tokens of the state"
    return [Chart(title, "times as fast", [str(state) for state in compared], {f"{PEER} / ours": ratios}, line=1.0)]


def _calls(folder: Path, arguments: argparse.Namespace, workplace: Workplace) -> dict[tuple[int, int], Summary]:
    """What calls took, by tokens of the state and callers."""
    options = ["--result-cache-entries", "0", "--threads", str(arguments.threads)]
    entry = {"model": str(folder.resolve()), "device": "cpu", "engine_args": ONLY_ASKED}
    models = workplace.folder / "models.json"
    models.write_text(json.dumps({"models": [entry]}))
    workplace.say("starting the server")
    with serving(["--models", str(models), *options], workplace.folder / "serve.log") as server:
        return {
            (tokens, callers): summary
            for tokens in arguments.states
            for callers, summary in _calls_of(server, folder, tokens, arguments, workplace)
        }


def _calls_of(
    server: Server, folder: Path, tokens: int, arguments: argparse.Namespace, workplace: Workplace
) -> list[tuple[int, Summary]]:
    from bench.decisions.signals import States, requests

    model = next(card["id"] for card in server.cards() if "span" in card["question_types"])
    states = States(folder).of(tokens, seed=1)
    workplace.say(f"state of {tokens} tokens: warming up")
    for callers in arguments.callers:
        measure(server.url, requests(model, states, WARM_CALLS * callers), callers)
    wait_until_settled(server)
    found = []
    for callers in arguments.callers:
        workplace.say(f"state of {tokens} tokens: {arguments.calls} calls, {callers} callers")
        found.append((callers, measure(server.url, requests(model, states, arguments.calls), callers)))
    return found


def _phase_table(found: Mapping[tuple[int, int], Summary]) -> Table:
    table = Table("Milliseconds of a call with the router's signals", ("state", "callers", "requests/s", "", *COLUMNS))
    for (state, callers), summary in found.items():
        for share, name in SHARES:
            figures: Sequence[Any] = [summary.percentiles[column][share] for column in COLUMNS]
            table.rows.append([state, callers, summary.rate, name, *figures])
    return table


def _phase_chart(found: Mapping[tuple[int, int], Summary]) -> Chart:
    shown = ("tokenize", "queue", "forward", "post", "own work", "wall")
    series = {name: [summary.percentiles[name][0.5] for summary in found.values()] for name in shown}
    groups = [f"{state} tokens, {callers}" for state, callers in found]
    return Chart("The router's signals: where the time of a call goes (p50)", "ms", groups, series, log=True)


DECISIONS: Final = Benchmark("a router's signals as one request: phases, and beside PyTorch", _add_arguments, _run)
