from __future__ import annotations

import io
from pathlib import Path

import pytest

from serving.cli.ask.texts import TextReader
from serving.cli.failure import CommandFailed


class _Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def reader(content: bytes = b"piped\n") -> TextReader:
    return TextReader(io.BytesIO(content))


def test_a_text_is_itself_and_an_at_sign_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    path.write_text("Grüße\n\n", encoding="utf-8")
    assert reader().read_all(["plain", "@@home", f"@{path}", "-"]) == ["plain", "@home", "Grüße\n", "piped"]


def test_without_texts_standard_input_is_read_unless_it_is_a_terminal() -> None:
    assert reader().read_all([]) == ["piped"]
    assert TextReader(_Terminal(b"x")).read_all([]) == []


def test_standard_input_is_read_once() -> None:
    with pytest.raises(CommandFailed, match="can be read once"):
        reader().read_all(["-", "-"])


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"none\.txt cannot be read: No such file"):
        reader().read(f"@{tmp_path / 'none.txt'}")
    with pytest.raises(CommandFailed, match="standard input is no UTF-8 text: byte 1"):
        reader(b"a\xff").read("-")
