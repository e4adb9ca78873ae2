"""Loading: order, states, retries, failures that leave the others serving."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import pytest

from serving.config import ModelEntry, Retries
from serving.loaded import LoadedModel, Report
from serving.models import ServedModel
from serving.readiness import State
from tests.serving.fakes import PATIENCE, FakeEngine, LettersModel, Process, describe, load_letters
from vela_jax.contract import Batch, Row

A, B, C = (ModelEntry(model=f"acme/{name}", name=name) for name in "abc")


class Diary:
    """Notes what a loader tells, and the state at that moment."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, str, int, int]] = []
        self.ends: list[tuple[str, State, str | None]] = []

    def stage(self, name: str, stage: str, done: int, total: int) -> None:
        self.stages.append((name, stage, done, total))

    def settled(self, served: ServedModel) -> None:
        self.ends.append((served.id, served.status.state, served.status.reason))


class Failing:
    """Loads, but only after `failures` attempts of each model named."""

    def __init__(self, error: BaseException, **failures: int) -> None:
        self.error = error
        self.failures = failures
        self.order: list[str] = []

    def __call__(self, entry: ModelEntry, report: Report) -> LoadedModel:
        assert entry.name is not None
        self.order.append(entry.name)
        report("read", len(self.order), 9)
        if self.failures.get(entry.name, 0) > 0:
            self.failures[entry.name] -= 1
            raise self.error
        return load_letters()


def states(process: Process) -> list[str]:
    return [served.status.state for served in process.models.models]


def test_models_come_up_in_order_through_all_stages() -> None:
    diary = Diary()
    process = Process([A, B], load=Failing(OSError()), watcher=diary).up()
    assert states(process) == ["ready", "ready"]
    assert diary.stages == [
        ("a", "read", 1, 9),
        ("a", "compile", 1, 1),
        ("a", "readiness requests", 0, 0),
        ("b", "read", 2, 9),
        ("b", "compile", 1, 1),
        ("b", "readiness requests", 0, 0),
    ]
    assert diary.ends == [("a", State.READY, None), ("b", State.READY, None)]
    assert [served.golden.status for served in process.models.models] == ["unverified"] * 2


def test_states_and_reasons_while_loading() -> None:
    seen: list[tuple[str, str | None]] = []

    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        served = process.models.models[0]

        def note() -> None:
            seen.append((served.status.state, served.status.reason))

        note()
        report("download", 0, 0)
        note()
        report("read", 3, 4)
        note()

        def warm(report: Report) -> None:
            note()
            report("compile", 1, 2)
            note()
            assert served.live is None

        return load_letters(warm=warm)

    process = Process([A], load=load)
    assert process.models.status.state == "starting"
    process.up()
    assert seen == [
        ("loading", "starting to load"),
        ("loading", "download"),
        ("loading", "read, 75 % done"),
        ("warming", "warm-up"),
        ("warming", "compile, 50 % done"),
    ]


def test_a_final_failure_is_not_tried_again_and_the_others_serve() -> None:
    load = Failing(LookupError("no config.json"), b=9)
    process = Process([A, B, C], load=load).up()
    assert load.order == ["a", "b", "c"]
    assert states(process) == ["ready", "failed", "ready"]
    assert process.models.models[1].status.reason == "LookupError: no config.json"
    assert process.models.status.state == "degraded"
    assert process.models.status.reason == "b: LookupError: no config.json"


def test_another_failure_is_tried_again_after_the_other_models() -> None:
    load, diary = Failing(OSError("no route"), a=2), Diary()
    process = Process([A, B], load=load, watcher=diary).up()
    assert load.order == ["a", "b", "a", "a"]
    assert states(process) == ["ready", "ready"]
    assert diary.ends[0] == ("a", State.LOADING, "attempt 1 of 5 failed, next in 0 s: OSError: no route")


def test_a_panic_of_a_native_library_does_not_end_the_loader() -> None:
    process = Process([A, B], load=Failing(SystemExit("panic"), a=9)).up()
    assert states(process) == ["failed", "ready"]


def test_attempts_run_out() -> None:
    load = Failing(OSError("no route"), a=9)
    process = Process([A], load=load, retries=Retries(attempts=3, seconds=0.0)).up()
    assert load.order == ["a"] * 3
    assert process.models.models[0].status.reason == "OSError: no route"
    assert process.models.status.state == "failed"


def test_the_wait_between_attempts_ends_with_the_process() -> None:
    waiting = threading.Event()

    class Watcher(Diary):
        def settled(self, served: ServedModel) -> None:  # noqa: ARG002
            waiting.set()

    process = Process([A], load=Failing(OSError(), a=9), retries=Retries(seconds=300.0), watcher=Watcher())
    process.loader.start()
    assert waiting.wait(PATIENCE)
    assert states(process) == ["loading"]
    process.loader.stop()
    process.loader.join(PATIENCE)
    assert not process.loader.is_alive


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 5.0), (2, 10.0), (3, 20.0), (6, 160.0), (7, 300.0), (4000, 300.0)]
)
def test_waits_double_up_to_five_minutes(attempt: int, seconds: float) -> None:
    assert Retries().delay(attempt) == seconds


def test_a_failed_load_lets_go_of_the_model() -> None:
    kept: list[weakref.ref[LettersModel]] = []

    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        model = LettersModel()
        model.failure = LookupError("broken")
        kept.append(weakref.ref(model))
        return load_letters(model=model)

    process = Process([ModelEntry(model="doomed")], load=load).up()
    assert states(process) == ["failed"]
    gc.collect()
    assert kept[0]() is None
    assert not [thread for thread in threading.enumerate() if "doomed" in thread.name]


class Drifting(FakeEngine):
    """Gives other numbers each time."""

    def run(self, rows: list[Row], batch: Batch) -> list:  # type: ignore[override,type-arg]
        return [output + len(self.forwards) for output in super().run(rows, batch)]


class Broken(FakeEngine):
    """Gives no numbers."""

    def run(self, rows: list[Row], batch: Batch) -> list:  # type: ignore[override,type-arg]
        return [output * float("nan") for output in super().run(rows, batch)]


@pytest.mark.parametrize(("engine", "reason"), [(Drifting, "two runs gave different answers"), (Broken, "is nan")])
def test_a_model_that_fails_the_readiness_check_never_serves(engine: Callable[[], FakeEngine], reason: str) -> None:
    load_count = 0

    def load(entry: ModelEntry, report: Report) -> LoadedModel:  # noqa: ARG001
        nonlocal load_count
        load_count += 1
        return load_letters(engine())

    process = Process([A], load=load).up()
    served = process.models.models[0]
    assert served.status.state == "failed"
    assert reason in str(served.status.reason)
    assert (served.golden.status, served.live, load_count) == ("failed", None, 1)


def test_an_unnamed_model_takes_its_package_name_in_the_metrics() -> None:
    process = Process([ModelEntry(model="acme/letters")])
    assert process.sample("result_cache_total", model="acme/letters", outcome="hit") == 0
    process.up()
    assert process.sample("result_cache_total", model="acme/letters", outcome="hit") is None
    assert process.sample("result_cache_total", model="letters-base", outcome="hit") == 0
    assert process.sample("model_memory_bytes", model="letters-base") == 28


def test_the_readiness_check_does_not_fill_the_cache() -> None:
    process = Process([A], load=lambda entry, report: load_letters(description=describe())).up()  # noqa: ARG005
    assert process.sample("result_cache_total", model="a", outcome="miss") == 0
