"""Embedder packages: pooling, modules, exits, dimensions and prompts (Vela 1.0 format, section 12.1)."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from checkpoints.files import PackageError
from checkpoints.identity import TASK_HEADS
from checkpoints.readers.classifier import FIVE_FILES
from checkpoints.readers.reading import Members, Reading, read_backbone
from vela_jax.families.task_heads.spec import PooledSpec
from vela_jax.heads.pooling import Pooling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder

POOLING: Final = "1_Pooling/config.json"
MODULES: Final = "modules.json"
PROMPTS: Final = "config_sentence_transformers.json"
CONTRACT: Final = "representation_contract"
WEIGHTS_DATA: Final = "onnx/weights.data"
LAST_GRAPH: Final = "onnx/model.onnx"
_GRAPH: Final = re.compile(r"onnx/model_layer_([0-9]+)\.onnx")
_NEEDED: Final = ("config.json", "model.safetensors", "tokenizer.json")
_DIMENSIONS: Final = (768, 512, 256, 128, 64)
_INPUT_TYPES: Final = ("document", "query")
_MODES: Final = MappingProxyType(
    {
        "pooling_mode_mean_tokens": Pooling.MEAN,
        "pooling_mode_cls_token": Pooling.CLS,
        "pooling_mode_lasttoken": Pooling.LAST_TOKEN,
    }
)
_OTHER_MODES: Final = (
    "pooling_mode_max_tokens",
    "pooling_mode_mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens",
)
_LIBRARY: Final = "sentence_transformers.models."
# Modules of the library that change a vector are known by name; those of the package's own are what its format allows.
_SERVED_MODULES: Final = tuple(_LIBRARY + name for name in ("Transformer", "Pooling", "Normalize", "Dropout"))


def has_files(folder: PackageFolder) -> bool:
    """True when the files that make a package an embedder exist (section 1)."""
    return folder.has(POOLING) and folder.has(MODULES)


def read(folder: PackageFolder, config: Mapping[str, Any]) -> Reading:
    """Read an embedder with a ModernBERT or Qwen3 backbone."""
    members = Members("config.json", config)
    backbone = read_backbone(str(config["model_type"]), config)
    layers = backbone.num_hidden_layers
    pooling = read_pooling(folder, backbone.hidden_size)
    contract = members.section(CONTRACT)
    final_norm_exits = _read_contract(contract, pooling) if contract else False
    graphs = _find_graphs(folder, layers)
    folder.require(_NEEDED)
    smaller = tuple(size for size in _DIMENSIONS if size < backbone.hidden_size) if contract else ()
    spec = PooledSpec(
        pooling=pooling,
        dimensions=(backbone.hidden_size, *smaller),
        layers=tuple(sorted({*graphs, layers})),
        normalized=read_modules(folder),
        final_norm_exits=final_norm_exits,
        prompts=read_prompts(folder),
    )
    return Reading(
        spec=spec,
        model_type=str(config["model_type"]),
        backbone=backbone,
        weight_prefix="",
        max_input_tokens=backbone.max_position_embeddings,
        files=(*_present(folder, (*FIVE_FILES, POOLING, MODULES, PROMPTS)), *with_data(folder, graphs.values())),
        identity_label=TASK_HEADS,
    )


def read_pooling(folder: PackageFolder, hidden_size: int) -> Pooling:
    """The pooling mode: exactly one of mean, cls and last token, and the backbone's width."""
    members = Members(POOLING, folder.json_object(POOLING))
    for key in (*_MODES, *_OTHER_MODES):
        members.choice(key, (True, False), default=False)
    for key in _OTHER_MODES:
        members.choice(key, (False,), default=False)
    chosen = [mode for key, mode in _MODES.items() if members.values.get(key)]
    if len(chosen) != 1:
        raise PackageError(f"{POOLING}: exactly one of {', '.join(_MODES)} must be true, found {len(chosen)}")
    members.choice("word_embedding_dimension", (hidden_size,), default=hidden_size)
    return chosen[0]


def module_types(folder: PackageFolder) -> list[str]:
    """The types that `modules.json` lists, in order."""
    listed = folder.json(MODULES)
    if not isinstance(listed, list) or not all(
        isinstance(module, dict) and isinstance(module.get("type"), str) for module in listed
    ):
        raise PackageError(f"{MODULES} must be a list of objects with a type: fetch the file again")
    return [module["type"] for module in listed]


def read_modules(folder: PackageFolder) -> bool:
    """True when vectors are normalized. A library module that changes vectors in another way is refused."""
    types = module_types(folder)
    wrong = [name for name in types if name.startswith(_LIBRARY) and name not in _SERVED_MODULES]
    if wrong:
        raise PackageError(f"{MODULES}: {', '.join(wrong)} is not served; served are {', '.join(_SERVED_MODULES)}")
    return _LIBRARY + "Normalize" in types


def read_prompts(folder: PackageFolder) -> Mapping[str, str]:
    """Prompts of the input types `document` and `query`, where the package has them."""
    if not folder.has(PROMPTS):
        return MappingProxyType({})
    prompts = Members(PROMPTS, folder.json_object(PROMPTS)).section("prompts")
    if prompts is None:
        return MappingProxyType({})
    for key in _INPUT_TYPES:
        if not isinstance(prompts.values.get(key, ""), str):
            prompts.fail(key, "a string")
    return MappingProxyType({key: prompts.values[key] for key in _INPUT_TYPES if key in prompts.values})


def with_data(folder: PackageFolder, graphs: Any) -> tuple[str, ...]:
    """Graph files, and the data file that they share when there is one."""
    names = tuple(graphs)
    return (*names, WEIGHTS_DATA) if names and folder.has(WEIGHTS_DATA) else names


def _read_contract(contract: Members, pooling: Pooling) -> bool:
    """Check the representation contract; true when intermediate exits go through the final norm."""
    contract.choice("version", (1,))
    contract.choice("final_normalization", ("final_norm",))
    contract.choice("pooling", ("attention_mask_mean",))
    contract.choice("pooling_accumulation_dtype", ("float32",))
    contract.choice("truncate_before_l2_normalize", (True,))
    if pooling is not Pooling.MEAN:
        raise PackageError(f"{POOLING}: {CONTRACT} of config.json asks for mean pooling, found {pooling}")
    return bool(contract.choice("intermediate_normalization", ("none", "final_norm")) == "final_norm")


def _find_graphs(folder: PackageFolder, layers: int) -> dict[int, str]:
    """Exit graphs by layer; their names decide which exits are served."""
    found = {int(match[1]): name for name in folder.names() if (match := _GRAPH.fullmatch(name))}
    wrong = sorted(layer for layer in found if not 1 <= layer <= layers)
    if wrong:
        raise PackageError(f"{found[wrong[0]]}: config.json has layers 1 to {layers}; remove the file")
    if folder.has(LAST_GRAPH):
        found[layers] = LAST_GRAPH
    return found


def _present(folder: PackageFolder, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if folder.has(name))
