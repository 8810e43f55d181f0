"""Rules as authors give them: checked, derived where a derivation was given, and by table key."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from primax.core import rules
from primax.core.arguments import nearest
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables
from primax.extend.provisional.sharding_rule import implied_rule

__all__ = ["require_callable", "require_known", "require_reasons", "require_samples", "require_type", "rules_to_enter"]


def _on(key: Any) -> str:
    return f" for platform {key[1]!r}" if isinstance(key, tuple) else ""


def rules_to_enter(
    where: str, primitive: Primitive, given_rules: Mapping[str, Any], unsupported: Mapping[str, str]
) -> dict[tuple[str, Any], Callable[..., Any]]:
    """Rules by kind and table key, checked, and derived where a derivation was given.

    Args:
      where: the called function, for messages.
      primitive: the primitive of the rules.
      given_rules: rules and derivations by kind; lowerings may be mappings from platforms.
      unsupported: reasons by kind.

    Raises:
      TypeError: a kind is unknown, or given and unsupported; a rule is not a function; a reason is not a text.
    """
    require_known(f"{where}: rule kinds", (*given_rules, *unsupported), rule_tables)
    entries = {}
    for (kind, key), rule in _flatten(where, primitive, given_rules):
        resolved = rules.resolved(where, rule, primitive, kind, given_rules)
        if not callable(resolved):
            raise TypeError(
                f"{where}: the {kind} rule{_on(key)} must be a function {rule_tables[kind].signature}, got {rule!r}"
            )
        if kind in unsupported:
            raise TypeError(f"{where}: {kind} is given and declared unsupported")
        entries[kind, key] = resolved
    implied = implied_rule({kind: rule for (kind, _), rule in entries.items()})
    if implied is not None and "sharding" not in unsupported:
        entries.setdefault(("sharding", primitive), implied)
    for kind, reason in unsupported.items():
        if not (isinstance(reason, str) and reason):
            raise TypeError(f"{where}: the reason why {kind} is unsupported must be text, got {reason!r}")
    return entries


_PLACE = r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*"


def require_samples(where: str, samples: Iterable[Any]) -> None:
    """Check the sources of samples.

    Raises:
      TypeError: a source is neither a `Sample`, nor a function, nor a text `"module:attribute"`.
    """
    for sample in samples:
        if isinstance(sample, str):
            if not re.fullmatch(_PLACE, sample):
                raise TypeError(f"{where}: samples must say where they are as 'module:attribute', got {sample!r}")
        elif not (callable(sample) or isinstance(sample, import_module("primax.extend.core.samples").Sample)):
            raise TypeError(f"{where}: samples must be Samples or functions that return some, got {sample!r}")


def _flatten(where: str, primitive: Primitive, given_rules: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Any], Any]]:
    """Rules by kind and table key, with a separate key for each platform."""
    for kind, rule in given_rules.items():
        if rule is None:
            continue
        if kind == "lowering" and isinstance(rule, Mapping):
            for platform, one in rule.items():
                if one is None:
                    continue
                if platform is not None and not isinstance(platform, str):
                    raise TypeError(f"{where}: platforms of lowerings must be strings or None, got {platform!r}")
                yield (kind, primitive if platform is None else (primitive, platform)), one
        else:
            yield (kind, primitive), rule


def require_known(where: str, names: Iterable[str], known: Collection[str]) -> None:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        listed = sorted(known) if isinstance(known, frozenset) else list(known)
        hint = nearest(unknown, listed)
        if hint and len(listed) > 40:
            raise TypeError(f"{where} must be known names, got {unknown!r}{hint}")
        raise TypeError(f"{where} must be among {', '.join(listed)}, got {unknown!r}{hint}")


def require_reasons(where: str, reasons: Any) -> dict[str, str]:
    """A mapping from kinds of rules to reasons.

    Raises:
      TypeError: it is not one.
    """
    require_type(f"{where} must be a mapping from kinds of rules to reasons", reasons, Mapping)
    require_known(f"{where}: rule kinds", reasons, rule_tables)
    for kind, reason in reasons.items():
        if not (isinstance(reason, str) and reason):
            raise TypeError(f"{where} must give the reason for {kind} as text, got {reason!r}")
    return dict(reasons)


def require_type(must: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{must}, got {value!r}")


def require_callable(where: str, functions: Mapping[str, Any]) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{where}: {name} must be a function, got {function!r}")
