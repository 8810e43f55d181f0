"""BCOO arrays are stored, shaped and sliced as jax's are, and stand for the same dense arrays."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse

import primax as px
import primax.numpy as pnp
from primax.experimental import sparse

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.experimental.sparse")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SHAPES = [(3, 4), (2, 3, 4), (2, 3, 2, 2)]


def dense(shape, seed=0, dtype="float32"):
    """An array of which most elements are 0."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < 0.4, rng.integers(-4, 5, shape), 0).astype(dtype)


def layouts(ndim):
    return [(n, d) for n in range(ndim + 1) for d in range(ndim + 1 - n)]


CASES = [(shape, n, d) for shape in SHAPES for n, d in layouts(len(shape))]
# Elements of 1 twice at (0, 1), one that is out of range, one counted from the end, and one without value.
PARTS = [1.0, 2.0, 3.0, 4.0, 0.0], [[0, 1], [0, 1], [9, 1], [-1, 2], [3, 4]]


def pair(shape, n=0, d=0, seed=0, nse=None):
    """The same array in primax and in jax."""
    x = dense(shape, seed)
    return (
        sparse.BCOO.fromdense(x, nse=nse, n_batch=n, n_dense=d),
        theirs.BCOO.fromdense(jax.numpy.asarray(x), nse=nse, n_batch=n, n_dense=d),
    )


def wild():
    """An array with all that is allowed in indices, in primax and in jax."""
    data, indices = (np.array(x) for x in PARTS)
    return (
        sparse.BCOO((data.astype("float32"), indices), shape=(3, 4)),
        theirs.BCOO((jax.numpy.asarray(data, "float32"), jax.numpy.asarray(indices)), shape=(3, 4)),
    )


def check(mine, other):
    """Both are the same, or stand for the same dense array in the same layout."""
    if isinstance(mine, sparse.BCOO):
        assert (mine.shape, mine.n_batch, mine.n_dense) == (other.shape, other.n_batch, other.n_dense)
        assert mine.nse == other.nse
        mine, other = mine.todense(), other.todense()
    assert mine.dtype == other.dtype
    np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=1e-6)


@pytest.mark.parametrize("shape, n, d", CASES)
def test_what_is_made_of_dense_arrays_is_stored_as_in_jax(shape, n, d):
    for nse in (None, 0, 1, 7):
        mine, other = pair(shape, n, d, nse=nse)
        np.testing.assert_array_equal(mine.data, other.data)
        np.testing.assert_array_equal(mine.indices, other.indices)
        assert (mine.indices_sorted, mine.unique_indices) == (other.indices_sorted, other.unique_indices)
        assert repr(mine) == repr(other)
        check(mine, other)


@pytest.mark.parametrize("shape, n, d", CASES)
def test_dense_arrays_come_back_through_transformations(shape, n, d):
    x = dense(shape)
    nse = int(np.prod(shape))

    def through(y):
        return sparse.BCOO.fromdense(y, nse=nse, n_batch=n, n_dense=d, index_dtype=np.int16).todense()

    np.testing.assert_array_equal(px.jit(through)(x), x)
    np.testing.assert_array_equal(px.vmap(through)(pnp.stack([x, 2 * x])), np.stack([x, 2 * x]))
    weight = np.arange(nse, dtype="float32").reshape(shape)
    wanted = np.where((x != 0).any(tuple(range(len(shape) - d, len(shape))), keepdims=True) if d else x != 0, weight, 0)
    np.testing.assert_array_equal(px.grad(lambda y: (through(y) * weight).sum())(pnp.asarray(x)), wanted)
    _, tangent = px.jvp(through, (pnp.asarray(x),), (pnp.asarray(weight),))
    np.testing.assert_array_equal(tangent, wanted)


