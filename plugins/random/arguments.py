"""Validation of the keys of random functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.extend.provisional.avals import ExtendedArray
from primax.extend.provisional.random import find_prng_impl
from primax.extend.random import KeyDType, PRNGImpl
from primax.plugins.random.keys import random_wrap_p


def check_key(key: Any, function: str) -> Array:
    """A single key, raw or not, as an array of keys of rank 0.

    Args:
      key: the user's argument.
      function: the name of the user's function, for messages.

    Raises:
      TypeError: `key` is not a key.
      ValueError: `key` is an array of keys.
    """
    return one_key(key, function)[0]


def one_key(key: Any, function: str) -> tuple[Any, bool]:
    """The result of `check_key`, and whether the key was raw."""
    keys, raw = as_keys(key, function)
    shape = keys.shape
    if shape:
        actual = f"an array of keys of shape {shape}" + (f", which {get_aval(key).str_short()} holds" if raw else "")
        raise ValueError(
            f"{function}: key must be one key, got {actual}; take one of them, or map over them with primax.vmap"
        )
    return keys, raw


def as_keys(keys: Any, function: str, argument: str = "key", impl: PRNGImpl | None = None) -> tuple[Any, bool]:
    """An array of keys, and whether they were raw, that is, words of keys of the default generator.

    Args:
      keys: the user's argument.
      function: the name of the user's function, for messages.
      argument: the name of the argument, for messages.
      impl: the generator of raw keys; by default the default generator.

    Raises:
      TypeError: `keys` are not keys.
    """
    if type(keys) is ExtendedArray and type(keys.dtype) is KeyDType:
        return keys, False
    if isinstance(keys, list | tuple):
        raise TypeError(
            f"{function}: {argument} must be an array of keys, got a {type(keys).__name__}; "
            "primax.numpy.stack makes an array of a list of keys"
        )
    aval = get_aval(keys)
    if isinstance(aval.dtype, KeyDType):
        return keys, False
    if impl is None:
        impl = find_prng_impl(None, function)
    rank = len(aval.shape) - len(impl.key_shape)
    if aval.dtype != np.uint32 or rank < 0 or aval.shape[rank:] != impl.key_shape:
        first = "" if argument == "key_bits_array" else "made by primax.random.key, or "
        raise TypeError(
            f"{function}: {argument} must be {first}words of generator {impl.name!r}, uint32 in a shape that ends with "
            f"{impl.key_shape}; got {aval.str_short()}"
        )
    return random_wrap_p.bind(keys, impl=impl), True


def is_keys(x: Any) -> bool:
    """Whether a value is an array of keys."""
    return isinstance(getattr(x, "dtype", None), KeyDType)
