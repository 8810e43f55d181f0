"""Sums, products and derivatives of BCOO arrays are those of jax's, and of the dense arrays."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.experimental import sparse

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.experimental.sparse")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def dense(shape, seed=0, dtype="float32"):
    """An array of which most elements are 0."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.5, rng.integers(-4, 5, shape), 0).astype(dtype)


def layouts(ndim):
    return [(n, d) for n in range(ndim + 1) for d in range(ndim + 1 - n)]


def made(x, n=0, d=0, nse=None):
    return sparse.BCOO.fromdense(x, nse=nse, n_batch=n, n_dense=d)


def wild():
    indices = np.array([[0, 1], [0, 1], [9, 1], [-1, 2], [1, 9]])
    return sparse.BCOO((np.array([1.0, 2, 3, 4, 5], "f4"), indices), shape=(3, 4))


@pytest.mark.parametrize("n, d", layouts(3))
def test_sums_and_products_of_elements(n, d):
    x, y = dense((2, 3, 4)), dense((2, 3, 4), seed=1)
    a, b = made(x, n, d, nse=24), made(y, n, d, nse=24)
    for operation in (operator.add, operator.sub, operator.mul):
        for function in (operation, px.jit(operation)):
            out = function(a, b)
            assert isinstance(out, sparse.BCOO)
            np.testing.assert_array_equal(out.todense(), operation(x, y))
            dense_out = function(a, pnp.asarray(y))
            assert isinstance(dense_out, sparse.BCOO) == (operation is operator.mul)
            np.testing.assert_array_equal(sparse.todense(dense_out), operation(x, y))
            np.testing.assert_array_equal(sparse.todense(function(pnp.asarray(x), b)), operation(x, y))
            np.testing.assert_array_equal(sparse.todense(operation(x, b)), operation(x, y))
    for out, wanted in (
        (-a, -x),
        (+a, x),
        (abs(a), abs(x)),
        (a**2, x**2),
        (a * 2, x * 2),
        (2 * a, 2 * x),
        (a / 2, x / 2),
        (a / (abs(y) + 1), x / (abs(y) + 1)),
        (a * y[0], x * y[0]),
        (a * y[:, :1], x * y[:, :1]),
        (a * pnp.asarray(y[:1, :, :1]), x * y[:1, :, :1]),
    ):
        np.testing.assert_array_equal(out.todense(), wanted)
        assert out.dtype == np.float32


def test_duplicates_and_indices_out_of_range_in_products():
    mat = wild()
    x, y = np.asarray(mat.todense()), dense((3, 4), seed=3)
    for out, wanted in (
        (mat * mat, x * x),
        (mat * y, x * y),
        (mat + y, x + y),
        (mat**2, x**2),
        (abs(-mat), abs(x)),
        (mat @ y.T, x @ y.T),
        (y.T @ mat, y.T @ x),
        (mat @ mat.T, x @ x.T),
        (mat.T @ mat, x.T @ x),
        (mat @ y[0], x @ y[0]),
    ):
        np.testing.assert_array_equal(sparse.todense(out), wanted)


DOTS = [
    (((2,), (1,)), ((0,), (0,))),
    (((0,), (0,)), ((), ())),
    (((1,), (2,)), ((), ())),
    (((2, 0), (1, 0)), ((), ())),
    (((), ()), ((0,), (0,))),
    (((), ()), ((), ())),
    (((0, 1, 2), (0, 2, 1)), ((), ())),
    (((2,), (1,)), ((1, 0), (2, 0))),
    (((), ()), ((1, 0), (2, 0))),
]


@pytest.mark.parametrize("numbers", DOTS, ids=str)
@pytest.mark.parametrize("n, d", layouts(3))
def test_products_with_dense_arrays(n, d, numbers):
    x, y = dense((2, 3, 4)), dense((2, 4, 3), seed=1)
    (xc, yc), (xb, yb) = numbers
    allowed = all(axis < 3 - d for axis in xc) and all(axis < n for axis in xb)
    a = made(x, n, d)
    if not allowed:
        with pytest.raises(NotImplementedError, match=r"bcoo_dot_general: .* dimensions"):
            sparse.bcoo_dot_general(a, y, dimension_numbers=numbers)
        return
    wanted = jax.lax.dot_general(x, y, numbers)
    out = sparse.bcoo_dot_general(a, y, dimension_numbers=numbers)
    np.testing.assert_allclose(out, wanted, rtol=1e-6)
    np.testing.assert_allclose(
        px.jit(lambda m, v: sparse.bcoo_dot_general(m, v, dimension_numbers=numbers))(a, y), wanted, rtol=1e-6
    )
    swapped = ((yc, xc), (yb, xb))
    np.testing.assert_allclose(
        sparse.bcoo_dot_general(y, a, dimension_numbers=swapped), jax.lax.dot_general(y, x, swapped), rtol=1e-6
    )
    np.testing.assert_allclose(
        sparse.bcoo_dot_general(x, y, dimension_numbers=numbers), jax.lax.dot_general(x, y, numbers), rtol=1e-6
    )


