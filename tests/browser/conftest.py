"""A headless Chromium for the page, and a server whose answers the tests steer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from tests.browser.page import Page
from tests.serving.http.loopback import serving

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1300,1600"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
BINARIES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="package")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    binary = next((found for name in BINARIES if (found := shutil.which(name))), None)
    chromedriver = shutil.which("chromedriver")
    if binary is None or chromedriver is None:
        pytest.skip("no browser, so the page was NOT tried: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    made = webdriver.Chrome(options=options, service=Service(chromedriver))
    try:
        yield made
    finally:
        made.quit()


@pytest.fixture
def page(driver: Any) -> Iterator[Page]:
    """The page of a fresh server; afterwards the browser has complained of nothing but refused requests."""
    with serving(limit=1_000_000) as web:
        driver.get_log("browser")
        yield Page(driver, web)
        driver.get("about:blank")
    complaints = [entry["message"] for entry in driver.get_log("browser") if entry["source"] != "network"]
    assert complaints == []
