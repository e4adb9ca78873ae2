"""Handed cases of Vela 2.0: two tiny encoder packages and answers computed elsewhere in float64."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from serving.config import Bounds, ModelEntry
from tests.end_to_end.server import FEW_BUCKETS, running

FOLDER = Path(__file__).parents[1] / "data" / "vela2"
CASES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / "cases").glob("*.json"))}
ORDERED = {"answers", "probabilities", "legend", "spans", "sets", "thresholds", "states"}
ARGS = msgspec.structs.replace(FEW_BUCKETS, row_buckets=(1, 2, 4))
LOOSER = {"score": 10, "confidence": 5}
"""Sums over levels and differences of probabilities, in tolerances of one probability."""
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "array": list,
    "object": dict,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of one server with both packages."""
    entries = [ModelEntry(model=str(path)) for path in sorted((FOLDER / "packages").iterdir())]
    bounds = Bounds(result_cache_entries=0)
    with running(entries, bounds=bounds, args=ARGS) as server, httpx.Client(base_url=server.url, timeout=300) as client:
        server.require_ready()
        yield client


@pytest.mark.parametrize("name", CASES)
def test_case(client: httpx.Client, name: str) -> None:
    check(ask(client, CASES[name]), CASES[name])


def test_cases_in_company_have_the_same_bytes(client: httpx.Client) -> None:
    cases = [case for case in CASES.values() if case["status"] == 200 and "meta" not in case["name"]]
    alone = [ask(client, case).content for case in cases]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda case: ask(client, case).content, cases)) == alone


def ask(client: httpx.Client, case: dict[str, Any]) -> httpx.Response:
    if "request_base64" in case:
        data = base64.b64decode(case["request_base64"])
    elif "request_text" in case:
        data = case["request_text"].encode()
    else:
        data = json.dumps(case["request"], ensure_ascii=False).encode()
    headers = {"content-type": "application/json", **case.get("headers", {})}
    return client.request(case["method"], case["path"], content=data, headers=headers)


def check(response: httpx.Response, case: dict[str, Any]) -> None:
    assert response.status_code == case["status"], response.text[:300]
    assert differ(case["expected"], response.json(), case["tolerance"], "body") is None


def differ(want: Any, got: Any, tolerance: float, path: str) -> str | None:
    """The first difference; None where there is none. Objects with a `$` member describe what is allowed."""
    if isinstance(want, dict):
        return (
            described(want, got, path) if set(want) & {"$any", "$type", "$str"} else members(want, got, tolerance, path)
        )
    if isinstance(want, list):
        if not isinstance(got, list) or len(want) != len(got):
            return f"{path}: {got!r} is no list of {len(want)}"
        pairs = enumerate(zip(want, got, strict=True))
        return first(differ(one, other, tolerance, f"{path}[{index}]") for index, (one, other) in pairs)
    if isinstance(want, float):
        limit = 1e-6 if ".thresholds." in path else tolerance * LOOSER.get(path.rpartition(".")[2], 1)
        near = isinstance(got, int | float) and not isinstance(got, bool) and abs(got - want) <= limit
        return None if near else f"{path}: {got!r} is not {want} within {limit}"
    return None if type(want) is type(got) and want == got else f"{path}: {got!r} is not {want!r}"


def described(want: dict[str, Any], got: Any, path: str) -> str | None:
    if "$type" in want and not isinstance(got, TYPES[want["$type"]]):
        return f"{path}: {got!r} is no {want['$type']}"
    lacking = [text for text in want.get("$str", []) if text not in got]
    return f"{path}: {got!r} lacks {lacking}" if lacking else None


def members(want: dict[str, Any], got: Any, tolerance: float, path: str) -> str | None:
    keys = [key for key in want if key != "$optional"]
    if not isinstance(got, dict) or set(keys) - set(got) or set(got) - set(keys) - set(want.get("$optional", [])):
        return f"{path}: {got!r} has other members than {keys}"
    if path.rpartition(".")[2] in ORDERED and [key for key in got if key in want] != keys:
        return f"{path}: the members are {list(got)}, in another order than {keys}"
    return first(differ(want[key], got[key], tolerance, f"{path}.{key}") for key in keys)


def first(differences: Iterator[str | None]) -> str | None:
    return next((difference for difference in differences if difference), None)
