"""Reranker packages: exits, their scorers and the default exit (Vela 1.0 format, section 13.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError
from checkpoints.identity import TASK_HEADS
from checkpoints.readers.classifier import FIVE_FILES
from checkpoints.readers.embedder import CONTRACT, LAST_GRAPH, with_data
from checkpoints.readers.reading import Members, Reading, is_integer, read_backbone
from checkpoints.weights import TensorFile
from vela_jax.families.task_heads.spec import Exit, RelevanceSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder
    from checkpoints.readers.options import TaskHeadsOptions

MATRYOSHKA: Final = "matryoshka_config.json"
SCORERS: Final = "classification_heads.safetensors"
_CONTRACT: Final = {
    "version": 1,
    "pooling": "cls",
    "intermediate_normalization": "final_norm",
    "final_normalization": "final_norm",
    "head_dtype": "float32",
}


def has_files(folder: PackageFolder) -> bool:
    """True when the files that make a package a reranker exist (section 1)."""
    return folder.has(MATRYOSHKA) and folder.has(SCORERS)


def read(folder: PackageFolder, config: Mapping[str, Any], options: TaskHeadsOptions) -> Reading:
    """Read a reranker; `options.pair_scorer` replaces its default exit."""
    members = Members("config.json", config)
    if config.get("architectures") != ["ModernBertModel"]:
        members.fail("architectures", "exactly ['ModernBertModel']")
    _check_contract(members)
    backbone = read_backbone("modernbert", config)
    layers, width = backbone.num_hidden_layers, backbone.hidden_size
    declared = _read_exits(folder, layers, width)
    exits = _served(TensorFile.open(folder, SCORERS), declared)
    folder.require(FIVE_FILES)
    graphs = [name for name in (_find_graph(folder, exit_, Exit(layers, width)) for exit_ in exits) if name]
    return Reading(
        spec=RelevanceSpec(exits, _default(exits, options.pair_scorer, Exit(layers, width))),
        model_type="modernbert",
        backbone=backbone,
        weight_prefix="",
        max_input_tokens=backbone.max_position_embeddings,
        files=(*FIVE_FILES, MATRYOSHKA, SCORERS, *with_data(folder, graphs)),
        identity_label=TASK_HEADS,
    )


def _check_contract(members: Members) -> None:
    value = members.values.get(CONTRACT)
    if value != _CONTRACT or not is_integer(value["version"]):
        members.fail(CONTRACT, f"{_CONTRACT}")


def _read_exits(folder: PackageFolder, layers: int, width: int) -> tuple[Exit, ...]:
    """Declared exits, layers ascending and dimensions descending."""
    members = Members(MATRYOSHKA, folder.json_object(MATRYOSHKA))
    members.choice("hidden_size", (width,))
    members.choice("num_layers", (layers,))
    members.choice("pooling_strategy", ("cls",))
    if members.values.get("has_final_norm") is False:
        members.fail("has_final_norm", "true: every exit is read after the final norm")
    if members.values.get(CONTRACT) is not None:
        _check_contract(members)
    return tuple(
        Exit(layer, dimension)
        for layer in sorted(_read_indices(members, "layer_indices", 1, layers))
        for dimension in sorted(_read_indices(members, "dim_indices", 2, width), reverse=True)
    )


def _read_indices(members: Members, key: str, minimum: int, maximum: int) -> list[int]:
    values = members.values.get(key)
    if (
        not isinstance(values, list)
        or not values
        or not all(is_integer(value) and minimum <= value <= maximum for value in values)
        or len(set(values)) != len(values)
    ):
        members.fail(key, f"a non-empty list of different integers from {minimum} to {maximum}")
    return values


def _served(scorers: TensorFile, declared: tuple[Exit, ...]) -> tuple[Exit, ...]:
    """Declared exits whose four tensors exist; a tensor of theirs must be F32 and of the right shape."""
    served = tuple(exit_ for exit_ in declared if all(name in scorers.tensors for name in _shapes(exit_)))
    for exit_ in served:
        for name, shape in _shapes(exit_).items():
            found = scorers.tensors[name]
            if found.dtype != "F32" or found.shape != shape:
                raise PackageError(
                    f"{SCORERS}: {name} must be F32 {list(shape)}, found {found.dtype} {list(found.shape)}. "
                    "Fetch the file again"
                )
    if not served:
        raise PackageError(f"{SCORERS} has the tensors of no exit that {MATRYOSHKA} declares: fetch both files again")
    return served


def _shapes(exit_: Exit) -> dict[str, tuple[int, ...]]:
    half, key = exit_.dimension // 2, f"{exit_.layer}.{exit_.dimension}"
    return {
        f"{key}.0.weight": (half, exit_.dimension),
        f"{key}.0.bias": (half,),
        f"{key}.3.weight": (1, half),
        f"{key}.3.bias": (1,),
    }


def _default(exits: tuple[Exit, ...], wanted: Exit | None, full: Exit) -> Exit:
    default = wanted or full
    if default not in exits:
        names = ", ".join(f"{exit_.layer}/{exit_.dimension}" for exit_ in exits)
        source = "option pair_scorer" if wanted else f"{SCORERS}: the default exit"
        raise PackageError(
            f"{source} is layer {default.layer}, dimension {default.dimension}, which is not served; "
            f"served are {names}. Set option pair_scorer to one of them"
        )
    return default


def _find_graph(folder: PackageFolder, exit_: Exit, full: Exit) -> str | None:
    layer, dimension = exit_.layer, exit_.dimension
    names = [f"onnx/model_layer_{layer}_dim_{dimension}.onnx", f"onnx/layer-{layer}/dim-{dimension}/model.onnx"]
    if exit_ == full:
        names.insert(0, LAST_GRAPH)
    return next((name for name in names if folder.has(name)), None)
