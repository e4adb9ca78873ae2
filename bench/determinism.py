"""`determinism`: whether a text has one answer, bit for bit, in any company and order, at any load, after any start."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.command import Benchmark, Workplace, add_models, parameters
from bench.exactness_cost import compare_modes, cost_chart, cost_ratio, cost_table
from bench.load import Request, send_all
from bench.process import Server, serving
from bench.questions import (
    SHORTEST,
    Subject,
    TokenRate,
    answers_by_place,
    make_batches,
    make_texts,
    read_tokens,
    subject_of,
)
from bench.report import Cell, Chart, Report, Table
from bench.workload import WORDS
from checkpoints.fixtures import write_fixture
from checkpoints.tables.embedded import MINILM

DEFAULT_VARIANTS: Final = ("sequence", "embedding", "reranker")
CALIBRATION_WORDS: Final = 16
COLD: Final = "cold"
WARM: Final = "warm"


@dataclass(frozen=True, slots=True)
class StartPlan:
    """How one of the servers is started: its threads, and a cache that is empty or that an earlier start has left."""

    threads: int
    cache: str  # COLD or WARM
    folder: int  # number of the cache's folder


@dataclass(slots=True)
class Tally:
    """What was asked of one model and what came back."""

    subject: Subject
    texts: Sequence[str]
    tokens: Sequence[int]  # of each text alone
    references: Sequence[str]  # each text's answer alone, on the first server
    answers: list[Counter[str]] = field(default_factory=list)  # by text

    def __post_init__(self) -> None:
        self.answers = [Counter([reference]) for reference in self.references]

    @property
    def total(self) -> int:
        """Answers so far."""
        return sum(counter.total() for counter in self.answers)

    @property
    def identical(self) -> int:
        """Answers that equal their text's reference."""
        return sum(counter[text] for counter, text in zip(self.answers, self.references, strict=True))

    @property
    def share(self) -> float:
        """Share of the answers that equal their text's reference."""
        return self.identical / self.total

    @property
    def most_distinct(self) -> int:
        """Most distinct answers of one text."""
        return max(len(counter) for counter in self.answers)


