from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest

from serving.http.exchange import ClientLeft, Exchange, Message


class Line:
    """A connection whose end the test decides."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}


def on_loop(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, 5))


def test_a_client_that_leaves_after_the_block_disturbs_nothing() -> None:
    async def check() -> None:
        line = Line()
        with Exchange(line.receive).watch():
            await asyncio.sleep(0)
        line.gone.set()
        await asyncio.sleep(0.01)

    on_loop(check())


def test_the_watch_ends_with_its_block() -> None:
    async def check() -> None:
        before = len(asyncio.all_tasks())
        with Exchange(Line().receive).watch():
            assert len(asyncio.all_tasks()) == before + 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == before

    on_loop(check())


def test_a_block_is_cancelled_when_the_client_leaves() -> None:
    async def check() -> None:
        line = Line()
        asyncio.get_running_loop().call_later(0.005, line.gone.set)
        with pytest.raises(ClientLeft), Exchange(line.receive).watch():
            await asyncio.sleep(5)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)

    on_loop(check())


def test_a_client_that_left_before_counts_even_if_the_work_is_done() -> None:
    async def check() -> None:
        line = Line()
        line.gone.set()

        async def stubborn() -> str:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(5)
            return "done"

        with pytest.raises(ClientLeft), Exchange(line.receive).watch():
            assert await stubborn() == "done"

    on_loop(check())


def test_work_that_fails_keeps_its_failure() -> None:
    async def check() -> None:
        async def work() -> None:
            await asyncio.sleep(0)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError), Exchange(Line().receive).watch():
            await work()

    on_loop(check())


def test_a_task_cancelled_by_others_stays_cancelled() -> None:
    async def check() -> None:
        line = Line()

        async def work() -> None:
            with Exchange(line.receive).watch():
                await asyncio.sleep(5)

        task = asyncio.create_task(work())
        await asyncio.sleep(0.005)
        task.cancel()
        line.gone.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    on_loop(check())


def test_messages_of_the_body_that_come_late_do_no_harm() -> None:
    async def check() -> None:
        messages: list[Message] = [{"type": "http.request", "body": b""}, {"type": "http.disconnect"}]

        async def receive() -> Message:
            return messages.pop(0)

        with pytest.raises(ClientLeft), Exchange(receive).watch():
            await asyncio.sleep(5)

    on_loop(check())
