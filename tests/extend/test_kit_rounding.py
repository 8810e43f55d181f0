"""The kit and rounding: results that are zero by cancellation alone fail no check, and small mistakes do.

The terms of the derivative of x / |x| are as large as 1 and cancel, so that no tolerance relative to the result holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import define_primitive, derive
from primax.extend.testing import Report, Sample, iter_checks
from primax.extend.testing.programs import rounding

DERIVED = dict.fromkeys(("abstract_eval", "jvp", "batch", "lowering"), derive.from_impl)


def _unit(x: Any) -> Any:
    return x / pnp.sqrt(pnp.sum(x**2))


def _variance(x: Any) -> Any:
    return pnp.mean(x * x) - pnp.mean(x) ** 2


def _softmax(x: Any) -> Any:
    powers = pnp.exp(x - pnp.max(x))
    return powers / pnp.sum(powers)


RIGHT = {
    "a unit vector with one element": (_unit, np.array([0.7]), ["linearity", "own_dtype", "numbers"]),
    "a unit vector of rank 0": (_unit, np.float32(0.37), ["linearity", "transpose", "own_dtype", "numbers"]),
    "an odd power at 0": (lambda x: x**3, np.array(0.0), ["jvp"]),
    "a signed square at 0": (lambda x: x * abs(x), np.array(0.0), ["jvp"]),
    "unit vectors in rows": (
        lambda x: x / pnp.linalg.norm(x, axis=-1, keepdims=True),
        np.float32([[0.3], [0.7]]),
        ["second_derivatives"],
    ),
    "a variance of bools, and of bfloat16": (_variance, np.float32([1.1, 1.2, 1.3]), ["dtypes", "bad_input"]),
    "values that float16 cannot hold": (lambda x: pnp.log1p(x**2), np.array([0.0, 1e8]), ["dtypes"]),
    "a branch cut on the imaginary axis": (lambda x: pnp.log1p(x**2), np.array([0.0, 1.0]), ["complex_derivatives"]),
    "probabilities below the smallest number": (_softmax, np.float32([100, 0, -100]), ["transpose", "own_dtype"]),
}


@pytest.mark.parametrize("case", RIGHT)
def test_rounding_alone_is_no_failure(case: str) -> None:
    impl, x, checks = RIGHT[case]
    primitive = define_primitive("right", impl=impl, samples=[Sample([x])], **DERIVED)
    report = Report(check.run() for check in iter_checks(primitive, only=checks))
    assert len(report.passed) == len(checks), str(report)


def _wrong_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    size = pnp.sqrt(pnp.sum(x**2))
    return x / size, t / size - 1.001 * x * pnp.sum(x * t) / size**3


@pytest.mark.parametrize("x", [np.array([0.7]), np.float32(0.37)], ids=str)
def test_a_mistake_beside_terms_that_cancel_is_found(x: Any) -> None:
    rules = {**DERIVED, "jvp": _wrong_jvp}
    primitive = define_primitive("wrong", impl=_unit, samples=[Sample([x])], **rules)
    report = Report(check.run() for check in iter_checks(primitive, only=["jvp"]))
    assert "differs from central differences: expected" in report.failed[0].message


def test_the_bound_of_rounding_is_that_of_the_terms_and_no_jump() -> None:
    x = np.array([0.5, 3.0, 1e4])
    cancelled, steps = rounding(lambda x, y: [x - y, np.floor(x)], [x, x])
    assert np.all((cancelled > x * 1e-16) & (cancelled < x * 1e-13))
    assert steps.tolist() == [0.0, 0.0, 0.0]


def test_values_far_below_1_are_compared() -> None:
    rules = {**DERIVED, "batch": lambda args, dims: (1.01e-25 * args[0] ** 2, dims[0])}
    primitive = define_primitive(
        "small", impl=lambda x: 1e-25 * x**2, samples=[Sample([np.float32([0.3, 2])])], **rules
    )
    (outcome,) = [check.run() for check in iter_checks(primitive, only=["batch"])]
    assert "expected 9.0000008e-27, got 9.0900003e-27" in outcome.message


def test_arrays_of_extended_dtypes_are_arguments() -> None:
    primitive = define_primitive("keys", impl=lambda key: px.random.key_data(key), samples=[Sample([px.random.key(0)])])
    for check in iter_checks(primitive, only=["shapes", "bad_input"]):
        assert check.run().message == "its arrays are of extended dtypes, which the kit takes as they are"
