from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files

import pytest

from serving.routes.page import policy
from tests.serving.http.loopback import Loopback, serving

DOCUMENT = files("serving").joinpath("page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def web() -> Iterator[Loopback]:
    with serving() as loopback:
        yield loopback


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_page_comes_with_a_strict_policy(web: Loopback, method: str) -> None:
    response = web.client.request(method, "/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"] == policy(DOCUMENT)
    assert response.text == (DOCUMENT if method == "GET" else "")


def test_the_policy_names_the_digest_of_every_inline_element() -> None:
    text = policy("<style>a</style><script>x\n</script><script>y</script>")
    for content in ("a", "x\n", "y"):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in text
    assert text.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in text


def test_the_page_parses_nothing_as_markup_and_loads_nothing() -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", DOCUMENT)
    assert not re.search(r"""(?:src|href)=["'](?!data:,)""", DOCUMENT)
    assert not re.search(r"\son[a-z]+=|\sstyle=|https?://", DOCUMENT)


def test_a_page_can_be_left_out() -> None:
    with serving(with_page=False) as web:
        assert web.client.get("/").status_code == 404
        assert web.client.get("/health").status_code == 200
