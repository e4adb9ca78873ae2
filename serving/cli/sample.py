"""A request to try, printed when a server is ready."""

from __future__ import annotations

import json
import shlex
from typing import Any

from serving.golden import cases
from serving.models import ServedModel


def sample_request(url: str, served: ServedModel, single: bool) -> str:
    """A shell command that asks a ready model what it serves; the model is named where several are served."""
    loaded = served.loaded
    if loaded is None:
        raise ValueError(f"{served.id} is not loaded")
    surface, body = next(cases(loaded.description))
    named: dict[str, Any] = body if single else {"model": served.id, **body}
    words = ["curl", "-s", *_target(url, f"/v1/{surface}"), "-d", json.dumps(named, ensure_ascii=False)]
    return f"try it:\n  {shlex.join(words)}"


def _target(url: str, path: str) -> list[str]:
    """Arguments of curl for a URL of the server, which may be that of a Unix socket."""
    socket = url.removeprefix("unix:")
    return [url + path] if socket == url else ["--unix-socket", socket, f"http://localhost{path}"]
