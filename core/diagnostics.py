"""Error messages for missing, wrong or failing rules, with the rule, its place, the user's line, and remedies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from primax.core.errors import MissingRuleError, RuleError
from primax.core.source_info import called, is_internal, recorded_frames, running_frames, scope_of, user_lines
from primax.core.trace_state import thread

# How to give a rule in one line, by kind; other kinds use `registry.define`.
_GIVE = {
    "impl": "{p}.def_impl(rule)",
    "abstract_eval": "{p}.def_abstract_eval(rule)",
    "effectful_abstract_eval": "{p}.def_effectful_abstract_eval(rule)",
    "jvp": "ad.primitive_jvps[{p}] = rule",
    "transpose": "ad.primitive_transposes[{p}] = rule",
    "batch": "batching.primitive_batchers[{p}] = rule",
    "axis_batch": "batching.axis_primitive_batchers[{p}] = rule",
    "lowering": "mlir.register_lowering({p}, rule)",
}

# Possible replacements for `rule`.
_DERIVE = {
    "jvp": ("derive.linear, if it is jointly linear in all its arguments",),
    "batch": ("derive.loop, which binds it once for each element", "batching.vectorized({p}), if it is elementwise"),
}
_FROM_IMPL = ("abstract_eval", "jvp", "transpose", "lowering")

_HINTS = {
    "transpose": "Only linear primitives can be transposed: a jvp rule applied it to a tangent, or it was bound in a "
    "function\n  passed to linear_transpose.",
}

_NOTE = "while applying the "


def user_line(source: Any = None) -> str:
    """The user's line that led to the current operation, as `file:line (function)`.

    Args:
      source: the traceback of an equation, if it is known; by default that of the current equation.

    Returns:
      The innermost line outside primax in that traceback, or in the running program if the traceback has none. If that
      line is in a rule, the text also has the line of the equation for which the rule is applied.
    """
    if source is None:
        source = thread.source
    line = user_lines(recorded_frames(source)) or user_lines(running_frames()) or "an unknown line"
    scope = scope_of(source) or thread.scope
    return f"{line}, in the scope {scope}" if scope else line


def missing_text(
    table: Any,
    primitive: Any,
    have: Iterable[str],
    hints: Iterable[str] = (),
    *,
    asked: str = "",
    source: Any = None,
    bound: bool = True,
) -> str:
    """The message about a missing rule: the user's line, the transformation, the existing rules, and remedies.

    Args:
      table: the table of the missing rule.
      primitive: the primitive without the rule.
      have: the kinds of rules that it has.
      hints: more lines, such as inactive plugins that could supply the rule.
      asked: the name of the operation that needs the rule; by default the current transformation.
      source: the traceback of the equation, if it is known.
      bound: whether the primitive was bound; False for a question about rules.
    """
    name = getattr(primitive, "name", str(primitive))
    if not asked and getattr(thread.trace, "tracing", False):
        asked = thread.trace.transformation
    place = [f"  Bound at {user_line(source)}{asked and f'; {asked} needs it'}."] if bound else []
    reason = table.unsupported.get(primitive)
    if reason is not None:
        owner = getattr(primitive, "plugin", None) or "no plugin"
        return "\n".join([f"{name} ({owner}) does not support {table.kind}: {reason}", *place])
    kind, have = table.kind, list(have)
    lines = [
        f"no {kind} rule for primitive {name!r} ({_home(primitive)}).",
        *place,
        f"  It has these rules: {', '.join(have) or 'none'}.",
        *([f"  {_HINTS[kind]}"] if kind in _HINTS else []),
        *(f"  {hint}" for hint in hints),
        *_remedies(kind, f"{name}_p" if name.isidentifier() else "p", table.signature, have),
        *([f"  {table.remedy}"] if table.remedy else []),
    ]
    return "\n".join(lines)


def _remedies(kind: str, variable: str, signature: str, have: list[str]) -> list[str]:
    """The remedies for a missing rule, for authors."""
    lines = []
    if kind in _GIVE:
        lines.append(f"  Give it:    {_GIVE[kind].format(p=variable)}, or in its plugin's primax_register")
        lines.append(f"              registry.define({variable}, {kind}=rule),")
    else:
        lines.append(f"  Give it:    registry.define({variable}, {kind}=rule) in its plugin's primax_register,")
    lines.append(f"              where rule is {signature}.")
    derivations = list(_DERIVE.get(kind, ()))
    if kind in _FROM_IMPL and "impl" in have:
        derivations.append("derive.from_impl, if its impl is written in primax operations")
    if derivations:
        text = ";\n              or ".join(derivations).format(p=variable)
        lines.append(f"  Derive it:  rule may be {text}.")
    lines.append(f'  Or declare: registry.define({variable}, unsupported={{"{kind}": "the reason"}}).')
    return lines


def _home(primitive: Any) -> str:
    """The plugin of a primitive, or else the module that made it."""
    plugin = getattr(primitive, "plugin", None)
    if plugin:
        return f"from {plugin}"
    module = getattr(primitive, "module", "")
    return f"from no plugin, made in {module}" if module else "from no plugin"


def rule_error(table: Any, key: Any, text: str, source: Any = None) -> RuleError:
    """The error for a rule with a wrong result.

    Args:
      table: the table of the rule.
      key: the key of the rule in the table.
      text: continues the sentence `the jvp rule of sin`.
      source: the traceback of the equation, if it is known.
    """
    place = _place(table, key)
    return RuleError(
        f"the {table.kind} rule of {name_of_key(key)} {text}."
        f"{place and f'{chr(10)}  The rule is at {place}.'}\n  Bound at {user_line(source)}."
    )


def add_rule_note(error: BaseException, table: Any, key: Any, source: Any = None) -> None:
    """Add a note to an exception, if it needs one: the innermost rule that raised it, and the user's line."""
    if any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ())):
        return
    place = _place(table, key)
    if not place and source is None and thread.source is None:
        return  # the traceback leads from the user's line to a rule of primax
    if not place and (isinstance(error, MissingRuleError | RuleError) or user_line(source) in str(error)):
        return
    at = place and f" ({place})"
    itself = f"; does that rule bind {name_of_key(key)} itself?" if isinstance(error, RecursionError) and place else ""
    values = f"; {_SEES_TYPES}" if _asks_a_type_for_its_value(error, table) else ""
    error.add_note(f"{_NOTE}{table.kind} rule of {name_of_key(key)}{at}, bound at {user_line(source)}{itself}{values}")


