"""The conformance kit passes sound rules, and catches each of many wrong ones by the check that is meant for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from faulty_rules import FAULTS
from sound_rules import TOYS, WAVE, X, registered

import primax.numpy as pnp
from primax.extend import core
from primax.extend.interpreters import mlir
from primax.extend.testing import Report, Sample, check_primitive, iter_checks


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: toy.name)
def test_sound_rules_pass_all_checks(toy):
    with registered(toy) as p:
        report = check_primitive(p)
    assert report.ok
    assert len(report.passed) > len(report.not_run)


def _reports(p: core.Primitive, check: str) -> Report:
    return Report([each.run() for each in iter_checks(p, only=[check])])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.make.__name__)
def test_a_fault_is_caught(fault):
    made: list[Any] = []

    def rule(p: core.Primitive) -> Any:
        made.append(fault.make(p))
        return made[0]

    toy = replace(fault.toy, make=lambda p: {**fault.toy.make(p), **_replacing(fault.kind, rule(p))})
    with registered(toy) as p:
        report = _reports(p, fault.check)
    assert report.failed, report
    wrong = made[0]["effectful_abstract_eval"] if isinstance(made[0], dict) else made[0]
    for outcome in report.failed:
        assert outcome.check == fault.check
        assert f"{toy.name} (toys), check {fault.check!r}: " in outcome.message
        if wrong is None:
            assert f"no {fault.kind} rule" in outcome.message
        else:
            assert f"{_code(wrong).co_filename}:{_code(wrong).co_firstlineno}" in outcome.message


def _replacing(kind: str, rule: Any) -> dict[str, Any]:
    return rule if isinstance(rule, dict) else {kind: rule}


def _code(rule: Any) -> Any:
    while hasattr(rule, "func"):
        rule = rule.func
    return rule.__code__


def test_parameters_must_be_hashable():
    with registered(replace(WAVE, samples=(Sample([X], {"factor": [1.5]}),))) as p:
        (outcome,) = _reports(p, "program").failed
    assert "expected hashable parameters, got factor=[1.5]" in outcome.message


def test_parameters_that_change_nothing_are_reported():
    ignoring = mlir.lower_fun(lambda x, *, factor: pnp.sin(x), multiple_results=False)
    with registered(WAVE, lowering=ignoring, impl=None) as p:
        (outcome,) = _reports(p, "parameters").failed  # of two samples, which are compared once
    assert "got the same for factor=1.5 or 0.5" in outcome.message


def test_a_reference_shows_what_no_other_rule_can():
    ignoring = mlir.lower_fun(lambda x, *, factor: pnp.sin(x), multiple_results=False)
    toy = replace(WAVE, samples=(Sample([X], {"factor": 1.5}, reference=lambda x, *, factor: np.sin(x * factor)),))
    with registered(toy, lowering=ignoring, impl=None) as p:
        (outcome,) = _reports(p, "reference").failed
    assert "result 0 of the primitive differs from that of the reference" in outcome.message
    with registered(toy, impl=None) as p:
        assert _reports(p, "reference").ok
