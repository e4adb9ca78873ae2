"""Texts of a command line: as they stand, from files, from standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from serving.cli.failure import CommandFailed


class TextReader:
    """Reads the texts that arguments stand for; standard input is read once at the most."""

    def __init__(self, stdin: BinaryIO | None = None) -> None:
        self._stdin = stdin if stdin is not None else sys.stdin.buffer
        self._used = False

    def read(self, argument: str) -> str:
        """The text of an argument. Raises CommandFailed for a file that cannot be read."""
        if argument == "-":
            return self._read_stdin()
        if argument.startswith("@@"):
            return argument[1:]
        if argument.startswith("@"):
            return read_file(Path(argument[1:]))
        return argument

    def read_all(self, arguments: Sequence[str]) -> list[str]:
        """The texts of all arguments; without one, standard input unless it is a terminal."""
        if arguments:
            return [self.read(argument) for argument in arguments]
        return [] if self._stdin.isatty() else [self._read_stdin()]

    def _read_stdin(self) -> str:
        if self._used:
            raise CommandFailed("standard input can be read once: give '-' to one text only")
        self._used = True
        return decode(self._stdin.read(), "standard input").removesuffix("\n")


def read_file(path: Path) -> str:
    """A text file without its last line break. Raises CommandFailed."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror or error}") from error
    return decode(content, str(path)).removesuffix("\n")


def decode(content: bytes, name: str) -> str:
    """UTF-8 bytes as text. Raises CommandFailed naming where they came from."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{name} is no UTF-8 text: byte {error.start} fits no character") from error
