"""Checks of rules: of operands and results against the type rules of primitives, and of transpose rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import dtypes, rules
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, NO_VALUE, get_aval, same_type
from primax.core.cache import epoch
from primax.core.cache_keys import params_key
from primax.core.config import check_rules
from primax.core.diagnostics import rule_error, shorten
from primax.core.trace_state import thread
from primax.core.trusted_modules import is_proven
from primax.interpreters.rule_calls import not_array, require_list, type_of
from primax.interpreters.tangents import UndefinedPrimal, Zero, instantiate_zeros

_types = rules.abstract_eval_rules.functions
_ALL_BUT_WEAKNESS = frozenset({"vma"})


class NeedsRuleChecks(dict[Any, bool]):
    """For each primitive whether to check its rules against its type rule: True unless its plugin is proven."""

    def __missing__(self, primitive: Any) -> bool:
        rules.loader.discover()
        self[primitive] = outside = not is_proven(primitive.module)
        return outside


needs_rule_checks = NeedsRuleChecks()


class Typed(dict[Any, bool]):
    """For each primitive whether it has a type rule, in this epoch; a rule that is registered later counts."""

    def __init__(self) -> None:
        super().__init__()
        epoch.listeners.append(self.clear)

    def __missing__(self, primitive: Any) -> bool:
        primitive.used = True  # a rule that is registered later then starts another epoch
        self[primitive] = has_rule = bool(primitive.has_type_rule())
        return has_rule


typed = Typed()


class RuleCheck:
    """The promised types of the results of one application, against which the results of rules are checked.

    Args:
      primitive: the primitive.
      avals: the types of its results.
      signature: identifies this check in the primitive's record.
    """

    __slots__ = ("avals", "primitive", "signature")

    def __init__(self, primitive: Any, avals: Sequence[Any], signature: tuple[Any, ...] | None) -> None:
        self.primitive = primitive
        self.avals = avals
        self.signature = signature

    def compare(self, table: Any, returned: Any) -> None:
        """Check results against the promised types.

        Args:
          table: the table of the rule that returned them.
          returned: a value, or a list of values if the primitive has multiple results.

        Raises:
          RuleError: the results differ in number, shape or dtype; with `check_rules`, also in weak type.
        """
        primitive = self.primitive
        if primitive.multiple_results:
            require_list(table, primitive, returned)
            outs = returned
            if len(outs) != len(self.avals):
                text = f"returned {len(outs)} results, but {type_rule_of(primitive)} returns {len(self.avals)}"
                raise rule_error(table, primitive, text)
        else:
            outs = [returned]
        ignored = _ALL_BUT_WEAKNESS if check_rules.value else ALL_BUT_SHAPE_AND_DTYPE
        for i, (x, want) in enumerate(zip(outs, self.avals, strict=True)):
            have = type_of(table, primitive, x)
            if not same_type(have, want, ignored):
                which = f" as result {i}" if primitive.multiple_results else ""
                text = f"returned {_show(have, want)}{which}, but by {type_rule_of(primitive)} it is"
                raise rule_error(table, primitive, f"{text} {_show(want, have)}")
        if self.signature is not None and not check_rules.value:
            primitive._accepted.put(self.signature, True)


def _show(aval: Any, other: Any) -> str:
    """A type, with its weakness if two types differ only in that."""
    text = str(aval.str_short())
    if text != other.str_short():
        return text
    return f"{text} of weak type" if getattr(aval, "weak_type", False) else f"{text} of strong type"


def type_rule_of(primitive: Any) -> str:
    """The kind of the type rule, and its place."""
    primitive = primitive.form_of or primitive
    table = rules.abstract_eval_rules
    if primitive not in table.functions:
        table = rules.effectful_abstract_eval_rules
    provenance = table.provenance.get(primitive)
    return f"its {table.kind} rule" + (f" ({provenance.file}:{provenance.line})" if provenance else "")


def rule_check(primitive: Any, args: Sequence[Any], params: dict[str, Any], key: Any = (), what: int = 0) -> Any:
    """The check of a rule for these operands; None if it was checked before, or if the primitive has no type rule.

    Args:
      primitive: the primitive.
      args: its operands.
      params: its parameters.
      key: `params_key` of the parameters.
      what: the number of the transformation or check, which is part of the signature.

    Raises:
      Exception: any error of the type rule for invalid operands.
      TypeError: a parameter cannot be part of a key, usually because it is an array.
    """
    if primitive not in _types and not typed[primitive]:
        return None
    try:
        # Only a hash of the parameters is kept: a key would keep inner programs alive.
        signature = (hash((key, what)), thread.config, *[get_aval(x) for x in args])
    except TypeError:
        signature = None
    if signature in primitive._accepted:
        return None
    return RuleCheck(primitive, primitive.result_types(tuple(map(get_aval, args)), params)[0], signature)


def require_operands(primitive: Any, args: Sequence[Any], params: dict[str, Any], what: int) -> Any:
    """Raise the error of a primitive's type rule for invalid operands; the rule runs once for each signature.

    Args:
      primitive: the primitive.
      args: its operands.
      params: its parameters.
      what: the number of the transformation.

    Returns:
      The check of the results; None if this signature was checked before.
    """
    return rule_check(primitive, args, params, params_key(params) if params else (), what)


def check_results(table: Any, primitive: Any, args: Sequence[Any], params: dict[str, Any], returned: Any) -> None:
    """Check the results of a transformation's rule against the primitive's type rule; for `check_rules`.

    Raises:
      RuleError: the results differ from it.
    """
    if primitive.has_type_rule():
        avals = tuple(map(get_aval, args))
        RuleCheck(primitive, primitive.result_types(avals, params)[0], None).compare(table, returned)


def check_transpose(rule: Callable[..., Any], eqn: Any, ct: Any, args: Sequence[Any], returned: Sequence[Any]) -> None:
    """Check the results of a transpose rule against its requirements.

    Args:
      rule: the rule.
      eqn: the equation, with its `primitive` and `params`.
      ct: the cotangents in the call.
      args: the arguments in the call, with placeholders for the unknown ones.
      returned: the results of the call.

    Raises:
      RuleError: a cotangent, or a symbolic zero, has another type than its argument; the cotangent of an unknown
        argument is missing, or a known argument has one; or the cotangents for zeros are not zero.
    """
    table, primitive = rules.transpose_rules, eqn.primitive
    for i, (x, c) in enumerate(zip(args, returned, strict=True)):
        if type(x) is not UndefinedPrimal:
            if c is not None and type(c) is not Zero:
                must = f"must return None for its argument {i}, which is known"
                raise rule_error(table, primitive, f"{must}, got {shorten(c)}")
            continue
        if c is None:
            text = f"returned None for its argument {i}, which needs a cotangent"
            raise rule_error(table, primitive, f"{text}; return ad.Zero(x.aval) if the cotangent is zero")
        try:
            have = c.aval if type(c) is Zero else get_aval(c)
        except NO_VALUE as error:
            raise not_array(table, primitive, c) from error
        if have.shape != x.aval.shape or have.dtype != x.aval.dtype:
            text = f"returned a cotangent of type {have.str_short()} for its argument {i}"
            raise rule_error(table, primitive, f"{text}, of type {x.aval.str_short()}")
    if not thread.trace.tracing:
        _check_zero(rule, eqn, ct, args)


def _check_zero(rule: Callable[..., Any], eqn: Any, ct: Any, args: Sequence[Any]) -> None:
    """Check that the rule maps zeros to zeros, as linear functions do; NaNs may come from infinite known values."""
    several = eqn.primitive.multiple_results
    zeros = [instantiate_zeros(Zero(c.aval if type(c) is Zero else get_aval(c))) for c in (ct if several else [ct])]
    returned = rule(zeros if several else zeros[0], *args, **eqn.params)
    for i, (x, c) in enumerate(zip(args, returned, strict=True)):
        if type(x) is not UndefinedPrimal or c is None or type(c) is Zero or not dtypes.is_inexact(x.aval.dtype):
            continue
        value = np.asarray(c)
        bad = (value != 0) & ~np.isnan(value)
        if np.any(bad):
            raise rule_error(
                rules.transpose_rules,
                eqn.primitive,
                f"is not linear: for zero cotangents it returns {value[bad].flat[0]} for its argument {i}",
            )
