"""The rounds give the published words, and are those by which NumPy's generator of 64-bit words works."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from primax_philox import philox4x32

import primax as px

MULTIPLIERS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
BUMPS = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def reference(bits: int, counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10 or Philox4x64-10 in Python's integers."""
    mask = 2**bits - 1
    words, key = list(counter), list(key)
    for _ in range(10):
        first, second = words[0] * MULTIPLIERS[bits][0], words[2] * MULTIPLIERS[bits][1]
        words = [second >> bits ^ words[1] ^ key[0], second & mask, first >> bits ^ words[3] ^ key[1], first & mask]
        key = [(k + bump) & mask for k, bump in zip(key, BUMPS[bits], strict=True)]
    return words


def test_the_reference_is_numpys_generator_of_64_bit_words() -> None:
    random = np.random.default_rng(3)
    for _ in range(5):
        key = [int(word) for word in random.integers(0, 2**64, 2, np.uint64)]
        counter = [int(word) for word in random.integers(0, 2**64 - 1, 4, np.uint64)]
        generator = np.random.Philox(key=np.array(key, np.uint64), counter=np.array(counter, np.uint64))
        after = [counter[0] + 1, *counter[1:]]  # NumPy counts before it draws
        assert generator.random_raw(4).tolist() == reference(64, after, key)


@pytest.mark.parametrize(
    "counter, key, words",
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_the_words_are_the_published_ones(counter: list[int], key: list[int], words: list[int]) -> None:
    assert reference(32, counter, key) == words
    found = philox4x32(tuple(map(np.uint32, counter)), tuple(map(np.uint32, key)))
    assert [int(word) for word in found] == words


def test_arrays_of_counters_and_keys_are_mixed_elementwise() -> None:
    random = np.random.default_rng(5)
    counters = random.integers(0, 2**32, (4, 20), np.uint32)
    keys = random.integers(0, 2**32, (2, 20), np.uint32)
    want = [reference(32, c, k) for c, k in zip(counters.T.tolist(), keys.T.tolist(), strict=True)]
    for run in (philox4x32, px.vmap(philox4x32)):
        np.testing.assert_array_equal(np.stack(run(tuple(counters), tuple(keys))).T, want)
