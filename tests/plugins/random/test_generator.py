"""The bits that XLA's generators make are those that their papers give, and follow from the state that went in."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.lax import RandomAlgorithm, rng_bit_generator

# The first four words of counter zero and key zero, published with Random123, and how far the counter goes.
ANSWERS = {
    RandomAlgorithm.RNG_DEFAULT: ([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], 1),
    RandomAlgorithm.RNG_PHILOX: ([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], 1),
    RandomAlgorithm.RNG_THREE_FRY: ([0x6B200159, 0x99BA4EFE, 0x508EFB2C, 0xC0DE3F32], 2),
}


@pytest.mark.parametrize("algorithm", ANSWERS)
def test_generators_give_the_published_numbers_and_advance_their_state(algorithm):
    words, steps = ANSWERS[algorithm]
    state, bits = rng_bit_generator(np.zeros(4, np.uint32), (4,), algorithm=algorithm)
    assert np.asarray(bits).tolist() == words
    assert np.asarray(state).tolist() == [0, 0, steps, 0]
    again = rng_bit_generator(state, (4,), algorithm=algorithm)[1]
    both = rng_bit_generator(np.zeros(4, np.uint32), (8,), algorithm=algorithm)[1]
    assert np.asarray(both).tolist() == [*words, *np.asarray(again).tolist()]


def test_keys_of_rbg_draw_the_bits_of_the_generator():
    key = px.random.key(3, impl="rbg")
    state = px.random.key_data(key)
    assert np.array_equal(px.random.bits(key, (5,), np.uint32), rng_bit_generator(state, (5,))[1])
