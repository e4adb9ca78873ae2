"""Packages of trained students, and the evaluation that calibrates them."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import nnx

from bench.mini.calibration import Fitted
from bench.mini.evaluation import Evaluation, fit, judge
from bench.mini.package import KEY_MAP, write_package
from bench.mini.run import Start
from bench.mini.student import Student
from bench.mini.tasks.mixture import held
from bench.mini.weights import stored
from checkpoints.files import PackageFolder
from checkpoints.loading import Source, plan_fills, read_params
from checkpoints.readers.calibration import read_calibration
from checkpoints.weights import TensorFile


def test_what_is_written_is_read_back(student: Student, start: Start, home: Path) -> None:
    write_package(home, "Tiny", student, start.cut, Fitted(), dtype="F32")
    file = TensorFile.open(PackageFolder.local(home), "model.safetensors")
    params = nnx.state(student, nnx.Param)
    read = read_params(params, plan_fills(params, [Source(file, KEY_MAP)]))
    jax.tree.map(np.testing.assert_array_equal, params, read)


def test_the_config_names_the_encoder_and_the_markers(student: Student, start: Start, home: Path) -> None:
    write_package(home, "Tiny", student, start.cut, Fitted())
    config = json.loads((home / "config.json").read_text())
    assert (config["model_type"], config["encoder_config"]["model_type"]) == ("vela2-unified", "bert")
    assert config["marker_ids"] == start.cut.markers
    assert config["encoder_config"]["vocab_size"] == start.cut.size
    assert (config["bos_token_id"], config["eos_token_id"], config["pad_token_id"]) == (2, 3, 0)


def test_the_calibration_is_read_as_it_was_fitted(student: Student, start: Start, home: Path) -> None:
    fitted = Fitted({"choice": 1.4, "score": 1.0, "set": 1.0, "span": 1.0}, 0.35, 0.6)
    write_package(home, "Tiny", student, start.cut, fitted)
    read, own = read_calibration(PackageFolder.local(home)), fitted.calibration()
    assert (read.temperature, read.thresholds, read.presets) == (own.temperature, own.thresholds, own.presets)
    assert read.span_presets == own.span_presets
    assert read.level_presets == own.level_presets


def test_two_bytes_a_value(student: Student) -> None:
    whole, half = (sum(each.nbytes for each in stored(student, KEY_MAP, dtype).values()) for dtype in ("F32", "BF16"))
    assert whole == 2 * half


def test_sources_are_noted(student: Student, start: Start, home: Path) -> None:
    write_package(home, "Tiny", student, start.cut, Fitted())
    assert "WordNet 3.0" in (home / "NOTICE").read_text()


def test_a_folder_in_use_and_an_unknown_dtype_are_refused(student: Student, start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="not empty"):
        write_package(tmp_path, "Tiny", student, start.cut, Fitted())
    with pytest.raises(ValueError, match="choose one of BF16"):
        write_package(tmp_path / "x", "Tiny", student, start.cut, Fitted(), dtype="I8")


def test_a_student_is_judged_as_the_server_would_answer(student: Student, start: Start) -> None:
    cases = [example.case(str(place)) for place, example in enumerate(held(30))]
    asked = Evaluation(student, start.tokenizer, start.special).ask([case for case in cases if case["expect"]])
    fitted = fit(asked)
    figures = judge(asked, fitted).rounded()
    assert all(0 <= value <= 1 for value in figures.values())
    assert 0 < fitted.set_threshold < 1
    assert figures["set_f1"] >= judge(asked, Fitted()).rounded()["set_f1"]
