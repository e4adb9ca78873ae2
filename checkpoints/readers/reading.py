"""What a package says beside its weights, as every reader of packages gives it; and strict reading of its members."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeGuard

from checkpoints.files import PackageError
from checkpoints.identity import model_sha256, weights_sha256
from vela_jax.backbones.registry import backbone_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vela_jax.backbones.decoder import DecoderConfig
    from vela_jax.backbones.registry import AnyConfig
    from vela_jax.families.task_heads.spec import Spec as TaskHeadsSpec
    from vela_jax.families.vela2.spec import DecoderSpec, EncoderSpec
    from vela_jax.generation.spec import GeneratorSpec

    Spec = TaskHeadsSpec | EncoderSpec | DecoderSpec | GeneratorSpec

_MAX_LAYERS: Final = 1024
_MAX_SIZE: Final = 1 << 24
_SIZES: Final = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
    "local_attention",
    "global_attn_every_n_layers",
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A package read and found sound, weights aside.

    Its identity is that of all `files` under `identity_label`, or of the files `identity_files` where it has none.
    """

    spec: Spec
    model_type: str
    backbone: AnyConfig | DecoderConfig
    weight_prefix: str | None  # of the backbone's keys; None: the same for all, whichever it is
    max_input_tokens: int
    files: tuple[str, ...]  # all that is loaded, and hashed for the identity
    identity_label: str | None
    identity_files: tuple[str, ...] = ()
    family: str = "task_heads"
    hidden_tokens: frozenset[str] = frozenset()  # added tokens that no text may give

    def identity(self, digests: Mapping[str, str]) -> str:
        """The identity of a package whose files have these digests."""
        if self.identity_label is not None:
            return model_sha256(digests, self.identity_label)
        return weights_sha256({name: digests[name] for name in self.identity_files})


@dataclass(frozen=True, slots=True)
class Members:
    """Members of a JSON object in the file `name`, read strictly: a fault names the file, the member and a remedy."""

    name: str
    values: Mapping[str, Any]

    def fail(self, key: str, allowed: str) -> NoReturn:
        """Refuse the member `key`."""
        found = f"found {self.values[key]!r}" if key in self.values else "it is missing"
        raise PackageError(f"{self.name}: {key} must be {allowed}; {found}. Correct the file or fetch it again")

    def integer(self, key: str, minimum: int, maximum: int | None = None) -> int:
        """A required integer within bounds."""
        value = self.values.get(key)
        if not is_integer(value) or value < minimum or (maximum is not None and value > maximum):
            bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
            self.fail(key, f"an integer {bounds}")
        return value

    def number(self, key: str) -> float:
        """A required finite number."""
        value = self.values.get(key)
        if not is_number(value):
            self.fail(key, "a finite number")
        return float(value)

    def choice(self, key: str, allowed: tuple[Any, ...], default: Any = None) -> Any:
        """One of the allowed values; an absent or null member stands for `default`."""
        value = self.values.get(key)
        value = default if value is None else value
        if not any(value == item and type(value) is type(item) for item in allowed):
            self.fail(key, " or ".join(repr(item) for item in allowed))
        return value

    def section(self, key: str) -> Members | None:
        """An object, or None when it is absent or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fail(key, "an object")
        return Members(f"{self.name}: {key}", value)


def read_backbone(model_type: str, config: Mapping[str, Any]) -> AnyConfig:
    """The backbone's config, its sizes within what a machine can hold. Raises PackageError or ConfigError.

    Sizes are bounded first: a backbone lists its layers, and a wrong number must not use up the memory.
    """
    check_sizes(config)
    return backbone_config(model_type, config)


def check_sizes(config: Mapping[str, Any]) -> None:
    """Refuse sizes beyond what a machine can hold. Raises PackageError."""
    members = Members("config.json", config)
    for key in _SIZES:
        if is_integer(config.get(key)):
            members.integer(key, 1, _MAX_LAYERS if key == "num_hidden_layers" else _MAX_SIZE)


def is_integer(value: Any) -> TypeGuard[int]:
    """True for a JSON integer; a boolean is none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[int | float]:
    """True for a JSON number that is finite as a double."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
