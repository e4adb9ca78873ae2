"""`generate`: tokens a second beside Transformers, and the same bits in changing company."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import httpx

from bench.command import Benchmark, Workplace, parameters
from bench.figures import Ratio, paired_ratio
from bench.peers.command import is_installed
from bench.process import serving
from bench.report import Chart, Report, Table
from checkpoints.fixtures import write_fixture
from serving.cli.environment import usable_cpus
from serving.text_endpoints import GENERATE

if TYPE_CHECKING:
    from bench.peers.generation import Transformers

Prompt = list[int]

FIRST_ID: Final = 5  # behind the special ones
LAST_ID: Final = 500
COMPANY: Final = 8
_SHORTEST: Final = 3


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--variant", default="qwen3-lm-0.2b", help="random package to generate with (see vela fixture)")
    parser.add_argument("--threads", type=int, default=usable_cpus(), help="CPU threads of both sides (default: all)")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 8], help="callers at once (default 1 8)")
    parser.add_argument("--rounds", type=int, default=5, help="paired rounds (default 5)")
    parser.add_argument("--prompt", type=int, default=64, help="tokens of a prompt (default 64)")
    parser.add_argument("--tokens", type=int, default=64, help="generated tokens (default 64)")
    parser.add_argument("--generations", type=int, default=2000, help="generations in company (default 2000, 0: none)")


def _run(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    workplace.say(f"writing {arguments.variant}")
    package = write_fixture(workplace.folder / "generator", arguments.variant)
    tables: list[Table] = []
    charts: list[Chart] = []
    notes: list[str] = []
    kept = True
    options = [str(package), "--threads", str(arguments.threads)]
    with serving(options, workplace.folder / "generate.log") as server:
        notes.append(f"ready after {server.ready_after:.1f} s, {server.rss() / 2**30:.2f} GiB resident")
        if is_installed(("torch", "transformers"), "Transformers", "pip install 'vela-jax[test]'", notes):
            table, chart = _compare(server.url, package, arguments, workplace)
            tables.append(table)
            charts.append(chart)
        if arguments.generations:
            table, kept = _try_company(server.url, arguments.generations, workplace)
            tables.append(table)
    names = ("variant", "threads", "callers", "rounds", "prompt", "tokens", "generations")
    return Report("generate", parameters(arguments, names), tables, charts, notes, kept)


def _compare(url: str, package: Path, arguments: argparse.Namespace, workplace: Workplace) -> tuple[Table, Chart]:
    from bench.peers.generation import Transformers

    peer = Transformers(package, arguments.threads)
    table = Table(
        f"Tokens a second, {arguments.variant}, {arguments.prompt} tokens and {arguments.tokens} more",
        [
            "callers",
            "ours",
            "one by one",
            "as one batch",
            "ours / one by one",
            "quartiles",
            "ours / batch",
            "quartiles ",
        ],
    )
    source = random.Random(1)
    series: dict[str, list[float]] = {"ours / one by one": [], "ours / as one batch": []}
    for callers in arguments.callers:
        workplace.say(f"{callers} callers, {arguments.rounds} rounds")
        rates = [_round(url, peer, callers, arguments, source) for _ in range(arguments.rounds + 1)][1:]
        ours, alone, batch = ([rate[side] for rate in rates] for side in range(3))
        over_alone, over_batch = paired_ratio(ours, alone), paired_ratio(ours, batch)
        medians = [median(side) for side in (ours, alone, batch)]
        table.rows.append(
            [callers, *medians, over_alone.median, _spread(over_alone), over_batch.median, _spread(over_batch)]
        )
        for name, ratio in zip(series, (over_alone, over_batch), strict=True):
            series[name].append(ratio.median)
    groups = [str(callers) for callers in arguments.callers]
    return table, Chart("Tokens a second against Transformers, by callers", "times as fast", groups, series, line=1.0)


def _round(
    url: str, peer: Transformers, callers: int, arguments: argparse.Namespace, source: random.Random
) -> tuple[float, float, float]:
    """Tokens a second of the three ways on fresh prompts, in an order that changes."""
    prompts = [_prompt(source, arguments.prompt) for _ in range(callers)]
    ways: dict[int, Callable[[], object]] = {
        0: lambda: _ours(url, prompts, arguments.tokens),
        1: lambda: [peer.generate([prompt], arguments.tokens) for prompt in prompts],
        2: lambda: peer.generate(prompts, arguments.tokens),
    }
    rates = [0.0] * len(ways)
    for way in source.sample(sorted(ways), len(ways)):
        started = time.perf_counter()
        ways[way]()
        rates[way] = callers * arguments.tokens / (time.perf_counter() - started)
    return rates[0], rates[1], rates[2]


def _ours(url: str, prompts: Sequence[Prompt], tokens: int) -> None:
    bodies = [_body(prompt, tokens) for prompt in prompts]
    with ThreadPoolExecutor(len(bodies)) as pool:
        for answer in pool.map(lambda body: _ask(url, body), bodies):
            if len(answer["choices"][0]["token_ids"]) != tokens:
                raise RuntimeError("the server stopped early")


def _try_company(url: str, generations: int, workplace: Workplace) -> tuple[Table, bool]:
    """Ask requests alone, then again in changing company: ids and log-probabilities must be the same to the digit."""
    workplace.say(f"{generations} generations in company of {COMPANY}")
    source = random.Random(2)
    bodies = [_body(_prompt(source, source.randint(_SHORTEST, 150)), source.randint(1, 24)) for _ in range(48)]
    for index in range(0, len(bodies), 3):
        bodies[index]["sampling_params"] |= {"temperature": 0.9, "top_p": 0.95, "seed": index}
    alone = [_bits(_ask(url, body)) for body in bodies]
    order = [source.randrange(len(bodies)) for _ in range(generations)]
    with ThreadPoolExecutor(COMPANY) as pool:
        same = sum(pool.map(lambda index: _bits(_ask(url, bodies[index])) == alone[index], order))
    table = Table("The same bits in company", ["generations", "identical", "share"])
    table.rows.append([generations, same, same / generations])
    return table, same == generations


def _body(prompt: Prompt, tokens: int) -> dict[str, Any]:
    params = {"temperature": 0, "max_tokens": tokens, "ignore_eos": True, "logprobs": 1}
    return {"token_ids": prompt, "sampling_params": params}


def _ask(url: str, body: dict[str, Any]) -> dict[str, Any]:
    reply = httpx.post(url + GENERATE, json=body, timeout=600)
    reply.raise_for_status()
    answer: dict[str, Any] = reply.json()
    return answer


def _bits(answer: dict[str, Any]) -> str:
    return json.dumps(answer["choices"])


def _prompt(source: random.Random, length: int) -> Prompt:
    return [source.randint(FIRST_ID, LAST_ID) for _ in range(length)]


def _spread(found: Ratio) -> str:
    return f"{found.low:.2f} to {found.high:.2f}"


GENERATION: Final = Benchmark("tokens a second beside Transformers, and the same bits in company", _add_arguments, _run)
