"""Philox4x32: four words from a counter of four and a key of two, by rounds of multiplication.

J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC '11.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import primax as px

__all__ = ["philox4x32"]

_MULTIPLIERS = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
_BUMPS = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)  # the golden ratio, and the square root of 3 less 1


@partial(px.jit, static_argnames="rounds")
def philox4x32(counter: tuple[Any, Any, Any, Any], key: tuple[Any, Any], rounds: int = 10) -> tuple[Any, ...]:
    """The random words for a counter and a key.

    Args:
      counter: four arrays of uint32, the lowest word first; their shapes and those of the key broadcast.
      key: two arrays of uint32.
      rounds: the number of rounds; ten pass all known tests of randomness.

    >>> zero = np.uint32(0)
    >>> [hex(int(word)) for word in philox4x32((zero,) * 4, (zero,) * 2)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    a, b, c, d = counter
    k, l = key
    for n in range(rounds):
        if n:
            k, l = k + _BUMPS[0], l + _BUMPS[1]
        (high_a, low_a), (high_c, low_c) = _product(a, _MULTIPLIERS[0]), _product(c, _MULTIPLIERS[1])
        a, b, c, d = high_c ^ b ^ k, low_c, high_a ^ d ^ l, low_a
    return a, b, c, d


def _product(x: Any, y: np.uint32) -> tuple[Any, Any]:
    """The upper and the lower word of a product, computed in halves, because 64-bit integers may be disabled."""
    x_low, x_high = x & 0xFFFF, x >> 16
    y_low, y_high = y & np.uint32(0xFFFF), y >> np.uint32(16)
    middle = x_high * y_low + (x_low * y_low >> 16)
    other = x_low * y_high + (middle & 0xFFFF)
    return x_high * y_high + (middle >> 16) + (other >> 16), x * y
