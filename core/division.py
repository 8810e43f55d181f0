"""How the dimensions of an array are divided along the axes of a mesh that are explicit: what its type holds of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

from primax.core.mesh import AbstractMesh, AxisType, PartitionSpec, current_scope

__all__ = ["Axes", "Division", "divided_size", "division_in", "explicit_part", "whole"]

Axes = tuple[tuple[Any, ...], ...]  # for each dimension the axes of the mesh that divide it

_divisions: WeakValueDictionary[Any, Division] = WeakValueDictionary()


class Division:
    """How the dimensions of an array are divided along explicit axes of a mesh. Equal ones are one object.

    Attributes:
      mesh: the axes of the mesh.
      axes: for each dimension of the array those that divide it, the coarsest first.
    """

    __slots__ = ("__weakref__", "axes", "mesh")

    mesh: AbstractMesh
    axes: Axes

    def __new__(cls, mesh: AbstractMesh, axes: Axes) -> Division:
        found = _divisions.get((mesh, axes))
        if found is None:
            made = super().__new__(cls)
            made.mesh = mesh
            made.axes = axes
            found = _divisions.setdefault((mesh, axes), made)
        return found

    @property
    def spec(self) -> PartitionSpec:
        """As a specification that tells every dimension."""
        return PartitionSpec(*[names or None for names in self.axes])

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has all of the array."""
        return self.mesh.size_along([name for names in self.axes for name in names]) == 1

    def with_axes(self, axes: Axes) -> Division | None:
        """A division along the same mesh; None if nothing is divided."""
        return Division(self.mesh, axes) if any(axes) else None

    def update(self, **changes: Any) -> Division:
        """A copy with `spec` or `mesh` replaced; a specification of another length is for an array of that rank.

        Raises:
          TypeError: there is no such attribute.
        """
        unknown = sorted(changes.keys() - {"mesh", "spec"})
        if unknown:
            raise TypeError(f"Division.update: changes must be among ['mesh', 'spec'], got {unknown}")
        spec = changes.get("spec", self.spec)
        return Division(changes.get("mesh", self.mesh), tuple(map(spec.along, range(len(spec)))))

    def without(self, dim: int) -> Division | None:
        """That of one element along a dimension."""
        return self.with_axes((*self.axes[:dim], *self.axes[dim + 1 :]))

    def with_whole(self, dim: int) -> Division | None:
        """That of several along a new dimension, which is not divided."""
        return self.with_axes((*self.axes[:dim], (), *self.axes[dim:]))

    def shown(self, shape: Sequence[int]) -> str:
        """The sizes of dimensions as types show them: `8@x,4`."""
        return ",".join(map(divided_size, shape, self.axes))

    def __repr__(self) -> str:
        return f"Division({self.spec!r})"

    def __reduce__(self) -> Any:
        return Division, (self.mesh, self.axes)


def explicit_part(mesh: Any, spec: PartitionSpec, rank: int) -> Division | None:
    """What a specification says of explicit axes, which types tell; None if it is nothing.

    Args:
      mesh: the mesh, or its axes.
      spec: the specification.
      rank: of the array.
    """
    abstract: AbstractMesh = mesh.abstract_mesh
    kinds = dict(zip(abstract.axis_names, abstract.axis_types, strict=True))
    axes = tuple([tuple([name for name in spec.along(i) if kinds[name] is AxisType.Explicit]) for i in range(rank)])
    return Division(abstract, axes) if any(axes) else None


def division_in(sharding: Any, shape: Sequence[int]) -> Division | None:
    """What a type tells of a sharding: that of another type, or one of arrays.

    Raises:
      ValueError: it is of an array of another rank.
    """
    if not isinstance(sharding, Division):
        return explicit_part(sharding.mesh, sharding.spec, len(shape))
    if len(sharding.axes) != len(shape):
        raise ValueError(f"ShapedArray: sharding must have a part for each dimension of {tuple(shape)}, got {sharding}")
    return sharding.with_axes(sharding.axes)


def whole(rank: int) -> Division:
    """What tells of an array that the mesh in scope divides none of its dimensions."""
    scope = current_scope()
    return Division(_NO_MESH if scope is None else scope.abstract, ((),) * rank)


_NO_MESH = AbstractMesh((), ())


def divided_size(size: int, names: Sequence[Any]) -> str:
    """How types show a dimension: `8@x`."""
    if not names:
        return str(size)
    return f"{size}@{names[0]}" if len(names) == 1 else f"{size}@({','.join(map(str, names))})"
