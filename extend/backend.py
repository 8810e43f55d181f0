"""Devices and compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core._jaxlib import Device
from primax.core.arguments import read_size
from primax.core.config import refuses_nonfinite
from primax.extend.clients import Client, Program, get_backend
from primax.interpreters.linear_trace import is_staged
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.compile import (
    Executable,
    Unnamed,
    compile_lowered,
    effects_barrier,
    executable_for,
    hlo_computation,
    hlo_cost_analysis,
    hlo_text,
    load_executable,
    lower,
    module_text,
    optimized_text,
    wait_for_effect,
)
from primax.interpreters.runtime.device_put import (
    as_array,
    asked_transfer,
    compile_options,
    full_on_host,
    of_parts,
    on_host,
    parts_of,
    put_value,
)
from primax.interpreters.runtime.devices import backends as _platforms
from primax.interpreters.runtime.devices.backends import (
    client,
    default_device,
    device_count,
    devices,
    local_devices,
    names_of,
    platform_of,
    process_count,
    process_index,
    register_platform,
)
from primax.interpreters.runtime.devices.backends import default_device as get_default_device
from primax.interpreters.runtime.dispatch import SeemingPjitFunction, fast_front, fast_function, fast_path
from primax.interpreters.runtime.donation import (
    Donation,
    copy_if_shared,
    donation_lock,
    explain_buffer_error,
    has_shared_buffer,
    is_copy_needed,
    mark_donated,
    shared,
)
from primax.interpreters.runtime.eval import clear_caches as clear_in_memory_compilation_cache
from primax.interpreters.runtime.eval import first_call, leaves_tree
from primax.interpreters.runtime.from_dlpack import from_cuda_array_interface, from_dlpack
from primax.interpreters.runtime.sharding.device_assignment import Site, choose_device, choose_site, one_device
from primax.interpreters.runtime.sharding.shardings import sharding_of

__all__ = [
    "Client",
    "Device",
    "Donation",
    "Executable",
    "Program",
    "SeemingPjitFunction",
    "Site",
    "Unnamed",
    "as_array",
    "asked_transfer",
    "backend_xla_version",
    "backends",
    "choose_device",
    "choose_site",
    "clear_in_memory_compilation_cache",
    "client",
    "compile_lowered",
    "copy_if_shared",
    "default_device",
    "device_count",
    "devices",
    "donation_lock",
    "effects_barrier",
    "executable_for",
    "explain_buffer_error",
    "fast_front",
    "fast_function",
    "fast_path",
    "first_call",
    "from_cuda_array_interface",
    "from_dlpack",
    "full_on_host",
    "get_backend",
    "get_compile_options",
    "get_default_device",
    "has_shared_buffer",
    "hlo_computation",
    "hlo_cost_analysis",
    "hlo_text",
    "host_value",
    "is_copy_needed",
    "is_staged",
    "leaves_tree",
    "load_executable",
    "local_devices",
    "lower",
    "mark_donated",
    "module_text",
    "names_of",
    "of_parts",
    "on_host",
    "one_device",
    "optimized_text",
    "parts_of",
    "platform_of",
    "process_count",
    "process_index",
    "put_value",
    "refuses_nonfinite",
    "register_backend_factory",
    "register_platform",
    "sharding_of",
    "shared",
    "wait_for_effect",
]


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
    """The XLA clients of all usable platforms, by name; missing clients are created."""
    found: dict[str, Any] = {}
    for name in _platforms.platforms:
        try:
            found[name] = get_backend(name)
        except Exception as error:  # a client may fail in any way where its hardware is absent
            _platforms.warn_of(name, error)
    return found


def backend_xla_version(platform: str | None = None) -> int | None:
    """The version of XLA that a platform reports; None if it reports none."""
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


def __dir__() -> list[str]:
    return sorted(__all__)
