"""Evaluation by impl rules: what they are called with, and what they may return."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from primax.core.avals import ShapedArray
from primax.core.errors import MissingRuleError, RuleError
from primax.core.primitive import Primitive
from primax.core.trace import current_trace, set_current_trace
from primax.interpreters.impl_trace import ImplTrace

X = np.ones(3, np.float32)


def primitive(impl: Any, multiple_results: bool = False) -> Primitive:
    p = Primitive("of_test", multiple_results=multiple_results)
    p.def_impl(impl)
    p.def_abstract_eval(lambda x, **_: [ShapedArray(x.shape, x.dtype)] * 2 if multiple_results else x)
    return p


def evaluated(p: Primitive, *args: Any, **params: Any) -> Any:
    trace = ImplTrace(None)
    with set_current_trace(trace):
        return p.bind(*args, **params)


def test_an_impl_rule_computes_with_the_parameters() -> None:
    np.testing.assert_array_equal(evaluated(primitive(lambda x, *, by: x * by), X, by=3), 3 * X)


def test_an_impl_rule_runs_under_the_evaluating_trace() -> None:
    traces: list[Any] = []
    p = primitive(lambda x: traces.append(current_trace()) or x)
    before = current_trace()
    evaluated(p, X)
    assert isinstance(traces[0], ImplTrace)
    assert current_trace() is before


@pytest.mark.parametrize(
    ("impl", "multiple_results", "message"),
    [
        (lambda x: "text", False, "must return arrays, got 'text'"),
        (lambda x: x, True, "must return a list, since multiple_results is True"),
    ],
)
def test_a_wrong_result_is_refused_by_name(impl: Any, multiple_results: bool, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        evaluated(primitive(impl, multiple_results), X)


def test_an_error_of_a_rule_names_the_rule() -> None:
    def broken(x: Any) -> Any:
        raise ZeroDivisionError("as planned")

    with pytest.raises(ZeroDivisionError) as caught:
        evaluated(primitive(broken), X)
    assert any("impl" in note and "of_test" in note for note in caught.value.__notes__)


def test_without_an_impl_rule_there_is_no_result() -> None:
    with pytest.raises(MissingRuleError, match="of_test"):
        evaluated(Primitive("of_test"), X)


@pytest.mark.parametrize(
    "operands, params, said",
    [
        (2, {"scale": 2}, "it must be given 1 operand by position, and parameters by name, got 2"),
        (1, {}, "parameter scale must be given"),
        (1, {"scale": 2, "other": 3}, "parameters must be among scale, got other"),
    ],
)
def test_a_wrong_call_is_refused_by_the_signature_of_the_impl_rule(
    operands: int, params: dict[str, Any], said: str
) -> None:
    p = primitive(lambda x, *, scale: scale * x)
    with pytest.raises(TypeError, match=f"of_test: {said}"):
        evaluated(p, *[X] * operands, **params)


class Scaled:
    def __call__(self, x: Any, *, scale: Any) -> Any:
        return x + scale


@pytest.mark.parametrize(
    "impl",
    [Scaled(), Scaled().__call__, partial(lambda first, x, *, scale: x + scale, 3)],
    ids=["object", "method", "partial"],
)
def test_an_error_inside_an_impl_rule_is_its_own(impl: Any) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        evaluated(primitive(impl), X, scale=object())
    with pytest.raises(TypeError, match="of_test: it must be given 1 operand by position"):
        evaluated(primitive(impl), X, X, scale=2)
