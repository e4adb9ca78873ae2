"""Backbone configs: defaults, old and new rotary keys, and refusals that name the key."""

from typing import Any

import jax
import pytest
from flax import nnx

from vela_jax.backbones import ConfigError, backbone_config, build
from vela_jax.backbones.modernbert import FULL, SLIDING, ModernBertConfig
from vela_jax.backbones.qwen3 import Qwen3Config
from vela_jax.layers.rotary import Rope, Yarn

MODERNBERT: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "max_position_embeddings": 32768,
}
BERT: dict[str, Any] = {**MODERNBERT, "type_vocab_size": 2, "layer_norm_eps": 1e-12}
QWEN3: dict[str, Any] = {**MODERNBERT, "num_key_value_heads": 2, "rms_norm_eps": 1e-6}
BASES = {"modernbert": MODERNBERT, "bert": BERT, "qwen3": QWEN3}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}


def modernbert(**changes: Any) -> ModernBertConfig:
    return ModernBertConfig.from_package({**MODERNBERT, **changes})


def test_modernbert_defaults() -> None:
    config = modernbert()
    assert config.layer_types == (FULL, SLIDING, SLIDING, FULL, SLIDING)
    assert (config.norm_eps, config.norm_bias, config.attention_bias, config.mlp_bias) == (1e-5, False, False, False)
    assert (config.hidden_activation, config.half_window, config.head_width) == ("gelu", 64, 8)
    assert dict(config.ropes) == {FULL: Rope(160000.0), SLIDING: Rope(10000.0)}


@pytest.mark.parametrize(
    ("changes", "full", "sliding"),
    [
        ({"global_rope_theta": 5.0, "local_rope_theta": 7.0}, Rope(5.0), Rope(7.0)),
        ({"rope_parameters": {FULL: YARN}}, Rope(160000.0, Yarn(4.0, 8192)), Rope(10000.0)),
        ({"rope_parameters": {SLIDING: {"rope_theta": 9.0}}}, Rope(160000.0), Rope(9.0)),
        ({"rope_scaling": YARN}, Rope(160000.0, Yarn(4.0, 8192)), Rope(10000.0, Yarn(4.0, 8192))),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}}, Rope(160000.0), Rope(10000.0)),
        ({"rope_scaling": None, "rope_parameters": None}, Rope(160000.0), Rope(10000.0)),
        (
            {"rope_parameters": {FULL: {"rope_theta": 9.0, "factor": 2.0}}, "rope_scaling": {"rope_type": "yarn"}},
            Rope(9.0, Yarn(2.0, 32768)),
            Rope(10000.0, Yarn(1.0, 32768)),
        ),
    ],
)
def test_modernbert_rotary(changes: dict[str, Any], full: Rope, sliding: Rope) -> None:
    assert dict(modernbert(**changes).ropes) == {FULL: full, SLIDING: sliding}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"layer_types": [SLIDING] * 5}, (SLIDING,) * 5),
        ({"layer_types": [], "global_attn_every_n_layers": 2}, (FULL, SLIDING, FULL, SLIDING, FULL)),
        ({"layer_types": [FULL] * 5, "global_attn_every_n_layers": 2}, (FULL,) * 5),
    ],
)
def test_modernbert_layer_types(changes: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert modernbert(**changes).layer_types == expected


def test_odd_windows_are_halved_downwards() -> None:
    assert modernbert(local_attention=13).half_window == 6


@pytest.mark.parametrize(
    ("parameters", "theta"),
    [({}, 10000.0), ({"rope_theta": 7.0}, 7.0), ({"rope_parameters": {"rope_theta": 9.0}}, 9.0)],
)
def test_qwen3_rotary(parameters: dict[str, Any], theta: float) -> None:
    assert Qwen3Config.from_package({**QWEN3, **parameters}).rope == Rope(theta)


def test_qwen3_head_width() -> None:
    assert Qwen3Config.from_package(QWEN3).head_dim == 8
    assert Qwen3Config.from_package({**QWEN3, "head_dim": 64}).head_dim == 64


@pytest.mark.parametrize(
    ("model_type", "changes", "named"),
    [
        ("modernbert", {"hidden_activation": "gelu_new"}, "hidden_activation"),
        ("modernbert", {"hidden_size": 30}, "hidden_size"),
        ("modernbert", {"hidden_size": 36}, "hidden_size"),
        ("modernbert", {"layer_types": [FULL] * 4}, "layer_types"),
        ("modernbert", {"layer_types": [FULL] * 4 + ["linear"]}, "layer_types"),
        ("modernbert", {"layer_types": FULL}, "layer_types"),
        ("modernbert", {"rope_scaling": {"rope_type": "dynamic"}}, "rope_scaling.rope_type"),
        ("modernbert", {"rope_scaling": []}, "rope_scaling"),
        ("modernbert", {"rope_parameters": {FULL: {"rope_type": "llama3"}}}, f"rope_parameters.{FULL}.rope_type"),
        ("modernbert", {"rope_parameters": {FULL: 3}}, f"rope_parameters.{FULL}"),
        ("modernbert", {"global_rope_theta": 0}, "global_rope_theta"),
        ("modernbert", {"norm_eps": "1e-5"}, "norm_eps"),
        ("modernbert", {"norm_bias": 1}, "norm_bias"),
        ("modernbert", {"local_attention": 0}, "local_attention"),
        ("bert", {"hidden_act": "gelu_new"}, "hidden_act"),
        ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ("bert", {"is_decoder": True}, "is_decoder"),
        ("bert", {"add_cross_attention": True}, "add_cross_attention"),
        ("bert", {"hidden_size": 30}, "hidden_size"),
        ("qwen3", {"hidden_act": "gelu"}, "hidden_act"),
        ("qwen3", {"num_key_value_heads": 3}, "num_attention_heads"),
        ("qwen3", {"head_dim": 7}, "head_dim"),
        ("qwen3", {"layer_types": [FULL, SLIDING, FULL, FULL, FULL]}, "layer_types"),
        ("qwen3", {"use_sliding_window": True}, "use_sliding_window"),
        ("qwen3", {"rope_parameters": {**YARN}}, "rope_parameters.rope_type"),
        ("qwen3", {"rope_scaling": {"rope_type": "linear"}}, "rope_scaling.rope_type"),
    ],
)
def test_refused(model_type: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        backbone_config(model_type, {**BASES[model_type], **changes})
    assert f"config.json: {named} must be" in str(caught.value)


@pytest.mark.parametrize("model_type", sorted(BASES))
def test_required_keys(model_type: str) -> None:
    for key in BASES[model_type]:
        config = {k: v for k, v in BASES[model_type].items() if k != key}
        with pytest.raises(ConfigError, match=f"{key} must be .*; it is missing"):
            backbone_config(model_type, config)


def test_an_unknown_model_type_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="model_type must be one of bert, modernbert, qwen3, qwen3_5_text; found 't5'"
    ):
        backbone_config("t5", {})


@pytest.mark.parametrize("model_type", sorted(BASES))
def test_the_abstract_tree_needs_no_memory(model_type: str) -> None:
    config = backbone_config(model_type, {**BASES[model_type], "vocab_size": 10**9})
    abstract = nnx.eval_shape(lambda: build(config, nnx.Rngs(0)))
    leaves = jax.tree.leaves(nnx.state(abstract, nnx.Param))
    assert max(leaf.shape[0] for leaf in leaves) == 10**9
    assert {str(leaf.dtype) for leaf in leaves} == {"float32"}
    assert config.num_hidden_layers == 5
