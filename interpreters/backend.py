"""Devices: the XLA clients behind them, and how host values get there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core._jaxlib import ArrayImpl, DeviceList, GSPMDSharding
from primax.core.array import Array, constructor
from primax.core.avals import ShapedArray, get_aval
from primax.core.errors import XlaError
from primax.core.trace import Tracer, escaped

__all__ = ["client", "default_device", "device_count", "devices", "platforms", "register_platform", "sharding_of"]

_lock = threading.RLock()
_clients: dict[str, Any] = {}


def _make_cpu_client() -> Any:
    count = os.environ.get("PRIMAX_NUM_CPU_DEVICES", "1")
    if not count.isdigit() or int(count) < 1:
        raise ValueError(f"PRIMAX_NUM_CPU_DEVICES must be a positive integer, got {count!r}")
    return _jaxlib.xla_client.make_cpu_client(num_devices=int(count))


platforms: dict[str, Callable[[], Any]] = {"cpu": _make_cpu_client}


def register_platform(name: str, make_client: Callable[[], Any]) -> None:
    """Make an XLA platform available.

    Args:
      name: as in `devices(name)`.
      make_client: returns its client; called once, when a device of it is first asked for.

    Raises:
      ValueError: there is a platform of that name.
    """
    if name in platforms:
        raise ValueError(f"register_platform: there is a platform {name!r} already")
    platforms[name] = make_client


def default_platform() -> str:
    """The platform that computations run on when nothing else is said."""
    return os.environ.get("PRIMAX_PLATFORM", "cpu")


def client(platform: str | None = None) -> Any:
    """The XLA client of a platform, made on first use."""
    name = platform or default_platform()
    found = _clients.get(name)
    if found is None:
        with _lock:
            found = _clients.get(name)
            if found is None:
                if name not in platforms:
                    raise XlaError(f"there is no platform {name!r}; there are {sorted(platforms)}")
                found = _clients[name] = platforms[name]()
    return found


def devices(platform: str | None = None) -> list[Any]:
    """All devices of a platform (the default one if none is named).

    Raises:
      XlaError: there is no such platform.
    """
    return list(client(platform).devices())


def local_devices(platform: str | None = None) -> list[Any]:
    """The devices of a platform that belong to this process."""
    return list(client(platform).local_devices())


def device_count(platform: str | None = None) -> int:
    """How many devices a platform has."""
    return len(devices(platform))


_default: list[Any] = []


def default_device() -> Any:
    """The device for values and programs that are not committed to another."""
    if not _default:
        _default.append(local_devices()[0])
    return _default[0]


_shardings: dict[Any, Any] = {}


def sharding_of(device: Any) -> Any:
    """The sharding that places everything on one device; one object per device."""
    found = _shardings.get(device)
    if found is None:
        with _lock:
            found = _shardings.get(device)
            if found is None:
                replicate = _jaxlib.xla_client.HloSharding.replicate()
                found = _shardings[device] = GSPMDSharding(DeviceList((device,)), replicate)
    return found


def put_host(x: np.ndarray[Any, Any], aval: Any, device: Any = None, committed: bool = False) -> Any:
    """A device buffer with the value of a host array, which is copied."""
    if device is None:
        device = default_device()
    if x.dtype != aval.dtype:
        x = x.astype(aval.dtype)
    return _jaxlib.batched_device_put(aval, sharding_of(device), [x], [device], committed, enable_x64=True)


def to_buffer(x: Any, device: Any) -> Any:
    """The value of any argument of a program, as a buffer on `device`."""
    if type(x) is Array:
        b = x._b
        if b._sharding is sharding_of(device):
            return b
        return move(b, device, b._committed)
    if isinstance(x, Tracer):
        raise escaped(x)
    if isinstance(x, ArrayImpl):
        return x
    return put_host(np.asarray(x), get_aval(x), device)


def move(b: Any, device: Any, committed: bool) -> Any:
    """A buffer's value on another device (or the same, committed)."""
    semantics = _jaxlib.ArrayCopySemantics.REUSE_INPUT
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
    for x in args:
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


def put_value(x: Any, weak_type: bool = False, device: Any = None) -> Array:
    """A host value as an array; committed if a device is named."""
    if type(x) is Array:
        if device is None:
            return x
        return Array(move(x._b, device, True))
    aval = get_aval(x)
    if aval.weak_type is not weak_type:
        aval = ShapedArray(aval.shape, aval.dtype, weak_type)
    return Array(put_host(np.asarray(x), aval, device, device is not None))


constructor.put = put_value
