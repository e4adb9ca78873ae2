"""The `vela` command: one module a group of commands, loaded only when it is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from serving.cli.failure import CommandFailed
from serving.cli.parser import build_parser

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code; what goes wrong is said in one line on stderr, with exit code 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = build_parser(words).parse_args(words)
        code: int = getattr(import_module(arguments.module), arguments.function)(arguments)
    except CommandFailed as error:
        print(f"vela: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code
