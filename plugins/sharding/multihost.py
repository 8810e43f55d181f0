"""Communication between processes: gathers, broadcasts and synchronization."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.core import tree
from primax.extend.provisional import runtime
from primax.extend.provisional.sharding import devices_of
from primax.extend.sharding import Mesh, NamedSharding, PartitionSpec
from primax.plugins.calls import jit
from primax.plugins.devices import device_put
from primax.plugins.sharding.arrays import make_array_from_single_device_arrays

_AXIS = "processes"


def _host_value(function: str, x: Any) -> np.ndarray[Any, Any]:
    """The value of an array in this process, in its dtype in primax."""
    aval = core.get_aval(x)
    if isinstance(x, core.ShapeDtypeStruct):
        raise TypeError(f"{function}: arrays must have values, got {x!r}")
    if not isinstance(aval.dtype, np.dtype):
        raise TypeError(f"{function}: arrays must be of numbers, got {aval.str_short()}; pass random.key_data of keys")
    return np.asarray(x, aval.dtype)


def _mesh() -> Mesh:
    """A mesh with one device of each process."""
    first: dict[int, Any] = {}
    for device in backend.devices():
        first.setdefault(device.process_index, device)
    grid = np.empty(len(first), object)
    grid[:] = [first[process] for process in sorted(first)]
    return Mesh(grid, (_AXIS,))


def _stacked(x: np.ndarray[Any, Any]) -> core.Array:
    """An array over all processes, with the part of each along a new first axis."""
    mesh = _mesh()
    part = runtime.put_value(x[None], False, mesh.local_devices[0])
    sharding = NamedSharding(mesh, PartitionSpec(_AXIS))
    return make_array_from_single_device_arrays((mesh.size, *x.shape), sharding, [part])


def _gathered(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The arrays of all processes, stacked along a new first axis."""
    return np.asarray(device_put(_stacked(x), NamedSharding(_mesh(), PartitionSpec())))


def _added(stacked: Any) -> Any:
    return stacked.sum(0, dtype=stacked.dtype)


def _digest(*leaves: Any) -> np.ndarray[Any, Any]:
    hashed = hashlib.sha256()
    for leaf in leaves:
        hashed.update(repr(leaf).encode() if not isinstance(leaf, bytes) else leaf)
    return np.frombuffer(hashed.digest(), np.uint8)


def _differing(digest: np.ndarray[Any, Any]) -> list[int]:
    """The processes whose digest differs from that of process 0."""
    all_digests = _gathered(digest)
    return [process for process, other in enumerate(all_digests) if (other != all_digests[0]).any()]


def sync_global_devices(name: str) -> None:
    """Wait until all processes have called this function.

    Args:
      name: the name of this place in the program, the same in all processes.

    Raises:
      AssertionError: another process has reached a place with another name.
      XlaError: another process is lost.
    """
    if not isinstance(name, str):
        raise TypeError(f"sync_global_devices: name must be a str, got {name!r}")
    if runtime.process_count() > 1:
        odd = _differing(_digest(name))
        if odd:
            raise AssertionError(
                f"sync_global_devices: name must be the same in all processes, got {name!r} in process "
                f"{runtime.process_index()}; {odd} and process 0 have different names"
            )


def broadcast_one_to_all(in_tree: object, is_source: bool | None = None) -> Any:
    """The arrays of one process, in all processes.

    Args:
      in_tree: arrays and numbers in any containers, of the same structure, shapes and dtypes in all processes.
      is_source: whether this process is the source; by default process 0 is.

    Returns:
      The same structure of NumPy arrays.

    Raises:
      XlaError: another process is lost, or its arrays have other types.
    """
    function = "broadcast_one_to_all"
    if is_source is None:
        is_source = runtime.process_index() == 0
    leaves, structure = tree.flatten(in_tree)
    values = [_host_value(function, leaf) for leaf in leaves]
    if runtime.process_count() == 1:
        return tree.unflatten(structure, values)
    add = jit(_added, out_shardings=NamedSharding(_mesh(), PartitionSpec()))
    outs = []
    for value in values:
        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)  # bytes, whose sum with zeros is exact
        whole = np.asarray(add(_stacked(data if is_source else np.zeros_like(data))))
        outs.append(whole.view(value.dtype).reshape(value.shape))
    return tree.unflatten(structure, outs)


def process_allgather(in_tree: object, tiled: bool = False) -> Any:
    """The arrays of all processes, in each process.

    Args:
      in_tree: arrays and numbers in any containers, of the same shapes in all processes; or arrays over the devices of
        several processes, whose whole value is returned.
      tiled: True concatenates the arrays along their first axis; False stacks them along a new first axis.

    Returns:
      The same structure of NumPy arrays.

    Raises:
      ValueError: `tiled` is False, and an array is over the devices of several processes.
      XlaError: another process is lost, or its arrays have other types.
    """
    leaves, structure = tree.flatten(in_tree)
    return tree.unflatten(structure, [_gather_leaf(leaf, tiled) for leaf in leaves])


