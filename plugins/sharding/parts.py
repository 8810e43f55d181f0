"""Types and specifications of whole values, and of the parts of one device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import ShapedArray
from primax.extend.provisional.sharding import AvalSharding, aval_sharding, current_scope, explicit_part
from primax.extend.sharding import AbstractMesh, AxisType, Mesh, PartitionSpec


def _outer(mesh: Mesh) -> AbstractMesh:
    """The axes of a mesh as types have them outside of the per-device program."""
    scope = current_scope()
    if scope is not None and scope.abstract.shape_tuple == mesh.shape_tuple:
        return scope.abstract
    return mesh.abstract_mesh


def check_in_spec(what: str, mesh: Mesh, spec: PartitionSpec, aval: Any, axes: Sequence[Any]) -> None:
    """Raise an error for an array that cannot be divided as specified.

    Args:
      what: the argument, for messages.
      mesh: the mesh.
      spec: the specification of the array along `axes`.
      aval: the type of the array.
      axes: the axes along which the program is per-device; along other explicit axes the sharding is unchanged.

    Raises:
      ValueError: the array has too few axes, or the length of one is not a multiple of the number of parts.
    """
    shape = aval.shape
    explicit = aval_sharding(aval)
    _check_pending(what, spec, aval, axes)
    if explicit is not None:
        recorded = _outer(mesh).explicit_axes
        for i, names in enumerate(explicit.axes):
            prefix = tuple(name for name in spec.along(i) if name in recorded)
            if prefix != names[: len(prefix)] or any(name in axes for name in names[len(prefix) :]):
                raise ValueError(
                    f"{what} is {spec}, but the array of type {aval.str_short()} is divided in another way; change it "
                    f"with primax.reshard(x, {spec})"
                )
    if not len(spec):
        return
    if len(spec) > len(shape):
        raise ValueError(
            f"{what} is {spec}, which needs at least {len(spec)} axes, but the array is {aval.str_short()}; "
            "remove the entries beyond its axes"
        )
    for i, size in enumerate(shape):
        parts = mesh.size_along(spec.along(i))
        if size % parts:
            divisors = ", ".join(f"{name!r} of size {mesh.shape[name]}" for name in spec.along(i))
            raise ValueError(
                f"{what} is {spec}, which divides axis {i} along {divisors}, but its length {size} is no multiple of "
                f"{parts}; pad the array of type {aval.str_short()}, or put None there"
            )


def _check_pending(what: str, spec: PartitionSpec, aval: Any, axes: Sequence[Any]) -> None:
    """Raise an error for a specification whose pending sums differ from those of an array's type.

    Raises:
      ValueError: they differ.
    """
    explicit = aval_sharding(aval)
    for name, specified in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        recorded = frozenset() if explicit is None else getattr(explicit, name).intersection(axes)
        if specified != recorded:
            raise ValueError(
                f"{what} is {spec}, which must be {name} along the same axes as the array of type "
                f"{aval.str_short()}; change the array with primax.reshard(x, {spec})"
            )


def refuse_composite(what: str, avals: Sequence[Any]) -> None:
    """Raise an error for a value of a user's type, whose parts may be divided in various ways.

    Raises:
      UnsupportedError: there is one.
    """
    for i, aval in enumerate(avals):
        if aval.composite:
            raise core.UnsupportedError(
                f"{what}: argument {i} (counted flat) must be an array, got a value of type {aval.str_short()}, which "
                "devices cannot divide; pass arrays, and compute with these inside"
            )


def part_aval(mesh: Mesh, spec: PartitionSpec, aval: Any, checked: bool, axes: Sequence[Any]) -> ShapedArray:
    """The type of one device's part of a value; it stays divided along explicit axes other than `axes`."""
    if aval.mutable:
        return aval.to(part_aval(mesh, spec, aval.inner_aval, checked, axes))
    explicit = aval_sharding(aval)
    if not spec.axes and explicit is None:
        return aval
    shape = tuple([size // mesh.size_along(spec.along(i)) for i, size in enumerate(aval.shape)])
    if explicit is not None:
        inner = _outer(mesh).update_axis_types(dict.fromkeys(axes, AxisType.Manual))
        rest = tuple([tuple([name for name in names if name not in axes]) for names in explicit.axes])
        explicit = AvalSharding(inner, rest).with_pending(explicit.unreduced, explicit.reduced)
    vma = aval.vma.union(spec.axes) if checked else aval.vma
    return aval.update(shape=shape, vma=vma, sharding=explicit)


def whole_aval(mesh: Mesh, spec: PartitionSpec, aval: Any, axes: Iterable[Any]) -> ShapedArray:
    """The type of the whole value, from the type of each device's part."""
    if aval.mutable:
        return aval.to(whole_aval(mesh, spec, aval.inner_aval, axes))
    explicit = aval_sharding(aval)
    if not (spec.axes or aval.vma or explicit is not None):
        return aval
    outer = _outer(mesh)
    if explicit is None and not spec.axes:
        return aval.update(vma=aval.vma - frozenset(axes))
    shape = tuple([size * mesh.size_along(spec.along(i)) for i, size in enumerate(aval.shape)])
    if explicit is None and not outer.explicit_axes:
        return core.ShapedArray(shape, aval.dtype, aval.weak_type, vma=aval.vma - frozenset(axes))
    sharding = explicit_part(outer, spec, len(shape)) if outer.explicit_axes else None
    if explicit is not None:
        before = ((),) * len(shape) if sharding is None else sharding.axes
        both = AvalSharding(outer, tuple([one + other for one, other in zip(before, explicit.axes, strict=True)]))
        sharding = both.with_pending(explicit.unreduced, explicit.reduced)
    return aval.update(shape=shape, vma=aval.vma - frozenset(axes), sharding=sharding)


def residual_spec(aval: Any, axes: Sequence[Any], checked: bool) -> PartitionSpec | None:
    """The specification for residuals: parts are concatenated along the first axis; None if all parts are the same."""
    names = tuple(name for name in axes if name in aval.vma) if checked else tuple(axes)
    explicit = aval_sharding(aval)
    if explicit is not None and explicit.is_pending:
        pending = {name: getattr(explicit, name).intersection(axes) for name in ("unreduced", "reduced")}
        if any(pending.values()):
            return PartitionSpec(*([names] if names else []), **pending)
    return PartitionSpec(names) if names else None


def of_cotangents(spec: PartitionSpec) -> PartitionSpec:
    """The specification of cotangents, from that of the values."""
    return spec.update(unreduced=spec.reduced, reduced=spec.unreduced) if spec.unreduced or spec.reduced else spec


def with_axis(spec: PartitionSpec, dim: int | None, name: Any = None) -> PartitionSpec:
    """A specification for arrays with a new axis, divided along `name`."""
    if dim is None:
        return spec
    parts = [*spec, *[None] * (dim - len(spec))]
    parts.insert(dim, name)
    return spec.update(partitions=parts)
