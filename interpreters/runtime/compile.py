"""Compilation of StableHLO modules by XLA, with an optional cache on disk, and their texts."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from primax.core import _jaxlib
from primax.core._jaxlib import DeviceList
from primax.core.errors import XlaError
from primax.interpreters.events import COMPILE, record_event, timed
from primax.interpreters.runtime import log
from primax.interpreters.runtime import options as config
from primax.interpreters.runtime.device_put import compile_options
from primax.interpreters.runtime.devices.backends import client
from primax.interpreters.runtime.executable import Executable
from primax.interpreters.runtime.sharding.device_assignment import DeviceAssignment
from primax.interpreters.runtime.stablehlo_module import StablehloModule


def compile_module(
    module: StablehloModule, site: DeviceAssignment, name: str, overrides: Sequence[tuple[str, Any]] = ()
) -> Any:
    """The XLA executable of a module: from the directory `compilation_cache_dir`, or newly compiled.

    Raises:
      XlaError: XLA cannot compile the program.
    """
    with timed(COMPILE, name):
        device = site.devices[0]
        options = compile_options(site.devices, [*module.options.items(), *overrides])
        if site.mesh is not None:
            options.executable_build_options.allow_spmd_sharding_propagation_to_output = [
                *[False] * len(module.ordered_effects),
                *(sharding is None for sharding in site.outs or (None,) * module.result_count),
            ]
        for prepare in module.before_compile:
            prepare(site.devices)
        folder = config.compilation_cache_dir.value
        if not folder or module.host_callbacks or module.parts or spans_processes(site):
            return _compile(module, options, site, name)
        disk_cache = import_module("primax.interpreters.runtime.compilation_cache")  # `import primax` saves 8 ms
        key = disk_cache.key_of(module, options, device)
        record_event("/jax/compilation_cache/compile_requests_use_cache")
        stored = disk_cache.read(folder, key)
        if stored is not None:
            try:
                xla = device.client.deserialize_executable(stored, DeviceList(site.devices), options)
            except (XlaError, TypeError, ValueError, RuntimeError) as error:
                disk_cache.discard(folder, key, f"XLA cannot load it: {error}")
            else:
                record_event("/jax/compilation_cache/cache_hits")
                _report("loaded %s for %s from the compilation cache", name, site)
                return xla
        record_event("/jax/compilation_cache/cache_misses")
        start = time.perf_counter()
        xla = _compile(module, options, site, name)
        if time.perf_counter() - start >= config.persistent_cache_min_compile_time_secs.value:
            disk_cache.write(folder, key, device.client.serialize_executable(xla))
        return xla


def spans_processes(site: DeviceAssignment) -> bool:
    """Whether some of the devices belong to other processes."""
    return site.mesh is not None and not site.mesh.device_list.is_fully_addressable


def _compile(module: StablehloModule, options: Any, site: DeviceAssignment, name: str) -> Any:
    start = time.perf_counter()
    over = _announce(f"{name} for {site}")
    try:
        with module.shared:
            xla = site.devices[0].client.compile_and_load(
                module.module, DeviceList(site.devices), options, host_callbacks=module.host_callbacks
            )
    except XlaError as error:
        for part in module.parts:
            if part.error is not None:
                raise part.error from None
        line = _suspect(module, str(error))
        raise XlaError(f"XLA could not compile {name} for {site}: {error}{line}") from None
    finally:
        over()
    _report("compiled %s for %s in %.3f s", name, site, time.perf_counter() - start)
    return xla


def _announce(what: str) -> Callable[[], None]:
    """Say on a terminal or in a notebook if a compilation takes long; the result is called at its end."""
    stderr: Any = sys.stderr
    seconds = config.slow_compile_secs.value
    if stderr is None or getattr(stderr, "closed", False) or not ("ipykernel" in sys.modules or _is_terminal(stderr)):
        return lambda: None
    start = time.perf_counter()

    def say(text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # it was closed meanwhile
            print(f"primax: {text}", file=stderr)

    timer = threading.Timer(seconds, say, [f"still compiling {what} after {seconds:g} s"])
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # Python ends, and starts no thread
        timer.start()

    def over() -> None:
        timer.cancel()
        if time.perf_counter() - start >= seconds:
            say(f"the compilation of {what} took {time.perf_counter() - start:.1f} s")

    return over


def _is_terminal(stream: Any) -> bool:
    return bool(getattr(stream, "isatty", bool)())


def _report(text: str, *values: Any) -> None:
    (log.warning if config.log_compiles.value else log.debug)(text, *values)


_LINE = r'"([^"]+)":(\d+):'


def _suspect(module: StablehloModule, message: str) -> str:
    """The user's line that made the operation named by XLA's error, or else the first operation of the program."""
    lines = [""]

    def visit(operation: Any) -> Any:
        location = re.search(_LINE, str(operation.location))
        if location is not None:
            line = f"{location[1]}:{location[2]}"
            lines[0] = lines[0] or f"\nThe program begins at {line}."
            if operation.name == "stablehlo.custom_call":
                target = _jaxlib.ir.StringAttr(operation.attributes["call_target_name"]).value
                if target in message:
                    lines.append(f"\nThe call of {target} was made at {line}.")
        return _jaxlib.ir.WalkResult.ADVANCE

    with module.shared:
        module.module.operation.walk(visit, _jaxlib.ir.WalkOrder.PRE_ORDER)
    return lines[:2][-1]


def module_text(module: StablehloModule, debug_info: bool = False) -> str:
    """The text of a module in StableHLO's notation."""
    with module.shared:
        return str(module.module.operation.get_asm(enable_debug_info=bool(debug_info)))


def hlo_computation(module: StablehloModule) -> Any:
    """A module as a computation of XLA."""
    return _jaxlib.mlir.mlir_module_to_xla_computation(module_text(module), False, False)


def hlo_text(module: StablehloModule) -> str:
    """The text of a module in XLA's notation, not optimized."""
    return str(hlo_computation(module).as_hlo_text())


def hlo_cost_analysis(module: StablehloModule) -> dict[str, float]:
    """XLA's estimate of the cost of a module that is not optimized."""
    return dict(_jaxlib.hlo_module_cost_analysis(client(module.platform), hlo_computation(module).as_hlo_module()))


def optimized_text(executable: Executable) -> str:
    """The text of a compiled program in XLA's notation."""
    return "\n".join(module.to_string() for module in executable.xla.hlo_modules())