@pytest.mark.parametrize(
    "numbers, n, m",
    [
        ((((2,), (2,)), ((0,), (0,))), 1, 1),
        ((((2,), (2,)), ((0, 1), (0, 1))), 2, 2),
        ((((1, 2), (1, 2)), ((0,), (0,))), 1, 1),
        ((((0, 1, 2), (0, 1, 2)), ((), ())), 0, 0),
        ((((2,), (2,)), ((), ())), 0, 0),
        ((((2,), (2,)), ((), ())), 1, 0),
        ((((2,), (2,)), ((), ())), 2, 2),
        ((((), ()), ((), ())), 0, 0),
        ((((), ()), ((0,), (0,))), 1, 1),
    ],
)
def test_products_of_sparse_arrays(numbers, n, m):
    x, y = dense((2, 3, 4)), dense((2, 3, 4), seed=1)
    out = sparse.bcoo_dot_general(made(x, n), made(y, m), dimension_numbers=numbers)
    np.testing.assert_array_equal(out.todense(), jax.lax.dot_general(x, y, numbers))
    other = [theirs.BCOO.fromdense(jax.numpy.asarray(v), n_batch=k) for v, k in ((x, n), (y, m))]
    wanted = theirs.bcoo_dot_general(*other, dimension_numbers=numbers)
    assert (out.shape, out.nse, out.n_batch) == (wanted.shape, wanted.nse, wanted.n_batch)
    compiled = px.jit(lambda *v: sparse.bcoo_dot_general(*v, dimension_numbers=numbers))(made(x, n), made(y, m))
    np.testing.assert_array_equal(compiled.todense(), out.todense())


@pytest.mark.parametrize(
    "shape, n, other",
    [
        ((3, 4), 0, (4,)),
        ((3, 4), 0, (4, 2)),
        ((3, 4), 1, (4, 2)),
        ((3, 4), 0, (2, 4, 3)),
        ((2, 3, 4), 1, (4,)),
        ((2, 3, 4), 1, (4, 2)),
        ((2, 3, 4), 1, (2, 4, 2)),
        ((2, 3, 4), 1, (1, 4, 2)),
        ((2, 3, 4), 1, (5, 1, 4, 2)),
        ((1, 3, 4), 1, (2, 4, 2)),
        ((4,), 0, (4,)),
        ((4,), 0, (4, 2)),
        ((4,), 0, (3, 4, 2)),
    ],
)
def test_products_of_matrices(shape, n, other):
    x, y = dense(shape), dense(other, seed=1)
    out = made(x, n) @ y
    assert isinstance(out, px.Array)
    np.testing.assert_array_equal(out, x @ y)
    transposed = np.moveaxis(y, -1, -2) if y.ndim > 1 else y
    back = np.moveaxis(x, -1, -2) if x.ndim > 1 else x
    np.testing.assert_array_equal(transposed @ made(back, n), transposed @ back)
    np.testing.assert_array_equal(pnp.asarray(transposed) @ made(back, n), transposed @ back)
    if n == 0 and len(other) < 3:
        np.testing.assert_array_equal(sparse.todense(made(x) @ made(y)), x @ y)


def test_products_of_batches_of_sparse_matrices():
    x, y = dense((2, 3, 4)), dense((2, 4, 2), seed=1)
    np.testing.assert_array_equal((made(x, 1) @ made(y, 1)).todense(), x @ y)
    np.testing.assert_array_equal((made(x, 1) @ made(y[:1], 1)).todense(), x @ y[:1])


def test_dtypes_of_products():
    x, y = dense((3, 4)), dense((4, 2), dtype="int32")
    numbers = (((1,), (0,)), ((), ()))
    other = theirs.BCOO.fromdense(jax.numpy.asarray(x))
    for kind in (None, "float16"):
        out = sparse.bcoo_dot_general(made(x), y, dimension_numbers=numbers, preferred_element_type=kind)
        wanted = theirs.bcoo_dot_general(other, y, dimension_numbers=numbers, preferred_element_type=kind)
        assert out.dtype == wanted.dtype
        np.testing.assert_array_equal(out, wanted)
    assert (made(x) * 2).dtype == (other * 2).dtype == np.float32
    assert (made(y) * np.float32(2)).dtype == np.float32
    assert (made(y) * made(y).astype("float32")).dtype == np.float32
    both = sparse.bcoo_dot_general(
        made(y), made(y), dimension_numbers=(((0,), (0,)), ((), ())), preferred_element_type="f4"
    )
    assert both.dtype == np.float32


