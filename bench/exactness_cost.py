"""What exactness costs: `exact` against `throughput`, two servers loaded in turns with the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from bench.command import Workplace
from bench.figures import Ratio, in_turns, paired_ratio
from bench.load import Request, measure
from bench.process import serving
from bench.report import Chart, Table
from bench.warm import wait_until_settled
from bench.workload import MIXES, Mix, requests

MODES: Final = ("exact", "throughput")
MIX: Final = MIXES["short"]
WARM_CALLS: Final = 64


@dataclass(frozen=True, slots=True)
class Rates:
    """Requests a second of one model by mode, one a round."""

    model: str
    surface: str
    by_mode: dict[str, list[float]] = field(default_factory=lambda: {mode: [] for mode in MODES})

    @property
    def ratio(self) -> Ratio:
        """exact / throughput."""
        return paired_ratio(self.by_mode["exact"], self.by_mode["throughput"])


def compare_modes(models: Sequence[str], rounds: int, calls: int, callers: int, workplace: Workplace) -> list[Rates]:
    """Load both servers in turns with new texts of the short mix, for each model's first surface."""
    cache = ["--autotune-cache", str(workplace.folder / "cost-cache")]
    common = [*models, "--result-cache-entries", "0", *cache]
    logs = [workplace.folder / f"{mode}.log" for mode in MODES]
    workplace.say("starting an exact and a throughput server")
    with (
        serving([*common, "--batching", MODES[0]], logs[0]) as exact,
        serving([*common, "--batching", MODES[1]], logs[1]) as throughput,
    ):
        servers = dict(zip(MODES, (exact, throughput), strict=True))
        found = []
        for card in exact.cards():
            surface = card["surfaces"][0]
            for server in servers.values():
                measure(server.url, _warming(card, surface), callers)
                wait_until_settled(server)
            rates = Rates(card["id"], surface)
            for number in range(rounds):
                workplace.say(f"{card['id']}: exact against throughput, round {number + 1} of {rounds}")
                sent = requests(card, surface, calls, MIX, seed=100 + number)
                for mode in in_turns(MODES, number):
                    rates.by_mode[mode].append(measure(servers[mode].url, sent, callers).rate)
            found.append(rates)
        return found


def _warming(card: dict[str, Any], surface: str) -> list[Request]:
    """Requests of the mix, its longest text among them."""
    longest = requests(card, surface, 1, Mix(MIX.most, MIX.most), seed=1)
    return [*longest, *requests(card, surface, WARM_CALLS, MIX, seed=1)]


def cost_ratio(found: Sequence[Rates]) -> str:
    """exact / throughput of every model."""
    return ", ".join(f"{rates.model} {rates.ratio}" for rates in found)


def cost_table(found: Sequence[Rates]) -> Table:
    """Requests a second of both modes and their ratio."""
    table = Table("What exactness costs", ("model", "surface", *(f"{mode}/s" for mode in MODES), "exact / throughput"))
    for rates in found:
        medians = [median(rates.by_mode[mode]) for mode in MODES]
        table.rows.append([rates.model, rates.surface, *medians, rates.ratio.median])
    return table


def cost_chart(found: Sequence[Rates]) -> Chart:
    """Requests a second by model and mode."""
    series = {mode: [median(rates.by_mode[mode]) for rates in found] for mode in MODES}
    return Chart("Requests a second, exact and throughput", "requests/s", [rates.model for rates in found], series)
