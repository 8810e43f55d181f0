"""The options. `enable_x64.value` reads one, `config.update("enable_x64", True)` sets it for the process, and
`with enable_x64(True):` overrides it in one thread for a block.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from typing import Any

from primax.core._jaxlib import QUIET_LOADING, release
from primax.core.arguments import check_hashable
from primax.core.option import Context, Guard, Option, options, settle
from primax.core.option_kinds import BOOL, BYTES, COUNT, DEVICE, HASHABLE, NAME, NAMES, PATH, SECONDS, choice

__all__ = [
    "Config",
    "MATMUL_PRECISIONS",
    "Option",
    "check_rules",
    "check_tracer_leaks",
    "compilation_cache_dir",
    "compilation_cache_max_size",
    "config",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_x64",
    "explain_cache_misses",
    "log_compiles",
    "make_user_context",
    "no_execution",
    "no_tracing",
    "num_cpu_devices",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "persistent_cache_min_compile_time_secs",
    "platforms",
    "refuses_nonfinite",
    "strict_plugins",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]

MATMUL_PRECISIONS = tuple(
    (
        "default high highest bfloat16 tensorfloat32 float32 ANY_F8_ANY_F8_F32 ANY_F8_ANY_F8_F32_FAST_ACCUM "
        "ANY_F8_ANY_F8_ANY ANY_F8_ANY_F8_ANY_FAST_ACCUM F16_F16_F16 F16_F16_F32 BF16_BF16_BF16 BF16_BF16_F32 "
        "BF16_BF16_F32_X3 BF16_BF16_F32_X6 BF16_BF16_F32_X9 TF32_TF32_F32 TF32_TF32_F32_X3 F32_F32_F32 F64_F64_F64"
    ).split()
)


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


def _switch(name: str, doc: str, **seen_by: bool) -> Option:
    """A boolean option, off by default."""
    return Option(name, False, BOOL, doc, shorthand=True, **seen_by)


enable_x64 = _switch(
    "enable_x64",
    "Make 64-bit ints and floats the default; otherwise they are 32-bit and 64-bit inputs are narrowed.",
    tracing=True,
)
disable_jit = _switch(
    "disable_jit",
    "Run jitted functions, and the bodies of control flow, as ordinary Python.",
    tracing=True,
    examines=True,
)
debug_nans = _switch(
    "debug_nans",
    "Raise FloatingPointError where a nan is computed; a program that returns one is run again step by step.",
    examines=True,
)
debug_infs = _switch(
    "debug_infs",
    "Raise FloatingPointError where an inf is computed; a program that returns one is run again step by step.",
    examines=True,
)
debug_key_reuse = _switch(
    "debug_key_reuse",
    "Raise KeyReuseError where a random key is used twice; the message names both lines. Programs run slower.",
    examines=True,
)
strict_plugins = _switch("strict_plugins", "Raise when a plugin fails to load, instead of a warning.")
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
numpy_dtype_promotion = Option(
    "numpy_dtype_promotion",
    "standard",
    choice("standard", "strict"),
    "'standard' promotes operands of different dtypes; 'strict' raises unless one of them is weakly typed.",
    tracing=True,
)
default_device = Option(
    "default_device",
    None,
    DEVICE,
    "The default device, or platform, of computations; None chooses the platform by priority.",
    tracing=True,
)
default_matmul_precision = Option(
    "default_matmul_precision",
    None,
    choice(None, *MATMUL_PRECISIONS),
    "The default precision of matrix products and convolutions; None leaves it to the platform.",
    tracing=True,
)
default_prng_impl = Option(
    "default_prng_impl",
    "threefry2x32",
    NAME,
    "The default generator of random keys.",
    tracing=True,
)
threefry_partitionable = Option(
    "threefry_partitionable",
    True,
    BOOL,
    "Draw each number of threefry2x32 independently, as JAX does since 0.5; False gives the numbers of older releases.",
    tracing=True,
    shorthand=True,
)
log_compiles = _switch("log_compiles", "Log each compilation as a warning instead of at debug level.")
numpy_rank_promotion = Option(
    "numpy_rank_promotion",
    "allow",
    choice("allow", "warn", "raise"),
    "Whether functions of arrays of different ranks go on, warn, or raise; scalars are always allowed.",
    tracing=True,
)
check_tracer_leaks = _switch(
    "check_tracer_leaks",
    "Raise if a traced function leaks tracers, and say which objects hold them. Tracing takes longer.",
    tracing=True,
)
enable_checks = _switch("enable_checks", "Check the types of every program.", tracing=True)
check_rules = _switch(
    "check_rules", "Check all results of every rule, at every use. Programs run slower.", tracing=True
)
no_tracing = _switch(
    "no_tracing", "Raise where a function would be traced, to check that all functions were compiled before."
)
no_execution = _switch("no_execution", "Raise where a compiled program would be run.", examines=True)
explain_cache_misses = _switch(
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
    "transfer_guard",
    "All three guards of transfers at once.",
    "host_to_device",
    "device_to_device",
    "device_to_host",
)

_PREFIXES = ("primax_", "jax_")
_ALIASES = {"platform_name": "platforms"}


class Config:
    """All options by name: attributes read them, `update` sets them, iteration lists them.

    The prefixes `primax_` and `jax_` of a name are optional.

    >>> config.numpy_dtype_promotion
    'standard'
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._find(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"config: {name} must be set by config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *options]

    def __reduce__(self) -> str:
        return "config"

    def __iter__(self) -> Iterator[Option]:
        return iter(options.values())

    def __repr__(self) -> str:
        return "\n".join(
            f"{option.short_name} = {option.value!r}\n"
            f"    {option.doc}\n"
            f"    {option.kind.allowed}; default {option.default!r}; environment {option.env}"
            for option in self
        )

    def update(self, name: str, value: Any) -> None:
        """Set an option for the process.

        Args:
            name: the option's name, such as "enable_x64" or "primax_enable_x64".
            value: the new value.

        Raises:
            AttributeError: there is no such option.
            ValueError: the option does not allow this value.
            RuntimeError: the value can no longer change.
        """
        self._find(name).update(value)

    def read(self, name: str) -> Any:
        """The value of an option in the current thread.

        Args:
            name: the option's name, as in `update`.

        Raises:
            AttributeError: there is no such option.
        """
        return self._find(name).value

    @property
    def values(self) -> dict[str, Any]:
        """The value of each option in the current thread."""
        return {option.short_name: option.value for option in self}

    def _find(self, name: str) -> Option:
        option = None
        if isinstance(name, str):
            short = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
            option = options.get(_ALIASES.get(short, short))
        if option is None:
            known = ", ".join(sorted(options))
            raise AttributeError(f"config: name must be one of {known}, got {name!r}")
        return option


def refuses_nonfinite() -> bool:
    """Whether results are checked for nan or inf."""
    return bool(debug_nans.value or debug_infs.value)


def make_user_context(default_value: Any = None) -> Context:
    """A user-defined context value: compiled functions are traced again if it changes.

    Args:
      default_value: the value where none is set; it must be hashable.

    Returns:
      A function. `with context(value):` sets the value in this thread; `context.value` reads it.

    Raises:
      TypeError: the default value is not hashable. A later value that is not hashable raises ValueError.

    >>> import primax as px
    >>> scale = px.make_user_context(1.0)
    >>> f = px.jit(lambda x: x * scale.value)
    >>> with scale(3.0):
    ...     print(f(2.0))
    6.0
    >>> print(f(2.0))
    2.0
    """
    check_hashable("make_user_context", "default_value", default_value)
    return Context(
        f"user_context_{next(_contexts)}", default_value, HASHABLE, "A value of the user's.", tracing=True, listed=False
    )


_contexts = itertools.count()

config = Config()
settle()


def __dir__() -> list[str]:
    return sorted(__all__)
