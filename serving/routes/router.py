"""Exact matching of paths, and the answers where nothing matches (HTTP contract, section 1)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from blacksheep import Request, Response
from blacksheep.server.routing import Route, RouteMatch, Router

from serving.http.errors import invalid
from serving.http.responses import error_response

Handler = Callable[[Request], Awaitable[Response]]

_READS: Final = ("GET", "HEAD")
_METHODS: Final = (*_READS, "POST")


class ExactRoute(Route):
    """A route whose path must be met exactly: letter case and a final slash count."""

    def match_by_path(self, path: bytes) -> RouteMatch | None:
        """Match a path as it came, with its percent signs."""
        if not self.has_params:
            return RouteMatch(self, {}) if path == self.pattern else None
        match = None if path.endswith(b"/") else self.rx.fullmatch(path)
        return RouteMatch(self, match.groupdict()) if match else None

    def _get_regex_for_pattern(self, pattern: bytes) -> tuple[re.Pattern[bytes], list[bytes]]:
        lenient, names = super()._get_regex_for_pattern(pattern)
        return re.compile(lenient.pattern.removesuffix(b"/?$")), names


class ExactRouter(Router):
    """A router of exact routes that answers what none of them meets."""

    def __init__(self) -> None:
        super().__init__()
        self.fallback = _unmatched(self)

    def add_read(self, path: str, handler: Handler) -> None:
        """Add a route that answers GET, and HEAD with the same headers."""
        for method in _READS:
            self.add(method, path, handler)

    def create_route(self, pattern: str | bytes, handler: Any, filters: Any = None) -> Route:
        """Make a route of the exact kind."""
        del filters  # this router is used without filters
        return ExactRoute(pattern, handler)

    def get_match(self, request: Request) -> RouteMatch | None:
        """Find the route of a request; what is unknown is looked up anew each time, so it takes no memory."""
        path: bytes = request._path  # type: ignore[attr-defined]
        return self.find(request.method, path) or RouteMatch(self.fallback, {})

    def find(self, method: str, path: bytes) -> RouteMatch | None:
        """Find the route of a method and path, if any."""
        for route in self.routes.get(method.encode(), ()):
            match = route.match_by_path(path)
            if match is not None:
                return match
        return None


def _unmatched(router: ExactRouter) -> Handler:
    """Make the handler that answers 405 for a known path, 307 for the slash behind a path to read, else 404."""

    async def handle(request: Request) -> Response:
        path: bytes = request._path  # type: ignore[attr-defined]
        allowed = [method for method in _METHODS if router.find(method, path)]
        if allowed:
            message = f"{request.path} does not take {request.method}; it takes {' and '.join(allowed)}"
            return error_response(invalid(message, status=405), [(b"allow", ", ".join(allowed).encode())])
        shorter = path.removesuffix(b"/")
        if request.method in _READS and shorter != path and router.find("GET", shorter):
            query: bytes = request.scope["query_string"]
            return Response(307, [(b"location", shorter + (b"?" + query if query else b""))])
        return error_response(invalid(f"there is no endpoint {request.path}", status=404))

    return handle
