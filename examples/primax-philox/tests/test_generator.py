"""The generator makes keys and bits wherever primax's own does."""

from __future__ import annotations

import numpy as np
import pytest
from primax_philox import philox, philox4x32

import primax as px


def words(keys: px.Array) -> np.ndarray:
    return np.asarray(px.random.key_data(keys))


def blocks(key: np.ndarray, counts: int, purpose: int) -> np.ndarray:
    """The words of all blocks of one purpose, in order."""
    zero = np.zeros(counts, np.uint32)
    counter = (np.arange(counts, dtype=np.uint32), zero, zero + np.uint32(purpose), zero)
    return np.stack(philox4x32(counter, (key[0], key[1])), -1)


def test_users_ask_for_it_by_name() -> None:
    key = px.random.key(7, impl="philox")
    assert px.random.key_impl(key) == "philox"
    assert key.dtype is philox.dtype
    assert repr(key) == "Array((), dtype=key<phi>) overlaying:\n[7 0]"
    with px.default_prng_impl("philox"):
        assert px.random.key(7) == key


def test_bits_are_the_words_of_blocks_in_order() -> None:
    key = px.random.key(3, impl="philox")
    drawn = blocks(words(key), 3, 0).ravel()
    np.testing.assert_array_equal(px.random.bits(key, (2, 5)).ravel(), drawn[:10])
    for dtype in ("uint8", "uint16"):
        np.testing.assert_array_equal(px.random.bits(key, (7,), dtype), drawn.view(dtype)[:7])
    with px.enable_x64(True):
        np.testing.assert_array_equal(px.random.bits(key, (3,), "uint64"), drawn.view(np.uint64)[:3])
    assert px.random.bits(key, (0, 2)).shape == (0, 2)


def test_new_keys_share_no_counter_with_bits() -> None:
    key = px.random.key(3, impl="philox")
    np.testing.assert_array_equal(words(px.random.split(key, (2, 3))).reshape(6, 2), blocks(words(key), 6, 1)[:, :2])
    np.testing.assert_array_equal(words(px.random.fold_in(key, 4)), blocks(words(key), 5, 2)[4, :2])


@pytest.mark.parametrize("x64", [False, True])
def test_a_seed_is_the_key(x64: bool) -> None:
    with px.enable_x64(x64):
        assert words(px.random.key(-2, impl=philox)).tolist() == [2**32 - 2, 2**32 - 1 if x64 else 0]


def test_keys_go_through_transformations() -> None:
    keys = px.random.split(px.random.key(0, impl="philox"), 3)
    apart = np.stack([px.random.bits(px.random.fold_in(key, n), (5,)) for n, key in enumerate(keys)])
    draw = px.jit(px.vmap(lambda key, n: px.random.bits(px.random.fold_in(key, n), (5,))))
    np.testing.assert_array_equal(draw(keys, np.arange(3)), apart)
    last, _ = px.lax.scan(lambda key, _: (px.random.split(key)[0], None), keys[0], None, length=2)
    np.testing.assert_array_equal(words(last), words(px.random.split(px.random.split(keys[0])[0])[0]))


def test_numbers_are_spread_as_they_should() -> None:
    key = px.random.key(1, impl="philox")
    x = np.asarray(px.random.normal(key, (20_000,)))
    assert abs(x.mean()) < 4 / np.sqrt(20_000)
    assert abs(x.var() - 1) < 4 * np.sqrt(2 / 20_000)
    u = px.random.uniform(key, (20_000,))
    counts = np.histogram(u, 16, (0.0, 1.0))[0]
    expected = 20_000 / 16
    assert ((counts - expected) ** 2 / expected).sum() < 40  # of chi square with 15 degrees of freedom
