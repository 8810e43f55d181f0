"""Shardings: the devices of an array, and the part of the array on each device.

They are subclasses of jaxlib's `GSPMDSharding`, which jaxlib's dispatcher reads without calling Python. There is one
object for each device, and one for each mesh and specification, so comparisons cost nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from primax.core import _jaxlib
from primax.core._jaxlib import DeviceList, GSPMDSharding, Sharding
from primax.core.avals import ShapedArray
from primax.core.diagnostics import of_call
from primax.core.frozen import refuse_assignment
from primax.core.pickling import pickled
from primax.interpreters.runtime.devices.backends import devices, platform_of
from primax.interpreters.runtime.sharding.mesh import AbstractMesh, Mesh, PartitionSpec, current_scope

__all__ = [
    "NamedSharding",
    "Sharding",
    "SingleDeviceSharding",
    "devices_of",
    "named_from_hlo",
    "on_one_device",
    "placed",
    "sharding_of",
    "to_hlo",
]

Index = tuple[slice, ...]
_MOST_SHAPES = 256  # for which a sharding stores its parts


class BaseSharding(GSPMDSharding):  # type: ignore[misc]
    """The base class of all shardings of primax."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    _ordered_devices: tuple[Any, ...]
    device_set: frozenset[Any]
    platform: str
    _own_parts: dict[tuple[int, ...], Mapping[Any, Index]]

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and name in self.__dict__:
            refuse_assignment(self, name)
        object.__setattr__(self, name, value)

    def _set_devices(self, ordered: Sequence[Any]) -> None:
        devices = tuple(ordered)
        self.__dict__.update(
            _ordered_devices=devices, device_set=frozenset(devices), platform=devices[0].platform, _own_parts={}
        )

    @property
    def memory_kind(self) -> Any:
        """The kind of memory of the devices; None for their default."""
        return self._memory_kind

    @property
    def num_devices(self) -> int:
        return len(self._ordered_devices)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return bool(self._internal_device_list.is_fully_addressable)

    @property
    def addressable_devices(self) -> frozenset[Any]:
        """The devices that belong to this process."""
        if self.is_fully_addressable:
            return self.device_set
        own = self._ordered_devices[0].client.process_index()
        return frozenset(device for device in self._ordered_devices if device.process_index == own)

    @property
    def _addressable_device_assignment(self) -> tuple[Any, ...]:
        """The devices of this process in their order, under the name that packages for JAX use."""
        own = self.addressable_devices
        return tuple([device for device in self._ordered_devices if device in own])

    @property
    def has_addressable_devices(self) -> bool:
        return bool(self.addressable_devices)

    def tiles(self, ndim: int) -> tuple[int, ...]:
        """The number of parts along each axis."""
        raise NotImplementedError

    def places(self, ndim: int) -> np.ndarray[Any, Any]:
        """For each device the index of its part along each axis."""
        raise NotImplementedError

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the part of an array that one device holds.

        Raises:
          ValueError: the sharding cannot divide an axis.
        """
        shape = tuple(global_shape)
        self.check_shape(shape)
        return tuple(size // tiles for size, tiles in zip(shape, self.tiles(len(shape)), strict=True))

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Any, Index]:
        """For each device the part of an array that it holds, as slices."""
        shape = tuple(global_shape)
        local = self.shard_shape(shape)
        tiles = self.tiles(len(shape))

        def part(place: Any) -> Index:
            return tuple(
                slice(int(k) * size, (int(k) + 1) * size, None) if count > 1 else slice(None)
                for k, size, count in zip(place, local, tiles, strict=True)
            )

        return dict(zip(self._ordered_devices, map(part, self.places(len(shape))), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Any, Index]:
        """`devices_indices_map` for the devices of this process."""
        shape = tuple(global_shape)
        indices = self._own_parts.get(shape)
        if indices is None:
            own = self.addressable_devices
            indices = {device: part for device, part in self.devices_indices_map(shape).items() if device in own}
            if len(self._own_parts) >= _MOST_SHAPES:
                self._own_parts.clear()
            self._own_parts[shape] = indices
        return indices

    @property
    def _summands(self) -> tuple[Any, ...]:
        """The mesh axes, longer than 1, along which each device holds a summand of an array."""
        return ()

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether arrays with `ndim` axes have the same parts on the same devices."""
        if self is other:
            return True
        return (
            isinstance(other, BaseSharding)
            and self._summands == other._summands
            and self._ordered_devices == other._ordered_devices
            and self.memory_kind == other.memory_kind
            and self.tiles(ndim) == other.tiles(ndim)
            and bool((self.places(ndim) == other.places(ndim)).all())
        )

    def check_shape(self, shape: tuple[int, ...], what: str = "") -> None:
        """Raise an error if the sharding cannot divide a shape.

        Raises:
          ValueError: there are too few axes, or the length of one is not a multiple of the number of its parts.
        """


