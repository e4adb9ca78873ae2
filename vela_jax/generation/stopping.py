"""When a sequence ends (token-in/token-out contract, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Finish(StrEnum):
    """Why a sequence ended."""

    STOP = "stop"
    LENGTH = "length"
    REPETITION = "repetition"
    ABORT = "abort"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StopRules:
    """What ends a sequence by its ids: end tokens, lengths, and a repeating tail."""

    stop_ids: frozenset[int]
    max_tokens: int
    min_tokens: int
    room: int  # tokens behind the prompt that the model has places for
    pattern_sizes: range = range(0)
    pattern_count: int = 0

    def finish(self, output: Sequence[int]) -> Finish | None:
        """Say whether the last id of `output` ends the sequence."""
        if len(output) < self.min_tokens:
            return None
        if output[-1] in self.stop_ids:
            return Finish.STOP
        if len(output) >= min(self.max_tokens, self.room):
            return Finish.LENGTH
        if self._repeats(output):
            return Finish.REPETITION
        return None

    def _repeats(self, output: Sequence[int]) -> bool:
        """Whether the output ends with one pattern of ids, as often as is asked for."""
        count = self.pattern_count
        if not self.pattern_sizes:
            return False
        for size in range(self.pattern_sizes.start, min(self.pattern_sizes.stop, len(output) // count + 1)):
            tail = output[len(output) - size * count :]
            if tail[:-size] == tail[size:]:
                return True
        return False


@dataclass(slots=True)
class StopText:
    """Text as it grows, up to the first stop string in it.

    With stop strings that are left out, their possible beginnings at the end are held back from `emitted` while the
    sequence goes on.
    """

    stops: tuple[str, ...] = ()
    included: bool = False
    text: str = ""
    sent: int = 0
    stopped: bool = False

    def add(self, fresh: str, *, counts: bool) -> bool:
        """Add text; true when it ends in a stop string, at which it is cut. Text that does not count is not searched.

        Of several the match that ends first wins, then the one named first.
        """
        self.text += fresh
        if not fresh or not counts or not self.stops:
            return False
        matches = []
        for stop in self.stops:
            start = self.text.find(stop, max(0, len(self.text) + 1 - len(fresh) - len(stop)))
            if start >= 0:
                matches.append((start + len(stop), start))
        if not matches:
            return False
        end, start = min(matches, key=lambda match: match[0])
        self.text = self.text[: end if self.included else start]
        self.stopped = True
        return True

    def emit(self, *, last: bool) -> str:
        """Give the text that may go out and did not before."""
        held = 0 if last or self.included else max((len(stop) for stop in self.stops), default=1) - 1
        end = max(self.sent, len(self.text) - held)
        fresh = self.text[self.sent : end]
        self.sent = end
        return fresh
