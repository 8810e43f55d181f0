"""Platforms: the available XLA clients, their devices, and the default device of computations.

The name of a platform is the one that its PJRT plugin gives to its client: `cpu`, `cuda`, `rocm`. `gpu` stands for both
`cuda` and `rocm`, and is what devices and clients of both show as their `platform`, as in jax.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from primax.core import _jaxlib, undo_log
from primax.core.arguments import check_function, integer
from primax.core.caller import warn_caller
from primax.core.errors import XlaError
from primax.interpreters.runtime import fork_guard
from primax.interpreters.runtime import options as config
from primax.interpreters.runtime.sharding import mesh

if TYPE_CHECKING:
    from primax.interpreters.runtime.devices import pjrt

_lock = threading.RLock()
_clients: dict[str, Any] = {}
_FAMILIES = {"gpu": ("cuda", "rocm")}


class Platform(NamedTuple):
    """A platform, and the way to create its client.

    Attributes:
      make_client: creates the client.
      priority: the default platform is the one with the highest.
    """

    make_client: Callable[[], Any]
    priority: int


class Joined:
    """The connection of this process with others.

    Attributes:
      runtime: the connection; None if the process is alone. Set by `primax.distributed.initialize`.
    """

    runtime: Any = None


joined = Joined()


def _make_cpu_client() -> Any:
    count = None if config.num_cpu_devices.value == -1 else config.num_cpu_devices.value
    if joined.runtime is not None:
        client = joined.runtime.make_cpu_client(count)
    else:
        client = _jaxlib.xla_client.make_cpu_client(num_devices=count)
    config.num_cpu_devices.frozen = "the host is first used"
    return client


platforms: dict[str, Platform] = {"cpu": Platform(_make_cpu_client, 0)}


def register_platform(name: str, make_client: Callable[[], Any], *, priority: int = 0) -> None:
    """Make an XLA platform available.

    Args:
      name: the platform name of its client, as in `devices(name)`.
      make_client: returns its client; called once, at the first request for one of its devices.
      priority: computations run on the platform of the highest priority whose client can be created, unless the
        variable `PRIMAX_PLATFORM` or one of the options `platforms` and `default_device` names another. The priority of
        `cpu` is 0; among equal priorities the first platform takes precedence.

    Raises:
      TypeError: an argument has the wrong type.
      ValueError: there is a platform of that name, or the name stands for several platforms.
    """
    if not isinstance(name, str):
        raise TypeError(f"register_platform: name must be a str, got {name!r}")
    check_function("register_platform", "make_client", make_client)
    priority = integer("register_platform", "priority", priority)
    if name in platforms:
        raise ValueError(f"register_platform: there is a platform {name!r} already")
    if name in _FAMILIES:
        raise ValueError(f"register_platform: {name!r} stands for {_FAMILIES[name]}; register one of these")
    undo_log.put(platforms, name, Platform(make_client, priority))
    _settled.clear()
    undo_log.note(_settled.clear)


def names_of(platform: str) -> list[str]:
    """The names under which rules for a platform are registered: its own name, then names for several platforms."""
    return [platform, *(family for family, members in _FAMILIES.items() if platform in members)]


@cache
def platform_of(device: Any) -> str:
    """The platform of a device."""
    return _jaxlib.platform_of(device.client)


@cache
def plugins() -> list[pjrt.Plugin]:
    """The PJRT plugins that are installed, or named in the environment."""
    return import_module("primax.interpreters.runtime.devices.pjrt").found_plugins()  # type: ignore[no-any-return]


def _discover() -> None:
    """Register the platforms of the plugins."""
    for plugin in plugins():
        if plugin.name not in platforms and (plugin.gpus is not None or not plugin.problem):
            platforms[plugin.name] = Platform(partial(_make_client, plugin), plugin.priority)


def _make_client(plugin: pjrt.Plugin) -> Any:
    return import_module("primax.interpreters.runtime.devices.pjrt").make_client(plugin, joined.runtime)


def _hint(name: str) -> str:
    """The reason why there is no platform with this name, for the end of a message."""
    problems = [f"; the plugin {p.source} cannot be used: {p.problem}" for p in plugins() if p.name == name]
    if name in ("gpu", *_FAMILIES["gpu"]) and not problems:
        problems = [f"; {import_module('primax.interpreters.runtime.devices.gpus').missing(name)}"]
    return "".join(problems) or "; `primax devices` shows more"


def _ranked() -> list[str]:
    """The names of the platforms, by descending priority."""
    _discover()
    return sorted(platforms, key=lambda name: -platforms[name].priority)


def known() -> list[str]:
    """The names of all platforms, by descending priority; some may turn out to be unusable."""
    return _ranked()


_settled: dict[str | None, str] = {}  # the default platform by the option `platforms`, after it was determined


def default_platform() -> str:
    """The default platform of computations."""
    listed = config.platforms.value
    platform = _settled.get(listed)
    if platform is None:
        platform = os.environ.get("PRIMAX_PLATFORM") or (listed or "").partition(",")[0].strip() or _first_available()
        _settled[listed] = platform
    return platform


def default_backend() -> str:
    """The kind of hardware that computations run on by default: `cpu`, `gpu` for all GPUs, or another platform.

    Examples:
      >>> import primax as px
      >>> px.default_backend() in ("cpu", "gpu", "tpu")
      True
    """
    return str(client().platform)


def _first_available() -> str:
    """The platform of the highest priority whose client can be created; warns about those that failed."""
    *preferred, last = _ranked()
    for name in preferred:
        try:
            client(name)
        except Exception as error:  # a client may raise any error if its hardware is absent
            warn_of(name, error)
        else:
            return name
    return last


def warn_of(name: str, error: Exception) -> None:
    """Warn that the client of a platform cannot be created."""
    warn_caller(f"platform {name!r} cannot be used: {error}. primax continues without it")


def client(platform: str | None = None) -> Any:
    """The XLA client of a platform, created at its first use."""
    if platform is not None and not isinstance(platform, str):
        raise TypeError(f"backend must be the name of a platform such as 'cpu', or None, got {platform!r}")
    name = str.__str__(platform) if platform else default_platform()  # an instance of a subclass may have no hash
    client = _clients.get(name)
    if client is None:
        with _lock:
            name = _member(name)
            client = _clients.get(name)
            if client is None:
                if name not in platforms:
                    raise XlaError(
                        f"Unknown backend: there is no platform {name!r}; there are {sorted(platforms)}{_hint(name)}"
                    )
                fork_guard.require_own_process()
                client = _clients[name] = platforms[name].make_client()
                fork_guard.note_threads()
    return client


def _member(name: str) -> str:
    """The platform for a name that may stand for several."""
    if name in platforms:
        return name
    return next((member for member in _ranked() if member in _FAMILIES.get(name, ())), name)


def made() -> list[str]:
    """The names of the platforms with devices in use."""
    return sorted(_clients)


def devices(backend: str | None = None) -> list[Any]:
    """All devices of a platform, or of the default platform, including those of other processes.

    Raises:
      XlaError: there is no such platform.
    """
    return list(client(backend).devices())


def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Any]:
    """The devices of a platform that belong to a process.

    Args:
      process_index: the index of the process; None for this one.
      backend: the name of the platform; None for the default one.

    Raises:
      ValueError: there is no such process.

    Examples:
      >>> import primax as px
      >>> px.local_devices() == px.devices()  # in one process
      True
    """
    of_platform = client(backend)
    if process_index is None:
        return list(of_platform.local_devices())
    number = integer("local_devices", "process_index", process_index)
    if number not in process_indices(backend):
        raise ValueError(f"local_devices: process_index must be one of {process_indices(backend)}, got {number}")
    return [device for device in of_platform.devices() if device.process_index == number]


def device_count(backend: str | None = None) -> int:
    """The number of devices of a platform, in all processes.

    Examples:
      >>> import primax as px
      >>> px.device_count("cpu") == len(px.devices("cpu"))
      True
    """
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of a platform in this process.

    Examples:
      >>> import primax as px
      >>> px.local_device_count() == px.device_count()  # in one process
      True
    """
    return len(local_devices(backend=backend))


def process_index(backend: str | None = None) -> int:
    """The index of this process; 0 if it is alone.

    Examples:
      >>> import primax as px
      >>> px.process_index()
      0
    """
    return int(client(backend).process_index())


def process_indices(backend: str | None = None) -> list[int]:
    """The indices of the processes that have devices of a platform.

    Examples:
      >>> import primax as px
      >>> px.process_indices() == list(range(px.process_count()))
      True
    """
    return sorted({int(device.process_index) for device in client(backend).devices()})


def process_count(backend: str | None = None) -> int:
    """The number of processes; 1 if this process is alone.

    Examples:
      >>> import primax as px
      >>> px.process_count()
      1
    """
    return max(process_indices(backend)) + 1


mesh.platforms.devices = devices

_first: dict[str, Any] = {}


def default_device() -> Any:
    """The device for uncommitted values and programs: that of the option `default_device`, or the first."""
    named = config.default_device.value
    if named is not None and not isinstance(named, str):
        return named
    name = named or default_platform()
    device = _first.get(name)
    if device is None:
        device = _first[name] = local_devices(backend=name)[0]
    return device
