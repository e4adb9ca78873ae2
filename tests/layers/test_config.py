"""Strict reading of config values: what is taken, and that a refusal names the key and what came."""

from collections.abc import Callable
from typing import Any

import pytest

from vela_jax.layers.config import ConfigError, ConfigReader


def read(**values: Any) -> ConfigReader:
    return ConfigReader(values, "part")


@pytest.mark.parametrize(
    ("call", "values", "expected"),
    [
        (lambda r: r.integer("a"), {"a": 3}, 3),
        (lambda r: r.integer("a", 7), {}, 7),
        (lambda r: r.integer("a", 7), {"a": None}, 7),
        (lambda r: r.positive("a"), {"a": 2}, 2.0),
        (lambda r: r.positive("a", 1e-5), {}, 1e-5),
        (lambda r: r.number("a"), {"a": -2}, -2.0),
        (lambda r: r.number("a"), {}, None),
        (lambda r: r.flag("a", True), {}, True),
        (lambda r: r.flag("a", True), {"a": False}, False),
        (lambda r: r.choice("a", ("x", "y"), "y"), {}, "y"),
        (lambda r: r.choice("a", ("x", "y"), "y"), {"a": "x"}, "x"),
        (lambda r: r.section("a"), {}, None),
        (lambda r: r.section("a").integer("b"), {"a": {"b": 4}}, 4),
    ],
)
def test_takes(call: Callable[[ConfigReader], Any], values: dict[str, Any], expected: Any) -> None:
    assert call(read(**values)) == expected


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda r: r.integer("a"), {}),
        (lambda r: r.integer("a"), {"a": None}),
        (lambda r: r.integer("a"), {"a": 0}),
        (lambda r: r.integer("a"), {"a": 2.0}),
        (lambda r: r.integer("a"), {"a": True}),
        (lambda r: r.integer("a"), {"a": "3"}),
        (lambda r: r.positive("a"), {"a": 0}),
        (lambda r: r.positive("a"), {"a": float("nan")}),
        (lambda r: r.positive("a"), {"a": float("inf")}),
        (lambda r: r.positive("a"), {"a": False}),
        (lambda r: r.number("a"), {"a": "1"}),
        (lambda r: r.number("a"), {"a": float("inf")}),
        (lambda r: r.flag("a", False), {"a": 1}),
        (lambda r: r.choice("a", ("x",), "x"), {"a": "z"}),
        (lambda r: r.choice("a", ("x",), "x"), {"a": ["x"]}),
        (lambda r: r.section("a"), {"a": []}),
    ],
)
def test_refuses_and_names_the_key(call: Callable[[ConfigReader], Any], values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        call(read(**values))
    message = str(caught.value)
    assert "part.a must be" in message
    assert (f"found {values['a']!r}" if "a" in values else "missing") in message


def test_nested_names_are_dotted() -> None:
    section = read(a={"b": -1}).section("a")
    assert section is not None
    with pytest.raises(ConfigError, match=r"part\.a\.b must be an integer of at least 1; found -1"):
        section.integer("b")
