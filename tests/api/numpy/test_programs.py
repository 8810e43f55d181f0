"""Functions of several operations are one program outside of programs, and their equations inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rulecheck import equations

import primax as px
import primax.numpy as pnp
from primax.numpy.programs import one_program

pytestmark = pytest.mark.usefixtures("in_32_bits")


def test_a_function_is_traced_once_outside_of_programs() -> None:
    seen = []

    @one_program(static=1)
    def scaled(x: Any, factor: float) -> Any:
        seen.append(type(x).__name__)
        return pnp.sin(x) * factor

    x = pnp.ones(3)
    for _ in range(3):
        scaled(x, 2.0)
    assert seen == ["StagingTracer"]
    np.testing.assert_allclose(scaled(x, 3.0), 3 * np.sin(np.ones(3, np.float32)), rtol=1e-6)
    assert len(seen) == 2


def test_programs_hold_the_equations_of_small_functions() -> None:
    x = np.ones((2, 3), np.float32)
    assert equations(pnp.mean, x) == ["reduce_sum", "div"]
    assert equations(lambda x: pnp.clip(x, 0, 1), x) == ["max", "min"]
    assert equations(lambda x: pnp.where(x, x, 1.0), x) == ["ne", "broadcast_in_dim", "select_n"]


def test_derivatives_outside_of_programs_see_the_equations_too() -> None:
    x = pnp.asarray([1.0, 2.0, 4.0])
    gradient = px.grad(lambda x: pnp.var(x) + pnp.where(x > 1, x, 0).sum() + (x % 3).sum())(x)
    np.testing.assert_allclose(
        gradient, np.array([2 * (1 - 7 / 3) / 3 + 1, 2 * (2 - 7 / 3) / 3 + 2, 2 * (4 - 7 / 3) / 3 + 2]), rtol=1e-5
    )
    assert px.vmap(pnp.mean)(pnp.ones((2, 3))).tolist() == [1.0, 1.0]
