"""Built-in Vela 2.0 models and their pins (Vela 2.0 format, section 1)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from checkpoints.tables.entry import BuiltIn

VELA2: Final = (
    BuiltIn(
        repo="vllm-sr/Vela-2.0-0.3B",
        revision="a3209a50dc3ebd7e3b7520440d8fba666000f4c4",
        family="vela2",
        backbone="modernbert",
        parameters=309_114_371,
        model_sha256="7e786f91413961d76a8b85318f70fea1509124fe33709a8c12d6badf8d2ccda4",
        files=MappingProxyType(
            {
                "calibration.json": "f8557b3922e9bef33e688ece12da20436b5ae868ed7ff1375b346bd26403506a",
                "config.json": "81e08c8f8f2a4a6205f05b67d5682e42fc5249cc11e5231c456929ae0534d675",
                "model.safetensors": "bd37dd0db177d766bc554eded78ae8493bc248172d0480f6a543b30932a0cc8e",
                "tokenizer.json": "e4b670c5ab72158f35de150792133e8c92adb4ba677d26b99d22c77f34c63faf",
            }
        ),
        min_device_memory_gib=4,
        component_licences=("gemma-terms",),
    ),
)
