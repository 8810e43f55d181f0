"""Options: a process-wide value, a default from the environment, and an override for the current thread.

An option is read as `enable_x64.value`, set for the process by `config.update("enable_x64", True)`, and
overridden in one thread for the length of a block by `with enable_x64(True):`. What tracing sees of them is one object,
`thread.config`, which is the same as long as the options are, and part of the keys of caches.
"""

from __future__ import annotations

import functools
import numbers
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from primax.core._jaxlib import QUIET_LOADING, config_unset, release
from primax.core._jaxlib import Config as _Cell
from primax.core._jaxlib import Device as _Device
from primax.core.thread import Thread, thread

__all__ = [
    "Config",
    "MATMUL_PRECISIONS",
    "Option",
    "compilation_cache_dir",
    "compilation_cache_max_size",
    "config",
    "debug_infs",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_x64",
    "log_compiles",
    "numpy_dtype_promotion",
    "persistent_cache_min_compile_time_secs",
    "strict_plugins",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_PREFIX = "primax_"
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off"})
_REQUIRED = object()

MATMUL_PRECISIONS = (
    "default",
    "high",
    "highest",
    "bfloat16",
    "tensorfloat32",
    "float32",
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)


class Kind:
    """The values an option takes: `check` tests one from Python, `parse` reads one from the environment."""

    def __init__(self, allowed: str, check: Callable[[Any], Any], parse: Callable[[str], Any]):
        self.allowed = allowed
        self.check = check
        self.parse = parse


def _check_bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ValueError


def _parse_bool(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError


def _check_seconds(value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real) or not float(value) >= 0:
        raise ValueError
    return float(value)


def _check_bytes(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or value < 0:
        raise ValueError
    return int(value)


def _user_cache() -> str | None:
    """The folder where the user keeps what programs can make again; None if there is none, or loading is not quiet."""
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


def _check_path(value: Any) -> str | None:
    return None if value is None else os.fsdecode(value)


def _check_choice(choices: tuple[str | None, ...], value: Any) -> Any:
    if (value is None or isinstance(value, str)) and value in choices:
        return value
    raise ValueError


def _check_name(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError


def _choice(*choices: str | None) -> Kind:
    check = functools.partial(_check_choice, choices)
    return Kind(f"one of {', '.join(repr(c) for c in choices)}", check, lambda text: check(text or None))


def _check_device(value: Any) -> Any:
    if value is None or isinstance(value, _Device) or (isinstance(value, str) and value):
        return value
    raise ValueError


DEVICE = Kind("one of primax.devices(), the name of a platform or None", _check_device, lambda text: text or None)
BOOL = Kind("True or False", _check_bool, _parse_bool)
SECONDS = Kind("a number of seconds, zero or more", _check_seconds, lambda text: _check_seconds(float(text)))
BYTES = Kind("a number of bytes, zero or more", _check_bytes, lambda text: _check_bytes(int(text)))
NAME = Kind("a name", _check_name, _check_name)
PATH = Kind("a path or None", _check_path, lambda text: text or None)


class Option(_Cell):  # type: ignore[misc]
    """One option; calling it gives a context manager that overrides its value in the current thread.

    Args:
        name: the name, without the prefix `primax_`.
        default: the value when neither the environment nor the program sets one.
        kind: the values allowed.
        doc: one or two sentences for the listing.
        jit_key: True if a compiled program depends on the value.
        tracing: True if a trace depends on the value.
        shorthand: the value of `option()` with no argument; an option without one requires the argument.
    """

    def __init__(
        self,
        name: str,
        default: Any,
        kind: Kind,
        doc: str,
        *,
        jit_key: bool = False,
        tracing: bool = False,
        shorthand: Any = _REQUIRED,
    ):
        self.short_name = name
        self.default = default
        self.kind = kind
        self.env = f"{_PREFIX}{name}".upper()
        self.doc = doc
        self.__doc__ = doc
        self.__name__ = name
        self._shorthand = shorthand
        if tracing:
            _seen_by_tracing.append(self)
        super().__init__(
            f"{_PREFIX}{name}",
            self._from_environment(),
            include_in_jit_key=jit_key,
            include_in_trace_context=tracing,
        )

    def __call__(self, new: Any = _REQUIRED) -> _Override:
        if new is _REQUIRED:
            new = self._shorthand
            if new is _REQUIRED:
                raise TypeError(f"{self.short_name}: the new value must be given; it is {self.kind.allowed}")
        return _Override(self, self.validate(new))

    def __bool__(self) -> bool:
        raise TypeError(f"{self.short_name}: an option has no truth value; read {self.short_name}.value")

    def __repr__(self) -> str:
        return f"<option {self.short_name}={self.value!r}>"

    def __reduce__(self) -> str:
        return self.short_name

    def validate(self, value: Any) -> Any:
        """Return the value in its stored form, or raise an error that says what is allowed."""
        try:
            return self.kind.check(value)
        except (TypeError, ValueError):
            raise ValueError(f"{self.short_name}: value must be {self.kind.allowed}, got {value!r}") from None

    def update(self, value: Any) -> None:
        """Set the value for the process; an override in effect in some thread still wins there."""
        self.set_global(self.validate(value))
        if self in _seen_by_tracing:
            _settle_for_process()

    def _from_environment(self) -> Any:
        text = os.environ.get(self.env)
        if text is None:
            return self.default
        try:
            return self.kind.parse(text)
        except ValueError:
            allowed = self.kind.allowed
            raise ValueError(f"environment variable {self.env} must be {allowed}, got {text!r}") from None


class _Override:
    """Sets an option in the current thread from enter to exit; also a decorator. May be entered again."""

    __slots__ = ("_option", "_previous", "_value")

    def __init__(self, option: Option, value: Any):
        self._option = option
        self._value = value
        self._previous: dict[int, list[Any]] = {}

    def __enter__(self) -> None:
        option = self._option
        previous = option.swap_local(self._value)
        self._previous.setdefault(threading.get_ident(), []).append(previous)
        if option in _seen_by_tracing:
            thread.config = _settled()

    def __exit__(self, *exc_info: object) -> None:
        me = threading.get_ident()
        stack = self._previous[me]
        option = self._option
        option.set_local(stack.pop())
        if not stack:
            del self._previous[me]
        if option in _seen_by_tracing:
            _settle_for_thread()

    def __call__(self, fun: _F) -> _F:
        @functools.wraps(fun)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fun(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


_seen_by_tracing: list[Option] = []


class Settings(tuple[Any, ...]):
    """The values of the options that tracing sees. There is one for equal values, so that identity is equality."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


_settings: dict[tuple[Any, ...], Settings] = {}


def _settled() -> Settings:
    """What tracing sees in this thread now."""
    values = tuple([option.value for option in _seen_by_tracing])
    found = _settings.get(values)
    if found is None:
        found = _settings.setdefault(values, Settings(values))
    return found


def _settle_for_thread() -> None:
    """Take note that an override has ended: without any, the thread goes by what holds for the process."""
    now = _settled()
    if now is Thread.config:
        vars(thread).pop("config", None)
    else:
        thread.config = now


def _settle_for_process() -> None:
    """Take note of new values for the process.

    Other threads learn of them when their overrides end. What they remember until then is never found again, since the
    settings they know are used no more.
    """
    if threading.active_count() > 1:
        _settings.clear()
    overridden = [option.swap_local(config_unset) for option in _seen_by_tracing]
    try:
        Thread.config = _settled()
    finally:
        for option, value in zip(_seen_by_tracing, overridden, strict=True):
            option.set_local(value)
    _settle_for_thread()


enable_x64 = Option(
    "enable_x64",
    False,
    BOOL,
    "Make 64-bit ints and floats the default; otherwise they are 32-bit and 64-bit inputs are narrowed.",
    jit_key=True,
    tracing=True,
    shorthand=True,
)
disable_jit = Option(
    "disable_jit",
    False,
    BOOL,
    "Run jitted functions, and the bodies of control flow, as ordinary Python.",
    jit_key=True,
    tracing=True,
    shorthand=True,
)
debug_nans = Option(
    "debug_nans",
    False,
    BOOL,
    "Raise FloatingPointError where a nan is computed; a program that returns one is run again step by step.",
    jit_key=True,
    shorthand=True,
)
debug_infs = Option(
    "debug_infs",
    False,
    BOOL,
    "Raise FloatingPointError where an inf is computed; a program that returns one is run again step by step.",
    jit_key=True,
    shorthand=True,
)
strict_plugins = Option(
    "strict_plugins",
    False,
    BOOL,
    "Raise when a plugin fails to load, rather than warn and go on without it.",
    shorthand=True,
)
compilation_cache_dir = Option(
    "compilation_cache_dir",
    _user_cache(),
    PATH,
    "The directory that keeps compiled programs between processes; None, or an empty variable, keeps nothing.",
)
compilation_cache_max_size = Option(
    "compilation_cache_max_size",
    2**30,
    BYTES,
    "How large that directory may grow, in bytes; beyond, programs go that were not used for longest.",
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
    _choice("standard", "strict"),
    "'standard' promotes operands of different dtypes; 'strict' raises unless one of them is weakly typed.",
    jit_key=True,
    tracing=True,
)
default_matmul_precision = Option(
    "default_matmul_precision",
    None,
    _choice(None, *MATMUL_PRECISIONS),
    "The precision of products and convolutions that do not ask for one; None leaves it to the platform.",
    jit_key=True,
    tracing=True,
)
default_device = Option(
    "default_device",
    None,
    DEVICE,
    "The device, or the platform, that computations run on when nothing else is said; None leaves it to priorities.",
    jit_key=True,
    tracing=True,
)
default_prng_impl = Option(
    "default_prng_impl",
    "threefry2x32",
    NAME,
    "The generator of keys that do not name one.",
    jit_key=True,
    tracing=True,
)
log_compiles = Option(
    "log_compiles",
    False,
    BOOL,
    "Log each compilation as a warning, rather than at debug level.",
    shorthand=True,
)


class Config:
    """All options by name: attributes read them, `update` sets them, iteration lists them.

    A name may be given with or without the prefix `primax_`.

    >>> config.numpy_dtype_promotion
    'standard'
    """

    __slots__ = ("_options",)
    _options: Mapping[str, Option]

    def __init__(self, *options: Option):
        by_name = {option.short_name: option for option in options}
        object.__setattr__(self, "_options", types.MappingProxyType(by_name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._find(name).value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"config: {name} must be set by config.update({name!r}, {value!r})")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._options]

    def __reduce__(self) -> str:
        return "config"

    def __iter__(self) -> Iterator[Option]:
        return iter(self._options.values())

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
        """
        self._find(name).update(value)

    @property
    def values(self) -> dict[str, Any]:
        """The value of each option in the current thread."""
        return {option.short_name: option.value for option in self}

    def _find(self, name: str) -> Option:
        option = self._options.get(name.removeprefix(_PREFIX)) if isinstance(name, str) else None
        if option is None:
            known = ", ".join(sorted(self._options))
            raise AttributeError(f"config: name must be one of {known}, got {name!r}")
        return option


config = Config(
    enable_x64,
    disable_jit,
    debug_nans,
    debug_infs,
    strict_plugins,
    compilation_cache_dir,
    compilation_cache_max_size,
    persistent_cache_min_compile_time_secs,
    numpy_dtype_promotion,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    log_compiles,
)
_settle_for_process()
