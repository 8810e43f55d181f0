"""Devices and compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core._jaxlib import Device
from primax.extend import examples
from primax.extend.clients import Client, Program, get_backend
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.arguments import read_size
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.device_put import compile_options
from primax.interpreters.runtime.devices import backends as _platforms
from primax.interpreters.runtime.devices.backends import default_device as get_default_device
from primax.interpreters.runtime.devices.backends import devices, platform_of, register_platform
from primax.interpreters.runtime.eval import clear_caches as clear_in_memory_compilation_cache
from primax.interpreters.runtime.pipeline import Lowered, Target, compile, executable_for, lower
from primax.interpreters.runtime.sharding.device_assignment import choose_device, choose_devices

__all__ = [
    "Client",
    "Device",
    "Lowered",
    "Program",
    "Target",
    "backend_xla_version",
    "backends",
    "choose_device",
    "choose_devices",
    "clear_in_memory_compilation_cache",
    "compile",
    "devices",
    "executable_for",
    "get_backend",
    "get_compile_options",
    "get_default_device",
    "host_value",
    "lower",
    "platform_of",
    "register_backend_factory",
    "register_platform",
]
__dir__ = __all__.copy
examples.attach()
explain_absent(__name__)


def host_value(x: Array) -> np.ndarray[Any, Any]:
    """A read-only view of an array in host memory, without a copy if the device allows it.

    Args:
      x: an array; the call waits until it is computed.

    Raises:
      DeletedArrayError: it was deleted or donated.
      XlaError: its computation failed.

    >>> import primax as px
    >>> from primax.extend import backend
    >>> backend.host_value(px.numpy.arange(3)).flags.writeable
    False
    """
    return x._host()


def backends() -> dict[str, Any]:
    """The XLA clients of all usable platforms, by name; missing clients are created.

    Examples:
      >>> from primax.extend import backend
      >>> "cpu" in backend.backends(), "tpu" in backend.backends()
      (True, False)
    """
    clients: dict[str, Any] = {}
    for name in _platforms.platforms:
        try:
            clients[name] = get_backend(name)
        except Exception as error:  # a client may fail in any way where its hardware is absent
            _platforms.warn_of(name, error)
    return clients


def backend_xla_version(platform: str | None = None) -> int | None:
    """The version of XLA that a platform reports; None if it reports none.

    Examples:
      >>> from primax.extend import backend
      >>> type(backend.backend_xla_version("cpu")) in (int, type(None))
      True
    """
    return getattr(_platforms.client(platform), "xla_version", None)


def register_backend_factory(
    name: str, factory: Callable[[], Any], *, priority: int = 0, fail_quietly: bool = True, experimental: bool = False
) -> None:
    """`register_platform` under JAX's name.

    Args:
      name: the platform name of its client.
      factory: returns the client.
      priority: computations run on the platform of the highest priority.
      fail_quietly: must be True: if a client cannot be made, there is a warning and no error.
      experimental: not used.

    Raises:
      TypeError, ValueError: as `register_platform` does.

    Examples:
      >>> from primax.extend import backend
      >>> backend.register_backend_factory("cpu", lambda: None)
      Traceback (most recent call last):
          ...
      ValueError: register_platform: there is a platform 'cpu' already
    """
    if not fail_quietly:
        raise ValueError("register_backend_factory: fail_quietly must be True, got False")
    register_platform(name, factory, priority=priority)


def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: dict[str, Any] | None = None,
) -> Any:
    """The options to compile a program with, for jaxlib's clients.

    Args:
      num_replicas: the number of copies of the program that run.
      num_partitions: the number of parts of each copy.
      device_assignment: the ids of the devices, one for each part of each copy; by default the first ones.
      env_options_overrides: options of XLA by name.

    Examples:
      >>> from primax.extend import backend
      >>> options = backend.get_compile_options(1, 2, [[1, 0]])
      >>> options.num_partitions, options.device_assignment.replica_count()
      (2, 1)
    """
    num_replicas = read_size("get_compile_options", "num_replicas", num_replicas, 2**31 - 1)
    num_partitions = read_size("get_compile_options", "num_partitions", num_partitions, 2**31 - 1)
    options = compile_options([get_default_device()], tuple((env_options_overrides or {}).items()))
    options.num_replicas, options.num_partitions = num_replicas, num_partitions
    if device_assignment is None:
        ids = np.arange(num_replicas * num_partitions)
    else:
        ids = np.asarray(device_assignment)
    grid = ids.reshape(num_replicas, num_partitions).astype(np.int32)
    options.device_assignment = _jaxlib.xla_client.DeviceAssignment.create(grid)
    return options
