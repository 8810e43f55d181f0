"""Options: each has a process-wide value, a default from the environment, and an override for the current thread.

The values of the options that affect tracing form one object, `thread.config`, which is part of cache keys."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from primax.core import undo_log
from primax.core._jaxlib import Config as _Cell
from primax.core._jaxlib import config_unset
from primax.core.trace_state import block_fast_path, fast_path_blockers, shared, thread, unblock_fast_path

_PREFIX = "primax_"
_OTHER_PREFIX = "jax_"  # the prefix of option names and environment variables in code for JAX
_REQUIRED = object()
_noting = threading.Lock()
_making = threading.Lock()

options: dict[str, Option] = {}
options_of_traces: list[Option] = []
contexts: WeakKeyDictionary[Context, None] = WeakKeyDictionary()  # in the order in which they were made
changed: list[Callable[[], None]] = []  # called after an option on which compiled programs depend has a new value


_WORDS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


class Kind(NamedTuple):
    """The allowed values of an option. Both functions raise ValueError or TypeError for other values.

    Attributes:
        allowed: a description of the values, for messages.
        check: converts a value to its stored form.
        parse: converts the text of an environment variable; by default `check`, with None for the empty text.
    """

    allowed: str
    check: Callable[[Any], Any]
    parse: Callable[[str], Any] | None = None

    def read(self, text: str) -> Any:
        """The value that a text means."""
        return self.check(text or None) if self.parse is None else self.parse(text)


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ValueError


def _bool_of_text(text: str) -> bool:
    if text.strip().lower() in _WORDS:
        return _WORDS[text.strip().lower()]
    raise ValueError


def _hashable(value: Any) -> Any:
    hash(value)
    return value


BOOL = Kind("True or False", _bool, _bool_of_text)
ANY = Kind("anything", lambda value: value, lambda text: text)
HASHABLE = Kind("hashable", _hashable)


class Option(_Cell):  # type: ignore[misc]
    """One option; calling it gives a context manager that overrides its value in the current thread.

    Args:
        name: the name, without the prefix `primax_`.
        default: the value if neither the environment nor the program sets one.
        kind: the allowed values.
        doc: one or two sentences for the listing.
        jit_key: True if a compiled program depends on the value.
        tracing: True if a trace, and so any compiled program, depends on the value.
        examines: True if calls of compiled programs are examined while the value is not the default.
        shorthand: the value of `option()` with no argument; an option without one requires the argument.
        listed: False for a setting that users do not see.
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
        examines: bool = False,
        shorthand: Any = _REQUIRED,
        listed: bool = True,
    ):
        self.short_name = name
        self.default = default
        self.kind = kind
        self.env = f"{_PREFIX}{name}".upper() if listed else ""
        self.frozen = ""
        self.doc = doc
        self.__doc__ = doc
        self.__name__ = name
        self._shorthand = shorthand
        if listed:
            undo_log.put(options, name, self)
        self.tracing = tracing
        self.examines = examines
        self.of_programs = jit_key or tracing or examines
        super().__init__(
            f"{_PREFIX}{name}",
            self._from_environment() if listed else default,
            include_in_jit_key=self.of_programs,
            include_in_trace_context=tracing,
        )
        if tracing:
            self._join()
        self._noted = False
        self._note()

    def _join(self) -> None:
        """Add this option to those that traces depend on."""
        options_of_traces.append(self)
        undo_log.note(lambda: options_of_traces.remove(self))
        settle()

    def __call__(self, new_val: Any = _REQUIRED, *, disable: Any = _REQUIRED) -> _Override:
        if disable is not _REQUIRED:
            if self.short_name != "disable_jit" or new_val is not _REQUIRED:
                raise TypeError(f"{self.short_name}: the new value must be given as new_val, got disable={disable!r}")
            new_val = disable
        if new_val is _REQUIRED:
            new_val = self._shorthand
            if new_val is _REQUIRED:
                raise TypeError(f"{self.short_name}: the new value must be given; it is {self.kind.allowed}")
        return _Override(self, self.validate(new_val))

    def __bool__(self) -> bool:
        raise TypeError(f"{self.short_name}: an option has no truth value; read {self.short_name}.value")

    def __repr__(self) -> str:
        return f"<option {self.short_name}={self.value!r}>"

    def __reduce__(self) -> Any:
        return _option, (self.short_name,)

    def validate(self, value: Any) -> Any:
        """Return the value in its stored form, or raise an error that lists the allowed values."""
        try:
            return self.kind.check(value)
        except (TypeError, ValueError) as error:
            hint = str(error) if str(error)[:1] == ";" else ""
            raise ValueError(f"{self.short_name}: value must be {self.kind.allowed}, got {value!r}{hint}") from None

    def update(self, value: Any) -> None:
        """Set the value for the process; overrides of threads keep their effect.

        Raises:
          ValueError: the option does not allow this value.
          RuntimeError: the value can no longer change.
        """
        value = self.validate(value)
        if self.frozen and value != self.value:
            raise RuntimeError(f"{self.short_name}: value must be set before {self.frozen}, got {value!r}")
        undo_log.note(partial(self._restore, self.get_global()))
        self.set_global(value)
        if self.tracing:
            settle()
        self._note()
        if self.of_programs:
            for listener in changed:
                listener()

    def _restore(self, value: Any) -> None:
        if not self.frozen:
            self.update(value)

    def _note(self) -> None:
        """Record in `fast_path_blockers` whether the value for the process requires that calls are examined."""
        with _noting:
            if self._noted is not (self.examines and self.get_global() != self.default):
                (fast_path_blockers.remove if self._noted else fast_path_blockers.append)(self)
                self._noted = not self._noted

    def set_here(self, value: Any) -> None:
        """Set the value for this thread.

        Raises:
          ValueError: the option does not allow this value.
        """
        before = self.get_local()
        self.swap_local(self.validate(value))
        for setting, change in ((before, unblock_fast_path), (self.get_local(), block_fast_path)):
            if setting is not config_unset and setting is not self.default:
                change(self)
        if self.tracing:
            _settle_for_thread()

    def _from_environment(self) -> Any:
        for variable in (self.env, f"{_OTHER_PREFIX}{self.short_name}".upper()):
            text = os.environ.get(variable)
            if text is not None:
                try:
                    return self.kind.read(text)
                except ValueError:
                    allowed = self.kind.allowed
                    raise ValueError(f"environment variable {variable} must be {allowed}, got {text!r}") from None
        return self.default


