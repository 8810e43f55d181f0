"""Types and specifications of wholes and of the parts that one device has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.sharding import Mesh, PartitionSpec, explicit_part

__all__ = ["check_division", "part_aval", "residual_spec", "whole_aval", "with_axis"]


def check_division(who: str, mesh: Mesh, spec: PartitionSpec, aval: Any) -> None:
    """Refuse an array that cannot be divided as told.

    Raises:
      ValueError: it has too few axes, or one is no multiple of the number of parts.
    """
    shape = aval.shape
    division = getattr(aval, "division", None)
    if division is not None and explicit_part(mesh, spec, len(shape)) is not division:
        raise ValueError(
            f"{who} is {spec}, and the array of type {aval.str_short()} is divided otherwise; bring it there with "
            f"primax.reshard(x, {spec})"
        )
    if not len(spec):
        return
    if len(spec) > len(shape):
        raise ValueError(
            f"{who} is {spec}, for arrays of at least {len(spec)} axes, and it is {aval.str_short()}; "
            "leave out what is beyond its axes"
        )
    for i, size in enumerate(shape):
        parts = mesh.size_along(spec.along(i))
        if size % parts:
            names = ", ".join(f"{name!r} of size {mesh.shape[name]}" for name in spec.along(i))
            raise ValueError(
                f"{who} is {spec}, which divides axis {i} along {names}, but its length {size} is no multiple of "
                f"{parts}; pad the array of type {aval.str_short()}, or put None there"
            )


def part_aval(mesh: Mesh, spec: PartitionSpec, aval: Any, checked: bool) -> Any:
    """The type of the part that one device has of a value."""
    if not spec.axes:
        return aval.update(division=None) if getattr(aval, "division", None) is not None else aval
    shape = tuple([size // mesh.size_along(spec.along(i)) for i, size in enumerate(aval.shape)])
    return aval.update(shape=shape, vma=aval.vma.union(spec.axes) if checked else aval.vma)


def whole_aval(mesh: Mesh, spec: PartitionSpec, aval: Any, axes: Iterable[Any]) -> Any:
    """The type of the whole of which each device has a part of the given type."""
    if not (spec.axes or aval.vma):
        return aval
    shape = tuple([size * mesh.size_along(spec.along(i)) for i, size in enumerate(aval.shape)])
    division = explicit_part(mesh, spec, len(shape)) if mesh.explicit_axes else None
    return aval.update(shape=shape, vma=aval.vma - frozenset(axes), division=division)


def residual_spec(aval: Any, axes: Sequence[Any], checked: bool) -> PartitionSpec | None:
    """How the parts of a residual are put together: one after the other along a new first axis; None if all are one."""
    names = tuple(name for name in axes if name in aval.vma) if checked else tuple(axes)
    return PartitionSpec(names) if names else None


def with_axis(spec: PartitionSpec, dim: int | None, name: Any = None) -> PartitionSpec:
    """A specification for arrays with one more axis, divided along `name`."""
    if dim is None:
        return spec
    parts = [*spec, *[None] * (dim - len(spec))]
    parts.insert(dim, name)
    return PartitionSpec(*parts)


def physical_ndim(aval: Any) -> int:
    """The number of axes of the array that holds a value."""
    return len(core.physical_aval(aval).shape)
