"""Detection of tracers that outlive their transformation: the option `check_tracer_leaks`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from primax.core.errors import UnexpectedTracerError
from primax.core.trace_state import thread

__all__ = ["refuse_leaks"]

_MOST_NAMED = 5


def refuse_leaks(tracer_class: type) -> None:
    """Find the tracers, still alive, of transformations that have ended in this thread since the last search.

    Args:
      tracer_class: the class of tracers.

    Raises:
      UnexpectedTracerError: there are some; the message names them and the objects that hold them.
    """
    ended, thread.ended = thread.ended, ()
    gc.collect()
    for reference in ended:
        trace = reference()
        if trace is None:
            continue
        leaked = [x for x in gc.get_referrers(trace) if isinstance(x, tracer_class)]
        if leaked:
            lines = [f"{trace.transformation} has ended, but {len(leaked)} of its tracers still exist."]
            for i in range(min(len(leaked), _MOST_NAMED)):
                lines += _described(leaked[i], leaked)
            lines.append("Return values from the transformed function instead of storing them elsewhere.")
            raise UnexpectedTracerError("\n".join(lines))


def _described(tracer: Any, leaked: list[Any]) -> Iterator[str]:
    origin = tracer._trace.provenance(tracer)
    yield f"  {tracer!r}: {tracer.describe()}.{' ' + origin if origin else ''}"
    for holder in gc.get_referrers(tracer):
        if holder is not leaked and not _is_running(holder):
            yield f"    It is in {_place(holder, tracer)}."


def _is_running(holder: Any) -> bool:
    """Whether a holder is the frame of a running function, or the generator that makes these lines."""
    return type(holder).__name__ in ("frame", "generator")


def _place(holder: Any, tracer: Any) -> str:
    """A container, and the global name that leads to it, if there is one."""
    name = _global_name(holder)
    if isinstance(holder, dict):
        key = next((key for key, x in holder.items() if x is tracer), None)
        module = _module_of(holder)
        if module is not None:
            return f"the global {key} of {module}"
        owner = next((x for x in gc.get_referrers(holder) if getattr(x, "__dict__", None) is holder), None)
        if owner is not None:
            return f"the attribute {key} of a {type(owner).__name__}"
        return f"a dict{name}, at {key!r}"
    if isinstance(holder, list | tuple):
        index = next(i for i, x in enumerate(holder) if x is tracer)
        return f"a {type(holder).__name__}{name}, at {index}"
    return f"a {type(holder).__name__}{name}"


def _global_name(x: Any) -> str:
    for holder in gc.get_referrers(x):
        if isinstance(holder, dict):
            module = _module_of(holder)
            if module is not None:
                return f", the global {next(key for key, value in holder.items() if value is x)} of {module}"
    return ""


def _module_of(variables: dict[str, Any]) -> str | None:
    module = sys.modules.get(str(variables.get("__name__")))
    return module.__name__ if isinstance(module, ModuleType) and vars(module) is variables else None
