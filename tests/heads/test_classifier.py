"""The classifier head: against the reference's heads, its config, and bits for every row count."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx
from transformers import ModernBertConfig, ModernBertForSequenceClassification

from checkpoints.keymaps import CLASSIFIER_HEAD
from tests.backbones.reference import carried_over, run, token_ids
from vela_jax.heads.classifier import ClassifierConfig, ClassifierHead
from vela_jax.heads.pooling import Pooling, pool
from vela_jax.layers.compiler import compiler_options
from vela_jax.layers.config import ConfigError


def head_of(config: dict[str, Any], tensors: dict[str, Any]) -> ClassifierHead:
    head = ClassifierHead(ClassifierConfig.from_package(config, 5), rngs=nnx.Rngs(0))
    graph, state = nnx.split(head)
    leaves = dict(nnx.to_flat_state(state))
    for key, tensor in tensors.items():
        path = CLASSIFIER_HEAD.param_path(key)
        assert path is not None, key
        leaves[path[1:]] = leaves[path[1:]].replace(jnp.asarray(tensor.numpy()))
    merged: ClassifierHead = nnx.merge(graph, nnx.from_flat_state(list(leaves.items())))
    return merged


@pytest.mark.parametrize(
    ("pooling", "changes"),
    [
        ("cls", {}),
        ("mean", {}),
        ("mean", {"classifier_bias": True, "norm_bias": True, "classifier_activation": "silu", "norm_eps": 1e-4}),
    ],
)
def test_logits_of_the_whole_network(pooling: str, changes: dict[str, Any]) -> None:
    sizes: dict[str, Any] = dict(
        vocab_size=200,
        hidden_size=64,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        local_attention=16,
        num_labels=5,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=1,
        cls_token_id=2,
        sep_token_id=1,
        classifier_pooling=pooling,
        **changes,
    )
    torch.manual_seed(0)
    theirs: Any = ModernBertForSequenceClassification(ModernBertConfig(**sizes))
    theirs.eval()
    package = theirs.config.to_dict()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    tensors = theirs.state_dict()
    backbone = carried_over({k: v for k, v in tensors.items() if k.startswith("model.")}, package)
    head = head_of(package, {k: v for k, v in tensors.items() if not k.startswith("model.")})
    lengths = [30, 7, 3]
    ids = token_ids(lengths, 32)
    hidden = run(backbone, ids, lengths, (2,))[2]
    ours = head(pool(jnp.asarray(hidden), jnp.asarray(lengths, jnp.int32), Pooling(pooling)))
    mask = torch.from_numpy((np.arange(32)[None] < np.asarray(lengths)[:, None]).astype(np.int64))
    with torch.inference_mode():
        expected = theirs(input_ids=torch.from_numpy(ids.astype(np.int64)), attention_mask=mask).logits.numpy()
    np.testing.assert_allclose(np.asarray(ours), expected, rtol=0, atol=1e-5)


def config(**changes: Any) -> ClassifierConfig:
    return ClassifierConfig.from_package({"hidden_size": 768, **changes}, 5)


def test_tokens_are_classified_one_by_one() -> None:
    head = ClassifierHead(config(), rngs=nnx.Rngs(0))
    hidden = jnp.asarray(np.random.default_rng(0).standard_normal((2, 3, 768)), jnp.float32)
    logits = head(hidden)
    assert logits.shape == (2, 3, 5)
    np.testing.assert_allclose(np.asarray(logits)[1, 2], np.asarray(head(hidden[1, 2:]))[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("labels", [1, 2, 14, 35])
def test_a_row_has_the_same_bits_for_every_row_count(labels: int) -> None:
    head = ClassifierHead(ClassifierConfig.from_package({"hidden_size": 768}, labels), rngs=nnx.Rngs(0))
    graph, state = nnx.split(head)
    apply = jax.jit(lambda state, x: nnx.merge(graph, state)(x), compiler_options=compiler_options("cpu"))
    rows = jnp.asarray(np.random.default_rng(0).standard_normal((32, 768)), jnp.float32)
    alone = np.asarray(apply(state, rows[:1]))[0]
    for count in (2, 4, 8, 32):
        np.testing.assert_array_equal(np.asarray(apply(state, rows[:count]))[0], alone)


def test_defaults() -> None:
    assert config() == ClassifierConfig(768, 5, "gelu", classifier_bias=False, norm_eps=1e-5, norm_bias=False)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"classifier_activation must be one of .*; found 'tanh'"):
        config(classifier_activation="tanh")
