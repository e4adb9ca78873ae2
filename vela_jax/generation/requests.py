"""A generate request: its members, and the rules among them (token-in/token-out contract, section 2)."""

from __future__ import annotations

import uuid
from typing import Any, Literal

import msgspec

from vela_jax.generation.features import Features
from vela_jax.generation.refusals import BadBody, read_record
from vela_jax.generation.rendering.checks import check_salt
from vela_jax.generation.rendering.requests import StreamOptions
from vela_jax.generation.sampling_params import SamplingParams


class GenerateRequest(msgspec.Struct, kw_only=True):
    """A request as it came; members that are not known are ignored."""

    token_ids: list[int]
    sampling_params: SamplingParams
    request_id: str = msgspec.field(default_factory=lambda: uuid.uuid4().hex)
    token_offsets: list[tuple[int, int]] | None = None
    features: Features | None = None
    content_parts: list[dict[str, Any]] | None = None
    model: str | None = None
    return_token_ids: bool | None = None
    output_mode: Literal["tokens", "text"] = "tokens"
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    cache_salt: str | None = None
    priority: int = 0
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None

    @property
    def options(self) -> StreamOptions:
        """The stream options, defaults where none came."""
        return self.stream_options or StreamOptions()


def read_generate(body: Any) -> tuple[GenerateRequest, frozenset[str]]:
    """Read and check a decoded body; gives the names of the sampling parameters that it holds too. Raises BadBody."""
    request = read_record(body, GenerateRequest)
    if not request.token_ids:
        raise BadBody("token_ids must hold at least one id", "token_ids")
    lowest = min(request.token_ids)
    if lowest < 0:
        raise BadBody(f"token_ids must be 0 or more, got {lowest}", "token_ids")
    if request.content_parts and request.features is not None:
        raise BadBody("content_parts and features cannot both be given", "content_parts")
    if request.features is not None:
        cached = bool(request.ec_transfer_params)
        request.features.check(len(request.token_ids), has_encoder_cache=cached)
    check_salt(request.cache_salt)
    if not -(2**63) <= request.priority < 2**63:
        raise BadBody("priority must be a 64-bit integer", "priority")
    request.sampling_params.normalize()
    if request.output_mode == "text" and not request.sampling_params.detokenize:
        raise BadBody("output_mode text needs detokenize: true", "output_mode")
    return request, frozenset(body["sampling_params"])
