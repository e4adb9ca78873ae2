"""The version of the HTTP contract that this server answers."""

from __future__ import annotations

from typing import Final

API_VERSION: Final = "2.3.0"
"""`api_version` of `/health` and `info.version` of the OpenAPI document (HTTP contract, section 13)."""
