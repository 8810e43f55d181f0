"""Sums, products and derivatives of BCOO arrays are those of jax's, and of the dense arrays."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
from sparsecheck import agrees, dense, elements, in_jax, layouts, made, wild

import primax as px
import primax.numpy as pnp
from primax.experimental import sparse

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.experimental.sparse")

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.any_release]
OPERATIONS = operator.add, operator.sub, operator.mul


@pytest.mark.parametrize("n, d", layouts(3))
def test_sums_and_products_of_elements(n, d):
    x, y = dense((2, 3, 4)), dense((2, 3, 4), seed=1)

    @px.jit
    def pairs(a, b, left, right):
        both = [(operation(a, b), operation(a, right), operation(left, b)) for operation in OPERATIONS]
        return both, [
            (-a, -left),
            (+a, left),
            (abs(a), abs(left)),
            (a**2, left**2),
            (a * 2, left * 2),
            (2 * a, 2 * left),
            (a / 2, left / 2),
            (a / (abs(y) + 1), left / (abs(y) + 1)),
            (a * y[0], left * y[0]),
            (a * y[:, :1], left * y[:, :1]),
            (a * right[:1, :, :1], left * right[:1, :, :1]),
        ]

    both, others = pairs(made(x, n, d, nse=24), made(y, n, d, nse=24), x, y)
    for operation, (of_sparse, of_dense, turned) in zip(OPERATIONS, both, strict=True):
        for out in (of_sparse, of_dense, turned):
            agrees(out, operation(x, y))
        assert isinstance(of_sparse, sparse.BCOO)
        assert isinstance(of_dense, sparse.BCOO) == (operation is operator.mul)
    for out, wanted in others:
        agrees(out, wanted)
        assert isinstance(out, sparse.BCOO)
        assert out.dtype == np.float32


def test_arrays_of_numpy_leave_operators_to_sparse_arrays():
    x, y = dense((3, 4)), dense((3, 4), seed=1)
    for operation in OPERATIONS:
        agrees(operation(x, made(y)), operation(x, y))


def test_duplicates_and_indices_out_of_range_in_products():
    mat = wild()
    x, y = elements(mat), dense((3, 4), seed=3)
    mine = px.jit(
        lambda m: [
            m * m,
            m * y,
            m + y,
            m**2,
            abs(-m),
            m @ y.T,
            y.T @ m,
            m @ m.T,
            m.T @ m,
            m @ y[0],
        ]
    )(mat)
    wanted = x * x, x * y, x + y, x**2, abs(x), x @ y.T, y.T @ x, x @ x.T, x.T @ x, x @ y[0]
    for out, array in zip(mine, wanted, strict=True):
        agrees(out, array)


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


def turned(numbers):
    """The dimensions of a product whose operands are swapped."""
    return tuple(pair[::-1] for pair in numbers)


@functools.cache
def products():
    """Two arrays, and all products of both in both orders."""
    x, y = dense((2, 3, 4)), dense((2, 4, 3), seed=1)
    out = jax.jit(lambda v, w: [(jax.lax.dot_general(v, w, k), jax.lax.dot_general(w, v, turned(k))) for k in DOTS])(
        x, y
    )
    return x, y, out


@pytest.mark.parametrize("n, d", layouts(3))
def test_products_with_dense_arrays(n, d):
    x, y, wanted = products()
    mat = made(x, n, d)
    dot = sparse.bcoo_dot_general
    known = []
    for numbers, pair in zip(DOTS, wanted, strict=True):
        (contracted, _), (batch, _) = numbers
        if all(axis < 3 - d for axis in contracted) and all(axis < n for axis in batch):
            known.append((numbers, pair))
        else:
            with pytest.raises(NotImplementedError, match=r"bcoo_dot_general: .* dimensions"):
                dot(mat, y, dimension_numbers=numbers)
    mine = px.jit(
        lambda m, v: [(dot(m, v, dimension_numbers=k), dot(v, m, dimension_numbers=turned(k))) for k, _ in known]
    )(mat, y)
    for (one, other), (_, (first, second)) in zip(mine, known, strict=True):
        np.testing.assert_allclose(one, first, rtol=1e-6)
        np.testing.assert_allclose(other, second, rtol=1e-6)


def test_products_of_dense_arrays():
    x, y, wanted = products()
    mine = px.jit(lambda v, w: [sparse.bcoo_dot_general(v, w, dimension_numbers=k) for k in DOTS])(x, y)
    for out, (array, _) in zip(mine, wanted, strict=True):
        np.testing.assert_allclose(out, array, rtol=1e-6)


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
    mats = [made(x, n), made(y, m)]
    like = jax.eval_shape(lambda *v: theirs.bcoo_dot_general(*v, dimension_numbers=numbers), *map(in_jax, mats))
    out = px.jit(lambda *v: sparse.bcoo_dot_general(*v, dimension_numbers=numbers))(*mats)
    agrees(out, jax.lax.dot_general(x, y, numbers), like)


MATRICES = [
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
]


@pytest.mark.parametrize("shape, n, other", MATRICES)
def test_products_of_matrices(shape, n, other):
    x, y = dense(shape), dense(other, seed=1)
    transposed = np.moveaxis(y, -1, -2) if y.ndim > 1 else y
    back = np.moveaxis(x, -1, -2) if x.ndim > 1 else x
    out, before = px.jit(lambda a, b, v, w: (a @ v, w @ b))(made(x, n), made(back, n), y, transposed)
    assert isinstance(out, px.Array)
    np.testing.assert_array_equal(out, x @ y)
    np.testing.assert_array_equal(before, transposed @ back)
    if n == 0 and len(other) < 3:
        agrees(px.jit(operator.matmul)(made(x), made(y)), x @ y)


def test_products_with_arrays_of_numpy():
    x, y = dense((3, 4)), dense((4, 2), seed=1)
    np.testing.assert_array_equal(made(x) @ y, x @ y)
    np.testing.assert_array_equal(y.T @ made(x.T), y.T @ x.T)


def test_products_of_batches_of_sparse_matrices():
    x, y = dense((2, 3, 4)), dense((2, 4, 2), seed=1)
    both = px.jit(lambda a, b, c: (a @ b, a @ c))(made(x, 1), made(y, 1), made(y[:1], 1))
    for out, wanted in zip(both, (x @ y, x @ y[:1]), strict=True):
        agrees(out, wanted)


def test_dtypes_of_products():
    x, y = dense((3, 4)), dense((4, 2), dtype="int32")
    numbers = (((1,), (0,)), ((), ()))
    other = in_jax(made(x))

    def dots(module):
        return lambda m: [
            module.bcoo_dot_general(m, y, dimension_numbers=numbers, preferred_element_type=kind)
            for kind in (None, "float16")
        ]

    for out, wanted in zip(px.jit(dots(sparse))(made(x)), jax.jit(dots(theirs))(other), strict=True):
        agrees(out, wanted, wanted)
    inner = (((0,), (0,)), ((), ()))
    kinds = px.eval_shape(
        lambda a, b: (
            a * 2,
            b * np.float32(2),
            b * b.astype("float32"),
            sparse.bcoo_dot_general(b, b, dimension_numbers=inner, preferred_element_type="f4"),
        ),
        made(x),
        made(y),
    )
    assert [mat.dtype for mat in kinds] == [np.float32] * 4
    assert jax.eval_shape(lambda m: m * 2, other).dtype == np.float32


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

    px.test_util.check_grads(px.jit(of), (mat.data, pnp.asarray(v)), order=1, atol=0.1, rtol=0.1)

    @px.jit
    def several(data):
        by_mat = sparse.grad(lambda m: function(m, v).sum())(mat.remade(data))
        return by_mat, px.grad(lambda x: of(x, v).sum())(data), px.vmap(lambda x: of(x, v))(pnp.stack([data, 2 * data]))

    by_mat, by_data, stacked = several(mat.data)
    assert isinstance(by_mat, sparse.BCOO)
    np.testing.assert_allclose(by_mat.data, by_data, rtol=1e-6)
    np.testing.assert_array_equal(by_mat.indices, mat.indices)
    np.testing.assert_allclose(stacked[1], px.jit(of)(2 * mat.data, v), rtol=1e-6)


def test_gradients_and_jacobians_are_those_of_jax():
    x, v = dense((3, 4)), np.linspace(-1, 1, 4, dtype="float32")
    mine = made(x)

    def derivatives(module):
        def square(m, w):
            return ((m @ w) ** 2).sum()

        return lambda m: (
            module.value_and_grad(square, argnums=(0, 1))(m, v),
            [getattr(module, name)(lambda n: n @ v)(m) for name in ("jacfwd", "jacrev", "jacobian")],
        )

    (value, (slope, by_vector)), mats = px.jit(derivatives(sparse))(mine)
    (wanted, (their_slope, their_vector)), others = jax.jit(derivatives(theirs))(in_jax(mine))
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    np.testing.assert_allclose(slope.data, their_slope.data, rtol=1e-5)
    np.testing.assert_allclose(by_vector, their_vector, rtol=1e-5)
    for mat, same in zip(mats, others, strict=True):
        agrees(mat, elements(same), same)
    slope, rest = sparse.grad(lambda tree: (tree["a"].sum() * 2, "aux"), has_aux=True)({"a": mine})
    np.testing.assert_array_equal(slope["a"].data, 2 * np.ones(mine.nse))
    assert rest == "aux"
    (value, rest), slope = sparse.value_and_grad(lambda m: (m.sum(), m.shape), has_aux=True)(mine)
    assert (float(value), rest, slope.shape) == (x.sum(), (3, 4), (3, 4))
    out, rest = sparse.jacrev(lambda m: (m @ v, 1), has_aux=True)(mine)
    assert (out.shape, rest) == ((3, 3, 4), 1)
    np.testing.assert_array_equal(px.jit(sparse.grad(lambda m: m.sum()))(mine).data, np.ones(mine.nse))


M, B, D = made(dense((3, 4))), made(dense((2, 3, 4)), 1), made(dense((2, 3, 4)), 0, 1)
NUMBERS = (((1,), (0,)), ((), ()))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: M + 1, NotImplementedError, r"add: a dense operand must have the shape \(3, 4\) .*got \(\)"),
        (
            lambda: M - M.T,
            NotImplementedError,
            r"subtract: sparse operands must have the same shape, got \(3, 4\) and \(4, ",
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
