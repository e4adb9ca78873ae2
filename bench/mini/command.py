"""The command of the small models: `python -m bench.mini train | judge | export | ship | cases`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from rich.console import Console

from bench.mini.encoders import command as encoders
from bench.mini.encoders.run import ENCODERS
from bench.mini.evaluation import Evaluation, fit, judge
from bench.mini.package import write_package
from bench.mini.pins import ship
from bench.mini.progress import progress_bar, until
from bench.mini.run import open_run, trained
from bench.mini.tasks.mixture import held
from bench.mini.training.rows import KINDS
from bench.mini.training.trainer import Progress, Recipe
from bench.mini.weights import DTYPES

HOME: Final = Path("bench/results/mini")
DECISION: Final = "decision"
_NAME: Final = "Vela-Mini-Decision"
_STEPS: Final = 4800
_LEARNING_RATE: Final = 3e-4
_SHARE_DISTILLED: Final = 0.25
_JUDGED: Final = 1200
_FITTED: Final = 600
_FIT_SEED: Final = 11
_JUDGE_SEED: Final = 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when it did what was asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.mini", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, (text, declare, _) in COMMANDS.items():
        declare(commands.add_parser(name, help=text, description=text, allow_abbrev=False))
    given = parser.parse_args(arguments)
    _check(parser, given)
    COMMANDS[given.what][2](given, Console())
    return 0


def _check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Refuse options that the chosen model does not have."""
    model, values = getattr(given, "model", DECISION), vars(given)
    if model != DECISION and (values.get("cases") or values.get("name")):
        parser.error(f"--cases and --name are for the decision model, not for {model}")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=(DECISION, *ENCODERS), default=DECISION, help="which one (default decision)")
    parser.add_argument("--home", type=Path, default=HOME, help=f"folder of the run (default {HOME})")
    parser.add_argument("--steps", type=int, help="optimizer steps of the whole run (default: the model's own)")
    parser.add_argument("--learning-rate", type=float, help="highest step size (default: the model's own)")
    parser.add_argument("--seed", type=int, default=0)


def _add_train(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.add_argument("--minutes", type=float, help="stop after so long; the same command goes on from there")


def _add_judge(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.add_argument("--cases", type=Path, metavar="FILE", help="judge by these cases, not by held-out examples")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.add_argument("output", type=Path, help="folder of the package, which is made")
    parser.add_argument("--name", help="name of a decision model (default Vela-Mini-Decision)")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="what `judge` printed, for the card")
    parser.add_argument("--trained", default="", metavar="TEXT", help="how long training took, for the card")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="BF16")


def _add_ship(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("packages", type=Path, nargs="+", metavar="FOLDER", help="exported packages, named by folder")


def _add_cases(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", type=Path, help="file to write, one case a line")
    parser.add_argument("--count", type=int, default=_JUDGED)
    parser.add_argument("--seed", type=int, default=_JUDGE_SEED)


def _recipe(given: argparse.Namespace) -> Recipe:
    steps = _STEPS if given.steps is None else given.steps
    rate = _LEARNING_RATE if given.learning_rate is None else given.learning_rate
    return Recipe(steps=steps, distilled_steps=round(steps * _SHARE_DISTILLED), learning_rate=rate)


def _train(given: argparse.Namespace, console: Console) -> None:
    if given.model != DECISION:
        return encoders.train(given, console)
    recipe = _recipe(given)
    run = open_run(given.home, recipe, given.seed)
    with progress_bar(console, recipe.steps, run.trainer.place.step, _shown) as report:
        run.trainer.run(run.chunks, report, until(given.minutes))
    return console.print(f"{run.trainer.place.step} of {recipe.steps} steps done; the run lies in {given.home}")


def _judge(given: argparse.Namespace, console: Console) -> None:
    if given.model != DECISION:
        return encoders.judge(given, console)
    student, start = trained(given.home, _recipe(given), given.seed)
    evaluation = Evaluation(student, start.tokenizer, start.special)
    fitted = fit(evaluation.ask(_held_cases(_FITTED, _FIT_SEED)))
    cases = _held_cases(_JUDGED, _JUDGE_SEED) if given.cases is None else _read_cases(given.cases)
    return console.print_json(
        data={"calibration": fitted.members(), "figures": judge(evaluation.ask(cases), fitted).rounded()}
    )


def _export(given: argparse.Namespace, console: Console) -> None:
    if given.model != DECISION:
        return encoders.export(given, console)
    student, start = trained(given.home, _recipe(given), given.seed)
    fitted = fit(Evaluation(student, start.tokenizer, start.special).ask(_held_cases(_FITTED, _FIT_SEED)))
    figures = json.loads(given.figures.read_text(encoding="utf-8"))["figures"] if given.figures else {}
    card: dict[str, Any] = {"figures": figures, "trained": given.trained}
    write_package(given.output, given.name or _NAME, student, start.cut, fitted, **card, dtype=given.dtype)
    size = sum(path.stat().st_size for path in given.output.iterdir())
    return console.print(f"wrote {given.output}: {size / 1e6:.1f} MB")


def _ship(given: argparse.Namespace, console: Console) -> None:
    ship(given.packages)
    console.print(f"shipped {', '.join(path.resolve().name for path in given.packages)}")


def _cases(given: argparse.Namespace, console: Console) -> None:
    cases = _held_cases(given.count, given.seed)
    given.output.write_text("".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases), encoding="utf-8")
    console.print(f"wrote {len(cases)} cases to {given.output}")


def _held_cases(count: int, seed: int) -> list[dict[str, Any]]:
    made = [example.case(f"held-{place}") for place, example in enumerate(held(count, seed))]
    return [case for case in made if case["expect"]]


def _read_cases(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _shown(progress: Progress) -> str:
    found = progress.losses
    kinds = " ".join(f"{kind} {value:.2f}" for kind, value in zip(KINDS, found.by_kind.tolist(), strict=True))
    return f"{progress.rows / progress.seconds:.0f} rows/s, teacher {float(found.distilled):.2f}, {kinds}"


COMMANDS: Final[
    Mapping[str, tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace, Console], None]]]
] = MappingProxyType(
    {
        "train": ("Train a model, or go on with it.", _add_train, _train),
        "judge": ("Measure a trained model on what it was not trained on.", _add_judge, _judge),
        "export": ("Write a trained model as a package.", _add_export, _export),
        "ship": ("Put exported packages among those that this project ships, and pin them.", _add_ship, _ship),
        "cases": ("Write held-out examples as a file of cases.", _add_cases, _cases),
    }
)
