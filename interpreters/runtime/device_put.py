"""Values on devices: transfers and placement."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core._jaxlib import ArrayImpl, DeviceList
from primax.core.arguments import integer
from primax.core.avals import ShapedArray, ShapeDtypeStruct, get_aval, unwrap
from primax.core.cache import Cache
from primax.core.diagnostics import of_call
from primax.core.dtypes import float0
from primax.core.errors import XlaError
from primax.core.host_values import maker
from primax.core.trace import Tracer, escaped
from primax.core.trace_state import tracing
from primax.interpreters.runtime import fork_guard
from primax.interpreters.runtime.array import Array, DeletedBuffer, constructor, deleted_error
from primax.interpreters.runtime.devices.backends import default_device, joined, platform_of
from primax.interpreters.runtime.extended_array import ExtendedArray
from primax.interpreters.runtime.options import Guard
from primax.interpreters.runtime.sharding.mesh import PartitionSpec
from primax.interpreters.runtime.sharding.shardings import devices_of, on_one_device, placed, sharding_of
from primax.interpreters.staging import host_scalars, remember_memory

_HostBuffer = _jaxlib.HostBufferSemantics
ALIGNMENT = 64  # of host memory that XLA can use without a copy
_SIZE_TO_SEND_DIRECTLY = 1 << 20  # bytes: less is copied on the host, so that the caller need not wait
_SIZE_TO_CHECK = 1 << 30  # bytes: more may be too much


def _collect_garbage(phase: str, info: Any) -> None:
    """Drop the Python objects that XLA's threads have released, for example host arrays that were copied."""
    _jaxlib.collect_garbage()


gc.callbacks.append(_collect_garbage)


def compile_options(devices: Sequence[Any], overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    """The options to compile with.

    Args:
      devices: one device, or several, each of which runs one part.
      overrides: options of XLA by name, such as `("xla_backend_optimization_level", 0)`; `optimization_level` and
        `memory_fitting_level` are from "O0" to "O3".

    Raises:
      ValueError: one of these two levels has another value.
    """
    options = _jaxlib.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = len(devices)
    options.device_assignment = _device_assignment(tuple(devices))
    build = options.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    if platform_of(devices[0]) == "cuda":
        folder = import_module("primax.interpreters.runtime.devices.gpus").cuda_folder()
        if folder is not None:
            build.debug_options.xla_gpu_cuda_data_dir = folder
    others = []
    for name, value in overrides:
        if name in _LEVEL_OPTIONS:
            setattr(build, name, _level(name, value))
        else:
            others.append((str(name), value))
    if others:
        options.env_option_overrides = others
    return options


@lru_cache(64)
def _device_assignment(devices: tuple[Any, ...]) -> Any:
    """The assignment of the parts of a program to devices."""
    numbers = [integer("compile_options", "the id of device", device.id) for device in devices]
    return _jaxlib.xla_client.DeviceAssignment.create(np.array([numbers], np.int32))


# The effort of the compiler; XLA accepts these two options only apart from the others.
_LEVEL_OPTIONS = ("memory_fitting_level", "optimization_level")
_LEVELS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}


def _level(name: str, value: Any) -> int:
    """The number of a level, by its name or its number."""
    number = _LEVELS.get(value) if isinstance(value, str) else value
    if not isinstance(number, int) or isinstance(number, bool) or number not in _LEVELS.values():
        raise ValueError(f"compiler_options: {name} must be one of {list(_LEVELS)}, got {value!r}")
    return int(number)


_WIDE = {
    "int2": ("i2", "i8"),
    "int4": ("i4", "i8"),
    "uint2": ("ui2", "ui8"),
    "uint4": ("ui4", "ui8"),
    "float4_e2m1fn": ("f4E2M1FN", "f32"),
}
_WIDE_DTYPES = {"i8": np.dtype(np.int8), "ui8": np.dtype(np.uint8), "f32": np.dtype(np.float32)}
_widening = Cache(1024)


