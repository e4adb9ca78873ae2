"""The models file: what is read, and what is refused with file, entry and member named."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints import families
from serving import config
from serving.config import ConfigError, ModelEntry, check_names, read_models_file


@pytest.fixture
def models_file(tmp_path: Path) -> Path:
    return tmp_path / "models.yaml"


def test_a_full_and_a_short_entry(models_file: Path) -> None:
    models_file.write_text(
        """
models:
  - model: acme/first
    revision: 0123456789012345678901234567890123456789
    name: first
    family: task_heads
    device: CUDA:1
    engine: jax
    profile: exact
    memory_budget_gib: 4
    options: {layers: [6, 22], pair_scorer: {layer: 22, dimension: 256}}
    engine_args: {batching: throughput, warmup: [16]}
  - model: ./folder
"""
    )
    first, second = read_models_file(models_file)
    assert first == ModelEntry(
        model="acme/first",
        revision="0123456789012345678901234567890123456789",
        name="first",
        family="task_heads",
        device="CUDA:1",
        engine="jax",
        memory_budget_gib=4.0,
        options={"layers": [6, 22], "pair_scorer": {"layer": 22, "dimension": 256}},
        engine_args={"batching": "throughput", "warmup": [16]},
    )
    assert second == ModelEntry(model="./folder")
    assert (second.device, second.engine, second.profile, second.options) == ("auto", "auto", "exact", {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a mapping with the one member 'models', got nothing"),
        ("- model: a", "must be a mapping .*, got a list of 1"),
        ("models: [{model: a}]\nport: 1", r"got a mapping with \['models', 'port'\]"),
        ("models: []", "models must be a list of at least one entry, got a list of 0"),
        ("models: {model: a}", "models must be a list"),
        ("models:", "models must be a list of at least one entry, got nothing"),
        ("models: [a]", r"models\[0\] must be a mapping with at least 'model', got 'a'"),
        ("models: [{model: a}, {name: b}]", r"models\[1\] has no 'model'"),
        ("models: [{model: }]", r"models\[0\] has no 'model'"),
        ("models: [{model: a, speed: 1, age: 2}]", r"models\[0\] has unknown members \['age', 'speed'\]; allowed"),
        ("models: [{model: 3}]", r"models\[0\]: model: expected `str`, got `int`"),
        ("models: [{model: ' '}]", r"models\[0\]: model must not be blank"),
        ("models: [{model: a, name: ''}]", r"models\[0\]: name must not be blank"),
        ("models: [{model: a, options: [1]}]", r"models\[0\]: options: expected `object`, got `array`"),
        ("models: [{model: a, engine_args: fast}]", r"models\[0\]: engine_args: expected `object`, got `str`"),
        ("models: [{model: a, device: gpu}]", r"models\[0\]: device: 'gpu' is no device; allowed are auto, cuda, cpu"),
        ("models: [{model: a, device: 'cuda:x'}]", r"models\[0\]: device: 'cuda:x' is no device"),
        ("models: [{model: a, engine: onnx}]", r"models\[0\]: engine must be one of \['auto', 'jax'\], got 'onnx'"),
        ("models: [{model: a, profile: max_speed}]", r"models\[0\]: profile must be one of \['exact'\]"),
        ("models: [{model: a, family: omni}]", r"models\[0\]: family must be one of \['task_heads', 'vela2', "),
        ("models: [{model: a, memory_budget_gib: 0}]", r"models\[0\]: memory_budget_gib must be a finite number above"),
        ("models: [{model: a, memory_budget_gib: .nan}]", r"models\[0\]: memory_budget_gib must be"),
        ("models: [{model: a, memory_budget_gib: big}]", r"models\[0\]: memory_budget_gib: expected"),
        ("models: [{model: a}, {model: a}]", "served names must differ, a comes twice"),
        ("models: [{model: a, name: x}, {model: b, name: x}]", "served names must differ, x comes twice"),
        ("models: [{model: a, name: b}, {model: b}]", "served names must differ, b comes twice"),
        ("models: [", "is not valid YAML"),
        ("models: !!python/object:os.system {}", "is not valid YAML"),
        ("\0", "is not valid YAML"),
    ],
)
def test_refusals_name_file_and_entry(models_file: Path, text: str, message: str) -> None:
    models_file.write_text(text)
    with pytest.raises(ConfigError, match=message) as refused:
        read_models_file(models_file)
    assert str(models_file) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there(models_file: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_models_file(models_file)


def test_bytes_that_are_no_text(models_file: Path) -> None:
    models_file.write_bytes(b"models: \xff\xfe")
    with pytest.raises(ConfigError, match="is not valid YAML"):
        read_models_file(models_file)


@settings(deadline=None, max_examples=80)
@given(st.binary(max_size=60) | st.text("models: []{}-&*!\n 'a:1", max_size=60).map(str.encode))
def test_any_bytes_give_entries_or_a_config_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(content)
    with suppress(ConfigError):
        assert read_models_file(path)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("acme/first", {"acme/first", "first"}),
        ("acme/first@abc", {"acme/first@abc", "acme/first", "first@abc", "first"}),
        ("/data/models/second/", {"/data/models/second/", "second"}),
        ("plain", {"plain"}),
    ],
)
def test_names_of_an_artifact(model: str, names: set[str]) -> None:
    assert set(ModelEntry(model=model).artifact_names) == names


def test_different_names_are_fine() -> None:
    check_names([ModelEntry(model="a"), ModelEntry(model="a", name="b")])


def test_families_are_those_that_packages_are_read_by() -> None:
    assert set(config.FAMILIES) == set(families.FAMILIES)
