"""What a decoder is shown, to the byte; costs and room; windows of words."""

from typing import Any

import numpy as np
import pytest

from tests.families.vela2.toy import CHARACTERS, FIRST, ids, tokenizer
from vela_jax.families.vela2.decoder_dispatch import Dispatch
from vela_jax.families.vela2.decoder_layout import DecoderLayout, SpanLayout, word_windows
from vela_jax.families.vela2.questions import Asked
from vela_jax.families.vela2.texts import Pieces

LAYOUT = DecoderLayout(Pieces(tokenizer(), 1000))
ONE = "\n\nSelect the single option best supported by the context and instructions.\nDecision:"
ABSTAIN = '\n<option>\n{"description":"None of the shown options applies.","key":"[ABS]"}\n</option>'


def asked(kind: str, **changes: Any) -> Asked:
    members: dict[str, Any] = {"id": "q", "kind": kind, "text": "why?", "roles": ("user",), "key": "q"}
    return Asked(**{**members, "options": (("a", "x"), ("b", "")), **changes})


def text(tokens: Any) -> str:
    return "".join(CHARACTERS[token - FIRST] for token in tokens)


def array(part: str) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(ids(part), np.int32)


def test_prefix() -> None:
    shown = text(LAYOUT.prefix({"user": array("hello world"), "answer": array("done")}))
    assert shown == (
        'Context:\n<segment role="user">\nhello world\n</segment>\n<segment role="answer">\ndone\n</segment>\n'
    )


@pytest.mark.parametrize(
    ("kind", "name", "suffix", "abstain"),
    [
        ("choice", "choice", ONE, ABSTAIN),
        ("noul", "choice", ONE, ABSTAIN),
        ("score", "score", ONE, ""),
        ("set", "set", "\n\nSelect every option supported by the context and instructions.\nDecision:", ""),
    ],
)
def test_block(kind: str, name: str, suffix: str, abstain: str) -> None:
    block = LAYOUT.block(asked(kind, roles=("user", "answer")))
    assert text(block.ids) == (
        f"\n\nTask type: {name}\nTarget: user, answer\nQuestion:\nwhy?\nOptions:"
        '\n<option>\n{"description":"x","key":"a"}\n</option>\n<option>\n{"description":"","key":"b"}\n</option>'
        f"{abstain}{suffix}"
    )
    assert len(block.ends) == (3 if abstain else 2)
    for end in block.ends:
        assert text(block.ids[: end + 1]).endswith("</option>")
    shown = len(text(block.ids))
    assert LAYOUT.cost(asked(kind, roles=("user", "answer"))) == 1 + shown + 2 + bool(abstain)


def test_span_block() -> None:
    dispatched = Dispatch("router", (("A", "x"), ("B", "")))
    head = "\n\nTask type: span\nTarget: user\nQuestion:\nwhy?\nLabels:"
    labels = ['\n<label>\n{"description":"x","key":"A"}\n</label>', '\n<label>\n{"description":"","key":"B"}\n</label>']
    suffix = "\n\nMark every span of the target text that carries one of the labels.\nSpans:"
    block = LAYOUT.span_block(asked("span"), dispatched, array("some text"))
    target = '\n\nText:\n<segment role="user">\n'
    assert text(block.ids) == head + "".join(labels) + target + "some text\n</segment>\n" + suffix
    assert block.text == len(head + "".join(labels) + target)
    for start, end, label in zip(block.starts, block.ends, labels, strict=True):
        assert text(block.ids[start : end + 1]) == label
    bare = LAYOUT.span_block(asked("span"), dispatched, None)
    assert text(bare.ids) == head + "".join(labels) + suffix
    assert bare.text is None
    assert LAYOUT.label_cost(dispatched) == sum(1 + len(label) for label in labels)


def test_room() -> None:
    span = asked("span")
    frame = len('Context:\n<segment role="user">\n\n</segment>\n')
    assert LAYOUT.room(500, ["user"], None, None) == 500 - frame
    head = len("\n\nTask type: span\nTarget: user\nQuestion:\nwhy?\nLabels:")
    suffix = len("\n\nMark every span of the target text that carries one of the labels.\nSpans:")
    assert LAYOUT.room(500, ["user"], span, None) == 500 - frame - head - suffix
    repeat = len('\n\nText:\n<segment role="user">\n\n</segment>\n')
    rest = 500 - frame - head - suffix - repeat
    assert LAYOUT.room(500, ["user"], span, 40) == rest - 40
    assert LAYOUT.room(500, ["user"], span, 400) == rest - rest // 2
    assert LAYOUT.room(150, ["user"], span, 400) == 64


@pytest.mark.parametrize(
    ("starts", "length", "window", "stride", "expected"),
    [
        ([0, 3, 9, 14, 20, 26, 31], 35, 12, 8, [(0, 9), (9, 20), (20, 31), (31, 35)]),
        ([2, 5], 40, 10, 8, [(2, 5), (5, 15), (15, 25), (25, 35), (35, 40)]),
        ([], 40, 10, 8, [(0, 40)]),
        ([3], 9, 10, 8, [(3, 9)]),
        (list(range(30)), 30, 12, 8, [(0, 11), (8, 19), (16, 27), (24, 30)]),
    ],
)
def test_word_windows(
    starts: list[int], length: int, window: int, stride: int, expected: list[tuple[int, int]]
) -> None:
    assert word_windows(starts, length, SpanLayout(48, window, stride)) == expected
