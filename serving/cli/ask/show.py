"""Answers as a person reads them: a table of bars for every question and item, spans within their text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from serving.cli.ask.bars import bar, clean, marked, percent, shade, short
from serving.cli.ask.request import Request

TEXT_WIDTH: Final = 48
MOST_BARS: Final = 12  # of one item; the likeliest are shown
FIRST_NUMBERS: Final = 6  # of a vector that stands alone
CHOSEN, OTHER, FAILED = "green", "cyan", "red"

FIGURES: Final = ("#", "%")  # columns that end at one place

Line = tuple[RenderableType, ...]


def show(request: Request, answer: Mapping[str, Any], phases: Mapping[str, float], console: Console) -> None:
    """Print an answer."""
    for part in _SURFACES[request.surface](request, answer):
        console.print(part, soft_wrap=isinstance(part, Text))
    console.print(Text(_footer(answer, phases), style="dim"))


def has_failure(answer: Mapping[str, Any]) -> bool:
    """Whether a question or an item has no answer."""
    items = answer.get("answers") or answer.get("results") or answer.get("data") or []
    return any("error" in item for item in (items.values() if isinstance(items, dict) else items))


def _footer(answer: Mapping[str, Any], phases: Mapping[str, float]) -> str:
    usage = answer.get("usage", {})
    tokens = next((usage[name] for name in ("input_tokens", "prompt_tokens") if name in usage), 0)
    words = [clean(answer.get("model", "")), f"{tokens} tokens"]
    words += [f"{phases[name]:.1f} ms {name}" for name in ("total", "forward") if name in phases]
    return " · ".join(words)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, show_header=bool(columns), header_style="dim")
    for column in columns:
        table.add_column(column, justify="right" if column in FIGURES else "left")
    return table


def _bars(values: Mapping[str, float], chosen: Sequence[str]) -> Iterator[tuple[str, str, Line]]:
    """A name, a style and a bar with its figure for each value, the likeliest where there are too many."""
    names = list(values)
    if len(names) > MOST_BARS:
        names = sorted(names, key=lambda name: -values[name])[:MOST_BARS]
    for name in names:
        style = CHOSEN if name in chosen else OTHER
        yield name, style, (bar(values[name], style), percent(values[name]))


# decisions


def _decisions(request: Request, answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    table = _table("question", "", "", "%")
    for name, each in answer["answers"].items():
        lines = _question(name, each, answer)
        for number, (label, figure, value) in enumerate(lines):
            table.add_row(Text(clean(name) if not number else "", style="bold"), label, figure, value)
    yield table
    for name, each in answer["answers"].items():
        if "message" in each:
            yield Text(f"{clean(name)}: {clean(each['message'])}", style=FAILED)
    texts = _parts(request)
    for name, spans in answer.get("spans", {}).items():
        yield Text()
        yield Text(clean(name), style="bold")
        yield marked(_text_of(spans, texts), spans)
        yield _span_list(spans)


def _question(name: str, each: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[Line]:
    if "error" in each:
        yield Text(clean(each["error"]), style=FAILED), "", ""
    elif each["type"] == "noul":
        yield Text(_noul_word(name, each["noul"], answer)), bar(each["noul"], CHOSEN), percent(each["noul"])
    elif each["type"] == "score":
        yield from _score(each)
    elif "probabilities" in each:
        for key, style, (picture, figure) in _bars(each["probabilities"], [each["choice"]]):
            yield Text(short(key, TEXT_WIDTH), style=style), picture, figure
        yield Text(_confidence(each), style="dim"), "", ""
    else:  # a type that has no picture
        yield Text(short({key: value for key, value in each.items() if key != "type"}, 120)), "", ""


def _confidence(each: Mapping[str, Any]) -> str:
    none = f", none of them {percent(each['abstain_probability']).strip()}" if "abstain_probability" in each else ""
    return f"confidence {each['confidence']:.2f}{none}"


def _noul_word(name: str, probability: float, answer: Mapping[str, Any]) -> str:
    """What the probability means: a label of a set against its threshold, a span, or a statement."""
    question = name.rpartition(".")[0]
    threshold = answer.get("thresholds", {}).get(question)
    if question in answer.get("sets", {}) and threshold is not None:
        return f"{'selected' if probability >= threshold else 'left out'} (from {threshold:.2f} on)"
    if name in answer.get("spans", {}):
        count = len(answer["spans"][name])
        return f"{count} span" if count == 1 else f"{count} spans"
    return "true"


def _score(each: Mapping[str, Any]) -> Iterator[Line]:
    likeliest = max(each["probabilities"], key=each["probabilities"].__getitem__)
    for level, style, (picture, figure) in _bars(each["probabilities"], [likeliest]):
        yield Text(f"{level} {short(each['legend'].get(level, ''), TEXT_WIDTH)}", style=style), picture, figure
    yield Text(f"score {each['score']:.2f}, confidence {each['confidence']:.2f}", style="dim"), "", ""


def _parts(request: Request) -> list[str]:
    """The texts that spans may lie in: a text state, or the members of an object."""
    state = request.body["state"]
    return [str(value) for value in state.values()] if isinstance(state, dict) else [str(state)]


def _text_of(spans: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> str:
    """The text in which every span stands where it says; empty when none fits."""
    for text in texts:
        if spans and all(text[span["start"] : span["end"]] == span["text"] for span in spans):
            return text
    return ""


def _span_list(spans: Sequence[Mapping[str, Any]]) -> RenderableType:
    if not spans:
        return Text("no span", style="dim")
    table = _table("label", "text", "", "%")
    for span in spans:
        figures = bar(span["probability"], CHOSEN), percent(span["probability"])
        table.add_row(Text(short(span["label"], 24)), Text(short(span["text"], TEXT_WIDTH)), *figures)
    return table


# classify


def _classify(request: Request, answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    for item in answer["results"]:
        if item["index"]:
            yield Text()
        text = request.texts[item["index"]]
        if "error" in item:
            yield _failure(text, item)
        elif "spans" in item:
            inside = _text_of(item["spans"], [text, *map(str, _members(request, item["index"]).values())])
            yield marked(inside or text, item["spans"] if inside else [])
            yield _span_list(item["spans"])
        else:
            yield Text(short(text, 100), style="bold")
            yield _labels(answer["labels"], item)


def _members(request: Request, index: int) -> Mapping[str, Any]:
    item = request.body["input"][index]
    return item if isinstance(item, dict) else {}


def _labels(labels: Sequence[str], item: Mapping[str, Any]) -> RenderableType:
    """Bars of a softmax with its label, or of scores with those that were selected."""
    values = dict(zip(labels, item.get("probabilities") or item["scores"], strict=True))
    table = _table()
    for name, style, line in _bars(values, item.get("selected") or [item.get("label")]):
        table.add_row(Text(short(name, TEXT_WIDTH), style=style), *line)
    return table


def _failure(text: str, item: Mapping[str, Any]) -> Text:
    return Text.assemble((short(text, 60), "bold"), " ", (clean(item["error"]), FAILED))


# embeddings


def _embeddings(request: Request, answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    vectors = {item["index"]: item["embedding"] for item in answer["data"] if "error" not in item}
    for item in answer["data"]:
        if "error" in item:
            yield _failure(request.texts[item["index"]], item)
    if len(vectors) == 1:
        (vector,) = vectors.values()
        first = ", ".join(f"{value:.4f}" for value in vector[:FIRST_NUMBERS])
        yield Text(f"{len(vector)} numbers: {first}, …")
        yield Text("give two or more texts to see how alike they are", style="dim")
    elif vectors:
        yield _similarities(request.texts, vectors)


def _similarities(texts: Sequence[str], vectors: Mapping[int, Sequence[float]]) -> Table:
    """Cosine of every pair of vectors."""
    table = _table("#", "text")
    for index in vectors:
        table.add_column(f"{index + 1} ", justify="right")
    for index, vector in vectors.items():
        cells = [Text(f" {value:5.2f} ", style=shade(value)) for value in (cosine(vector, b) for b in vectors.values())]
        table.add_row(str(index + 1), Text(short(texts[index], TEXT_WIDTH)), *cells)
    return table


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Cosine of the angle between two vectors; 0 where one of them has no length."""
    lengths = math.sqrt(math.fsum(x * x for x in a)) * math.sqrt(math.fsum(x * x for x in b))
    return math.fsum(map(float.__mul__, a, b)) / lengths if lengths else 0.0


# rerank


def _rerank(request: Request, answer: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text(short(request.body["query"], 100), style="bold")
    table = _table("#", "document", "", "%")
    for place, item in enumerate(answer["results"]):
        text = short(request.texts[item["index"]], TEXT_WIDTH)
        if "error" in item:
            table.add_row("", Text(text), Text(clean(item["error"]), style=FAILED), "")
        else:
            score = item["relevance_score"]
            style = OTHER if place else CHOSEN
            table.add_row(str(item["index"] + 1), Text(text, style=style), bar(score, style), percent(score))
    yield table


_SURFACES: Final[Mapping[str, Callable[[Request, Mapping[str, Any]], Iterator[RenderableType]]]] = MappingProxyType(
    {"decisions": _decisions, "classify": _classify, "embeddings": _embeddings, "rerank": _rerank}
)
