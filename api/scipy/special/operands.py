"""Preparation of the operands of special functions, and functions of one primitive."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.interpreters import ad
from primax.extend.provisional.arguments import rename
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.examples import examples
from primax.numpy.programs import one_program
from primax.numpy.promotion import broadcast, promote
from primax.numpy.ufuncs import to_inexact


def inexact(function: str, *args: Any) -> list[Array]:
    """Convert operands to one floating or complex dtype, and to one shape or rank 0.

    All results are arrays, since operators of NumPy arrays and Python numbers warn and raise where those of arrays do
    not.
    """
    return [asarray(x) for x in broadcast(function, promote(function, *args, to=to_inexact))]


def real(function: str, *args: Any) -> list[Array]:
    """Convert operands to one floating dtype, and to one shape or rank 0.

    Raises:
      TypeError: an operand is complex.
    """
    operands = inexact(function, *args)
    if dtypes.is_complex(get_aval(operands[0]).dtype):
        raise TypeError(f"{function}: arguments must be real, got {get_aval(operands[0]).str_short()}")
    return operands


def tangent_of(tangents: Any, *slopes: Callable[[], Any]) -> Array:
    """The tangent of a result: the sum of each argument's tangent times the derivative with respect to it.

    A derivative is not computed if the tangent is known to be zero, since the derivative may be infinite.
    """
    terms = [t * slope() for t, slope in zip(tangents, slopes, strict=True) if not isinstance(t, ad.Zero)]
    return reduce(add, terms)


def epsilon(x: Any) -> float:
    """The machine epsilon of an array's dtype."""
    return float(dtypes.finfo(get_aval(x).dtype).eps)


def bound(name: str, bind: Callable[..., Array], names: str, sentence: str, example: str) -> Callable[..., Array]:
    """Create a function that promotes and broadcasts its real operands.

    Args:
      name: the name of the function.
      bind: the function of promoted operands, such as the method `bind` of a primitive.
      names: the names of its arguments.
      sentence: the first line of its docstring.
      example: the example of its docstring, after the imports of `primax.scipy.special` and of `primax.numpy` as `pnp`.
    """

    @one_program("")
    def unary(x: ArrayLike) -> Array:
        return bind(*real(name, x))

    @one_program("")
    def binary(a: ArrayLike, x: ArrayLike) -> Array:
        return bind(*real(name, a, x))

    function: Callable[..., Array] = unary if len(names.split(", ")) == 1 else binary
    rename(function, name)
    function.__module__ = sys._getframe(1).f_globals["__name__"]  # the module of the function, which pickle needs
    function.__doc__ = (
        f"{sentence}\n\n    Args:\n      {names}: real arrays or numbers, of shapes that broadcast together; integers "
        "are\n        converted to a floating dtype.\n\n    Raises:\n      TypeError: an argument is complex, or not "
        "an array or a number; or the shapes do not broadcast.\n"
        + examples(f">>> import primax.numpy as pnp\n>>> from primax.scipy import special\n{example}")
    )
    return function
