"""One call as the endpoints hand it on: which endpoint, its decoded body, and what came beside the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from serving.body_size import encoded_size
from serving.live import LARGE


class Endpoint(StrEnum):
    """What a POST endpoint asks of the process; its path is `/v1/` and this name."""

    CLASSIFY = "classify"
    EMBEDDINGS = "embeddings"
    RERANK = "rerank"
    DECISIONS = "decisions"
    SYSTEMONE = "systemone"
    SYSTEMONE_BATCH = "systemone/batch"
    BUNDLE = "bundle"

    @property
    def path(self) -> str:
        """Where it is asked."""
        return f"/v1/{self.value}"

    @property
    def is_systemone(self) -> bool:
        """Whether it reads and refuses in the System One schema of the process."""
        return self in (Endpoint.SYSTEMONE, Endpoint.SYSTEMONE_BATCH)

    @property
    def reads_forms(self) -> bool:
        """Whether it reads multipart bodies."""
        return self in (Endpoint.DECISIONS, Endpoint.SYSTEMONE, Endpoint.SYSTEMONE_BATCH, Endpoint.BUNDLE)


@dataclass(frozen=True, slots=True)
class Received:
    """A decoded body, the parts of a multipart one, and whether a header allows long inputs."""

    body: Any
    parts: Mapping[str, bytes] = field(default_factory=dict)
    long_context: bool = False

    @property
    def size(self) -> int:
        """About its encoded bytes, counted until there are more than `LARGE`."""
        return encoded_size(self.body, LARGE) + sum(map(len, self.parts.values()))