class SingleDeviceSharding(BaseSharding):
    """The sharding of arrays on one device. There is one object per device.

    Args:
      device: one of `primax.devices()`.
      memory_kind: None or "device", the memory of the device.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.sharding import SingleDeviceSharding
      >>> device = px.devices()[0]
      >>> SingleDeviceSharding(device) is SingleDeviceSharding(device)
      True
      >>> pnp.ones(2).sharding.device_set == {device}
      True
    """

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __new__(cls, device: Any, *, memory_kind: Any = None) -> SingleDeviceSharding:
        _check_memory_kind("SingleDeviceSharding", memory_kind)
        try:
            sharding = _single.get(device)
        except TypeError:
            sharding = None
        if sharding is None:
            if not isinstance(device, _jaxlib.Device):
                raise TypeError(f"device must be one of primax.devices(), got {device!r}{of_call()}")
            with _lock:
                sharding = _single.get(device)
                if sharding is None:
                    sharding = super().__new__(cls)
                    sharding._begin(device)
                    _single[device] = sharding
        return sharding

    def __init__(self, device: Any, *, memory_kind: Any = None) -> None:
        pass

    def _begin(self, device: Any) -> None:
        self._replicated = _jaxlib.xla_client.HloSharding.replicate()
        super().__init__(DeviceList((device,)), self._replicated)
        self._set_devices((device,))

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        return self._replicated

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def tiles(self, ndim: int) -> tuple[int, ...]:
        return (1,) * ndim

    def places(self, ndim: int) -> np.ndarray[Any, Any]:
        return np.zeros((1, ndim), np.int64)

    def __repr__(self) -> str:
        (device,) = self.device_set
        return f"SingleDeviceSharding(device={device!r})"

    def __reduce__(self) -> Any:
        (device,) = self.device_set
        return pickled("primax.sharding:SingleDeviceSharding._of_id", platform_of(device), device.id)

    @staticmethod
    def _of_id(platform: str, number: int) -> SingleDeviceSharding:
        by_id = {device.id: device for device in devices(platform)}
        if number not in by_id:
            raise ValueError(f"SingleDeviceSharding: the device id {number} does not exist; there are {sorted(by_id)}")
        return sharding_of(by_id[number])


_lock = threading.RLock()
_single: dict[Any, SingleDeviceSharding] = {}


def sharding_of(device: Any) -> SingleDeviceSharding:
    """The sharding of arrays on one device; one object per device."""
    try:
        return _single.get(device) or SingleDeviceSharding(device)
    except TypeError:  # the value is no device; `SingleDeviceSharding` raises the error
        return SingleDeviceSharding(device)


def on_one_device(sharding: Any) -> bool:
    """Whether a sharding has one device."""
    return type(sharding) is SingleDeviceSharding


def devices_of(sharding: Any) -> tuple[Any, ...]:
    """The devices of a sharding, in order."""
    if isinstance(sharding, BaseSharding):
        return sharding._ordered_devices
    return tuple(sharding._internal_device_list)


def _check_memory_kind(function: str, kind: Any) -> None:
    if not (kind is None or (isinstance(kind, str) and kind == "device")):
        raise ValueError(
            f"{function}: memory_kind must be None or 'device', the memory of the devices themselves, got {kind!r}"
        )


