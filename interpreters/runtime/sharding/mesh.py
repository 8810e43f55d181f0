"""Meshes: grids of devices with named axes, and specifications of shardings along them."""

from __future__ import annotations

import enum
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache, wraps
from math import prod
from types import TracebackType
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from primax.core import _jaxlib
from primax.core.arguments import integer, sequence
from primax.core.frozen import SetOnce
from primax.core.option import ANY, Option
from primax.core.pickling import pickled


class AxisType(enum.Enum):
    """The kind of a mesh axis: whether types, XLA or the user decide about shardings along it.

    `Auto`: XLA's partitioner decides. `Explicit`: the types of arrays decide. `Manual`: the program is that of one
    device.

    Examples:
      >>> from primax.sharding import AbstractMesh, AxisType
      >>> mesh = AbstractMesh((2, 4), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
      >>> mesh.axis_types, AbstractMesh((2,), ("x",)).axis_types
      ((Explicit, Auto), (Auto,))
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name

    def __reduce_ex__(self, protocol: Any) -> Any:
        return pickled("primax.sharding:AxisType", self.value)


class _Unconstrained:
    """The marker for an axis whose sharding XLA chooses."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> Any:
        return pickled("primax.sharding:PartitionSpec._unconstrained")


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec(SetOnce):
    """A specification: for each axis of an array, the mesh axes along which it is divided.

    Args:
      partitions: for each axis the name of a mesh axis; a tuple of names, the coarsest division first; None for an axis
        that is not divided; or `PartitionSpec.UNCONSTRAINED`. Further axes are not divided.
      unreduced: mesh axes along which the sum of the array is pending.
      reduced: mesh axes along which the array is the same, and the sum of its cotangent is pending.

    >>> import primax as px
    >>> px.P("data", None)
    P('data', None)
    """

    __slots__ = ("__weakref__", "_along", "_hash", "axes", "partitions", "reduced", "unreduced")

    UNCONSTRAINED = _UNCONSTRAINED

    partitions: tuple[Any, ...]
    axes: tuple[Any, ...]
    """All mesh axes that divide an axis, in order."""

    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()) -> None:
        self.partitions = tuple(map(_partition, partitions))
        for name, axes in (("unreduced", unreduced), ("reduced", reduced)):
            if not isinstance(axes, set | frozenset):
                raise TypeError(f"PartitionSpec: {name} must be a set of names of mesh axes, got {axes!r}")
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        self._along = tuple([_names_in(part) for part in self.partitions])
        self.axes = sum(self._along, ())
        if self.unreduced or self.reduced:
            self._check_pending()
        self._hash = hash((self.partitions, self.unreduced, self.reduced))

    def _check_pending(self) -> None:
        """Raise an error for a mesh axis with two roles."""
        uses = (("partitions", frozenset(self.axes)), ("unreduced", self.unreduced), ("reduced", self.reduced))
        for i, (one, axes) in enumerate(uses):
            for other, further in uses[i + 1 :]:
                both = axes & further
                if both:
                    raise ValueError(
                        f"PartitionSpec: an axis of the mesh must be in one of {one} and {other}, got "
                        f"{', '.join(sorted(map(repr, both)))} in both"
                    )

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSpec):
            return NotImplemented
        return (self.partitions, self.unreduced, self.reduced) == (other.partitions, other.unreduced, other.reduced)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, PartitionSpec | tuple):
            return NotImplemented
        return self.update(partitions=(*self.partitions, *other))

    def __radd__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, tuple):
            return NotImplemented
        return self.update(partitions=(*other, *self.partitions))

    def index(self, value: Any) -> int:
        """The first axis with this entry."""
        return self.partitions.index(_partition(value))

    def count(self, value: Any) -> int:
        """The number of axes with this entry."""
        return self.partitions.count(_partition(value))

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with other `partitions`, `unreduced` or `reduced`."""
        unknown = changes.keys() - {"partitions", "unreduced", "reduced"}
        if unknown:
            raise TypeError(f"PartitionSpec.update: no field named {sorted(unknown)}")
        partitions = changes.get("partitions", self.partitions)
        return PartitionSpec(
            *partitions,
            unreduced=changes.get("unreduced", self.unreduced),
            reduced=changes.get("reduced", self.reduced),
        )

    def along(self, axis: int) -> tuple[Any, ...]:
        """The mesh axes that divide an axis; none if it is unconstrained."""
        return self._along[axis] if axis < len(self._along) else ()

    def __repr__(self) -> str:
        parts = [*map(repr, self.partitions)]
        for name, axes in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if axes:
                parts.append(f"{name}={{{', '.join(sorted(map(repr, axes)))}}}")
        return f"P({', '.join(parts)}{',' if len(self.partitions) == 1 and len(parts) == 1 else ''})"

    def __reduce__(self) -> Any:
        return pickled("primax.sharding:PartitionSpec._restored", self.partitions, self.unreduced, self.reduced)

    @classmethod
    def _restored(cls, partitions: Any, unreduced: Any, reduced: Any) -> PartitionSpec:
        return cls(*partitions, unreduced=unreduced, reduced=reduced)

    @staticmethod
    def _unconstrained() -> Any:
        return _UNCONSTRAINED


def _names_in(part: Any) -> tuple[Any, ...]:
    """The mesh axes that divide an axis."""
    if part is None or part is _UNCONSTRAINED:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _partition(part: Any) -> Any:
    """One name for a tuple of one name, None for an empty tuple."""
    if isinstance(part, list | tuple):
        names = tuple(part)
        return None if not names else _name(names[0]) if len(names) == 1 else tuple(map(_name, names))
    return part if part is None or part is _UNCONSTRAINED else _name(part)


def _name(name: Any) -> Any:
    if isinstance(name, _Unconstrained) or name is None:
        raise TypeError(f"PartitionSpec: a tuple must hold names of mesh axes, got {name!r}")
    if not isinstance(name, Hashable):
        raise TypeError(f"PartitionSpec: partitions must be names of mesh axes, got {name!r}, which has no hash")
    return name


class _Axes(SetOnce):
    """The common part of meshes and abstract meshes: axes with names, sizes and types."""

    __slots__ = ("_hash", "_sizes", "axis_names", "axis_sizes", "axis_types", "manual_axes")

    _hash: int
    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]
    manual_axes: tuple[Any, ...]
    """The axes of type `Manual`: along them the program is that of one device."""

    def _set_axes(self, sizes: Any, names: Any, types: Any, default: AxisType) -> None:
        kind = type(self).__name__
        names = (names,) if isinstance(names, str) else tuple(sequence(kind, "axis_names", names))
        sizes = tuple(integer(kind, "each of axis_sizes", size) for size in sizes)
        if len(sizes) != len(names):
            raise ValueError(f"{kind}: there must be one name per axis, got {len(sizes)} axes and names {names}")
        for name in names:
            if name is None or not isinstance(name, Hashable):
                raise TypeError(f"{kind}: axis_names must be hashable and not None, got {name!r}")
        if len(set(names)) < len(names):
            raise ValueError(f"{kind}: axis_names must differ, got {names}")
        if any(size < 1 for size in sizes):
            raise ValueError(f"{kind}: axes must have at least one device, got sizes {sizes}")
        if types is None:
            types = (default,) * len(names)
        elif isinstance(types, AxisType):
            types = (types,) * len(names)
        types = tuple(types)
        if len(types) != len(names) or not all(isinstance(kind_, AxisType) for kind_ in types):
            raise ValueError(f"{kind}: axis_types must be one AxisType per axis, got {types} for the axes {names}")
        self.axis_names = names
        self.axis_sizes = sizes
        self.axis_types = types
        self.manual_axes = self._axes_of(AxisType.Manual)
        self._sizes = dict(zip(names, sizes, strict=True))

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes of the axes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """Pairs of name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """The number of devices."""
        return prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        """Whether there are no axes."""
        return not self.axis_names

    def _axes_of(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple(name for name, own in zip(self.axis_names, self.axis_types, strict=True) if own is kind)

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """The axes about which XLA's partitioner decides."""
        return self._axes_of(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The axes about which types decide."""
        return self._axes_of(AxisType.Explicit)

    @property
    def are_all_axes_auto(self) -> bool:
        return all(kind is AxisType.Auto for kind in self.axis_types)

    @property
    def are_all_axes_explicit(self) -> bool:
        return all(kind is AxisType.Explicit for kind in self.axis_types)

    @property
    def are_all_axes_manual(self) -> bool:
        return all(kind is AxisType.Manual for kind in self.axis_types)

    def size_along(self, names: Sequence[Any]) -> int:
        """The product of the sizes of axes."""
        return prod([self._sizes[name] for name in names]) if names else 1

    def _described(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        kinds = ", ".join(kind.name for kind in self.axis_types) + ("," if len(self.axis_types) == 1 else "")
        return f"{axes}, axis_types=({kinds})" if axes else "()"

    def __hash__(self) -> int:
        return self._hash


class AbstractMesh(_Axes):
    """The axes of a mesh without its devices.

    Args:
      axis_sizes: the sizes of the axes.
      axis_names: their names.
      axis_types: an `AxisType` for each, or one for all; `Auto` if None.

    Raises:
      ValueError: names, sizes and types do not match, or a name occurs twice.

    Examples:
      >>> import primax as px
      >>> from primax.sharding import AbstractMesh
      >>> mesh = AbstractMesh((2, 4), ("rows", "columns"))  # eight devices, which need not be here
      >>> mesh.size, mesh.axis_names
      (8, ('rows', 'columns'))
      >>> px.NamedSharding(mesh, px.P("rows")).shard_shape((6, 3))
      (3, 3)
    """

    __slots__ = ("__weakref__",)

    def __init__(self, axis_sizes: Any, axis_names: Any, axis_types: Any = None) -> None:
        self._set_axes(sequence("AbstractMesh", "axis_sizes", axis_sizes), axis_names, axis_types, AxisType.Auto)
        self._hash = hash((self.axis_names, self.axis_sizes, self.axis_types))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is AbstractMesh
            and self.axis_names == other.axis_names
            and self.axis_sizes == other.axis_sizes
            and self.axis_types == other.axis_types
        )

    __hash__ = _Axes.__hash__

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def update(self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None) -> AbstractMesh:
        """A copy with other sizes, names or types."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def update_axis_types(self, types: dict[Any, AxisType]) -> AbstractMesh:
        """A copy in which the named axes have other types."""
        return self.update(
            axis_types=tuple(types.get(name, kind) for name, kind in zip(self.axis_names, self.axis_types, strict=True))
        )

    def __repr__(self) -> str:
        return f"AbstractMesh({self._described()})"

    def __reduce__(self) -> Any:
        return pickled("primax.sharding:AbstractMesh", self.axis_sizes, self.axis_names, self.axis_types)


_meshes: WeakValueDictionary[Any, Mesh] = WeakValueDictionary()


class Mesh(_Axes):
    """A grid of devices with named axes. Equal devices, names and types give one object.

    `with mesh:` makes it the mesh of specifications that name none, as `primax.set_mesh` does. Arrays and programs
    without shardings stay where they would be without it.

    Args:
      devices: an array of devices, one axis for each name.
      axis_names: the names.
      axis_types: an `AxisType` for each axis, or one for all; `Auto` if None.

    Raises:
      TypeError: `devices` does not hold devices.
      ValueError: the numbers of names and axes differ, or a name or a device occurs twice.

    >>> import primax as px
    >>> px.sharding.Mesh(px.devices(), "data").shape["data"] == len(px.devices())
    True
    """

    __slots__ = ("__weakref__", "_entered", "abstract_mesh", "device_list", "devices")

    _entered: dict[int, list[Any]]
    abstract_mesh: AbstractMesh
    device_list: Any
    devices: np.ndarray[Any, Any]

    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        grid = _grid(devices)
        if not grid.ndim and not axis_names:
            return empty_mesh()
        mesh = super().__new__(cls)
        mesh._set_axes(grid.shape, axis_names, axis_types, AxisType.Auto)
        key = (tuple(grid.reshape(-1)), mesh.axis_names, mesh.axis_sizes, mesh.axis_types)
        known = _meshes.get(key)
        if known is not None:
            return known
        if len(set(key[0])) < len(key[0]):
            raise ValueError(f"Mesh: devices must differ, got {list(key[0])}")
        grid.flags.writeable = False
        mesh.devices = grid
        mesh.device_list = _jaxlib.DeviceList(key[0])
        mesh.abstract_mesh = AbstractMesh(grid.shape, mesh.axis_names, mesh.axis_types)
        mesh._entered = {}
        mesh._hash = hash(key)
        return _meshes.setdefault(key, mesh)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The ids of the devices."""
        return np.array([device.id for device in self.devices.flat], np.int64).reshape(self.devices.shape)

    @property
    def local_devices(self) -> list[Any]:
        """The devices that belong to this process."""
        return [device for device in self.devices.flat if device.process_index == device.client.process_index()]

    @property
    def is_multi_process(self) -> bool:
        """Whether the devices belong to several processes."""
        return len({device.process_index for device in self.devices.flat}) > 1

    @property
    def local_mesh(self) -> Mesh:
        """The mesh of the devices of this process.

        Raises:
          ValueError: these devices do not form a grid with the same axes.
        """
        if not self.is_multi_process:
            return self
        local = np.array([d.process_index == d.client.process_index() for d in self.devices.flat], bool)
        places = np.argwhere(local.reshape(self.devices.shape))
        low, high = places.min(0), places.max(0) + 1
        part = self.devices[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        if part.size != len(places):
            raise ValueError(
                f"local_mesh: the devices of this process must be a rectangular part of the mesh, got {self!r}"
            )
        return Mesh(part, self.axis_names, self.axis_types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """A mesh with other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> Mesh:
        override = mesh_scope(None if self.empty else MeshScope(self, self.abstract_mesh, True, placing_mesh()))
        override.__enter__()
        self._entered.setdefault(threading.get_ident(), []).append(override)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        me = threading.get_ident()
        entered = self._entered[me]
        entered.pop().__exit__(kind, error, traceback)
        if not entered:
            del self._entered[me]

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """A function that runs with this mesh in scope, so that a mesh is a decorator too."""

        @wraps(f)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return f(*args, **kwargs)

        return inside

    def __repr__(self) -> str:
        return f"Mesh({self._described()})"

    __hash__ = _Axes.__hash__

    def __reduce__(self) -> Any:
        first = self.devices.flat[0]
        platform = _jaxlib.platform_of(first.client)
        return pickled("primax.sharding:Mesh._of_ids", platform, self.device_ids, self.axis_names, self.axis_types)

    @staticmethod
    def _of_ids(platform: str, ids: np.ndarray[Any, Any], names: Any, types: Any) -> Mesh:
        by_id = {device.id: device for device in platforms.devices(platform)}
        missing = [int(number) for number in ids.flat if number not in by_id]
        if missing:
            raise ValueError(f"Mesh: the device ids {missing} do not exist; there are {sorted(by_id)}")
        grid = np.empty(ids.shape, object)
        grid.flat[:] = [by_id[number] for number in ids.flat]
        return Mesh(grid, names, types)


@cache
def empty_mesh() -> Mesh:
    """The mesh without axes and devices."""
    mesh: Mesh = object.__new__(Mesh)
    mesh._set_axes((), (), None, AxisType.Auto)
    mesh.devices = np.empty((), object)
    mesh.device_list = ()
    mesh.abstract_mesh = AbstractMesh((), ())
    mesh._entered = {}
    mesh._hash = hash(())
    return mesh


def meshes_exist() -> bool:
    """Whether the process has created a mesh; if not, every computation runs on one device."""
    return bool(_meshes)


mesh_scope = Option("mesh", None, ANY, "The mesh in scope.", tracing=True, listed=False)


class MeshScope(NamedTuple):
    """The mesh in scope.

    Attributes:
      mesh: the mesh; None if only its axes are known.
      abstract: its axes; those along which the program is that of one device are `Manual`.
      checked: whether types record the manual axes along which values vary.
      places: the mesh of several devices, given by `set_mesh`, for arrays and programs without another placement;
        None for the default device.
    """

    mesh: Mesh | None
    abstract: AbstractMesh
    checked: bool
    places: Mesh | None = None

    @property
    def converts_operands(self) -> bool:
        """Whether operands that vary along different axes are converted to vary along the same axes."""
        return self.checked and bool(self.abstract.manual_axes)


def current_scope() -> MeshScope | None:
    """The mesh in scope of this thread; None if there is none."""
    return mesh_scope.value  # type: ignore[no-any-return]


def placing_mesh() -> Mesh | None:
    """The mesh for arrays and programs without another placement; None for the default device."""
    scope = current_scope()
    return None if scope is None else scope.places


class _Platforms:
    """Functions that the interpreters set.

    Attributes:
      devices: returns the devices of a platform.
    """

    devices: Callable[[str], Sequence[Any]]


platforms = _Platforms()


def _grid(devices: Any) -> np.ndarray[Any, Any]:
    """A new array of the devices."""
    if isinstance(devices, np.ndarray):
        grid = devices.astype(object)
    else:
        nested = devices if isinstance(devices, list | tuple) else [devices]
        flat = np.array(nested, dtype=object)
        grid = flat.copy()
    for device in grid.reshape(-1):
        if device is None and not grid.ndim:
            break  # an array without axes, as `np.empty((), object)` makes, is that of the mesh without devices
        if not isinstance(device, _jaxlib.Device):
            raise TypeError(f"Mesh: devices must be an array of primax.devices(), got {device!r}")
    return grid
