"""Detection and kinds of packages (Vela 1.0 format, section 1)."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints.files import PackageError, PackageFolder
from checkpoints.fixtures import VARIANTS
from checkpoints.readers import read_package, task_heads
from checkpoints.readers.reading import Reading
from tests.checkpoints.conftest import Edit, MakePackage
from vela_jax.families.task_heads.spec import ClassifierSpec, Kind, PooledSpec, RelevanceSpec

SEQUENCE = "ModernBertForSequenceClassification"
TOKEN = "ModernBertForTokenClassification"
PLAIN = "ModernBertModel"
POOLED_FILES = ("1_Pooling/config.json", "modules.json")
RERANKER_FILES = ("matryoshka_config.json", "classification_heads.safetensors")


def read(path: Path, **options: Any) -> Reading:
    return read_package(PackageFolder.local(path), options)


@pytest.mark.parametrize(
    ("model_type", "architectures", "files", "detected"),
    [
        ("modernbert", [SEQUENCE], (), True),
        ("modernbert", [TOKEN], (), True),
        ("modernbert", [PLAIN, SEQUENCE], (), True),
        ("modernbert", [PLAIN], (), False),
        ("modernbert", [PLAIN], POOLED_FILES, True),
        ("modernbert", [PLAIN], POOLED_FILES[:1], False),
        ("modernbert", [PLAIN], RERANKER_FILES, True),
        ("modernbert", [PLAIN], RERANKER_FILES[1:], False),
        ("modernbert", [PLAIN, "Other"], POOLED_FILES, False),
        ("modernbert", ["ModernBertForMaskedLM"], POOLED_FILES, False),
        ("modernbert", None, POOLED_FILES, False),
        ("qwen3", ["Qwen3ForCausalLM"], POOLED_FILES, True),
        ("qwen3", None, POOLED_FILES, True),
        ("qwen3", ["Qwen3ForCausalLM"], (), False),
        ("qwen3", [SEQUENCE], (), False),
        ("bert", ["BertModel"], POOLED_FILES, False),
        ("bert", [SEQUENCE], (), False),
        ("llama", None, POOLED_FILES, False),
        (None, [SEQUENCE], (), False),
        (["modernbert"], [SEQUENCE], (), False),
    ],
)
def test_detection(
    tmp_path: Path, model_type: Any, architectures: list[str] | None, files: tuple[str, ...], detected: bool
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    config = {"model_type": model_type, "architectures": architectures}
    assert task_heads.detect(PackageFolder(tmp_path), config) is detected


KINDS = {
    "sequence": Kind.SEQUENCE,
    "guard": Kind.SEQUENCE,
    "nli": Kind.SEQUENCE,
    "nli_ternary": Kind.SEQUENCE,
    "scores": Kind.SCORES,
    "token": Kind.TOKEN,
    "grounded": Kind.GROUNDED,
    "embedding": PooledSpec,
    "qwen3_embedding": PooledSpec,
    "sentence_bert": PooledSpec,
    "reranker": RelevanceSpec,
}


@pytest.mark.parametrize(("variant", "kind"), KINDS.items())
def test_kinds(originals: MakePackage, variant: str, kind: Any) -> None:
    spec = read(originals(variant)).spec
    if isinstance(spec, ClassifierSpec):
        assert spec.kind is kind
    else:
        assert type(spec) is kind


def test_reranker_files_come_before_pooled_files(make_package: MakePackage, originals: MakePackage) -> None:
    path = make_package("reranker")
    (path / "1_Pooling").mkdir()
    for name in POOLED_FILES:
        (path / name).write_bytes((originals("embedding") / name).read_bytes())
    assert isinstance(read(path).spec, RelevanceSpec)


def test_two_tasks_are_refused(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("sequence")
    edit(path / "config.json", {"architectures": [SEQUENCE, TOKEN]})
    with pytest.raises(PackageError, match=f"architectures lists {SEQUENCE} and {TOKEN}; exactly one"):
        read(path)


def test_a_task_of_another_backbone_is_refused(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("qwen3_embedding")
    edit(path / "config.json", {"architectures": [SEQUENCE]})
    with pytest.raises(PackageError, match="model_type must be modernbert"):
        read(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "llama"},
        {"model_type": ...},
        {"architectures": ["ModernBertForMaskedLM"]},
        {"architectures": SEQUENCE},
        {"architectures": []},
    ],
)
def test_foreign_packages_are_refused(make_package: MakePackage, edit: Edit, changes: dict[str, Any]) -> None:
    path = make_package("sequence")
    edit(path / "config.json", changes)
    with pytest.raises(PackageError, match=r"config\.json: model_type .* is no package that this server reads"):
        read(path)


def test_config_errors_of_the_backbone_are_package_errors(make_package: MakePackage, edit: Edit) -> None:
    path = make_package("sequence")
    edit(path / "config.json", {"hidden_activation": "gelu_new"})
    with pytest.raises(PackageError, match=r"config\.json: hidden_activation .*gelu_new"):
        read(path)


def numbers_and_texts() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6)
    return plain | st.lists(plain, max_size=3) | st.dictionaries(st.text(max_size=4), plain, max_size=2)


FILES = {
    "config.json": ("sequence", "embedding", "reranker", "qwen3_embedding", "sentence_bert"),
    "operating_point.json": ("scores", "grounded"),
    "1_Pooling/config.json": ("embedding", "sentence_bert"),
    "modules.json": ("embedding", "sentence_bert"),
    "config_sentence_transformers.json": ("embedding",),
    "matryoshka_config.json": ("reranker",),
    "sentence_bert_config.json": ("sentence_bert",),
}
PLACES = [(variant, name) for name, variants in FILES.items() for variant in variants]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), value=numbers_and_texts())
@pytest.mark.parametrize(("variant", "name"), PLACES)
def test_changed_members_are_read_or_refused(
    originals: Callable[[str], Path], variant: str, name: str, seed: int, value: Any
) -> None:
    path = originals(variant)
    original = (path / name).read_text()
    try:
        (path / name).write_text(json.dumps(mutate(json.loads(original), seed, value)))
        fault = fault_of(path)
    finally:
        (path / name).write_text(original)
    assert fault is None or name in fault or ".safetensors" in fault or ".onnx" in fault, fault


def fault_of(path: Path) -> str | None:
    """What the reader says of a package, None when it reads it."""
    try:
        read(path)
    except PackageError as error:
        return str(error)
    return None


def mutate(document: Any, seed: int, value: Any) -> Any:
    """The document with one member, at any depth, replaced by `value` or removed."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            walk(node[key])

    walk(document)
    chooser = random.Random(seed)
    node, key = chooser.choice(places)
    if chooser.random() < 0.3:
        del node[key]
    else:
        node[key] = value
    return document


def test_all_variants_are_tested() -> None:
    same_as_sequence = {"safety", "factcheck", "feedback", "modality"}
    assert set(VARIANTS) == set(KINDS) | same_as_sequence
