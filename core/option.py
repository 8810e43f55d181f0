"""What an option is: a process-wide value, a default from the environment, and an override for the current thread.

What tracing sees of all options is one object, `thread.config`, which is the same as long as the options are, and part
of the keys of caches.
"""

from __future__ import annotations

import functools
import numbers
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from primax.core._jaxlib import Config as _Cell
from primax.core._jaxlib import Device as _Device
from primax.core._jaxlib import config_unset, guard_lib
from primax.core.thread import Thread, thread

__all__ = [
    "BOOL",
    "BYTES",
    "COUNT",
    "DEVICE",
    "Guard",
    "Kind",
    "NAME",
    "NAMES",
    "Option",
    "PATH",
    "SECONDS",
    "choice",
    "options",
    "options_of_traces",
    "settle",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_PREFIX = "primax_"
_OTHER_PREFIX = "jax_"  # code written for JAX names options so, and the environment of such code
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off"})
_REQUIRED = object()

options: dict[str, Option] = {}
options_of_traces: list[Option] = []


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


def _check_count(value: Any) -> int:
    if _check_bytes(value) < 1:
        raise ValueError
    return int(value)


def _check_bound(value: Any) -> int:
    return -1 if type(value) is int and value == -1 else _check_bytes(value)


def _check_names(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value or None
    raise ValueError


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


def choice(*choices: str | None) -> Kind:
    check = functools.partial(_check_choice, choices)
    return Kind(f"one of {', '.join(repr(c) for c in choices)}", check, lambda text: check(text or None))


def _check_device(value: Any) -> Any:
    if value is None or isinstance(value, _Device) or (isinstance(value, str) and value):
        return value
    raise ValueError


DEVICE = Kind("one of primax.devices(), the name of a platform or None", _check_device, lambda text: text or None)
BOOL = Kind("True or False", _check_bool, _parse_bool)
SECONDS = Kind("a number of seconds, zero or more", _check_seconds, lambda text: _check_seconds(float(text)))
BYTES = Kind("a number of bytes, or -1 for any", _check_bound, lambda text: _check_bound(int(text)))
COUNT = Kind("a positive integer", _check_count, lambda text: _check_count(int(text)))
NAMES = Kind("names with commas between, or None", _check_names, _check_names)
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
        tracing: True if a trace, and so any compiled program, depends on the value.
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
        self.frozen = ""
        self.doc = doc
        self.__doc__ = doc
        self.__name__ = name
        self.__module__ = "primax.core.config"  # where the options are
        self._shorthand = shorthand
        options[name] = self
        if tracing:
            options_of_traces.append(self)
        super().__init__(
            f"{_PREFIX}{name}",
            self._from_environment(),
            include_in_jit_key=jit_key or tracing,
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
        """Set the value for the process; an override in effect in some thread still wins there.

        Raises:
          ValueError: the option does not allow this value.
          RuntimeError: it is too late for another value.
        """
        value = self.validate(value)
        if self.frozen and value != self.value:
            raise RuntimeError(f"{self.short_name}: value must be set before {self.frozen}, got {value!r}")
        self.set_global(value)
        if self in options_of_traces:
            settle()

    def _from_environment(self) -> Any:
        for variable in (self.env, f"{_OTHER_PREFIX}{self.short_name}".upper()):
            text = os.environ.get(variable)
            if text is not None:
                try:
                    return self.kind.parse(text)
                except ValueError:
                    allowed = self.kind.allowed
                    raise ValueError(f"environment variable {variable} must be {allowed}, got {text!r}") from None
        return self.default


_LEVELS = {
    "allow": guard_lib.TransferGuardLevel.ALLOW,
    "log": guard_lib.TransferGuardLevel.LOG,
    "disallow": guard_lib.TransferGuardLevel.DISALLOW,
    "log_explicit": guard_lib.TransferGuardLevel.LOG_EXPLICIT,
    "disallow_explicit": guard_lib.TransferGuardLevel.DISALLOW_EXPLICIT,
}


class Guard(Option):
    """An option that jaxlib looks at where values move between host and devices.

    Args:
        name: the name, without the prefix `primax_`.
        doc: one or two sentences for the listing.
        directions: the directions that it is about, as jaxlib names them.
    """

    used = False  # whether any guard was ever set

    def __init__(self, name: str, doc: str, *directions: str):
        self.directions = directions
        super().__init__(name, None, choice(None, *_LEVELS), doc, jit_key=True)
        if self.value is not None:
            self.set_global(self.value)

    def set_global(self, value: Any) -> None:
        super().set_global(value)
        self._enter(guard_lib.global_state(), value)

    def swap_local(self, value: Any) -> Any:
        """Override the value in this thread; what is returned undoes it by `set_local`."""
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
        if option in options_of_traces:
            thread.config = _settled()

    def __exit__(self, *exc_info: object) -> None:
        me = threading.get_ident()
        stack = self._previous[me]
        option = self._option
        option.set_local(stack.pop())
        if not stack:
            del self._previous[me]
        if option in options_of_traces:
            _settle_for_thread()

    def __call__(self, fun: _F) -> _F:
        @functools.wraps(fun)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fun(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


class Settings(tuple[Any, ...]):
    """The values of the options that tracing sees. There is one for equal values, so that identity is equality."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


_settings: dict[tuple[Any, ...], Settings] = {}


def _settled() -> Settings:
    """What tracing sees in this thread now."""
    values = tuple([option.value for option in options_of_traces])
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


def settle() -> None:
    """Take note of new values for the process.

    Other threads learn of them when their overrides end. What they remember until then is never found again, since the
    settings they know are used no more.
    """
    if threading.active_count() > 1:
        _settings.clear()
    overridden = [option.swap_local(config_unset) for option in options_of_traces]
    try:
        Thread.config = _settled()
    finally:
        for option, value in zip(options_of_traces, overridden, strict=True):
            option.set_local(value)
    _settle_for_thread()
