"""Error messages for wrong calls of a primitive, by the signature of one of its rules."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from primax.core.arguments import nearest


def refuse_call(primitive: Any, rule: Any, args: Sequence[Any], params: Mapping[str, Any]) -> None:
    """Raise an error that names a missing or superfluous operand or parameter, if a rule failed for this reason.

    Raises:
      TypeError: there is such an operand or parameter.
    """
    try:
        # A derived rule refers to the function that it is derived from; `inspect` reads partials and objects itself.
        signature = inspect.signature(rule if isinstance(rule, partial) else getattr(rule, "func", rule))
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*args, **params)
    except TypeError:
        if reason := _mismatch(signature, args, params):
            raise TypeError(f"{primitive}: {reason}") from None


def _mismatch(signature: inspect.Signature, args: Sequence[Any], params: Mapping[str, Any]) -> str:
    declared = list(signature.parameters.values())
    plain = [p for p in declared if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in plain if p.default is p.empty and p.name not in params]
    any_count = any(p.kind is p.VAR_POSITIONAL for p in declared)
    if len(args) < len(needed) or (len(args) > len(plain) and not any_count):
        least, most = len(needed), len(plain)
        count = f"{least} or more" if any_count else str(most) if least == most else f"{least} to {most}"
        plural = "s" if most != 1 or any_count else ""
        return f"it must be given {count} operand{plural} by position, and parameters by name, got {len(args)}"
    names = [p.name for p in declared if p.kind is p.KEYWORD_ONLY or (p in plain[len(args) :])]
    unknown = [name for name in params if name not in names]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in declared):
        known = f"parameters must be among {', '.join(names)}" if names else "it takes no parameters"
        return f"{known}, got {unknown[0]}{nearest(unknown[0], names)}"
    missing = [p.name for p in declared if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in params]
    return f"parameter {missing[0]} must be given" if missing else ""
