"""The division of an array along explicit mesh axes, which is part of its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from primax.core.mesh import AbstractMesh, AxisType, PartitionSpec, current_scope

__all__ = [
    "Axes",
    "Division",
    "divided_size",
    "division_in",
    "explicit_part",
    "shardings",
    "shown_names",
    "whole",
]

Axes = tuple[tuple[Any, ...], ...]  # for each dimension, the mesh axes that divide it
Names = frozenset[Any]
_NONE: Names = frozenset()

_divisions: WeakValueDictionary[Any, Division] = WeakValueDictionary()


class Division:
    """The division of an array along explicit axes of a mesh. Equal divisions are one object.

    Attributes:
      mesh: the axes of the mesh.
      axes: for each dimension of the array, the mesh axes that divide it, the coarsest first.
      unreduced: the mesh axes along which each device has a summand of the array.
      reduced: the mesh axes along which all devices have the same value; each has a summand of the cotangent.
    """

    __slots__ = ("__weakref__", "axes", "mesh", "reduced", "unreduced")

    mesh: AbstractMesh
    axes: Axes
    unreduced: Names
    reduced: Names

    def __new__(cls, mesh: AbstractMesh, axes: Axes, unreduced: Names = _NONE, reduced: Names = _NONE) -> Division:
        key = mesh, axes, unreduced, reduced
        found = _divisions.get(key)
        if found is None:
            made = super().__new__(cls)
            made.mesh, made.axes, made.unreduced, made.reduced = key
            found = _divisions.setdefault(key, made)
        return found

    @property
    def spec(self) -> PartitionSpec:
        """The specification, with an entry for every dimension."""
        return PartitionSpec(*[names or None for names in self.axes], unreduced=self.unreduced, reduced=self.reduced)

    @property
    def is_pending(self) -> bool:
        """Whether the array or its cotangent is unreduced."""
        return bool(self.unreduced or self.reduced)

    @property
    def of_cotangents(self) -> Division:
        """The division of cotangents: reduced arrays have unreduced cotangents, and vice versa."""
        return Division(self.mesh, self.axes, self.reduced, self.unreduced) if self.is_pending else self

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        return self.mesh.size_along([*(name for names in self.axes for name in names), *self.unreduced]) == 1

    def with_axes(self, axes: Axes) -> Division | None:
        """A division of dimensions along other mesh axes; None if it is trivial."""
        return Division(self.mesh, axes, self.unreduced, self.reduced) if any(axes) or self.is_pending else None

    def with_pending(self, unreduced: Names, reduced: Names) -> Division | None:
        """A division with other unreduced and reduced axes; None if it is trivial."""
        if not (unreduced or reduced or any(self.axes)):
            return None
        return Division(self.mesh, self.axes, frozenset(unreduced), frozenset(reduced))

    def update(self, **changes: Any) -> Division:
        """A copy with `spec` or `mesh` replaced; a new specification must have an entry for every dimension.

        Raises:
          TypeError: a name in `changes` is another.
        """
        unknown = sorted(changes.keys() - {"mesh", "spec"})
        if unknown:
            raise TypeError(f"Division.update: changes must be among ['mesh', 'spec'], got {unknown}")
        spec = changes.get("spec", self.spec)
        mesh = changes.get("mesh", self.mesh)
        return Division(mesh, tuple(map(spec.along, range(len(spec)))), spec.unreduced, spec.reduced)

    def without(self, dim: int) -> Division | None:
        """The division of an element along a dimension."""
        return self.with_axes((*self.axes[:dim], *self.axes[dim + 1 :]))

    def with_whole(self, dim: int) -> Division | None:
        """The division of a stack along a new dimension, which is not divided."""
        return self.with_axes((*self.axes[:dim], (), *self.axes[dim:]))

    def shown(self, shape: Sequence[int]) -> str:
        """The text of the dimensions in types: `8@x,4`."""
        return ",".join(map(divided_size, shape, self.axes))

    def _pending_shown(self) -> list[str]:
        """The pending sums as types show them: `U:x`, `R:(x,y)`."""
        return [f"{mark}:{shown_names(each)}" for mark, each in (("U", self.unreduced), ("R", self.reduced)) if each]

    def __repr__(self) -> str:
        return f"Division({self.spec!r})"

    def __reduce__(self) -> Any:
        return Division, (self.mesh, self.axes, self.unreduced, self.reduced)


def shown_names(axes: Names) -> str:
    """Names of axes as types show them: `x`, `(x,y)`."""
    names = sorted(map(str, axes))
    return names[0] if len(names) == 1 else f"({','.join(names)})"


def explicit_part(mesh: Any, spec: PartitionSpec, rank: int) -> Division | None:
    """The division that types record of a specification: explicit axes and pending sums; None if there are none.

    Args:
      mesh: the mesh, or its axes.
      spec: the specification.
      rank: the rank of the array.
    """
    abstract: AbstractMesh = mesh.abstract_mesh
    kinds = dict(zip(abstract.axis_names, abstract.axis_types, strict=True))
    axes = tuple([tuple([name for name in spec.along(i) if kinds[name] is AxisType.Explicit]) for i in range(rank)])
    if spec.unreduced or spec.reduced:
        return Division(abstract, axes, spec.unreduced, spec.reduced)
    return Division(abstract, axes) if any(axes) else None


def division_in(sharding: Any, shape: Sequence[int]) -> Division | None:
    """The division that a type records for the sharding of a type or an array; None if there is none.

    Raises:
      ValueError: the sharding is a division of an array of another rank, or a specification of more dimensions.
    """
    is_division = isinstance(sharding, Division)
    parts = sharding.axes if is_division else sharding.spec
    if len(parts) > len(shape) or (is_division and len(parts) < len(shape)):
        raise ValueError(f"ShapedArray: sharding must have a part for each dimension of {tuple(shape)}, got {sharding}")
    return sharding.with_axes(parts) if is_division else explicit_part(sharding.mesh, parts, len(shape))


def whole(rank: int) -> Division:
    """The division of an array that is not divided, on the mesh in scope."""
    scope = current_scope()
    return Division(_NO_MESH if scope is None else scope.abstract, ((),) * rank)


_NO_MESH = AbstractMesh((), ())


class _Shardings:
    """Functions that the interpreters set.

    Attributes:
      of: returns a division as a `NamedSharding` over a mesh without devices.
    """

    of: Callable[[Division], Any]


shardings = _Shardings()


def divided_size(size: int, names: Sequence[Any]) -> str:
    """The text of a dimension in types: `8@x`."""
    if not names:
        return str(size)
    return f"{size}@{names[0]}" if len(names) == 1 else f"{size}@({','.join(map(str, names))})"
