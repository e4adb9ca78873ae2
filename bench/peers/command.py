"""`peers`: this project beside PyTorch, ONNX Runtime and Infinity, in one run and in turns."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.command import Benchmark, Workplace, parameters
from bench.report import Chart, Report, Table
from bench.workload import MIXES
from checkpoints.files import PackageError
from checkpoints.tables import embedded
from serving.cli.environment import usable_cpus

if TYPE_CHECKING:
    from bench.peers.forward import LengthResult
    from bench.peers.http_load import LoadResult
    from bench.peers.runner import Runner

ENCODER: Final = "encoder"
MINILM: Final = "minilm"
HTTP: Final = "http"
PARTS: Final = (ENCODER, MINILM, HTTP)
LENGTHS: Final = (16, 32, 64, 128, 512, 2048, 8192)
MINILM_LENGTHS: Final = (16, 32, 64, 128, 256, 512)
TOLERANCE: Final = 1e-4  # of outputs
CLOCKS: Final[Mapping[str, Callable[[], float]]] = {"wall": time.perf_counter, "cpu": time.process_time}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="CPU threads of every engine (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of a forward (default 9)")
    parser.add_argument(
        "--budget", type=float, default=120.0, help="seconds for one length, bounds the rounds (default 120)"
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS), help="tokens of a row of the encoder")
    parser.add_argument(
        "--minilm-lengths", type=int, nargs="+", default=list(MINILM_LENGTHS), help="the same of MiniLM"
    )
    parser.add_argument("--layers", type=int, help="layers of the encoder (default 22)")
    parser.add_argument(
        "--clock", choices=sorted(CLOCKS), default="wall", help="cpu: processor time, for busy hosts with --threads 1"
    )
    parser.add_argument(
        "--infinity-python", type=Path, metavar="PATH", help="Python of an environment that has Infinity"
    )
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 4, 16], help="callers at once (default 1 4 16)")
    parser.add_argument("--calls", type=int, default=400, help="calls a round and server (default 400)")
    parser.add_argument("--http-rounds", type=int, default=5, help="rounds over HTTP (default 5)")


def _run(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    os.environ["NPROC"] = str(arguments.threads)  # read when the numerical library starts
    os.environ["JAX_PLATFORMS"] = "cpu"
    found = _Findings()
    if ENCODER in arguments.parts:
        _run_encoder(arguments, workplace, found)
    if MINILM in arguments.parts:
        _run_minilm(arguments, workplace, found)
    if HTTP in arguments.parts:
        _run_http(arguments, workplace, found)
    names = (
        *("parts", "threads", "rounds", "lengths", "minilm_lengths", "layers", "clock"),
        *("callers", "calls", "http_rounds"),
    )
    return Report("peers", parameters(arguments, names), found.tables, found.charts, found.notes, found.agree)


class _Findings:
    """Tables, charts and notes of the parts that ran."""

    def __init__(self) -> None:
        self.tables: list[Table] = []
        self.charts: list[Chart] = []
        self.notes: list[str] = []
        self.agree = True

    def note_difference(self, what: str, difference: float) -> None:
        """Outputs of two engines differ by so much at most."""
        if difference > TOLERANCE:
            self.agree = False
            self.notes.append(f"{what}: outputs differ by {difference:.1e}, more than {TOLERANCE:g}")


def _run_encoder(arguments: argparse.Namespace, workplace: Workplace, found: _Findings) -> None:
    from bench.peers.package import RELEASED, write_encoder

    sizes = {**RELEASED, **({"num_hidden_layers": arguments.layers} if arguments.layers else {})}
    workplace.say(f"writing a ModernBERT of {sizes['num_hidden_layers']} layers")
    folder = write_encoder(workplace.folder / ENCODER, sizes)
    title = f"One row, ModernBERT of {sizes['num_hidden_layers']} layers, {sizes['hidden_size']} wide"
    _compare_forwards(title, folder, arguments.lengths, sizes["vocab_size"], arguments, workplace, found)


def _run_minilm(arguments: argparse.Namespace, workplace: Workplace, found: _Findings) -> None:
    try:
        folder = embedded.MINILM.locate()
    except PackageError as error:
        found.notes.append(f"not measured: {error}")
        return
    vocab_size = 30_000
    _compare_forwards(
        f"One row, {embedded.MINILM.name}", folder, arguments.minilm_lengths, vocab_size, arguments, workplace, found
    )


def _compare_forwards(
    title: str,
    folder: Path,
    lengths: Sequence[int],
    vocab_size: int,
    arguments: argparse.Namespace,
    workplace: Workplace,
    found: _Findings,
) -> None:
    from bench.peers.forward import compare

    runners = _runners(folder, max(lengths), arguments.threads, workplace, found)
    results = []
    for length in lengths:
        workplace.say(f"{title}: {length} tokens")
        result = compare(
            runners,
            length,
            vocab_size,
            rounds=arguments.rounds,
            budget=arguments.budget,
            clock=CLOCKS[arguments.clock],
        )
        results.append(result)
        for name, difference in result.differences.items():
            found.note_difference(f"{title}, {length} tokens, {name}", difference)
    names = [runner.name for runner in runners]
    for runner in runners:
        runner.close()
    found.tables.append(_forward_table(title, names, results))
    found.charts.append(_forward_chart(title, names, results))


def _runners(folder: Path, max_length: int, threads: int, workplace: Workplace, found: _Findings) -> list[Runner]:
    """Ours first, then the peers that are installed."""
    from bench.peers.ours import EngineRunner

    runners: list[Runner] = [EngineRunner(folder, max_length)]
    if is_installed(("torch", "transformers"), "PyTorch", "pip install 'vela-jax[test]'", found.notes):
        from bench.peers.pytorch import PyTorchRunner

        runners.append(PyTorchRunner(folder, threads))
    if is_installed(("onnx", "onnxruntime"), "ONNX Runtime", "pip install 'vela-jax[bench]'", found.notes):
        from bench.peers.onnx_runtime import OnnxRunner

        runners.append(OnnxRunner(folder, workplace.folder, max_length, threads))
    return runners


def is_installed(modules: Sequence[str], name: str, remedy: str, notes: list[str]) -> bool:
    """Whether a peer can run; `notes` is told once why not."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        note = f"{name} is not measured, {' and '.join(missing)} is not installed: run {remedy}"
        notes.extend([note] if note not in notes else [])
    return not missing


