"""The tables against the networks: each rule fills a leaf, each leaf has a rule, with and without prefixes."""

from typing import Any

import pytest
from flax import nnx

from checkpoints.keymaps import BACKBONES, CLASSIFIER_HEAD, RELEVANCE_SCORERS, KeyMap, Path
from vela_jax.backbones import backbone_config, build
from vela_jax.backbones.qwen3_5 import Qwen35Config
from vela_jax.heads.classifier import ClassifierConfig, ClassifierHead
from vela_jax.heads.relevance import RelevanceScorers

SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "modernbert": {**SIZES, "norm_bias": True, "attention_bias": True, "mlp_bias": True},
    "bert": {**SIZES, "type_vocab_size": 2, "layer_norm_eps": 1e-12},
    "qwen3": {**SIZES, "num_key_value_heads": 2, "rms_norm_eps": 1e-6, "attention_bias": True},
    "qwen3_5_text": {
        **SIZES,
        "num_key_value_heads": 2,
        "attention_bias": True,
        "layer_types": ["linear_attention", "full_attention", "linear_attention"],
        "linear_num_key_heads": 1,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        "linear_conv_kernel_dim": 4,
        "rope_parameters": {"rope_theta": 1e7},
    },
}
PREFIXES = {"modernbert": "model.", "bert": "bert.", "qwen3": "model.", "qwen3_5_text": "model."}


def leaves(network: nnx.Module, attribute: str) -> set[Path]:
    flat: Any = nnx.to_flat_state(nnx.state(network))
    return {(attribute, *path) for path, _ in flat}


def filled(key_map: KeyMap, numbers: list[dict[str, int]], prefix: str = "") -> set[Path]:
    """Paths that a checkpoint with every key of the table would fill."""
    paths = set()
    for rule in key_map.rules:
        for chosen in numbers:
            key = rule.key.replace("[model.]", prefix).replace("[bert.]", prefix)
            for name, number in chosen.items():
                key = key.replace(f"{{{name}}}", str(number))
            path = key_map.param_path(key)
            assert path is not None, key
            paths.add(path)
    return paths


def is_absent(path: Path, config: Any) -> bool:
    """Whether a layer lacks what others have: the first norm of ModernBERT, the other mixer of Qwen3.5."""
    if path[1] != "layers":
        return False
    if isinstance(config, Qwen35Config):
        mixer = "linear_attn" if config.layer_types[int(path[2])] == "full_attention" else "self_attn"
        return path[3] == mixer
    return path[2:4] == (0, "attn_norm")


@pytest.mark.parametrize("model_type", sorted(BACKBONES))
@pytest.mark.parametrize("prefixed", [False, True])
def test_backbones(model_type: str, prefixed: bool) -> None:
    config = backbone_config(model_type, CONFIGS[model_type])
    expected = leaves(nnx.eval_shape(lambda: build(config, nnx.Rngs(0))), "backbone")
    prefix = PREFIXES[model_type] if prefixed else ""
    paths = filled(BACKBONES[model_type], [{"i": i} for i in range(3)], prefix)
    assert {path for path in paths if not is_absent(path, config)} == expected


def test_classifier_head() -> None:
    config = ClassifierConfig.from_package({"hidden_size": 8, "classifier_bias": True, "norm_bias": True}, 3)
    assert filled(CLASSIFIER_HEAD, [{}]) == leaves(ClassifierHead(config, rngs=nnx.Rngs(0)), "head")


def test_relevance_scorers() -> None:
    scorers = RelevanceScorers([(4, 64), (4, 32), (2, 64)], rngs=nnx.Rngs(0))
    numbers = [{"layer": 4, "dimension": 64}, {"layer": 4, "dimension": 32}, {"layer": 2, "dimension": 64}]
    assert filled(RELEVANCE_SCORERS, numbers) == leaves(scorers, "scorers")


def test_the_kernel_of_a_score_is_stored_as_one_row() -> None:
    match = RELEVANCE_SCORERS.match("4.64.3.weight")
    assert match is not None
    assert match.transform.stored_shape((32,)) == (1, 32)


@pytest.mark.parametrize(
    "key", ["embeddings.position_ids", "bert.embeddings.position_ids", "pooler.dense.weight", "bert.pooler.dense.bias"]
)
def test_parts_of_bert_that_are_not_used(key: str) -> None:
    assert BACKBONES["bert"].is_ignored(key)
    assert BACKBONES["bert"].param_path(key) is None


@pytest.mark.parametrize("model_type", sorted(BACKBONES))
@pytest.mark.parametrize(
    "key", ["lm_head.weight", "layers.0.attn.rotary_emb.inv_freq", "decoder.weight", "head.dense.weight"]
)
def test_other_keys_are_unknown(model_type: str, key: str) -> None:
    assert BACKBONES[model_type].param_path(key) is None
    assert not BACKBONES[model_type].is_ignored(key)
