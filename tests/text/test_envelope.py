"""Special tokens around content, read off the tokenizer's own framing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.processors import PostProcessor, TemplateProcessing

from tests.text.designs import DESIGNS, file_of, tokenizer_of
from vela_jax.text.envelope import EnvelopeError, pair_envelope, single_envelope
from vela_jax.text.tokenizer import TextTokenizer

SPECIAL = [("<eos>", 1), ("<bos>", 2)]


def ids(*values: int) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def with_processor(processor: PostProcessor) -> TextTokenizer:
    library = Tokenizer.from_str(file_of("metaspace"))
    library.post_processor = processor
    return TextTokenizer.from_json(library.to_str())


@pytest.mark.parametrize("design", DESIGNS)
def test_frames_as_the_tokenizer_does(design: str) -> None:
    tokenizer = tokenizer_of(design)
    single, pair = single_envelope(tokenizer), pair_envelope(tokenizer)
    assert (single.size, pair.size) == (2, 3)
    first, second = "Call Tom <eos> 今天 👩\u200d👧\n", "the <bos> fox"
    assert single.frame(tokenizer.encode(first).ids).tolist() == tokenizer.frame(first)
    framed, _ = tokenizer.frame_pair(first, second)
    assert pair.frame(tokenizer.encode(first).ids, tokenizer.encode(second).ids).tolist() == framed


def test_ids_of_the_release_layout() -> None:
    tokenizer = tokenizer_of("metaspace")
    single, pair = single_envelope(tokenizer), pair_envelope(tokenizer)
    assert (single.prefix.tolist(), single.suffix.tolist()) == ([2], [1])
    assert (pair.prefix.tolist(), pair.middle.tolist(), pair.suffix.tolist()) == ([2], [1], [1])
    assert single.frame(ids()).tolist() == [2, 1]
    assert single.frame(ids(7, 8)).dtype == np.int32
    assert pair.frame(ids(7), ids(8, 9)).tolist() == [2, 7, 1, 8, 9, 1]


def test_without_special_tokens_the_envelope_is_empty() -> None:
    described = json.loads(file_of("metaspace"))
    described["post_processor"] = None
    tokenizer = TextTokenizer.from_json(json.dumps(described))
    single, pair = single_envelope(tokenizer), pair_envelope(tokenizer)
    assert (single.size, pair.size) == (0, 0)
    assert single.frame(ids(5, 6)).tolist() == [5, 6]
    assert pair.frame(ids(5), ids(6)).tolist() == [5, 6]


@pytest.mark.parametrize(
    ("single", "prefix", "suffix"),
    [("$A <eos>", [], [1]), ("<bos> $A", [2], []), ("<bos> <bos> $A <bos>", [2, 2], [2]), ("<eos> $A <eos>", [1], [1])],
)
def test_any_fixed_template_is_split_rightly(single: str, prefix: list[int], suffix: list[int]) -> None:
    envelope = single_envelope(with_processor(TemplateProcessing(single=single, special_tokens=SPECIAL)))
    assert (envelope.prefix.tolist(), envelope.suffix.tolist()) == (prefix, suffix)


def test_segment_ids_do_not_matter() -> None:
    processor = TemplateProcessing(single="<bos> $A", pair="<bos> $A <eos> $B:1 <eos>:1", special_tokens=SPECIAL)
    assert pair_envelope(with_processor(processor)).size == 3


def test_a_template_that_repeats_the_text_is_refused() -> None:
    tokenizer = with_processor(TemplateProcessing(single="<bos> $A <eos> $A", special_tokens=SPECIAL))
    with pytest.raises(EnvelopeError, match=r"\[2, 1\] cannot be split.*frames 'a' differently"):
        single_envelope(tokenizer)


@pytest.mark.parametrize("pair", ["<bos> $B <eos> $A <eos>", "<bos> $A <eos> $B <eos> $A"])
def test_a_pair_that_is_not_first_and_second_once_is_refused(pair: str) -> None:
    tokenizer = with_processor(TemplateProcessing(single="<bos> $A", pair=pair, special_tokens=SPECIAL))
    with pytest.raises(EnvelopeError, match="is framed as"):
        pair_envelope(tokenizer)


def test_a_tokenizer_that_loses_a_text_of_the_pair_is_refused() -> None:
    described = json.loads(file_of("metaspace"))
    described["normalizer"] = {"type": "Replace", "pattern": {"String": "b"}, "content": ""}
    with pytest.raises(EnvelopeError, match="no token"):
        pair_envelope(TextTokenizer.from_json(json.dumps(described)))
