"""Softmax, its logarithm and its denominator do not overflow, and know masks, factors and infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.float32([[1, 1000, 3, 999.5], [-2, -np.inf, 0.5, 1], [-1000, -1001, -1000, -999]])
FINITE = np.maximum(X, -1001)
MASK = np.array([[True, False, True, True], [True, True, False, True], [True, True, False, False]])


def values(module: Any) -> Any:
    def program(x: Any, finite: Any, mask: Any) -> Any:
        nn = module.nn
        weighted = lambda f, **kw: module.grad(lambda x: (f(x, **kw) * np.arange(12.0).reshape(3, 4)).sum())(finite)  # noqa: E731
        return {
            "softmax": [nn.softmax(x), nn.softmax(x, axis=0), nn.softmax(x, axis=(0, 1)), nn.softmax(x, axis=None)],
            "masked softmax": nn.softmax(x, where=mask),
            "log_softmax": [nn.log_softmax(x), nn.log_softmax(x, axis=0), nn.log_softmax(x, where=mask)],
            "logsumexp": [nn.logsumexp(x), nn.logsumexp(x, 1), nn.logsumexp(x, (0, 1), keepdims=True)],
            "masked logsumexp": nn.logsumexp(x, 0, where=mask),
            "weighted logsumexp": [nn.logsumexp(finite, 1, b=np.float32([1, -1, 0, 2]), return_sign=True)],
            "negative logsumexp": nn.logsumexp(finite, 1, b=-1.0),
            "logmeanexp": [nn.logmeanexp(x), nn.logmeanexp(x, 1), nn.logmeanexp(x, 0, mask, keepdims=True)],
            "infinite logsumexp": [nn.logsumexp(x * np.inf, 1), nn.logsumexp(x * 0 - np.inf, 1)],
            "gradients": [weighted(nn.softmax), weighted(nn.log_softmax), weighted(nn.softmax, axis=0)],
            "gradient of logsumexp": module.grad(lambda x: nn.logsumexp(x, 1).sum())(x),
            "second derivatives": module.hessian(lambda x: nn.logsumexp(x, b=finite[0]))(finite[2]),
            "integers": [nn.logsumexp(np.arange(3)), nn.logsumexp(2)],
        }

    return module.jit(program)(X, FINITE, MASK)


def test_values_and_derivatives_are_those_of_jax() -> None:
    ours, theirs = values(px), values(jax)
    for what, wanted in theirs.items():
        found = px.tree.leaves(ours[what])
        for x, y in zip(found, jax.tree.leaves(wanted), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6, err_msg=what)


def test_logsumexp_of_complex_numbers_is_that_of_jax() -> None:
    z = np.complex64([1 + 1j, 2 - 3j])
    np.testing.assert_allclose(px.nn.logsumexp(z), jax.nn.logsumexp(z), rtol=1e-5)
    np.testing.assert_allclose(px.nn.logsumexp(z, b=z), jax.nn.logsumexp(z, b=z), rtol=1e-5)
    for found, wanted in zip(px.nn.logsumexp(z, return_sign=True), jax.nn.logsumexp(z, return_sign=True), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_half_precision_is_summed_in_single() -> None:
    x = np.zeros(4096, np.float16)
    out = px.nn.softmax(x)
    assert out.dtype == np.float16
    np.testing.assert_allclose(out, 1 / 4096)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "logmeanexp"])
def test_an_axis_that_is_not_there_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}: axis must be .* got 2"):
        getattr(px.nn, name)(X, axis=2)


def test_a_weight_of_zero_has_a_derivative() -> None:
    a, b = np.float32([1.0, 2.0, -np.inf]), np.float32([0.0, 1.0, 0.0])
    np.testing.assert_allclose(px.grad(lambda b: px.nn.logsumexp(a, b=b))(b), [np.exp(-1.0), 1, 0], rtol=1e-6)
    huge = np.float32([1000.0, 2.0, np.nan])  # what has no weight does not count in the value
    assert float(px.nn.logsumexp(huge, b=b)) == 2
    np.testing.assert_array_equal(px.grad(px.nn.logsumexp)(huge, b=b), [0, 1, 0])


def test_numbers_that_are_all_minus_infinity_have_equal_parts_of_the_derivative() -> None:
    least = np.full(4, -np.inf, np.float32)
    assert float(px.nn.logsumexp(least)) == -np.inf
    np.testing.assert_array_equal(px.grad(px.nn.logsumexp)(least), np.full(4, 0.25))
    np.testing.assert_array_equal(px.hessian(px.nn.logsumexp)(least), np.eye(4) / 4 - 1 / 16)
