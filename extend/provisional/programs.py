"""The caches of programs of Python functions, which last as long as the functions."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from primax.core.option import Settings, options_of_traces
from primax.core.text.debug_info import program_info
from primax.extend.provisional.tracing import Cache, thread
from primax.interpreters.call_signature import check_outputs

if TYPE_CHECKING:
    from primax.extend.programs import Program

__all__ = [
    "changed_option",
    "check_outputs",
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


def surroundings() -> tuple[Any, ...]:
    """The part of a program's key for options and mapped axes."""
    axes = thread.axes
    return thread.config, tuple(axes.items()) if axes else ()


def changed_option(new: Settings, old: Settings) -> str:
    """The first difference between the options of two keys, in words."""
    *values, contexts = new.values
    *old_values, old_contexts = old.values
    for option, now, before in zip(options_of_traces, values, old_values, strict=True):
        if now != before:
            return f"the option {option.short_name} is {now!r}, earlier {before!r}"
    if contexts != old_contexts:
        shown, old_shown = ({c.short_name: value for c, value in pairs} for pairs in (contexts, old_contexts))
        return f"the user contexts are {shown}, earlier {old_shown}"
    return "the options were set again"
