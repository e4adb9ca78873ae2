"""Texts of every kind: places in code points, special tokens, long runs, lone surrogates, and stored token ids."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from tokenizers import Encoding

from tests.end_to_end.asking import ask, classify, embed, refusal, rerank
from tests.end_to_end.packages import HANDED
from tests.end_to_end.server import Running
from vela_jax.text.envelope import single_envelope
from vela_jax.text.tokenizer import TextTokenizer

IDS: Final = json.loads((Path(__file__).parent / "token_ids.json").read_text(encoding="utf-8"))
FINDERS: Final = ("spans", "spans-folding", "spans-pieces")
ENTITY: Final = "@1"
LONE: Final = '"\\ud800"'

AROUND: Final = {
    "at the very start": ("", " is mine"),
    "Japanese": ("本日のご予約は", "までお電話ください。"),
    "behind an arrow": ("i ⭢ mail ", " now"),
    "behind an emoji": ("👍🏽 i ⭢ mail ", ""),
    "behind a family of emoji": ("👨‍👩‍👧‍👦 ", " 🚀"),
    "behind a Greek koronis": ("Μετ᾽ ", ""),
    "behind an accent that folds to a space and a mark": ("l´\u037a ", " x"),
    "behind a ligature": ("ﬁnd ㎏ Ⅷ ", ""),
    "behind decomposed letters": ("cafe\u0301 n\u0303 ", ""),
    "behind Hangul in pieces": ("\u1112\u1161\u11ab\u1100\u1173\u11af ", ""),
    "behind white space of many kinds": ("a\t\u3000\u00a0\n\n  ", "\r\n"),
    "behind characters of no width": ("\ufeff\u200b\u2060 ", ""),
    "behind a character of four bytes": ("𝔘𠮷 ", " 𝔘"),
    "behind a null character": ("\x00 ", ""),
    "behind right-to-left text": ("شكرا לך ", " שלום"),
    "behind the text of a special token": ("a <eos> b <bos> <pad> ", " <mask>"),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("model", FINDERS)
def test_places_are_code_points_of_the_text_as_sent(client: httpx.Client, model: str, around: str) -> None:
    before, after = AROUND[around]
    text = before + ENTITY + after
    (result,) = classify(client, model, text, overflow="reject")
    places = [(span["start"], span["end"], span["text"]) for span in result["spans"]]
    assert (len(before), len(before) + len(ENTITY), ENTITY) in places
    assert all(text[start:end] == found for start, end, found in places)


def test_a_number_at_the_end_of_a_japanese_sentence(client: httpx.Client) -> None:
    text = "お問い合わせは平日の午前九時から午後五時までに以下へどうぞ"[:27] + "03-1234-5678"
    assert len(text) == 39
    (result,) = classify(client, "spans-folding", text)
    (span,) = result["spans"]
    assert (span["start"], span["end"], span["text"]) == (27, 39, "03-1234-5678")


@pytest.mark.parametrize("model", FINDERS)
def test_every_token_lies_in_the_text(client: httpx.Client, model: str) -> None:
    texts = [before + ENTITY + after for before, after in AROUND.values()]
    for text, result in zip(texts, classify(client, model, texts, return_tokens=True), strict=True):
        places = [(token["start"], token["end"]) for token in result["tokens"]]
        assert all(0 <= start <= end <= len(text) for start, end in places)
        assert places == sorted(places)
        assert len(places) == result["input"]["tokens"] - 2


@pytest.mark.parametrize("package", IDS["packages"])
def test_ids_of_fixed_texts(package: str) -> None:
    tokenizer = TextTokenizer.from_json((HANDED / package / "tokenizer.json").read_bytes())
    envelope = single_envelope(tokenizer)
    found = [envelope.frame(tokenizer.encode(text).ids).tolist() for text in IDS["texts"]]
    assert len(IDS["texts"]) == 20
    assert found == IDS["packages"][package]
    assert found == [tokenizer.frame(text) for text in IDS["texts"]]


def test_the_server_reads_the_stored_ids(client: httpx.Client) -> None:
    entries = embed(client, "embed", IDS["texts"])
    assert [entry["input"]["tokens"] for entry in entries] == [len(ids) for ids in IDS["packages"]["embed"]]


@pytest.mark.parametrize("text", ["<eos>", "<bos> <eos>", "a <pad> b", "<unk><mask>", "[SEP] [CLS] [PAD]", "</s>"])
def test_texts_that_spell_special_tokens_are_answered(client: httpx.Client, text: str) -> None:
    for model in ("embedding", "qwen3_embedding", "sentence_bert", "embed"):
        first, other, second = embed(client, model, [text, "a", text])
        assert first["embedding"] == second["embedding"] == embed(client, model, text)[0]["embedding"]
        assert "embedding" in other
    (result,) = classify(client, "sequence", text)
    assert sum(result["probabilities"]) == pytest.approx(1)
    assert "logit" in rerank(client, "reranker", text, [text])[0]


class Reading:
    """Characters that the server's tokenizers were shown."""

    def __init__(self) -> None:
        self.characters = 0


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch, server: Running) -> Reading:
    counted = Reading()
    encoding = TextTokenizer._encoding

    def count(self: TextTokenizer, text: str) -> Encoding:
        counted.characters += len(text)
        return encoding(self, text)

    assert server.url
    monkeypatch.setattr(TextTokenizer, "_encoding", count)
    return counted


