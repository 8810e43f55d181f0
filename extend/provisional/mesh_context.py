"""The mesh in scope, also inside per-device programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from math import prod
from types import TracebackType
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.arguments import integer, sequence
from primax.core.errors import ArgumentError
from primax.core.placement import Space
from primax.core.trace_state import thread
from primax.interpreters.runtime.devices.backends import devices as all_devices
from primax.interpreters.runtime.sharding.layout import Format, Layout
from primax.interpreters.runtime.sharding.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    MeshScope,
    PartitionSpec,
    current_scope,
    empty_mesh,
    mesh_scope,
    placing_mesh,
)
from primax.interpreters.runtime.sharding.shardings import AbstractSharding, BaseSharding, NamedSharding, sharding_of

__all__ = [
    "axes_in_scope",
    "canonical_sharding",
    "get_abstract_mesh",
    "get_mesh",
    "make_mesh",
    "manual_axes",
    "manual_scope",
    "set_mesh",
    "use_abstract_mesh",
]

_NO_MESH = AbstractMesh((), ())


def make_mesh(axis_shapes: Any, axis_names: Any, axis_types: Any = None, *, devices: Any = None) -> Mesh:
    """A mesh of the first available devices.

    Args:
      axis_shapes: the sizes of the axes.
      axis_names: their names.
      axis_types: an `AxisType` for each axis, or one for all; `Auto` if None.
      devices: the devices of the mesh; by default all of the default platform.

    Raises:
      ValueError: there are too few devices, or names and sizes do not match.

    >>> import primax as px
    >>> px.make_mesh((1,), ("data",)).shape["data"]
    1
    """
    sizes = tuple(
        integer("make_mesh", "each of axis_shapes", n) for n in sequence("make_mesh", "axis_shapes", axis_shapes)
    )
    if any(size < 1 for size in sizes):
        raise ValueError(f"make_mesh: axis_shapes must be positive, got {sizes}")
    available = all_devices() if devices is None else sequence("make_mesh", "devices", devices)
    count = prod(sizes)
    if count > len(available):
        raise ValueError(
            f"make_mesh: a mesh of shape {sizes} needs {count} devices, and there are {len(available)}; "
            f"PRIMAX_NUM_CPU_DEVICES={count}, set before the first use, makes {count} CPU devices"
        )
    grid = np.empty(count, object)
    grid[:] = available[:count]
    return Mesh(grid.reshape(sizes), axis_names, axis_types)


class _Setting:
    """The result of `set_mesh`, after the mesh was set; as a context manager, it restores the earlier mesh."""

    __slots__ = ("_before", "mesh")

    def __init__(self, mesh: Any, before: MeshScope | None) -> None:
        self.mesh = mesh
        self._before = before

    def __enter__(self) -> Any:
        return self.mesh

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        mesh_scope.set_here(self._before)


def set_mesh(mesh: Mesh | None) -> _Setting:
    """Put a mesh in scope in this thread: for the rest of the program, or within a `with` statement.

    Specifications without a mesh refer to this mesh. New arrays, and programs with uncommitted arguments, are on all
    its devices, unless `device=` or a sharding places them.

    Args:
      mesh: the mesh; None removes the mesh from scope.

    Raises:
      TypeError: `mesh` is not a mesh.
      ValueError: a transformation is active.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> with px.set_mesh(px.make_mesh((1,), ("x",))):
      ...     px.device_put(np.arange(4), px.P("x")).sharding.spec
      P('x',)
    """
    if isinstance(mesh, Mesh) and mesh.empty:
        mesh = None
    if mesh is not None and not isinstance(mesh, Mesh):
        raise TypeError(f"set_mesh: mesh must be a Mesh or None, got {mesh!r}")
    if thread.trace.tracing:
        raise ValueError("set_mesh: the mesh cannot change while a function is traced; set it around the call")
    before = current_scope()
    places = mesh if mesh is not None and mesh.size > 1 else None
    mesh_scope.set_here(None if mesh is None else MeshScope(mesh, mesh.abstract_mesh, True, places))
    return _Setting(mesh, before)


def use_abstract_mesh(mesh: AbstractMesh) -> AbstractContextManager[AbstractMesh]:
    """A context manager that puts an abstract mesh in scope.

    In a program over a mesh, `mesh` may be another arrangement of the same number of devices; types then refer to the
    axes of `mesh`.

    Raises:
      TypeError: `mesh` is not an `AbstractMesh`.
      ValueError: its number of devices differs from that of the mesh in scope.

    Examples:
      >>> import primax as px
      >>> mesh = px.sharding.AbstractMesh((8,), ("x",))
      >>> with px.use_abstract_mesh(mesh):
      ...     px.get_abstract_mesh().size  # no device is needed
      8
    """
    if not isinstance(mesh, AbstractMesh):
        raise TypeError(f"use_abstract_mesh: mesh must be an AbstractMesh, got {mesh!r}")
    scope = current_scope()
    if scope is not None and not mesh.empty and mesh.size != scope.abstract.size:
        raise ValueError(
            f"use_abstract_mesh: mesh must have {scope.abstract.size} devices, as {scope.abstract!r}, which is in "
            f"scope, got {mesh!r} of {mesh.size}"
        )
    return axes_in_scope(mesh, None)


@contextmanager
def axes_in_scope(mesh: AbstractMesh, concrete: Mesh | None) -> Iterator[AbstractMesh]:
    """A context manager that puts the axes of a mesh in scope, with its devices if they are known.

    Args:
      mesh: the axes, of any types.
      concrete: a mesh with these axes; None for the mesh in scope, if it has them.
    """
    scope = current_scope()
    if concrete is None and scope is not None:
        concrete = scope.mesh
    if concrete is not None and concrete.abstract_mesh != mesh:
        concrete = concrete.update(axis_types=mesh.axis_types) if concrete.shape_tuple == mesh.shape_tuple else None
    with mesh_scope(MeshScope(concrete, mesh, True, placing_mesh()) if not mesh.empty else None):
        yield mesh


def get_mesh() -> Mesh:
    """The mesh in scope in this thread; an empty one if there is none.

    Examples:
      >>> import primax as px
      >>> px.get_mesh().axis_names
      ()
      >>> with px.set_mesh(px.make_mesh((1,), ("x",))):
      ...     px.get_mesh().axis_names
      ('x',)
    """
    scope = current_scope()
    return empty_mesh() if scope is None or scope.mesh is None else scope.mesh


def get_abstract_mesh() -> AbstractMesh:
    """The abstract mesh in scope; an empty one if there is none.

    Examples:
      >>> import primax as px
      >>> px.get_abstract_mesh().axis_names
      ()
      >>> with px.set_mesh(px.make_mesh((1,), ("x",))):
      ...     px.get_abstract_mesh().shape["x"]
      1
    """
    scope = current_scope()
    return _NO_MESH if scope is None else scope.abstract


def manual_axes() -> tuple[Any, ...]:
    """The axes of the mesh in scope along which types record variance."""
    scope = current_scope()
    return scope.abstract.manual_axes if scope is not None and scope.checked else ()


@lru_cache(256)
def _with_manual(mesh: AbstractMesh, names: tuple[Any, ...]) -> AbstractMesh:
    """A mesh with some axes of type `Manual`."""
    return mesh.update_axis_types(dict.fromkeys(names, AxisType.Manual))


@contextmanager
def manual_scope(mesh: Mesh, axes: Iterable[Any], checked: bool) -> Iterator[None]:
    """A `with` block in which the traced program is a per-device program along axes of a mesh."""
    outer = current_scope()
    names = tuple(axes)
    abstract = mesh.abstract_mesh
    if outer is not None and outer.abstract.shape_tuple == abstract.shape_tuple:
        abstract = outer.abstract
    sizes = mesh.shape
    before = thread.axes
    thread.axes = {**before, **{name: sizes[name] for name in names}}
    try:
        with mesh_scope(MeshScope(mesh, _with_manual(abstract, names), checked, placing_mesh())):
            yield
    finally:
        thread.axes = before


def canonical_sharding(function: str, argument: str, value: Any) -> Any:
    """The sharding for a user's argument: a device, a sharding, a specification over the mesh in scope, or None.

    Returns:
      A sharding of primax, or None.

    Raises:
      TypeError: `value` is not one of these.
      ValueError: `value` is a specification and no mesh is in scope, or a format with a layout.
    """
    if type(value) is AbstractSharding:
        return None if value.mesh.empty else value.with_devices(function)
    if value is None or isinstance(value, BaseSharding):
        return value
    if isinstance(value, _jaxlib.Device):
        return sharding_of(value)
    if isinstance(value, PartitionSpec):
        scope = current_scope()
        if scope is None or scope.mesh is None:
            raise ValueError(
                f"{function}: {argument} is {value}, a specification without a mesh, and no mesh is in scope; set one "
                f"with primax.set_mesh, or pass NamedSharding(mesh, {value})"
            )
        return NamedSharding(scope.mesh, value)
    if isinstance(value, Format):
        if isinstance(value.layout, Layout) and not value.layout.is_plain:
            raise ValueError(
                f"{function}: {argument} must have a row-major layout, as all arguments and results of programs "
                f"have, got {value.layout!r}"
            )
        return canonical_sharding(function, argument, value.sharding)
    if isinstance(value, Space):
        if value is Space.Host:
            raise ValueError(
                f"{function}: {argument} must not be Space.Host: arrays are in device memory; primax.device_get "
                f"copies them to the host, as NumPy arrays"
            )
        return None
    raise ArgumentError(
        f"{function}: {argument} must be one of primax.devices(), a sharding, a PartitionSpec or None, got {value!r}"
    )
