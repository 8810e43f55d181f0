"""Functions of quantities, and derivatives with their dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import primax as px
import primax.numpy as pnp
from primax_units.dimensions import NONE, DimensionError
from primax_units.quantity import dimension_of, magnitude_of, quantity, same_dimension

__all__ = ["cos", "dot", "exp", "grad", "log", "sin", "sqrt", "square", "stack", "sum", "tan", "where"]


def sqrt(x: Any) -> Any:
    """The square root, whose dimension is that to the power 1/2.

    >>> from primax_units import m, quantity, s
    >>> sqrt(quantity(9.0, m**2 / s**2))
    Quantity(3.0, m s^-1)
    """
    return quantity(pnp.sqrt(magnitude_of(x)), dimension_of(x) ** Fraction(1, 2))


def square(x: Any) -> Any:
    """The square."""
    return quantity(pnp.square(magnitude_of(x)), dimension_of(x) ** 2)


def sum(x: Any, axis: int | None = None) -> Any:
    """The sum along an axis, or of all elements."""
    return quantity(pnp.sum(magnitude_of(x), axis), dimension_of(x))


def dot(x: Any, y: Any) -> Any:
    """`primax.numpy.dot` of two quantities; the dimensions multiply."""
    return quantity(pnp.dot(magnitude_of(x), magnitude_of(y)), dimension_of(x) * dimension_of(y))


def stack(xs: Sequence[Any], axis: int = 0) -> Any:
    """Quantities of one dimension along a new axis."""
    return quantity(pnp.stack([magnitude_of(x) for x in xs], axis), same_dimension("stack", *xs))


def where(which: Any, x: Any, y: Any) -> Any:
    """x where a condition holds, and y elsewhere; of one dimension."""
    return quantity(pnp.where(which, magnitude_of(x), magnitude_of(y)), same_dimension("where", x, y))


def _of_numbers(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function whose argument must have no dimension."""
    name = fun.__name__

    def checked(x: Any) -> Any:
        if dimension_of(x) != NONE:
            raise DimensionError(f"{name}: the argument must have no unit, got {dimension_of(x)}")
        return fun(x)

    checked.__name__ = checked.__qualname__ = name
    checked.__doc__ = f"`primax.numpy.{name}` of a ratio; a quantity with a dimension raises `DimensionError`."
    return checked


sin, cos, tan, exp, log = map(_of_numbers, (pnp.sin, pnp.cos, pnp.tan, pnp.exp, pnp.log))


def grad(fun: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The derivative of a function with one number as its result, with the dimension of the quotient.

    Args:
      fun: a function of quantities and arrays that returns a quantity or an array, without axes.
      argnums: the position of the argument, which is a quantity or an array.

    Returns:
      A function of the same arguments.

    >>> from primax_units import m, quantity, s
    >>> fallen = lambda t: 0.5 * quantity(9.81, m / s**2) * t**2
    >>> grad(fallen)(quantity(2.0, s)), grad(grad(fallen))(quantity(2.0, s))
    (Quantity(19.62, m s^-1), Quantity(9.81, m s^-2))
    """

    def derivative(*args: Any) -> Any:
        def number(*args: Any) -> Any:
            out = fun(*args)
            return magnitude_of(out), out

        slope, out = px.grad(number, argnums, has_aux=True)(*args)
        return quantity(slope, dimension_of(out) / dimension_of(args[argnums]))

    return derivative
