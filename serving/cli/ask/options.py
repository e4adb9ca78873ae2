"""What the `ask` command takes. Imports nothing heavy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

SURFACES: Final = ("classify", "decisions", "embeddings", "rerank")
QUESTION_FLAGS: Final = ("choice", "noul", "score", "set", "span", "preset")
EXAMPLES: Final = """\
TEXT may be @FILE (@@ stands for an @ at the start) or - for standard input, which is read when there is no TEXT.

  vela ask 'A cat sleeps.' 'A kitten naps.'                            similarities, by a default model
  vela ask --url http://127.0.0.1:8100 @mail.txt --noul 'This is urgent'
  vela ask --model FOLDER @mail.txt --choice 'topic: What is it about? | bill: an invoice | other'
  vela ask --model FOLDER @mail.txt --score 'How polite is it? | rude | neutral | polite' --span 'Who? | person'
  vela ask --model FOLDER --part context=@source.txt --part answer='It was in 1889.' --preset halu
  vela ask --model FOLDER --query 'How do I log in?' @one.txt @two.txt
"""
_FORMS: Final = {
    "choice": ("'[ID:] TEXT | KEY[: WHAT] | ...'", "one of several keys"),
    "noul": ("'[ID:] TEXT [| false: WHAT] [| true: WHAT]'", "how likely it is true"),
    "score": ("'[ID:] TEXT | LEVEL | LEVEL ...'", "a level, the lowest first"),
    "set": ("'[ID:] TEXT | LABEL[: WHAT] | ...'", "each label that holds"),
    "span": ("'[ID:] TEXT | LABEL[: WHAT] | ...'", "places in the text"),
    "preset": ("'[ID:] NAME'", "a question that the model was trained for"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what is asked and of whom; the options of packages are not among them."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EXAMPLES
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="the state, or what to classify, embed or rank")
    parser.add_argument("--url", metavar="URL", help="ask this server (http:, https: or unix:PATH); else in process")
    parser.add_argument(
        "--model", metavar="MODEL", help="what to load (default: one of our own for what is asked); a served name"
    )
    parser.add_argument("--revision", metavar="SHA", help="commit of the MODEL to load")
    parser.add_argument("--device", default="auto", help="auto, or an accelerator with an optional :N (default auto)")
    parser.add_argument("--surface", choices=SURFACES, help="default: what the options and the model call for")
    parser.add_argument("--json", action="store_true", dest="raw", help="print the answer as it came")
    _add_request_options(parser)
    _add_question_options(parser)


def _add_request_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the request")
    group.add_argument("--part", action="append", default=[], metavar="NAME=TEXT", help="member of an object state")
    group.add_argument("--query", metavar="TEXT", help="rank the TEXTs as documents for this query")
    group.add_argument(
        "--option", action="append", default=[], metavar="NAME=JSON", help="request option, as in threshold=0.3"
    )


def _add_question_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("questions about the state (repeatable; \\| is a bar that separates nothing)")
    for kind in QUESTION_FLAGS:
        form, text = _FORMS[kind]
        group.add_argument(f"--{kind}", action=_Ask, dest="questions", default=[], metavar=form, help=f"ask for {text}")
    group.add_argument("--questions", dest="question_file", type=Path, metavar="FILE", help="questions as JSON by ID")


class _Ask(argparse.Action):
    """Keeps questions of all kinds in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        kept = list(getattr(namespace, self.dest))
        setattr(namespace, self.dest, [*kept, (str(option_string).removeprefix("--"), str(values))])
