"""How a running model is asked its readiness requests: as a client asks it, without a deadline."""

from __future__ import annotations

from typing import Any

from serving import golden
from serving.decisions import task_of
from serving.live import LiveModel
from serving.models import ServedModel
from serving.task import Found, answered
from serving.timing import Timing
from vela_jax.contract import Surface
from vela_jax.surfaces.reading import read_request


def asking(served: ServedModel, live: LiveModel) -> golden.Ask:
    """Give the function that asks; the answer comes without the name of the model."""

    async def ask(surface: Surface, body: dict[str, Any]) -> dict[str, Any]:
        task = task_of(surface, Found(served, live, read_request(surface, body), None), {}, set())
        (outcomes,) = await live.answer_all([task], Timing(), 0)
        if isinstance(outcomes, Exception):
            raise outcomes
        return answered(outcomes[0]).body

    return ask
