"""Small pictures of numbers and texts for a terminal: bars, shades, marked spans. Foreign text cannot steer it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.text import Text

BAR_WIDTH: Final = 24
SPAN_STYLES: Final = ("black on cyan", "black on yellow", "black on green", "black on magenta", "white on blue")
CONTEXT: Final = 60  # characters shown around the spans of a long text
LONG: Final = 1500  # characters of a text that is shown whole
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(value: object) -> str:
    """Text without characters that move a cursor, colour a terminal or turn the direction of writing."""
    return _CONTROL.sub("\ufffd", str(value))


def short(value: object, width: int) -> str:
    """One line of at most `width` characters."""
    line = " ".join(clean(value).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def bar(share: float, style: str = "cyan") -> Text:
    """A bar for a share from 0 to 1, exact to an eighth of a character."""
    eighths = round(8 * BAR_WIDTH * min(1.0, max(0.0, share)))
    full, rest = divmod(eighths, 8)
    return Text(("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(BAR_WIDTH), style=style)


def percent(share: float) -> str:
    """A share as a figure."""
    return f"{100 * share:5.1f} %"


def shade(value: float) -> str:
    """Style of a similarity from -1 to 1: the closer, the brighter its ground."""
    level = round(min(1.0, max(0.0, value)) * 4)
    return ("", "on grey19", "on dark_blue", "white on blue", "black on cyan")[level]


def marked(text: str, spans: Sequence[Mapping[str, Any]]) -> Text:
    """A text with its spans in brackets and colours, each followed by its label.

    Spans count in code points; of two that overlap the first is marked. A long text is shown around its spans.
    """
    labels = sorted({str(span["label"]) for span in spans})
    shown, place = Text(), 0
    for span in sorted(spans, key=lambda each: (each["start"], -each["end"])):
        start, end = span["start"], span["end"]
        if start < place:
            continue
        shown.append(_between(text[place:start], len(text), first=place == 0))
        style = SPAN_STYLES[labels.index(str(span["label"])) % len(SPAN_STYLES)]
        shown.append(f"[{clean(text[start:end])}", style=style)
        shown.append(f" {clean(span['label'])}]", style=f"bold {style}")
        place = end
    shown.append(_between(text[place:], len(text), first=place == 0, last=True))
    return shown


def _between(text: str, whole: int, *, first: bool, last: bool = False) -> str:
    """What stands between two spans; in a long text only its ends."""
    if whole <= LONG or len(text) <= 2 * CONTEXT:
        return clean(text)
    head = "" if first and not last else text[:CONTEXT]
    tail = "" if last else text[-CONTEXT:]
    return clean(f"{head} … {tail}" if not (first and last) else f"{text[:LONG]} …")
