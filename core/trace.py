"""Traces, which handle binds, and tracers, which stand for values in Python functions."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import numpy as np

from primax.core import _jaxlib, placement
from primax.core.arguments import rename
from primax.core.avals import register_aval
from primax.core.cache import Cache
from primax.core.config import check_tracer_leaks
from primax.core.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    ambiguous_truth,
    tracer_message,
)
from primax.core.operand import Operand
from primax.core.rules import load_plugins
from primax.core.source_info import user_frame
from primax.core.trace_state import Thread, thread, tracing

__all__ = ["Trace", "Tracer", "current_trace", "encloses", "leakless", "set_current_trace", "thread"]

_F = TypeVar("_F", bound=Callable[..., Any])

# This is part of the key of jaxlib's dispatch cache: a jitted function called during a trace must reach Python, for
# any arguments.
tracing_flag = _jaxlib.Config("primax_tracing", False, include_in_jit_key=True, include_in_trace_context=False)
_get_traceback = _jaxlib.Traceback.get_traceback


CURRENT = object()


class Trace:
    """An active transformation.

    A subclass defines `process(primitive, args, params)`, which returns one value, or a list if the primitive has
    multiple results. Rules run with `parent` as the current trace; see `set_current_trace`.

    Args:
      parent: the next outer trace; by default the current one.
    """

    __slots__ = ("__weakref__", "alive", "begun", "borrowed", "conversions", "converts_operands", "parent")

    tracing: ClassVar[bool] = True
    stages: ClassVar[bool] = False  # whether it builds a program
    short_name: ClassVar[str] = ""  # the wrapper of scope names, as in `vmap(name)`
    lasting: ClassVar[bool] = False  # whether its tracers are part of its result and may outlive it
    transformation: ClassVar[str] = "a transformation"

    def __init__(self, parent: Any = CURRENT) -> None:
        if parent is CURRENT:
            parent = thread.trace
        if self.tracing:
            load_plugins()  # a missing rule in an optional table would pass unnoticed
        self.begun = _get_traceback() if self.tracing else None
        self.parent = parent
        self.alive = True
        self.borrowed: list[tuple[Cache, Any]] | None = None
        rules = placement.rules
        # Whether operands are converted to have a common placement.
        self.converts_operands: bool = rules is not None and rules.converts_operands()
        self.conversions: dict[Any, Any] | None = None  # the converted values

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        """Apply `primitive` to arguments, which may be tracers of this trace or any other values."""
        raise NotImplementedError(f"{type(self).__name__} must define process(primitive, args, params)")

    def owns(self, value: Any) -> bool:
        """Whether a value is a tracer of this trace."""
        return isinstance(value, Tracer) and value._trace is self

    def continues(self, other: Any) -> bool:
        """Whether this trace accepts the tracers of another, inactive trace as its own."""
        return False

    def provenance(self, tracer: Any) -> str:
        """The origin of a tracer in words, for an error message; may be empty."""
        frame = user_frame(self.begun)
        return f"The transformation began at {frame}." if frame else ""

    def end(self) -> None:
        """Called after the traced function has returned; tracers that still exist afterwards are leaks."""
        self.alive = False
        self.conversions = None
        if check_tracer_leaks.value and not self.lasting:
            thread.ended = (*thread.ended, weakref.ref(self))
        if self.borrowed is not None:
            for cache, key in self.borrowed:
                cache.drop(key)
            self.borrowed = None

    def at_end(self, cache: Cache, key: Any) -> None:
        """Drop an entry of a cache, which holds tracers of this trace, when the trace ends."""
        if self.borrowed is None:
            self.borrowed = []
        self.borrowed.append((cache, key))


_leak_search: Callable[[type[Tracer]], None] | None = None


def install_leak_search(search: Callable[[type[Tracer]], None]) -> None:
    """Let a function search for tracers of the traces in `thread.ended`, and raise an error if there are some."""
    global _leak_search
    _leak_search = search


def leakless(run: _F) -> _F:
    """A function that runs a transformation, and raises an error for leaked tracers if `check_tracer_leaks` is on."""

    @functools.wraps(run)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            out = run(*args, **kwargs)
        except BaseException:
            thread.ended = ()  # the traceback holds tracers
            raise
        if check_tracer_leaks.value and _leak_search is not None:
            _leak_search(Tracer)
        return out

    return checked  # type: ignore[return-value]


def install_eval_trace(trace: Any) -> None:
    """Make `trace` the initial trace of all threads."""
    Thread.trace = trace


def current_trace() -> Any:
    """The current trace of this thread, which handles binds."""
    return thread.trace


def enter(trace: Any) -> Any:
    """Make `trace` current and return the previous trace, with which a second call restores it."""
    before = thread.trace
    if before.tracing is not trace.tracing:
        flag(trace.tracing)
    thread.trace = trace
    return before


def flag(traces: bool) -> None:
    """Record that this thread has begun or ceased to trace."""
    tracing_flag.swap_local(traces)
    if traces:
        tracing.append(None)
    else:
        tracing.pop()


def encloses(outer: Any, trace: Any) -> bool:
    """Whether `outer` is `trace`, or a trace around it, or is continued by one of these."""
    while trace is not None and trace is not outer and not trace.continues(outer):
        trace = trace.parent
    return trace is not None


@contextmanager
def set_current_trace(trace: Any) -> Iterator[Any]:
    """Make `trace` current within a `with` block."""
    before = enter(trace)
    try:
        yield trace
    finally:
        enter(before)


def _only_of_arrays(name: str) -> Callable[..., Any]:
    """A method for an attribute that arrays have and tracers lack: it raises an error that says so."""

    def refuse(self: Tracer, /, *args: Any, **kwargs: Any) -> Any:
        raise self._refusal(ConcretizationTypeError, name)

    rename(refuse, name)
    refuse.__doc__ = f"Raise an error, since only arrays have `{name}`."
    return refuse


class Tracer(Operand):
    """A stand-in for a value inside a transformation. Subclasses supply `aval`, or pass it to `__init__`.

    A tracer with a concrete value returns True from `is_concrete` and the value from `concrete`; Python can then test
    it, as in `if x > 0`.
    """

    __slots__ = ("__weakref__", "_aval", "_trace")

    _trace: Any
    _aval: Any
    is_concrete: ClassVar[bool] = False

    def __init__(self, trace: Any, aval: Any = None) -> None:
        self._trace = trace
        if aval is not None:
            self._aval = aval

    @property
    def aval(self) -> Any:
        """The type of the value; a subclass may have an attribute of this name instead."""
        return self._aval

    @aval.setter
    def aval(self, aval: Any) -> None:
        self._aval = aval

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        register_aval(cls, attrgetter("aval"))

    def describe(self) -> str:
        """A description of the value for messages."""
        return f"a value of type {self.aval.str_short()}"

    def concrete(self) -> Any:
        """The concrete value, if this tracer has one."""
        raise TypeError(f"{self!r} has no value yet")

    @property
    def shape(self) -> Any:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size  # type: ignore[no-any-return]

    @property
    def weak_type(self) -> bool:
        return bool(self.aval.weak_type)

    @property
    def device(self) -> None:
        """None, since a program does not determine its device; functions with an argument `device` accept None."""
        return None

    def __bool__(self) -> bool:
        if self.is_concrete:
            return bool(self.concrete())
        if getattr(self.aval, "size", 1) != 1:
            raise ambiguous_truth(self)
        raise self._refusal(TracerBoolConversionError, "bool")

    def _value(self, asked: str, kind: type[TypeError] = ConcretizationTypeError) -> Any:
        """The concrete value, if this tracer has one."""
        if self.is_concrete:
            return self.concrete()
        raise self._refusal(kind, asked)

    def __index__(self) -> int:
        return self._value("index", TracerIntegerConversionError).__index__()  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return int(self._value("int"))

    def __float__(self) -> float:
        return float(self._value("float"))

    def __complex__(self) -> complex:
        return complex(self._value("complex"))

    def __format__(self, spec: str) -> str:
        return format(self._value("format"), spec) if spec else str(self)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._refusal(TracerArrayConversionError, "array")

    def _host(self, asked: str) -> np.ndarray[Any, Any]:
        return np.asarray(self._value(asked))

    def tolist(self) -> Any:
        """The value as nested Python lists, if this tracer has one."""
        return self._host("list").tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of the value, if this tracer has one."""
        return self._host("bytes").tobytes(order)

    def _refusal(self, kind: type[TypeError], asked: str) -> TypeError:
        """The error for a conversion to a Python or NumPy value; if the tracer has escaped, it reports that."""
        return kind(tracer_message(self, asked)) if self._trace.alive else escaped(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval.str_short()}>"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise self._refusal(ConcretizationTypeError, "pickle")


for _name in "addressable_data delete devices is_deleted on_device_size_in_bytes unsafe_buffer_pointer".split():
    setattr(Tracer, _name, _only_of_arrays(_name))
for _name in "addressable_shards committed global_shards is_fully_addressable is_fully_replicated".split():
    setattr(Tracer, _name, property(_only_of_arrays(_name)))


def escaped(tracer: Tracer) -> UnexpectedTracerError:
    """The error for a tracer that is used outside its trace, usually after the trace has ended."""
    provenance = tracer._trace.provenance(tracer)
    known = f"Encountered an unexpected tracer: {tracer.describe()}"
    origin = f" {provenance}\n" if provenance else "\n"
    where = tracer._trace.transformation
    if tracer._trace.alive:
        return UnexpectedTracerError(
            f"{known} inside {where} was used by a function that runs outside {where}, such as one with custom "
            f"derivatives, or a callback.{origin}Pass it to that function as an argument instead of closing over it."
        )
    return UnexpectedTracerError(
        f"{known} escaped from {where} and was used after the end of that transformation.{origin}"
        "Return values from the transformed function instead of storing them in globals, attributes or lists."
    )