def _gather_leaf(x: Any, tiled: bool) -> np.ndarray[Any, Any]:
    function = "process_allgather"
    if type(x) is core.Array and not x.is_fully_addressable:
        if not tiled:
            raise ValueError(
                f"{function}: tiled must be True for an array over the devices of several processes, which is a whole "
                f"already, got {x.aval.str_short()}"
            )
        mesh = getattr(x.sharding, "mesh", None) or Mesh(list(devices_of(x.sharding)), (_AXIS,))
        return np.asarray(device_put(x, NamedSharding(mesh, PartitionSpec())))
    value = _host_value(function, x)
    if runtime.process_count() == 1:
        return value if tiled and value.ndim else value[None]
    gathered = _gathered(value)
    return gathered.reshape(-1, *value.shape[1:]) if tiled and value.ndim else gathered


def assert_equal(in_tree: object, fail_message: str = "") -> None:
    """Check that all processes have equal arrays.

    Args:
      in_tree: arrays and numbers in any containers.
      fail_message: the beginning of the message.

    Raises:
      AssertionError: they differ from those of process 0; the message names the processes.
    """
    leaves, structure = tree.flatten(in_tree)
    values = [_host_value("assert_equal", leaf) for leaf in leaves]
    if runtime.process_count() == 1:
        return
    parts = [part for x in values for part in (x.dtype.name, x.shape, (x + np.zeros((), x.dtype)).tobytes())]
    odd = _differing(_digest(str(structure), *parts))
    if odd:
        raise AssertionError(
            f"{fail_message or 'assert_equal'}: in_tree must be the same in all processes, and those of {odd} have "
            f"others than process 0; process {runtime.process_index()} has {in_tree!r}"
        )


def _converted(function: str, inputs: Any, mesh: Any, specs: Any, convert: Callable[[Any, PartitionSpec], Any]) -> Any:
    """A function applied to each array of a tree and its specification."""
    if not isinstance(mesh, Mesh):
        raise TypeError(f"{function}: global_mesh must be a Mesh, got {mesh!r}")
    leaves, structure = tree.flatten(inputs)
    flat = [specs] * len(leaves) if isinstance(specs, PartitionSpec) else specs
    if flat is None:
        raise ValueError(f"{function}: pspecs must be PartitionSpecs, P() for replicated arrays, got None")
    if flat is specs:
        flat = tree.flatten_axes(f"{function} pspecs", structure, specs)
    for spec in flat:
        if not isinstance(spec, PartitionSpec):
            raise TypeError(f"{function}: pspecs must be PartitionSpecs, got {spec!r}")
    return tree.unflatten(structure, list(map(convert, leaves, flat)))


def host_local_array_to_global_array(local_inputs: object, global_mesh: Mesh, pspecs: object) -> Any:
    """Arrays over all processes, from the part of each process.

    Args:
      local_inputs: arrays in any containers: the joint parts of the devices of this process.
      global_mesh: a mesh in which the devices of each process form a rectangle.
      pspecs: the specifications of the arrays over the mesh; one, or a tree that is a prefix of `local_inputs`.

    Returns:
      The same structure. Arrays over several processes are unchanged.

    Raises:
      ValueError: a part cannot be divided in this way, or the devices form no rectangle.
    """
    function = "host_local_array_to_global_array"

    def convert(x: Any, spec: PartitionSpec) -> core.Array:
        if type(x) is core.Array and not x.is_fully_addressable:
            return x
        value = _host_value(function, x)
        local_mesh = global_mesh.local_mesh
        local = NamedSharding(local_mesh, spec)
        local.check_shape(value.shape, function)
        parts = [
            runtime.put_value(value[index], False, device)
            for device, index in local.devices_indices_map(value.shape).items()
        ]
        shape = [
            size // local_mesh.size_along(spec.along(i)) * global_mesh.size_along(spec.along(i))
            for i, size in enumerate(value.shape)
        ]
        return make_array_from_single_device_arrays(shape, NamedSharding(global_mesh, spec), parts)

    return _converted(function, local_inputs, global_mesh, pspecs, convert)


def global_array_to_host_local_array(global_inputs: object, global_mesh: Mesh, pspecs: object) -> Any:
    """The local parts, on the devices of this process, of arrays over all processes.

    Args:
      global_inputs: arrays in any containers.
      global_mesh: a mesh in which the devices of each process form a rectangle.
      pspecs: the required specifications over the mesh; one, or a tree that is a prefix of `global_inputs`.

    Returns:
      The same structure. Arrays on devices of this process alone are unchanged.

    Raises:
      ValueError: an array cannot be divided in this way, or the devices form no rectangle.
    """
    function = "global_array_to_host_local_array"

    def convert(x: Any, spec: PartitionSpec) -> core.Array:
        if type(x) is core.Array and x.is_fully_addressable:
            return x
        whole = device_put(x, NamedSharding(global_mesh, spec))
        local_mesh = global_mesh.local_mesh
        parts = [shard.data for shard in whole.addressable_shards]
        shape = [
            size // global_mesh.size_along(spec.along(i)) * local_mesh.size_along(spec.along(i))
            for i, size in enumerate(whole.shape)
        ]
        return make_array_from_single_device_arrays(shape, NamedSharding(local_mesh, spec), parts)

    return _converted(function, global_inputs, global_mesh, pspecs, convert)