def _widen(b: Any) -> Any:
    """A buffer of packed elements on one device, converted to whole bytes per element."""
    (device,) = devices_of(b._sharding)
    aval = b.aval
    program, handler = _widening.get_or_make((device, aval.shape, aval.dtype), lambda: _program_to_widen(device, aval))
    return program.execute_sharded([b]).consume_with_handlers([handler])[0]


def _program_to_widen(device: Any, aval: ShapedArray) -> tuple[Any, Any]:
    narrow, wide = _WIDE[aval.dtype.name]
    dims = "".join(f"{size}x" for size in aval.shape)
    text = f"""func.func public @main(%x: tensor<{dims}{narrow}>) -> tensor<{dims}{wide}> {{
        %y = stablehlo.convert %x : (tensor<{dims}{narrow}>) -> tensor<{dims}{wide}>
        return %y : tensor<{dims}{wide}>
    }}"""
    handler = _jaxlib.array_result_handler(
        ShapedArray(aval.shape, _WIDE_DTYPES[wide]), sharding_of(device), committed=False
    )
    return device.client.compile_and_load(text, DeviceList((device,)), compile_options([device])), handler


def on_host(x: Any) -> np.ndarray[Any, Any]:
    """The host value of an argument that is not a primax array."""
    if isinstance(x, ShapeDtypeStruct):
        raise TypeError(f"{x!r} is a type without a value; pass an array, or use eval_shape{of_call()}")
    array = np.asarray(unwrap(x))
    if array.dtype.hasobject:
        remedy = "make its class a pytree of arrays with tree_util.register_pytree_node, or give it __jax_array__"
        raise TypeError(f"a {type(x).__name__} cannot be stored on a device: {remedy}{of_call()}")
    return array


_no_guard = nullcontext()


def explicit_transfer(kind: str) -> Any:
    """A `with` block whose transfers are explicit for transfer guards.

    Args:
      kind: `put` for transfers to devices, `get` for transfers from devices.
    """
    return _explicit_transfer(f"explicit_device_{kind}") if Guard.used else _no_guard


@contextmanager
def _explicit_transfer(attribute: str) -> Iterator[None]:
    state = _jaxlib.guard_lib.thread_local_state()
    before = getattr(state, attribute)
    setattr(state, attribute, True)
    try:
        yield
    finally:
        setattr(state, attribute, before)


def put_host(
    x: np.ndarray[Any, Any], aval: Any, sharding: Any = None, committed: bool = False, lent: bool = False
) -> Any:
    """A device buffer with the value of a host array; the array is copied unless it is `lent` to the buffer."""
    if fork_guard.forked.value:
        fork_guard.require_own_process()
    if sharding is None:
        sharding = sharding_of(default_device())
    if aval.dtype == float0:
        x, aval = np.zeros(x.shape, np.bool_), aval.update(dtype=np.dtype(np.bool_))
    if x.dtype != aval.dtype:
        with np.errstate(over="ignore"):
            x = x.astype(aval.dtype)
    if on_one_device(sharding):
        pieces, targets = [x], list(devices_of(sharding))
    else:
        pieces, targets, lent = _pieces(x, sharding)
        committed = True
    semantics = _HostBuffer.ZERO_COPY if lent else _HostBuffer.IMMUTABLE_ONLY_DURING_CALL
    directly = x.nbytes >= _SIZE_TO_SEND_DIRECTLY and sharding.platform != "cpu"
    if x.nbytes >= _SIZE_TO_CHECK:
        _require_room(pieces, targets)
    if directly:  # XLA would copy it on the host first
        semantics = _HostBuffer.IMMUTABLE_UNTIL_TRANSFER_COMPLETES
    b = _jaxlib.batched_device_put(
        placed(aval, sharding), sharding, pieces, targets, committed, host_buffer_semantics=semantics, enable_x64=True
    )
    if directly:
        fork_guard.await_buffer(b)
    b.is_computed = True
    return b


def _require_room(pieces: Sequence[Any], devices: Sequence[Any]) -> None:
    """Raise an error if a host array is larger than the memory of its device.

    A host array that repeats its elements needs less memory than a copy. A host that grants more memory than it has
    would end the process during the copy.

    Raises:
      XlaError: the memory is too small.
    """
    for x, device in zip(pieces, devices, strict=True):
        limit = (device.memory_stats() or {}).get("bytes_limit", 0) or _memory_of_host()
        _require_bytes(x.nbytes, limit, str(device))