def test_indices_may_come_twice_be_negative_and_be_out_of_range():
    mine, other = wild()
    check(mine, other)
    check(px.jit(sparse.bcoo_todense)(mine), other.todense())
    for functions in (
        lambda m, s: m.sort_indices(),
        lambda m, s: m.sum_duplicates(),
        lambda m, s: m.sum_duplicates(nse=5, remove_zeros=False),
        lambda m, s: s.bcoo_sum_duplicates(m, nse=1),
        lambda m, s: m + m,
        lambda m, s: m[0:2],
        lambda m, s: m[0],
        lambda m, s: m.sum(1),
        lambda m, s: m * 2,
        lambda m, s: m.T,
    ):
        check(functions(mine, sparse), functions(other, theirs))
    wanted = np.asarray(mine.todense())
    np.testing.assert_array_equal(mine.reshape(12).todense(), wanted.reshape(12))
    np.testing.assert_array_equal(mine.sum(0).todense(), wanted.sum(0))
    np.testing.assert_array_equal(sparse.bcoo_rev(mine, (0, 1)).todense(), wanted[::-1, ::-1])
    for axis in (0, 1):
        both = sparse.bcoo_concatenate([mine, mine], dimension=axis).todense()
        np.testing.assert_array_equal(both, np.concatenate([wanted, wanted], axis))


@pytest.mark.parametrize("shape, n, d", CASES)
def test_layouts_are_those_of_jax(shape, n, d):
    mine, other = pair(shape, n, d)
    for batch, rest in layouts(len(shape)):
        new = {"n_batch": batch, "n_dense": rest, "on_inefficient": None}
        out = px.jit(functools.partial(sparse.bcoo_update_layout, **new))(mine)
        check(out, theirs.bcoo_update_layout(other, **new))
        check(mine.update_layout(**new), theirs.bcoo_update_layout(other, **new))


def test_layouts_that_store_more_are_asked_for():
    mine = sparse.BCOO.fromdense(dense((3, 4)))
    with pytest.raises(sparse.SparseEfficiencyError, match="n_batch=1, n_dense=0 store"):
        mine.update_layout(n_batch=1)
    with pytest.warns(sparse.SparseEfficiencyWarning, match="n_batch=0, n_dense=1 store"):
        assert mine.update_layout(n_dense=1, on_inefficient="warn").n_dense == 1


@pytest.mark.parametrize("shape, n, d", CASES)
def test_sums_over_dimensions(shape, n, d):
    mine, other = pair(shape, n, d)
    for axes in [(), (0,), (1,), (-1,), (0, 1), tuple(range(len(shape)))]:
        positive = tuple(axis % len(shape) for axis in axes)
        check(sparse.bcoo_reduce_sum(mine, axes=axes), theirs.bcoo_reduce_sum(other, axes=positive))
    x = dense(shape)
    check(mine.sum(), np.asarray(x.sum()))
    np.testing.assert_array_equal(sparse.todense(mine.sum(axis=(0, 1), dtype="int32")), x.sum((0, 1)).astype("int32"))
    if d == 0:
        np.testing.assert_array_equal(mine.sum(-1, keepdims=True).todense(), x.sum(-1, keepdims=True))


@pytest.mark.parametrize(
    "shape, n, d, new",
    [
        ((3, 4), 0, 0, (4, 3)),
        ((3, 4), 0, 0, (12,)),
        ((3, 4), 0, 0, (3, 4)),
        ((2, 3, 4), 1, 0, (2, 12)),
        ((2, 3, 4), 2, 0, (6, 4)),
        ((2, 3, 4), 0, 1, (6, 4)),
        ((2, 3, 4), 0, 1, (2, 3, 2, 2)),
        ((2, 3, 4), 1, 1, (2, 3, 4, 1)),
        ((4, 3, 4), 1, 1, (2, 2, 3, 2, 2)),
    ],
)
def test_other_shapes(shape, n, d, new):
    mine, other = pair(shape, n, d, nse=20)
    out = px.jit(lambda m: m.reshape(*new[:-1], -1))(mine)
    np.testing.assert_array_equal(out.todense(), dense(shape).reshape(new))
    if not (n and d):  # which jax cannot do
        check(out, theirs.bcoo_reshape(other, new_sizes=new))


@pytest.mark.parametrize(
    "n, d, order", [(0, 0, (2, 0, 1)), (1, 0, (0, 2, 1)), (2, 0, (1, 0, 2)), (0, 2, (0, 2, 1)), (1, 1, (0, 1, 2))]
)
def test_dimensions_in_another_order(n, d, order):
    mine, other = pair((2, 3, 4), n, d)
    out = mine.transpose(order)
    check(out, other.transpose(order))
    assert out.unique_indices
    reshaped = sparse.bcoo_reshape(mine, new_sizes=out.shape, dimensions=order)
    np.testing.assert_array_equal(reshaped.todense(), out.todense())


