"""Pages of the cache: who holds them, and which prompts they are known for."""

from __future__ import annotations

import pytest

from vela_jax.generation.pages import PagePool, prefix_keys
from vela_jax.layers.paged_attention import PAGE


@pytest.mark.parametrize(("length", "pages"), [(1, 0), (PAGE, 0), (PAGE + 1, 1), (2 * PAGE, 1), (2 * PAGE + 1, 2)])
def test_the_page_of_the_last_token_has_no_key(length: int, pages: int) -> None:
    assert len(prefix_keys(range(length), None)) == pages


def test_keys_stand_for_the_salt_and_for_all_tokens_before() -> None:
    prompt = list(range(3 * PAGE))
    keys = prefix_keys(prompt, None)
    other = prefix_keys([*prompt[:PAGE], 7, *prompt[PAGE + 1 :]], None)
    assert other[0] == keys[0]
    assert other[1] != keys[1]
    assert not set(keys) & set(prefix_keys([9, *prompt[1:]], None))
    assert not set(keys) & set(prefix_keys(prompt, "a"))
    assert not set(prefix_keys(prompt, "")) & set(keys)


def test_a_pool_gives_every_page_but_the_first_once() -> None:
    pool = PagePool(4)
    taken = [pool.take() for _ in range(3)]
    assert sorted(page for page in taken if page is not None) == [1, 2, 3]
    assert pool.take() is None
    pool.release([2])
    assert pool.take() == 2


def test_a_known_page_stays_until_its_place_is_needed() -> None:
    pool = PagePool(3)
    first = pool.take()
    assert first is not None
    pool.publish(first, b"one")
    pool.release([first])
    assert pool.available == 2
    assert pool.find([b"one", b"two"]) == [first]
    assert pool.find([b"one"]) == [first]
    pool.release([first])
    assert pool.used == 1
    pool.release([first])
    other = pool.take()
    assert other != first
    assert pool.take() == first
    assert pool.find([b"one"]) == []


def test_a_pool_can_forget() -> None:
    pool = PagePool(2)
    page = pool.take()
    assert page is not None
    pool.publish(page, b"one")
    pool.release([page])
    pool.forget()
    assert pool.find([b"one"]) == []
    assert pool.available == 1