def _require_bytes(size: int, limit: int, where: str) -> None:
    if size > limit:
        raise XlaError(
            f"RESOURCE_EXHAUSTED: an array of {size:,} bytes does not fit into the memory of {where}, which has "
            f"{limit:,} bytes for arrays"
        )


@cache
def _memory_of_host() -> int:
    """The bytes of memory of this machine; no limit if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def _pieces(x: np.ndarray[Any, Any], sharding: Any) -> tuple[list[Any], list[Any], bool]:
    """The parts of a host array for the devices of this process, the devices, and whether the parts are copies.

    jaxlib cannot copy one part to several devices. Parts for several devices are therefore copied here, and lent.
    """
    parts = sharding.addressable_devices_indices_map(x.shape)
    if sharding._summands:  # the first device along each axis has the value, the others zero
        first = sharding._first_along(sharding._summands)
        parts_of_first = [np.array(x[part], order="C") * (device in first) for device, part in parts.items()]
        return parts_of_first, list(parts), True
    if prod(sharding.tiles(x.ndim)) == sharding.num_devices:
        if 0 in x.strides:  # jaxlib cannot split an array that repeats its elements
            x = np.array(x, order="C")
        return [x[part] for part in parts.values()], list(parts), False
    copies: dict[Any, np.ndarray[Any, Any]] = {}
    pieces = []
    for part in parts.values():
        key = tuple([(axis.start, axis.stop) for axis in part])
        if key not in copies:
            copies[key] = np.array(x[part], order="C")
        pieces.append(copies[key])
    return pieces, list(parts), True


def parts_of(b: Any) -> list[Any]:
    """The buffers of an array's parts on the devices of this process, in the order of the devices."""
    if b.is_deleted():
        raise deleted_error(b)
    if fork_guard.forked.value:
        fork_guard.require_own_process()
    if on_one_device(b._sharding):
        return [b]
    aval = b.aval
    local = aval.update(shape=b._sharding.shard_shape(aval.shape), sharding=None) if aval.shape else aval
    addressable = b._sharding.addressable_devices
    targets = [device for device in devices_of(b._sharding) if device in addressable]
    return [
        ArrayImpl(local, sharding_of(device), [part], committed=True, _skip_checks=True)
        for device, part in zip(targets, b._arrays, strict=True)
    ]


def of_parts(aval: Any, sharding: Any, parts: Sequence[Array]) -> Array:
    """An array from its parts on the devices of this process, in the order of the devices."""
    for x in parts:
        x._require_alive()
    buffers = [x._b for x in parts]
    return Array(ArrayImpl(placed(aval, sharding), sharding, buffers, committed=True, _skip_checks=True))


def _gather(b: Any) -> np.ndarray[Any, Any]:
    """The value of an array on several devices, in host memory.

    Raises:
      XlaError: parts of the array are on devices of other processes.
      ValueError: the array is unreduced.
    """
    sharding = b._sharding
    if sharding._summands:
        raise ValueError(
            f"an array of type {b.aval.str_short()} is unreduced along "
            f"{', '.join(map(repr, sharding._summands))}, so no device has its value: sum it with "
            "primax.reshard(x, primax.P()), or read the summands from x.addressable_shards"
        )
    if not sharding.is_fully_addressable and not sharding.is_fully_replicated:
        raise XlaError(
            f"an array of type {b.aval.str_short()} over devices of other processes cannot be read here; read its "
            "addressable_shards, or gather it with primax.multihost.process_allgather"
        )
    hosts = [Array(part)._host() for part in (parts_of(b)[:1] if sharding.is_fully_replicated else parts_of(b))]
    if sharding.is_fully_replicated:
        return hosts[0]
    value = np.empty(b.aval.shape, b.aval.dtype)
    for index, host in zip(sharding.addressable_devices_indices_map(value.shape).values(), hosts, strict=True):
        value[index] = host
    value.flags.writeable = False
    return value


