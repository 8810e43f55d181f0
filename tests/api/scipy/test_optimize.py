"""Minimization of functions whose minima are known."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.scipy.optimize import minimize

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

METHODS = ("BFGS", "l-bfgs-experimental-do-not-rely-on-this")


def rosenbrock(x):
    return pnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def barrier(x):
    return pnp.sum(x - 10 * pnp.log(x))


CASES = {
    "rosenbrock": (rosenbrock, np.full(5, -1.2), np.ones(5)),
    "himmelblau": (himmelblau, np.zeros(2), np.array([3.0, 2.0])),
    "barrier": (barrier, np.array([1.0, 1e-2]), np.array([10.0, 10.0])),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_minima_are_found(method, name):
    function, start, minimum = CASES[name]
    found = minimize(function, start.astype(np.float32), method=method)
    np.testing.assert_allclose(found.x, minimum, rtol=2e-3)
    assert int(found.nfev) >= int(found.nit) > 3
    assert int(found.nit) < 200
    with px.enable_x64(True):
        found = px.jit(lambda x: minimize(function, x, method=method, tol=1e-7))(start)
        np.testing.assert_allclose(found.x, minimum, rtol=1e-5)
        # Both are near 0 at some of the minima, as differences of numbers that are rounded.
        np.testing.assert_allclose(found.jac, px.grad(function)(found.x), rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(found.fun, function(found.x), rtol=1e-7, atol=1e-14)
        assert (bool(found.success), int(found.status)) == (True, 0)
        assert {x.dtype for x in (found.status, found.nfev, found.njev, found.nit)} == {pnp.asarray(1).dtype}
        if method == "BFGS":
            np.testing.assert_allclose(
                found.hess_inv, np.linalg.inv(px.hessian(function)(found.x)), rtol=0.5, atol=0.05
            )
        else:
            assert found.hess_inv is None


def test_arguments_are_passed_and_problems_are_mapped():
    found = minimize(lambda x, a, b: ((x - a) ** 2).sum() + b, pnp.zeros(2), (3.0, 1.0), method="bfgs")
    np.testing.assert_allclose((found.x[0], found.fun), (3, 1), rtol=1e-4)
    targets = pnp.array([1.0, -2.0])
    solved = px.vmap(lambda a: minimize(lambda x: ((x - a) ** 4).sum(), pnp.zeros(2), method="BFGS").x)(targets)
    np.testing.assert_allclose(solved[:, 0], targets, atol=0.05)


def test_the_reason_of_an_end_is_told():
    limited = minimize(rosenbrock, pnp.zeros(3), method="BFGS", options={"maxiter": 2})
    assert (int(limited.status), bool(limited.success), int(limited.nit)) == (1, False, 2)
    assert int(minimize(lambda x: pnp.sum(x) * np.nan, pnp.zeros(3), method="BFGS").status) == 4
    downhill = minimize(lambda x: -pnp.sum(x), pnp.zeros(2), method="BFGS", options={"maxiter": 30})
    assert not downhill.success
    # Rounding stops it where no gradient is small enough.
    stopped = minimize(rosenbrock, pnp.full(8, -1.2), method=METHODS[1], options={"gtol": 0.0})
    assert int(stopped.status) in (3, 5)
    np.testing.assert_allclose(stopped.x, 1, rtol=1e-2)
    assert int(minimize(rosenbrock, pnp.ones(2), method="BFGS").nit) == 0


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: minimize(1.0, pnp.zeros(2), method="BFGS"), TypeError, "minimize: fun must be callable"),
        (lambda: minimize(barrier, pnp.zeros(2), 1.0, method="BFGS"), TypeError, "minimize: args must be a tuple"),
        (lambda: minimize(barrier, pnp.zeros(2), method="CG"), ValueError, 'minimize: method must be "BFGS"'),
        (lambda: minimize(barrier, np.arange(2), method="BFGS"), TypeError, "minimize: x0 must be floating"),
        (lambda: minimize(barrier, pnp.ones((2, 2)), method="BFGS"), ValueError, "minimize: x0 must be a vector"),
        (lambda: minimize(lambda x: x, pnp.ones(2), method="BFGS"), ValueError, "minimize: fun must return a number"),
        (
            lambda: minimize(barrier, pnp.ones(2), method="BFGS", options={"disp": 1}),
            TypeError,
            "options must be among",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
def test_steps_in_16_bits_stay_finite(method):
    for start in ([1.277, 3.005, 2.435], [-2.5], [0.1, 4.0]):
        found = minimize(lambda x: ((x - 1) ** 2).sum(), np.array(start, np.float16), method=method)
        np.testing.assert_allclose(np.asarray(found.x, np.float32), 1, atol=5e-3)