@pytest.mark.parametrize(
    "n, d, shape, places",
    [
        (0, 0, (2, 3, 4), (1, 2)),
        (0, 0, (3, 1, 4), (0, 2)),
        (0, 0, (3, 4, 1), (0, 1)),
        (1, 0, (3, 2, 4), (0, 2)),
        (0, 1, (3, 4, 2), (0, 1)),
        (0, 1, (3, 5, 4), (0, 2)),
        (1, 1, (2, 3, 4, 5), (1, 2)),
        (2, 0, (3, 4, 2), (0, 1)),
    ],
)
def test_new_dimensions(n, d, shape, places):
    mine, _ = pair((3, 4), n, d)
    out = sparse.bcoo_broadcast_in_dim(mine, shape=shape, broadcast_dimensions=places)
    wanted = px.lax.broadcast_in_dim(mine.todense(), shape, places)
    np.testing.assert_array_equal(out.todense(), wanted)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    np.testing.assert_array_equal(
        sparse.bcoo_squeeze(out, dimensions=ones).todense(), np.squeeze(np.asarray(wanted), tuple(ones))
    )


@pytest.mark.parametrize("n, d", layouts(3))
def test_arrays_one_after_the_other(n, d):
    (a, x), (b, y) = pair((2, 3, 4), n, d, nse=9), pair((2, 3, 4), n, d, seed=1, nse=9)
    for axis in range(3 - d):
        out = px.jit(lambda *m, axis=axis: sparse.bcoo_concatenate(m, dimension=axis))(a, b)
        check(out, theirs.bcoo_concatenate([x, y], dimension=axis))


INDICES = [
    0,
    -1,
    (slice(None), 1),
    (Ellipsis, 2),
    slice(0, 1),
    (slice(None, None, -1), slice(1, 3)),
    (slice(None), slice(None, None, 2), slice(3, None, -2)),
    (None, 0),
    (1, 2, 3),
    (slice(2, 0), slice(1, 1)),
    (),
    np.int32(1),
    slice(5, 9),
]


@pytest.mark.parametrize("n, d", layouts(3))
def test_indices_take_what_they_take_of_dense_arrays(n, d):
    mine, other = pair((2, 3, 4), n, d)
    x = dense((2, 3, 4))
    for index in INDICES:
        out = mine[index]
        np.testing.assert_array_equal(out.todense(), x[index])
        assert (out.n_batch, out.n_dense) == (other[index].n_batch, other[index].n_dense), index
    np.testing.assert_array_equal(px.jit(lambda m, i: m[i])(mine, 1).todense(), x[1])
    np.testing.assert_array_equal(mine[7].todense(), x[1])
    assert [np.asarray(row.todense()).tolist() for row in mine] == x.tolist()
    assert len(mine) == 2


@pytest.mark.parametrize("n, d", layouts(3))
def test_slices(n, d):
    mine, other = pair((2, 3, 4), n, d)
    slices = {"start_indices": (0, 1, 1), "limit_indices": (2, 3, 4), "strides": (1, 2, 2)}
    check(sparse.bcoo_slice(mine, **slices), theirs.bcoo_slice(other, **slices))
    for start in ((0, 0, 0), (1, 2, 3), (-1, -2, 0)):
        out = px.jit(lambda m, s: sparse.bcoo_dynamic_slice(m, s, (1, 2, 3)))(mine, start)
        check(out, theirs.bcoo_dynamic_slice(other, start, (1, 2, 3)))
    for axes in ((0,), (1, 2), (0, 1, 2)):
        np.testing.assert_array_equal(sparse.bcoo_rev(mine, axes).todense(), np.flip(dense((2, 3, 4)), axes))


def test_elements_of_dense_arrays_at_the_indices():
    mine, other = wild()
    x = np.arange(12, dtype="float32").reshape(3, 4)
    for unique in (True, False):
        out = sparse.bcoo_extract(mine, x, assume_unique=unique)
        np.testing.assert_array_equal(out.data, theirs.bcoo_extract(other, x, assume_unique=unique).data)
    for n, d in layouts(3):
        mine, other = pair((2, 3, 4), n, d)
        check(sparse.bcoo_extract(mine, np.ones((2, 3, 4), "f4")), theirs.bcoo_extract(other, np.ones((2, 3, 4), "f4")))


