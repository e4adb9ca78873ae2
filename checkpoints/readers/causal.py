"""Packages that generate text: Qwen3 and Llama folders in the Hugging Face layout (token-in/token-out contract, 13)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from checkpoints.files import PackageError
from checkpoints.readers import generator
from checkpoints.readers.reading import Reading, check_sizes, is_integer
from vela_jax.backbones.decoder import ARCHITECTURES, DecoderConfig
from vela_jax.generation.spec import FAMILY, EngineOptions, GeneratorSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.files import PackageFolder
    from vela_jax.generation.profile import Profile

WEIGHTS: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"
IDENTITY: Final = "causal-lm/1"
DOWNLOAD_PATTERNS: Final = (
    *generator.FILES,
    f"{generator.TEMPLATES_FOLDER}/*.jinja",
    WEIGHTS,
    INDEX,
    "model-*-of-*.safetensors",
)


def detect(folder: PackageFolder, config: Mapping[str, Any]) -> bool:
    """True for a causal language model that is no embedder."""
    wanted = ARCHITECTURES.get(str(config.get("model_type")))
    return wanted is not None and config.get("architectures") == [wanted] and not folder.has("modules.json")


def read(folder: PackageFolder, config: Mapping[str, Any], options: Mapping[str, Any]) -> Reading:
    """Read a detected package. Raises PackageError or ConfigError naming the file and the fault."""
    check_sizes(config)
    backbone = DecoderConfig.from_package(config)
    folder.require(("config.json", "tokenizer.json"))
    profile = _bounded(generator.read_profile(folder, generator.ParserOptions.from_mapping(options)), options)
    if profile.vocabulary.max_id >= backbone.vocab_size:
        raise PackageError(
            f"tokenizer.json has ids up to {profile.vocabulary.max_id}, vocab_size of config.json is "
            f"{backbone.vocab_size}: the two files belong to different packages"
        )
    templates = [name for name in folder.names() if name.startswith(f"{generator.TEMPLATES_FOLDER}/")]
    named = [name for name in (*generator.FILES, INDEX, *templates) if folder.has(name)]
    return Reading(
        spec=GeneratorSpec(profile=profile, options=read_options(options)),
        model_type=str(config["model_type"]),
        backbone=backbone,
        weight_prefix=None,
        max_input_tokens=profile.max_model_len,
        files=(*named, *weight_files(folder)),
        identity_label=IDENTITY,
        family=FAMILY,
    )


def weight_files(folder: PackageFolder) -> tuple[str, ...]:
    """The checkpoint files: one, or those that the index names."""
    if not folder.has(INDEX):
        folder.require((WEIGHTS,))
        return (WEIGHTS,)
    names = folder.json_object(INDEX).get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        raise PackageError(f"{INDEX}: weight_map must be an object of file names by tensor: fetch the file again")
    files = tuple(sorted(set(names.values())))
    folder.require(files)
    return files


def read_options(options: Mapping[str, Any]) -> EngineOptions:
    """The engine's part of a models file entry's options; those of other parts are left alone. Raises PackageError."""
    names = {field.encode_name for field in msgspec.structs.fields(EngineOptions)}
    try:
        engine = msgspec.convert({name: value for name, value in options.items() if name in names}, EngineOptions)
    except msgspec.ValidationError as error:
        raise PackageError(f"options: {error}") from error
    if engine.max_num_seqs < 1 or engine.max_queued < 0 or not 0 < engine.kv_cache_gib < 1 << 20:
        raise PackageError("options: max_num_seqs must be at least 1, max_queued 0 or more, kv_cache_gib above 0")
    return engine


def _bounded(profile: Profile, options: Mapping[str, Any]) -> Profile:
    """The profile with the lengths and counts that the operator allows."""
    limit = options.get("max_model_len", profile.max_model_len)
    if not is_integer(limit) or not 2 <= limit <= profile.max_model_len:
        raise PackageError(f"option max_model_len must be an integer from 2 to {profile.max_model_len}, got {limit!r}")
    count = options.get("max_logprobs", profile.max_logprobs)
    if not is_integer(count) or count < -1:
        raise PackageError(f"option max_logprobs must be an integer of at least -1, got {count!r}")
    return replace(profile, max_model_len=limit, max_logprobs=count)
