"""Checks of kinds of rules that plugins make: each table may bring its own."""

from __future__ import annotations

from collections.abc import Callable

from primax.core import config, rules
from primax.core.rules import RuleTable, rule_tables
from primax.core.trace import set_current_trace
from primax.extend.testing.case import Case
from primax.extend.testing.report import NotRun
from primax.interpreters.runtime.eval import eval_trace

__all__ = ["check_of_kind", "further_kinds", "statement_of_kind"]

_OF_PRIMAX = frozenset(table.kind for table in vars(rules).values() if isinstance(table, RuleTable))


def further_kinds() -> list[str]:
    """The kinds of rules that are not primax's own."""
    return [kind for kind in rule_tables if kind not in _OF_PRIMAX]


def statement_of_kind(kind: str) -> str:
    """The statement that the check of a kind tests."""
    return f"The {kind} rule is right, by the check that was given with its table."


def check_of_kind(kind: str) -> Callable[[Case], None]:
    """The check of one kind of rule, as a function of a case."""

    def check(case: Case) -> None:
        table = rule_tables[kind]
        if not case.has(kind):
            reason = table.unsupported.get(case.primitive)
            raise NotRun(f"{kind} is declared unsupported: {reason}" if reason else f"there is no {kind} rule")
        if table.check is None:
            raise NotRun(f"{kind} rules have no check; new_rule_table({kind!r}, ..., check=function) gives one")
        if case.sample.axes:
            raise NotRun("it needs the axes that its sample names")
        native = case.native
        with config.enable_x64(native.x64), set_current_trace(eval_trace):
            table.check(table[case.primitive], case.primitive, list(native.args), dict(case.sample.params))

    return check
