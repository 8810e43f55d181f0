"""The rules of the primitive, and its values."""

from __future__ import annotations

import numpy as np
import primax as px
import primax.numpy as pnp
import pytest
from primax.extend.testing import conformance

from toeplitz import solve_toeplitz

test_every_rule_holds = conformance("toeplitz")


def test_it_solves() -> None:
    b = pnp.array([1.0, 2.0, 3.0])
    x = solve_toeplitz(pnp.array([4.0, 1.0, 0.5]), pnp.array([4.0, 2.0, 0.0]), b)
    matrix = np.array([[4.0, 2.0, 0.0], [1.0, 4.0, 2.0], [0.5, 1.0, 4.0]])
    np.testing.assert_allclose(x, np.linalg.solve(matrix, b), rtol=1e-5)


def test_the_derivative_is_another_solution() -> None:
    column, row = pnp.array([4.0, 1.0]), pnp.array([4.0, 2.0])
    program = px.make_jaxpr(px.grad(lambda b: solve_toeplitz(column, row, b).sum()))(pnp.ones(2))
    primitives = [eqn.primitive.name for eqn in program.eqns]
    assert primitives.count("solve_toeplitz") == 2  # the solution and its derivative
    assert "lu" not in primitives


def test_other_shapes_are_refused() -> None:
    with pytest.raises(TypeError, match="must be vectors of the same length"):
        solve_toeplitz(pnp.ones(1), pnp.ones(2), pnp.ones(1))
