"""The parts of the Python array API standard that concern arrays and their namespace."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from primax.extend import backend, dtypes
from primax.extend.core import Array
from primax.extend.provisional.arguments import among
from primax.numpy.kinds import isdtype
from primax.plugins.devices import device_put

__all__ = ["ARRAY_API_VERSION", "ArrayNamespaceInfo", "array_namespace", "array_namespace_info", "to_device"]

ARRAY_API_VERSION = "2024.12"

_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"  # there is no float16
).split()


def array_namespace(x: Any, /, *, api_version: str | None = None) -> ModuleType:
    """The module with the functions for an array, which is `primax.numpy`.

    Args:
      x: an array.
      api_version: the requested version of the standard; None for the supported one.

    Raises:
      ValueError: another version is requested.
    """
    if api_version is not None and not among(api_version, (ARRAY_API_VERSION,)):
        raise ValueError(f"__array_namespace__: api_version must be {ARRAY_API_VERSION!r} or None, got {api_version!r}")
    # `primax.numpy` imports this module, and is always imported when there are arrays.
    return sys.modules["primax"].numpy


def to_device(x: Any, device: Any, /, *, stream: Any = None) -> Array:
    """Copy an array to a device.

    Args:
      x: an array.
      device: a device or a sharding.
      stream: None, since primax has no streams.

    Raises:
      TypeError: `device` is neither a device nor a sharding.
      ValueError: `stream` is not None.
    """
    if stream is not None:
        raise ValueError(f"to_device: stream must be None, got {stream!r}")
    return device_put(x, device)


class ArrayNamespaceInfo:
    """Information about `primax.numpy`: its capabilities, devices and dtypes."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """The optional parts of the standard, and whether they are supported; shapes never depend on data."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: new arrays are uncommitted on the default device, and computations may move them."""

    def devices(self) -> list[Any]:
        """The devices, and None."""
        return [None, *backend.devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The default dtypes of functions.

        Args:
          device: ignored; the dtypes are the same on all devices.
        """
        return {
            "real floating": dtypes.default_float_dtype(),
            "complex floating": dtypes.default_complex_dtype(),
            "integral": dtypes.default_int_dtype(),
            "indexing": dtypes.default_int_dtype(),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The dtypes of the standard, by name; those of 64 bits with `enable_x64` only.

        Args:
          device: ignored; the dtypes are the same on all devices.
          kind: the kind of dtypes, see `isdtype`; all if None.

        Raises:
          ValueError: `kind` is unknown.
        """
        available = {name: np.dtype(name) for name in _NAMES if dtypes.canonicalize_dtype(name) == name}
        return {name: dtype for name, dtype in available.items() if kind is None or isdtype(dtype, kind)}


def array_namespace_info() -> ArrayNamespaceInfo:
    """The capabilities, devices and dtypes of `primax.numpy`.

    >>> import primax as px
    >>> sorted(px.numpy.__array_namespace_info__().dtypes(kind="signed integer"))
    ['int16', 'int32', 'int8']
    """
    return ArrayNamespaceInfo()
