"""The probe: what it accepts, and each way of breaking the promise that it must find."""

from collections.abc import Iterator

import jax
import numpy as np
import pytest

from tests.forward import networks
from vela_jax.forward.classes import BitClass, Bucket, Classifier
from vela_jax.forward.executables import Executables, Ids, Shape
from vela_jax.forward.network import Outputs
from vela_jax.forward.probe import Company, Prober, Run, arrangements

BUCKET = Bucket(16, 2)


def classifier(apply: networks.Apply) -> Classifier:
    network = networks.network(apply)
    executables = Executables(network, jax.devices()[0])
    return Classifier(executables, Prober(network, executables))


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_every_target_comes_to_every_slot_beside_all_company(count: int) -> None:
    seen = list(arrangements(count, 3))
    assert {(slot, content) for slots in seen for slot, content in enumerate(slots) if content >= 0} == {
        (slot, target) for slot in range(count) for target in range(3)
    }
    if count > 1:
        assert {content for slots in seen for content in slots if content < 0} == set(Company)


def test_a_lone_row_is_run_more_than_once() -> None:
    assert sorted(arrangements(1, 2)) == [(0,), (0,), (1,), (1,)]


def test_targets_reach_from_one_token_to_the_full_bucket() -> None:
    network = networks.network()
    targets = Prober(network, Executables(network, jax.devices()[0])).targets(48)
    assert [len(target) for target in targets] == [1, 2, 25, 47, 48]
    assert all((target < networks.VOCAB).all() for target in targets)


@pytest.mark.parametrize(
    ("apply", "members"),
    [
        (networks.honest, (1, 2, 4, 8)),
        (networks.eight_differs, (1, 2, 4)),
        (networks.lone_differs, (1,)),
        (networks.leaking, (1,)),
        (networks.placed, (1,)),
        (networks.poisoned, (1,)),
    ],
)
def test_counts_that_keep_the_bits_of_a_lone_row_join(apply: networks.Apply, members: tuple[int, ...]) -> None:
    found, known = classifier(apply), BitClass()
    for count in (2, 4, 8):
        known = found.try_count(BUCKET, known, count)
    assert known.members == members
    assert sorted({*known.members, *known.rejected}) == [1, 2, 4, 8]
    assert known.verdict == ("alone" if members == (1,) else "proved")


def test_a_count_can_be_tried_in_a_later_process() -> None:
    assert classifier(networks.honest).try_count(BUCKET, BitClass((1, 2)), 4).members == (1, 2, 4)
    assert classifier(networks.eight_differs).try_count(BUCKET, BitClass((1, 2)), 8).rejected == (8,)


class Unsteady(Executables):
    """Gives another value at its fifth call."""

    calls = 0

    def run(self, shape: Shape, *inputs: Ids) -> Outputs:
        self.calls += 1
        outputs = super().run(shape, *inputs)
        return {name: values + 1 for name, values in outputs.items()} if self.calls == 5 else outputs


def test_values_that_change_between_calls_are_no_proof() -> None:
    network = networks.network()
    executables = Unsteady(network, jax.devices()[0])
    executables.ensure(BUCKET.shape(1))
    assert Prober(network, executables).bits(BUCKET.shape(1)) is None


class Forgetful(Executables):
    """Its second instances differ from the first."""

    def second_instance(self, shape: Shape) -> Run:
        run = super().second_instance(shape)
        return lambda ids, lengths: {name: values + 1 for name, values in run(ids, lengths).items()}


def test_an_instance_that_differs_is_no_proof() -> None:
    network = networks.network()
    executables = Forgetful(network, jax.devices()[0])
    executables.ensure(BUCKET.shape(2))
    assert Prober(network, executables).bits(BUCKET.shape(2)) is None


def test_what_stands_behind_a_rows_end_does_not_count() -> None:
    network = networks.network()
    executables = Executables(network, jax.devices()[0])
    executables.ensure(BUCKET.shape(2))
    bits = Prober(network, executables).bits(BUCKET.shape(2))
    assert bits is not None
    sizes = {(target, name): len(kept) // 4 for (target, name), kept in bits.items()}
    assert sizes[0, "tokens"] == 1
    assert sizes[0, "sum"] == 1
    assert sizes[4, "tokens"] == 16


def poison(executables: Executables) -> Iterator[np.ndarray]:
    ids = np.full((1, 16), networks.VOCAB, np.int32)
    outputs = executables.run(BUCKET.shape(1), ids, np.array([16], np.int32))
    yield from (np.asarray(values) for values in outputs.values())


def test_a_row_of_ids_beyond_the_vocabulary_is_not_a_number() -> None:
    executables = Executables(networks.network(), jax.devices()[0])
    executables.ensure(BUCKET.shape(1))
    assert all(np.isnan(values).all() for values in poison(executables))
