"""Integers are drawn modulo a length by division of floats, which is exact."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax.random import integers

pytestmark = pytest.mark.usefixtures("in_32_bits")


def test_the_remainder_of_floats_is_that_of_integers():
    random = np.random.default_rng(0)
    lengths = random.integers(1, 2**32, 20_000, np.uint32) >> random.integers(0, 32, 20_000, np.uint32)
    numbers = random.integers(0, 2**32, 20_000, np.uint32)
    multiples = numbers - np.remainder(numbers, np.maximum(lengths, 1))
    extremes = np.uint32([0, 1, 2, 3, 2**16, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1])
    x = np.concatenate([numbers, multiples, multiples - np.uint32(1), multiples + np.uint32(1), np.tile(extremes, 9)])
    length = np.concatenate([np.tile(lengths, 4), np.repeat(extremes, 9)])
    want = np.where(length == 0, x, np.remainder(x, np.maximum(length, 1)))
    np.testing.assert_array_equal(px.jit(integers.remainder)(x, length), want)
