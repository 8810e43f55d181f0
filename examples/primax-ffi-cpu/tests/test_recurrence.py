"""The recurrence against a loop in NumPy, and all of its rules by primax's conformance kit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from primax_ffi_cpu import recurrence, smooth

import primax as px
import primax.numpy as pnp
from primax.extend.testing import conformance

test_the_rules_conform = conformance("ffi_cpu")


def by_loop(x: Any, a: Any, reverse: bool = False) -> Any:
    x, a = np.broadcast_arrays(x, a)
    y, carry = np.zeros_like(x), np.zeros_like(x[..., 0])
    steps = range(x.shape[-1])
    for t in reversed(steps) if reverse else steps:
        y[..., t] = carry = a[..., t] * carry + x[..., t]
    return y


@pytest.mark.parametrize("reverse", [False, True])
def test_the_recurrence_is_that_of_a_loop(reverse: bool) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(3, 50)).astype(np.float32)
    a = random.uniform(-1, 1, 50).astype(np.float32)
    assert np.allclose(recurrence(x, a, reverse=reverse), by_loop(x, a, reverse), atol=1e-5)
    assert np.allclose(recurrence(x.T, 0.5, reverse=reverse), by_loop(x.T, np.float32(0.5), reverse), atol=1e-5)


def test_smoothing_can_be_fitted_by_its_gradient() -> None:
    steps = np.float32([0, 0, 1, 1, 1, 1, 0, 0])
    wanted = smooth(steps, 0.3)

    @px.jit
    def loss(alpha: Any) -> Any:
        return pnp.sum((smooth(steps, alpha) - wanted) ** 2)

    alpha = np.float32(0.9)
    for _ in range(100):
        alpha = alpha - 0.1 * px.grad(loss)(alpha)
    assert abs(float(alpha) - 0.3) < 1e-3


def test_other_dtypes_and_scalars_are_refused() -> None:
    with pytest.raises(TypeError, match="recurrence: x and a must be real, got dtypes complex64 and float32"):
        recurrence(np.ones(3, np.complex64), np.float32(1))
    with pytest.raises(ValueError, match="must have an axis, got two scalars"):
        recurrence(1.0, 0.5)


def test_a_program_shows_the_call() -> None:
    text = px.jit(recurrence).lower(np.ones(3, np.float32), np.ones(3, np.float32)).as_text()
    assert "@primax_ffi_cpu_recurrence" in text
    assert "reverse = false" in text
