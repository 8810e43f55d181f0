"""Calls of rules, with checks of their results."""

from __future__ import annotations

from typing import Any

from primax.core.avals import NO_VALUE, get_aval
from primax.core.cache import epoch
from primax.core.diagnostics import add_rule_note, rule_error, shorten
from primax.core.errors import RuleError
from primax.core.source_info import is_internal
from primax.core.trace import Tracer, flag, thread


def type_of(table: Any, key: Any, x: Any) -> Any:
    """The type of a value from a rule.

    Raises:
      RuleError: the value is not an array, or is a tracer of a transformation that has ended.
    """
    try:
        aval = get_aval(x)
    except NO_VALUE as error:
        raise not_array(table, key, x) from error
    if isinstance(x, Tracer) and not x._trace.alive:
        raise escaped_tracer_error(table, key, x)
    return aval


def not_array(table: Any, key: Any, x: Any) -> RuleError:
    """The error for a rule that returned a value that is not an array."""
    return rule_error(table, key, f"must return arrays, got {shorten(x)}")


def escaped_tracer_error(table: Any, key: Any, x: Tracer) -> RuleError:
    """The error for a rule that returned a tracer of a transformation that has ended."""
    return rule_error(
        table,
        key,
        f"returned {x.describe()} that had escaped from {x._trace.transformation}; "
        "a rule must not store values between calls",
    )


class ExternalRules(dict[Any, bool]):
    """For each primitive whether its rule of one kind is external or missing; only such rules are checked."""

    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table = table
        epoch.listeners.append(self.clear)

    def __missing__(self, primitive: Any) -> bool:
        provenance = self.table.provenance.get(primitive)
        self[primitive] = external = provenance is None or not is_internal(provenance.file)
        return external


def require_list(table: Any, primitive: Any, returned: Any) -> None:
    """Raise an error if a rule for a primitive with multiple results did not return a list."""
    if not isinstance(returned, list | tuple):
        raise rule_error(
            table, primitive, f"must return a list, since multiple_results is True, got {shorten(returned)}"
        )


def call_rule(
    parent: Any, table: Any, primitive: Any, rule: Any, *args: Any, params: dict[str, Any], here: Any = None
) -> Any:
    """The result of a transformation's rule, called with the outer trace as the current one.

    If `here` is given, its source is for the equations of this rule only, and is removed afterwards.
    """
    before = thread.trace
    thread.trace = parent
    flagged = before.tracing
    if flagged is not parent.tracing:
        flag(not flagged)
    try:
        return rule(*args, **params)
    except Exception as error:
        if here is not None:
            here.source = None  # the traceback of the error leads to the rule
        add_rule_note(error, table, primitive)
        raise
    finally:
        if here is not None:
            here.source = None
        thread.trace = before
        if flagged is not parent.tracing:
            flag(flagged)


def apply_rule(table: Any, primitive: Any, trace: Any, args: Any, params: dict[str, Any]) -> Any:
    """The result of a rule `(trace, args, params)` that replaces the default behavior of a primitive."""
    try:
        out = table.functions[primitive](trace, args, params)
    except Exception as error:
        add_rule_note(error, table, primitive)
        raise
    if primitive.multiple_results:
        require_list(table, primitive, out)
    return out