_SEES_TYPES = "a type rule is given types, not values: use x.shape and x.dtype"


def _asks_a_type_for_its_value(error: BaseException, table: Any) -> bool:
    """Whether an error of a type rule shows that it computes with types as if they were arrays."""
    known = table.kind in ("abstract_eval", "effectful_abstract_eval") and isinstance(error, TypeError | AttributeError)
    return known and "'ShapedArray'" in str(error)


def of_call() -> str:
    """The text ` (an argument of f)` for the function that the user called; empty if it is not known."""
    function = called()
    return function and f" (an argument of {function})"


def encodable(text: str) -> str:
    """A text with `?` for characters that UTF-8 cannot encode, such as half of a surrogate pair."""
    return text.encode(errors="replace").decode()


def shorten(x: Any) -> str:
    """A value in one line of at most 80 characters."""
    try:
        text = " ".join(repr(x).split())
    except RecursionError:
        return f"<{type(x).__name__} too deep to be shown>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def name_of_key(key: Any) -> str:
    """The text of a table's key: of a primitive, or for lowerings also of a pair of a primitive and a platform."""
    return f"{key[0]} for platform {key[1]!r}" if isinstance(key, tuple) else str(key)


def _place(table: Any, key: Any) -> str:
    """Where a rule is written; empty for the rules of primax itself."""
    provenance = table.provenance.get(key)
    if provenance is None or is_internal(provenance.file):
        return ""
    return f"{provenance.file}:{provenance.line}"
