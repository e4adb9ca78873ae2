"""Family options of a models file: layer exits and scorers (HTTP contract, section 16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checkpoints.files import PackageError
from vela_jax.families.task_heads.spec import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class TaskHeadsOptions:
    """The options that this family honours.

    Every declared exit is served, so `layers` and `pair_scorers` only have to be of the right shape.
    """

    pair_scorer: Exit | None = None  # the default exit of a reranker

    @classmethod
    def from_mapping(cls, options: Mapping[str, Any]) -> TaskHeadsOptions:
        """Read the options of a models file entry; options of other families are ignored. Raises PackageError."""
        layers = options.get("layers")
        if layers is not None and not (_is_layer(layers) or (isinstance(layers, list) and all(map(_is_layer, layers)))):
            raise PackageError(f"option layers must be a layer number or a list of them, found {layers!r}")
        scorers = options.get("pair_scorers")
        if scorers is not None:
            if not isinstance(scorers, list):
                raise PackageError(f"option pair_scorers must be a list, found {scorers!r}")
            for index, scorer in enumerate(scorers):
                _read_exit(scorer, f"pair_scorers[{index}]")
        scorer = options.get("pair_scorer")
        return cls(None if scorer is None else _read_exit(scorer, "pair_scorer"))


def _is_layer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _read_exit(value: Any, name: str) -> Exit:
    if not isinstance(value, dict) or set(value) != {"layer", "dimension"} or not all(map(_is_layer, value.values())):
        raise PackageError(
            f"option {name} must be an object with the positive integers layer and dimension, found {value!r}"
        )
    return Exit(value["layer"], value["dimension"])
