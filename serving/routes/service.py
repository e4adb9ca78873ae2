"""What the routes need of the process behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from serving.received import Endpoint, Received
from serving.timing import Timing

if TYPE_CHECKING:
    from serving.generation import Generator
    from serving.text_side import TextSide


class Service(Protocol):
    """The models by name, ready or not, and the answers they give."""

    def check_ready_if_single(self) -> None:
        """Raise RequestFailed (`not_ready`) when exactly one model is served and it is not ready."""

    async def answer(self, endpoint: Endpoint, call: Received, timing: Timing) -> dict[str, Any]:
        """Answer a decoded request with the body of the response.

        Fills in the phases of `timing` after `received`. Raises RequestFailed.
        Cancelling the task that awaits this cancels its jobs.
        """

    def text_side(self, name: str | None) -> TextSide:
        """Give what renders and derenders for a model. Raises RequestFailed. May be called from any thread."""

    def generator(self, name: str | None) -> Generator:
        """Give what generates for a model. Raises RequestFailed."""

    def model_cards(self) -> list[dict[str, Any]]:
        """Give the cards of the served models in load order."""

    def model_list(self) -> dict[str, Any]:
        """Give the body of `GET /v1/models`."""

    def health(self) -> tuple[int, dict[str, Any]]:
        """Give status and body of `GET /health`."""

    def liveness(self) -> dict[str, Any]:
        """Give the body of `GET /health/live`."""

    async def stop(self) -> None:
        """Refuse new work, wait for the running forward, close the models."""


class Metrics(Protocol):
    """The counters of the process."""

    def request_done(self, endpoint: str, status: int, seconds: float) -> None:
        """Count one call of a POST surface, 499 for a client that left."""

    def render(self) -> bytes:
        """Give the exposition text, version 0.0.4."""
