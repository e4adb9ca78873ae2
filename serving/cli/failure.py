"""How a command ends when it cannot do what it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CommandFailed(Exception):
    """The message is the one line that the user reads."""


@contextmanager
def failing_on(*errors: type[Exception]) -> Iterator[None]:
    """Turn errors that speak to the user into the end of the command."""
    try:
        yield
    except errors as error:
        raise CommandFailed(" ".join(str(error).split())) from error