def plan_starts(count: int, threads: Sequence[int]) -> list[StartPlan]:
    """Cold and warm caches in turn; a warm one was left by another number of threads where there are several."""
    plans = []
    for number in range(count):
        cache = WARM if number % 2 else COLD
        plans.append(StartPlan(threads[(number + number // 2) % len(threads)], cache, number // 2))
    return plans


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_models(parser, "a tiny classifier, embedder and reranker, and the embedded model")
    parser.add_argument("--answers", type=int, default=10_000, help="answers of all models (default 10000)")
    parser.add_argument("--texts", type=int, default=48, help="different texts a model (default 48)")
    parser.add_argument("--max-tokens", type=int, default=2048, help="longest text (default 2048)")
    parser.add_argument("--starts", type=int, default=3, help="server starts (default 3)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="CPU threads by start (default 1 2)")
    parser.add_argument("--callers", type=int, default=16, help="callers at once (default 16)")
    parser.add_argument("--batching", choices=["exact", "throughput"], default="exact", help="default exact")
    parser.add_argument("--seed", type=int, default=0, help="equal seeds ask the same (default 0)")
    parser.add_argument("--cost-rounds", type=int, default=5, help="rounds of exact against throughput (default 5)")
    parser.add_argument("--cost-calls", type=int, default=400, help="calls a round and mode (default 400)")


def _run(arguments: argparse.Namespace, workplace: Workplace) -> Report:
    models = arguments.models or _write_defaults(workplace.folder)
    starts = Table("Starts", ("start", "threads", "cache", "ready after s", "answers", "differing"))
    tallies: list[Tally] = []
    for number, plan in enumerate(plan_starts(arguments.starts, arguments.threads)):
        workplace.say(f"start {number + 1} of {arguments.starts}: {plan.threads} threads, {plan.cache} cache")
        with serving(
            _serve_arguments(models, plan, arguments, workplace.folder), workplace.folder / "serve.log"
        ) as server:
            tallies = tallies or list(_references(server, arguments, workplace))
            before = sum(tally.total for tally in tallies), sum(tally.identical for tally in tallies)
            _ask_start(server, tallies, arguments, number)
            asked = sum(tally.total for tally in tallies) - before[0]
            same = sum(tally.identical for tally in tallies) - before[1]
            starts.rows.append([number + 1, plan.threads, plan.cache, server.ready_after, asked, asked - same])
    kept = all(tally.share == 1 for tally in tallies)
    tables, charts, notes = [_tally_table(tallies), starts], [_tally_chart(tallies)], []
    if arguments.cost_rounds:
        rates = compare_modes(
            arguments.models, arguments.cost_rounds, arguments.cost_calls, arguments.callers, workplace
        )
        tables.append(cost_table(rates))
        charts.append(cost_chart(rates))
        notes = [f"requests a second, exact / throughput, {arguments.callers} callers: {cost_ratio(rates)}"]
    names = (
        *("models", "answers", "texts", "max_tokens", "starts", "threads", "callers", "batching", "seed"),
        *("cost_rounds", "cost_calls"),
    )
    return Report("determinism", parameters(arguments, names), tables, charts, notes, kept)


def _write_defaults(folder: Path) -> list[str]:
    for variant in DEFAULT_VARIANTS:
        write_fixture(folder / f"tiny-{variant}", variant)
    return [*(str(folder / f"tiny-{variant}") for variant in DEFAULT_VARIANTS), MINILM.name]


def _serve_arguments(models: Sequence[str], plan: StartPlan, arguments: argparse.Namespace, folder: Path) -> list[str]:
    return [
        *models,
        *("--batching", arguments.batching, "--result-cache-entries", "0", "--threads", str(plan.threads)),
        *("--autotune-cache", str(folder / f"cache-{plan.folder}")),
    ]


def _references(server: Server, arguments: argparse.Namespace, workplace: Workplace) -> Iterator[Tally]:
    """Each model's texts, and their answers alone and one after another."""
    for card in server.cards():
        subject = subject_of(card, arguments.max_tokens)
        workplace.say(f"{subject.model}: {arguments.texts} texts alone")
        rate = _token_rate(server, subject)
        texts = make_texts(arguments.texts, rate.words(subject.room), arguments.seed)
        replies = _ask_alone(server, subject, texts)
        yield Tally(
            subject=subject,
            texts=texts,
            tokens=[read_tokens(reply) for reply in replies],
            references=[answers_by_place(reply)[0] for reply in replies],
        )


def _token_rate(server: Server, subject: Subject) -> TokenRate:
    samples = [1, CALIBRATION_WORDS]
    source = random.Random(0)
    texts = [SHORTEST, " ".join(source.choices(WORDS, k=CALIBRATION_WORDS))]
    few, many = (read_tokens(reply) for reply in _ask_alone(server, subject, texts))
    return TokenRate.between((samples[0], few), (samples[1], many))


def _ask_alone(server: Server, subject: Subject, texts: Sequence[str]) -> list[bytes]:
    requests = [(subject.path, subject.body([text])) for text in texts]
    calls, _ = send_all(server.url, requests, 1, keep=True)
    return [call.answer for call in calls]


def _ask_start(server: Server, tallies: Sequence[Tally], arguments: argparse.Namespace, number: int) -> None:
    """Ask one server its share of the answers: all models at once, requests of any size in any order."""
    share = -(-arguments.answers // (arguments.starts * len(tallies)))  # rounded up: no fewer than asked for
    asked: list[tuple[Tally, list[int]]] = []
    for place, tally in enumerate(tallies):
        seed = arguments.seed + 1000 * number + place
        asked += [(tally, batch) for batch in make_batches(share, len(tally.texts), seed)]
    random.Random(arguments.seed + number).shuffle(asked)
    requests: list[Request] = [
        (tally.subject.path, tally.subject.body([tally.texts[index] for index in batch])) for tally, batch in asked
    ]
    calls, _ = send_all(server.url, requests, arguments.callers, keep=True)
    for (tally, batch), call in zip(asked, calls, strict=True):
        for index, answer in zip(batch, answers_by_place(call.answer), strict=True):
            tally.answers[index][answer] += 1


def _tally_table(tallies: Sequence[Tally]) -> Table:
    columns = ("model", "surface", "texts", "tokens", "answers", "identical", "share %", "most distinct of a text")
    table = Table("Answers that equal the text's answer alone, bit for bit", columns)
    for tally in tallies:
        tokens = f"{min(tally.tokens)} to {max(tally.tokens)}"
        head: list[Cell] = [tally.subject.model, tally.subject.surface, len(tally.texts), tokens]
        table.rows.append([*head, tally.total, tally.identical, 100 * tally.share, tally.most_distinct])
    return table


def _tally_chart(tallies: Sequence[Tally]) -> Chart:
    groups = [f"{tally.subject.model}\n{tally.subject.surface}" for tally in tallies]
    return Chart("Bit-identical answers", "%", groups, {"share": [100 * tally.share for tally in tallies]}, line=100)


DETERMINISM: Final = Benchmark("bit-identical answers, and what exactness costs", _add_arguments, _run)
