"""Handed cases: tiny packages in the released formats and answers computed elsewhere in float64."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from serving.config import ModelEntry
from tests.end_to_end.server import running

FOLDER = Path(__file__).parents[1] / "data" / "vela1"
CASES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / "cases").glob("*.json"))}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of one server with every handed package."""
    entries = [ModelEntry(model=str(path)) for path in sorted((FOLDER / "packages").iterdir())]
    with running(entries) as server, httpx.Client(base_url=server.url, timeout=300) as client:
        yield client


@pytest.mark.parametrize("name", CASES)
def test_case(client: httpx.Client, name: str) -> None:
    check(ask(client, CASES[name]), CASES[name])


def test_cases_in_parallel(client: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        for case, response in zip(
            CASES.values(), pool.map(lambda case: ask(client, case), CASES.values()), strict=True
        ):
            check(response, case)


def ask(client: httpx.Client, case: dict[str, Any]) -> httpx.Response:
    if "raw" in case:
        return client.request(case["method"], case["path"], content=case["raw"].encode())
    body = {"model": case["package"], **case["request"]} if case["insert_model"] else case["request"]
    return client.request(case["method"], case["path"], content=json.dumps(body, ensure_ascii=False).encode())


def check(response: httpx.Response, case: dict[str, Any]) -> None:
    assert response.status_code == case["status"], response.text[:300]
    assert agree(case["expected"], response.json(), case["tolerance"], "body") is None


def agree(want: Any, got: Any, tolerance: dict[str, float], path: str) -> str | None:
    """The first difference; None where there is none. Objects with a `$` member describe what is allowed."""
    if isinstance(want, dict) and any(key.startswith("$") for key in want):
        ((rule, value),) = want.items()
        return RULES[rule](value, got, tolerance, path)
    if isinstance(want, dict):
        if not isinstance(got, dict) or set(want) != set(got):
            return f"{path}: {got!r} has other members than {sorted(want)}"
        return first(agree(value, got[key], tolerance, f"{path}.{key}") for key, value in want.items())
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return f"{path}: {got!r} is no list of {len(want)}"
        pairs = enumerate(zip(want, got, strict=True))
        return first(agree(one, other, tolerance, f"{path}[{index}]") for index, (one, other) in pairs)
    if isinstance(want, float):
        limit = tolerance.get(path.split("[")[0].rpartition(".")[2], tolerance["default"])
        near = isinstance(got, int | float) and not isinstance(got, bool) and abs(got - want) <= limit
        return None if near and math.isfinite(got) else f"{path}: {got!r} is not {want} within {limit}"
    return None if type(want) is type(got) and want == got else f"{path}: {got!r} is not {want!r}"


def first(differences: Iterator[str | None]) -> str | None:
    return next((difference for difference in differences if difference), None)


def _string(_: Any, got: Any, __: Any, path: str) -> str | None:
    return None if isinstance(got, str) and got else f"{path}: {got!r} is no text"


def _integer(bounds: Any, got: Any, _: Any, path: str) -> str | None:
    return None if type(got) is int and bounds[0] <= got <= bounds[1] else f"{path}: {got!r} is not within {bounds}"


def _subset(want: Any, got: Any, tolerance: Any, path: str) -> str | None:
    if not isinstance(got, dict) or set(want) - set(got):
        return f"{path}: {got!r} lacks some of {sorted(want)}"
    return agree(want, {key: got[key] for key in want}, tolerance, path)


def _ordered(want: Any, got: Any, tolerance: Any, path: str) -> str | None:
    if not isinstance(got, dict) or list(got) != list(want):
        return f"{path}: {got!r} does not have the members {list(want)} in this order"
    return agree(want, got, tolerance, path)


def _base64(want: Any, got: Any, tolerance: Any, path: str) -> str | None:
    data = base64.b64decode(got, validate=True)
    return agree(want, list(struct.unpack(f"<{len(data) // 4}f", data)), tolerance, path)


RULES = {"$string": _string, "$int": _integer, "$subset": _subset, "$ordered": _ordered, "$b64f32": _base64}
