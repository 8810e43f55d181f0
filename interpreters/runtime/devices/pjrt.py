"""PJRT plugins: libraries with XLA for other hardware, found and loaded without importing jax.

A distribution offers a plugin by an entry point in group `jax_plugins`, or by a module of the namespace package of that
name. Such a module imports jax, to register the plugin there. Therefore primax does not import it, but searches its
folder for the library. `PJRT_NAMES_AND_LIBRARY_PATHS=name:path,...` names libraries without a module.
"""

from __future__ import annotations

import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from primax.core import _jaxlib
from primax.core.errors import XlaError
from primax.interpreters.runtime.devices import gpus
from primax.interpreters.runtime.distributions import offers_in

GROUP = "jax_plugins"
VARIABLE = "PJRT_NAMES_AND_LIBRARY_PATHS"
PRIORITY, PRIORITY_OF_GPUS = 400, 500
_LIBRARY = re.compile(r"\.(so|dylib|dll)$")
_LIKELY = re.compile(r"pjrt|plugin", re.IGNORECASE)


class Plugin(NamedTuple):
    """A plugin that was found.

    Attributes:
      name: the name of the platform.
      source: its origin, for messages.
      version: the version of its distribution; empty if there is none.
      library: the file; empty if there is none.
      gpus: the family of its hardware; None for other hardware.
      problem: the reason why it cannot be used, as far as it is known before loading; empty if there is none.
    """

    name: str
    source: str
    version: str = ""
    library: str = ""
    gpus: gpus.Family | None = None
    problem: str = ""

    @property
    def release(self) -> int:
        """The release of the vendor's software; the newest release has precedence."""
        return 0 if self.gpus is None else self.gpus.release

    @property
    def priority(self) -> int:
        """The priority of its platform."""
        return PRIORITY if self.gpus is None else PRIORITY_OF_GPUS


def found_plugins() -> list[Plugin]:
    """All plugins that are installed or named in the environment.

    Unusable plugins come last. Of several plugins for one platform the first is used; the others get a `problem`.
    """
    plugins = sorted([*_named(), *_offered()], key=lambda plugin: (bool(plugin.problem), -plugin.release))
    taken: dict[str, Plugin] = {}
    for i, plugin in enumerate(plugins):
        first = taken.setdefault(plugin.name, plugin)
        if first is not plugin and not plugin.problem:
            plugins[i] = plugin._replace(problem=f"{first.source} already supplies platform {plugin.name!r}")
    return plugins


def _named() -> Iterator[Plugin]:
    """The plugins that the environment names."""
    for entry in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        name, colon, path = entry.partition(":")
        if not colon or not name or not path:
            yield Plugin(entry, VARIABLE, problem=f"{VARIABLE} must be of the form name:path,name:path, got {entry!r}")
        elif not os.path.isfile(path):
            yield Plugin(name, VARIABLE, library=path, problem=f"there is no file {path}, which {VARIABLE} names")
        else:
            yield Plugin(name, VARIABLE, library=path)


def _offered() -> Iterator[Plugin]:
    """The plugins that distributions offer, and then those in modules of the namespace package."""
    seen = set()
    for offer in offers_in(GROUP):
        module = offer.entry_point.partition(":")[0].strip()
        if module not in seen:
            seen.add(module)
            yield _plugin(offer.name, module, f"{module} of {offer.distribution} {offer.version}", offer.version)
    for info in pkgutil.iter_modules(_folders([GROUP])):
        module = f"{GROUP}.{info.name}"
        if module not in seen:
            yield _plugin(info.name, module, f"module {module}", "")


def _plugin(name: str, module: str, source: str, version: str) -> Plugin:
    """The plugin in a module."""
    family = gpus.family_of(module)
    if family is not None:
        name = family.platform
    folder = folder_of(module)
    if folder is None:
        return Plugin(name, source, version, "", family, f"there is no module {module}, which its entry point names")
    libraries = _files(folder, _LIBRARY)
    likely = [path for path in libraries if _LIKELY.search(os.path.basename(path))]
    libraries = likely if len(libraries) > 1 and likely else libraries
    if len(libraries) != 1:
        names = ", ".join(sorted(map(os.path.basename, libraries)))
        problem = (
            f"{f'its library may be any of {names}' if names else 'there is no library in its folder'}, and primax "
            f"does not run its module, which needs jax; name the file in {VARIABLE}={name}:PATH"
        )
        return Plugin(name, source, version, "", family, problem)
    problem = "" if family is None else family.check_versions(version)
    return Plugin(name, source, version, libraries[0], family, problem)


def folder_of(module: str) -> str | None:
    """The folder of a package or module; None if there is none. This does not import parent packages."""
    *around, last = module.split(".")
    for place in _folders(around):
        if os.path.isdir(os.path.join(place, last)):
            return os.path.join(place, last)
        if os.path.isfile(os.path.join(place, f"{last}.py")):
            return place
    return None


def _folders(packages: Sequence[str]) -> list[str]:
    """The folders on the path that may hold a nested package."""
    return [place for entry in sys.path if os.path.isdir(place := os.path.join(entry or os.curdir, *packages))]


def _files(folder: str, pattern: re.Pattern[str]) -> list[str]:
    """The files in a folder with names that match a pattern."""
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if pattern.search(name)]


def make_client(plugin: Plugin, runtime: Any) -> Any:
    """Load a plugin and create its client.

    Args:
      plugin: the plugin.
      runtime: the state of this process among others; None if it is alone.

    Raises:
      XlaError: the plugin cannot be used; the message gives the reason.
    """
    if plugin.problem:
        raise XlaError(f"the plugin for {plugin.name!r} ({plugin.source}) cannot be used: {plugin.problem}")
    client = _jaxlib.xla_client
    try:
        if plugin.gpus is not None:
            plugin.gpus.prepare()
        c_api = _load(plugin)
        if not client.pjrt_plugin_initialized(plugin.name):
            client.initialize_pjrt_plugin(plugin.name)
        if c_api is not None and plugin.gpus is not None:
            plugin.gpus.register(c_api)
        options = {} if plugin.gpus is None else plugin.gpus.options()
        return _started(plugin, options, runtime)
    except (XlaError, ValueError, TypeError, OSError, ImportError) as error:
        raise XlaError(f"the plugin for {plugin.name!r} ({plugin.source}) fails: {error}") from error


def _load(plugin: Plugin) -> Any:
    """The functions of the library, as a capsule; None if other code has loaded it, and jaxlib does not return it."""
    client = _jaxlib.xla_client
    if client.pjrt_plugin_loaded(plugin.name):
        return _jaxlib.get_pjrt_plugin(plugin.name)
    c_api = client.load_pjrt_plugin_dynamically(plugin.name, plugin.library)
    _jaxlib.profiler.register_plugin_profiler(c_api)
    return c_api


def _started(plugin: Plugin, options: dict[str, Any], runtime: Any) -> Any:
    make: Callable[..., Any] = _jaxlib.xla_client.make_c_api_client
    if runtime is None:
        return make(plugin.name, options, None)
    options = {**options, "node_id": runtime.process_index, "num_nodes": runtime.process_count}
    if runtime.local_device_ids is not None:
        options["visible_devices"] = list(runtime.local_device_ids)
    return runtime.waiting_for(
        lambda: make(plugin.name, options, runtime.client), f"the {plugin.name} devices of the other processes"
    )
