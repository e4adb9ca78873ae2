"""Times of one request and the `Server-Timing` header (HTTP contract, section 5)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Timing:
    """Instants of one request on the monotonic clock, in seconds; None where a phase did not happen.

    `forward` is a duration: the sum of the forwards that ran rows of the request, readout included.
    """

    started: float = field(default_factory=time.monotonic)
    received: float | None = None
    planned: float | None = None
    submitted: float | None = None
    last_forward_end: float | None = None
    forward: float = 0.0
    answered: float | None = None
    assembled: float | None = None
    serialize: float = 0.0

    def header(self, ended: float) -> str:
        """Seven entries in the contract's order, milliseconds with three decimals."""
        phases = {
            "parse": _between(self.started, self.received),
            "tokenize": _between(self.received, self.planned),
            "queue": self._queue(),
            "forward": self.forward,
            "post": _between(self.answered, self.assembled),
            "serialize": self.serialize,
            "total": ended - self.started,
        }
        return ", ".join(f"{name};dur={1000 * seconds:.3f}" for name, seconds in phases.items())

    def _queue(self) -> float:
        """Waiting for the model before the first forward and between forwards; not while another model's part of a
        bundle is planned.
        """
        end = self.last_forward_end if self.last_forward_end is not None else self.answered
        if self.submitted is None or end is None:
            return 0.0
        start = self.submitted if self.planned is None else max(self.submitted, self.planned)
        return max(0.0, end - start - self.forward)


def _between(start: float | None, end: float | None) -> float:
    return 0.0 if start is None or end is None else max(0.0, end - start)
