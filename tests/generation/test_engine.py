"""The engine: whatever runs beside a sequence, its tokens and log-probabilities have the same bits."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.generation.networks import Sink, engine, prompt, run, sequence, warmed
from vela_jax.contract import DeviceFault
from vela_jax.generation.engine import TokenEngine
from vela_jax.generation.network import ROW_BUCKETS, Decoded
from vela_jax.generation.sequence import Generated
from vela_jax.generation.stopping import Finish
from vela_jax.layers.paged_attention import PAGE

LENGTHS = (1, 2, 15, 16, 17, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 5)


def alone(length: int, tokens: int = 8, **choice: Any) -> list[object]:
    sink = Sink()
    run(engine(prefix_caching=False), sequence(prompt(length), sink, tokens=tokens, **choice))
    return sink.bits()


def test_the_probe_proves_row_counts_on_this_host() -> None:
    proof = warmed().proof
    assert proof.rows[0] == ROW_BUCKETS[0]
    assert set(proof.rows) | set(proof.rejected) == set(ROW_BUCKETS)
    line = warmed().report()[0]
    assert line["verdict"] == ("proved" if proof.together else "alone")


def test_sequences_in_company_have_the_bits_that_they_have_alone() -> None:
    sinks = {length: Sink() for length in LENGTHS}
    made = engine()
    run(made, *(sequence(prompt(length), sink, arrival=length) for length, sink in sinks.items()))
    for length, sink in sinks.items():
        assert sink.bits() == alone(length)


def test_seeded_draws_do_not_depend_on_company() -> None:
    how: dict[str, Any] = {"temperature": 1.3, "top_k": 20, "top_p": 0.9, "min_p": 0.01, "seed": 7}
    wanted = alone(20, tokens=16, **how)
    sink = Sink()
    others = [
        sequence(prompt(9, seed), Sink(), tokens=20, arrival=seed, temperature=1.0, seed=seed) for seed in range(9)
    ]
    run(engine(), *others, sequence(prompt(20), sink, tokens=16, arrival=99, **how))
    assert sink.bits() == wanted
    assert alone(20, tokens=16, **{**how, "seed": 8}) != wanted


def test_sequences_join_and_leave_between_steps() -> None:
    wanted = alone(30, tokens=24)
    made, sink = engine(), Sink()
    made.submit([sequence(prompt(30), sink, tokens=24)])
    source = random.Random(4)
    for turn in range(60):
        if turn % 3 == 0:
            made.submit(
                [sequence(prompt(source.randint(1, 90), turn), Sink(), tokens=source.randint(1, 9), arrival=turn)]
            )
        made.step()
    while made.step():
        pass
    assert sink.bits() == wanted


def test_a_known_beginning_is_read_from_the_cache_with_the_same_bits() -> None:
    made, first, second = engine(), Sink(), Sink()
    run(made, sequence(prompt(150), first))
    again = sequence(prompt(150), second)
    run(made, again)
    assert again.cached == 2 * PAGE
    assert first.bits() == second.bits() == alone(150)


@pytest.mark.parametrize(("one", "other"), [(None, "a"), ("a", "b"), ("a", None)])
def test_prompts_of_another_salt_share_nothing(one: str | None, other: str | None) -> None:
    made = engine()
    run(made, sequence(prompt(150), Sink(), salt=one))
    apart = sequence(prompt(150), Sink(), salt=other)
    run(made, apart)
    assert apart.cached == 0


def test_the_last_token_of_a_prompt_is_never_read_from_the_cache() -> None:
    made = engine()
    run(made, sequence(prompt(PAGE), Sink()))
    again = sequence(prompt(PAGE), Sink())
    run(made, again)
    assert again.cached == 0


def test_a_sequence_that_gave_up_its_pages_goes_on_with_the_same_bits() -> None:
    made = engine(pages=7, prefix_caching=False)
    sinks = {length: Sink() for length in (100, 101, 102)}
    run(made, *(sequence(prompt(n), sink, tokens=60, arrival=n) for n, sink in sinks.items()))
    assert made.load.preemptions > 0
    for length, sink in sinks.items():
        assert sink.bits() == alone(length, tokens=60)
    assert made.load.pages_used == 0


def test_seeded_draws_with_penalties_survive_a_preemption() -> None:
    how: dict[str, Any] = {"temperature": 0.9, "seed": 5, "penalties": (1.3, 0.5, 0.2)}
    made = engine(pages=7, prefix_caching=False)
    sinks = {length: Sink() for length in (100, 101, 102)}
    run(made, *(sequence(prompt(n), sink, tokens=60, arrival=n, **how) for n, sink in sinks.items()))
    assert made.load.preemptions > 0
    for length, sink in sinks.items():
        assert sink.bits() == alone(length, tokens=60, **how)


def test_seats_are_taken_in_order() -> None:
    made, ends = engine(max_num_seqs=1), []
    late, early = (Sink(lambda each, delta: ends.append(each.order) if delta.finish else None) for _ in range(2))
    run(made, sequence(prompt(5), late, arrival=2), sequence(prompt(6), early, arrival=1))
    assert ends == [(0, 1), (0, 2)]


def test_an_aborted_sequence_lets_go_of_its_pages_at_once() -> None:
    made, sink = engine(), Sink()
    gone, stays = sequence(prompt(40), sink, tokens=200), Sink()
    made.submit([gone, sequence(prompt(30), stays, tokens=12, arrival=1)])
    for _ in range(4):
        made.step()
    gone.aborted = True
    made.step()
    assert sink.deltas[-1].finish is Finish.ABORT
    assert made.load.running == 1
    assert made.load.pages_used == 1
    while made.step():
        pass
    assert stays.bits() == alone(30, tokens=12)


def test_prompt_log_probabilities_are_those_of_the_same_tokens_in_any_split() -> None:
    made = engine()
    one = sequence(prompt(100), Sink(), prompt_logprobs=1)
    run(made, one)
    assert len(one.prompt_values) == 99
    assert [found[0].token_id for found in one.prompt_values] == list(prompt(100)[1:])
    longer = sequence((*prompt(100), 5, 6), Sink(), prompt_logprobs=1, arrival=1)
    run(engine(), longer)
    assert longer.prompt_values[: PAGE - 1] == one.prompt_values[: PAGE - 1]


class Failing:
    """Lets one step fail."""

    def __init__(self, made: TokenEngine, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.error, self.run = 3, error, made.network.decode
        monkeypatch.setattr(made.network, "decode", self.decode)

    def decode(self, *inputs: np.ndarray) -> Decoded:
        self.left -= 1
        if not self.left:
            raise self.error
        return self.run(*inputs)


def test_a_failed_step_ends_its_sequences_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = alone(150)
    made, sink, waits = engine(max_num_seqs=2), Sink(), Sink()
    Failing(made, RuntimeError("no memory"), monkeypatch)
    run(made, sequence(prompt(9), sink, tokens=50), sequence(prompt(150), waits, arrival=1))
    assert sink.deltas[-1].finish is Finish.ERROR
    after = Sink()
    run(made, sequence(prompt(150), after))
    assert after.bits() == wanted
    assert made.load.pages_used == 0


def test_a_lost_device_ends_all_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    made, sink = engine(), Sink()
    Failing(made, DeviceFault("gone"), monkeypatch)
    with pytest.raises(DeviceFault):
        run(made, sequence(prompt(9), sink, tokens=50))
    assert sink.deltas[-1].finish is Finish.ERROR


def test_logits_that_are_not_finite_end_the_sequence_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made, broken, sound = engine(), Sink(), Sink()
    decode = made.network.decode

    def poisoned(ids: np.ndarray, places: np.ndarray, tables: np.ndarray) -> Decoded:
        found = decode(ids, places, tables)
        best = found.best.copy()
        best[0] = -1
        return Decoded(best, found.logits)

    first: Generated = sequence(prompt(12), broken, tokens=5)
    made.submit([first, sequence(prompt(30), sound, arrival=1)])
    made.step()
    monkeypatch.setattr(made.network, "decode", poisoned)
    made.step()
    monkeypatch.setattr(made.network, "decode", decode)
    while made.step():
        pass
    assert broken.deltas[-1].finish is Finish.ERROR
    assert sound.bits() == alone(30)
    np.testing.assert_equal(made.load.running, 0)


def test_nothing_is_compiled_after_the_warm_up() -> None:
    before = warmed().network.compiles
    run(engine(), *(sequence(prompt(n), Sink(), arrival=n, temperature=1.0, prompt_logprobs=0) for n in LENGTHS))
    assert warmed().network.compiles == before