@pytest.mark.parametrize("n, d", layouts(2))
def test_zeros_and_ones(n, d):
    check(sparse.empty((3, 4), n_batch=n, n_dense=d, nse=2), theirs.empty((3, 4), n_batch=n, n_dense=d, nse=2))
    for size, k in (((3,), 0), ((3, 4), 1), ((4, 3), -2), ((2, 2), 5)):
        mine = sparse.eye(*size, k=k, n_batch=n, n_dense=d)
        np.testing.assert_array_equal(mine.todense(), np.eye(*size, k=k))
        assert (mine.n_batch, mine.n_dense) == (n, d)
    check(sparse.eye(3, dtype="int32"), theirs.eye(3, dtype="int32"))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (2, 0, 3)])
def test_arrays_without_elements(shape):
    for n, d in layouts(len(shape)):
        mine = sparse.BCOO.fromdense(np.zeros(shape, "f4"), n_batch=n, n_dense=d)
        assert mine.todense().shape == shape
        assert sparse.empty(shape, n_batch=n, n_dense=d, nse=2).sum_duplicates(nse=1).todense().shape == shape
        assert mine.sum_duplicates().todense().shape == shape
        assert mine.sort_indices().update_layout(n_batch=0, n_dense=0).todense().shape == shape
        assert (mine + mine).todense().shape == shape
        assert float(mine.sum()) == 0
        assert (mine @ np.zeros((shape[-1], 2), "f4") if not d else mine).ndim == len(shape)


def test_arrays_of_scipy():
    x = dense((3, 4))
    for made in (scipy.sparse.csr_matrix(x), scipy.sparse.coo_array(x), scipy.sparse.csc_matrix(x)):
        mine = sparse.BCOO.from_scipy_sparse(made)
        np.testing.assert_array_equal(mine.todense(), x)
        assert mine.indices.dtype == np.int32
    assert sparse.BCOO.from_scipy_sparse(made, index_dtype="int16").indices.dtype == np.int16


def test_dtypes():
    mine, other = pair((3, 4))
    check(mine.astype("int32"), other.astype("int32"))
    truth = sparse.BCOO.fromdense(dense((3, 4), dtype="bool"), n_batch=1)
    np.testing.assert_array_equal(truth.todense(), dense((3, 4), dtype="bool"))
    assert truth.update_layout(n_batch=0, n_dense=2, on_inefficient=None).todense().dtype == bool


def test_trees_batches_and_loops_know_the_shape():
    mine = sparse.BCOO.fromdense(dense((3, 4)), n_batch=1)
    assert px.tree.structure(mine).num_leaves == 2
    rows = px.vmap(lambda row: row * 2)(mine)
    assert (rows.shape, rows.n_batch) == ((3, 4), 1)
    np.testing.assert_array_equal(rows.todense(), 2 * dense((3, 4)))
    made = px.vmap(lambda row: sparse.BCOO.fromdense(row, nse=4))(dense((3, 4)))
    np.testing.assert_array_equal(made.todense(), dense((3, 4)))
    total, _ = px.lax.scan(lambda carry, row: (carry + row.todense(), None), pnp.zeros(4), mine)
    np.testing.assert_array_equal(total, dense((3, 4)).sum(0))
    shared = sparse.BCOO((np.ones((1, 2), "f4"), np.array([[[0], [2]]])), shape=(5, 3))
    np.testing.assert_array_equal(shared.todense(), [[1, 0, 1]] * 5)
    np.testing.assert_array_equal(px.jit(lambda m: m.T if m.n_batch == 0 else m)(shared).todense(), [[1, 0, 1]] * 5)
    assert sparse.BCOO.fromdense(dense((3, 4))).block_until_ready().shape == (3, 4)
    assert px.tree.map(lambda _: None, mine).data is None
    assert "data=None" in repr(px.tree.map(lambda _: None, mine))


