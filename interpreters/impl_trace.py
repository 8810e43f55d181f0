"""Evaluation: the bottom trace, which computes results by impl rules."""

from __future__ import annotations

from typing import Any

from primax.core import config, rules
from primax.core.cache_keys import params_key
from primax.core.call_errors import refuse_call
from primax.core.diagnostics import add_rule_note
from primax.core.errors import MissingRuleError
from primax.core.host_values import from_host
from primax.core.trace import Trace, enter, install_eval_trace, thread
from primax.interpreters.rule_calls import ExternalRules, require_list, type_of
from primax.interpreters.rule_checks import rule_check

_functions = rules.impl_rules.functions
_has_external_rule = ExternalRules(rules.impl_rules)


class ImplTrace(Trace):
    """The bottom trace of a kernel without a runtime: each primitive is computed by its impl rule."""

    __slots__ = ()

    tracing = False
    transformation = "evaluation"

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        return self.evaluate(primitive, args, params, params_key(params) if params else ())

    def evaluate(self, primitive: Any, args: Any, params: dict[str, Any], key: Any) -> Any:
        """The results of a primitive.

        Args:
          primitive: the primitive.
          args: its arguments.
          params: its parameters.
          key: the key of the parameters.

        Raises:
          MissingRuleError: it has no impl rule.
          RuleError: its rule returned an invalid result.
        """
        impl = _functions.get(primitive) or rules.impl_rules.get_or_load(primitive)
        if impl is None:
            return self.without_impl(primitive, args, params)
        external = _has_external_rule[primitive]
        checked = external or config.check_rules.value
        check = rule_check(primitive, args, params, key) if checked else None
        before = thread.trace
        if before is not self:
            enter(self)
        try:
            out = impl(*args, **params)
        except Exception as error:
            if isinstance(error, TypeError):
                refuse_call(primitive, impl, args, params)
            add_rule_note(error, rules.impl_rules, primitive)
            raise
        finally:
            if before is not self:
                enter(before)
        if primitive.multiple_results:
            require_list(rules.impl_rules, primitive, out)
        for x in out if primitive.multiple_results else (out,):
            if type(x) not in known_results:
                type_of(rules.impl_rules, primitive, x)
        if check is not None:
            check.compare(rules.impl_rules, out)
        if not external:
            return out
        return [from_host(x) for x in out] if primitive.multiple_results else from_host(out)

    def without_impl(self, primitive: Any, args: Any, params: dict[str, Any], programs: Any = None) -> Any:
        """The results of a primitive without its impl rule; a runtime compiles its lowering, and keeps `programs`."""
        raise MissingRuleError(rules.explain_missing(rules.impl_rules, primitive))


# The classes of the arrays of runtimes: their types need no check.
known_results: set[type] = set()

install_eval_trace(ImplTrace(None))
