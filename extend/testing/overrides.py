"""The check of overrides: a rule gives the same as the one that it replaces, unless its plugin declares otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from primax.core.avals import ShapedArray
from primax.core.primitive import Primitive
from primax.core.rules import RuleTable, rule_tables
from primax.extend.host.contributions import declared_differences
from primax.extend.testing.batching import Mapped
from primax.extend.testing.case import Case
from primax.extend.testing.causes import replaced_rule
from primax.extend.testing.evaluation import eager, tolerance
from primax.extend.testing.invariants import differences
from primax.extend.testing.programs import Program
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import difference

__all__ = ["check_override", "overridden"]


def overridden(primitive: Primitive) -> Iterator[tuple[RuleTable, Any]]:
    """The rules of a primitive that replace a rule of another author, as their tables and keys."""
    for table in rule_tables.values():
        for key in list(table.replaced):
            if (key[0] if isinstance(key, tuple) else key) is primitive and key in table.functions:
                provenance = table.sources[key]
                if provenance.replaced is not None and provenance.replaced.plugin != provenance.plugin:
                    yield table, key


def check_override(case: Case) -> None:
    """A rule that replaces another plugin's gives the same results, unless `define(..., differs=)` says why not."""
    reasons = []
    compared = False
    for table, key in overridden(case.primitive):
        reason = _reason_not_to_compare(case, table, key)
        if not reason:
            reason = _compare(case, table, key)
        reasons.append(reason)
        compared = compared or not reason
    if not compared:
        raise NotRun("; ".join(reasons) or "no rule replaces one of another plugin")


def _reason_not_to_compare(case: Case, table: RuleTable, key: Any) -> str:
    kind = table.kind
    declared = declared_differences.get(case.primitive, {}).get(kind)
    if declared is not None:
        return f"the {kind} rule is declared to differ: {declared}"
    if kind not in _WAYS:
        return f"{kind} rules are not compared with those that they replace"
    if isinstance(key, tuple) and key[1] != "cpu":
        return f"the {kind} rule for {key[1]} is compared on {key[1]} only"
    if kind in _DERIVATIVES and (case.sample.invariants is not None or case.sample.singular):
        return "derivatives are not unique for this sample"
    return ""


def _compare(case: Case, table: RuleTable, key: Any) -> str:
    """Compare a rule with the one that it replaces.

    Returns:
      Why the latter cannot be used for this sample; empty if it can, and both agree.

    Raises:
      Failed: they differ.
    """
    results = _WAYS[table.kind]
    with replaced_rule(case.primitive, table.kind, key, table.replaced[key]):
        try:
            wants = results(_again(case))
        except Exception as error:  # the override may exist because the earlier rule raises
            return f"the replaced {table.kind} rule does not run: {type(error).__name__}: {error}"
    place = f"the one that it replaces, {table.sources[key].replaced}"
    try:
        gots = results(_again(case))
    except NotRun as reason:
        return str(reason)
    except Exception as error:
        text = f"the {table.kind} rule raises an error, unlike {place}: {type(error).__name__}: {error}"
        raise Failed(text, table.kind) from error
    off = _difference(case, table.kind, gots, wants)
    if off:
        raise Failed(
            f"the {table.kind} rule differs from {place}: {off}\n"
            f"if this is meant, say why: registry.define({case.primitive.name}_p, ..., override=True, "
            f"differs={{{table.kind!r}: reason}})",
            table.kind,
        )
    return ""


def _again(case: Case) -> Case:
    return Case(case.primitive, case.sample, case.label, case.siblings)


def _difference(case: Case, kind: str, gots: Sequence[Any], wants: Sequence[Any]) -> str:
    """How two lists of results differ, in words; empty if they do not."""
    if len(gots) != len(wants):
        return f"expected {len(wants)} results, got {len(gots)}"
    if kind in ("impl", "lowering"):
        off = differences(case, gots, wants, case.native.args, lambda dtype: tolerance(case, dtype))
        return next((f"{what}: {text}" for what, text in off), "")
    for i, (got, want) in enumerate(zip(gots, wants, strict=True)):
        if isinstance(want, np.ndarray):
            text = difference(got, want, 30 * tolerance(case, want.dtype))
        else:
            text = "" if got == want else f"expected {want}, got {got}"
        if text:
            return f"result {i}: {text}"
    return ""


def _of_types(case: Case) -> list[Any]:
    return [str(aval) for aval in case.native.out_avals]


def _of_impl(case: Case) -> list[Any]:
    return eager(case.native)


def _of_lowering(case: Case) -> list[Any]:
    return Program(case.bind, case.native.args, x64=case.native.x64)(*case.native.args)


def _of_jvp(case: Case) -> list[Any]:
    setting = case.native
    if case.reverse_only:
        return setting.backward(*setting.args, *setting.cotangents)
    return setting.forward(*setting.args, *setting.tangents)


def _of_transpose(case: Case) -> list[Any]:
    setting = case.native
    return setting.backward(*setting.args, *setting.cotangents)


def _of_batch(case: Case) -> list[Any]:
    setting = case.native
    elements = [case.other_args(setting, k) for k in range(2)]
    where = tuple((i, 0) for i, aval in enumerate(setting.avals) if isinstance(aval, ShapedArray))
    mapped = Mapped(setting.bind, elements, {2: [where]}, compiled=case.compiles, x64=setting.x64)
    return mapped[2, where]


_DERIVATIVES = frozenset(("jvp", "transpose"))
_WAYS: dict[str, Callable[[Case], list[Any]]] = {
    "impl": _of_impl,
    "abstract_eval": _of_types,
    "effectful_abstract_eval": _of_types,
    "lowering": _of_lowering,
    "jvp": _of_jvp,
    "transpose": _of_transpose,
    "batch": _of_batch,
    "axis_batch": _of_batch,
}