def _option(name: str) -> Option:
    return options[name]


def switch(name: str, doc: str, **seen_by: bool) -> Option:
    """A boolean option, off by default."""
    return Option(name, False, BOOL, doc, shorthand=True, **seen_by)


class Context(Option):
    """An option that a user defined. At its default value it is not part of the settings that tracing reads."""

    def _join(self) -> None:
        contexts[self] = None


class _Override(ContextDecorator):
    """Sets an option in the current thread from enter to exit; also a decorator. It may be entered repeatedly."""

    __slots__ = ("_option", "_previous", "_value")

    def __init__(self, option: Option, value: Any):
        self._option = option
        self._value = value
        self._previous: dict[int, list[Any]] = {}

    def __enter__(self) -> None:
        option = self._option
        previous = option.swap_local(self._value)
        self._previous.setdefault(threading.get_ident(), []).append(previous)
        if option.of_programs:
            block_fast_path(option)
        if option.tracing:
            thread.here.config = _settled()

    def __exit__(self, *exc_info: object) -> None:
        me = threading.get_ident()
        stack = self._previous[me]
        option = self._option
        option.set_local(stack.pop())
        if not stack:
            del self._previous[me]
        if option.of_programs:
            unblock_fast_path(option)
        if option.tracing:
            _settle_for_thread()


class Settings:
    """The values of the options that affect tracing, and pairs of a context and its value, if that is not the default.

    Equal values give one object as long as something holds it, so settings are compared by identity.
    """

    __slots__ = ("__weakref__", "values")

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


_settings: WeakValueDictionary[tuple[Any, ...], Settings] = WeakValueDictionary()


def _settled() -> Settings:
    """The settings of this thread."""
    in_contexts = tuple([(context, now) for context in _contexts() if (now := context.value) is not context.default])
    values = (*[option.value for option in options_of_traces], in_contexts)
    settings = _settings.get(values)
    if settings is None:
        with _making:
            settings = _settings.get(values)
            if settings is None:
                settings = _settings[values] = Settings(values)
    return settings


def _contexts() -> list[Context]:
    """The contexts that exist; other threads may make some meanwhile."""
    return [context for reference in contexts.keyrefs() if (context := reference()) is not None]


def _settle_for_thread() -> None:
    """Update the thread's settings after an override has ended; without overrides it uses those of the process."""
    now = _settled()
    thread.here.config = None if now is shared.config else now


def settle() -> None:
    """Update the settings after an option has changed for the process.

    Threads with overrides update theirs when the overrides end. Their cache entries until then are not found again,
    because no later settings equal theirs.
    """
    if threading.active_count() > 1:
        _settings.clear()
    seen = [*options_of_traces, *_contexts()]
    overridden = [option.swap_local(config_unset) for option in seen]
    try:
        shared.config = _settled()
    finally:
        for option, value in zip(seen, overridden, strict=True):
            option.set_local(value)
    _settle_for_thread()
