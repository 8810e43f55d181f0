"""The check that what a program refuses is refused everywhere, with the same error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.extend import core, define_primitive, derive
from primax.extend.core import primitives
from primax.extend.host.contributions import sample_sources
from primax.extend.testing import Outcome, Sample, check_primitive, conformance, iter_checks

X = np.float32([0.3, -1.2])


def _outcome(p: core.Primitive, *args: Any) -> Outcome:
    sample_sources[p] = [Sample(list(args))]
    try:
        *_, outcome = [check.run() for check in iter_checks(p, only=["refusals"])]
    finally:
        del sample_sources[p]
    return outcome


class Narrowing(core.Primitive):
    """Takes one operand more than its rules do."""

    def bind(self, *args: Any, **params: Any) -> Any:
        return super().bind(*args[:2], **params)


class Strict(core.Primitive):
    """Refuses by an error of its own what its rules refuse."""

    def bind(self, *args: Any, **params: Any) -> Any:
        if len(args) != 2:
            raise ValueError("blend: give two operands")
        return super().bind(*args, **params)


def _blend(kind: type[core.Primitive]) -> core.Primitive:
    p = kind("blend")
    p.def_impl(lambda x, y: x * y)
    for name in ("abstract_eval", "jvp", "batch", "lowering"):
        core.rule_tables[name][p] = derive.from_impl
    return p


def test_what_refuses_the_same_everywhere_passes() -> None:
    assert _outcome(_blend(core.Primitive), X, X).status == "passed"
    p = define_primitive("scaled", elementwise=True, impl=lambda x, y: x * y, jvp=derive.from_impl)
    assert _outcome(p, X, X).status == "passed"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Narrowing, "for one argument more: abstract_eval refuses it by TypeError: blend: it must be given 2 operands"),
        (Strict, "but evaluation refuses it by ValueError: blend: give two operands"),
    ],
)
def test_what_refuses_otherwise_is_found(kind: type[core.Primitive], said: str) -> None:
    outcome = _outcome(_blend(kind), X, X)
    assert outcome.status == "failed"
    assert said in outcome.message
    assert "look at its abstract_eval rule" in outcome.message


@pytest.mark.parametrize("name", ["stop_gradient", "sin", "select_n", "concatenate"])
def test_the_primitives_of_primax_refuse_where_they_are_evaluated(name: str) -> None:
    outcomes = [check.run() for check in iter_checks(getattr(primitives, f"{name}_p"), only=["refusals"])]
    assert {outcome.status for outcome in outcomes} == {"passed"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"args": X}, "args must be a list or a tuple of arguments, got array"),
        ({"params": [1]}, "params must be a mapping from names to values, got [1]"),
        ({"name": 3}, "name must be a string, got 3"),
        ({"rtol": "a"}, "rtol must be a number from 0, or None, got 'a'"),
        ({"rtol": -1e-3}, "rtol must be a number from 0, or None, got -0.001"),
        ({"skip": ["jvp"]}, "skip must be a mapping from names of checks to reasons, got ['jvp']"),
        ({"skip": {"jvp": ""}}, "skip must be a mapping from names of checks to reasons"),
        ({"constant": [1]}, "constant must be positions among 1 arguments, got [1]"),
        ({"reference": 3}, "reference must be a function or None, got 3"),
        ({"axes": ["i"]}, "axes must be a mapping from names to sizes, got ['i']"),
    ],
)
def test_a_sample_that_is_none_is_refused_where_it_is_made(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(f"Sample: {said}")):
        Sample(**{"args": [X], **given})


def _none() -> None:
    """What forgets to return samples."""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (_none, "its samples cannot be made: TypeError: samples of blend: _none must return Samples, got None"),
        (lambda: [3], "samples of blend: <lambda> must make Samples, got 3"),
        ("nowhere_at_all:SAMPLES", "its samples cannot be made: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("math:tau", "samples of blend: math:tau must have Samples or functions of it, got 6.28"),
        ("math:nothing", "samples of blend: math:nothing must have Samples or functions of it, got None"),
        ("sys:path", "TypeError: samples of blend: "),
        (lambda: 1 / 0, f"ZeroDivisionError: division by zero\nraised at {__file__}:"),
        (Sample([X, X], skip={"jpv": "why"}), "skip of a sample must name checks, got 'jpv'; did you mean 'jvp'?"),
    ],
)
def test_samples_that_cannot_be_used_are_told_of(source: Any, said: str) -> None:
    p = _blend(core.Primitive)
    sample_sources[p] = [source]
    try:
        (outcome,) = [check.run() for check in iter_checks(p)]
    finally:
        del sample_sources[p]
    assert outcome.status == "failed"
    assert said in outcome.message


def test_check_primitive_refuses_names_that_are_no_checks() -> None:
    with pytest.raises(ValueError, match="check_primitive: skip of a sample must name checks, got 'jpv'"):
        check_primitive(_blend(core.Primitive), Sample([X, X], skip={"jpv": "why"}))


def test_check_primitive_takes_samples_or_arguments() -> None:
    for args, params in (([Sample([X, X]), X], {}), ([Sample([X, X])], {"axis": 0})):
        with pytest.raises(TypeError, match="check_primitive: args must be Samples alone, or arguments and parameters"):
            check_primitive(_blend(core.Primitive), *args, **params)


def test_a_name_of_a_check_stands_for_a_list_of_it() -> None:
    assert {check.name for check in iter_checks(primitives.sin_p, only="jvp")} == {"jvp"}
    checks = conformance(primitives.sin_p, only="jvp").primax_checks()  # type: ignore[attr-defined]
    assert {check.name for check in checks} == {"jvp"}


@pytest.mark.parametrize("count", [0, 2, 4])
def test_elementwise_primitives_say_how_many_operands_they_take(count: int) -> None:
    for bind in (primitives.sin_p.bind, px.jit(primitives.sin_p.bind)):
        with pytest.raises(TypeError, match=f"sin: the number of its operands must be 1, got {count}"):
            bind(*[X] * count)


def test_a_reference_that_returns_nothing_is_told_of() -> None:
    p = _blend(core.Primitive)
    sample_sources[p] = [Sample([X, X], reference=lambda x, y: None)]
    try:
        *_, outcome = [check.run() for check in iter_checks(p, only=["reference"])]
    finally:
        del sample_sources[p]
    assert "the sample's reference must return 1 results, got [None]" in outcome.message
