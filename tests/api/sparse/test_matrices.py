"""COO, CSR and CSC arrays hold and do what jax's and SciPy's do, and work under transformations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sparsecheck import dense, elements

import primax as px
import primax.numpy as pnp
from primax.experimental import sparse
from primax.experimental.sparse.coo import COOInfo
from primax.extend.core import primitives
from primax.tree_util import tree_leaves, tree_map, tree_structure

NAMES = ("COO", "CSR", "CSC")
X = np.array([[0, 2, 0, -1], [3, 0, 4, 0], [0, 0, 0, 5]], "f4")
V, U = np.array([1.0, -2, 3, 0.5], "f4"), np.array([2.0, -1, 4], "f4")
B, C = np.outer(V, [1, 2]).astype("f4") + 1, np.outer(U, [3, -1, 2]).astype("f4")


@pytest.fixture
def theirs():
    pytest.importorskip("jax")
    return pytest.importorskip("jax.experimental.sparse")


def kind(name):
    return getattr(sparse, name)


def with_data(mat, data):
    _, *others = tree_leaves(mat)
    return tree_structure(mat).unflatten([data, *others])


def same(mat, wanted):
    """Two sparse matrices store the same, and say it."""
    assert repr(mat) == repr(wanted)
    ours, aux = mat.tree_flatten()
    leaves, same_aux = wanted.tree_flatten()
    assert aux == same_aux
    for x, y in zip(ours, leaves, strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.dtype == y.dtype


DTYPES = [
    ("float32", "int32"),
    ("float32", "int16"),
    ("int32", "int32"),
    ("complex64", "int16"),
    ("float16", "int32"),
]


@pytest.mark.any_release
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nse", [None, 0, 2, 11, 15])
def test_matrices_of_dense_ones_are_stored_as_in_jax(name, nse, theirs):
    import jax.numpy as jnp

    for dtype, index_dtype in DTYPES if nse in (None, 11) else DTYPES[:1]:
        options = {"nse": nse, "index_dtype": index_dtype}
        x = X.astype(dtype)
        same(kind(name).fromdense(x, **options), getattr(theirs, name).fromdense(jnp.asarray(x), **options))


@pytest.mark.parametrize("name", NAMES)
def test_compiled_functions_make_and_take_matrices(name):
    mat = px.jit(lambda x: kind(name).fromdense(x, nse=9))(X)
    assert isinstance(mat, kind(name))
    assert (mat.shape, mat.dtype, mat.nse, mat.ndim, mat.size, len(mat)) == ((3, 4), np.float32, 9, 2, 12, 3)
    np.testing.assert_array_equal(px.jit(lambda m: m.todense())(mat), X)
    np.testing.assert_array_equal(px.jit(lambda m: m.T.todense())(mat), X.T)
    np.testing.assert_array_equal(elements(mat.to_bcoo()), X)
    assert mat.block_until_ready() is mat


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3)])
def test_matrices_without_elements(name, shape, theirs):
    options = {"dtype": "int8", "index_dtype": "int16"}
    same(kind(name)._empty(shape, **options), getattr(theirs, name)._empty(shape, **options))
    mat = kind(name)._empty(shape)
    assert mat.nse == 0
    for made in (mat, kind(name).fromdense(np.zeros(shape, "f4")), kind(name).fromdense(np.zeros(shape, "f4"), nse=2)):
        np.testing.assert_array_equal(made.todense(), np.zeros(shape))
        np.testing.assert_array_equal(made @ np.ones(shape[1], "f4"), np.zeros(shape[0]))
        np.testing.assert_array_equal(made.T @ np.ones((shape[0], 2), "f4"), np.zeros((shape[1], 2)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [0, 1, -1, 7, -7])
def test_ones_on_a_diagonal_are_as_in_jax(name, k, theirs):
    same(kind(name)._eye(2, 3, k, dtype="float16"), getattr(theirs, name)._eye(2, 3, k, dtype="float16"))
    made = sparse.eye(4, 3, k, sparse_format=name.lower())
    assert isinstance(made, kind(name))
    np.testing.assert_array_equal(made.todense(), np.eye(4, 3, k))
    none = sparse.empty((2, 3), sparse_format=name.lower())
    assert isinstance(none, kind(name))
    assert (none.shape, none.nse) == ((2, 3), 0)


@pytest.mark.parametrize("name", NAMES)
def test_products_with_vectors_and_matrices(name):
    mat = kind(name).fromdense(X)
    for m, x, v, b in ((mat, X, V, B), (mat.T, X.T, U, C)):
        np.testing.assert_allclose(m @ v, x @ v, rtol=1e-6)
        np.testing.assert_allclose(px.jit(lambda m, b: m @ b)(m, b), x @ b, rtol=1e-6)
        np.testing.assert_allclose(b.T @ m.T, b.T @ x.T, rtol=1e-6)
        np.testing.assert_allclose(m @ b[None], x @ b[None], rtol=1e-6)
    np.testing.assert_allclose((mat @ mat.T).todense(), X @ X.T, rtol=1e-6)
    assert (mat @ np.arange(4)).dtype == np.float32
    assert (kind(name).fromdense(X.astype("i4")) @ (V > 0)).dtype == np.int32


@pytest.mark.parametrize("name", ["coo", "csr"])
@pytest.mark.parametrize("transpose", [False, True])
def test_functions_are_those_of_jax(name, transpose, theirs):
    import jax.numpy as jnp

    v, b = (U, C) if transpose else (V, B)
    ours, other = (getattr(m, name.upper()) for m in (sparse, theirs))
    mat, wanted = ours.fromdense(X, nse=9), other.fromdense(jnp.asarray(X), nse=9)
    for operation, args in (("todense", ()), ("matvec", (v,)), ("matmat", (b,))):
        options = {} if operation == "todense" else {"transpose": transpose}
        out = getattr(sparse, f"{name}_{operation}")(mat, *args, **options)
        like = getattr(theirs, f"{name}_{operation}")(wanted, *map(jnp.asarray, args), **options)
        np.testing.assert_allclose(out, like, rtol=1e-6)
        assert out.dtype == like.dtype


@pytest.mark.parametrize("name", ["coo", "csr"])
def test_functions_are_one_equation_each(name):
    mat = kind(name.upper()).fromdense(X)
    calls = {
        "fromdense": (lambda x: getattr(sparse, f"{name}_fromdense")(x, nse=5), X),
        "todense": (lambda m: m.todense(), mat),
        "matvec": (lambda m: m @ V, mat),
        "matmat": (lambda m: m @ B, mat),
    }
    for operation, (function, arg) in calls.items():
        primitive = getattr(sparse, f"{name}_{operation}_p")
        assert [eqn.primitive for eqn in px.make_jaxpr(function)(arg).eqns] == [primitive]
        assert primitives[f"{name}_{operation}"] is primitive


@pytest.mark.parametrize("name", ["COO", "CSR"])
def test_primitives_take_the_parameters_of_jax(name, theirs):
    import jax

    mat, wanted = kind(name).fromdense(X), getattr(theirs, name).fromdense(jax.numpy.asarray(X))
    for function, same_function in (
        (lambda m: m.todense(), lambda m: m.todense()),
        (lambda m: m @ V, lambda m: m @ jax.numpy.asarray(V)),
        (lambda m: m.T @ C, lambda m: m.T @ jax.numpy.asarray(C)),
    ):
        ours, other = px.make_jaxpr(function)(mat).eqns[-1], jax.make_jaxpr(same_function)(wanted).eqns[-1]
        assert (ours.primitive.name, ours.params) == (other.primitive.name, other.params)


def _loss(mat, x, b):
    """A function of a matrix, sparse or not, and of the dense matrix that it stands for."""
    return ((mat @ b) ** 2).sum() + (x**3).sum()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("b", [V, B])
def test_derivatives_are_those_with_respect_to_dense_matrices_at_what_is_stored(name, b):
    mat = kind(name).fromdense(X)

    def loss(data, b):
        m = with_data(mat, data)
        return _loss(m, m.todense(), b)

    slope, of_operand = px.jit(px.grad(loss, (0, 1)))(mat.data, b)
    wanted, wanted_of_operand = px.grad(lambda x, b: _loss(x, x, b), (0, 1))(X, b)
    wanted = np.asarray(wanted).T[X.T != 0] if name == "CSC" else np.asarray(wanted)[X != 0]
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)
    np.testing.assert_allclose(of_operand, wanted_of_operand, rtol=1e-5)
    slopes = sparse.grad(lambda m: _loss(m, m.todense(), b))(mat)
    assert isinstance(slopes, kind(name))
    np.testing.assert_allclose(slopes.data, wanted, rtol=1e-5)


@pytest.mark.parametrize("name", ["COO", "CSR"])
@pytest.mark.parametrize("b", [V, B])
def test_derivatives_are_those_of_jax(name, b, theirs):
    import jax

    wanted = getattr(theirs, name).fromdense(jax.numpy.asarray(X))
    same_slopes = theirs.grad(lambda m: _loss(m, m.todense(), jax.numpy.asarray(b)))(wanted)
    slopes = sparse.grad(lambda m: _loss(m, m.todense(), b))(kind(name).fromdense(X))
    np.testing.assert_allclose(slopes.data, same_slopes.data, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_a_product_in_forward_and_reverse_mode_agree(name):
    mat = kind(name).fromdense(X)
    forward = px.jacfwd(lambda data: with_data(mat, data) @ B)(mat.data)
    reverse = px.jacrev(lambda data: with_data(mat, data) @ B)(mat.data)
    np.testing.assert_allclose(forward, reverse, rtol=1e-6)
    step = np.eye(mat.nse, dtype="f4")
    changes = [with_data(mat, mat.data + each) @ B - mat @ B for each in step]
    np.testing.assert_allclose(np.moveaxis(np.array(changes), 0, -1), forward, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["COO", "CSR"])
def test_what_is_stored_without_need_has_no_derivative(name):
    x = np.where(np.arange(12).reshape(3, 4) % 5 == 0, 0, X + 7).astype("f4")
    slope = px.grad(lambda x: (kind(name).fromdense(x, nse=14).todense() ** 2).sum())(x)
    np.testing.assert_allclose(slope, 2 * x, rtol=1e-6)
    tangent = px.jvp(lambda x: kind(name).fromdense(x, nse=14).data, (x,), (np.ones_like(x),))[1]
    np.testing.assert_array_equal(tangent, np.arange(14) < np.count_nonzero(x))


@pytest.mark.parametrize("name", NAMES)
def test_vmap_is_a_loop(name):
    mat = kind(name).fromdense(X)
    data = np.stack([np.asarray(mat.data), np.asarray(mat.data)[::-1]])
    both = tree_map(lambda *xs: pnp.stack(xs), *(with_data(mat, each) for each in data))
    many = np.stack([V, 2 - V])
    wide = np.stack([B, 2 - B], axis=-1)
    np.testing.assert_allclose(px.vmap(lambda v: mat @ v)(many), many @ X.T, rtol=1e-6)
    np.testing.assert_allclose(px.vmap(lambda b: mat @ b, 2, 2)(wide), np.einsum("ij,jkn->ikn", X, wide), rtol=1e-6)
    for function in (lambda m, v: m @ v, lambda m, v: m.todense() * v, lambda m, v: m.T @ (m @ v)[:, None]):
        out = px.vmap(function)(both, many)
        looped = [function(with_data(mat, d), v) for d, v in zip(data, many, strict=True)]
        np.testing.assert_allclose(out, np.stack([np.asarray(each) for each in looped]), rtol=1e-6)
    made = px.vmap(lambda x: kind(name).fromdense(x, nse=7).todense())(np.stack([X, X[::-1]]))
    np.testing.assert_array_equal(made, np.stack([X, X[::-1]]))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 1), st.sampled_from(NAMES))
def test_matrices_of_scipy_have_the_same_products(seed, columns, name):
    x = dense(((0, 3, 4)[seed % 3], 3), seed)
    theirs = getattr(scipy.sparse, f"{name.lower()}_array")(x)
    parts = (theirs.data, theirs.row, theirs.col) if name == "COO" else (theirs.data, theirs.indices, theirs.indptr)
    mat = kind(name)(parts, shape=x.shape)
    other = dense((3, 2) if columns else (3,), seed + 1)
    np.testing.assert_array_equal(mat.todense(), theirs.toarray())
    np.testing.assert_allclose(mat @ other, theirs @ other, rtol=1e-6)
    same_parts = kind(name).fromdense(x)
    np.testing.assert_array_equal(same_parts.data, theirs.data)


def test_elements_out_of_range_count_for_nothing_and_others_add_up():
    data, row, col = np.arange(1, 7, dtype="f4"), np.array([0, 0, -1, 3, 1, 2]), np.array([1, 1, 0, 2, 9, -2])
    mat = sparse.COO((data, row.astype("i4"), col.astype("i4")), shape=(3, 4))
    wanted = np.zeros((3, 4), "f4")
    wanted[0, 1], wanted[2, 0], wanted[2, 2] = 3, 3, 6
    np.testing.assert_array_equal(mat.todense(), wanted)
    np.testing.assert_allclose(mat @ V, wanted @ V)
    np.testing.assert_allclose(mat.T @ C, wanted.T @ C)
    infinite = sparse.COO((np.array([1, np.inf], "f4"), np.array([0, 9]), np.array([0, 0])), shape=(3, 4))
    np.testing.assert_array_equal(infinite @ V, [1, 0, 0])
    rows = sparse.CSR((data, np.array([0, 1, 2, 3, 0, 0], "i4"), np.array([0, 1, 1, 4], "i4")), shape=(3, 4))
    np.testing.assert_array_equal(rows.todense(), [[1, 0, 0, 0], [0, 0, 0, 0], [0, 2, 3, 4]])
    np.testing.assert_array_equal(rows.to_bcoo().todense(), rows.todense())


def test_information_of_coo_arrays_goes_along():
    mat = sparse.COO.fromdense(X)
    assert mat._info == COOInfo((3, 4), rows_sorted=True, cols_sorted=False)
    assert mat.T._info == COOInfo((4, 3), rows_sorted=False, cols_sorted=True)
    ordered = mat.T._sort_indices()
    assert ordered._info == COOInfo((4, 3), rows_sorted=True)
    assert sorted(ordered.row.tolist()) == ordered.row.tolist()
    np.testing.assert_array_equal(ordered.todense(), X.T)
    assert mat._sort_indices() is mat
    assert tree_map(lambda x: x, mat)._info == mat._info


def test_sparsify_and_todense_take_them():
    for name in NAMES:
        mat = kind(name).fromdense(X)
        np.testing.assert_allclose(sparse.sparsify(lambda m: 2 * m)(mat).todense(), 2 * X)
        np.testing.assert_array_equal(sparse.todense(mat), X)


def _with(index):
    return (np.ones(2, "f4"), np.array([0, 1], index), np.array([0, 1], index))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: sparse.COO(_with("i4")[:2], shape=(2, 2)), ValueError, r"COO: args must be \(data, row, col\)"),
        (lambda: sparse.COO(_with("f4"), shape=(2, 2)), TypeError, "COO: row must be integers, got float32"),
        (lambda: sparse.COO(_with("i1"), shape=(2, 300)), ValueError, "COO: row must hold the sizes"),
        (lambda: sparse.COO(_with("i4"), shape=(2, 2, 2)), ValueError, "COO: shape must be two sizes"),
        (lambda: sparse.COO(_with("i4"), shape=3), TypeError, "COO: shape must be a sequence"),
        (lambda: sparse.COO((*_with("i4")[:2], np.zeros(3, "i4")), shape=(2, 2)), ValueError, "COO: col must have"),
        (
            lambda: sparse.COO((*_with("i4")[:2], np.zeros(2, "i2")), shape=(2, 2)),
            TypeError,
            "and col must have the same",
        ),
        (lambda: sparse.COO((np.ones((2, 2)), *_with("i4")[1:]), shape=(2, 2)), ValueError, "COO: data must have one"),
        (lambda: sparse.CSR(_with("i4"), shape=(2, 2)), ValueError, r"CSR: indptr must have shape \(3,\)"),
        (lambda: sparse.CSC(_with("i4"), shape=(2, 3)), ValueError, r"CSC: indptr must have shape \(4,\)"),
        (lambda: sparse.COO.fromdense(V), ValueError, "coo_fromdense: mat must have two dimensions"),
        (lambda: sparse.CSC.fromdense(V), ValueError, "CSC.fromdense: mat must have two dimensions"),
        (lambda: sparse.CSR.fromdense(X, nse=-1), ValueError, "csr_fromdense: nse must be at least 0"),
        (lambda: sparse.CSR.fromdense(X, nse=1.5), TypeError, "csr_fromdense: nse"),
        (lambda: sparse.COO.fromdense(X, index_dtype="f4"), TypeError, "index_dtype must be integers"),
        (lambda: px.jit(sparse.COO.fromdense)(X), ValueError, "coo_fromdense: nse must be given"),
        (lambda: sparse.coo_todense(X), TypeError, "coo_todense: mat must be a COO"),
        (lambda: sparse.csr_todense(sparse.COO.fromdense(X)), TypeError, "csr_todense: mat must be a CSR"),
        (lambda: sparse.coo_matvec(sparse.COO.fromdense(X), U), ValueError, r"coo_matvec: v must have shape \(4,\)"),
        (lambda: sparse.csr_matmat(sparse.CSR.fromdense(X), V), ValueError, r"csr_matmat: B must have shape \(4, col"),
        (
            lambda: sparse.csr_matvec(sparse.CSR.fromdense(X), V.astype("i4")),
            TypeError,
            "v must have the dtype",
        ),
        (lambda: sparse.COO.fromdense(X) @ 2.0, ValueError, "matmul: rhs must have one dimension"),
        (lambda: sparse.COO.fromdense(X) @ object(), TypeError, "matmul: rhs must be an array"),
        (lambda: sparse.COO.fromdense(X) * 2, NotImplementedError, "multiply: COO"),
        (lambda: sparse.CSR.fromdense(X)[0], NotImplementedError, "__getitem__: CSR"),
        (lambda: sparse.CSR.fromdense(X).sum(), NotImplementedError, "CSR.sum"),
        (lambda: sparse.CSR.fromdense(X).transpose((0, 1)), NotImplementedError, "CSR.transpose: axes must be None"),
        (lambda: sparse.CSR._empty((2, 3, 4)), ValueError, "CSR._empty: shape must be two sizes"),
        (lambda: sparse.CSR._eye(-1, 2, 0), ValueError, "N and M must be at least 0"),
        (lambda: sparse.eye(3, sparse_format="coo", n_dense=1), TypeError, "eye: n_dense must be 0"),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()