_named: WeakValueDictionary[Any, NamedSharding] = WeakValueDictionary()


class NamedSharding(BaseSharding):
    """A sharding of arrays along the axes of a mesh. There is one object for each mesh and specification.

    Args:
      mesh: the mesh; a mesh without devices stands for the mesh in scope when arrays are placed.
      spec: for each axis of an array the mesh axes that divide it.
      memory_kind: None or "device", the memory of the devices.

    Raises:
      TypeError: `mesh` is not a mesh, or `spec` is not a specification.
      ValueError: `spec` names an axis that the mesh does not have, or an axis twice.

    >>> import primax as px
    >>> px.NamedSharding(px.sharding.Mesh(px.devices()[:1], "data"), px.P("data")).shard_shape((8, 3))
    (8, 3)
    """

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    mesh: Mesh
    spec: PartitionSpec
    explicit: bool  # whether types record the sharding of arrays
    _hlo: dict[int, Any]

    def __new__(cls, mesh: Any, spec: Any, *, memory_kind: Any = None) -> NamedSharding:
        if not isinstance(mesh, Mesh | AbstractMesh):
            raise TypeError(f"NamedSharding: mesh must be a Mesh, got {mesh!r}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"NamedSharding: spec must be a PartitionSpec such as primax.P('x', None), got {spec!r}")
        _check_memory_kind("NamedSharding", memory_kind)
        sharding = _named.get((mesh, spec))
        if sharding is None:
            check_spec("NamedSharding", mesh, spec)
            with _lock:
                sharding = _named.get((mesh, spec))
                if sharding is None:
                    sharding = super().__new__(cls if isinstance(mesh, Mesh) else AbstractSharding)
                    sharding._begin(mesh, spec)
                    _named[mesh, spec] = sharding
        return sharding

    def __init__(self, mesh: Any, spec: Any, *, memory_kind: Any = None) -> None:
        pass

    def _begin(self, mesh: Mesh, spec: PartitionSpec) -> None:
        self.__dict__.update(mesh=mesh, spec=spec, explicit=bool(mesh.explicit_axes), _hlo={})
        super().__init__(mesh.device_list, to_hlo(mesh, spec, len(spec)))
        self._set_devices(tuple(mesh.devices.flat))

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        op_sharding = self._hlo.get(ndim)
        if op_sharding is None:
            op_sharding = self._hlo[ndim] = to_hlo(self.mesh, self.spec, ndim)
        return op_sharding

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds all of an array."""
        spec = self.spec
        return self.mesh.size_along([*spec.axes, *spec.unreduced]) == 1 if spec.axes or spec.unreduced else True

    @property
    def _summands(self) -> tuple[Any, ...]:
        if not self.spec.unreduced:
            return ()
        return tuple([name for name, size in self.mesh.shape_tuple if name in self.spec.unreduced and size > 1])

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The mesh axes that divide no axis of an array."""
        return frozenset(self.mesh.axis_names) - set(self.spec.axes)

    def tiles(self, ndim: int) -> tuple[int, ...]:
        return tuple(self.mesh.size_along(self.spec.along(i)) for i in range(ndim))

    def places(self, ndim: int) -> np.ndarray[Any, Any]:
        coordinates = dict(
            zip(
                self.mesh.axis_names,
                np.indices(self.mesh.devices.shape).reshape(len(self.mesh.axis_names), -1),
                strict=True,
            )
        )
        sizes = self.mesh.shape
        places = np.zeros((self.mesh.size, ndim), np.int64)
        for i in range(ndim):
            for name in self.spec.along(i):
                places[:, i] = places[:, i] * sizes[name] + coordinates[name]
        return places

    def _first_along(self, names: Sequence[Any]) -> frozenset[Any]:
        """The devices with the first index along each of these axes."""
        first = tuple([0 if name in names else slice(None) for name in self.mesh.axis_names])
        return frozenset(np.atleast_1d(self.mesh.devices[first]).flat)

    def check_shape(self, shape: tuple[int, ...], what: str = "") -> None:
        about = f"{what}: " if what else ""
        if len(self.spec) > len(shape):
            raise ValueError(
                f"{about}the sharding {self.spec} needs arrays of at least {len(self.spec)} axes, got shape "
                f"{shape}; remove the entries beyond them"
            )
        for i, size in enumerate(shape):
            tiles = self.mesh.size_along(self.spec.along(i))
            if size % tiles:
                names = ", ".join(f"{name!r} of size {self.mesh.shape[name]}" for name in self.spec.along(i))
                raise ValueError(
                    f"{about}axis {i} of shape {shape} must be a multiple of {tiles} to be divided along the mesh axes "
                    f"{names}, got {size}; pad it, or leave it undivided, with None there in {self.spec}"
                )

    def check_compatible_aval(self, aval_shape: Any) -> None:
        """Raise an error if a shape has too few axes."""
        if len(self.spec) > len(aval_shape):
            self.check_shape(tuple(aval_shape))

    def update(self, *, mesh: Any = None, spec: Any = None, memory_kind: Any = None) -> NamedSharding:
        """A sharding with another mesh or specification."""
        return NamedSharding(
            self.mesh if mesh is None else mesh, self.spec if spec is None else spec, memory_kind=memory_kind
        )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """This sharding; other kinds of memory raise an error."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r})"

    def __reduce__(self) -> Any:
        return pickled("primax.sharding:NamedSharding", self.mesh, self.spec)


class AbstractSharding(NamedSharding):
    """A sharding along axes of a mesh without devices: it determines how arrays are divided, but not their devices."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    mesh: Any
    memory_kind = None

    def _begin(self, mesh: Any, spec: PartitionSpec) -> None:
        self.mesh = mesh
        self.spec = spec
        self.explicit = bool(mesh.explicit_axes)
        # jaxlib's class aborts the process if its devices are read before they are set.
        GSPMDSharding.__init__(self, DeviceList(tuple(devices()[:1])), _jaxlib.xla_client.HloSharding.replicate())

    def _refusal(self, name: str) -> ValueError:
        return ValueError(f"NamedSharding.{name}: mesh must have devices, got {self.mesh!r}")

    @property
    def device_set(self) -> frozenset[Any]:  # type: ignore[override]
        raise self._refusal("device_set")

    @property
    def _ordered_devices(self) -> tuple[Any, ...]:  # type: ignore[override]
        raise self._refusal("devices")

    @property
    def num_devices(self) -> int:
        return int(self.mesh.size)

    @property
    def is_fully_addressable(self) -> bool:
        raise self._refusal("is_fully_addressable")

    @property
    def addressable_devices(self) -> frozenset[Any]:
        raise self._refusal("addressable_devices")

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        return self is other

    def with_devices(self, function: str) -> NamedSharding:
        """The sharding along the mesh in scope.

        Raises:
          ValueError: no mesh with such axes and devices is in scope.
        """
        scope = current_scope()
        mesh = None if scope is None else scope.mesh
        if mesh is None or mesh.shape_tuple != self.mesh.shape_tuple:
            raise ValueError(
                f"{function}: a sharding over a mesh without devices needs a mesh with devices and the same axes in "
                f"scope, got {self.mesh!r}; set one with primax.set_mesh"
            )
        return NamedSharding(mesh, self.spec)


def placed(aval: Any, sharding: Any) -> Any:
    """The type of an array with a given sharding."""
    explicit = type(sharding) is NamedSharding and sharding.explicit and isinstance(aval, ShapedArray)
    if not explicit and getattr(aval, "placement", None) is None:
        return aval
    return aval.update(sharding=sharding if explicit else None)


def _coordinates(mesh: Mesh | AbstractMesh) -> Mapping[Any, np.ndarray[Any, Any]]:
    """For each axis of a mesh the index of each device along it."""
    places = np.indices(mesh.axis_sizes).reshape(len(mesh.axis_names), -1)
    return dict(zip(mesh.axis_names, places, strict=True))


def check_spec(function: str, mesh: Any, spec: PartitionSpec) -> None:
    """Raise an error if a specification does not fit a mesh.

    Raises:
      ValueError: the specification names an axis that the mesh does not have, or an axis twice, or has a pending sum
        that types cannot record.
    """
    known = mesh.axis_names
    pending = spec.unreduced | spec.reduced
    if not pending and len(set(spec.axes).intersection(known)) == len(spec.axes):
        return
    seen: set[Any] = set()
    for name in (*spec.axes, *sorted(pending, key=repr)):
        if name not in known:
            raise ValueError(f"{function}: spec names the axis {name!r}, which {mesh!r} does not have; it has {known}")
        if name in seen:
            raise ValueError(
                f"{function}: spec must name each axis of the mesh once, got {name!r} twice in {spec}; "
                "it can divide one axis of an array"
            )
        seen.add(name)
    untold = [name for name in sorted(pending, key=repr) if name not in mesh.explicit_axes]
    if untold:
        raise ValueError(
            f"{function}: unreduced and reduced must name mesh axes of type Explicit, got {spec} over {mesh!r}, "
            f"where {', '.join(map(repr, untold))} is not. Use {PartitionSpec(*spec.partitions)}; along axes of type "
            "Auto XLA chooses where to sum"
        )


def to_hlo(mesh: Mesh, spec: PartitionSpec, ndim: int) -> Any:
    """XLA's form of a sharding, for arrays with a given number of axes."""
    hlo_sharding = _jaxlib.xla_client.HloSharding
    kind = _jaxlib.xla_client.OpSharding.Type
    names = mesh.axis_names
    used = [name for i in range(ndim) for name in spec.along(i)]
    summed = [name for name in names if name in spec.unreduced]
    if mesh.size_along([*used, *summed]) == 1:
        return hlo_sharding.replicate()
    rest = [name for name in names if name not in used and name not in summed]
    tiles = [mesh.size_along(spec.along(i)) for i in range(ndim)]
    order = [names.index(name) for name in (*used, *summed, *rest)]
    further = [(mesh.size_along(summed), kind.UNREDUCED), (mesh.size_along(rest), kind.REPLICATED)]
    further = [(count, subgroup) for count, subgroup in further if count > 1]
    sizes = [*tiles, *(count for count, _ in further)]
    return hlo_sharding.iota_tile(sizes, list(mesh.axis_sizes), order, [subgroup for _, subgroup in further])


def named_from_hlo(given: Any, mesh: Mesh | AbstractMesh, ndim: int) -> NamedSharding | None:
    """The sharding over a mesh that equals a sharding of XLA; None if there is none."""
    if given.is_replicated() or mesh.size == 1:
        return NamedSharding(mesh, PartitionSpec())
    if not given.is_tiled():
        return None
    dimensions = list(given.tile_assignment_dimensions())
    order = np.array(given.tile_assignment_devices()).reshape(dimensions)
    place = np.zeros((mesh.size, len(dimensions)), np.int64)
    for index in np.ndindex(*dimensions):
        place[order[index]] = index
    coordinates = _coordinates(mesh)
    free = [name for name in mesh.axis_names if mesh.shape[name] > 1]
    parts: list[Any] = []
    for axis in range(ndim):
        names = _names_for(place[:, axis], dimensions[axis], free, coordinates, mesh.shape)
        if names is None:
            return None
        free = [name for name in free if name not in names]
        parts.append(names or None)
    while parts and parts[-1] is None:
        parts.pop()
    return NamedSharding(mesh, PartitionSpec(*parts))


def _names_for(
    place: np.ndarray[Any, Any], tiles: int, free: list[Any], coordinates: Mapping[Any, Any], sizes: Mapping[Any, int]
) -> tuple[Any, ...] | None:
    """The mesh axes whose coordinates enumerate the parts of an axis, from the coarsest to the finest."""
    if tiles == 1:
        return ()
    for name in free:
        size = sizes[name]
        if tiles % size == 0 and bool((place // (tiles // size) == coordinates[name]).all()):
            others = [other for other in free if other != name]
            rest = _names_for(place % (tiles // size), tiles // size, others, coordinates, sizes)
            if rest is not None:
                return (name, *rest)
    return None
