"""The page in a real browser, over a server whose answers are given."""

from __future__ import annotations

from typing import Any

import pytest

from serving.errors import ErrorCode, RequestFailed
from tests.browser.page import Page

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.harmed=1">'
DECIDES = {
    "surfaces": ["decisions"],
    "question_types": ["choice", "noul", "score", "set", "span"],
    "presets": ["pii"],
    "heads": None,
}
USAGE = {"input_tokens": 9, "output_tokens": 0}


def widths(page: Page, selector: str) -> list[float]:
    """Shares of their tracks that bars fill."""
    return [float(each.value_of_css_property("width")[:-2]) for each in page.all(selector)]


def test_questions_are_asked_as_they_are_written(page: Page) -> None:
    page.open(**DECIDES)
    page.write("#fields textarea", "It's 5 o'clock")
    while len(page.all("#fields fieldset")) > 1:
        page.one("#fields fieldset:last-of-type button").click()
    page.write("#fields fieldset textarea", "What?")
    page.write("#fields fieldset .field:last-child textarea", "a: first: one\n b \n\n")
    answer = {
        "type": "choice", "choice": "b", "confidence": 0.5, "abstain_probability": 0.125,
        "probabilities": {"a": 0.25, "b": 0.75},
    }  # fmt: skip
    sent = page.ask({"model": "sorter", "answers": {"topic": answer}, "usage": USAGE}, by_key=True)
    question = {"type": "choice", "instructions": "What?", "criteria": {"a": "first: one", "b": None}}
    assert sent == {"model": "sorter", "state": "It's 5 o'clock", "questions": {"topic": question}}
    assert page.texts("#answer .figure") == ["25.0 %", "75.0 %"]
    assert page.text("#answer tr.best th") == "b"
    assert "confidence 0.50 · none of them 12.5 %" in page.text("#answer")
    few, many = widths(page, "#answer .track > i")
    assert many == pytest.approx(3 * few, rel=0.05)
    assert '\'{"model":"sorter","state":"It\'\\\'\'s 5 o\'\\\'\'clock"' in page.text("#curl")


def test_every_type_of_decision_has_a_picture(page: Page) -> None:
    page.open(**DECIDES)
    page.write("#fields textarea", "X Anna is here")
    page.run("document.querySelector('#fields textarea').value = '\U0001f3d9 Anna is here'")
    answers: dict[str, Any] = {
        "urgent": {"type": "noul", "noul": 0.125},
        "tone": {
            "type": "score", "score": 0.9, "confidence": 0.4, "legend": {"0": "rude", "1": "kind"},
            "probabilities": {"0": 0.1, "1": 0.9},
        },
        "tags.a": {"type": "noul", "noul": 0.6},
        "who": {"type": "noul", "noul": 0.9},
        "far": {"type": "box", "box": {"top": 0.5}},
        "bad": {"type": None, "error": "invalid_question", "message": "no type"},
    }  # fmt: skip
    page.ask(
        {
            "answers": answers,
            "sets": {"tags": {"selected": ["a"], "probabilities": {"a": 0.6}}},
            "spans": {"who": [{"label": "person", "start": 2, "end": 6, "text": "Anna", "probability": 0.9}]},
            "thresholds": {"tags": 0.5, "who": 0.5},
            "usage": USAGE,
        }
    )
    assert page.texts("#answer h3") == ["urgent", "tone", "who", "far", "bad", "tags"]
    assert page.text("#answer mark").split() == ["Anna", "person"]
    assert page.text("#answer .text").startswith("\U0001f3d9 Anna")
    assert page.texts("#answer .error") == ["invalid_question: no type"]
    assert "score 0.90 · confidence 0.40" in page.text("#answer")
    assert "Selected from 50.0 % on." in page.text("#answer")
    assert len(page.all("#answer .track > b")) == 1


def test_a_preset_is_asked_by_its_name(page: Page) -> None:
    page.open(**DECIDES)
    page.choose("#fields fieldset select", "preset pii")
    sent = page.ask({"answers": {}, "usage": USAGE})
    assert sent["questions"]["topic"] == {"preset": "pii"}


