"""Multimodal feature objects of a generate request, as far as their form goes (token-in/token-out, section 3)."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from vela_jax.generation.refusals import BadBody

WHERE = "features"


class PlaceholderRange(msgspec.Struct, frozen=True):
    """Where in the prompt the tokens of one item stand."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """Behind the last token."""
        return self.offset + self.length


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """Items by modality; the data is base64 text that a text model never opens."""

    mm_hashes: dict[str, list[str]]
    mm_placeholders: dict[str, list[PlaceholderRange]]
    kwargs_data: dict[str, list[str | None]] | None = None
    mm_metadata: dict[str, list[str | None]] | None = None

    def check(self, token_count: int, *, has_encoder_cache: bool) -> None:
        """Refuse members that do not fit each other or the prompt. Raises BadBody.

        `has_encoder_cache` says whether the request names a cache from which embeddings come.
        """
        self._check_shapes()
        self._check_ranges(token_count)
        if not has_encoder_cache:
            self._check_data()

    def _check_shapes(self) -> None:
        members = {"mm_placeholders": self.mm_placeholders, "kwargs_data": self.kwargs_data}
        for name, member in {**members, "mm_metadata": self.mm_metadata}.items():
            if member is None:
                continue
            if member.keys() != self.mm_hashes.keys():
                raise BadBody(f"{WHERE}.{name} must have the modalities of mm_hashes: {_few(self.mm_hashes)}", WHERE)
            for modality, items in member.items():
                wanted = len(self.mm_hashes[modality])
                if len(items) != wanted:
                    place = f"{WHERE}.{name}.{modality[:80]}"
                    raise BadBody(f"{place} must have {wanted} items like mm_hashes, got {len(items)}", WHERE)

    def _check_ranges(self, token_count: int) -> None:
        ranges = sorted(
            (each for items in self.mm_placeholders.values() for each in items),
            key=lambda each: (each.offset, each.end),
        )
        for each in ranges:
            if each.offset < 0 or each.length <= 0:
                raise BadBody(
                    f"{WHERE}.mm_placeholders: offset must be at least 0 and length at least 1, "
                    f"got {each.offset} and {each.length}",
                    WHERE,
                )
            if each.end > token_count:
                raise BadBody(
                    f"{WHERE}.mm_placeholders: {each.offset} to {each.end} lies outside the {token_count} token_ids",
                    WHERE,
                )
        for before, after in pairwise(ranges):
            if after.offset < before.end:
                raise BadBody(f"{WHERE}.mm_placeholders: ranges overlap at token {after.offset}", WHERE)

    def _check_data(self) -> None:
        """An item of which only metadata is known has its embeddings nowhere."""
        for modality, items in (self.mm_metadata or {}).items():
            data = (self.kwargs_data or {}).get(modality, [None] * len(items))
            if any(known is not None and held is None for known, held in zip(items, data, strict=True)):
                raise BadBody(
                    f"{WHERE}.mm_metadata.{modality[:80]}: an item without kwargs_data needs ec_transfer_params", WHERE
                )


def _few(names: dict[str, list[str]]) -> list[str]:
    return [name[:80] for name in sorted(names)[:16]]
