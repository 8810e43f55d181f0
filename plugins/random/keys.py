"""Keys: what functions that draw are given, and what is asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import get_aval
from primax.plugins.random.threefry import threefry_random_bits, threefry_split

__all__ = ["check_key", "random_bits", "random_split"]


def check_key(key: Any, function: str) -> Any:
    """The one key that a function was given.

    Args:
      key: what the user passed.
      function: what the user called, for messages.

    Raises:
      TypeError: it is no key.
      ValueError: it is an array of several keys.
    """
    aval = get_aval(key)
    if aval.dtype != np.uint32 or aval.shape != (2,):
        raise TypeError(f"{function}: key must be a key, got {aval.str_short()}")
    return key


def random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of 8, 16, 32 or 64 random bits.

    Args:
      key: what `check_key` returned.
      bit_width: the number of bits.
      shape: of the result.
    """
    return threefry_random_bits(key, bit_width, shape)


def random_split(key: Any, shape: tuple[int, ...]) -> Any:
    """An array of that shape of new keys.

    Args:
      key: what `check_key` returned.
      shape: of the result.
    """
    return threefry_split(key, shape)