def test_answers_are_text_whatever_they_hold(page: Page) -> None:
    page.open(**{**DECIDES, "id": HOSTILE})
    page.run("window.harmed = 0")
    page.run("document.querySelector('#fields textarea').value = arguments[0]", HOSTILE)
    span = {"label": HOSTILE, "start": 0, "end": len(HOSTILE), "text": HOSTILE, "probability": 0.5}
    page.ask(
        {
            "answers": {
                HOSTILE: {"type": "choice", "choice": HOSTILE, "confidence": 1.0, "probabilities": {HOSTILE: 1.0}},
                "s": {"type": "noul", "noul": 1.0},
                "e": {"type": HOSTILE, "error": HOSTILE, "message": HOSTILE},
            },
            "spans": {"s": [span]},
            "usage": {"input_tokens": HOSTILE},
        }
    )
    assert page.run("return [document.images.length, window.harmed]") == [0, 0]
    assert page.text("#answer").count(HOSTILE) >= 6


def test_the_policy_holds(page: Page) -> None:
    page.open()
    page.ask({"labels": ["a"], "results": [{"index": 0, "label": "a", "probabilities": [1.0]}], "usage": USAGE})
    script = (
        "try { document.createElement('p').innerHTML = '<b>x</b>'; return 'set' } catch (error) { return error.name }"
    )
    assert page.run(script) == "TypeError"
    origin = f"http://127.0.0.1:{page.web.port}/"
    asked = page.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert asked
    assert all(name.startswith(origin) for name in asked)
    page.driver.get_log("browser")  # the refused markup


@pytest.mark.parametrize("spans", [False, True])
def test_texts_are_classified(page: Page, spans: bool) -> None:
    page.open()
    page.run("document.querySelectorAll('#fields textarea').forEach((area, i) => area.value = `text ${i}`)")
    found = [{"label": "N", "start": 5, "end": 6, "text": "0", "probability": 0.5}]
    first = {"index": 0, "spans": found} if spans else {"index": 0, "label": "b", "probabilities": [0.25, 0.75]}
    results = [first, {"index": 1, "error": "invalid_input"}]
    sent = page.ask({"labels": ["a", "b"], "results": results, "usage": USAGE})
    assert sent == {"model": "sorter", "input": ["text 0", "text 1"]}
    assert page.texts("#answer h3") == ["text 0", "text 1"]
    assert page.text("#answer .error") == "invalid_input"
    assert page.text("#answer mark" if spans else "#answer tr.best th").split()[0] == ("0" if spans else "b")


def test_a_grounded_answer_is_checked(page: Page) -> None:
    page.open(heads=[{"name": "default", "kind": "token", "labels": ["no"], "inputs": ["grounded"]}])
    sent = page.ask({"labels": ["no"], "results": [{"index": 0, "spans": []}], "usage": USAGE})
    assert list(sent["input"][0]) == ["context", "question", "answer"]
    assert "No span." in page.text("#answer")


def test_vectors_become_a_heat_map(page: Page) -> None:
    page.open(surfaces=["embeddings"], embedding={"dimensions": [2, 1], "layers": [3], "input_types": []})
    page.choose("#fields .row select", "2")
    data = [
        {"index": 0, "embedding": [1, 0]}, {"index": 1, "embedding": [3, 4]}, {"index": 2, "error": "invalid_input"},
    ]  # fmt: skip
    sent = page.ask({"data": data, "usage": {"prompt_tokens": 9}})
    assert (len(sent["input"]), sent["dimensions"]) == (3, 2)
    assert page.texts("#answer td:not(.words)") == ["1.00", "0.60", "0.60", "1.00"]
    grounds = {each.value_of_css_property("background-color") for each in page.all("#answer td:not(.words)")}
    assert len(grounds) == 2
    assert "9 tokens read." in page.text("#answer")


def test_documents_are_ranked(page: Page) -> None:
    page.open(surfaces=["rerank"], rerank={"exits": [{"layer": 2, "dimension": 4}, {"layer": 3, "dimension": 4}]})
    page.choose("#fields select", "0")
    results = [{"index": 2, "relevance_score": 0.75}, {"index": 0, "relevance_score": 0.25}]
    sent = page.ask({"results": results, "usage": USAGE})
    assert (sent["layer"], sent["dimensions"]) == (2, 4)
    assert page.texts("#answer th") == [sent["documents"][2], sent["documents"][0]]


