"""Types of users' own: the types of values that are made of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from primax.core.avals import AbstractValue


class UserType(AbstractValue):
    """The type of values that are made of arrays, of a class of a package's own.

    A subclass is immutable, hashable and compares by content; a frozen dataclass is all that. `register_user_type`
    connects it with the class of its values. A value is one variable of a program and one leaf of a pytree.
    Transformations see values of this type, on which primitives act by rules of their own. Before a program is
    compiled, its values are replaced by their parts.

    A subclass defines `part_types`, `to_parts` and `from_parts`; `of` if values have no attribute `aval`;
    `to_tangent_aval` if values have derivatives, with `zeros` and `add` if the tangents are of a user's type, too; and
    for `vmap` and `scan` a `shape`, `mapped` and `unmapped`.

    Examples:
      >>> import numpy as np
      >>> import dataclasses
      >>> from primax.extend import core
      >>> @dataclasses.dataclass(frozen=True)
      ... class IntervalType(core.UserType):
      ...     shape: tuple
      ...     def part_types(self):
      ...         return [core.ShapedArray(self.shape, np.float32)] * 2
      ...     def mapped(self, dim):
      ...         return IntervalType(self.shape[:dim] + self.shape[dim + 1 :])
      >>> IntervalType((3, 2)).mapped(0) == IntervalType((2,))
      True
    """

    __slots__ = ()

    composite = True
    value_class: ClassVar[Any] = None  # the class of the values, which `register_user_type` sets
    weak_type = False
    placement = None

    @classmethod
    def of(cls, value: Any) -> UserType:
        """The type of a value."""
        return value.aval  # type: ignore[no-any-return]

    def part_types(self) -> Sequence[AbstractValue]:
        """The types of the parts, which are arrays or again values of users' types."""
        raise NotImplementedError(f"{type(self).__name__} must define part_types()")

    def to_parts(self, value: Any) -> Sequence[Any]:
        """The parts of a value of this type."""
        raise NotImplementedError(f"{type(self).__name__} must define to_parts(value)")

    def from_parts(self, parts: Sequence[Any]) -> Any:
        """The value of this type with these parts, which may be tracers."""
        raise NotImplementedError(f"{type(self).__name__} must define from_parts(parts)")

    def part_axis(self, part: int, dim: int) -> int | None:
        """The axis of a part that is axis `dim` of the value; None if the part is the same for all positions."""
        return dim

    def zeros(self) -> Any:
        """The zero of this type, if it is the type of tangents."""
        raise TypeError(f"values of type {self.str_short()} have no zero: no {type(self).__name__}.zeros")

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two values of this type, if it is the type of tangents."""
        raise TypeError(f"values of type {self.str_short()} have no sums: no {type(self).__name__}.add")
