"""`GET /v1/models` and `GET /v1/models/{id}` (HTTP contract, section 12)."""

from __future__ import annotations

from blacksheep import Request, Response

from serving.errors import ErrorCode, RequestFailed
from serving.http.responses import json_response
from serving.routes.router import Handler
from serving.routes.service import Service


def models(service: Service) -> Handler:
    """Make the handler that lists the cards."""

    async def handle(request: Request) -> Response:  # noqa: ARG001
        return json_response(service.model_list())

    return handle


def model(service: Service) -> Handler:
    """Make the handler that gives one card, found by its served ID or else its Hub repository ID."""

    async def handle(request: Request) -> Response:
        name = request.route_values["id"]
        cards = service.model_cards()
        for member in ("id", "repo"):
            for card in cards:
                if card.get(member) == name:
                    return json_response(card)
        served = sorted(card["id"] for card in cards)
        raise RequestFailed(ErrorCode.MODEL_NOT_FOUND, f"no model {name!r} is served; served are {served}")

    return handle