def test_a_surface_that_the_page_does_not_know_is_asked_in_json(page: Page) -> None:
    page.open(surfaces=["systemone"])
    assert not page.one("#fields").is_displayed()
    page.write("#body", '{"anything": 1}')
    assert page.ask({"strange": True}) == {"anything": 1}
    assert '"strange": true' in page.text("#answer pre")
    assert "/v1/systemone" in page.text("#curl")


def test_a_request_can_be_edited(page: Page) -> None:
    page.open()
    page.one("#as-json").click()
    assert '"input"' in page.one("#body").get_attribute("value")
    page.write("#body", "{")
    page.one("#send").click()
    page.wait(lambda: "The request is not complete" in page.text("#answer"))
    page.write("#body", '{"input": "x", "options": {"return_meta": true}}')
    assert page.ask({"labels": [], "results": [], "usage": USAGE})["options"] == {"return_meta": True}


def test_times_stand_one_behind_the_other(page: Page) -> None:
    page.open()
    page.ask({"labels": [], "results": [], "usage": USAGE})
    names = page.texts("#times th")
    assert names == ["parse", "tokenize", "queue", "forward", "post", "serialize", "server, total", "seen from here"]
    starts = [float(each.value_of_css_property("margin-left")[:-2]) for each in page.all("#times .track > i")][:6]
    assert starts == sorted(starts)


def test_refusals_are_shown(page: Page) -> None:
    page.open()
    page.web.service.reply = lambda *_: (_ for _ in ()).throw(RequestFailed(ErrorCode.OVERLOADED, "too much"))
    page.one("#send").click()
    page.wait(lambda: page.all("#answer .error"))
    assert page.text("#answer .error") == "429 overloaded: too much"


def test_a_model_that_loads_is_waited_for(page: Page) -> None:
    page.open(ready=False, status="loading", reason="read, 40 % done", surfaces=[])
    page.wait(lambda: "loading · read, 40 % done" in page.text("#status"))
    assert not page.one("#send").is_enabled()
    page.web.service.cards = [{**page.web.service.cards[0], "ready": True, "status": "ready", "surfaces": ["classify"]}]
    page.wait(lambda: page.one("#send").is_enabled())


def test_a_model_without_a_surface_is_told(page: Page) -> None:
    page.open(surfaces=[])
    page.wait(lambda: "this page has no form for what it serves" in page.text("#status"))
    assert not page.one("#send").is_enabled()
    assert not page.one("#body-field").is_displayed()


def test_every_control_has_a_name_and_the_keyboard_reaches_it(page: Page) -> None:
    page.open(**DECIDES)
    unnamed = page.run(UNNAMED)
    assert unnamed == []
    assert page.run("return [...document.querySelectorAll('[tabindex]')].every(each => each.tabIndex === 0)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1300])
def test_nothing_is_wider_than_the_window_and_words_stand_out(page: Page, scheme: str, width: int) -> None:
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.open(**DECIDES)
        assert page.run("return document.documentElement.scrollWidth") <= width
        assert page.run(CONTRAST, "body", "body") > 7
        assert page.run(CONTRAST, "label", ".card") > 4.5
        assert page.run(CONTRAST, "button.main", "button.main") > 4.5
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


CONTRAST = """
const light = (selector, property) => {
  const parts = getComputedStyle(document.querySelector(selector))[property].match(/[0-9.]+/g).slice(0, 3).map(Number);
  const [r, g, b] = parts.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const pair = [light(arguments[0], 'color'), light(arguments[1], 'backgroundColor')].sort();
return (pair[1] + .05) / (pair[0] + .05);
"""

UNNAMED = """
const named = control =>
  control.labels?.length || control.getAttribute('aria-label') || control.textContent.trim();
return [...document.querySelectorAll('input, select, textarea, button')]
  .filter(control => control.checkVisibility() && !named(control)).map(control => control.outerHTML);
"""
