"""Facts of the machine."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from bench.facts import machine_facts, processor


def test_facts_place_a_figure_without_naming_the_host() -> None:
    facts = machine_facts()
    assert facts["cores"] >= 1
    assert facts["memory_gib"] >= 1
    assert facts["versions"]["jax"]
    text = json.dumps(facts)
    assert socket.gethostname() not in text
    assert str(Path.home()) not in text


def test_the_processor_is_the_first_that_is_named(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(
        "processor\t: 0\nmodel name\t: Some CPU\nflags\t: a b\n\nmodel name\t: Other\n", encoding="utf-8"
    )
    assert processor(cpuinfo) == "Some CPU"


def test_an_unnamed_processor_is_its_architecture(tmp_path: Path) -> None:
    assert processor(tmp_path / "nothing") != ""
    (tmp_path / "arm").write_text("processor\t: 0\nCPU part\t: 0xd40\n", encoding="utf-8")
    assert processor(tmp_path / "arm") != ""
