"""px.numpy.linalg against numpy.linalg and jax.numpy.linalg."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.numpy import linalg

pytestmark = pytest.mark.usefixtures("in_32_bits")

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(3, 3)).astype(np.float32) + 3 * np.eye(3, dtype=np.float32)
STACK = RANDOM.normal(size=(2, 4, 4)).astype(np.float32) + 3 * np.eye(4, dtype=np.float32)
TALL = RANDOM.normal(size=(4, 2)).astype(np.float32)
COMPLEX = (A + 1j * RANDOM.normal(size=(3, 3))).astype(np.complex64)
HERMITIAN = (COMPLEX + COMPLEX.conj().T).astype(np.complex64)
CUBE = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
B, V = RANDOM.normal(size=(3, 2)).astype(np.float32), RANDOM.normal(size=3).astype(np.float32)

# What numpy.linalg and primax.numpy.linalg agree on; results have the dtypes of the arguments.
CASES: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda m: m.cholesky(HERMITIAN + 9 * np.eye(3, dtype=np.float32)),
    "upper cholesky": lambda m: m.cholesky(A @ A.T, upper=True),
    "solve": lambda m: m.solve(A, B),
    "solve, vector": lambda m: m.solve(COMPLEX, V),
    "solve, stacks": lambda m: m.solve(STACK, STACK[0]),
    "inv": lambda m: m.inv(STACK),
    "det, 1": lambda m: m.det(A[:1, :1]),
    "det, 2": lambda m: m.det(STACK[:, :2, :2]),
    "det, 3": lambda m: m.det(COMPLEX),
    "det, 4": lambda m: m.det(STACK),
    "det, 0": lambda m: m.det(np.zeros((2, 0, 0), np.float32)),
    "slogdet": lambda m: m.slogdet(STACK),
    "slogdet, complex": lambda m: m.slogdet(COMPLEX),
    "slogdet, singular": lambda m: m.slogdet(np.zeros((2, 2), np.float32)),
    "eigvalsh": lambda m: m.eigvalsh(HERMITIAN),
    "svdvals": lambda m: m.svdvals(CUBE),
    "values": lambda m: m.svd(TALL, compute_uv=False),
    "pinv": lambda m: m.pinv(CUBE),
    "pinv, hermitian": lambda m: m.pinv(HERMITIAN, hermitian=True),
    "pinv, low rank": lambda m: m.pinv(np.outer(V, V), rtol=1e-3),
    "matrix_power": lambda m: m.matrix_power(A, 5),
    "matrix_power, inverse": lambda m: m.matrix_power(STACK, -2),
    "matrix_power, zero": lambda m: m.matrix_power(STACK, 0),
    "multi_dot": lambda m: m.multi_dot([V, A, B, B.T, V]),
    "outer": lambda m: m.outer(V, B[:, 0]),
    "cross": lambda m: m.cross(A, V),
    "diagonal": lambda m: m.diagonal(CUBE, offset=1),
    "trace": lambda m: m.trace(CUBE, offset=-1),
    "matrix_transpose": lambda m: m.matrix_transpose(CUBE),
    "vecdot": lambda m: m.vecdot(COMPLEX, COMPLEX[0]),
    "matmul": lambda m: m.matmul(A, B),
    "tensordot": lambda m: m.tensordot(CUBE, A, axes=((1,), (0,))),
    "tensorinv": lambda m: m.tensorinv(STACK[0].reshape(2, 2, 4), 2),
    "tensorsolve": lambda m: m.tensorsolve(STACK[0].reshape(2, 2, 4), STACK[1, :2, :2]),
    "tensorsolve, axes": lambda m: m.tensorsolve(STACK[0].reshape(4, 2, 2), STACK[1, :2, :2], axes=(0,)),
    "cond": lambda m: m.cond(STACK),
    "cond, least": lambda m: m.cond(TALL, -2),
    "cond, norm": lambda m: m.cond(STACK, 1),
    "cond, zero": lambda m: m.cond(0 * STACK),
    "cond, zero, least": lambda m: m.cond(0 * STACK, -2),
    "norm": lambda m: m.norm(CUBE),
    "norm, kept": lambda m: m.norm(COMPLEX, axis=0, keepdims=True),
    "matrix_norm": lambda m: m.matrix_norm(CUBE, keepdims=True),
    "matrix_norm, nuclear": lambda m: m.matrix_norm(CUBE, ord="nuc"),
    "vector_norm": lambda m: m.vector_norm(CUBE, axis=(0, 2)),
    "vector_norm, all": lambda m: m.vector_norm(CUBE, ord=3, keepdims=True),
    **{
        f"norm {ord} of vectors": lambda m, ord=ord: m.norm(CUBE, ord, 1) for ord in (2, 1, -1, 0, 2.5, np.inf, -np.inf)
    },
    **{
        f"norm {ord} of matrices": lambda m, ord=ord: m.norm(CUBE, ord, (2, 0), keepdims=True)
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
}


def test_results_are_those_of_numpy():
    found = px.jit(lambda: {name: case(linalg) for name, case in CASES.items()})()
    for name, case in CASES.items():
        wants = case(np.linalg)
        gots = found[name] if isinstance(wants, tuple) else [found[name]]
        for got, want in zip(gots, wants if isinstance(wants, tuple) else [wants], strict=True):
            assert got.shape == np.shape(want), name
            assert got.dtype.kind == np.asarray(want).dtype.kind, name
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3 * np.abs(want).max(initial=0), err_msg=name)


def test_results_have_the_fields_of_numpy():
    found = px.jit(lambda: (linalg.eig(A), linalg.eigh(HERMITIAN, "U"), linalg.qr(TALL), linalg.svd(TALL, False)))()
    w, v = found[0]
    np.testing.assert_allclose(A @ v, v * w, atol=1e-4)
    w, v = found[1].eigenvalues, found[1].eigenvectors
    np.testing.assert_allclose(HERMITIAN @ v, v * w, atol=1e-4)
    np.testing.assert_allclose(found[2].Q @ found[2].R, TALL, atol=1e-5)
    u, s, vh = found[3].U, found[3].S, found[3].Vh
    np.testing.assert_allclose((u * s) @ vh, TALL, atol=1e-5)
    np.testing.assert_allclose(np.sort(linalg.eigvals(A)), np.sort(found[0].eigenvalues))


def test_qr_has_the_modes_of_numpy():
    for mode, shapes in {"complete": ((4, 4), (4, 2)), "reduced": ((4, 2), (2, 2)), "raw": ((2, 4), (2,))}.items():
        assert tuple(out.shape for out in linalg.qr(TALL, mode)) == shapes
    np.testing.assert_allclose(np.abs(linalg.qr(TALL, "r")), np.abs(np.linalg.qr(TALL, "r")), rtol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64], ids=lambda d: d.__name__)
def test_slogdet_by_qr_is_that_by_lu(dtype):
    random = np.random.default_rng(1)
    for shape in ((1, 1), (2, 4, 4), (5, 5), (0, 0)):
        x = random.normal(size=shape) + (1j * random.normal(size=shape) if dtype == np.complex64 else 0)
        found, want = linalg.slogdet(x.astype(dtype), method="qr"), np.linalg.slogdet(x.astype(dtype))
        for got, one in zip(found, want, strict=True):
            assert got.dtype == one.dtype
            np.testing.assert_allclose(got, one, rtol=1e-4, atol=1e-5)
    slopes = [px.grad(lambda a, m=m: linalg.slogdet(a, method=m)[1])(HERMITIAN) for m in ("lu", "qr")]
    np.testing.assert_allclose(*slopes, rtol=1e-5)
    assert tuple(map(float, linalg.slogdet(np.diag(np.float32([1, 0, 2])), method="qr"))) == (0, -np.inf)
    with pytest.raises(ValueError, match="method must be 'lu', 'qr' or None, got 'svd'"):
        linalg.slogdet(HERMITIAN, method="svd")


def _of_rank(rank, shape, spread, dtype):
    """Matrices of a rank, with singular values that descend from 1 to 1 / spread."""
    random = np.random.default_rng(rank)
    parts = []
    for n in shape:
        x = random.normal(size=(n, n)) + (1j * random.normal(size=(n, n)) if dtype == np.complex128 else 0)
        parts.append(np.linalg.qr(x)[0][:, :rank])
    return ((parts[0] * np.geomspace(1, 1 / spread, rank)) @ parts[1].conj().T).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128], ids=lambda d: d.__name__)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)], ids=str)
def test_pseudoinverses_are_differentiated_at_any_constant_rank(shape, dtype):
    """A = B C with B of full columns and C of full rows: its pseudoinverse has a closed form, of a constant rank."""
    random = np.random.default_rng(1)
    with px.enable_x64(True):
        for rank in range(1, min(shape) + 1):
            for spread in (2.0, 1e3):
                a = _of_rank(rank, shape, spread, dtype)
                u, s, vh = (x[..., :rank] if i < 2 else x[:rank] for i, x in enumerate(np.linalg.svd(a)))
                left, right = u * s, vh
                changes = [random.normal(size=x.shape).astype(dtype) / spread for x in (left, right)]

                def along(h, left=left, right=right, changes=changes):
                    b, c = left + h * changes[0], right + h * changes[1]
                    return np.linalg.pinv(c) @ np.linalg.pinv(b)

                t = changes[0] @ right + left @ changes[1]
                found, change = px.jvp(lambda a: linalg.pinv(a, rtol=1e-9), (a,), (t,))
                np.testing.assert_allclose(found, along(0), atol=1e-13 * spread**2)
                step = 1e-5
                want = (along(step) - along(-step)) / (2 * step)
                np.testing.assert_allclose(change, want, atol=1e-7 * np.abs(want).max())


def test_hermitian_svd_has_the_signs_in_one_factor():
    u, s, vh = linalg.svd(HERMITIAN - 4 * np.eye(3, dtype=np.float32), hermitian=True)
    assert (np.diff(s) <= 0).all()
    assert (np.asarray(s) >= 0).all()
    np.testing.assert_allclose((u * s) @ vh, HERMITIAN - 4 * np.eye(3), atol=1e-4)
    close = linalg.svd(HERMITIAN, full_matrices=False, hermitian=True, subset_by_index=(0, 1))
    assert [x.shape for x in close] == [(3, 1), (1,), (1, 3)]


def test_least_squares_are_those_of_numpy():
    deficient = np.ones((4, 2), np.float32)
    for a, b in ((TALL, STACK[0]), (TALL, STACK[0, 0]), (TALL.T, STACK[0, :2]), (deficient, STACK[0, 0])):
        wants = np.linalg.lstsq(a, b, rcond=None)
        gots = linalg.lstsq(a, b, numpy_resid=True)
        for got, want in zip(gots, wants, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    assert linalg.lstsq(deficient, STACK[0, 0])[1].shape == (1,)
    x, residuals, rank, s = linalg.lstsq(np.zeros((3, 0), np.float32), V)
    assert (x.shape, rank, s.shape) == ((0,), 0, (0,))
    np.testing.assert_allclose(residuals, [V @ V], rtol=1e-5)


def test_the_rank_of_a_matrix_counts_what_is_not_nearly_zero():
    stack = np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3))]).astype(np.float32)
    assert linalg.matrix_rank(stack).tolist() == [3, 1, 0]
    assert linalg.matrix_rank(stack, hermitian=True).tolist() == [3, 1, 0]
    graded = np.diag([1.0, 0.1, 0.001]).astype(np.float32)
    assert [int(linalg.matrix_rank(graded, **how)) for how in ({"rtol": 0.01}, {"tol": 0.5}, {})] == [2, 1, 3]
    assert [int(linalg.matrix_rank(x)) for x in (V, np.zeros(2), 3.0)] == [1, 0, 1]


# Functions of a matrix and a vector, of either library.
DERIVATIVES: dict[str, Callable[..., Any]] = {
    "solve": lambda m, a, b: m.linalg.solve(a, b),
    "solve, transposed stack": lambda m, a, b: m.linalg.solve(m.stack([a.T, a]), m.stack([b, b * b], 1)),
    "inv": lambda m, a, b: m.linalg.inv(a) @ b,
    "det": lambda m, a, b: m.linalg.det(a) * b,
    "det, 4": lambda m, a, b: m.linalg.det(m.pad(a, ((0, 1), (0, 1)), constant_values=1.5)) * b,
    "slogdet": lambda m, a, b: m.linalg.slogdet(a)[1] * b,
    "norm": lambda m, a, b: m.linalg.norm(a) * m.linalg.norm(b, 3),
    "nuclear norm": lambda m, a, b: m.linalg.norm(a, "nuc") * b,
    "pinv": lambda m, a, b: m.linalg.pinv(a[:, :2]) @ b,
    "lstsq": lambda m, a, b: m.linalg.lstsq(a[:, :2], b)[0],
    "cond": lambda m, a, b: m.linalg.cond(a) * b,
    "eigvalsh": lambda m, a, b: m.linalg.eigvalsh(a + a.T) * b,
    "matrix_power": lambda m, a, b: m.linalg.matrix_power(a, -3) @ b,
}


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_norms_of_other_orders_and_their_derivatives_stay_in_range(size: float) -> None:
    x = np.float32([1, -2, 2])
    value, slope = px.value_and_grad(lambda x: pnp.linalg.norm(x, 3))(x * np.float32(size))
    np.testing.assert_allclose(value / np.float32(size), 17 ** (1 / 3), rtol=1e-6)
    np.testing.assert_allclose(slope, x * abs(x) / 17 ** (2 / 3), rtol=1e-6)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_second_derivatives_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    function = DERIVATIVES[name]

    def run(p: Any, m: Any) -> Any:
        def value(a: Any, b: Any) -> Any:
            return (function(m, a, b) ** 2).sum()

        def slope(a: Any, b: Any) -> Any:
            return p.jvp(p.grad(value, (0, 1)), (a, b), (a.T, b))

        return p.jit(slope)

    ours, theirs = run(px, pnp)(A, V), run(jax, jax.numpy)(A, V)
    for got, want in zip(px.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-3 * np.abs(want).max())


def test_the_derivative_of_a_determinant_is_right_at_singular_matrices():
    x = np.array(STACK[0])
    x[3] = x[0] - x[1]
    minors = [[np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(4)] for i in range(4)]
    cofactors = np.array(minors) * (-1.0) ** np.add.outer(range(4), range(4))
    np.testing.assert_allclose(px.grad(linalg.det)(x), cofactors, rtol=1e-3, atol=1e-3)


def test_systems_with_one_matrix_are_solved_at_once_under_vmap():
    rows = STACK[0]
    program = px.make_jaxpr(px.vmap(lambda b: linalg.solve(STACK[1], b)))(rows)
    (call,) = program.eqns
    assert [eqn.primitive.name for eqn in call.params["jaxpr"].eqns].count("lu") == 1
    np.testing.assert_allclose(
        px.jit(px.vmap(lambda b: linalg.solve(STACK[1], b)))(rows), np.linalg.solve(STACK[1], rows.T).T, atol=1e-4
    )
    mapped = px.jit(px.vmap(linalg.solve, (2, 1)))(np.moveaxis(STACK, 0, 2), rows[:, :2])
    np.testing.assert_allclose(mapped, np.linalg.solve(STACK, rows[:, :2].T[..., None])[..., 0], atol=1e-4)


# A call that is refused, and a part of the message.
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "solve, not square": (lambda: linalg.solve(TALL, V), r"\(4, 2\)"),
    "solve, rows": (lambda: linalg.solve(A, TALL), "as many rows as a, 3"),
    "solve, stacks": (lambda: linalg.solve(np.stack([A] * 3), np.stack([B] * 2)), r"\(3,\) and \(2,\)"),
    "inv": (lambda: linalg.inv(TALL), "as many rows as columns"),
    "det": (lambda: linalg.det(V), r"\(3,\)"),
    "slogdet": (lambda: linalg.slogdet(A, method="cholesky"), "'cholesky'"),
    "eigh": (lambda: linalg.eigh(A, "l"), "UPLO must be 'L', 'U' or None, got 'l'"),
    "qr": (lambda: linalg.qr(A, "economic"), "'economic'"),
    "svd": (lambda: linalg.svd(V), "rank 2 or more"),
    "svd, subset": (lambda: linalg.svd(A, subset_by_index=(0, 1)), "full_matrices must be False"),
    "norm, axes": (lambda: linalg.norm(CUBE, axis=(0, 1, 2)), "one axis, or two"),
    "norm, ord of vectors": (lambda: linalg.norm(V, "fro"), "'fro'"),
    "norm, ord of matrices": (lambda: linalg.norm(A, 3), "got 3"),
    "norm, repeated": (lambda: linalg.norm(CUBE, axis=(0, -3)), "distinct"),
    "cond": (lambda: linalg.cond(TALL, 1), "as many rows as columns"),
    "pinv": (lambda: linalg.pinv(A, 0.1, rcond=0.1), "one of rtol and rcond"),
    "matrix_rank": (lambda: linalg.matrix_rank(A, 0.1, tol=0.1), "one of rtol and tol"),
    "lstsq": (lambda: linalg.lstsq(TALL, V), "4 and 3"),
    "tensorinv": (lambda: linalg.tensorinv(A, 0), "positive, got 0"),
    "tensorsolve": (lambda: linalg.tensorsolve(CUBE, A), "the axes of b"),
    "multi_dot": (lambda: linalg.multi_dot([A]), "two or more, got 1"),
    "outer": (lambda: linalg.outer(A, V), "rank 1"),
    "cross": (lambda: linalg.cross(TALL, TALL), "length 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_functions_have_the_arguments_of_jax():
    theirs = pytest.importorskip("jax.numpy.linalg")
    assert {name for name in dir(theirs) if inspect.isfunction(getattr(theirs, name))} <= set(linalg.__all__)
    for name in set(linalg.__all__) - {"matmul"}:  # that of px.numpy, whose operands have names
        if inspect.isfunction(getattr(linalg, name)):
            have = inspect.signature(getattr(linalg, name)).parameters
            want = inspect.signature(getattr(theirs, name)).parameters
            listed = [
                [(p.name, p.kind, p.default) for p in each.values() if p.name != "out_sharding"]
                for each in (have, want)
            ]
            assert listed[0] == listed[1], name


def test_primax_linalg_is_that_of_numpy():
    assert px.linalg.__all__ == linalg.__all__
    assert px.linalg.solve is pnp.linalg.solve


@pytest.mark.parametrize("name", ["det", "inv", "slogdet", "solve"])
def test_calls_in_programs_have_the_names_of_jax(name: str) -> None:
    """Interpreters of packages know these functions by the names of their calls."""
    jax = pytest.importorskip("jax")
    args = (STACK[1],) * (2 if name == "solve" else 1)
    found = []
    for package in (px, jax):
        program = package.make_jaxpr(getattr(package.numpy.linalg, name))(*args).jaxpr
        found.append([(eqn.primitive.name, eqn.params["name"]) for eqn in program.eqns])
    assert found[0] == found[1] == [("jit", name)]
