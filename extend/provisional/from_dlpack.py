"""Import of other libraries' arrays through DLPack and the CUDA array interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core._jaxlib import ArrayImpl
from primax.core.arguments import naming
from primax.core.avals import ShapedArray, get_aval
from primax.core.diagnostics import shorten
from primax.core.errors import XlaError
from primax.extend.provisional.mesh_context import canonical_sharding
from primax.extend.provisional.typing import DeviceLike
from primax.interpreters.runtime.array import Array, constructor
from primax.interpreters.runtime.device_put import ALIGNMENT, move, put_host
from primax.interpreters.runtime.devices.backends import client, known, local_devices, platforms, plugins
from primax.interpreters.runtime.dlpack import capsule_dtype, capsule_view
from primax.interpreters.runtime.sharding.shardings import sharding_of

__all__ = ["from_cuda_array_interface", "from_dlpack"]

_DLPACK_HOST = 1


def from_dlpack(external_array: object, device: DeviceLike | None = None, copy: bool | None = None) -> Array:
    """An array with the value of another library's array, through DLPack.

    Args:
      external_array: an array with `__dlpack__` and `__dlpack_device__`.
      device: the device of the result; by default that of the array.
      copy: True never shares memory. None and False share it where the device allows; the array must then not be
        written to while the result is in use. False raises an error if memory must be copied.

    Raises:
      TypeError: the array does not support DLPack, or its dtype does not exist in primax; `copy` is not a bool.
      ValueError: `copy` is False and the memory cannot be shared.
      BufferError: the array is on a device that primax does not support.
    """
    if not isinstance(copy, bool | np.bool_ | None):
        raise TypeError(f"from_dlpack: copy must be a bool or None, got {copy!r}")
    x = external_array
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack: x must have __dlpack__ and __dlpack_device__, got {type(x).__name__}")
    if type(x) is Array:
        array = constructor.copy(x) if copy else x
    else:
        try:
            kind, number = x.__dlpack_device__()
        except (TypeError, ValueError) as error:
            raise TypeError(f"from_dlpack: x.__dlpack_device__() must give a pair of integers: {error}") from None
        with naming("from_dlpack"):
            array = _from_host(x, copy) if int(kind) == _DLPACK_HOST else _from_accelerator(x, int(kind), number)
    sharding = canonical_sharding("from_dlpack", "device", device)
    if sharding is None or sharding is array.sharding:
        return array
    if copy is False:
        raise ValueError(f"from_dlpack: copy is False, but the array must be copied to {device}")
    return Array(move(array._b, sharding, True))


def _host_view(x: Any) -> Any:
    """A NumPy array of the memory of an array of another library."""
    try:
        capsule = x.__dlpack__(max_version=(1, 0))
    except TypeError:
        if type(x) is np.ndarray and not x.flags.writeable:  # NumPy 2.0 does not export read-only arrays
            return x
        capsule = x.__dlpack__()
    return capsule_view(capsule)


def _from_host(x: Any, copy: bool | None) -> Array:
    host = _host_view(x)
    aval = get_aval(host)
    shared = (
        host.flags.c_contiguous
        and host.size > 0
        and host.ctypes.data % ALIGNMENT == 0
        and host.dtype == aval.dtype  # different if enable_x64 is off and the elements have 64 bits
    )
    if copy is False and not shared:
        raise ValueError(
            "from_dlpack: copy is False, but memory can be shared only if it is contiguous, aligned to "
            f"{ALIGNMENT} bytes and of an enabled dtype, got {host.dtype} with strides {host.strides}"
        )
    return Array(put_host(host, aval, sharding_of(client("cpu").local_devices()[0]), lent=shared and not copy))


def _from_accelerator(x: Any, kind: int, number: int) -> Array:
    platform = {2: "cuda", 10: "rocm"}.get(kind)
    if platform is None or platform not in platforms:
        raise BufferError(
            f"from_dlpack: x must be on one of the platforms {sorted(platforms)}, got a device of DLPack's type {kind}"
        )
    device = next(d for d in local_devices(backend=platform) if d.local_hardware_id == number)
    try:
        stream = device.get_stream_for_external_ready_events()
    except XlaError as error:
        if "UNIMPLEMENTED" not in str(error):
            raise
        stream = None
    capsule = x.__dlpack__(stream=stream)  # the other library lets this stream wait for the value
    aval = ShapedArray(tuple(x.shape), capsule_dtype(capsule))
    return _of_buffer(_jaxlib.dlpack_managed_tensor_to_buffer(capsule, device, stream), aval, device)


def from_cuda_array_interface(x: Any) -> Array | np.ndarray[Any, Any]:
    """An array that shares the memory of an array on a GPU, by DLPack or else by the CUDA array interface.

    Without a platform for GPUs of NVIDIA's, this is the NumPy array that `x.__array__` copies from the GPU.

    Args:
      x: an array of another library with `__cuda_array_interface__`.

    Raises:
      TypeError: its interface is not a mapping with a shape, a type and an address.
      XlaError: there is no platform for it, and it has no `__array__`.
    """
    if "cuda" not in known() and hasattr(x, "__array__"):
        return np.asarray(x)
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return from_dlpack(x)
    interface = x.__cuda_array_interface__
    try:
        aval = ShapedArray(tuple(interface["shape"]), np.dtype(interface["typestr"]))
        address, _ = interface["data"]
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise TypeError(
            "__cuda_array_interface__ must be a mapping with 'shape', 'typestr' and 'data', an address and a flag, got "
            f"{shorten(interface)} ({type(error).__name__}: {error})"
        ) from None
    of_cuda = client("cuda")
    family = next(plugin.gpus for plugin in plugins() if plugin.name == "cuda" and plugin.gpus is not None)
    number = family.extension().get_device_ordinal(address)
    device = next(d for d in of_cuda.local_devices() if d.local_hardware_id == number)
    return _of_buffer(_jaxlib.cuda_array_interface_to_buffer(interface, of_cuda, device.id), aval, device)


def _of_buffer(b: Any, aval: ShapedArray, device: Any) -> Array:
    return Array(ArrayImpl(aval, sharding_of(device), [b], committed=False, _skip_checks=True))
