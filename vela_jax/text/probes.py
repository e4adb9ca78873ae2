"""Texts on which a tokenizer is tried before long texts are cut for it: what people send, and what breaks."""

from __future__ import annotations

import random
import string
import unicodedata
from collections.abc import Sequence
from typing import Final

FOLD_REPETITIONS: Final = 600
# What a tokenizer may drop, or fold many of into one token; the last one composes.
FOLDS: Final = (
    " ", "\n", "\t", "\u3000", "\u00a0", "\u200b", "\u200d", "\ufeff", "\u00ad", "\ufe0f", "\0", "\a", "\x7f",
    "a", "é", "\u0301", "\ue000", "\U0001f600", "\u1100\u1161\u11a8",
)  # fmt: skip

_RUN_LENGTH: Final = 4096
_WHITESPACE_LENGTH: Final = 1800
_RUN_ALPHABETS: Final = (
    string.ascii_letters + string.digits + "+/",
    "0123456789abcdef",
    string.digits,
    string.ascii_letters,
    "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长",
    "あいうえおかきくけこさしすせそたちつてとなにぬねのアイウエオカキクケコサシスセソ一人日本語東京韓国어문한국서울사람가나다라마바사",
)

_PROSE: Final = (
    "The quick brown fox can't jump over 13 lazy dogs; it's \"tired\" (very). Isn't that odd? They'll see.",
    "spaces  two   three    four \t tab\t\ttabs \r\n line\n\n\npara \n \n mixed\u00a0nb \u2003em\u3000wide   end ",
    "café cafe\u0301 naïve nai\u0308ve Å A\u030a ﬁne ½ ² Ⅳ q\u0323\u0307 q\u0307\u0323 \u1fbd Μετ᾽ ς Σ İ ı ß ẞ",
    "今天天气很好，我们去公园散步吧。你说：“好的！”然后（大概三点）见面……价格是￥３５元；",
    "カタカナとひらがなの文章です。ｶﾞｷﾞｸﾞ 「はい」、東京タワーへ行きました！か\u3099き\u3099",
    "한국어 문장입니다. 안녕하세요? \u1112\u1161\u11ab\u1100\u1173\u11af 그리고 끝.",
    "ภาษาไทยไม่มีช่องว่าง สวัสดีครับ अनुच्छेद हिन्दी क्षत्रिय",
    "مرحبا بالعالم، كيف الحال؟ هٰذَا نَصٌّ שלום עולם",
    "emoji 😀😃 👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 👍🏽 🇩🇪🇫🇷 ⭢ → ok \u200b zero\ufeffwidth soft\u00adhyphen",
    "def f(x: int) -> str:\n    return {'a': [1, 2], \"b\": x**2}  # comment\n\tif x != 0 && y >= 1: pass;",
    "https://example.org/a/b-c_d?q=1&r=%20x#frag mail: tom.baker+x@mail.example.com, C:\\dir\\file.txt",
    "$1,299.99 €5.00 £3 10% 3.14e-10 1.000.000 2024-01-31 12:30:45 +49(0)30/123 №5 ©®™ §4",
    '<p class="x">Tom &amp; Jerry</p> <br/> [MASK] [SEP] <bos> </s> <|im_end|> {{name}} **bold** _it_ `code`',
    "ALLCAPS MixedCase camelCaseWord snake_case_word kebab-case-word x1y2z3 \x00\x07\x1f\x7f ctrl",
)

_ASCII: Final = "".join(map(chr, range(33, 127)))


def _echo(characters: str) -> str:
    """Give one line with the characters one by one, cuts of all classes, and the characters again."""
    alone = " ".join(characters)
    return f"{alone} then some plain words as a bridge \u2003 , + 中 and more plain words as a bridge {alone}"


def probe_texts(added: Sequence[str]) -> list[str]:
    """Give the texts tried alone: ordinary ones, and each added token between others."""
    shown = _shown(added)
    woven = "".join(f"word{token} and {token}, x {token}{token}\n" for token in shown)
    return [*_PROSE, woven] if shown else list(_PROSE)


def _shown(added: Sequence[str]) -> list[str]:
    """Give a few of the added tokens, short and long ones."""
    tokens = sorted(added, key=lambda token: (len(token), token))
    return tokens[:4] + tokens[4:][-4:]


def long_texts(added: Sequence[str]) -> list[str]:
    """Give texts for what works over a distance.

    In the first two, a rule that looks from one ASCII character ahead to another, however far on the line, reads
    across the cuts: they stand in both orders. Then come all probes joined, and again with the characters reversed,
    without those that hold an added token.
    """
    texts = probe_texts(added)
    plain = [text for text in texts if not any(token in text for token in added)]
    return [_echo(_ASCII), _echo(_ASCII[::-1]), " ".join(texts), " ".join(plain)[::-1]]


def run_texts() -> list[str]:
    """Give runs without boundaries: random ones of each alphabet, and one letter repeated."""
    draw = random.Random(20240229)
    runs = ["".join(draw.choices(alphabet, k=_RUN_LENGTH)) for alphabet in _RUN_ALPHABETS]
    return [*runs, "a" * _RUN_LENGTH, "あ" * _RUN_LENGTH, unicodedata.normalize("NFD", "한국어é" * (_RUN_LENGTH // 8))]


def whitespace_texts(added: Sequence[str]) -> list[str]:
    """Give runs of white space whose split may depend on their far end: a newline, or a token that takes them in."""
    heads = ("\n", "\r\n", "\n\n", "\t\n")
    bodies = (" ", "\t", "\u00a0", "\u3000", " \t")
    tails = ("\nend", "end", *(token + "end" for token in _shown(added)))
    near = [f"word{head}{body * _RUN_LENGTH}"[:_WHITESPACE_LENGTH] for head in heads for body in bodies]
    return [text + "\nend" for text in near] + [near[0] + tail for tail in tails]
