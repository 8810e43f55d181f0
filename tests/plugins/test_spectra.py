"""Derivatives of eigenvalues, singular values and their vectors at repeated values, against exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import linalg as scipy_linalg

import primax as px

pytestmark = pytest.mark.any_release

pnp = px.numpy


@pytest.fixture(autouse=True)
def in_64_bits():
    with px.enable_x64(True):
        yield


def unitary(n: int, is_complex: bool = False, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, n))
    return np.linalg.qr(x + 1j * random.normal(size=(n, n)) if is_complex else x)[0]


def parts(a: Any) -> Any:
    """A complex matrix as an array of its real and imaginary parts."""
    return np.stack([a.real, a.imag])


def joined(x: Any) -> Any:
    return x[0] + 1j * x[1]


def exact(x: Any) -> Any:
    """A function of the eigenvalues of a Hermitian matrix, or of squared singular values, without these."""
    return pnp.real(pnp.trace(x @ x @ x)) / 3 + pnp.real(pnp.trace(x)) ** 2


def by_values(w: Any) -> Any:
    return pnp.sum(w**3) / 3 + pnp.sum(w) ** 2


def of_eigenvalues(x: Any) -> Any:
    a = joined(x)
    return by_values(pnp.linalg.eigvalsh(a))


def of_mean(x: Any) -> Any:
    a = joined(x)
    return exact((a + a.conj().T) / 2)


def of_singular_values(x: Any) -> Any:
    return by_values(pnp.linalg.svdvals(joined(x)) ** 2)


def of_squares(x: Any) -> Any:
    a = joined(x)
    return exact(a.conj().T @ a)


def check(fun: Any, known: Any, x: Any, tolerance: float = 1e-12) -> None:
    t = np.random.default_rng(1).normal(size=x.shape)

    def both(fun: Any, x: Any, t: Any) -> Any:
        def along(x: Any) -> Any:
            return px.jvp(fun, (x,), (t,))[1]

        gradient = px.grad(fun)(x)
        hessian = px.hessian(fun)(x)
        times = np.tensordot if isinstance(hessian, np.ndarray) else pnp.tensordot
        product = times(hessian, t, x.ndim)
        again = px.grad(lambda x: pnp.sum(px.grad(fun)(x) * t))(x), px.grad(along)(x)
        return gradient, along(x), hessian, product, *again, px.jvp(along, (x,), (t,))[1]

    gradient, change, hessian, *products, second = px.jit(both, static_argnums=0)(fun, x, t)
    want = np.asarray(px.jit(px.grad(known))(x)), np.asarray(px.jit(px.hessian(known))(x))
    scale = np.abs(want[1]).max() + 1
    np.testing.assert_allclose(gradient, want[0], atol=tolerance * scale)
    np.testing.assert_allclose(change, np.sum(want[0] * t), atol=10 * tolerance * scale)
    np.testing.assert_allclose(hessian, want[1], atol=tolerance * scale)
    for product in products:
        np.testing.assert_allclose(product, np.tensordot(want[1], t, x.ndim), atol=10 * tolerance * scale)
    np.testing.assert_allclose(second, np.sum(t * np.tensordot(want[1], t, x.ndim)), atol=100 * tolerance * scale)


@pytest.mark.parametrize("values", [(2, 2, 2), (1, 1, 2)], ids=str)
def test_functions_of_repeated_eigenvalues_have_their_derivatives_in_every_mode(values):
    u = unitary(3, True)
    check(of_eigenvalues, of_mean, parts((u * np.array(values)) @ u.conj().T))


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        ((2, 3), (1, 0)),
        pytest.param((3, 2), (2, 2), marks=pytest.mark.slow),
        pytest.param((2, 2), (2, 2), marks=pytest.mark.slow),
        ((2, 2), (0, 0)),
    ],
    ids=str,
)
def test_functions_of_repeated_or_vanishing_singular_values_have_their_derivatives_in_every_mode(shape, values):
    u, v = unitary(shape[0], True), unitary(shape[1], True, 1)
    check(of_singular_values, of_squares, parts((u[:, :2] * np.array(values)) @ v[:2]))


def test_the_hessian_of_a_log_determinant_is_right_for_stacks_and_in_single_precision():
    a = np.stack([2 * np.eye(3), np.diag([1.0, 2, 2]), np.diag([1.0, 2, 3])])

    def log_det(a: Any) -> Any:
        return pnp.sum(pnp.log(pnp.linalg.eigvalsh(a)))

    inverse = np.linalg.inv(a)
    want = -sum(np.einsum(f"{pairs}->nijkl", inverse, inverse) for pairs in ("nik,njl", "nil,njk")) / 2
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        found = px.jit(px.vmap(px.hessian(log_det)))(a.astype(dtype))
        np.testing.assert_allclose(found, want, atol=tolerance)


def test_forward_mode_over_forward_mode_says_where_it_knows_no_derivative():
    def squares(a: Any) -> Any:
        return pnp.sum(pnp.linalg.eigvalsh(a) ** 2)

    def second(a: Any, x: Any, y: Any) -> Any:
        return px.jvp(lambda a: px.jvp(squares, (a,), (x,))[1], (a,), (y,))[1]

    x, y = np.array([[1.0, 0], [0, -1]]), np.array([[0.0, 1], [1, 0]])
    found = px.jit(px.vmap(second, (None, 0, 0)))(2 * np.eye(2), np.stack([x, y, x]), np.stack([x, y, y]))
    np.testing.assert_allclose(found, [4, 4, np.nan])
    assert second(np.diag([1.0, 2]), x, y) == 0


def test_derivatives_of_a_simple_eigenvector_beside_repeated_values_are_finite_and_right():
    q = unitary(3)
    a = (q * np.array([1.0, 1, 3])) @ q.T
    t = np.random.default_rng(2).normal(size=(3, 3))
    t = t + t.T

    def projection(a: Any) -> Any:
        v = pnp.linalg.eigh(a)[1][:, 2]
        return pnp.outer(v, v)

    def exactly(h: float) -> Any:
        v = np.linalg.eigh(a + h * t)[1][:, 2]
        return np.outer(v, v)

    first, second = px.jit(lambda a: px.jvp(lambda a: px.jvp(projection, (a,), (t,))[1], (a,), (t,)))(a)
    h = 1e-3
    np.testing.assert_allclose(first, (exactly(h) - exactly(-h)) / (2 * h), atol=1e-4)
    np.testing.assert_allclose(second, (exactly(h) + exactly(-h) - 2 * exactly(0)) / h**2, atol=1e-3)
    reverse = px.jit(px.jacrev(lambda a: pnp.linalg.eigh(a)[1][:, 2]))(a)
    forward = px.jit(px.jvp, static_argnums=0)(lambda a: pnp.linalg.eigh(a)[1][:, 2], (a,), (t,))[1]
    np.testing.assert_allclose(np.tensordot(reverse, t, 2), forward, atol=1e-13)


@pytest.mark.parametrize("shape", [(3, 3), (3, 2)], ids=str)
def test_the_norm_of_a_matrix_that_its_decomposition_gives_has_the_derivatives_of_the_norm(shape):
    a = 2 * unitary(3)[:, : shape[1]]

    def rebuilt(a: Any) -> Any:
        u, s, vh = pnp.linalg.svd(a, full_matrices=False)
        return pnp.linalg.norm((u * s) @ vh)

    found = px.jit(lambda a: (px.grad(rebuilt)(a), px.hessian(rebuilt)(a)))(a)
    np.testing.assert_allclose(found[0], a / np.linalg.norm(a), atol=1e-14)
    np.testing.assert_allclose(found[1], px.hessian(pnp.linalg.norm)(a), atol=1e-13)
    polar = px.jit(lambda a, t: px.jvp(lambda a: px.scipy.linalg.polar(a)[0], (a,), (t,))[1])
    t = np.random.default_rng(0).normal(size=shape)
    h = 1e-4
    plus, minus = (np.linalg.svd(a + s * t, full_matrices=False) for s in (h, -h))
    np.testing.assert_allclose(polar(a, t), (plus[0] @ plus[2] - minus[0] @ minus[2]) / (2 * h), atol=1e-7)


def test_least_squares_and_polar_factors_have_their_derivatives_at_repeated_singular_values():
    a, t, b = 2 * unitary(3)[:, :2], np.random.default_rng(0).normal(size=(3, 2)), np.array([1.0, 2, 3])
    functions = [
        (lambda a: pnp.linalg.lstsq(a, b)[0], lambda a: np.linalg.lstsq(a, b)[0]),
        (lambda a: px.scipy.linalg.polar(a)[1], lambda a: scipy_linalg.polar(a)[1]),
    ]
    h = 1e-3
    for ours, theirs in functions:
        first, second = px.jit(lambda a, f=ours: px.jvp(lambda a: px.jvp(f, (a,), (t,))[1], (a,), (t,)))(a)
        plus, middle, minus = (theirs(a + s * t) for s in (h, 0, -h))
        np.testing.assert_allclose(first, (plus - minus) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(second, (plus + minus - 2 * middle) / h**2, atol=1e-5)


def test_determinants_have_gradients_where_pivots_vanish_and_norms_where_all_elements_do():
    stack = np.stack([np.diag([0.0, 1, 2, 3]), np.zeros((4, 4)), np.eye(4)])
    found = px.jit(px.grad(lambda a: pnp.linalg.det(a).sum()))(stack)
    np.testing.assert_array_equal(found, [np.diag([6.0, 0, 0, 0]), np.zeros((4, 4)), np.eye(4)])
    assert np.isnan(px.hessian(pnp.linalg.det)(stack[0])).any()
    for order in (None, 3):
        assert px.grad(lambda v, order=order: pnp.linalg.norm(v, order))(np.zeros(2)).tolist() == [0, 0]


def test_third_derivatives_at_repeated_values_are_nan_in_both_modes_and_right_at_others():
    for values in (pnp.linalg.eigvalsh, lambda a: pnp.linalg.svd(a, compute_uv=False)):

        def total(s, d, values=values):
            return px.hessian(lambda a: pnp.log(values(a)).sum())(s * pnp.diag(d)).sum()

        both = px.jit(lambda d, f=total: (px.grad(f)(2.0, d), px.jvp(lambda s: f(s, d), (2.0,), (1.0,))[1]))
        assert np.isnan(both(np.ones(2))).all()
        # The Hessian's elements are -1 / (w[i] w[j]).
        np.testing.assert_allclose(both(np.array([2.0, 1.0])), [0.5625, 0.5625], rtol=1e-6)
