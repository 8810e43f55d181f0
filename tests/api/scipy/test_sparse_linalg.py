"""Krylov's methods against dense solves, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.scipy.sparse import linalg
from primax.test_util import check_grads

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

RNG = np.random.default_rng(0)
RAW = RNG.normal(size=(12, 12))
SYMMETRIC = RAW @ RAW.T / 12 + np.eye(12)
GENERAL = RAW / 4 + 2 * np.eye(12)
HERMITIAN = SYMMETRIC + 0.2j * (RAW - RAW.T)
B = RNG.normal(size=12)
SOLVERS = {
    "cg": (linalg.cg, SYMMETRIC, HERMITIAN),
    "bicgstab": (linalg.bicgstab, GENERAL, GENERAL + 0.2j * RAW.T),
    "gmres": (linalg.gmres, GENERAL, GENERAL + 0.2j * RAW.T),
    "incremental": (
        lambda *args, **options: linalg.gmres(*args, solve_method="incremental", **options),
        GENERAL,
        GENERAL + 0.2j * RAW.T,
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_are_those_of_dense_solves(name):
    solve, real, complex_ = SOLVERS[name]
    for A, rtol in ((real, 1e-9), (complex_, 1e-9), (real.astype(np.float32), 1e-3)):
        b = B.astype(A.dtype)
        with px.enable_x64(A.dtype != np.float32):
            tol = 1e-12 if rtol < 1e-6 else 1e-6
            for operator in (A, lambda x, A=A: pnp.matmul(A, x)):
                x, info = solve(operator, b, tol=tol)
                assert info == 0
                assert x.dtype == A.dtype
                np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=rtol, atol=rtol)
            inverse = np.diag(1 / np.diag(A))
            x = px.jit(lambda b, A=A, M=inverse, tol=tol: solve(A, b, M=M, x0=pnp.ones_like(b), tol=tol)[0])(b)
            np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_have_derivatives_and_are_mapped(name):
    solve, A, complex_ = SOLVERS[name]

    def solved(A, b, M=None):
        A = (A + A.T) / 2 if name == "cg" else A
        return solve(lambda x: A @ x, b, tol=1e-13, M=M)[0]

    with px.enable_x64(True):
        order = 1 if solve in (SOLVERS["gmres"][0], SOLVERS["incremental"][0]) else 2  # the same rules, larger programs
        check_grads(solved, (A, B), order, rtol=1e-5)
        check_grads(
            lambda A, b: solve(lambda x: A @ x, b, tol=1e-13, M=lambda x: x / pnp.diag(A))[0], (A, B), 1, ("rev",)
        )
        rows = np.stack([B, 2 * B, 0 * B])
        mapped = px.vmap(lambda b: solved(A, b))(rows)
        np.testing.assert_allclose(mapped, np.linalg.solve(A, rows.T).T, rtol=1e-8, atol=1e-10)
        scales = np.array([1.0, 2.0])
        mapped = px.vmap(lambda s: solve(lambda x: s * (A @ x), B, s * B, tol=1e-13, M=lambda x: x / s)[0])(scales)
        np.testing.assert_allclose(mapped[1], np.linalg.solve(2 * A, B), rtol=1e-8)
        slope = px.grad(lambda b: solve(complex_, b, tol=1e-13)[0].real.sum(), holomorphic=False)
        cotangent = slope(B.astype(complex))
        np.testing.assert_allclose(cotangent, np.linalg.solve(complex_.T, np.ones(12)), rtol=1e-7)


def test_trees_are_solved():
    def operator(x):
        return {"a": 3 * x["a"] + x["b"].sum(), "b": 2 * x["b"] + x["a"][0]}

    b = {"a": pnp.array([1.0, 2.0]), "b": pnp.array([[3.0]])}
    for solve in (linalg.gmres, linalg.bicgstab):
        x, _ = solve(operator, b, tol=1e-6)
        back = operator(x)
        np.testing.assert_allclose(back["a"], b["a"], rtol=1e-5)
        np.testing.assert_allclose(back["b"], b["b"], rtol=1e-5)
    x, _ = linalg.cg(lambda x: 2 * x, 4)
    assert (float(x), linalg.cg(lambda x: x, pnp.zeros(0))[0].shape) == (2.0, (0,))


def test_steps_are_limited_and_few_suffice():
    counted = []

    def operator(x):
        px.debug.callback(lambda: counted.append(1))
        return SYMMETRIC.astype(np.float32) @ x

    b = B.astype(np.float32)
    full, short = linalg.cg(operator, b, tol=1e-6)[0], linalg.cg(operator, b, maxiter=2)[0]
    px.effects_barrier()
    assert not np.allclose(full, short, rtol=1e-3)
    np.testing.assert_allclose(
        linalg.gmres(GENERAL.astype(np.float32), b, restart=4, tol=1e-5)[0],
        np.linalg.solve(GENERAL, B),
        rtol=1e-3,
        atol=1e-4,
    )
    assert linalg.cg(SYMMETRIC.astype(np.float32), 0 * b)[0].tolist() == [0.0] * 12
    assert linalg.gmres(np.zeros((3, 3), np.float32), np.ones(3, np.float32))[0].tolist() == [0.0] * 3


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_say_whether_they_found_a_solution_and_take_vectors_of_any_size(name):
    solve, A, _ = SOLVERS[name]
    A, b = A.astype(np.float32), B.astype(np.float32)

    def both(size):
        def solved(b):
            return solve(A, b)

        (x, info), pull = px.vjp(solved, b * size)
        ones = pnp.full_like(b, size)
        return x, info, pull((ones, np.zeros((), px.dtypes.float0)))[0]

    sizes = np.float32([1, 1e-20, 1e20, 1e-30])
    xs, infos, cotangents = px.jit(px.vmap(both))(sizes)
    assert infos.tolist() == [0] * 4
    for x, ct, size in zip(xs, cotangents, sizes, strict=True):
        np.testing.assert_allclose(x / size, np.linalg.solve(A, b), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(ct / size, np.linalg.solve(A.T, np.ones(12)), rtol=1e-3, atol=1e-4)
    options = {"restart": 2} if name in ("gmres", "incremental") else {}
    assert solve(A, b, maxiter=2, tol=1e-6, **options)[1] == 2
    assert solve(A * np.nan, b)[1] == -1
    x, info = solve(A, 0 * b, x0=b)
    assert (x.tolist(), int(info)) == ([0.0] * 12, 0)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: linalg.cg(3.0, B), TypeError, "cg: A must be a function or a matrix, got 3.0"),
        (lambda: linalg.cg(RAW[:3], B), ValueError, "cg: A must be a square matrix"),
        (lambda: linalg.cg(RAW, B[:4]), ValueError, "cg: b must be a vector of length 12"),
        (lambda: linalg.cg(lambda x: x, "b"), TypeError, "cg: b must be arrays in containers"),
        (lambda: linalg.gmres(lambda x: x, B, x0=[B]), ValueError, "gmres: x0 must have the structure of b"),
        (lambda: linalg.gmres(lambda x: x, B, x0=B[:2]), ValueError, "gmres: x0 must have the shapes of b"),
        (lambda: linalg.bicgstab(lambda x: x[:2], B), ValueError, "bicgstab: what A returns must have the shapes of b"),
        (lambda: linalg.gmres(RAW, B, restart=0), ValueError, "gmres: restart must be positive, got 0"),
        (lambda: linalg.gmres(RAW, B, solve_method="dense"), ValueError, "gmres: solve_method must be"),
        (lambda: linalg.cg(RAW, B, M="M"), TypeError, "cg: M must be a function or a matrix"),
        (lambda: linalg.cg(RAW, B, maxiter=1.5), TypeError, "cg: maxiter must be an integer"),
    ],
)
def test_wrong_systems_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("solve", [linalg.cg, linalg.bicgstab, linalg.gmres])
def test_what_is_not_a_solution_is_not_reported_as_one(solve) -> None:
    A = np.diag([1.0, 2.0, 3.0]).astype(np.float32)
    b = np.ones(3, np.float32)
    infos = px.jit(px.vmap(lambda b: solve(A, b)[1]))(np.stack([b, b * np.inf, b * np.nan]))
    assert infos.tolist() == [0, -1, -1]
    assert solve(A, b, maxiter=0)[1] == 1
