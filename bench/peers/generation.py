"""Transformers as a generator: `generate` on the same package, greedy, FP32."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers


class Transformers:
    """`AutoModelForCausalLM` in inference mode with its own cache of keys and values."""

    def __init__(self, folder: Path, threads: int) -> None:
        torch.set_num_threads(threads)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            folder, attn_implementation="sdpa", dtype=torch.float32, local_files_only=True
        )
        self._model = model.eval()

    def generate(self, prompts: Sequence[Sequence[int]], tokens: int) -> list[list[int]]:
        """So many tokens behind each of prompts of one length, as one batch."""
        ids = torch.tensor(prompts)
        settings = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None, "pad_token_id": 0}
        with torch.inference_mode():
            found = self._model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                eos_token_id=None,
                **settings,
            )
        rows: list[list[int]] = found[:, ids.shape[1] :].tolist()
        return rows
