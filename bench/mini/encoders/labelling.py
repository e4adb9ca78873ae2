"""The classifiers of texts (domain, guard) and of tokens (personal data)."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import jax
import jax.numpy as jnp
import numpy as np

from bench.mini.encoders import sentences
from bench.mini.encoders.model import STRIDE, Exam, Given
from bench.mini.encoders.networks import Size
from bench.mini.encoders.served import Served
from bench.mini.measures import micro_f1
from bench.mini.tasks import labelled
from bench.mini.tasks.labelled import Labelled
from bench.mini.texts.personal import Marked
from bench.mini.texts.split import Split
from bench.mini.texts.topics import topics
from bench.mini.training.shapes import batches, padded
from vela_jax.contract import Surface
from vela_jax.families.task_heads.spec import ClassifierSpec, Kind
from vela_jax.heads.classifier import ClassifierConfig
from vela_jax.heads.pooling import Pooling
from vela_jax.surfaces.requests import ClassifyRequest

SEQUENCE: Final = "ModernBertForSequenceClassification"
TOKEN: Final = "ModernBertForTokenClassification"
SMALL: Final = Size(pieces=5000, hidden=128, inner=192, layers=4, heads=4)
CASED: Final = replace(SMALL, pieces=7000)
NO_LABEL: Final = -1
_TEXTS: Final = 2048
_MOST_TOKENS: Final = 126
_PLAIN_SHARE: Final = 0.35
_PHRASE_SHARE: Final = 0.35
_NAMES_NOBODY: Final = re.compile(r"[a-z ,;'-]+")
_SMOOTHED: Final = 0.05  # of a label's weight that goes to all labels


@jax.tree_util.register_dataclass
@dataclass(frozen=True, slots=True)
class Batch:
    """Texts with the label of each, or of each token; NO_LABEL where there is none."""

    ids: jax.Array  # [B S]
    lengths: jax.Array  # [B]
    labels: jax.Array  # [B], or [B S]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextClassifier:
    """A classifier of whole texts."""

    title: str
    about: str
    labels: tuple[str, ...]
    draw: Callable[[random.Random, Split], Labelled]
    size: Size = SMALL
    steps: int = 1500
    learning_rate: float = 2e-3
    note: ClassVar[str] = "Labels are those of the released model of this name."
    begins_as: ClassVar[str] = ""
    cased: ClassVar[bool] = False
    architecture: ClassVar[str] = SEQUENCE

    def corpus(self, rng: random.Random, count: int) -> list[str]:
        """Texts that decide which pieces it keeps."""
        own = [self.draw(rng, Split.TRAIN).text for _ in range(count // 2)]
        return own + sentences.texts(rng.randrange(STRIDE), count // 2)

    def members(self) -> Mapping[str, Any]:
        """What it adds to `config.json`."""
        return {**_labels(self.labels), "classifier_pooling": "mean", "problem_type": "single_label_classification"}

    def spec(self, config: Mapping[str, Any]) -> ClassifierSpec:
        """What the family makes of its config."""
        head = ClassifierConfig.from_package(config, len(self.labels))
        return ClassifierSpec(Kind.SEQUENCE, self.labels, Pooling.MEAN, head)

    def batches(self, given: Given, chunk: int) -> Iterator[Batch]:
        """The batches of a chunk."""
        rng = random.Random(given.seed * STRIDE + chunk)
        made = [self.draw(rng, Split.TRAIN) for _ in range(_TEXTS)]
        rows = [given.texts.single.frame(given.texts.tokenizer.encode_ids(each.text)[:_MOST_TOKENS]) for each in made]
        for shape in batches([len(row) for row in rows], rng):
            chosen = list(shape.indices)
            ids, lengths = padded([rows[index] for index in chosen], shape)
            labels = np.full(shape.count, NO_LABEL, np.int32)
            labels[: len(chosen)] = [made[index].label for index in chosen]
            yield Batch(jnp.asarray(ids), jnp.asarray(lengths), jnp.asarray(labels))

    def loss(self, network: Any, batch: Batch, weights: jax.Array) -> tuple[jax.Array, Mapping[str, jax.Array]]:
        """Cross entropy."""
        return _loss(network, batch, weights)

    def figures(self, exam: Exam) -> Mapping[str, Any]:
        """The share of right labels, and the recall of each."""
        rng = random.Random(7)
        judged = [self.draw(rng, Split.HELD) for _ in range(exam.count)]
        given = [result["label"] for result in _classify(exam.served, [each.text for each in judged])]
        right = [self.labels[each.label] == label for each, label in zip(judged, given, strict=True)]
        found: dict[str, Any] = {"texts": exam.count, "accuracy": round(sum(right) / exam.count, 3)}
        for place, name in enumerate(self.labels):
            own = [hit for hit, each in zip(right, judged, strict=True) if each.label == place]
            found[f"recall.{name}"] = round(sum(own) / max(1, len(own)), 3)
        return found

    def files(self) -> Mapping[str, Any]:
        """None beside those of all."""
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClassifier:
    """A classifier of tokens, whose labels make spans."""

    title: str = "Vela-Mini-PII"
    about: str = "It finds personal data of 17 kinds in a text."
    labels: tuple[str, ...] = labelled.PII_LABELS
    size: Size = CASED
    steps: int = 5000
    learning_rate: float = 2e-3
    note: ClassVar[str] = "Labels are those of the released model of this name."
    begins_as: ClassVar[str] = ""
    cased: ClassVar[bool] = True
    architecture: ClassVar[str] = TOKEN

    def corpus(self, rng: random.Random, count: int) -> list[str]:
        """Texts that decide which pieces it keeps."""
        own = [labelled.personal(rng, Split.TRAIN).text for _ in range(count // 2)]
        return own + sentences.texts(rng.randrange(STRIDE), count // 2)

    def members(self) -> Mapping[str, Any]:
        """What it adds to `config.json`."""
        return _labels(self.labels)

    def spec(self, config: Mapping[str, Any]) -> ClassifierSpec:
        """What the family makes of its config."""
        head = ClassifierConfig.from_package(config, len(self.labels))
        return ClassifierSpec(Kind.TOKEN, self.labels, Pooling.CLS, head)

    def batches(self, given: Given, chunk: int) -> Iterator[Batch]:
        """The batches of a chunk."""
        rng = random.Random(given.seed * STRIDE + chunk)
        rows, tags = [], []
        for _ in range(_TEXTS):
            marked = personal(rng)
            read = given.texts.tokenizer.encode(marked.text).first(_MOST_TOKENS)
            rows.append(given.texts.single.frame(read.ids))
            tags.append(labelled.tag(marked, [(start, end) for start, end in read.offsets.tolist()]))
        before = len(given.texts.single.prefix)
        for shape in batches([len(row) for row in rows], rng):
            ids, lengths = padded([rows[index] for index in shape.indices], shape)
            labels = np.full((shape.count, shape.width), NO_LABEL, np.int32)
            for slot, index in enumerate(shape.indices):
                labels[slot, before : before + len(tags[index])] = tags[index]
            yield Batch(jnp.asarray(ids), jnp.asarray(lengths), jnp.asarray(labels))

    def loss(self, network: Any, batch: Batch, weights: jax.Array) -> tuple[jax.Array, Mapping[str, jax.Array]]:
        """Cross entropy of every token."""
        return _loss(network, batch, weights)

    def figures(self, exam: Exam) -> Mapping[str, Any]:
        """F1 over spans (label and place both right), and how many texts without any are given one."""
        rng = random.Random(7)
        judged = [labelled.personal(rng, Split.HELD) for _ in range(exam.count)]
        wanted = [Counter(each.spans) for each in judged]
        given = [
            Counter((span["label"], span["start"], span["end"]) for span in result["spans"])
            for result in _classify(exam.served, [each.text for each in judged])
        ]
        found: dict[str, Any] = {"texts": exam.count, "span_f1": round(micro_f1(zip(wanted, given, strict=True)), 3)}
        clean = [bool(spans) for want, spans in zip(wanted, given, strict=True) if not want]
        found["false_alarms"] = round(sum(clean) / max(1, len(clean)), 3)
        for name in sorted({label[2:] for label in self.labels[1:]}):
            of_name = ([_only(name, spans) for spans in side] for side in (wanted, given))
            found[f"span_f1.{name}"] = round(micro_f1(zip(*of_name, strict=True)), 3)
        return found

    def files(self) -> Mapping[str, Any]:
        """None beside those of all."""
        return {}


def personal(rng: random.Random) -> Marked:
    """A text with the places of its personal data; now and then a phrase of the dictionary, which names nobody."""
    if rng.random() >= _PLAIN_SHARE:
        return labelled.personal(rng, Split.TRAIN)
    text = sentences.use(rng, Split.TRAIN)
    while not _NAMES_NOBODY.fullmatch(text):
        text = sentences.use(rng, Split.TRAIN)
    return Marked(f"{text.capitalize()}." if rng.random() < 0.7 else text, ())


def topical(rng: random.Random, split: Split) -> Labelled:
    """A sentence and its domain; in training now and then a phrase alone, or what describes a topic."""
    if split is Split.HELD or rng.random() >= _PHRASE_SHARE:
        return labelled.domain(rng, split)
    label = rng.choice(labelled.DOMAIN_LABELS)
    every = [topic for side in Split for topic in topics(side)]
    topic = rng.choice([topic for topic in every if labelled.domain_of(topic) == label])
    return Labelled(
        rng.choice(topic.names + topic.descriptions + topic.acts + topic.things), labelled.DOMAIN_LABELS.index(label)
    )


def guarded(rng: random.Random, split: Split) -> Labelled:
    """An ordinary text, or an attack; in training some ordinary texts are phrases of the dictionary."""
    drawn = labelled.guard(rng, split)
    if split is Split.TRAIN and drawn.label == 0 and rng.random() < _PLAIN_SHARE:
        return Labelled(sentences.use(rng, split), 0)
    return drawn


DOMAIN: Final = TextClassifier(
    title="Vela-Mini-Domain",
    about="It says which of 14 fields a text belongs to.",
    labels=labelled.DOMAIN_LABELS,
    draw=topical,
    steps=400,  # with 1,500 it answers held-out texts worse: 0.736 instead of 0.765
)
GUARD: Final = TextClassifier(
    title="Vela-Mini-Guard",
    about="It tells attacks on an assistant's rules from ordinary requests.",
    labels=labelled.GUARD_LABELS,
    draw=guarded,
)
PII: Final = TokenClassifier()


def _labels(labels: Sequence[str]) -> dict[str, Any]:
    return {
        "id2label": {str(index): label for index, label in enumerate(labels)},
        "label2id": {label: index for index, label in enumerate(labels)},
    }


def _loss(network: Any, batch: Batch, weights: jax.Array) -> tuple[jax.Array, Mapping[str, jax.Array]]:
    logits = network(batch.ids, batch.lengths, network.depths[-1])["logits"]
    there = batch.labels > NO_LABEL
    count = logits.shape[-1]
    wanted = jax.nn.one_hot(batch.labels, count, dtype=jnp.float32) * (1 - _SMOOTHED) + _SMOOTHED / count
    surprise = -jnp.sum(wanted * jax.nn.log_softmax(logits, axis=-1), axis=-1)
    total = jnp.sum(jnp.where(there, surprise, 0.0)) / jnp.maximum(jnp.sum(there), 1).astype(jnp.float32)
    right = jnp.sum(there & (jnp.argmax(logits, axis=-1) == batch.labels)) / jnp.maximum(jnp.sum(there), 1)
    return weights[0] * total, {"loss": total, "right": right.astype(jnp.float32)}


def _classify(served: Served, texts: Sequence[str]) -> list[Any]:
    parts = [list(texts[start : start + 1024]) for start in range(0, len(texts), 1024)]
    bodies = served.ask(Surface.CLASSIFY, [ClassifyRequest(input=part) for part in parts])
    return [result for body in bodies for result in body["results"]]


def _only(name: str, spans: Counter[Any]) -> Counter[Any]:
    return Counter({span: count for span, count in spans.items() if span[0] == name})
