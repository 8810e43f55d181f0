"""Elementwise functions of extreme numbers in every dtype, by primax and by jax."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primax as px

__all__ = [
    "DTYPES",
    "awkward",
    "check_against_jax_at_awkward_numbers",
    "check_same_dtypes_as_jax",
    "grid",
    "in_32_bits",
]

Call = Callable[..., Any]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("bfloat16", "float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)

_REALS = (
    -np.inf,
    -1e30,
    -100,
    -7.5,
    -2,
    -1.5,
    -1,
    -0.75,
    -0.5,
    -1e-3,
    -1e-30,
    -0.0,
    0.0,
    1e-30,
    1e-3,
    0.3,
    0.5,
)
_REALS = (*_REALS, 0.75, 1, 1.5, 2, 2.5, 3, 7.5, 30, 100, 1e30, np.inf, np.nan)
_PARTS = (-np.inf, -7.5, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 2.5, 30.0, np.inf, np.nan)


def in_32_bits(test: Call) -> Call:
    """A test in which Python scalars have 32 bits, whatever the environment."""

    @functools.wraps(test)
    def narrow(*args: Any, **kwargs: Any) -> None:
        with px.enable_x64(False):
            test(*args, **kwargs)

    return narrow


def awkward(name: str) -> np.ndarray[Any, Any]:
    """Extreme numbers of a dtype: zeros of both signs, limits, infinities, NaN."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if name == "bool":
        return np.array([False, True])
    if name in INTEGERS:
        info = np.iinfo(dtype)
        signed = (-1, -2, -3, -7) if info.min else ()
        return np.array(sorted({info.min, info.max, info.max // 2, 0, 1, 2, 3, 7, 31, *signed}), dtype)
    if name in COMPLEX:
        return np.array([complex(x, y) for x, y in itertools.product(_PARTS, _PARTS)], dtype)
    with np.errstate(over="ignore"):
        return np.array(_REALS).astype(dtype)


def grid(name: str, arguments: int) -> list[np.ndarray[Any, Any]]:
    """All combinations of numbers as arguments; fewer numbers for more arguments."""
    values = awkward(name)
    if arguments == 1:
        return [values]
    most = 40 if arguments == 2 else 12
    values = values[:: -(-len(values) // most)]
    return [x.ravel() for x in np.meshgrid(*[values] * arguments)]


def _both(name: str, stack: ExitStack) -> Any:
    jax = pytest.importorskip("jax")
    if name in ("int64", "uint64", "float64", "complex128"):
        stack.enter_context(px.enable_x64(True))
        stack.enter_context(jax.enable_x64(True))
    return jax


def _accepts(make_jaxpr: Call, call: Call, args: Any) -> bool:
    try:
        make_jaxpr(call)(*args)
    except TypeError:
        return False
    return True


def check_same_dtypes_as_jax(calls: Mapping[str, tuple[int, Call]], name: str) -> None:
    """Each function accepts a dtype if and only if jax's function does.

    Args:
      calls: by name, the number of arguments, and a function of `lax` and of them.
      name: the dtype.
    """
    with ExitStack() as stack:
        jax = _both(name, stack)
        for function, (arguments, call) in calls.items():
            args = [awkward(name)[:2]] * arguments
            ours = _accepts(px.make_jaxpr, lambda *xs, call=call: call(px.lax, *xs), args)
            theirs = _accepts(jax.make_jaxpr, lambda *xs, call=call: call(jax.lax, *xs), args)
            assert ours is theirs, f"{function} of {name}: accepted is {ours}, by jax {theirs}"


def check_against_jax_at_awkward_numbers(
    calls: Mapping[str, tuple[int, Call]], name: str, ulps: float = 8, domain: Call | None = None
) -> None:
    """Each function that accepts a dtype returns the same as jax's, including NaN, infinities and signs of zeros.

    Args:
      calls: by name, the number of arguments, and a function of `lax` and of them.
      name: the dtype.
      ulps: the allowed relative difference, in multiples of the dtype's epsilon.
      domain: `(*args)`, where to compare; by default everywhere.
    """
    with ExitStack() as stack:
        jax = _both(name, stack)
        taken = {}
        for function, (arguments, call) in calls.items():
            args = grid(name, arguments)
            if _accepts(px.make_jaxpr, lambda *xs, call=call: call(px.lax, *xs), args):
                taken[function] = (args, call)

        def run(lax: Any) -> Call:
            return lambda inputs: {f: call(lax, *inputs[f]) for f, (_, call) in taken.items()}

        inputs = {function: args for function, (args, _) in taken.items()}
        got, want = px.jit(run(px.lax))(inputs), jax.jit(run(jax.lax))(inputs)
        wrong = []
        for function, args in inputs.items():
            a, b = np.asarray(got[function]), np.asarray(want[function])
            assert a.dtype == b.dtype, f"{function} of {name} is of dtype {a.dtype}, in jax of {b.dtype}"
            off = ~_agree(a, b, ulps)
            if domain is not None:
                off &= domain(*args)
            wrong += [
                f"{function}({', '.join(str(x[i]) for x in args)}) is {a[i]}, in jax {b[i]}"
                for i in np.flatnonzero(off)[:5]
            ]
        assert not wrong, "\n".join([f"of {name}:", *wrong])


def _agree(a: Any, b: Any, ulps: float) -> Any:
    if np.iscomplexobj(b):
        eps = ulps * np.finfo(b.dtype).eps * np.abs(b)
        return _close(a.real, b.real, eps) & _close(a.imag, b.imag, eps)
    if b.dtype.name not in FLOATS:
        return a == b
    eps = ulps * float(ml_dtypes.finfo(b.dtype).eps)
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return _close(a, b, eps * np.abs(b))


def _close(a: Any, b: Any, tolerance: Any) -> Any:
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= tolerance
    zero = (a == 0) & (b == 0)
    return (a == b) & ~zero | near & ~zero | np.isnan(a) & np.isnan(b) | zero & (np.signbit(a) == np.signbit(b))