def as_array(x: Any) -> Any:
    """A buffer as an array; other values unchanged."""
    return Array(x) if type(x) is ArrayImpl or type(x) is DeletedBuffer else x


def to_buffer(x: Any, sharding: Any) -> Any:
    """The value of any argument of a program, as a buffer with a given sharding.

    Raises:
      DeletedArrayError: the argument was deleted or donated.
      UnexpectedTracerError: the argument is a tracer whose transformation has ended.
    """
    if type(x) is Array:
        b = x._b
        if b.is_deleted():
            raise deleted_error(b)
        if b._sharding is sharding:
            return b
        return move(b, sharding, b._committed)
    if isinstance(x, Tracer):
        raise escaped(x)
    if type(x) is ExtendedArray:
        return to_buffer(x.base, sharding)
    array = unwrap(x)
    return put_host(on_host(x), get_aval(x), sharding) if array is x else to_buffer(array, sharding)


def move(b: Any, target: Any, committed: bool, copy: bool = False) -> Any:
    """Move a buffer's value to other devices or another sharding. The target may be the present one, to commit or copy.

    Raises:
      DeletedArrayError: the buffer was deleted or donated.
      ValueError: the target cannot divide the shape, or the present or the target sharding has summands.
    """
    if b.is_deleted():
        raise deleted_error(b)  # jaxlib would crash
    if fork_guard.forked.value:
        fork_guard.require_own_process()
    source, aval = b._sharding, b.aval
    alone = on_one_device(target)
    if not (alone and on_one_device(source)):
        target.check_shape(aval.shape, "device_put")
        if source is target and not copy:
            return b
        if source is not target and (source._summands or target._summands):
            raise ValueError(
                f"device_put: an array of type {aval.str_short()} over {source} cannot be moved to {target}, since one "
                "of them holds summands; primax.reshard brings it there"
            )
        if not _has_same_parts(source, target, len(aval.shape)) or _crosses_processes(source, target):
            return _reshard(b, source, target)
        if not alone and target.num_devices > 1:
            addressable = [device for device in devices_of(target) if device in target.addressable_devices]
            pairs = zip(parts_of(b), addressable, strict=True)
            return of_parts(aval, target, [Array(move(x, sharding_of(d), True, copy=True)) for x, d in pairs])._b
    semantics = _jaxlib.ArrayCopySemantics.ALWAYS_COPY if copy else _jaxlib.ArrayCopySemantics.REUSE_INPUT
    (moved,) = _jaxlib.batched_copy_array_to_devices_with_sharding(
        [b], [target._internal_device_list], [target], [semantics]
    )
    return ArrayImpl(placed(aval, target), target, [moved], committed=committed or not alone, _skip_checks=True)


def _has_same_parts(one: Any, other: Any, ndim: int) -> bool:
    """Whether corresponding parts of two shardings are the same, possibly on different devices."""
    return (
        len(devices_of(one)) == len(devices_of(other))
        and one.tiles(ndim) == other.tiles(ndim)
        and bool((one.places(ndim) == other.places(ndim)).all())
    )


def _crosses_processes(source: Any, target: Any) -> bool:
    """Whether any part would move from a device of one process to a device of another."""
    if source.is_fully_addressable and target.is_fully_addressable:
        return False
    pairs = zip(devices_of(source), devices_of(target), strict=True)
    return any(one.process_index != other.process_index for one, other in pairs)


def _reshard(b: Any, source: Any, target: Any) -> Any:
    """A buffer's value in another sharding: by a program if the devices are the same, otherwise through the host."""
    if devices_of(source) == devices_of(target):
        return resharding.program(b.aval, source, target, b)
    if on_one_device(source) and target.is_fully_replicated and target.is_fully_addressable:
        copies = [Array(move(b, sharding_of(device), True, copy=True)) for device in devices_of(target)]
        return of_parts(b.aval, target, copies)._b
    if not source.is_fully_addressable and not source.is_fully_replicated and not on_one_device(target):
        b = resharding.program(b.aval, source, source.update(spec=PartitionSpec()), b)
    return put_host(Array(b)._host(), b.aval, target, True)