def test_elements_of_products():
    a, b = dense((2, 3, 4)), dense((2, 4, 5), seed=1)
    indices = np.array([[[0, 0], [2, 4]], [[1, 3], [9, 0]]])
    numbers = (((2,), (1,)), ((0,), (0,)))
    out = sparse.bcoo_dot_general_sampled(a, b, indices, dimension_numbers=numbers)
    product = a @ b
    np.testing.assert_array_equal(out, [[product[0, 0, 0], product[0, 2, 4]], [product[1, 1, 3], 0]])
    empty = sparse.bcoo_dot_general_sampled(
        a[0, 0], b[0, :, 0], np.zeros((2, 0), int), dimension_numbers=(((0,), (0,)), ((), ()))
    )
    np.testing.assert_array_equal(empty, [product[0, 0, 0]] * 2)


FUNCTIONS = {
    "todense": lambda m, v: m.todense() ** 2,
    "matmul": lambda m, v: pnp.sin(m @ v),
    "rmatmul": lambda m, v: pnp.sin(v.T @ m.T),
    "multiply": lambda m, v: (m * v[:, 0]).todense() ** 2,
    "twice": lambda m, v: (m * m).todense() * v[:, 0],
    "product": lambda m, v: (m @ m.T).todense(),
    "sum": lambda m, v: m.sum(0).todense() ** 2,
    "reshape": lambda m, v: m.reshape(2, 6).todense() ** 2,
    "duplicates": lambda m, v: m.sum_duplicates(nse=4).todense() ** 2,
    "layout": lambda m, v: m.update_layout(n_batch=1, n_dense=1, on_inefficient=None).todense() ** 2,
    "slice": lambda m, v: m[1:, ::-1].todense() ** 2,
    "concatenate": lambda m, v: sparse.bcoo_concatenate([m, m], dimension=0).todense() ** 2,
    "sorted": lambda m, v: m.sort_indices().T.todense() ** 2,
    "extract": lambda m, v: sparse.bcoo_extract(m, v[:3, :1] * v[:, 0]).data,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_the_data(name):
    function, mat = FUNCTIONS[name], wild()
    v = np.linspace(0.5, 2.0, 8, dtype="float32").reshape(4, 2)

    def of(data, w):
        return function(mat.remade(data), w)

    px.test_util.check_grads(of, (mat.data, pnp.asarray(v)), order=1, atol=0.1, rtol=0.1)
    by_data = px.grad(lambda data: of(data, v).sum())(mat.data)
    by_mat = sparse.grad(lambda m: function(m, v).sum())(mat)
    assert isinstance(by_mat, sparse.BCOO)
    np.testing.assert_allclose(by_mat.data, by_data, rtol=1e-6)
    np.testing.assert_array_equal(by_mat.indices, mat.indices)
    stacked = px.vmap(lambda data: of(data, v))(pnp.stack([mat.data, 2 * mat.data]))
    np.testing.assert_allclose(stacked[1], of(2 * mat.data, v), rtol=1e-6)


def test_gradients_and_jacobians_are_those_of_jax():
    x, v = dense((3, 4)), np.linspace(-1, 1, 4, dtype="float32")
    mine, other = made(x), theirs.BCOO.fromdense(jax.numpy.asarray(x))

    def square(m, w):
        return ((m @ w) ** 2).sum()

    value, (slope, by_vector) = sparse.value_and_grad(square, argnums=(0, 1))(mine, v)
    wanted, (their_slope, their_vector) = theirs.value_and_grad(square, argnums=(0, 1))(other, v)
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    np.testing.assert_allclose(slope.data, their_slope.data, rtol=1e-5)
    np.testing.assert_allclose(by_vector, their_vector, rtol=1e-5)
    for name in ("jacfwd", "jacrev", "jacobian"):
        out = getattr(sparse, name)(lambda m: m @ v)(mine)
        same = getattr(theirs, name)(lambda m: m @ v)(other)
        assert (out.shape, out.n_batch, out.nse) == (same.shape, same.n_batch, same.nse)
        np.testing.assert_allclose(out.todense(), same.todense(), rtol=1e-6)
    slope, rest = sparse.grad(lambda tree: (tree["a"].sum() * 2, "aux"), has_aux=True)({"a": mine})
    np.testing.assert_array_equal(slope["a"].data, 2 * np.ones(mine.nse))
    assert rest == "aux"
    (value, rest), slope = sparse.value_and_grad(lambda m: (m.sum(), m.shape), has_aux=True)(mine)
    assert (float(value), rest, slope.shape) == (x.sum(), (3, 4), (3, 4))
    out, rest = sparse.jacrev(lambda m: (m @ v, 1), has_aux=True)(mine)
    assert (out.shape, rest) == ((3, 3, 4), 1)
    np.testing.assert_array_equal(px.jit(sparse.grad(lambda m: m.sum()))(mine).data, np.ones(mine.nse))


M = sparse.BCOO.fromdense(dense((3, 4)))
B = sparse.BCOO.fromdense(dense((2, 3, 4)), n_batch=1)
D = sparse.BCOO.fromdense(dense((2, 3, 4)), n_dense=1)
NUMBERS = (((1,), (0,)), ((), ()))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: M + 1, NotImplementedError, r"add: a dense operand must have the shape \(3, 4\) .*got \(\)"),
        (
            lambda: M - M.T,
            NotImplementedError,
            r"subtract: sparse operands must have one shape, got \(3, 4\) and \(4, ",
        ),
        (lambda: B + D, NotImplementedError, "add: rhs must have 1 batch, 2 sparse and 0 dense dimensions"),
        (lambda: M + "a", TypeError, "add: the other operand must be an array, got 'a'"),
        (lambda: M * np.ones(3), ValueError, r"v must broadcast to the shape \(3, 4\), got \(3,\)"),
        (
            lambda: M + np.ones(3),
            NotImplementedError,
            r"add: a dense operand must have the shape \(3, 4\) .* got \(3,\)",
        ),
        (lambda: M * np.ones((2, 3, 4)), NotImplementedError, "and no further"),
        (lambda: M * M.T, ValueError, r"rhs must have the shape \(3, 4\) of lhs"),
        (lambda: M * M[:1], NotImplementedError, r"rhs must have the sparse sizes \(3, 4\)"),
        (lambda: B * D, NotImplementedError, "rhs must have 1 batch, 2 sparse and 0 dense"),
        (lambda: M / M, NotImplementedError, "divide: a divisor must be dense"),
        (lambda: 1 / M, NotImplementedError, "divide: a divisor must be dense"),
        (lambda: M**0, NotImplementedError, "must be a positive int, got 0"),
        (lambda: M == M, NotImplementedError, "equal: the result for BCOO"),
        (lambda: M != 1, NotImplementedError, "not_equal: the result for BCOO"),
        (lambda: M @ 2, ValueError, r"matmul: rhs must have one dimension or more"),
        (lambda: M @ np.ones(3), ValueError, r"matmul: .* got shapes \(3, 4\) and \(3,\)"),
        (lambda: B @ np.ones((3, 4, 2)), ValueError, "matmul: batch dimensions must broadcast"),
        (lambda: M @ sparse.empty((2, 4, 2), n_batch=1), NotImplementedError, "bcoo_dot_general|matmul"),
        (lambda: sparse.bcoo_dot_general(M, "a", dimension_numbers=NUMBERS), TypeError, "rhs must be an array"),
        (lambda: sparse.bcoo_dot_general(M, M, dimension_numbers=NUMBERS), ValueError, "the same sizes in lhs and rhs"),
        (lambda: sparse.bcoo_dot_general(M, M, dimension_numbers=(1, 2)), TypeError, "dimension_numbers"),
        (lambda: sparse.bcoo_dot_general(M, M, dimension_numbers=((), ())), ValueError, "dimension_numbers must be"),
        (
            lambda: sparse.bcoo_dot_general(B, B, dimension_numbers=(((0,), (0,)), ((0,), (0,)))),
            ValueError,
            "lhs must contract no batch dimension",
        ),
        (
            lambda: sparse.bcoo_dot_general(D, M, dimension_numbers=(((1,), (0,)), ((), ()))),
            NotImplementedError,
            "no dense dimensions",
        ),
        (
            lambda: sparse.bcoo_dot_general(B, B, dimension_numbers=(((0,), (0,)), ((), ()))),
            NotImplementedError,
            "must be sparse in",
        ),
        (
            lambda: sparse.bcoo_dot_general(B, B, dimension_numbers=(((2,), (2,)), ((), ()))),
            NotImplementedError,
            "batch dimensions .* come after the sparse ones",
        ),
        (
            lambda: sparse.bcoo_dot_general_sampled(np.ones((2, 3)), np.ones((3, 2)), [[0]], dimension_numbers=NUMBERS),
            ValueError,
            "indices must have shape",
        ),
        (
            lambda: sparse.bcoo_dot_general_sampled(np.ones(2), np.ones(2), [[0.0]], dimension_numbers=NUMBERS),
            TypeError,
            "indices must be integers",
        ),
        (lambda: sparse.grad(1), TypeError, "grad: fun must be callable"),
        (lambda: sparse.grad(lambda m: m.sum(), argnums=1)(M), ValueError, "argnums must name one of 1 positional"),
        (lambda: sparse.todense("a"), TypeError, "todense: arr must be an array, got 'a'"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
