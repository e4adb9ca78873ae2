"""Commands and options of `vela` (HTTP contract, section 16). Imports nothing heavy: `vela --help` is quick."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from serving.cli.ask.options import add_options as add_ask_options
from serving.cli.failure import CommandFailed
from serving.schema import Schema

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
SYSTEMONE_SCHEMAS: Final = [str(schema) for schema in Schema]


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """End the command."""
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


def build_parser(words: Sequence[str]) -> Parser:
    """The parser for a command line; the options of `bench` are read only when it is called."""
    parser = Parser(prog="vela", description="Serve and check the Vela models.", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    _add_serve(_command(commands, "serve", "serve.serve", "serve models over HTTP"))
    _add_ask(_command(commands, "ask", "ask.command.ask", "ask a model from the command line"))
    _command(commands, "models", "packages.list_models", "list the built-in models")
    _command(commands, "devices", "packages.list_devices", "list the devices of this host (JSON)")
    _command(commands, "plugins", "packages.list_plugins", "list families, engines, accelerators, profiles (JSON)")
    _add_verify(_command(commands, "verify", "packages.verify_package", "check the files of a package"))
    _add_convert(_command(commands, "convert", "packages.convert_package", "write a copy that loads faster"))
    _add_golden(_command(commands, "golden", "golden.compute", "record a model's answers to its readiness requests"))
    _add_fixture(_command(commands, "fixture", "packages.write_fixture", "write a tiny random package for tests"))
    bench = _command(commands, "bench", "benchmarks.run", "measure a server on this host")
    if words[:1] == ["bench"]:
        _add_bench(bench)
    return parser


def _command(commands: Any, name: str, target: str, text: str) -> Parser:
    """Add a command that the function `target` of this package carries out."""
    module, _, function = target.rpartition(".")
    parser: Parser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False
    )
    parser.set_defaults(module=f"serving.cli.{module}", function=function)
    return parser


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, dest=argparse.SUPPRESS, **{k: v for k, v in options.items() if k not in _OWN})

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"vela {version('vela-jax')}")
        parser.exit()


_OWN: Final = frozenset({"nargs", "dest", "default"})


def _add_serve(parser: Parser) -> None:
    parser.add_argument("models", nargs="*", metavar="MODEL", help="package folder, built-in name, or OWNER/NAME@SHA")
    parser.add_argument("--models", dest="models_file", type=Path, metavar="FILE", help="models file instead of MODEL")
    _add_entry_options(parser)
    _add_listening_options(parser)
    _add_bound_options(parser)
    _add_source_options(parser)
    parser.add_argument(
        "--golden", type=Path, action="append", default=[], metavar="FILE", help="reference answers; repeatable"
    )
    parser.add_argument(
        "--systemone-schema",
        choices=SYSTEMONE_SCHEMAS,
        default=SYSTEMONE_SCHEMAS[0],
        help="what /v1/systemone reads and answers (default vllm-sr/5.0)",
    )
    parser.add_argument("--threads", type=_count(1), help="CPU threads (default: all that this process may use)")
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info")


def _add_entry_options(parser: Parser) -> None:
    group = parser.add_argument_group("how the MODELs run (a models file says it for each model)")
    group.add_argument("--revision", metavar="SHA", help="commit of the one MODEL")
    group.add_argument("--served-model-name", metavar="NAME", help="served name of the one MODEL")
    group.add_argument("--device", help="auto, or an accelerator with an optional :N (default auto)")
    group.add_argument("--engine", help="auto or jax (default auto)")
    group.add_argument("--family", help="family of the packages (default: detected)")
    group.add_argument("--profile", help="exact, the only one (default)")
    group.add_argument("--reasoning-parser", metavar="NAME", help="reads a generator's reasoning: auto, none, qwen3")
    group.add_argument("--tool-call-parser", metavar="NAME", help="reads its tool calls: auto, none, hermes")
    group.add_argument("--memory-budget", type=_number(above=0), metavar="GIB", help="refuse a larger estimate")
    group.add_argument("--batching", choices=["exact", "throughput"], help="default of engine_args.batching")
    group.add_argument("--max-batch-tokens", type=_count(1), help="default of engine_args.max_batch_tokens")


def _add_listening_options(parser: Parser) -> None:
    group = parser.add_argument_group("where to listen")
    group.add_argument("--host", default="127.0.0.1", help="default 127.0.0.1; anyone who reaches it can ask")
    group.add_argument("--port", type=_count(0, 65535), default=8100, help="default 8100; 0 takes a free one")
    group.add_argument("--no-page", action="store_false", dest="page", help="serve no page to try models at /")
    group.add_argument("--uds", type=Path, metavar="PATH", help="Unix socket instead of TCP")


def _add_bound_options(parser: Parser) -> None:
    group = parser.add_argument_group("bounds")
    group.add_argument("--max-queue", type=_count(1), default=256, help="unanswered requests a model (default 256)")
    group.add_argument("--max-queued-tokens", type=_count(1), default=4_194_304, help="default 4194304 a model")
    group.add_argument("--max-request-bytes", type=_count(1), default=8_388_608, help="default 8388608")
    group.add_argument("--max-bundle-tasks", type=_count(1), default=64, help="default 64")
    group.add_argument("--result-cache-entries", type=_count(0), default=16_384, help="default 16384; 0 keeps none")
    group.add_argument("--load-attempts", type=_count(1), default=5, help="default 5")
    group.add_argument("--load-retry-seconds", type=_number(least=0), default=5.0, help="first wait (default 5)")


def _add_source_options(parser: Parser) -> None:
    group = parser.add_argument_group("packages")
    group.add_argument("--cache-dir", type=Path, metavar="DIR", help="cache of hub files (default: the hub's own)")
    group.add_argument("--offline", action="store_true", help="use cached files only")
    group.add_argument("--accept-licence", action="append", default=[], metavar="ID", help="repeatable")
    group.add_argument("--autotune-cache", type=Path, metavar="DIR", help="where compiled code is kept between runs")


def _add_ask(parser: Parser) -> None:
    add_ask_options(parser)
    _add_source_options(parser)


def _add_verify(parser: Parser) -> None:
    _add_package_argument(parser)
    _add_source_options(parser)


def _add_convert(parser: Parser) -> None:
    _add_package_argument(parser)
    parser.add_argument("output", type=Path, metavar="OUT", help="folder to write")
    _add_source_options(parser)


def _add_package_argument(parser: Parser) -> None:
    parser.add_argument("model", metavar="MODEL", help="package folder, built-in name, or OWNER/NAME@SHA")
    parser.add_argument("--revision", metavar="SHA", help="commit of the MODEL")


def _add_golden(parser: Parser) -> None:
    _add_package_argument(parser)
    parser.add_argument("--write", type=Path, metavar="FILE", help="add them to a file instead of printing them")
    parser.add_argument("--device", default="auto", help="auto, or an accelerator with an optional :N (default auto)")
    _add_source_options(parser)


def _add_fixture(parser: Parser) -> None:
    parser.add_argument("output", type=Path, metavar="OUT", help="folder to write; empty or not there")
    parser.add_argument("--variant", default="sequence", help="kind of package (default sequence)")
    parser.add_argument("--seed", type=int, default=0, help="equal seeds give equal bytes (default 0)")


def _add_bench(parser: Parser) -> None:
    try:
        from bench.cli import add_arguments
    except ImportError as error:
        raise CommandFailed(f"benchmarks need the package {error.name}: run `pip install vela-jax[bench]`") from error
    add_arguments(parser)


def _count(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a whole number of at least `least` and at most `most`."""
    allowed = f"a whole number from {least}" + (f" to {most}" if most is not None else " on")

    def read(text: str) -> int:
        if not text.isascii() or not text.isdecimal() or len(text) > 18:
            raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
        value = int(text)
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"{text} is not {allowed}")
        return value

    return read


def _number(*, least: float = -math.inf, above: float = -math.inf) -> Callable[[str], float]:
    """Reads a finite number of at least `least` and above `above`."""
    allowed = f"a finite number above {above:g}" if above > -math.inf else f"a finite number from {least:g} on"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= least and value > above):
            raise argparse.ArgumentTypeError(f"{text!r} is not {allowed}")
        return value

    return read
