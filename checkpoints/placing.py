"""Where parameters lie, and in what precision: on one device or split over a mesh, in FP32 or with BF16 kernels."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vela_jax.backbones.decoder import DecoderConfig
    from vela_jax.backbones.registry import AnyConfig
    from vela_jax.forward.engine_args import Precision

Place: TypeAlias = jax.Device | Mesh | None  # None: the first device

TENSOR: Final = "tensor"
"""The axis of a mesh over which heads and channels are split."""

SPLIT_AXES: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"), 0),
        **dict.fromkeys(("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"), 0),
        **dict.fromkeys(("o_proj", "down_proj", "out_proj"), 1),
        "embed_tokens": 1,
    }
)
"""Axis over which a backbone's kernel [F D] is split: what leads into heads and channels by its outputs, what leads out
of them by its inputs. A token table is split by its features. The rest is small and every device holds it whole."""

_SPLIT_FIELDS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "qwen3": ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads"),
        "qwen3_5_text": (
            *("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads"),
            *("linear_num_key_heads", "linear_num_value_heads"),
        ),
    }
)
"""Sizes of a backbone that the number of devices must divide, by its model_type."""


def mesh_of(devices: Sequence[jax.Device]) -> Mesh:
    """The mesh of a split model."""
    return Mesh(list(devices), (TENSOR,), axis_types=(AxisType.Auto,))


def check_split(model_type: str, backbone: AnyConfig | DecoderConfig, count: int) -> None:
    """Refuse a number of devices over which a backbone cannot be split. Raises ValueError."""
    if model_type not in _SPLIT_FIELDS:
        allowed = ", ".join(_SPLIT_FIELDS)
        raise ValueError(
            f"engine_args.mesh: a {model_type} backbone runs on one device, only {allowed} is split: leave mesh out"
        )
    sizes = {field: int(getattr(backbone, field)) for field in _SPLIT_FIELDS[model_type]}
    wrong = [f"{field} ({size})" for field, size in sizes.items() if size % count]
    if wrong:
        common = math.gcd(*sizes.values())
        allowed = ", ".join(str(number) for number in range(1, common + 1) if common % number == 0)
        raise ValueError(
            f"engine_args.mesh.tensor is {count}, which does not divide {', '.join(wrong)} of the package: "
            f"choose one of {allowed}"
        )


def placed(place: Place, path: Sequence[Any], shape: tuple[int, ...]) -> Sharding:
    """Where the parameter at `path` lies."""
    if not isinstance(place, Mesh):
        return SingleDeviceSharding(jax.devices()[0] if place is None else place)
    axis = SPLIT_AXES.get(str(path[-2])) if _is_table(path, shape) else None
    return NamedSharding(place, PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, TENSOR))


def in_precision(abstract: Any, precision: Precision) -> Any:
    """An abstract param tree with the backbone's kernels and token tables in `precision`, everything else in FP32."""
    if precision == "float32":
        return abstract
    dtype = jnp.dtype(precision)
    flat = nnx.to_flat_state(abstract)
    return nnx.from_flat_state(
        [(path, _cast(leaf, dtype) if _is_table(path, leaf.shape) else leaf) for path, leaf in flat]
    )


def _cast(leaf: Any, dtype: Any) -> Any:
    return leaf.replace(jax.ShapeDtypeStruct(leaf.shape, dtype))


def _is_table(path: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether a leaf is a kernel or a token table of the backbone."""
    return path[0] == "backbone" and path[-1] == "weight" and len(shape) == 2
