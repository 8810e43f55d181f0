"""The options of the kernel, and those that compilation, execution and devices read."""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.core._jaxlib import QUIET_LOADING, Device, guard_lib, release
from primax.core.arguments import nearest
from primax.core.config import (
    Config,
    check_rules,
    check_tracer_leaks,
    config,
    debug_infs,
    debug_nans,
    enable_checks,
    enable_x64,
    make_user_context,
    no_tracing,
)
from primax.core.option import Kind, Option, settle, switch

__all__ = [
    "Config",
    "Guard",
    "Option",
    "check_rules",
    "check_tracer_leaks",
    "compilation_cache_dir",
    "compilation_cache_max_size",
    "config",
    "debug_infs",
    "debug_nans",
    "default_device",
    "disable_jit",
    "enable_checks",
    "enable_x64",
    "explain_cache_misses",
    "log_compiles",
    "make_user_context",
    "no_execution",
    "no_tracing",
    "num_cpu_devices",
    "persistent_cache_min_compile_time_secs",
    "platforms",
    "slow_compile_secs",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]
__dir__ = __all__.copy


def _number(allowed: str, sort: type, least: int, convert: Callable[[Any], Any]) -> Kind:
    """Numbers, from the least one on; bools do not count."""

    def check(value: Any) -> Any:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, sort) or not convert(value) >= least:
            raise ValueError
        return convert(value)

    return Kind(allowed, check, lambda text: check(convert(text)))


def _count(value: Any) -> int:
    count = BYTES.check(value)
    if count == 0:
        raise ValueError
    return int(count)


def _name(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError


def _names(value: Any) -> str | None:
    return None if value is None or value == "" else _name(value)


def _path(value: Any) -> str | None:
    return None if value is None else os.fsdecode(value)


def _device(value: Any) -> Any:
    return value if value is None or isinstance(value, Device) else _name(value)


def choice(*choices: str | None) -> Kind:
    """One of several texts, or of texts and None."""

    def check(value: Any) -> Any:
        if (value is None or isinstance(value, str)) and value in choices:
            return value
        raise ValueError(nearest(value, filter(None, choices)) if isinstance(value, str) else "")

    return Kind(f"one of {', '.join(map(repr, choices))}", check)


SECONDS = _number("a number of seconds, zero or more", numbers.Real, 0, float)
BYTES = _number("a number of bytes, or -1 for any", numbers.Integral, -1, int)
COUNT = Kind("a positive integer, or -1 for as many as XLA_FLAGS says", _count, lambda text: _count(int(text)))
NAME = Kind("a name", _name)
NAMES = Kind("names with commas between, or None", _names)
PATH = Kind("a path or None", _path)
DEVICE = Kind("one of primax.devices(), the name of a platform or None", _device)


_LEVELS = {
    "allow": guard_lib.TransferGuardLevel.ALLOW,
    "log": guard_lib.TransferGuardLevel.LOG,
    "disallow": guard_lib.TransferGuardLevel.DISALLOW,
    "log_explicit": guard_lib.TransferGuardLevel.LOG_EXPLICIT,
    "disallow_explicit": guard_lib.TransferGuardLevel.DISALLOW_EXPLICIT,
}


class Guard(Option):
    """An option that jaxlib reads where values move between host and devices.

    Args:
        name: the name, without the prefix `primax_`.
        doc: one or two sentences for the listing.
        directions: the directions of transfer that it controls, by jaxlib's names.
    """

    used = False  # whether any guard was ever set

    def __init__(self, name: str, doc: str, *directions: str):
        self.directions = directions
        super().__init__(name, None, choice(None, *_LEVELS), doc, examines=True)
        if self.value is not None:
            self.set_global(self.value)

    def set_global(self, value: Any) -> None:
        super().set_global(value)
        self._enter(guard_lib.global_state(), value)

    def swap_local(self, value: Any) -> Any:
        """Override the value in this thread; returns the value with which `set_local` undoes this."""
        state = guard_lib.thread_local_state()
        levels = [getattr(state, direction) for direction in self.directions]
        self._enter(state, value)
        return super().swap_local(value), levels

    def set_local(self, before: Any) -> None:
        value, levels = before
        super().set_local(value)
        state = guard_lib.thread_local_state()
        for direction, level in zip(self.directions, levels, strict=True):
            setattr(state, direction, level)

    def _enter(self, state: Any, value: Any) -> None:
        Guard.used = True
        for direction in self.directions:
            setattr(state, direction, None if value is None else _LEVELS[value])


def _user_cache() -> str | None:
    """The user's folder for caches; None if there is none, or if this jaxlib prints lines when it loads programs."""
    if release < QUIET_LOADING:
        return None
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.join(base, "primax") if os.path.isabs(base) else None


disable_jit = switch(
    "disable_jit",
    "Run jitted functions, and the bodies of control flow, as ordinary Python.",
    tracing=True,
    examines=True,
)
compilation_cache_dir = Option(
    "compilation_cache_dir",
    _user_cache(),
    PATH,
    "The directory of the persistent compilation cache; None, or an empty variable, turns the cache off.",
)
compilation_cache_max_size = Option(
    "compilation_cache_max_size",
    2**30,
    BYTES,
    "The maximal size of that directory, in bytes; beyond it the least recently used programs are deleted.",
)
persistent_cache_min_compile_time_secs = Option(
    "persistent_cache_min_compile_time_secs",
    0.0,
    SECONDS,
    "Programs that compile faster than this are not kept in that directory.",
)
default_device = Option(
    "default_device",
    None,
    DEVICE,
    "The default device, or platform, of computations; None chooses the platform by priority.",
    tracing=True,
)
log_compiles = switch("log_compiles", "Log each compilation as a warning instead of at debug level.")
slow_compile_secs = Option(
    "slow_compile_secs",
    5.0,
    SECONDS,
    "Compilations that take longer are announced on stderr, if it is a terminal or a notebook.",
)
no_execution = switch("no_execution", "Raise where a compiled program would be run.", examines=True)
explain_cache_misses = switch(
    "explain_cache_misses",
    "Log one line whenever a jitted function is traced, with the differences from earlier calls.",
)
platforms = Option(
    "platforms",
    None,
    NAMES,
    "The platforms to use, separated by commas; computations run on the first. None chooses by priority.",
    jit_key=True,
)
num_cpu_devices = Option(
    "num_cpu_devices",
    -1,
    COUNT,
    "The number of CPU devices; -1 for the number in XLA_FLAGS (--xla_force_host_platform_device_count), or else 1.",
)
_GUARD = "What an implicit transfer from {} does; the values that end in `explicit` cover explicit transfers too."
transfer_guard_host_to_device = Guard(
    "transfer_guard_host_to_device", _GUARD.format("the host to a device"), "host_to_device"
)
transfer_guard_device_to_device = Guard(
    "transfer_guard_device_to_device", _GUARD.format("one device to another"), "device_to_device"
)
transfer_guard_device_to_host = Guard(
    "transfer_guard_device_to_host", _GUARD.format("a device to the host"), "device_to_host"
)
transfer_guard = Guard(
    "transfer_guard", "All three guards of transfers at once.", "host_to_device", "device_to_device", "device_to_host"
)
settle()
