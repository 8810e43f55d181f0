"""Factorizations against what they multiply back to, and against jax; derivatives, batching, bad input."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import primax as px
from primax.lax import linalg

jax = pytest.importorskip("jax")
jlinalg = pytest.importorskip("jax.lax.linalg")

pytestmark = pytest.mark.usefixtures("in_32_bits")

SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 3), (0, 3), (3, 0), (0, 2, 2)]


def general(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Any:
    """Well-conditioned matrices whose eigenvalues are far apart."""
    random = np.random.default_rng(seed)
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return (x + 4 * np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1)).astype(dtype)


def definite(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> Any:
    x = general(shape, dtype, seed)
    return ((x + x.swapaxes(-1, -2).conj()) / 2).astype(dtype)


def adjoint(x: Any) -> Any:
    return np.asarray(x).conj().swapaxes(-1, -2)


def close(got: Any, want: Any, rtol: float | None = None) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    rtol = rtol or (2e-4 if want.dtype in (np.float32, np.complex64) else 1e-9)
    scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale)


def factors(x: Any) -> dict[str, Any]:
    """All factorizations of matrices of any shape."""
    return {
        "lu": linalg.lu(x),
        "qr": linalg.qr(x, full_matrices=False),
        "full qr": linalg.qr(x),
        "pivoted qr": linalg.qr(x, pivoting=True, full_matrices=False),
        "svd": linalg.svd(x, full_matrices=False),
        "full svd": linalg.svd(x),
        "values": linalg.svd(x, compute_uv=False, algorithm=linalg.SvdAlgorithm.QR),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64, np.complex128], ids=lambda d: d.__name__)
def test_factors_multiply_back_to_their_matrix(dtype):
    with px.enable_x64(True):
        matrices = [general(shape, dtype) for shape in SHAPES]
        found = px.jit(lambda xs: [factors(x) for x in xs])(matrices)
    for x, by in zip(matrices, found, strict=True):
        m, n = x.shape[-2:]
        k = min(m, n)
        both, pivots, permutation = map(np.asarray, by["lu"])
        lower = np.tril(both, -1)[..., :k] + np.eye(m, k, dtype=dtype)
        assert pivots.shape == (*x.shape[:-2], k)
        close(lower @ np.triu(both)[..., :k, :], np.take_along_axis(x, permutation[..., None], -2))
        for name, rank in (("qr", k), ("full qr", m)):
            q, r = map(np.asarray, by[name])
            close(q @ r, x)
            close(adjoint(q) @ q, np.broadcast_to(np.eye(rank, dtype=dtype), (*x.shape[:-2], rank, rank)))
            close(np.tril(r, -1), np.zeros_like(r))
        q, r, order = map(np.asarray, by["pivoted qr"])
        close(q @ r, np.take_along_axis(x, order[..., None, :], -1))
        for name in ("svd", "full svd"):
            u, s, vh = map(np.asarray, by[name])
            close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
            close(vh @ adjoint(vh), np.broadcast_to(np.eye(vh.shape[-2], dtype=dtype), (*vh.shape[:-1], vh.shape[-2])))
            close(s, np.asarray(by["values"]))


def square_factors(x: Any, h: Any) -> dict[str, Any]:
    """All factorizations of square matrices, and of Hermitian ones."""
    return {
        "cholesky": linalg.cholesky(h),
        "eigh": linalg.eigh(h),
        "upper": linalg.eigh(h, lower=False, symmetrize_input=False),
        "some": linalg.eigh(h, subset_by_index=(0, 1)),
        "eig": linalg.eig(x),
        "values": linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False),
        "schur": linalg.schur(x),
        "hessenberg": linalg.hessenberg(x),
        "tridiagonal": linalg.tridiagonal(h),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64, np.complex128], ids=lambda d: d.__name__)
def test_factors_multiply_back_to_their_square_matrix(dtype):
    shapes = [(3, 3), (2, 2, 2), (1, 1), (0, 3, 3)]
    with px.enable_x64(True):
        matrices = [(general(shape, dtype), definite(shape, dtype)) for shape in shapes]
        found = px.jit(lambda pairs: [square_factors(*pair) for pair in pairs])(matrices)
    for (x, h), by in zip(matrices, found, strict=True):
        close(by["cholesky"], np.linalg.cholesky(h))
        for name in ("eigh", "upper"):
            v, w = map(np.asarray, by[name])
            close((v * w[..., None, :]) @ adjoint(v), h)
        close(by["some"][1], np.asarray(by["eigh"][1])[..., :1])
        w, left, right = map(np.asarray, by["eig"])
        close(x @ right, right * w[..., None, :])
        close(adjoint(left) @ x, w[..., :, None] * adjoint(left))
        close(by["values"][0], w)
        t, z = map(np.asarray, by["schur"])
        close(z @ t @ adjoint(z), x)
        assert [np.asarray(out).shape for out in by["hessenberg"]] == [x.shape, (*x.shape[:-2], x.shape[-1] - 1)]
        _, diagonal, off, _ = map(np.asarray, by["tridiagonal"])
        close(diagonal.sum(-1), np.trace(h, axis1=-2, axis2=-1).real.astype(diagonal.dtype))
        close((diagonal**2).sum(-1) + 2 * (off**2).sum(-1), (np.abs(h) ** 2).sum((-2, -1)))


def test_a_hessenberg_form_and_its_reflections_multiply_back():
    x = general((4, 4))
    reflections, taus = linalg.hessenberg(x)
    q = np.eye(4, dtype=np.float32)
    q[1:, 1:] = linalg.householder_product(np.asarray(reflections)[1:, :-1], taus)
    close(q @ np.triu(reflections, -1) @ q.T, x)


def test_ormqr_multiplies_by_the_matrix_that_householder_product_makes():
    from_x, c = general((2, 4, 4), np.complex64), general((2, 4, 4), np.complex64, 1)
    reflections, taus = linalg.hessenberg(from_x)
    a, taus = np.asarray(reflections)[..., :3], np.asarray(taus)
    filled = np.concatenate([a, np.zeros((2, 4, 1), a.dtype)], -1)
    q = np.asarray(linalg.householder_product(filled, np.concatenate([taus, np.zeros((2, 1), a.dtype)], -1)))
    close(linalg.ormqr(a, taus, c), q @ c)
    close(linalg.ormqr(a, taus, c, left=False, transpose=True), c @ adjoint(q))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float16], ids=lambda d: d.__name__)
def test_triangular_solve_solves_with_every_choice_of_options(dtype):
    a, b = general((2, 3, 3), dtype), general((2, 3, 3), dtype, 1)
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    choices = [dict(zip(names, map(bool, np.unravel_index(i, (2,) * 5)), strict=True)) for i in range(32)]
    found = px.jit(lambda a, b: [linalg.triangular_solve(a, b, **options) for options in choices])(a, b)
    for options, x in zip(choices, found, strict=True):
        wide = a.astype(np.complex128)
        op = np.tril(wide) if options["lower"] else np.triu(wide)
        if options["unit_diagonal"]:
            op = op * (1 - np.eye(3)) + np.eye(3)
        op = op.swapaxes(-1, -2) if options["transpose_a"] else op
        op = op.conj() if options["conjugate_a"] else op
        back = op @ np.asarray(x) if options["left_side"] else np.asarray(x) @ op
        assert x.dtype == dtype
        np.testing.assert_allclose(
            back, b, rtol=0.05 if dtype == np.float16 else 1e-3, atol=0.05 if dtype == np.float16 else 1e-3
        )


def test_triangular_solve_takes_vectors():
    a, b = np.tril(general((2, 3, 3))), general((2, 3))
    close(linalg.triangular_solve(a, b, left_side=True, lower=True), np.linalg.solve(a, b[..., None])[..., 0])
    close(linalg.triangular_solve(a, b, lower=True), np.linalg.solve(a.swapaxes(-1, -2), b[..., None])[..., 0])


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_tridiagonal_solve_solves(dtype):
    d, dl, du = ((general((2, 4), dtype, seed=i) + 5 * (i == 0)).astype(dtype) for i in range(3))
    b = general((2, 4, 3), dtype)
    a = np.stack([np.diag(d[i]) + np.diag(dl[i, 1:], -1) + np.diag(du[i, :-1], 1) for i in range(2)])
    close(linalg.tridiagonal_solve(dl, d, du, b), np.linalg.solve(a, b))
    zeros = np.zeros(2, dtype)
    assert np.isnan(linalg.tridiagonal_solve(zeros, zeros, zeros, b[0, :2])).all()


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("change", ["nothing", "no pivots", "zeros"])
def test_tridiagonal_systems_are_perturbed_as_by_jax(change, dtype):
    dl, d, du, b = (general((4, 4), dtype, i) for i in range(4))
    dl, d, du = dl[0], d[0] * (change == "nothing"), du[0] * (change != "zeros")
    found = linalg.tridiagonal_solve(dl * (change != "zeros"), d, du, b, perturb_singular=True)
    want = jlinalg.tridiagonal_solve(dl * (change != "zeros"), d, du, b, perturb_singular=True)
    np.testing.assert_allclose(found, want, rtol=1e-4)
    assert np.isfinite(want).all()


@pytest.mark.parametrize("dtype", [np.float16, "bfloat16"], ids=str)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 2, 4), (0, 3), (3, 0)], ids=str)
def test_qr_of_narrow_dtypes_is_that_of_float32(shape, dtype):
    x = px.numpy.asarray(general(shape)).astype(dtype)
    for pivoting in (False, True):
        outs = linalg.qr(x, pivoting=pivoting)
        wide = linalg.qr(x.astype(np.float32), pivoting=pivoting)
        assert [out.dtype for out in outs] == [x.dtype, x.dtype, np.int32][: 2 + pivoting]
        for out, want in zip(outs, wide, strict=True):
            np.testing.assert_array_equal(out, want.astype(out.dtype))


def test_qr_of_narrow_dtypes_is_differentiated():
    x, t = (px.numpy.asarray(general((3, 3), seed=i)).astype(np.float16) for i in range(2))
    outs, changes = px.jvp(linalg.qr, (x,), (t,))
    wants = px.jvp(linalg.qr, (x.astype(np.float32),), (t.astype(np.float32),))
    for got, want in zip([*outs, *changes], [*wants[0], *wants[1]], strict=True):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got, want.astype(np.float16))
    assert px.vmap(px.grad(lambda x: linalg.qr(x)[1].sum()))(px.numpy.stack([x, t])).dtype == np.float16


def test_updates_and_symmetric_products_are_what_they_are_called():
    r, w, c = np.triu(general((3, 3))), general((3, 3))[0], definite((3, 3))
    close(linalg.cholesky_update(r, w), np.linalg.cholesky(r.T @ r + np.outer(w, w)).T)
    singular, left = np.float32([[0, 2], [0, 3]]), np.float32([0, 4])
    close(linalg.cholesky_update(singular, left), np.float32([[0, 2], [0, 5]]))
    close(linalg.symmetric_product(r[:, :2], c, alpha=2.0, beta=-0.5), 2 * r[:, :2] @ r[:, :2].T - 0.5 * c)
    skewed = np.asarray(linalg.symmetric_product(r, np.triu(c), beta=1.0, symmetrize_output=True))
    close(skewed, skewed.T)
    close(np.tril(skewed), np.tril(r @ r.T + np.diag(np.diag(c))))


def test_halleys_iteration_finds_the_polar_decomposition():
    for x in (general((4, 3)), general((3, 3), np.complex64), np.diag([1, 1e-3, 5]).astype(np.float32)):
        u, h, count, converged = px.jit(linalg.qdwh)(x)
        left, s, right = np.linalg.svd(x, full_matrices=False)
        close(u, left @ right)
        close(h, (adjoint(right) * s) @ right)
        assert bool(converged)
        assert 0 < count < 7
    assert not linalg.qdwh(x, max_iterations=1)[3]


def test_matrices_without_a_factorization_give_nan_and_the_others_in_the_stack_do_not():
    stack = np.float32([[[1, 2], [2, 1]], [[2, 1], [1, 2]]])
    found = np.asarray(linalg.cholesky(stack))
    np.testing.assert_array_equal(np.isnan(found[0]), [[True, False], [True, True]])
    close(found[1], np.linalg.cholesky(stack[1]))
    nothing = np.full((3, 3), np.nan, np.float32)
    several = px.jit(lambda x: (linalg.lu(x)[:1], linalg.qr(x), linalg.eigh(x), linalg.eig(x), linalg.svd(x)))
    for outs in several(nothing):
        assert all(np.isnan(out).any() for out in outs)


def test_integers_become_floating_where_the_mean_with_the_adjoint_is_taken():
    x = np.int32([[2, 1], [1, 2]])
    close(linalg.cholesky(x), np.linalg.cholesky(x.astype(np.float32)))
    close(linalg.eigh(x)[1], np.float32([1, 3]))


# A function of either module, its arguments, and how far float64 derivatives may differ.
DERIVATIVES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (lambda m, x: m.cholesky(x), (definite((3, 3)),)),
    "cholesky, complex": (lambda m, x: m.cholesky(x), (definite((3, 3), np.complex64),)),
    "triangular_solve": (lambda m, a, b: m.triangular_solve(a, b, left_side=True), (general((3, 3)), general((3, 2)))),
    "triangular_solve, adjoint": (
        lambda m, a, b: m.triangular_solve(a, b, lower=True, transpose_a=True, conjugate_a=True),
        (general((2, 2), np.complex64), general((2, 2), np.complex64, 1)),
    ),
    "lu": (lambda m, x: m.lu(x)[0], (general((3, 3)),)),
    "lu, tall": (lambda m, x: m.lu(x)[0], (general((4, 2)),)),
    "lu, wide": (lambda m, x: m.lu(x)[0], (general((2, 4)),)),
    "qr": (lambda m, x: m.qr(x, full_matrices=False), (general((3, 2)),)),
    "qr, complex": (lambda m, x: m.qr(x, full_matrices=False), (general((3, 3), np.complex64),)),
    "qr, pivoting": (lambda m, x: m.qr(x, full_matrices=False, pivoting=True)[:2], (general((3, 3)),)),
    "eigh": (lambda m, x: m.eigh(x), (definite((3, 3)),)),
    "eigh, complex": (lambda m, x: m.eigh(x), (definite((3, 3), np.complex64),)),
    "eig": (lambda m, x: m.eig(x, enable_eigvec_derivs=True), (general((3, 3)),)),
    "eig, values": (
        lambda m, x: m.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False),
        (general((3, 3), np.complex64),),
    ),
    "svd": (lambda m, x: m.svd(x, full_matrices=False), (general((3, 2)),)),
    "svd, wide": (lambda m, x: m.svd(x, full_matrices=False), (general((2, 3), np.complex64),)),
    "svd, values": (lambda m, x: m.svd(x, compute_uv=False), (general((3, 3)),)),
    "tridiagonal_solve": (
        lambda m, *xs: m.tridiagonal_solve(*xs),
        (general((1, 3))[0], general((1, 3), seed=1)[0] + 9, general((1, 3), seed=2)[0], general((3, 2))),
    ),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_jax(name):
    function, args = DERIVATIVES[name]
    tangents = tuple(general(x.shape, x.dtype, 7) if x.ndim > 1 else x[::-1].copy() for x in args)
    if name.startswith(("cholesky", "eigh")):
        tangents = tuple(t + adjoint(t) for t in tangents)

    def run(p: Any, m: Any) -> Any:
        def both(args: Any, tangents: Any) -> Any:
            out, t = p.jvp(lambda *xs: function(m, *xs), args, tangents)
            pulled = p.vjp(lambda *xs: function(m, *xs), *args)[1](out)
            return out, t, pulled

        return p.jit(both)

    ours, theirs = run(px, linalg)(args, tangents), run(jax, jlinalg)(args, tangents)
    for got, want in zip(jax.tree.leaves(px.tree.map(np.asarray, ours)), jax.tree.leaves(theirs), strict=True):
        close(got, want, 2e-3)


def test_derivatives_with_respect_to_one_triangle_are_those_of_what_is_read():
    x = definite((3, 3))
    tangent = np.float32([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    for function in (linalg.cholesky, lambda x, **options: linalg.eigh(x, **options)[1]):
        reading = partial(function, symmetrize_input=False)
        assert not np.asarray(px.jvp(reading, (x,), (tangent,))[1]).any()


def test_the_derivative_of_a_wide_qr_is_right():
    x, t = general((2, 3), np.float64), general((2, 3), np.float64, 1)
    with px.enable_x64(True):
        found = px.jvp(lambda x: linalg.qr(x), (x,), (t,))[1]
        above, below = (linalg.qr(x + h * t) for h in (1e-6, -1e-6))
        for got, one, two in zip(found, above, below, strict=True):
            close(got, (np.asarray(one) - np.asarray(two)) / 2e-6, 1e-6)


def test_batching_is_a_loop_wherever_the_axes_are():
    a, b = np.moveaxis(general((5, 3, 3)), 0, 1), np.moveaxis(general((5, 3, 2)), 0, 2)
    one = a[:, 0]

    def run(a: Any, b: Any) -> Any:
        return linalg.triangular_solve(a, b, left_side=True), linalg.triangular_solve(a, b.T)

    for in_axes, args in (((1, 2), (a, b)), ((None, 2), (one, b)), ((1, None), (a, b[..., 0]))):
        mapped = px.jit(px.vmap(run, in_axes))(*args)
        for i in range(5):
            chosen = [x if d is None else x.take(i, d) for x, d in zip(args, in_axes, strict=True)]
            for got, want in zip(mapped, run(*chosen), strict=True):
                close(got[i], want)
    nested = px.jit(px.vmap(px.vmap(linalg.cholesky)))(definite((2, 3, 2, 2)))
    close(nested, np.linalg.cholesky(definite((2, 3, 2, 2))))


# A call that is refused, the error, and a part of its message.
BAD: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "cholesky of a vector": (
        lambda: linalg.cholesky(np.ones(3, np.float32)),
        TypeError,
        r"rank 2 or more, got f32\[3\]",
    ),
    "cholesky, not square": (lambda: linalg.cholesky(np.ones((2, 3), np.float32)), ValueError, "2 and 3"),
    "lu of halves": (lambda: linalg.lu(np.ones((2, 2), np.float16)), TypeError, r"f16\[2,2\]"),
    "lu of integers": (lambda: linalg.lu(np.ones((2, 2), np.int32)), TypeError, r"i32\[2,2\]"),
    "too few rows": (lambda: linalg.lu_pivots_to_permutation(np.ones(3, np.int32), 2), ValueError, "3, got 2"),
    "triangular_solve, rows": (
        lambda: linalg.triangular_solve(np.ones((3, 3), np.float32), np.ones((2, 3), np.float32), left_side=True),
        TypeError,
        "as many rows as a, 3, got 2",
    ),
    "triangular_solve, stacks": (
        lambda: linalg.triangular_solve(np.ones((4, 3, 3), np.float32), np.ones((2, 3, 3), np.float32)),
        TypeError,
        r"\(4,\) and \(2,\)",
    ),
    "triangular_solve, dtypes": (
        lambda: linalg.triangular_solve(np.ones((3, 3), np.float32), np.ones((3, 3), np.complex64)),
        TypeError,
        "the same dtype",
    ),
    "householder_product, wide": (
        lambda: linalg.householder_product(np.ones((2, 3), np.float32), np.ones(2, np.float32)),
        ValueError,
        "2 rows, 3 columns",
    ),
    "eigh, range": (lambda: linalg.eigh(np.eye(3, dtype="f"), subset_by_index=(2, 4)), ValueError, r"\(2, 4\)"),
    "eigh, elsewhere": (
        lambda: linalg.eigh(np.eye(3, dtype="f"), implementation=linalg.EighImplementation.JACOBI),
        NotImplementedError,
        "JACOBI",
    ),
    "svd, elsewhere": (
        lambda: linalg.svd(np.eye(3, dtype="f"), algorithm=linalg.SvdAlgorithm.POLAR),
        NotImplementedError,
        "POLAR",
    ),
    "svd, full and subset": (lambda: linalg.svd(np.eye(3, dtype="f"), subset_by_index=(0, 1)), ValueError, "full_mat"),
    "eig, derivatives": (
        lambda: px.jvp(lambda x: linalg.eig(x), (np.eye(2, dtype="f"),), (np.eye(2, dtype="f"),)),
        NotImplementedError,
        "enable_eigvec_derivs",
    ),
    "qr, derivatives": (
        lambda: px.jvp(linalg.qr, (np.ones((3, 2), "f"),), (np.ones((3, 2), "f"),)),
        NotImplementedError,
        r"f32\[3,2\]",
    ),
    "schur, sorted": (lambda: linalg.schur(np.eye(2, dtype="f"), sort_eig_vals=True), NotImplementedError, "sort_eig"),
    "qdwh": (lambda: linalg.qdwh(np.ones((2, 3), "f")), ValueError, "got 2 and 3"),
    "tridiagonal_solve": (
        lambda: linalg.tridiagonal_solve(*[np.ones(2, "f")] * 3, np.ones((3, 1), "f")),
        TypeError,
        r"dl .*f32\[2\] and f32\[3,1\]",
    ),
    "cholesky_update": (
        lambda: linalg.cholesky_update(np.eye(3, dtype="f"), np.ones(2, "f")),
        TypeError,
        r"f32\[3,3\] and f32\[2\]",
    ),
    "symmetric_product": (
        lambda: linalg.symmetric_product(np.ones((3, 2), "f"), np.ones((2, 2), "f")),
        TypeError,
        r"f32\[3,2\] and f32\[2,2\]",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_runs(name):
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()


def test_functions_have_the_arguments_of_jax():
    for name in linalg.__all__:
        theirs = getattr(jlinalg, name)
        if inspect.isfunction(getattr(linalg, name)):
            have = inspect.signature(getattr(linalg, name)).parameters
            want = inspect.signature(theirs).parameters
            assert list(have) == list(want)
            assert [p.default for p in have.values()] == [p.default for p in want.values()]


LAZILY = """
import sys
import numpy as np, primax as px
px.jit(lambda x: x + 1)(1.0)
assert "scipy" not in sys.modules
with open(sys.argv[1], "rb") as file:
    exported = px.export.deserialize(file.read())
np.testing.assert_allclose(exported.call(np.float32([[4, 2], [2, 5]])), [[2, 0], [1, 2]])
assert "scipy" in sys.modules
assert "jax" not in sys.modules
"""


def test_lapack_is_loaded_when_it_is_first_needed_by_an_exported_program_too(tmp_path):
    exported = px.export.export(px.jit(linalg.cholesky))(px.ShapeDtypeStruct((2, 2), np.float32))
    (tmp_path / "exported").write_bytes(exported.serialize())
    done = subprocess.run([sys.executable, "-c", LAZILY, tmp_path / "exported"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_cholesky_of_a_matrix_that_is_not_positive_definite_is_nan_in_its_triangle_only() -> None:
    out = np.asarray(px.lax.linalg.cholesky(px.numpy.array([[1.0, 2.0], [2.0, 1.0]])))
    assert np.isnan(out[np.tril_indices(2)]).all()
    assert out[0, 1] == 0
