"""Reading of a token-in/token-out body: JSON only, refused in the OpenAI form (token-in/token-out, section 1.1)."""

from __future__ import annotations

from typing import Any, Final

from blacksheep import Request

from serving.http.body import body_headers, read_body
from serving.http.exchange import EXCHANGE, Exchange
from vela_jax.generation.refusals import BadBody

JSON: Final = b"application/json"


async def read_json(request: Request, limit: int) -> tuple[Any, Exchange]:
    """Give the decoded body, and the exchange to watch. Raises BadBody, RequestFailed and ClientLeft."""
    exchange: Exchange = request.scope[EXCHANGE]  # type: ignore[typeddict-item]
    headers = body_headers(request.scope["headers"])
    media = (headers.content_type or b"").split(b";")[0].strip().lower()
    if media != JSON:
        found = media[:80].decode("ascii", "replace") or "none"
        raise BadBody(f"Content-Type must be application/json, got {found}")
    body, _ = await read_body(exchange, headers, limit, forms=False)
    return body, exchange
