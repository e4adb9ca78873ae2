"""The whole path of the encoder member once more, in torch and plain Python, straight from the package's files."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel, ModernBertConfig, ModernBertModel

from tests.families.vela2.test_words import PLAIN

ROLES = ("user", "context", "answer")
Question = dict[str, Any]


@dataclass
class Read:
    """A question read: mean (of a set, largest) option logits, or logits of words [W C] with their characters."""

    options: torch.Tensor | None = None
    words: list[tuple[int, int]] | None = None
    logits: torch.Tensor | None = None


def encoder_of(config: dict[str, Any]) -> Any:
    """The encoder with random weights."""
    model: Any
    if config["model_type"] == "bert":
        model = BertModel
        return model(BertConfig(**config))
    scaling = config.pop("rope_scaling")
    rope: Any = {
        name: {**scaling, "rope_theta": config[f"{kind}_rope_theta"]}
        for name, kind in (("full_attention", "global"), ("sliding_attention", "local"))
    }
    model = ModernBertModel
    return model(ModernBertConfig(**config, rope_parameters=rope))


class Reference:
    """A package in float32 torch."""

    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text())
        weights = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}
        self.encoder = encoder_of(dict(self.config["encoder_config"]))
        self.encoder.train(False)
        self.encoder.load_state_dict(
            {k.removeprefix("encoder."): v for k, v in weights.items() if k.startswith("encoder.")}
        )
        self.head = {name: tensor for name, tensor in weights.items() if not name.startswith("encoder.")}
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["added_tokens"] = [t for t in tokenizer["added_tokens"] if t["content"] not in self.config["markers"]]
        self.tokenizer = Tokenizer.from_str(json.dumps(tokenizer))

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def read(self, asked: list[Question], parts: dict[str, str], windowed: str | None) -> dict[str, Read]:
        """Read questions of one row. `windowed` is the part that is cut into windows when it does not fit."""
        tokens = {role: self.tokenizer.encode(text, add_special_tokens=False) for role, text in parts.items()}
        schema, places, labels = self.schema(asked)
        room = self.config["max_length"] - len(schema) - 1 - len(parts)
        others = sum(len(tokens[role].ids) for role in parts if role != windowed)
        total = len(tokens[windowed].ids) if windowed else 0
        kept = min(total, room - others)
        windows = [(0, total)] if kept >= total else self.windows(total, kept)
        outputs = []
        for window in windows:
            row, starts = list(schema), {}
            for role in (role for role in ROLES if role in parts):
                part = tokens[role].ids[slice(*window)] if role == windowed else tokens[role].ids
                starts[role] = len(row)
                row += [self.config["marker_ids"][f"[SEG_{role}]"], *part]
            row.append(self.config["eos_token_id"])
            with torch.inference_mode():
                hidden = self.encoder(
                    input_ids=torch.tensor([row]), attention_mask=torch.ones(1, len(row))
                ).last_hidden_state[0]
            outputs.append(
                (
                    hidden,
                    starts,
                    {
                        **{r: starts[r] + 1 + len(tokens[r].ids) for r in parts},
                        **({windowed: starts[windowed] + 1 + window[1] - window[0]} if windowed else {}),
                    },
                )
            )
        found = {}
        for question in asked:
            if question["type"] == "span":
                found[question["id"]] = self.spans(question, labels, tokens, windows, outputs)
            else:
                logits = torch.stack([self.options(question, places, *output) for output in outputs])
                joined = logits.max(0).values if question["type"] == "set" else logits.mean(0)
                found[question["id"]] = Read(options=joined)
        return found

    def schema(self, asked: list[Question]) -> tuple[list[int], dict[str, tuple[int, list[int]]], list[int]]:
        marker = self.config["marker_ids"]
        row = [self.config["bos_token_id"]]
        places = {}
        for question in (each for each in asked if each["type"] != "span"):
            query = len(row)
            row += [marker["[Q]"], *self.ids(question["text"])]
            options = []
            for option in question["options"]:
                options.append(len(row))
                row += [marker["[O]"], *self.ids(option)]
            if question["type"] == "choice":
                options.append(len(row))
                row.append(marker["[ABS]"])
            places[question["id"]] = (query, options)
        labels = []
        for question in (each for each in asked if each["type"] == "span"):
            for option in question["options"]:
                labels.append(len(row))
                row += [marker["[E]"], *self.ids(option)]
        return [*row, marker["[SEP_SCHEMA]"]], places, labels

    def windows(self, total: int, kept: int) -> list[tuple[int, int]]:
        overlap = min(self.config["window_overlap"], kept // 4)
        found, start = [], 0
        while start < max(1, total - overlap):
            found.append((start, min(total, start + kept)))
            if found[-1][1] >= total:
                break
            start += max(1, kept - overlap)
        return found

    def options(self, question: Question, places: Any, hidden: torch.Tensor, starts: Any, ends: Any) -> torch.Tensor:
        query, at = places[question["id"]]
        roles = [role for role in ROLES if role in question["roles"]]
        pooled = hidden[starts[roles[0]] : ends[roles[-1]]].mean(0)
        cosine = (
            self.unit(self.project("w_o", hidden[at]) + self.project("w_q", hidden[query]))
            @ self.unit(self.project("w_p", pooled))
            / self.head["log_tau"].exp()
        )
        if self.config["readout"] == "cosine":
            return cosine
        inner = (hidden[at] @ self.head["cls_mlp.0.weight"].T + self.head["cls_mlp.0.bias"]).relu()
        own = (inner @ self.head["cls_mlp.3.weight"].T + self.head["cls_mlp.3.bias"])[:, 0]
        return own if self.config["readout"] == "mlp" else cosine + own

    def spans(self, question: Question, labels: list[int], tokens: Any, windows: Any, outputs: Any) -> Read:
        (role,) = question["roles"]
        words = []
        for match in PLAIN.finditer(question["part"]):
            first = next((t for t, (a, b) in enumerate(tokens[role].offsets) if b > a and b > match.start()), None)
            if first is not None and tokens[role].offsets[first][0] < match.end():
                words.append((match.span(), first))
        sums = torch.zeros(len(words), len(labels), dtype=torch.float64)
        counts = torch.zeros(len(words), 1)
        for (start, end_), (hidden, starts, _) in zip(windows, outputs, strict=True):
            end = end_ or len(tokens[role].ids)  # nothing is windowed
            for index, (_, first) in enumerate(words):
                if start <= first < end:
                    word = self.unit(self.project("w_t", hidden[starts[role] + 1 + first - start]))
                    label = self.unit(self.project("w_e", hidden[labels]))
                    sums[index] += (label @ word / self.head["log_tau_span"].exp()).double()
                    counts[index] += 1
        return Read(words=[span for span, _ in words], logits=sums / counts)

    def project(self, name: str, states: torch.Tensor) -> torch.Tensor:
        normed = torch.nn.functional.layer_norm(
            states, states.shape[-1:], self.head["norm.weight"], self.head["norm.bias"], 1e-5
        )
        return normed @ self.head[f"{name}.weight"].T + self.head[f"{name}.bias"]

    @staticmethod
    def unit(vectors: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(vectors, dim=-1)


def softmax(logits: list[float], temperature: float) -> list[float]:
    powers = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    return [power / sum(powers) for power in powers]


def probabilities(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    return torch.sigmoid(logits.double() / temperature)


def label_runs(read: Read, temperature: float, threshold: float, text: str) -> list[tuple[int, int, int]]:
    """Runs of words of one label, for texts in which no unit holds several words: (label, start, end)."""
    assert read.words is not None
    assert read.logits is not None
    runs: list[tuple[int, int, int]] = []
    last = -1
    for (start, end), row in zip(read.words, probabilities(read.logits, temperature), strict=True):
        label = int(row.argmax()) if float(row.max()) > threshold else -1
        if label >= 0 and label == last:
            runs[-1] = (label, runs[-1][1], end)
        elif label >= 0:
            runs.append((label, start, end))
        last = label
    assert re.fullmatch(r"[\w ]*", text)
    return runs