M = sparse.BCOO.fromdense(dense((3, 4)))
B = sparse.BCOO.fromdense(dense((2, 3, 4)), n_batch=1, nse=9)
D = sparse.BCOO.fromdense(dense((2, 3, 4)), n_dense=1)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: sparse.BCOO(1, shape=(3,)), TypeError, "BCOO: args must be"),
        (lambda: sparse.BCOO((1, 2, 3), shape=(3,)), ValueError, r"BCOO: args must be \(data, indices\), got 3"),
        (lambda: sparse.BCOO(("a", [[0]]), shape=(3,)), TypeError, "BCOO: data must be an array, got 'a'"),
        (lambda: sparse.BCOO((M, [[0]]), shape=(3,)), TypeError, "BCOO: data must be a dense array, got BCOO"),
        (lambda: sparse.BCOO(([1.0], [[0.0]]), shape=(3,)), TypeError, "BCOO: indices must be integers, got float32"),
        (lambda: sparse.BCOO(([1.0], [0]), shape=(3,)), ValueError, r"indices must have shape \(\*batch, nse, n_sp"),
        (lambda: sparse.BCOO((1.0, [[0]]), shape=(3,)), ValueError, r"data must have shape .*, got \(\)"),
        (lambda: sparse.BCOO(([1.0], [[0]]), shape=(3, 4)), ValueError, r"0 \+ 1 \+ 0 dimensions .*got \(3, 4\)"),
        (lambda: sparse.BCOO(([1.0, 2.0], [[0]]), shape=(3,)), ValueError, r"data must have shape \(1,\) .*got \(2,\)"),
        (
            lambda: sparse.BCOO((np.ones((2, 1)), np.zeros((2, 1, 1), int)), shape=(3, 4)),
            ValueError,
            "data must have b",
        ),
        (lambda: sparse.BCOO(([1.0], np.zeros((1, 1), "int8")), shape=(300,)), ValueError, "sizes that int8 indices"),
        (lambda: sparse.BCOO(([1.0], [[0]]), shape=(-1,)), ValueError, "shape must have no negative size"),
        (lambda: sparse.BCOO.fromdense(dense((3, 4)), n_batch=2, n_dense=1), ValueError, "at most 2 together"),
        (lambda: sparse.BCOO.fromdense(dense((3, 4)), nse=-1), ValueError, "nse must be at least 0, got -1"),
        (lambda: sparse.BCOO.fromdense(dense((3, 4)), index_dtype="f4"), TypeError, "index_dtype must be one of int"),
        (lambda: sparse.BCOO.fromdense(dense(300), index_dtype="int8"), ValueError, "index_dtype must hold the sizes"),
        (lambda: px.jit(sparse.bcoo_fromdense)(dense((3, 4))), ValueError, "nse must be given where the array is tra"),
        (lambda: px.jit(sparse.bcoo_sum_duplicates)(M), ValueError, "nse must be given where the array is traced"),
        (lambda: sparse.BCOO.from_scipy_sparse(dense((3, 4))), TypeError, "mat must be a sparse array of SciPy"),
        (lambda: sparse.BCOO.from_scipy_sparse(scipy.sparse.eye(3), n_batch=1), NotImplementedError, "got 0 and 1"),
        (lambda: sparse.bcoo_todense(dense((3, 4))), TypeError, "bcoo_todense: mat must be a BCOO"),
        (
            lambda: sparse.bcoo_extract(M, np.ones(3)),
            ValueError,
            r"arr must have the shape \(3, 4\) of sparr, got \(3,",
        ),
        (lambda: M.update_layout(n_batch=3), ValueError, "at most 2 together"),
        (lambda: M.update_layout(n_batch=1, on_inefficient="no"), ValueError, "on_inefficient must be .*got 'no'"),
        (lambda: M.transpose((0, 0)), ValueError, "permutation must name each dimension once"),
        (lambda: M.transpose((0,)), ValueError, "permutation must name all of 2 dimensions"),
        (lambda: B.T, NotImplementedError, "permutation must keep the 1 batch, 2 sparse and 0 dense dimensions apart"),
        (
            lambda: sparse.bcoo_reduce_sum(M, axes=(2,)),
            ValueError,
            r"axes must be in range of 2 dimensions, got \(2,\)",
        ),
        (lambda: sparse.bcoo_reduce_sum(M, axes=(0, -2)), ValueError, "axes must name each dimension once"),
        (lambda: M.reshape(5), ValueError, "new_sizes must have 12 elements"),
        (lambda: M.reshape(5, -1), ValueError, "shape must have 12 elements"),
        (
            lambda: sparse.bcoo_reshape(M, new_sizes=(12,), sharding=1),
            NotImplementedError,
            "sharding must be None, got 1",
        ),
        (lambda: M.reshape(12, order="F"), NotImplementedError, "order must be"),
        (lambda: B.reshape(6, 4), ValueError, "dimensions of their own for the batch"),
        (lambda: sparse.bcoo_squeeze(M, dimensions=(0,)), ValueError, "dimensions must have size 1"),
        (
            lambda: sparse.bcoo_broadcast_in_dim(M, shape=(3, 4, 2), broadcast_dimensions=(0, 1)),
            NotImplementedError,
            "dimension 2 repeats",
        ),
        (
            lambda: sparse.bcoo_broadcast_in_dim(M, shape=(4, 3), broadcast_dimensions=(1, 0)),
            ValueError,
            "broadcast_dimensions must ascend",
        ),
        (
            lambda: sparse.bcoo_broadcast_in_dim(M, shape=(4, 4), broadcast_dimensions=(0, 1)),
            ValueError,
            "except of those of 1",
        ),
        (lambda: sparse.bcoo_concatenate([], dimension=0), ValueError, "one array or more, got none"),
        (lambda: sparse.bcoo_concatenate([M, B], dimension=0), ValueError, r"operands\[1\] must have 0 batch"),
        (lambda: sparse.bcoo_concatenate([M, M.T], dimension=0), ValueError, r"operands\[1\] must have the shape"),
        (lambda: sparse.bcoo_concatenate([D, D], dimension=2), NotImplementedError, "dimension must not be dense"),
        (lambda: sparse.bcoo_concatenate([B, B.sum_duplicates(nse=3)], dimension=0), ValueError, r"got \[9, 3\]"),
        (
            lambda: sparse.bcoo_slice(M, start_indices=(0,), limit_indices=(1, 1)),
            ValueError,
            "start_indices must have a number for each of 2",
        ),
        (
            lambda: sparse.bcoo_slice(M, start_indices=(0, 0), limit_indices=(4, 4)),
            ValueError,
            r"limit_indices must be from start_indices \(0, 0\)",
        ),
        (
            lambda: sparse.bcoo_slice(M, start_indices=(0, 0), limit_indices=(3, 4), strides=(0, 1)),
            ValueError,
            "strides must be at least 1",
        ),
        (lambda: sparse.bcoo_dynamic_slice(M, (0, 0), (4, 4)), ValueError, r"slice_sizes must be at most .*\(3, 4\)"),
        (lambda: sparse.bcoo_dynamic_slice(M, (0.0, 0), (1, 1)), TypeError, "start_indices must be integers"),
        (lambda: sparse.bcoo_dynamic_slice(M, (0,), (1, 1)), ValueError, "start_indices must have a number for each"),
        (lambda: M[0, 0, 0], IndexError, "index must have at most 2 dimensions, got 3"),
        (lambda: M[..., ...], IndexError, "one ellipsis at most"),
        (lambda: M[np.array([0, 1])], NotImplementedError, "index must be of integers, slices, None and an ellipsis"),
        (lambda: M[True], NotImplementedError, "index must be of integers"),
        (lambda: sparse.empty((0, 3))[0], IndexError, "in range of size 0 in dimension 0"),
        (lambda: sparse.empty((3,), n_batch=2), ValueError, "n_batch \\+ n_dense at most 1"),
        (lambda: sparse.empty((3,), sparse_format="csr"), NotImplementedError, "sparse_format must be"),
        (lambda: sparse.eye(-1), ValueError, "N and M must be at least 0"),
        (lambda: len(M[0, 0]), TypeError, "no dimensions"),
        (lambda: bool(M), TypeError, "truth of BCOO"),
        (lambda: sparse.bcsr_fromdense, ImportError, "primax.experimental.sparse.bcsr_fromdense is not there"),
        (lambda: sparse.nothing, AttributeError, "has no attribute 'nothing'"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
