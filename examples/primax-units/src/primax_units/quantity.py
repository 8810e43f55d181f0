"""Quantities: arrays with a dimension, their type in programs, and the two primitives that make and read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, hookimpl
from primax_units.dimensions import NONE, Dimension, DimensionError, m

__all__ = [
    "Quantity",
    "QuantityType",
    "dimension_of",
    "magnitude_of",
    "magnitude_p",
    "primax_register",
    "quantity",
    "quantity_p",
    "same_dimension",
]

definitions = Definitions()


class Quantity:
    """An array with a dimension, in the base units of the SI; `quantity` makes it.

    Under transformations a tracer stands for it, which has the same methods and properties.
    """

    __array_ufunc__ = None  # so that NumPy's operators leave the work to those of this class

    def __init__(self, magnitude: Any, dimension: Dimension) -> None:
        self._magnitude = magnitude
        self._dimension = dimension

    @property
    def magnitude(self) -> Any:
        """The array without its dimension."""
        return magnitude_p.bind(self)

    @property
    def dimension(self) -> Dimension:
        """The dimension, which is part of the type: no array, and known under transformations."""
        return core.get_aval(self).dimension  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return core.get_aval(self).shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return core.get_aval(self).array.dtype

    def __add__(self, other: Any) -> Quantity:
        return quantity(self.magnitude + magnitude_of(other), same_dimension("add", self, other))

    def __radd__(self, other: Any) -> Quantity:
        return quantity(magnitude_of(other) + self.magnitude, same_dimension("add", other, self))

    def __sub__(self, other: Any) -> Quantity:
        return quantity(self.magnitude - magnitude_of(other), same_dimension("subtract", self, other))

    def __rsub__(self, other: Any) -> Quantity:
        return quantity(magnitude_of(other) - self.magnitude, same_dimension("subtract", other, self))

    def __mul__(self, other: Any) -> Quantity:
        return quantity(self.magnitude * magnitude_of(other), self.dimension * dimension_of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Quantity:
        return quantity(self.magnitude / magnitude_of(other), self.dimension / dimension_of(other))

    def __rtruediv__(self, other: Any) -> Quantity:
        return quantity(magnitude_of(other) / self.magnitude, dimension_of(other) / self.dimension)

    def __pow__(self, exponent: Any) -> Quantity:
        if not isinstance(exponent, int | Fraction):
            raise DimensionError(f"pow: the exponent must be an int or a Fraction, got {exponent!r}")
        power = exponent if isinstance(exponent, int) else float(exponent)
        return quantity(self.magnitude**power, self.dimension**exponent)

    def __neg__(self) -> Quantity:
        return quantity(-self.magnitude, self.dimension)

    def __abs__(self) -> Quantity:
        return quantity(abs(self.magnitude), self.dimension)

    def __getitem__(self, index: Any) -> Quantity:
        return quantity(self.magnitude[index], self.dimension)

    def __iter__(self) -> Iterator[Quantity]:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len: a quantity without axes has no length")
        return self.shape[0]

    def __float__(self) -> float:
        same_dimension("float", self, 1.0)
        return float(self.magnitude)

    def __repr__(self) -> str:
        return f"Quantity({self.magnitude!s}, {self.dimension})"


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    """An operator that compares quantities of one dimension, and returns an array of booleans."""

    def compare(self: Any, other: Any) -> Any:
        same_dimension(name.strip("_"), self, other)
        return getattr(pnp.asarray(self.magnitude), name)(magnitude_of(other))

    return compare


for _name in ("__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Quantity, _name, _comparison(_name))


@dataclasses.dataclass(frozen=True)
class QuantityType(core.UserType):
    """The type of a quantity. Tangents are plain arrays, in the units of the quantity.

    Attributes:
      array: the type of the array.
      dimension: the dimension.
    """

    array: core.ShapedArray
    dimension: Dimension

    @classmethod
    def of(cls, value: Quantity) -> QuantityType:
        return cls(core.get_aval(value._magnitude), value._dimension)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape  # type: ignore[no-any-return]

    def part_types(self) -> Sequence[core.AbstractValue]:
        return [self.array]

    def to_parts(self, value: Quantity) -> Sequence[Any]:
        return [value._magnitude]

    def from_parts(self, parts: Sequence[Any]) -> Quantity:
        return Quantity(parts[0], self.dimension)

    def to_tangent_aval(self) -> core.AbstractValue:
        return self.array.to_tangent_aval()

    def mapped(self, size: int, dim: int) -> QuantityType:
        return QuantityType(self.array.mapped(size, dim), self.dimension)

    def unmapped(self, size: int, dim: int) -> QuantityType:
        return QuantityType(self.array.unmapped(size, dim), self.dimension)

    def str_short(self) -> str:
        return f"{self.array.str_short()}<{self.dimension}>"


core.register_user_type(QuantityType, Quantity)


def quantity(x: Any, dimension: Dimension) -> Any:
    """An array with a dimension; the array itself if it has none.

    Args:
      x: a floating array, or a number, in the base units of the SI.
      dimension: its dimension.

    Raises:
      TypeError: x is not floating.

    >>> quantity(9.81, m) / quantity(2.0, m)
    Array(4.905, dtype=float32)
    """
    x = pnp.asarray(x)
    if dimension == NONE:
        return x
    if not pnp.issubdtype(x.dtype, pnp.floating):
        x = x.astype(pnp.result_type(float))
    # A weak type would make types of quantities differ that print the same.
    return quantity_p.bind(x.astype(x.dtype), dimension=dimension)


def dimension_of(x: Any) -> Dimension:
    """The dimension of a quantity; that of plain numbers for anything else."""
    kind = core.get_aval(x)
    return kind.dimension if isinstance(kind, QuantityType) else NONE


def magnitude_of(x: Any) -> Any:
    """The array in a quantity; anything else unchanged."""
    return x if dimension_of(x) == NONE else x.magnitude


def same_dimension(name: str, *values: Any) -> Dimension:
    """The dimension of values, which must agree.

    Raises:
      DimensionError: two dimensions differ.
    """
    first, *others = map(dimension_of, values)
    for other in others:
        if other != first:
            raise DimensionError(f"{name}: dimensions must agree, got {first} and {other}")
    return first


def _samples() -> Any:
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    yield core.Sample([x], {"dimension": m}, name="metres", reference=Quantity)


def _samples_of_quantities() -> Any:
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    yield core.Sample([Quantity(x, m**2)], name="square metres", reference=lambda q: q._magnitude)


quantity_p = define_primitive(
    "quantity",
    impl=Quantity,
    abstract_eval=QuantityType,
    jvp=lambda primals, tangents, *, dimension: (quantity_p.bind(*primals, dimension=dimension), tangents[0]),
    batch=lambda args, dims, *, dimension: (quantity_p.bind(*args, dimension=dimension), dims[0]),
    samples=[_samples],
    doc="An array with a dimension.",
    registry=definitions,
)

magnitude_p = define_primitive(
    "magnitude",
    impl=lambda q: q._magnitude,
    abstract_eval=lambda kind: kind.array,
    jvp=lambda primals, tangents: (magnitude_p.bind(*primals), tangents[0]),
    batch=lambda args, dims: (magnitude_p.bind(*args), dims[0]),
    samples=[_samples_of_quantities],
    doc="The array in a quantity.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the primitives. primax calls this when a program first needs a rule."""
    definitions.enter(registry)
