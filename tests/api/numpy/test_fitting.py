"""Polynomials from roots and points agree with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.linspace(0, 3, 7).astype(np.float32)
Y = (X**2 - 2 * X + 0.1 * np.sin(9 * X)).astype(np.float32)
COLUMNS = np.stack([Y, 3 * X], 1)


def agree(got: Any, want: Any, rtol: float = 1e-3) -> None:
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=1e-3)


def test_polynomials_have_their_roots() -> None:
    zeros = np.array([1.0, -2.0, 0.5])
    agree(pnp.poly(zeros), np.poly(zeros))
    agree(pnp.poly(np.array([1j, -1j])), np.poly(np.array([1j, -1j])))
    agree(pnp.poly(np.array([[1.0, 2], [3, 4]])), np.poly(np.array([[1.0, 2], [3, 4]])))
    agree(pnp.poly(np.zeros(0)), 1.0)
    for p in ([0.0, 2, -6, 4, 0, 0], [1.0, 0, 1], [3.0], [0.0, 0]):
        agree(np.sort_complex(np.asarray(pnp.roots(np.array(p)))), np.sort_complex(np.roots(p)))


def test_roots_can_be_traced_behind_zeros() -> None:
    found = px.jit(lambda p: pnp.roots(p, strip_zeros=False))(np.float32([0, 1, -3, 2, 0]))
    assert np.isnan(np.asarray(found)[-1])
    agree(np.sort_complex(np.asarray(found)[:-1]), np.array([0, 1, 2], complex))
    with pytest.raises(
        px.errors.ConcretizationTypeError, match=r"(?s)roots: .* on the values of p,.* strip_zeros=False"
    ):
        px.jit(pnp.roots)(X)


def test_quotients_and_remainders_are_those_of_numpy() -> None:
    u, v = np.array([1.0, 2, 3, 5]), np.array([2.0, 1])
    agree(pnp.polydiv(u, v, trim_leading_zeros=True), np.polydiv(u, v))
    agree(pnp.polydiv(u, v)[1], np.array([0, 0, 0, np.polydiv(u, v)[1][0]]))
    agree(pnp.polydiv(v, u), (np.zeros(1), v))


def test_polynomials_near_points_are_those_of_numpy() -> None:
    for options in ({}, {"w": X + 1}, {"cov": True}, {"cov": "unscaled", "w": X + 1}):
        agree(pnp.polyfit(X, Y, 2, **options), np.polyfit(X, Y, 2, **options))
    agree(pnp.polyfit(X, COLUMNS, 1, cov=True), np.polyfit(X, COLUMNS, 1, cov=True))
    found = pnp.polyfit(X, Y, 2, full=True)
    agree(found[:4], np.polyfit(X, Y, 2, full=True)[:4])
    slope = px.grad(lambda y: pnp.polyfit(X, y, 1)[0])(Y)
    agree(slope, (X - X.mean()) / ((X - X.mean()) ** 2).sum())


def test_zeros_are_trimmed_as_by_numpy() -> None:
    x = np.zeros((4, 5), int)
    x[1, 2] = x[2, 3] = 1
    agree(pnp.trim_zeros(x), x[1:3, 2:4])
    agree(pnp.trim_zeros(x, trim="F"), x[1:, 2:])
    agree(pnp.trim_zeros(x, trim="b", axis=0), x[:3])
    agree(pnp.trim_zeros(x, axis=(0, -1)), x[1:3, 2:4])
    agree(pnp.trim_zeros(x[0]), np.trim_zeros(x[0]))
    agree(pnp.trim_zeros(x[0, 0]), x[0, 0])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: pnp.poly(np.ones((2, 3))), ValueError, r"poly: .* a square matrix with elements, got shape \(2, 3\)"),
        (lambda: pnp.roots(COLUMNS), ValueError, r"roots: p must be of rank 1, got f32\[7,2\]"),
        (lambda: pnp.polydiv(X, X[:0]), ValueError, r"u and v must be .* got shapes \(7,\) and \(0,\)"),
        (lambda: pnp.polyfit(X, Y, -1), ValueError, "deg must not be negative, got -1"),
        (lambda: pnp.polyfit(COLUMNS, Y, 1), TypeError, r"x must be of rank 1 with elements, got f32\[7,2\]"),
        (lambda: pnp.polyfit(X, Y[:3], 1), TypeError, r"y must be of shape \(7,\) or \(7, k\), got \(3,\)"),
        (lambda: pnp.polyfit(X, Y, 1, w=X[:2]), TypeError, r"w must be of shape \(7,\), got \(2,\)"),
        (lambda: pnp.polyfit(X[:3], Y[:3], 2, cov=True), ValueError, "more than 3 points to scale covariances, got 3"),
        (lambda: pnp.trim_zeros(X, "x"), ValueError, "trim must be 'f', 'b' or 'fb', got 'x'"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
