"""Tiny tokenizers of the designs that packages bring, trained on a few sentences, and texts that break them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from tokenizers import AddedToken, Encoding, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

from vela_jax.text.tokenizer import TextTokenizer

SPECIAL: Final = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
CORPUS: Final = (
    "The quick brown fox jumps over the lazy dog, and the other foxes jump too. They'll be there again!",
    "Please call Tom Baker at +49 30 123456 or write to tom@example.org before 2024-01-31 12:30.",
    "今天天气很好，我们去公园散步吧。今天的天气不好。東京タワーへ行きました。カタカナとひらがなの文章です。",
    "한국어 문장입니다. 안녕하세요? café naïve déjà vu Ångström Μετ᾽ αὐτοῦ",
    "def f(x):\n    return x + 1\n\n\ndef g(y):\n    return f(y) - 1\n\t\n  \n aaaa aaaa aaaaaaaa 0000 00001111",
)
SPLIT: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def framed(tokenizer: Tokenizer) -> Tokenizer:
    """Give the framing `<bos> A <eos>` and `<bos> A <eos> B <eos>`."""
    tokenizer.post_processor = TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <eos> $B <eos>", special_tokens=[("<eos>", 1), ("<bos>", 2)]
    )
    return tokenizer


def _train(tokenizer: Tokenizer, trainer: Any) -> Tokenizer:
    tokenizer.train_from_iterator([*CORPUS, *CORPUS], trainer)
    return framed(tokenizer)


def _bpe(size: int = 420, **more: Any) -> Any:
    return trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False, **more)


def _with_byte_fallback(tokenizer: Tokenizer) -> str:
    """Give the file with a vocabulary entry for each byte, so that no character is unknown."""
    described = json.loads(tokenizer.to_str())
    vocabulary = described["model"]["vocab"]
    for byte in range(256):
        vocabulary.setdefault(f"<0x{byte:02X}>", len(vocabulary))
    return json.dumps(described)


def metaspace_file() -> str:
    """The Vela 1.0 design: words begin with a metaspace, unknown characters fall back to bytes."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="never", split=True)
    return _with_byte_fallback(_train(tokenizer, _bpe()))


def one_word_file() -> str:
    """The Gemma design: spaces become metaspaces, and nothing splits the text into words."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="never", split=True)
    described = json.loads(_with_byte_fallback(_train(tokenizer, _bpe())))
    described["pre_tokenizer"] = None
    return json.dumps(described)


def byte_level_file() -> str:
    """The Qwen design: NFC, a splitting pattern, byte-level BPE."""
    return _byte_level(normalizers.NFC())


def compatibility_file() -> str:
    """As the Qwen design, with the normalizer that also replaces compatibility characters."""
    return _byte_level(normalizers.NFKC())


def look_ahead_file() -> str:
    """A normalizer that looks past any cut."""
    return _byte_level(normalizers.Replace(Regex(r"e(?=[\s\S]*z)"), "3"))


def _byte_level(normalizer: Any) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return str(_train(tokenizer, _bpe(initial_alphabet=pre_tokenizers.ByteLevel.alphabet())).to_str())


def newline_merging_file() -> str:
    """As the Qwen design, with tokens that begin with a newline and go on with spaces.

    The pattern takes white space together up to its last newline, so the first tokens of a long run depend on
    whether a newline stands at its far end.
    """
    described = json.loads(byte_level_file())
    vocabulary, merges = described["model"]["vocab"], described["model"]["merges"]
    for left, right in (("Ċ", "Ġ"), ("ĊĠ", "Ġ"), ("ĊĠĠ", "Ġ")):
        vocabulary[left + right] = len(vocabulary)
        merges.insert(0, [left, right])
    return json.dumps(described)


def stripping_file() -> str:
    """As the Vela 1.0 design, with a special token that takes in all white space on its left."""
    tokenizer = Tokenizer.from_str(metaspace_file())
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    return str(tokenizer.to_str())


def word_piece_file() -> str:
    """The BERT design: lower-cased, white space dropped, words over 100 characters unknown."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=SPECIAL, show_progress=False)
    return str(_train(tokenizer, trainer).to_str())


def word_level_file() -> str:
    """A word list, split at white space."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return str(_train(tokenizer, trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False)).to_str())


def unigram_file() -> str:
    """The likeliest pieces of words that begin with a metaspace."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False)
    return str(_train(tokenizer, trainer).to_str())


DESIGNS: Final[dict[str, Callable[[], str]]] = {
    "metaspace": metaspace_file,
    "one_word": one_word_file,
    "byte_level": byte_level_file,
    "compatibility": compatibility_file,
    "look_ahead": look_ahead_file,
    "newline_merging": newline_merging_file,
    "stripping": stripping_file,
    "word_piece": word_piece_file,
    "word_level": word_level_file,
    "unigram": unigram_file,
}


@cache
def file_of(design: str) -> str:
    """Give the `tokenizer.json` of a design."""
    return DESIGNS[design]()


@cache
def tokenizer_of(design: str) -> TextTokenizer:
    """Give the tokenizer of a design."""
    return TextTokenizer.from_json(file_of(design))


class SpyTokenizer(TextTokenizer):
    """Remembers how many characters each call tokenized."""

    def __init__(self, library: Tokenizer, normalizer: Any) -> None:
        super().__init__(library, normalizer)
        self.seen: list[int] = []

    def _encoding(self, text: str) -> Encoding:
        self.seen.append(len(text))
        return super()._encoding(text)


def spy_of(design: str) -> SpyTokenizer:
    """Give a tokenizer of a design that remembers what it read."""
    return SpyTokenizer.from_json(file_of(design))
