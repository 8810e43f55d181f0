"""Basic random numbers for distributions, without arguments of users: uniform, exponential and normal ones."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, TypeVar

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.provisional.accuracy import AccuracyMode
from primax.plugins.arithmetic import max_p, neg
from primax.plugins.bitwise import bitwise_or, shift_right_logical
from primax.plugins.calls import jit
from primax.plugins.exponential import log1p_p
from primax.plugins.random.keys import random_bits, random_split
from primax.plugins.special import erf_inv
from primax.plugins.structural import bitcast_convert_type_p, convert_element_type_p

Function = TypeVar("Function", bound=Callable[..., Any])


def sampler(fun: Function) -> Function:
    """A program that draws numbers, compiled for each shape and dtype: the arguments from `shape` on are static.

    In another sampler it is a call in the program of that one.
    """
    code = fun.__code__
    names = code.co_varnames[: code.co_argcount]
    return jit(fun, static_argnums=tuple(range(names.index("shape"), len(names))))  # type: ignore[return-value]


@sampler
def unit(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers in [0, 1): random bits as the mantissa of a number in [1, 2), minus 1."""
    info = dtypes.finfo(dtype)
    width = 8 if info.nmant < 8 else info.bits
    bits = random_bits(key, width, shape)
    one = np.ones((), dtype).view(f"uint{info.bits}")[()]
    if width != info.bits:
        bits = convert_element_type_p.bind(bits, new_dtype=one.dtype, weak_type=False)
    bits = bitwise_or(shift_right_logical(bits, one.dtype.type(width - info.nmant)), one)
    return bitcast_convert_type_p.bind(bits, new_dtype=dtype) - 1.0


def log1p(x: Any) -> Array:
    """log(1 + x) by XLA's function, so that random numbers of float64 have the bits of JAX's."""
    return log1p_p.bind(x, accuracy=AccuracyMode.DEFAULT)


@sampler
def exponential_numbers(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """-log(1 - u)."""
    return neg(log1p(neg(unit(key, shape, dtype))))


@sampler
def normal_numbers(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers of mean 0 and variance 1; complex ones have parts of variance 1/2."""
    if dtypes.is_complex(dtype):
        real, imaginary = (
            convert_element_type_p.bind(normal_numbers(part, shape, _part(dtype)), new_dtype=dtype, weak_type=False)
            for part in random_split(key, (2,))
        )
        return (real + dtype.type(1j) * imaginary) / dtype.type(sqrt(2))
    one = dtype.type(1)
    low = np.nextafter(-one, one)
    return probit(max_p.bind(low, unit(key, shape, dtype) * (one - low) + low))


def _part(dtype: Any) -> np.dtype[Any]:
    return np.finfo(dtype).dtype


def probit(u: Any) -> Array:
    """The number below which a normal variable lies with probability (1 + u) / 2."""
    return erf_inv(u) * sqrt(2)
