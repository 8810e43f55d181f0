"""The rule that a failure is about: by the frames of an exception, or by its text."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from primax.core.errors import MissingRuleError, RuleError
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables
from primax.core.source_info import is_internal

__all__ = ["blamed_kinds", "foreign_rule", "place_of", "rules_with_places"]

_SAYS = r"(?:the|no) (\w+) rule (?:of|for primitive) '?(?:{})(?![\w:])"
_NOTES = r"while applying the (\w+) rule of (?:{})(?![\w:])"


def blamed_kinds(primitive: Primitive, kinds: tuple[str, ...], error: BaseException | None) -> tuple[str, ...]:
    """The kinds of rules of a primitive to look at, the likeliest first.

    Args:
      primitive: the primitive.
      kinds: those that the check tests.
      error: the exception that the check met; None if it compared results.
    """
    kind = (
        None if error is None else _named(primitive, error) or _innermost(primitive, error) or _noted(primitive, error)
    )
    return kinds if kind is None else (kind, *(other for other in kinds if other != kind))


def _named(primitive: Primitive, error: BaseException) -> str | None:
    """The kind of rule that an error of primax says is wrong or missing."""
    return _kind_in(_SAYS, primitive, str(error)) if isinstance(error, RuleError | MissingRuleError) else None


def _noted(primitive: Primitive, error: BaseException) -> str | None:
    """The kind in the note that primax adds to errors of rules."""
    return next((kind for note in getattr(error, "__notes__", ()) if (kind := _kind_in(_NOTES, primitive, note))), None)


def _kind_in(pattern: str, primitive: Primitive, text: str) -> str | None:
    names = "|".join(map(re.escape, dict.fromkeys((str(primitive), primitive.name))))
    match = re.match(pattern.format(names), text)
    return match[1] if match and match[1] in rule_tables else None


def _innermost(primitive: Primitive, error: BaseException) -> str | None:
    """The kind of the innermost rule of a primitive among the frames of an exception."""
    kind = None
    for rules in _frames(error):
        kind = next((name for name, key in rules if _owner(key) is primitive), kind)
    return kind


def foreign_rule(primitive: Primitive, error: BaseException | None) -> tuple[str, Any] | None:
    """The kind and the key of the innermost rule that raised an exception, if it is a rule of another primitive.

    Rules of primax, and type rules, which refuse wrong operands, do not count.
    """
    found = None
    for rules in () if error is None else _frames(error):
        mine = any(_owner(key) is primitive for _, key in rules)
        others = [(name, key) for name, key in rules if name not in _TYPES and not is_internal(_file(name, key))]
        found = None if mine else others[0] if len(others) == 1 else found
    return found


_TYPES = ("abstract_eval", "effectful_abstract_eval")


def _file(kind: str, key: Any) -> str:
    return rule_tables[kind].provenance[key].file


def _owner(key: Any) -> Any:
    return key[0] if isinstance(key, tuple) else key


def _frames(error: BaseException) -> Iterator[list[tuple[str, Any]]]:
    """For each frame that runs a rule, outermost first: the kinds and keys of the rules that it may be."""
    codes: dict[CodeType, list[tuple[str, Any]]] = {}
    for kind, table in rule_tables.items():
        for key, rule in list(table.functions.items()):
            for code in _codes(rule):
                codes.setdefault(code, []).append((kind, key))
    while error.__cause__ is not None and not error.__traceback__:
        error = error.__cause__
    for frame, _ in traceback.walk_tb(error.__traceback__):
        rules = codes.get(frame.f_code, [])
        if len(rules) > 1:  # a factory made rules of several primitives
            rules = [rule for rule in rules if _belongs(frame, _owner(rule[1]))] or []
        if rules:
            yield rules


def _belongs(frame: FrameType, primitive: Any) -> bool:
    """Whether a primitive is among the variables of a frame of a rule from a factory, or of its caller."""
    callers = [frame, *([frame.f_back] if frame.f_back is not None else [])]
    return any(value is primitive for each in callers for value in each.f_locals.values())


def _codes(rule: Any) -> Iterator[CodeType]:
    """The code of a rule, and of the functions that it wraps."""
    for _ in range(100):  # an object that wraps itself has no innermost function
        code = getattr(rule, "__code__", None)
        if code is None and not isinstance(rule, type):
            code = getattr(vars(type(rule)).get("__call__"), "__code__", None)
        if isinstance(code, CodeType):
            yield code
        rule = getattr(rule, "func", None) or getattr(rule, "__wrapped__", None)
        if rule is None:
            return


def rules_with_places(primitive: Primitive, kinds: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The rules of some kinds of a primitive as messages name them, each with its provenance."""
    for kind in dict.fromkeys(kinds):
        for key, provenance in rule_tables[kind].provenance.items():
            if key is primitive:
                yield kind, provenance
            elif isinstance(key, tuple) and key[0] is primitive:
                yield f"{kind}[{key[1]}]", provenance


def place_of(error: BaseException | None) -> str:
    """The innermost line outside the kernel that an exception went through."""
    own = other = ""
    for frame, line in traceback.walk_tb(None if error is None else error.__traceback__):
        module = frame.f_globals.get("__name__") or ""
        if module.partition(".")[0] in sys.stdlib_module_names or module.startswith(_KERNEL):
            continue
        other = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
        if not module.startswith("primax."):
            own = other
    return own or other


_KERNEL = ("primax.core.", "primax.interpreters.", "primax.extend.", "numpy", "jaxlib")