def _forward_table(title: str, names: Sequence[str], results: Sequence[LengthResult]) -> Table:
    ours, *peers = names
    columns: list[str] = ["tokens", "rounds", *(f"{name}, ms" for name in names)]
    for name in peers:
        columns += [f"{name} / ours", f"{name}, quartiles", f"{name}, difference"]
    table = Table(title, columns)
    for result in results:
        row: list[Any] = [result.length, len(result.milliseconds[ours]), *(result.median(name) for name in names)]
        for name in peers:
            ratio = result.ratio(name, ours)
            row += [ratio.median, f"{ratio.low:.2f} to {ratio.high:.2f}", result.differences[name]]
        table.rows.append(row)
    return table


def _forward_chart(title: str, names: Sequence[str], results: Sequence[LengthResult]) -> Chart:
    ours, *peers = names
    series = {f"{name} / ours": [result.ratio(name, ours).median for result in results] for name in peers}
    groups = [str(result.length) for result in results]
    return Chart(f"{title}: time of a peer / ours, by tokens", "times as fast", groups, series, line=1.0)


def _run_http(arguments: argparse.Namespace, workplace: Workplace, found: _Findings) -> None:
    if arguments.infinity_python is None:
        found.notes.append("Infinity is not measured: name the Python of its own environment with --infinity-python")
        return
    from bench.peers.http_load import INFINITY, both_serving, compare, infinity_versions, largest_difference

    mix = MIXES["short"]
    found.notes.append(f"Infinity's environment: {infinity_versions(arguments.infinity_python)}")
    workplace.say("starting this server and Infinity")
    try:
        model = str(embedded.MINILM.locate())
    except PackageError as error:
        found.notes.append(f"not measured: {error}")
        return
    results = []
    with both_serving(model, arguments.infinity_python, arguments.threads, workplace.folder) as peers:
        found.note_difference(INFINITY, largest_difference(peers, mix))
        for callers in arguments.callers:
            workplace.say(f"{callers} callers, {arguments.http_rounds} rounds of {arguments.calls} calls each")
            results.append(compare(peers, mix, callers, calls=arguments.calls, rounds=arguments.http_rounds))
    found.tables.append(_load_table(results))
    found.charts.append(_load_chart(results))


def _load_table(results: Sequence[LoadResult]) -> Table:
    from bench.peers.http_load import INFINITY, OURS

    columns = ["callers", "rounds"]
    for name in (OURS, INFINITY):
        columns += [f"{name}, requests/s", f"{name}, p50 ms", f"{name}, p95 ms"]
    title = f"Over HTTP, {embedded.MINILM.name}, texts of 3 to 120 words"
    table = Table(title, [*columns, "ours / Infinity", "quartiles"])
    for result in results:
        row: list[Any] = [result.callers, len(result.summaries[OURS])]
        for name in (OURS, INFINITY):
            row += [result.rate(name), result.wall(name, 0.5), result.wall(name, 0.95)]
        ratio = result.ratio()
        table.rows.append([*row, ratio.median, f"{ratio.low:.2f} to {ratio.high:.2f}"])
    return table


def _load_chart(results: Sequence[LoadResult]) -> Chart:
    from bench.peers.http_load import INFINITY, OURS

    series = {name: [result.rate(name) for result in results] for name in (OURS, INFINITY)}
    return Chart("Over HTTP: requests a second by callers", "requests/s", [str(r.callers) for r in results], series)


PEERS: Final = Benchmark("this project beside PyTorch, ONNX Runtime and Infinity", _add_arguments, _run)
