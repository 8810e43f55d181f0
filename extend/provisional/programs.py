"""The caches of programs of Python functions, which last as long as the functions."""

from __future__ import annotations

from typing import Any

from primax.core.option import Settings, options_of_traces
from primax.extend.provisional.tracing import thread
from primax.interpreters.call_signature import Signature, check_outputs
from primax.interpreters.runtime.pipeline import new_programs, programs_of, remember, trace

__all__ = [
    "Signature",
    "changed_option",
    "check_outputs",
    "new_programs",
    "programs_of",
    "remember",
    "surroundings",
    "trace",
]


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
