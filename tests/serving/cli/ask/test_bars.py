from __future__ import annotations

import pytest

from serving.cli.ask.bars import BAR_WIDTH, bar, clean, marked, shade, short


@pytest.mark.parametrize(("share", "full"), [(0, 0), (0.5, BAR_WIDTH // 2), (1, BAR_WIDTH), (1.5, BAR_WIDTH), (-1, 0)])
def test_a_bar_is_as_long_as_its_share(share: float, full: int) -> None:
    text = bar(share).plain
    assert len(text) == BAR_WIDTH
    assert text.count("█") == full


def test_foreign_text_cannot_steer_a_terminal() -> None:
    assert clean("a\x1b[31mb\u202ec\td\n\x9b") == "a\ufffd[31mb\ufffdc\td\n\ufffd"
    assert short("a\n b\x07" + "c" * 9, 6) == "a b\ufffdc…"


def test_spans_are_marked_in_place_and_overlaps_left_out() -> None:
    spans = [
        {"label": "city", "start": 10, "end": 12},
        {"label": "name", "start": 0, "end": 4},
        {"label": "name", "start": 2, "end": 6},
    ]
    assert marked("Ánna is in 🏙.", spans).plain == "[Ánna name] is in[ 🏙 city]."


def test_a_long_text_is_shown_around_its_spans() -> None:
    text = "x" * 5000 + "HERE" + "y" * 5000
    shown = marked(text, [{"label": "l", "start": 5000, "end": 5004}]).plain
    assert shown == " … " + "x" * 60 + "[HERE l]" + "y" * 60 + " … "
    assert len(marked(text, []).plain) < 2000


def test_shades_rise_with_the_similarity() -> None:
    assert len({shade(value) for value in (-1, 0.3, 0.5, 0.75, 1)}) == 5
