"""The page at `/` on which a person tries the served models: one packaged file that asks this server alone."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from typing import Final

from blacksheep import Content, Request, Response

from serving.http.responses import Headers
from serving.routes.router import Handler

_INLINE: Final = r"<{tag}>(.*?)</{tag}>"


def page() -> Handler:
    """Make the handler that gives the page, under a policy that lets nothing run or load but what the file holds."""
    document = files("serving").joinpath("page.html").read_bytes()
    headers: Headers = [
        (b"content-security-policy", policy(document.decode()).encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-cache"),
    ]

    async def handle(request: Request) -> Response:  # noqa: ARG001
        return Response(200, list(headers), Content(b"text/html; charset=utf-8", document))

    return handle


def policy(document: str) -> str:
    """The content security policy of a page: its own script and style by their digests, requests to its origin."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_digests(document, 'script')}",
            f"style-src {_digests(document, 'style')}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _digests(document: str, tag: str) -> str:
    """Sources that name the inline elements of a tag."""
    contents = re.findall(_INLINE.format(tag=tag), document, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in contents)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