class _Resharding:
    """Functions that the module of compilation sets.

    Attributes:
      program: `(aval, source, target, buffer) -> buffer` in another sharding over the same devices.
    """

    program: Callable[[Any, Any, Any, Any], Any]


resharding = _Resharding()


def full_on_host(shape: tuple[int, ...], value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A NumPy array of equal elements, in memory that XLA can use without a copy.

    Raises:
      XlaError: the memory of the host is too small.
      ValueError: the array has more bytes than NumPy can count.
    """
    size = prod(shape) * dtype.itemsize
    if size <= sys.maxsize - ALIGNMENT:  # else NumPy refuses it
        _require_bytes(size, _memory_of_host(), "the host")
    zero = not any(value.tobytes())  # -0.0 has a bit that is set
    memory = (np.zeros if zero else np.empty)(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    array = memory[start : start + size].view(dtype)
    if not zero:
        array.fill(value)
    return array.reshape(shape)


def put_value(x: Any, weak_type: bool = False, device: Any = None, lent: bool = False) -> Any:
    """A host value as an array; it is committed if `device` is a device or a sharding.

    If a NumPy array is `lent`, the array may share its memory, which nobody may write to any more.
    """
    sharding = device if device is None or isinstance(device, _jaxlib.Sharding) else sharding_of(device)
    if joined.runtime is not None and sharding is not None:
        _require_own(sharding)
    if type(x) is Array:
        if sharding is None:
            return x
        return Array(move(x._b, sharding, True))
    if type(x) is ExtendedArray:
        if sharding is not None:
            sharding.check_shape(x.shape, "device_put")
        return ExtendedArray(put_value(x.base, device=sharding), x.dtype)
    array = unwrap(x)
    if array is not x:
        return put_value(array, weak_type, device)
    aval = get_aval(x)
    if aval.weak_type is not weak_type:
        aval = ShapedArray(aval.shape, aval.dtype, bool(weak_type))
    if sharding is not None:
        sharding.check_shape(aval.shape, "device_put")
    return _array_of_host_value(put_host(on_host(x), aval, sharding, sharding is not None, lent), aval)


def _array_of_host_value(buffer: Any, aval: ShapedArray) -> Array:
    """An array of a value on the host, which the program that is being traced may hold as a literal."""
    array = Array(buffer)
    if tracing and not aval.shape:
        remember_memory(array, None)
    return array


def _require_own(sharding: Any) -> None:
    """Raise an error for a sharding on a device of another process.

    Raises:
      ValueError: the sharding is on a single device of another process.
    """
    if on_one_device(sharding) and not sharding.is_fully_addressable:
        raise ValueError(
            "device_put: device must be one of primax.local_devices(), or a sharding over several, got "
            f"{devices_of(sharding)[0]} of process {devices_of(sharding)[0].process_index}"
        )


def _put_each(x: np.ndarray[Any, Any], aval: ShapedArray) -> list[Array]:
    """The elements along the first axis of a host array, each as an array of a given type, which has the same dtype."""
    if fork_guard.forked.value:
        fork_guard.require_own_process()
    sharding = sharding_of(default_device())
    targets, semantics = list(devices_of(sharding)), _HostBuffer.IMMUTABLE_ONLY_DURING_CALL
    arrays = []
    for i in range(len(x)):
        b = _jaxlib.batched_device_put(
            aval, sharding, [x[i, ...]], targets, False, host_buffer_semantics=semantics, enable_x64=True
        )
        b.is_computed = True
        arrays.append(Array(b))
    return arrays


def _put_as_is(x: np.ndarray[Any, Any], weak_type: bool) -> Array:
    """A host value as an array of exactly its dtype, independent of `enable_x64`."""
    aval = ShapedArray(x.shape, x.dtype, weak_type)
    return _array_of_host_value(put_host(x, aval), aval)


def copy_of(x: Array) -> Array:
    """An array with its own buffer, in the same place."""
    return Array(move(x._b, x._b._sharding, x._b._committed, copy=True))


host_scalars[Array] = lambda x: x._host()[()]
maker.put = _put_as_is
maker.put_each = _put_each
constructor.copy = copy_of
constructor.widen = _widen
constructor.gather = _gather
constructor.parts = parts_of
