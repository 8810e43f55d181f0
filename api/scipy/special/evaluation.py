"""Evaluation of special functions: in 32 bits or more, as one program, by series of polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval, tree
from primax.numpy.promotion import broadcast, cast, strong
from primax.plugins.calls import jit
from primax.scipy.special.operands import real

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function as a whole in eager mode, and make it one call in programs, traced once per type.

    Args:
      function: a function named `_name`, which may have its own derivatives. The call is named `name`.
    """
    function.__name__ = function.__name__.removeprefix("_")
    return jit(function)  # type: ignore[return-value]


def evaluated(name: str, program: Callable[..., Any], *args: Any) -> Any:
    """Call a program on promoted operands, in at least 32 bits, and return the result in their dtype.

    Args:
      name: the name of the function in messages.
      program: a function of arrays of the same floating dtype and shape.
      args: the user's arguments.

    Raises:
      TypeError: an operand is complex or not an array, or the shapes do not broadcast.
    """
    operands = broadcast(name, real(name, *args), scalars=False)
    dtype = get_aval(operands[0]).dtype
    narrow = dtypes.finfo(dtype).bits < 32
    out = program(*(strong(cast(x, np.float32) if narrow else x) for x in operands))
    return tree.tree_map(lambda x: cast(x, dtype), out) if narrow else out


def chebyshev(coefficients: Sequence[float], t: Any) -> Array:
    """The sum of coefficients times Chebyshev polynomials at t in [-1, 1].

    Source: C. W. Clenshaw, "A note on the summation of Chebyshev series" (1955).
    """
    after: Any = 0.0
    now: Any = 0.0
    for coefficient in coefficients[:0:-1]:
        now, after = 2 * t * now - after + coefficient, now
    return t * now - after + coefficients[0]


def polynomial(coefficients: Sequence[float], x: Any) -> float:
    """The sum of coefficients times powers of x, lowest first."""
    return reduce(lambda total, c: total * x + c, reversed(coefficients))
