"""Arrays of numbers at even distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.core import Array, Tracer, dtypes, get_aval
from primax.plugins import arithmetic
from primax.plugins.numpy.creation import place, read_dtype
from primax.plugins.numpy.promotion import aval_of
from primax.plugins.structural import iota_p

__all__ = ["arange"]


def _known(function: str, argument: str, x: Any) -> Any:
    """The value of a number that decides a shape."""
    aval = aval_of(function, x, argument)
    if aval.shape:
        raise TypeError(f"{function}: {argument} must be a number, got {aval.str_short()}")
    if isinstance(x, Tracer):
        return int(x) if dtypes.is_integer(aval.dtype) else float(x)
    return x.item() if isinstance(x, Array | np.ndarray | np.generic) else x


def counted(count: int, start: Any, step: Any, dtype: Any) -> Any:
    """start, start + step, ...: `count` numbers of one dtype."""
    if not core.thread.trace.tracing:
        host = np.arange(count).astype(dtype)
        with np.errstate(all="ignore"):
            if step != 1:
                host = host * np.asarray(step).astype(dtype)
            if start != 0:
                host = host + np.asarray(start).astype(dtype)
        return backend.put_value(host.astype(dtype))
    out = iota_p.bind(dtype=dtype, shape=(count,), dimension=0)
    if step != 1:
        out = arithmetic.mul_p.bind(out, np.asarray(step).astype(dtype)[()])
    if start != 0:
        out = arithmetic.add_p.bind(out, np.asarray(start).astype(dtype)[()])
    return out


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None) -> Any:
    """Numbers from start up to, not including, stop.

    Args:
      start: the first number, 0 if `stop` is not given; then it is `stop` that `start` means.
      stop: where the numbers end.
      step: the distance between them, 1 if it is None.
      dtype: the dtype of the result; that to which the arguments promote if None.
      device: where the result is; uncommitted on the default device if None.

    Returns:
      An array of shape (ceil((stop - start) / step),).

    Raises:
      TypeError: an argument is no number, or its value is not known while a program is built.
      ValueError: step is 0.

    >>> import primax as px
    >>> px.numpy.arange(2, 8, 2)
    Array([2, 4, 6], dtype=int32)
    """
    given = [x for x in (start, stop, step) if x is not None]
    low = _known("arange", "start", start)
    high = None if stop is None else _known("arange", "stop", stop)
    gap = 1 if step is None else _known("arange", "step", step)
    if high is None:
        low, high = 0, low
    if gap == 0:
        raise ValueError("arange: step must not be 0, got 0")
    if dtype is None:
        dtype = dtypes.result_type(*[get_aval(x) for x in given])
    else:
        dtype = read_dtype(dtype, "arange")
    if all(isinstance(x, int) for x in (low, high, gap)):
        count = len(range(low, high, gap))
    else:
        count = max(0, math.ceil((high - low) / gap))
    if dtypes.is_bool(dtype):
        if count > 2:
            raise TypeError(f"arange: there must be at most 2 numbers of dtype bool, got {count}")
        return place(backend.put_value(np.arange(low, high, gap, dtype=bool)), device)
    return place(counted(count, low, gap, dtype), device)
