"""A Kronecker product computes what the dense matrix computes, and has gradients by its factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from primax_lazy import FactorTangents, Kronecker, kron, solve

import primax as px
import primax.numpy as pnp
from primax import lax

rng = np.random.default_rng(0)
A, B = (rng.normal(size=(n, n)).astype(np.float32) + 2 * np.eye(n, dtype=np.float32) for n in (3, 4))
X = rng.normal(size=12).astype(np.float32)
DENSE = np.kron(A, B)
K = kron(A, B)


def close(got: Any, want: Any, rtol: float = 1e-4) -> None:
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-4)


def norm(k: Any) -> Any:
    return pnp.sum(pnp.sin(k @ X))


def dense_norm(a: Any, b: Any) -> Any:
    return pnp.sum(pnp.sin(pnp.kron(a, b) @ X))


WANT = px.grad(dense_norm, (0, 1))(A, B)


def close_to_gradient(got: Any, want: Any = WANT) -> None:
    assert isinstance(got, FactorTangents)
    close(got.da, want[0])
    close(got.db, want[1])


def test_it_is_never_formed() -> None:
    shapes = str(px.make_jaxpr(lambda k, x: (k @ x, solve(k, x), k.T))(K, X))
    assert "12,12" not in shapes
    assert repr(K) == "Kronecker(f32[3,3], f32[4,4])"
    assert K.shape == (12, 12)


def test_products_are_those_of_the_dense_matrix() -> None:
    xs = np.stack([X, 2 * X, X * X], 1)
    close(K.dense(), DENSE)
    close(K @ X, DENSE @ X)
    close(K @ xs, DENSE @ xs)
    close(X @ K, X @ DENSE)
    close(xs.T @ K, xs.T @ DENSE)
    close(K.T @ X, DENSE.T @ X)
    close((K @ K.T).dense(), DENSE @ DENSE.T)
    wide = kron(A[:2], B[:, :3])
    close(wide @ X[:9], np.kron(A[:2], B[:, :3]) @ X[:9])


def test_systems_are_solved() -> None:
    xs = np.stack([X, 2 * X], 1)
    close(solve(K, DENSE @ X), X, 1e-3)
    close(px.jit(solve)(K, DENSE @ xs), xs, 1e-3)
    with pytest.raises(ValueError, match=r"solve: the factors must be square, got \(2, 3\)"):
        solve(kron(A[:2], B), X)
    with pytest.raises(ValueError, match="solve: y must have 12 rows"):
        solve(K, X[:5])


@pytest.mark.parametrize(
    "a, b, error, message",
    [
        (A, B[0], ValueError, r"must be matrices with the same leading axes, got \(3, 3\) and \(4,\)"),
        (A[None], B, ValueError, "the same leading axes"),
        (A.astype(np.int32), B.astype(np.int32), TypeError, "must be floating and of one dtype"),
    ],
)
def test_what_has_no_product_is_refused(a: Any, b: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        kron(a, b)


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit, px.checkpoint])
def test_the_gradient_is_one_by_the_factors(wrap: Any) -> None:
    close_to_gradient(px.grad(wrap(norm))(K))
    for got, want in zip(px.grad(wrap(lambda a, b: norm(kron(a, b))), (0, 1))(A, B), WANT, strict=True):
        close(got, want)


def test_gradients_are_added_and_may_be_zero() -> None:
    close_to_gradient(px.grad(lambda k: norm(k) + norm(k.T.T))(K), [2 * want for want in WANT])
    close_to_gradient(px.grad(lambda k: 1.0)(K), [0 * A, 0 * B])
    found = px.grad(lambda k: norm(lax.cond(X[0] > 9, lambda: k, lambda: kron(A, B))))(K)
    close_to_gradient(found, [0 * A, 0 * B])


def test_forward_mode_and_second_derivatives() -> None:
    t = px.grad(norm)(K)
    close(px.jvp(norm, (K,), (t,))[1], sum(float((x * x).sum()) for x in WANT))
    hvp = px.jvp(px.grad(norm), (K,), (t,))[1]
    want = px.jvp(px.grad(dense_norm, (0, 1)), (A, B), tuple(WANT))[1]
    close_to_gradient(hvp, want)


def test_solving_has_a_derivative() -> None:
    got = px.grad(lambda k: pnp.sum(pnp.sin(solve(k, X))))(K)
    want = px.grad(lambda a, b: pnp.sum(pnp.sin(pnp.linalg.solve(pnp.kron(a, b), X))), (0, 1))(A, B)
    close_to_gradient(got, want)


def test_products_are_mapped() -> None:
    many = px.vmap(lambda a: kron(a, B))(np.stack([A, 2 * A]))
    assert repr(many) == "Kronecker(f32[2,3,3], f32[2,4,4])"
    close(px.vmap(lambda k, x: k @ x, (0, None))(many, X), np.stack([DENSE @ X, 2 * DENSE @ X]))
    close(px.vmap(solve)(many, np.stack([X, 2 * X]))[0], solve(K, X))
    close(px.vmap(px.grad(norm))(many).da[0], WANT[0])
    chosen = px.vmap(px.grad(lambda k, p: norm(lax.cond(p, lambda: k, lambda: k @ k))), (None, 0))(
        K, np.array([True, False])
    )
    close(chosen.da[0], WANT[0])
    with pytest.raises(ValueError, match="cannot be mapped along axis 0, which is an axis of the product"):
        px.vmap(lambda k: k)(K)


def test_loops_carry_them_and_their_gradients() -> None:
    def power(k: Any) -> Any:
        return lax.scan(lambda c, _: (c @ k, None), k, length=2)[0]

    close(px.jit(power)(K).dense(), np.linalg.matrix_power(DENSE, 3), 1e-3)
    got = px.grad(lambda k: pnp.sum(power(k) @ X))(K)
    want = px.grad(lambda a, b: pnp.sum(pnp.linalg.matrix_power(pnp.kron(a, b), 3) @ X), (0, 1))(A, B)
    np.testing.assert_allclose(got.da, want[0], rtol=1e-3)
    large = lax.while_loop(lambda k: pnp.max(pnp.abs(k @ X)) < 1000, lambda k: k @ K, K)
    assert isinstance(large, Kronecker)


def test_programs_take_and_return_them() -> None:
    exported = px.export.export(px.jit(lambda k: k.T))(K)
    close(exported.call(K).dense(), DENSE.T)
    pullback = px.jit(lambda k: px.vjp(lambda k: k @ X, k)[1])(K)
    assert isinstance(pullback(X)[0], FactorTangents)
    kept = px.tree.map(lambda k: k.T, {"layer": K})["layer"]
    close(kept.dense(), DENSE.T)


def test_other_functions_name_the_type_and_its_package() -> None:
    with pytest.raises(
        TypeError, match=r"of type kron\(f32\[3,3\], f32\[4,4\]\); the package of KroneckerType, primax_lazy"
    ):
        pnp.sin(K)
