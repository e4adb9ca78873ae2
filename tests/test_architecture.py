"""The direction of imports between rooms and floors."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("vela_jax", "checkpoints", "serving")
FLOORS = (
    {"vela_jax.contract"},
    {"vela_jax.layers", "vela_jax.text", "vela_jax.surfaces"},
    {"vela_jax.backbones", "vela_jax.heads", "vela_jax.forward", "vela_jax.systemone"},
    {"vela_jax.families", "vela_jax.generation"},
    {"checkpoints"},
    {"serving"},
)
FLOOR_OF = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in MODULES}


def room_of(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "vela_jax" else parts[0]


def imports_of(path: Path) -> Iterator[str]:
    """Full names that a module imports from the project's own packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [_module_of(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in (*PACKAGES, "bench", "tests"))


def _module_of(module: str, name: str) -> str:
    """A name imported from a package may be a module of its own."""
    return f"{module}.{name}" if f"{module}.{name}" in NAMES else module


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_its_own_room_or_lower_floors(path: Path) -> None:
    own = room_of(name_of(path))
    for name in imports_of(path):
        other = room_of(name)
        if other == own or other == "vela_jax":
            continue
        if other == "bench":
            assert own == "serving", f"{name_of(path)} imports {name}"
            continue
        assert FLOOR_OF[other] < FLOOR_OF[own], f"{name_of(path)} imports {name}"


def test_families_do_not_know_each_other() -> None:
    for path in (ROOT / "vela_jax" / "families").rglob("*.py"):
        own = name_of(path).split(".")[2:3]
        for name in imports_of(path):
            if name.startswith("vela_jax.families."):
                assert name.split(".")[2:3] == own, f"{name_of(path)} imports {name}"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph = {name_of(path): set(imports_of(path)) for path in MODULES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for name in sorted(graph.get(module, ())):
                visit(name, (*trail, module))
            done.add(module)

    for module in sorted(graph):
        visit(module, ())


def test_the_mathematics_knows_no_http_and_no_files() -> None:
    forbidden = ("blacksheep", "uvicorn", "prometheus_client", "huggingface_hub", "safetensors", "orbax")
    for path in (ROOT / "vela_jax").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in forbidden if f"import {name}" in text or f"from {name}" in text], path
