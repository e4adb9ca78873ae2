"""The builder's order of work."""

import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Future

import pytest

from vela_jax.forward import builder
from vela_jax.forward.builder import Builder, Quiet

PATIENCE = 30


def test_urgent_work_goes_first() -> None:
    gate, order = threading.Event(), list[str]()
    build = Builder("test", Quiet())

    def hold() -> None:
        gate.wait(PATIENCE)

    build.add(hold, urgent=True)
    last = build.add(lambda: order.append("quiet"), urgent=False)
    build.add(lambda: order.append("urgent"), urgent=True)
    gate.set()
    last.result(PATIENCE)
    assert order == ["urgent", "quiet"]


def test_quiet_work_waits_for_a_quiet_moment_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "PATIENCE_SECONDS", 0.1)
    asked = threading.Event()

    class Busy(Quiet):
        def seconds(self) -> float:
            asked.set()
            return 0.0

    build = Builder("test", Busy())
    build.add(lambda: None, urgent=False).result(PATIENCE)
    assert asked.is_set()


def test_a_failure_is_the_futures_own() -> None:
    build = Builder("test", Quiet())

    def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        build.add(fail, urgent=True).result(PATIENCE)
    build.add(lambda: None, urgent=True).result(PATIENCE)


def test_closing_cancels_what_waits() -> None:
    gate, started = threading.Event(), threading.Event()
    build = Builder("test", Quiet())

    def hold() -> None:
        started.set()
        gate.wait(PATIENCE)

    running = build.add(hold, urgent=True)
    waiting = build.add(lambda: None, urgent=True)
    started.wait(PATIENCE)
    build.close()
    gate.set()
    running.result(PATIENCE)
    assert waiting.cancelled()
    assert build.add(lambda: None, urgent=True).cancelled()


def test_the_interpreter_waits_for_work_that_runs() -> None:
    script = (
        "import sys, time\n"
        "from vela_jax.forward.builder import Builder, Quiet\n"
        "build = Builder('test', Quiet())\n"
        "build.add(lambda: (time.sleep(0.3), print('done', flush=True)), urgent=True)\n"
        "build.add(lambda: print('never'), urgent=False)\n"
        "time.sleep(0.1)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["done"]


def test_a_running_forward_is_no_quiet_moment() -> None:
    quiet = Quiet()
    assert quiet.seconds() > 0
    with quiet.running():
        with quiet.running():
            pass
        assert quiet.seconds() == 0
    assert 0 < quiet.seconds() < PATIENCE


def test_quiet_work_stands_back_for_urgent_work() -> None:
    order = list[str]()
    build = Builder("test", Quiet())

    def long_work() -> None:
        order.append("first piece")
        build.add(lambda: order.append("urgent"), urgent=True)
        build.pause()
        order.append("second piece")

    build.add(long_work, urgent=False).result(PATIENCE)
    assert order == ["first piece", "urgent", "second piece"]


def test_a_pause_lasts_as_long_as_a_forward_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet, in_pause = Quiet(), threading.Event()
    build = Builder("test", quiet)
    paused: list[float] = []

    def pieces() -> None:
        time.sleep(0.1)
        begun = time.monotonic()
        in_pause.set()
        build.pause()
        paused.append(time.monotonic() - begun)

    def ended_soon(quiet_work: Future[None]) -> None:
        with quiet.running():
            in_pause.wait(PATIENCE)
            time.sleep(0.2)
        quiet_work.result(PATIENCE)

    monkeypatch.setattr(builder, "SHARE", 1000.0)
    ended_soon(build.add(pieces, urgent=True))
    assert 0.2 < paused[-1] < builder.PATIENCE_SECONDS
    monkeypatch.setattr(builder, "SHARE", 1.0)
    with quiet.running():
        build.add(pieces, urgent=True).result(PATIENCE)
    assert 0.1 <= paused[-1] < builder.PATIENCE_SECONDS


def test_work_that_pauses_ends_when_the_builder_closes() -> None:
    build, started, closed = Builder("test", Quiet()), threading.Event(), threading.Event()

    def pieces() -> None:
        started.set()
        closed.wait(PATIENCE)
        build.pause()

    work = build.add(pieces, urgent=False)
    started.wait(PATIENCE)
    build.close()
    closed.set()
    with pytest.raises(CancelledError):
        work.result(PATIENCE)


def test_urgent_work_does_not_wait_for_the_turn_of_another_builder() -> None:
    quiet, held, release = Quiet(), threading.Event(), threading.Event()
    first, second = Builder("first", quiet), Builder("second", quiet)

    def hold() -> None:
        held.set()
        release.wait(PATIENCE)

    holding = first.add(hold, urgent=False)
    held.wait(PATIENCE)
    waiting = second.add(lambda: None, urgent=False)
    time.sleep(3 * builder.QUIET_SECONDS)  # the second builder waits for its turn by now
    second.add(lambda: None, urgent=True).result(PATIENCE)
    assert not holding.done()
    assert not waiting.done()
    release.set()
    waiting.result(PATIENCE)


def test_work_that_waits_for_its_turn_is_cancelled_when_the_builder_closes() -> None:
    quiet = Quiet()
    build = Builder("test", quiet)
    with quiet.turn:
        waiting = build.add(lambda: None, urgent=False)
        time.sleep(3 * builder.QUIET_SECONDS)
        build.close(PATIENCE)
    assert waiting.cancelled()
