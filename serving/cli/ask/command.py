"""The `ask` command itself: read what is asked, find who answers, ask, show."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from serving.cli.ask.remote import RemoteModel
from serving.cli.ask.request import called_for, make_request, read_asked
from serving.cli.ask.texts import TextReader
from serving.cli.environment import prepare_environment
from serving.cli.failure import CommandFailed, failing_on
from serving.devices import check_device

if TYPE_CHECKING:
    from serving.cli.ask.answering import Answering

ITEM_FAILED: Final = 1
PLAIN_WIDTH: Final = 160  # of tables that go into a file


def ask(arguments: argparse.Namespace) -> int:
    """Ask once and print the answer; 0, or 1 when a question or an item has none."""
    asked = read_asked(arguments, TextReader())  # what is wrong with it is said before a model is loaded
    with _answering(arguments) as model:
        request = make_request(asked, model.card())
        reply = model.ask(request.surface, request.body)
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    answer = json.loads(reply.content)
    from rich.console import Console

    from serving.cli.ask.show import has_failure, show

    if arguments.raw:
        print(reply.content.decode("utf-8"))
    else:
        console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)
        show(request, answer, reply.phases, console)
    return ITEM_FAILED if has_failure(answer) else 0


@contextlib.contextmanager
def _answering(arguments: argparse.Namespace) -> Iterator[Answering]:
    """Who answers: the server of `--url`, or a model in this process."""
    model = _load(arguments) if arguments.url is None else _remote(arguments)
    try:
        yield model
    finally:
        model.close()


def _remote(arguments: argparse.Namespace) -> Answering:
    if arguments.revision is not None:
        raise CommandFailed("--revision belongs to a model that is loaded here; with --url name a served model")
    return RemoteModel(arguments.url, arguments.model, called_for(arguments))


def _load(arguments: argparse.Namespace) -> Answering:
    with failing_on(ValueError):
        only_cpu = check_device(arguments.device)[0] == "cpu"
    prepare_environment(only_cpu=only_cpu)
    from serving.cli.ask.local import LocalModel
    from serving.cli.progress import open_display

    display = open_display()
    try:
        return LocalModel.load(arguments, display)
    finally:
        display.close()