RUNS: Final = {
    "one letter": "a" * 1_000_000,
    "kana": "あ" * 300_000,
    "base64": base64.b64encode(random.Random(5).randbytes(750_000)).decode(),
    "digits": "7" * 300_000,
    "spaces": " " * 300_000,
    "dashes": "-" * 300_000,
}
BUDGET: Final = 90


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("model", ["embed", "spans-pieces"])
def test_a_long_run_is_refused_unread(client: httpx.Client, reading: Reading, model: str, run: str) -> None:
    result = _read_run(client, model, RUNS[run], "reject")
    assert result["error"] == "max_length_exceeded"
    assert reading.characters == 0


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("model", ["embed", "spans-pieces"])
def test_a_long_run_is_cut_without_reading_it(client: httpx.Client, reading: Reading, model: str, run: str) -> None:
    result = _read_run(client, model, RUNS[run], "truncate")
    usage = result["input"]
    assert usage["truncated"]
    assert usage["tokens_lower_bound"]
    assert 2 <= usage["processed_tokens"] <= BUDGET < usage["tokens"]
    # One read of 6 characters a token and 1,024 more, a cut found at most 4,096 behind, twice that if it was too
    # little; a token head reads what it keeps once more.
    assert 0 < reading.characters < 5 * (6 * BUDGET + 1024 + 4096)


def test_a_long_word_is_one_unknown_piece(client: httpx.Client) -> None:
    # Pieces of words are looked for in words of 100 letters at most: the million letters are one token.
    options = {"max_tokens": BUDGET}
    (entry,) = embed(client, "sentence_bert", RUNS["one letter"], options=options)
    assert entry["input"] == {"tokens": 3, "processed_tokens": 3, "truncated": False}
    assert entry["embedding"] == embed(client, "sentence_bert", "a" * 101)[0]["embedding"]


def _read_run(client: httpx.Client, model: str, text: str, overflow: str) -> dict[str, Any]:
    if model == "embed":
        return embed(client, model, text, options={"overflow": overflow, "max_tokens": BUDGET})[0]
    return classify(client, model, text, overflow=overflow, max_tokens=BUDGET)[0]


LONE_SURROGATES: Final = {
    "a text": ("/v1/embeddings", '{"model":"embed","input":LONE}'),
    "one text of several": ("/v1/embeddings", '{"model":"embed","input":["a",LONE]}'),
    "an item": ("/v1/classify", '{"model":"sequence","input":[{"text":LONE}]}'),
    "a query": ("/v1/rerank", '{"model":"reranker","query":LONE,"documents":["a"]}'),
    "a document": ("/v1/rerank", '{"model":"reranker","query":"a","documents":["a",LONE]}'),
    "a model": ("/v1/embeddings", '{"model":LONE,"input":"a"}'),
    "a state": ("/v1/decisions", '{"model":"nli","state":LONE,"questions":{"q":{"type":"noul","instructions":"x"}}}'),
    "a key of a state": (
        "/v1/decisions",
        '{"model":"nli","state":{LONE:1},"questions":{"q":{"type":"noul","instructions":"x"}}}',
    ),
    "a question": (
        "/v1/decisions",
        '{"model":"nli","state":"a","questions":{LONE:{"type":"noul","instructions":"x"}}}',
    ),
    "a member": ("/v1/embeddings", '{"model":"embed","input":"a",LONE:1}'),
}


@pytest.mark.parametrize("place", LONE_SURROGATES)
def test_a_lone_surrogate_is_refused_wherever_it_stands(client: httpx.Client, place: str) -> None:
    path, body = LONE_SURROGATES[place]
    message = refusal(client.post(path, content=body.replace("LONE", LONE).encode()), 400, "invalid_request")
    assert "Error" not in message
    assert "Traceback" not in message
    assert client.get("/health").status_code == 200


def test_bytes_of_a_surrogate_are_refused(client: httpx.Client) -> None:
    body = b'{"model":"embed","input":"\xed\xa0\x80"}'
    message = refusal(client.post("/v1/embeddings", content=body), 400, "invalid_request")
    assert "Error" not in message
    assert client.get("/health").status_code == 200


def test_a_pair_of_surrogates_is_one_character(client: httpx.Client) -> None:
    body = b'{"model":"spans","input":"\\ud83d\\ude00 @1"}'
    (result,) = client.post("/v1/classify", content=body).json()["results"]
    assert [(span["start"], span["text"]) for span in result["spans"]] == [(2, "@1")]


@pytest.mark.parametrize("text", [" ", "\n", "\t\t", "\u200b", "\ufeff", "\u00ad", "\x00", "\u3000"])
def test_texts_of_nothing_to_see_give_finite_vectors(client: httpx.Client, text: str) -> None:
    for model in ("embedding", "qwen3_embedding", "sentence_bert", "embed"):
        (entry,) = embed(client, model, text, encoding_format="float")
        norm = sum(value * value for value in entry["embedding"])
        assert norm == pytest.approx(1, abs=1e-5)


def test_template_braces_in_a_grounded_item_are_text(client: httpx.Client) -> None:
    item = {"context": "{answer} {0} {context}", "question": "{question}", "answer": "a {b} c"}
    answer = ask(client, "/v1/classify", {"model": "grounded", "input": [item], "options": {"return_tokens": True}})
    (result,) = answer["results"]
    assert result["tokens"][-1]["end"] == len("a {b} c")
