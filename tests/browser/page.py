"""What a person does on the page, and what they see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.serving.http.loopback import CARD, Loopback

PATIENCE = 15


@dataclass(frozen=True, slots=True)
class Page:
    """A browser on the page of a server."""

    driver: Any
    web: Loopback

    def open(self, **card: Any) -> None:
        """Serve one model with these members of its card, and open the page on it."""
        self.web.service.cards = [{**CARD, **card}]
        self.driver.get(f"http://127.0.0.1:{self.web.port}/")
        self.wait(lambda: self.all("#surface option") or not card.get("surfaces", True))

    def wait(self, condition: Any) -> None:
        WebDriverWait(self.driver, PATIENCE).until(lambda _: condition())

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return [each.text for each in self.all(selector)]

    def text(self, selector: str) -> str:
        return str(self.one(selector).text)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script within the page."""
        return self.driver.execute_script(script, *arguments)

    def choose(self, selector: str, value: str) -> None:
        Select(self.one(selector)).select_by_value(value)

    def write(self, selector: str, text: str) -> None:
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def ask(self, answer: Any, *, by_key: bool = False) -> Any:
        """Have the server give this answer, ask, wait until it is shown; the body that was sent."""
        self.web.service.reply = lambda *_: answer
        asked = len(self.web.service.seen)
        if by_key:
            self.one("#fields textarea").send_keys(Keys.CONTROL, Keys.ENTER)
        else:
            self.one("#send").click()
        self.wait(lambda: self.all("#answer details") and self.one("#send").is_enabled())
        assert len(self.web.service.seen) == asked + 1
        return self.web.service.seen[-1]
