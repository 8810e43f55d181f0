"""px.scipy.linalg against scipy.linalg."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.scipy import linalg

scipy_linalg = pytest.importorskip("scipy.linalg")

pytestmark = pytest.mark.usefixtures("in_32_bits")

RANDOM = np.random.default_rng(0)
A = (RANDOM.normal(size=(4, 4)) + 3 * np.eye(4)).astype(np.float32)
E = RANDOM.normal(size=(4, 4)).astype(np.float32)
H = (A @ A.T).astype(np.float32)
C = (A + 1j * A.T).astype(np.complex64)
TALL, B, V = (RANDOM.normal(size=shape).astype(np.float32) for shape in ((4, 3), (4, 2), (4,)))

CASES: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda m: m.cholesky(H),
    "lower cholesky": lambda m: m.cholesky(H, lower=True),
    "cho_solve": lambda m: m.cho_solve(m.cho_factor(H), V),
    "cho_solve, complex": lambda m: m.cho_solve(m.cho_factor(C @ C.conj().T, lower=True), B),
    "eigh": lambda m: m.eigh(H, eigvals_only=True),
    "eigh, two matrices": lambda m: m.eigh(A + A.T, H, eigvals_only=True),
    "eigh_tridiagonal": lambda m: m.eigh_tridiagonal(V, V[:3], eigvals_only=True, select="i", select_range=(1, 2)),
    "lu": lambda m: m.lu(TALL),
    "lu, wide": lambda m: m.lu(TALL.T),
    "lu, permuted": lambda m: m.lu(TALL, permute_l=True),
    "lu_factor": lambda m: m.lu_factor(A),
    **{f"lu_solve {trans}": lambda m, trans=trans: m.lu_solve(m.lu_factor(C), B, trans=trans) for trans in (0, 1, 2)},
    **{f"qr {mode}": lambda m, mode=mode: m.qr(TALL, mode=mode) for mode in ("full", "economic", "r")},
    "qr, pivoting": lambda m: m.qr(TALL, pivoting=True),
    "qr_multiply": lambda m: m.qr_multiply(TALL, TALL.T),
    "qr_multiply, left": lambda m: m.qr_multiply(A, V, "left"),
    **{f"solve {kind}": lambda m, kind=kind: m.solve(H, V, assume_a=kind) for kind in ("gen", "sym", "her", "pos")},
    "solve, lower": lambda m: m.solve(np.tril(H), B, lower=True, assume_a="pos"),
    **{
        f"solve_triangular {trans}": lambda m, trans=trans: m.solve_triangular(C, B, trans=trans)
        for trans in (0, 1, 2, "N", "T", "C")
    },
    "solve_triangular, unit": lambda m: m.solve_triangular(A, V, lower=True, unit_diagonal=True),
    "svd": lambda m: m.svd(TALL, compute_uv=False),
    "expm": lambda m: m.expm(A),
    "expm, squared often": lambda m: m.expm(-5 * H),
    "expm, complex stack": lambda m: m.expm(np.stack([C, 0 * C])),
    "expm_frechet": lambda m: m.expm_frechet(A, E),
    "expm_frechet alone": lambda m: m.expm_frechet(A, E, compute_expm=False),
    "sqrtm": lambda m: m.sqrtm(C),
    "sqrtm, no real root": lambda m: m.sqrtm(-H),
    "polar": lambda m: m.polar(TALL),
    "polar, left": lambda m: m.polar(TALL.T, side="left"),
    "hessenberg": lambda m: m.hessenberg(C, calc_q=True),
    "funm": lambda m: m.funm(A, np.sin) if m is scipy_linalg else m.funm(np.array([A.T, A]), pnp.sin)[1],
    "solve_sylvester": lambda m: m.solve_sylvester(A, B.T @ B, B),
    "det": lambda m: m.det(A),
    "inv": lambda m: m.inv(A),
    "block_diag": lambda m: m.block_diag(TALL, V, np.float32(3)),
    "toeplitz": lambda m: m.toeplitz(C[0]),
    "toeplitz, two vectors": lambda m: m.toeplitz(V, B[:, 0]),
    "hankel": lambda m: m.hankel(V),
    "hankel, two vectors": lambda m: m.hankel(V, B[:, 0]),
    "circulant": lambda m: m.circulant(V),
    "companion": lambda m: m.companion(V),
    "leslie": lambda m: m.leslie(V, V[:3]),
    "fiedler": lambda m: m.fiedler(V),
    **{f"fiedler_companion {n}": lambda m, n=n: m.fiedler_companion(np.arange(2.0, n + 3)) for n in (1, 2, 5, 6)},
    **{
        f"convolution_matrix {mode} {n}": lambda m, mode=mode, n=n: m.convolution_matrix(V, n, mode)
        for mode in ("full", "valid", "same")
        for n in (3, 6, 7)
    },
    "hadamard": lambda m: m.hadamard(8),
    "helmert": lambda m: m.helmert(4),
    "helmert, full": lambda m: m.helmert(4, full=True),
    "hilbert": lambda m: m.hilbert(4),
    "invhilbert": lambda m: m.invhilbert(4),
    "dft": lambda m: m.dft(5, "sqrtn"),
    **{f"pascal {kind}": lambda m, kind=kind: m.pascal(4, kind or "symmetric") for kind in (None, "lower", "upper")},
    **{
        f"invpascal {kind}": lambda m, kind=kind: m.invpascal(4, kind or "symmetric")
        for kind in (None, "lower", "upper")
    },
}


def test_results_are_those_of_scipy():
    found = px.jit(lambda: {name: case(linalg) for name, case in CASES.items()})()
    for name, case in CASES.items():
        one = case(scipy_linalg) if "stack" not in name else np.stack([scipy_linalg.expm(C), np.eye(4)])
        wants, gots = (x if isinstance(x, tuple | list) else [x] for x in (one, found[name]))
        for got, want in zip(gots, wants, strict=True):
            want = np.asarray(want)
            assert got.shape == want.shape, name
            np.testing.assert_allclose(got, want, rtol=5e-3, atol=2e-3 * np.abs(want).max(), err_msg=name)


def test_square_roots_are_nan_where_a_matrix_has_none():
    without, with_one = np.float32([[0, 3], [0, 0]]), np.float32([[1, 1], [0, 0]])
    roots = np.asarray(linalg.sqrtm(np.stack([without, without.T, with_one, 0 * with_one])))
    assert np.isnan(roots[:2]).all()
    np.testing.assert_allclose(roots[2:], [with_one, 0 * with_one], atol=1e-5)
    ones = np.ones((3, 3), np.float32)
    root = linalg.sqrtm(ones)
    np.testing.assert_allclose(root @ root, ones, atol=1e-4)


def test_schur_decompositions_multiply_back():
    for x, output in ((A, "real"), (A, "complex"), (C, "real")):
        t, z = linalg.schur(x, output)
        np.testing.assert_allclose(z @ t @ z.conj().T, x, atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_complex_schur_forms_are_those_of_scipy(size):
    x = np.random.default_rng(size).normal(size=(2, size, size)).astype(np.float32)
    forms = [scipy_linalg.schur(each) for each in x]
    t, z = (np.asarray(found) for found in linalg.rsf2csf(*(np.stack(each) for each in zip(*forms, strict=True))))
    assert t.dtype == z.dtype == np.complex64
    assert not np.tril(t, -1).any()
    np.testing.assert_allclose(z @ t @ z.swapaxes(-1, -2).conj(), x, atol=1e-5)
    for one, other, form in zip(t, z, forms, strict=True):
        wants = scipy_linalg.rsf2csf(*form)
        np.testing.assert_allclose(np.diagonal(one), np.diagonal(wants[0]), atol=1e-5)
        np.testing.assert_allclose(np.abs(one), np.abs(wants[0]), atol=1e-5)
        np.testing.assert_allclose(np.abs(other), np.abs(wants[1]), atol=1e-5)


def test_complex_schur_forms_of_no_rows_have_none():
    empty = np.zeros((0, 0), np.float32)
    assert [x.shape for x in linalg.rsf2csf(empty, empty)] == [(0, 0), (0, 0)]


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower):
    for x in (H, C @ C.conj().T + np.eye(4, dtype=np.float32)):
        other = np.triu if lower else np.tril
        spoilt = (x + other(np.ones((4, 4)), 1 if lower else -1)).astype(x.dtype)
        want = scipy_linalg.cholesky(x, lower=lower)
        np.testing.assert_allclose(linalg.cholesky(spoilt, lower=lower), want, rtol=1e-4, atol=1e-4)
        factor, said = linalg.cho_factor(spoilt, lower=lower)
        assert said is lower
        np.testing.assert_allclose(factor, want, rtol=1e-4, atol=1e-4)
    slope = px.grad(lambda x: linalg.cholesky(x, lower=lower).sum())(H)
    assert not other(np.asarray(slope), 1 if lower else -1).any()
    assert (np.asarray(slope)[np.tril_indices(4) if lower else np.triu_indices(4)] != 0).all()


def test_eigenvectors_of_two_matrices_are_orthonormal_in_the_second():
    w, v = linalg.eigh(A + A.T, H)
    np.testing.assert_allclose((A + A.T) @ v, H @ v * w, atol=2e-3)
    np.testing.assert_allclose(v.T @ H @ v, np.eye(4), atol=1e-4)
    w, v = linalg.eigh_tridiagonal(V, V[:3] + 1j * V[1:])
    matrix = np.diag(V) + np.diag(V[:3] + 1j * V[1:], 1) + np.diag(V[:3] - 1j * V[1:], -1)
    np.testing.assert_allclose(matrix @ v, v * w, atol=1e-4)


def test_sylvesters_equation_has_the_same_solution_by_eigenvectors():
    by_schur, by_eigenvectors = (linalg.solve_sylvester(A, H, E, method=method) for method in ("schur", "eigen"))
    np.testing.assert_allclose(by_schur, by_eigenvectors, atol=1e-4)
    assert np.isnan(linalg.solve_sylvester(A, -A, E, tol=1e-3)).all()


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvesters_equations_are_solved_in_stacks(method):
    a, c = np.stack([A, A + H, -H]), np.stack([TALL, 2 * TALL, B[:, [0, 1, 0]]])
    b = E[:3, :3] + np.diag([9.0, 12.0, 15.0]).astype(np.float32)
    a[2], b = a[2] - 40 * np.eye(4), np.stack([b, b, -b])
    x = np.asarray(linalg.solve_sylvester(a, b, c, method=method))
    np.testing.assert_allclose(a @ x + x @ b, c, atol=2e-5 * np.abs(a).max() * np.abs(x).max() + 2e-5)
    np.testing.assert_allclose(linalg.solve_sylvester(a, b[0], c, method=method)[0], x[0], rtol=1e-4, atol=1e-5)
    assert np.isnan(linalg.solve_sylvester(np.stack([A, A]), np.stack([-A, A]), E, method=method, tol=1e-3)[0]).all()


def test_an_exponential_has_derivatives_of_both_modes():
    def value(a: Any) -> Any:
        return (linalg.expm(a) * E).sum()

    slope = px.jit(px.grad(value))(A)
    np.testing.assert_allclose((slope * H).sum(), (scipy_linalg.expm_frechet(A, H)[1] * E).sum(), rtol=1e-3)
    second = px.jit(lambda a: px.jvp(px.grad(value), (a,), (H / 10,))[1])(A)
    above, below = (np.asarray(px.jit(px.grad(value))(A + h * H / 10)) for h in (1e-2, -1e-2))
    np.testing.assert_allclose(second, (above - below) / 2e-2, rtol=2e-2, atol=2e-2 * np.abs(second).max())


def test_an_exponential_that_needs_too_many_squarings_is_nan():
    assert np.isnan(linalg.expm(A * 100, max_squarings=3)).all()
    # Rounded down, no squaring is needed.
    lower = np.array([[3, 0, 0], [-3, 1, 0], [1, 3, -2]], np.float32)
    np.testing.assert_allclose(linalg.expm(lower, max_squarings=0), scipy_linalg.expm(lower), rtol=1e-3, atol=1e-5)
    stacked = linalg.expm(np.stack([lower, lower * 100]), max_squarings=0)
    assert np.isnan(stacked).all(axis=(1, 2)).tolist() == [False, True]
    np.testing.assert_allclose(linalg.expm(np.triu(A), upper_triangular=True), scipy_linalg.expm(np.triu(A)), rtol=1e-3)


@pytest.mark.parametrize("mode", ["left", "right"])
def test_what_has_no_value_is_not_multiplied_by_q(mode):
    with pytest.raises(TypeError, match="is a type without a value"):
        linalg.qr_multiply(np.eye(2), px.ShapeDtypeStruct((2,), "float32"), mode)


# A call that is refused, and a part of the message.
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "cho_solve": (lambda: linalg.cho_solve((TALL, False), V), r"\(4, 3\)"),
    "lu_solve": (lambda: linalg.lu_solve(linalg.lu_factor(A), V, trans=3), "got 3"),
    "solve": (lambda: linalg.solve(A, V, assume_a="diagonal"), "'diagonal'"),
    "solve, rows": (lambda: linalg.solve(A, V[:2]), r"\(4, 4\) and \(2,\)"),
    "solve_triangular": (lambda: linalg.solve_triangular(A, V, trans="X"), "'X'"),
    "qr": (lambda: linalg.qr(A, mode="raw"), "'raw'"),
    "schur": (lambda: linalg.schur(A, "x"), "'x'"),
    "polar": (lambda: linalg.polar(A, side="x"), "'x'"),
    "expm": (lambda: linalg.expm(TALL), r"\(4, 3\)"),
    "expm_frechet": (lambda: linalg.expm_frechet(A, TALL), r"\(4, 4\) and \(4, 3\)"),
    "solve_sylvester": (lambda: linalg.solve_sylvester(A, A, TALL), r"\(4, 3\)"),
    "block_diag": (lambda: linalg.block_diag(np.ones((2, 2, 2))), r"\(2, 2, 2\) at 0"),
    "companion": (lambda: linalg.companion(V[:1]), r"\(1,\)"),
    "hadamard": (lambda: linalg.hadamard(6), "got 6"),
    "leslie": (lambda: linalg.leslie(V, V), r"\(4,\) and \(4,\)"),
    "eigh_tridiagonal": (lambda: linalg.eigh_tridiagonal(V, V), r"\(4,\) and \(4,\)"),
    "qr_multiply": (lambda: linalg.qr_multiply(TALL, TALL), "4 columns"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_functions_have_the_arguments_of_jax():
    theirs = pytest.importorskip("jax.scipy.linalg")
    assert {name for name in dir(theirs) if inspect.isfunction(getattr(theirs, name))} <= set(linalg.__all__)
    for name in linalg.__all__:
        have, want = (inspect.signature(getattr(m, name)).parameters for m in (linalg, theirs))
        assert [(p.name, p.kind, p.default) for p in have.values()] == [
            (p.name, p.kind, p.default) for p in want.values()
        ], name


def test_the_hessenberg_form_of_nothing_is_empty():
    nothing = np.zeros((2, 0, 0), np.float32)
    h, q = linalg.hessenberg(nothing, calc_q=True)
    assert linalg.hessenberg(nothing).shape == h.shape == q.shape == (2, 0, 0)


def test_exponentials_of_badly_scaled_matrices_and_their_derivatives_are_accurate():
    with px.enable_x64(True):
        for dtype, tolerance in ((np.float64, 1e-14), (np.float32, 1e-6)):
            a = np.array([[[1, 1e6], [0, -1]], [[0, 1e10], [0, 0]], [[0, 1e-8], [1e8, 0]]], dtype)
            e, quotient = np.exp(1), np.sinh(1)
            want = [[[e, 1e6 * quotient], [0, 1 / e]], [[1, 1e10], [0, 1]]]
            want.append([[np.cosh(1), 1e-8 * quotient], [1e8 * quotient, np.cosh(1)]])
            found = linalg.expm(a)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, want, rtol=tolerance)
        a, t = a[0].astype(np.float64), np.array([[0.1, 0.3], [-0.2, 0.4]])
        change = scipy_linalg.expm_frechet(a, t, compute_expm=False)
        np.testing.assert_allclose(linalg.expm_frechet(a, t, compute_expm=False), change, rtol=1e-9)
        gradient = px.grad(lambda a: (linalg.expm(a) * E[:2, :2]).sum())(a)
        np.testing.assert_allclose((np.asarray(gradient) * t).sum(), (change * E[:2, :2]).sum(), rtol=1e-6)


def test_square_roots_and_sylvesters_equations_have_derivatives_of_both_modes_and_orders():
    with px.enable_x64(True):
        a, t = (np.asarray(x, np.float64) for x in (H, A))
        a = a @ a + np.eye(4)

        def root(a):
            return (linalg.sqrtm(a).real * E).sum()

        def solution(a):
            return (linalg.solve_sylvester(a, H, E) ** 2).sum()

        def both(a, fun):
            def along(a):
                return px.jvp(fun, (a,), (t,))[1]

            return along(a), (px.grad(fun)(a) * t).sum(), px.jvp(along, (a,), (t,))[1], (px.grad(along)(a) * t).sum()

        h = 1e-3
        for fun in (root, solution):
            plus, middle, minus = (float(fun(a + s * t)) for s in (h, 0, -h))
            wants = [(plus - minus) / (2 * h)] * 2 + [(plus + minus - 2 * middle) / h**2] * 2
            np.testing.assert_allclose(px.jit(both, static_argnums=1)(a, fun), wants, rtol=1e-4)


def test_a_definite_solver_has_derivatives_with_respect_to_the_triangle_that_it_reads():
    a = H @ H + np.eye(4, dtype=np.float32)
    for lower in (False, True):
        gradient = px.grad(lambda a, lower=lower: linalg.solve(a, E[0], assume_a="pos", lower=lower).sum())(a)
        x, y = np.linalg.solve(a, E[0]), np.linalg.solve(a, np.ones(4))
        whole = -np.outer(y, x)
        keep = np.tril if lower else np.triu
        want = keep(whole + whole.T) - np.diag(np.diag(whole))
        np.testing.assert_allclose(gradient, want, rtol=1e-3, atol=1e-5)
