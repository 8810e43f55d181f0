"""Values on devices: how they get there, where they are, and what becomes of them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from primax.core import _jaxlib, fork
from primax.core._jaxlib import ArrayImpl, DeviceList, GSPMDSharding
from primax.core.arguments import integer, naming
from primax.core.array import Array, Gone, constructor, deleted
from primax.core.avals import ShapedArray, ShapeDtypeStruct, get_aval, unwrap
from primax.core.diagnostics import of_call
from primax.core.dlpack import capsule_dtype, capsule_view
from primax.core.dtypes import float0
from primax.core.errors import XlaError
from primax.core.extended import ExtendedArray, physical
from primax.core.option import Guard
from primax.core.trace import Tracer, escaped
from primax.interpreters.platforms import client, default_device, devices, local_devices, platform_of, platforms

__all__ = ["choose_device", "compile_options", "device_of", "put_value", "sharding_of"]

_HostBuffer = _jaxlib.HostBufferSemantics
_ALIGNMENT = 64  # of host memory that XLA can use as it is


def _collect_garbage(phase: str, info: Any) -> None:
    """Drop the Python objects that XLA's threads have let go of: host arrays that were copied, for example."""
    _jaxlib.collect_garbage()


gc.callbacks.append(_collect_garbage)


def compile_options(device: Any, overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    """The options to compile for one device with.

    Args:
      device: the device.
      overrides: options of XLA by name, such as `("xla_backend_optimization_level", 0)`.
    """
    number = integer("compile_options", "the id of device", device.id)
    options = _jaxlib.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = _jaxlib.xla_client.DeviceAssignment.create(np.array([[number]], np.int32))
    build = options.executable_build_options
    build.use_spmd_partitioning = True
    build.use_shardy_partitioner = True
    if overrides:
        options.env_option_overrides = [(str(name), value) for name, value in overrides]
    return options


_WIDE = {
    "int2": ("i2", "i8"),
    "int4": ("i4", "i8"),
    "uint2": ("ui2", "ui8"),
    "uint4": ("ui4", "ui8"),
    "float4_e2m1fn": ("f4E2M1FN", "f32"),
}
_WIDE_DTYPES = {"i8": np.dtype(np.int8), "ui8": np.dtype(np.uint8), "f32": np.dtype(np.float32)}
_widening: dict[Any, Any] = {}


def _widen(b: Any) -> Any:
    """A buffer of whole bytes per element with the value of one that packs its elements."""
    (device,) = b._sharding._internal_device_list
    aval = b.aval
    found = _widening.get((device, aval.shape, aval.dtype))
    if found is None:
        narrow, wide = _WIDE[aval.dtype.name]
        dims = "".join(f"{size}x" for size in aval.shape)
        text = f"""func.func public @main(%x: tensor<{dims}{narrow}>) -> tensor<{dims}{wide}> {{
            %y = stablehlo.convert %x : (tensor<{dims}{narrow}>) -> tensor<{dims}{wide}>
            return %y : tensor<{dims}{wide}>
        }}"""
        handler = _jaxlib.array_result_handler(
            ShapedArray(aval.shape, _WIDE_DTYPES[wide]),
            sharding_of(device),
            committed=False,
        )
        program = device.client.compile_and_load(text, DeviceList((device,)), compile_options(device))
        found = _widening[device, aval.shape, aval.dtype] = program, handler
    program, handler = found
    return program.execute_sharded([b]).consume_with_handlers([handler])[0]


class SingleDeviceSharding(GSPMDSharding):  # type: ignore[misc]
    """Everything on one device. There is one object per device, so that comparing them costs nothing."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __init__(self, device: Any) -> None:
        self._replicated = _jaxlib.xla_client.HloSharding.replicate()
        super().__init__(DeviceList((device,)), self._replicated)
        self.device_set = frozenset((device,))
        self.platform = platform_of(device)

    def _to_xla_hlo_sharding(self, ndim: int) -> Any:
        return self._replicated

    @property
    def memory_kind(self) -> Any:
        """The memory of the device; None for its default."""
        return self._memory_kind

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def is_fully_addressable(self) -> bool:
        return bool(self._internal_device_list.is_fully_addressable)

    @property
    def addressable_devices(self) -> frozenset[Any]:
        return self.device_set if self.is_fully_addressable else frozenset()

    def __repr__(self) -> str:
        (device,) = self.device_set
        return f"SingleDeviceSharding(device={device!r})"

    def __reduce__(self) -> Any:
        (device,) = self.device_set
        return _sharding_of_id, (platform_of(device), device.id)


def _sharding_of_id(platform: str, number: int) -> Any:
    return sharding_of(next(device for device in devices(platform) if device.id == number))


_lock = threading.RLock()
_shardings: dict[Any, SingleDeviceSharding] = {}


def sharding_of(device: Any) -> SingleDeviceSharding:
    """The sharding that places everything on one device; one object per device."""
    try:
        found = _shardings.get(device)
    except TypeError:
        found = None
    if found is None:
        if not isinstance(device, _jaxlib.Device):
            raise TypeError(f"device must be one of primax.devices(), got {device!r}{of_call()}")
        with _lock:
            found = _shardings.get(device)
            if found is None:
                found = _shardings[device] = SingleDeviceSharding(device)
    return found


def device_of(x: Any, function: str) -> Any:
    """The device that is meant by a device, a sharding over one device, or None.

    Raises:
      TypeError: it is none of these; the message names `function`.
    """
    if x is None or isinstance(x, _jaxlib.Device):
        return x
    if isinstance(x, SingleDeviceSharding):
        (device,) = x.device_set
        return device
    raise TypeError(f"{function}: device must be one of primax.devices(), the sharding of an array, or None, got {x!r}")


def on_host(x: Any) -> np.ndarray[Any, Any]:
    """The value of an argument of a program that is none of primax's arrays."""
    if isinstance(x, ShapeDtypeStruct):
        raise TypeError(f"{x!r} has no value; functions that compute need an array, eval_shape does not{of_call()}")
    return np.asarray(x)


_no_guard = nullcontext()


def asked_transfer(kind: str) -> Any:
    """A `with` block whose transfers a user has asked for: guards take them for explicit.

    Args:
      kind: `put` for those to devices, `get` for those from devices.
    """
    return _asked_transfer(f"explicit_device_{kind}") if Guard.used else _no_guard


@contextmanager
def _asked_transfer(attribute: str) -> Iterator[None]:
    state = _jaxlib.guard_lib.thread_local_state()
    before = getattr(state, attribute)
    setattr(state, attribute, True)
    try:
        yield
    finally:
        setattr(state, attribute, before)


def put_host(
    x: np.ndarray[Any, Any], aval: Any, device: Any = None, committed: bool = False, lent: bool = False
) -> Any:
    """A device buffer with the value of a host array, which is copied unless it is lent for good."""
    fork.require_own_process()
    if device is None:
        device = default_device()
    if aval.dtype == float0:
        x, aval = np.zeros(x.shape, np.bool_), aval.update(dtype=np.dtype(np.bool_))
    if x.dtype != aval.dtype:
        with np.errstate(over="ignore"):
            x = x.astype(aval.dtype)
    semantics = _HostBuffer.ZERO_COPY if lent else _HostBuffer.IMMUTABLE_ONLY_DURING_CALL
    b = _jaxlib.batched_device_put(
        aval, sharding_of(device), [x], [device], committed, host_buffer_semantics=semantics, enable_x64=True
    )
    b.is_computed = True
    return b


def as_array(x: Any) -> Any:
    """A buffer as an array; anything else as it is."""
    return Array(x) if type(x) is ArrayImpl or type(x) is Gone else x


def to_buffer(x: Any, device: Any) -> Any:
    """The value of any argument of a program, as a buffer on `device`.

    Raises:
      DeletedArrayError: it has none any more.
      UnexpectedTracerError: it is a tracer whose transformation has ended.
    """
    if type(x) is Array:
        b = x._b
        if b.is_deleted():
            raise deleted(b)
        if b._sharding is sharding_of(device):
            return b
        return move(b, device, b._committed)
    if isinstance(x, Tracer):
        raise escaped(x)
    if type(x) is ExtendedArray:
        return to_buffer(x.base, device)
    array = unwrap(x)
    return put_host(on_host(x), get_aval(x), device) if array is x else to_buffer(array, device)


def move(b: Any, device: Any, committed: bool, copy: bool = False) -> Any:
    """A buffer's value on another device (or the same, committed, or another buffer there).

    Raises:
      DeletedArrayError: it has no value any more.
    """
    if b.is_deleted():
        raise deleted(b)  # jaxlib would crash
    fork.require_own_process()
    semantics = _jaxlib.ArrayCopySemantics.ALWAYS_COPY if copy else _jaxlib.ArrayCopySemantics.REUSE_INPUT
    target = sharding_of(device)
    (moved,) = _jaxlib.batched_copy_array_to_devices_with_sharding(
        [b], [target._internal_device_list], [target], [semantics]
    )
    return ArrayImpl(b.aval, target, [moved], committed=committed, _skip_checks=True)


def choose_device(args: Sequence[Any]) -> Any:
    """The device that a computation on these arguments runs on.

    Raises:
      ValueError: arguments are committed to different devices.
    """
    chosen = None
    for x in map(physical, args):
        if type(x) is Array and x._b._committed:
            (device, *_) = x._b._sharding._internal_device_list
            if chosen is None:
                chosen = device
            elif chosen is not device and chosen != device:
                raise ValueError(
                    f"arguments are committed to different devices, {chosen} and {device}; "
                    "bring them together with device_put"
                )
    return default_device() if chosen is None else chosen


def put_value(x: Any, weak_type: bool = False, device: Any = None) -> Any:
    """A host value as an array; committed if a device is named."""
    if type(x) is Array:
        if device is None:
            return x
        return Array(move(x._b, device, True))
    if type(x) is ExtendedArray:
        return ExtendedArray(put_value(x.base, device=device), x.dtype)
    array = unwrap(x)
    if array is not x:
        return put_value(array, weak_type, device)
    aval = get_aval(x)
    if aval.weak_type is not weak_type:
        aval = ShapedArray(aval.shape, aval.dtype, bool(weak_type))
    return Array(put_host(on_host(x), aval, device, device is not None))


def _put_as_is(x: np.ndarray[Any, Any], weak_type: bool) -> Array:
    """A host value as an array of exactly its dtype, whatever `enable_x64` says."""
    return Array(put_host(x, ShapedArray(x.shape, x.dtype, weak_type)))


def _copy(x: Array) -> Array:
    (device,) = x.devices()
    return Array(move(x._b, device, x._b._committed, copy=True))


constructor.put = _put_as_is
constructor.copy = _copy
constructor.widen = _widen


def release(x: Any, name: str, passed: Any = None) -> None:
    """Take note of an argument that its buffer was donated to a program, if the program has taken it.

    Args:
      x: the argument.
      name: of the program.
      passed: what was passed in its place, if anything was.
    """
    x, passed = physical(x), physical(x if passed is None else passed)
    if type(x) is Array and type(x._b) is not Gone and passed._b.is_deleted():
        x._b = Gone(x._b, f"was donated to {name} (donate_argnums)")


def is_constant(x: Any) -> bool:
    """Whether a compiled program holds the buffer of an array as a constant."""
    x = physical(x)
    return type(x) is Array and hasattr(x._b, "is_constant")


def spare(x: Any, constant: bool = False) -> Any:
    """What to donate for an array, so that programs keep the constants they hold: a copy, if it is one."""
    if not constant and not is_constant(x):
        return x
    return ExtendedArray(_copy(x.base), x.dtype) if type(x) is ExtendedArray else _copy(x)


def refuse_buffers(error: Exception, name: str, leaves: Sequence[Any]) -> None:
    """Raise a clear error where XLA refused a call because of what became of the buffers of its arguments.

    Raises:
      DeletedArrayError: one of them was donated, perhaps by another thread in this moment.
      ValueError: one of them is donated and used otherwise in this call.
    """
    text = str(error)
    if not isinstance(error, XlaError) and not text.startswith("INVALID_ARGUMENT"):
        return
    for x in map(physical, leaves):
        if type(x) is Array:
            x._alive()
    if "the same call to Execute()" in text:
        raise ValueError(
            f"{name}: an array that is donated (donate_argnums) must not be another argument of the same call, or "
            "closed over; pass a copy"
        ) from None


_DLPACK_HOST = 1


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> Array:
    """An array of the value of another library's, through DLPack.

    Args:
      x: an array with `__dlpack__` and `__dlpack_device__`.
      device: where the result goes; None leaves it where it is.
      copy: True never shares memory; None and False share it where the device allows, so that `x` must not be
        written to as long as the result lives; False refuses where memory must be copied.

    Raises:
      TypeError: `x` does not speak DLPack, or has elements that primax has no dtype for.
      ValueError: `copy` is False and the memory cannot be shared.
      BufferError: `x` is on a device that primax does not know.
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack: x must have __dlpack__ and __dlpack_device__, got {type(x).__name__}")
    if type(x) is Array:
        made = _copy(x) if copy else x
    else:
        try:
            kind, number = x.__dlpack_device__()
        except (TypeError, ValueError) as error:
            raise TypeError(f"from_dlpack: x.__dlpack_device__() must give a pair of integers: {error}") from None
        with naming("from_dlpack"):
            made = _from_host(x, copy) if int(kind) == _DLPACK_HOST else _from_accelerator(x, int(kind), number)
    if device is None or device_of(device, "from_dlpack") in made.devices():
        return made
    if copy is False:
        raise ValueError(f"from_dlpack: copy is False, but the array must be copied to {device}")
    return Array(move(made._b, device, True))


def _host_view(x: Any) -> Any:
    """A NumPy array of the memory of an array of another library."""
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:
        if type(x) is np.ndarray and not x.flags.writeable:  # NumPy 2.0 does not export it
            return x
        capsule = x.__dlpack__()
    return capsule_view(capsule)


def _from_host(x: Any, copy: bool | None) -> Array:
    host = _host_view(x)
    aval = get_aval(host)
    shared = (
        host.flags.c_contiguous
        and host.size > 0
        and host.ctypes.data % _ALIGNMENT == 0
        and host.dtype == aval.dtype  # not so where enable_x64 is off and the elements are of 64 bits
    )
    if copy is False and not shared:
        raise ValueError(
            "from_dlpack: copy is False, but memory can be shared only if it is contiguous, aligned to "
            f"{_ALIGNMENT} bytes and of an enabled dtype, got {host.dtype} with strides {host.strides}"
        )
    return Array(put_host(host, aval, client("cpu").local_devices()[0], lent=shared and not copy))


def _from_accelerator(x: Any, kind: int, number: int) -> Array:
    platform = {2: "cuda", 10: "rocm"}.get(kind)
    if platform is None or platform not in platforms:
        raise BufferError(f"from_dlpack: x is on a device of DLPack's kind {kind}, and there are {sorted(platforms)}")
    device = next(d for d in local_devices(platform) if d.local_hardware_id == number)
    capsule = x.__dlpack__()
    aval = ShapedArray(tuple(x.shape), capsule_dtype(capsule))
    b = _jaxlib.dlpack_managed_tensor_to_buffer(capsule, device, None)
    return Array(ArrayImpl(aval, sharding_of(device), [b], committed=False, _skip_checks=True))
