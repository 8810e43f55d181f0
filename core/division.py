"""How the dimensions of an array are divided along the axes of a mesh that are explicit: what its type holds of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

from primax.core.mesh import AbstractMesh, PartitionSpec, current_scope

__all__ = ["Axes", "Division", "divided_size", "whole"]

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

    def with_axes(self, axes: Axes) -> Division | None:
        """A division along the same mesh; None if nothing is divided."""
        return Division(self.mesh, axes) if any(axes) else None

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
