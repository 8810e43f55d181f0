"""The caches of programs of Python functions, which last as long as the functions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from primax.core.text.debug_info import program_info
from primax.extend.provisional.tracing import Cache, thread
from primax.interpreters.call_signature import check_outputs

if TYPE_CHECKING:
    from primax.extend.programs import Program

__all__ = [
    "check_outputs",
    "explain_miss",
    "new_programs",
    "program_info",
    "programs_of",
    "remember",
    "surroundings",
]


_programs: weakref.WeakKeyDictionary[Any, Cache] = weakref.WeakKeyDictionary()


def programs_of(fun: Callable[..., Any]) -> Cache | None:
    """The programs of a function, shared by all its users; None if the function is not hashable."""
    try:
        found = _programs.get(fun)
        if found is None:
            found = _programs[fun] = new_programs()
        return found
    except TypeError:
        return None


def new_programs() -> Cache:
    """A cache for the programs of one function."""
    return Cache(1024)


def remember(programs: Cache, key: Any, make: Callable[[], Program]) -> Program:
    """The cached program of a signature, or a new one.

    A program that closes over values of a transformation is forgotten when the transformation ends.
    """
    found: Program | None = programs.find(key)
    if found is not None:
        if not found.tracers or found.alive():
            return found
        programs.drop(key)
    program: Program = programs.get_or_make(key, make)
    for trace in {x._trace for x in program.tracers}:
        trace.at_end(programs, key)
    return program


def explain_miss(name: str, key: Any, programs: Cache) -> None:
    """Log how a call that will be traced differs from earlier calls; see the option `explain_cache_misses`."""
    explain = import_module("primax.interpreters.runtime.debug.explain").explain
    explain(name, key, [*programs, *programs.older])


def surroundings() -> tuple[Any, ...]:
    """The part of a program's key for options and mapped axes."""
    axes = thread.axes
    return thread.config, tuple(axes.items()) if axes else ()
