"""A chat client whose agent decides by System One questions and calls functions by them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.clients.conftest import KEY, client_package
from tests.end_to_end.server import Running

pytestmark = pytest.mark.client
framework = client_package("agent_framework", "clients")
connector = client_package("agent_framework_typesafe", "clients")
sdk = client_package("typesafe_sdk", "clients")

QUESTIONS = {"angry": sdk.Noul(instructions="Is the customer angry?")}


def chat(server: Running) -> Any:
    return connector.TypeSafeChatClient(api_key=KEY, model="decider", base_url=server.url)


def test_a_chat_is_judged(decider: Running) -> None:
    options = {"response_format": QUESTIONS}
    response = asyncio.run(chat(decider).get_response("My parcel is late", options=options))
    assert json.loads(response.text)["answers"]["angry"]["type"] == "noul"
    assert response.response_id


def test_functions_are_chosen_and_called(decider: Running) -> None:
    calls: list[str] = []

    def refund(urgent: bool) -> str:
        """Give the customer their money back."""
        calls.append(f"refund {urgent}")
        return "done"

    def explain() -> str:
        """Say what will happen next."""
        calls.append("explain")
        return "said"

    tools = [framework.tool(refund), framework.tool(explain)]
    options = {"tools": tools, "tool_choice": "required", "response_format": QUESTIONS}
    response = asyncio.run(chat(decider).get_response("My parcel is late", options=options))
    assert calls
    assert len(response.messages) > 1
