"""BCOO arrays are stored, shaped and sliced as jax's are, and stand for the same dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sparsecheck import agrees, dense, elements, in_jax, layouts, made, stored, wild

import primax as px
import primax.numpy as pnp
from primax.experimental import sparse

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.experimental.sparse")

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.any_release]
SHAPES = [(3, 4), (2, 3, 4)]
CASES = [(shape, n, d) for shape in SHAPES for n, d in layouts(len(shape))]


@pytest.mark.parametrize("shape, n, d", [*CASES, ((2, 3, 2, 2), 1, 1)])
def test_dense_arrays_are_stored_and_come_back(shape, n, d):
    x = dense(shape)
    counts = 0, 1, 7

    @px.jit
    def store(y):
        return [sparse.BCOO.fromdense(y, nse=nse, n_batch=n, n_dense=d) for nse in counts]

    for mat, nse in zip(store(x), counts, strict=True):
        data, indices = stored(x, n, d, nse)
        np.testing.assert_array_equal(mat.data, data)
        np.testing.assert_array_equal(mat.indices, indices)
        assert mat.indices.dtype == np.int32
        assert mat.indices_sorted
        assert mat.unique_indices
        agrees(mat, elements(mat), in_jax(mat))
    np.testing.assert_array_equal(px.jit(lambda m: m.todense())(made(x, n, d)), x)


@pytest.mark.parametrize("n, d", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_as_many_elements_are_stored_as_there_are(n, d):
    x = dense((2, 3, 4))
    mat = sparse.BCOO.fromdense(x, n_batch=n, n_dense=d)
    same = theirs.BCOO.fromdense(jax.numpy.asarray(x), n_batch=n, n_dense=d)
    for parts in ((same.data, same.indices), stored(x, n, d)):
        np.testing.assert_array_equal(mat.data, parts[0])
        np.testing.assert_array_equal(mat.indices, parts[1])
    assert repr(mat) == repr(same)
    np.testing.assert_array_equal(same.todense(), elements(mat))


@pytest.mark.parametrize("shape, n, d", CASES)
def test_dense_arrays_come_back_through_transformations(shape, n, d):
    x = dense(shape)
    nse = int(np.prod(shape))
    weight = np.arange(nse, dtype="float32").reshape(shape)

    def through(y):
        return sparse.BCOO.fromdense(y, nse=nse, n_batch=n, n_dense=d, index_dtype=np.int16).todense()

    @px.jit
    def transformed(y, w):
        _, tangent = px.jvp(through, (y,), (w,))
        slope = px.grad(lambda z: (through(z) * w).sum())(y)
        return px.vmap(through)(pnp.stack([y, 2 * y])), slope, tangent

    mapped, slope, tangent = transformed(x, weight)
    np.testing.assert_array_equal(mapped, np.stack([x, 2 * x]))
    wanted = np.where((x != 0).any(tuple(range(len(shape) - d, len(shape))), keepdims=True) if d else x != 0, weight, 0)
    np.testing.assert_array_equal(slope, wanted)
    np.testing.assert_array_equal(tangent, wanted)


def test_indices_may_come_twice_be_negative_and_be_out_of_range():
    mat, same = wild(), in_jax(wild())
    np.testing.assert_array_equal(mat.todense(), elements(mat))
    np.testing.assert_array_equal(same.todense(), elements(mat))
    wanted = same.sum_duplicates()
    agrees(mat.sum_duplicates(), elements(wanted), wanted)
    first = np.zeros((3, 4), "f4")
    first[0, 1] = 3
    agrees(mat.sum_duplicates(nse=1), first)
    functions = (
        lambda m, s: m.sort_indices(),
        lambda m, s: m.sum_duplicates(nse=5, remove_zeros=False),
        lambda m, s: m + m,
        lambda m, s: m[0:2],
        lambda m, s: m[0],
        lambda m, s: m.sum(1),
        lambda m, s: m * 2,
        lambda m, s: m.T,
    )
    mine, wanted = (
        compiled(lambda m, s=s: [function(m, s) for function in functions])(m)
        for compiled, m, s in ((px.jit, mat, sparse), (jax.jit, same, theirs))
    )
    for out, like in zip(mine, wanted, strict=True):
        agrees(out, elements(like), like)
    x = elements(mat)
    mine = px.jit(
        lambda m: [
            m.reshape(12),
            m.sum(0),
            sparse.bcoo_rev(m, (0, 1)),
            sparse.bcoo_concatenate([m, m], dimension=0),
            sparse.bcoo_concatenate([m, m], dimension=1),
        ]
    )(mat)
    wanted = x.reshape(12), x.sum(0), x[::-1, ::-1], np.concatenate([x, x], 0), np.concatenate([x, x], 1)
    for out, array in zip(mine, wanted, strict=True):
        agrees(out, array)


def test_indices_counted_from_both_ends_are_the_same_when_duplicates_are_added():
    mat = sparse.BCOO((np.array([2.0, 2.0, 1.0], "f4"), np.array([[0], [-2], [1]])), shape=(2,))
    out = mat.sum_duplicates()
    np.testing.assert_array_equal(out.indices, [[0], [1]])
    np.testing.assert_array_equal(out.data, [4, 1])
    agrees(mat**3, [64, 1])
    agrees(abs(mat), [4, 1])


@pytest.mark.parametrize("shape, n, d", CASES)
def test_layouts_are_those_of_jax(shape, n, d):
    mat = made(dense(shape), n, d)
    news = [{"n_batch": b, "n_dense": r, "on_inefficient": None} for b, r in layouts(len(shape))]
    wanted = jax.eval_shape(lambda m: [theirs.bcoo_update_layout(m, **new) for new in news], in_jax(mat))
    for out, like in zip(px.jit(lambda m: [m.update_layout(**new) for new in news])(mat), wanted, strict=True):
        agrees(out, dense(shape), like)


def test_layouts_that_store_more_are_asked_for():
    mine = made(dense((3, 4)))
    with pytest.raises(sparse.SparseEfficiencyError, match="n_batch=1, n_dense=0 store"):
        mine.update_layout(n_batch=1)
    with pytest.warns(sparse.SparseEfficiencyWarning, match="n_batch=0, n_dense=1 store"):
        assert mine.update_layout(n_dense=1, on_inefficient="warn").n_dense == 1


@pytest.mark.parametrize("shape, n, d", CASES)
def test_sums_over_dimensions(shape, n, d):
    x, mat = dense(shape), made(dense(shape), n, d)
    several = [(), (0,), (1,), (-1,), (0, 1), tuple(range(len(shape)))]
    wanted = jax.eval_shape(
        lambda m: [theirs.bcoo_reduce_sum(m, axes=tuple(axis % len(shape) for axis in axes)) for axes in several],
        in_jax(mat),
    )
    mine, total, whole, kept = px.jit(
        lambda m: (
            [sparse.bcoo_reduce_sum(m, axes=axes) for axes in several],
            m.sum(),
            m.sum(axis=(0, 1), dtype="int32"),
            m.sum(-1, keepdims=True) if d == 0 else m,
        )
    )(mat)
    for out, axes, like in zip(mine, several, wanted, strict=True):
        agrees(out, x.sum(axes), like)
    assert total.shape == ()
    assert float(total) == x.sum()
    assert whole.dtype == np.int32
    agrees(whole, x.sum((0, 1)))
    agrees(kept, x.sum(-1, keepdims=True) if d == 0 else x)


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
    mat = made(dense(shape), n, d, nse=20)
    out = px.jit(lambda m: m.reshape(*new[:-1], -1))(mat)
    # What has both batch and dense dimensions jax cannot reshape.
    like = None if n and d else jax.eval_shape(lambda m: theirs.bcoo_reshape(m, new_sizes=new), in_jax(mat))
    agrees(out, dense(shape).reshape(new), like)


@pytest.mark.parametrize(
    "n, d, order", [(0, 0, (2, 0, 1)), (1, 0, (0, 2, 1)), (2, 0, (1, 0, 2)), (0, 2, (0, 2, 1)), (1, 1, (0, 1, 2))]
)
def test_dimensions_in_another_order(n, d, order):
    mat, x = made(dense((2, 3, 4)), n, d), dense((2, 3, 4)).transpose(order)
    out, reshaped = px.jit(lambda m: (m.transpose(order), sparse.bcoo_reshape(m, new_sizes=x.shape, dimensions=order)))(
        mat
    )
    agrees(out, x, jax.eval_shape(lambda m: m.transpose(order), in_jax(mat)))
    assert out.unique_indices
    agrees(reshaped, x)


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
    x = dense((3, 4))
    ones = tuple(axis for axis, size in enumerate(shape) if size == 1)

    @px.jit
    def functions(m):
        out = sparse.bcoo_broadcast_in_dim(m, shape=shape, broadcast_dimensions=places)
        return out, sparse.bcoo_squeeze(out, dimensions=ones)

    out, squeezed = functions(made(x, n, d))
    sizes = [1] * len(shape)
    for place, size in zip(places, x.shape, strict=True):
        sizes[place] = size
    wanted = np.broadcast_to(x.reshape(sizes), shape)
    agrees(out, wanted)
    agrees(squeezed, np.squeeze(wanted, ones))


@pytest.mark.parametrize("n, d", layouts(3))
def test_arrays_one_after_the_other(n, d):
    x, y = dense((2, 3, 4)), dense((2, 3, 4), seed=1)
    mats = [made(v, n, d, nse=9) for v in (x, y)]

    def all_axes(module):
        return lambda *m: [module.bcoo_concatenate(m, dimension=axis) for axis in range(3 - d)]

    wanted = jax.eval_shape(all_axes(theirs), *map(in_jax, mats))
    for axis, (out, like) in enumerate(zip(px.jit(all_axes(sparse))(*mats), wanted, strict=True)):
        agrees(out, np.concatenate([elements(mat) for mat in mats], axis), like)


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
    x, mat = dense((2, 3, 4)), made(dense((2, 3, 4)), n, d)
    wanted = jax.eval_shape(lambda m: [m[index] for index in INDICES], in_jax(mat))
    mine, rows, traced, past = px.jit(lambda m, i: ([m[index] for index in INDICES], list(m), m[i], m[7]))(mat, 1)
    for out, index, like in zip(mine, INDICES, wanted, strict=True):
        agrees(out, x[index])
        assert (out.n_batch, out.n_dense) == (like.n_batch, like.n_dense), index
    agrees(traced, x[1])
    agrees(past, x[1])
    for row, array in zip(rows, x, strict=True):
        agrees(row, array)
    assert len(mat) == 2


@pytest.mark.parametrize("n, d", layouts(3))
def test_slices(n, d):
    x, mat = dense((2, 3, 4)), made(dense((2, 3, 4)), n, d)
    starts = (0, 0, 0), (1, 2, 3), (-1, -2, 0)
    several = (0,), (1, 2), (0, 1, 2)

    def parts(module):
        slices = {"start_indices": (0, 1, 1), "limit_indices": (2, 3, 4), "strides": (1, 2, 2)}
        return lambda m: (
            module.bcoo_slice(m, **slices),
            [module.bcoo_dynamic_slice(m, start, (1, 2, 3)) for start in starts],
        )

    (out, mine), turned = px.jit(lambda m: (parts(sparse)(m), [sparse.bcoo_rev(m, axes) for axes in several]))(mat)
    like, wanted = jax.eval_shape(parts(theirs), in_jax(mat))
    agrees(out, x[0:2, 1:3:2, 1:4:2], like)
    for out, like, array in zip(mine, wanted, (x[:1, :2, :3], x[1:, 1:, 1:], x[1:, 1:, :3]), strict=True):
        agrees(out, array, like)
    for out, axes in zip(turned, several, strict=True):
        agrees(out, np.flip(x, axes))
    moved = px.jit(lambda m, start: sparse.bcoo_dynamic_slice(m, start, (1, 2, 3)))(mat, (0, 1, 1))
    agrees(moved, x[:1, 1:, 1:])


def test_elements_of_dense_arrays_at_the_indices():
    x = np.arange(12, dtype="float32").reshape(3, 4)
    for unique in (True, False):
        out = sparse.bcoo_extract(wild(), x, assume_unique=unique)
        np.testing.assert_array_equal(out.data, theirs.bcoo_extract(in_jax(wild()), x, assume_unique=unique).data)
    y = np.arange(24, dtype="float32").reshape(2, 3, 4)
    mats = [made(dense((2, 3, 4)), n, d) for n, d in layouts(3)]
    for mat, out in zip(mats, px.jit(lambda several: [sparse.bcoo_extract(m, y) for m in several])(mats), strict=True):
        np.testing.assert_array_equal(out.indices, mat.indices)
        agrees(out, np.where(elements(mat.remade(np.ones(mat.data.shape, "f4"))) != 0, y, 0))


@pytest.mark.parametrize("n, d", layouts(2))
def test_zeros_and_ones(n, d):
    sizes = ((3,), 0), ((3, 4), 1), ((4, 3), -2), ((2, 2), 5)
    like = theirs.empty((3, 4), n_batch=n, n_dense=d, nse=2)
    agrees(sparse.empty((3, 4), n_batch=n, n_dense=d, nse=2), np.zeros((3, 4)), like)
    for size, k in sizes if n + d == 0 else sizes[1:2]:
        mine = sparse.eye(*size, k=k, n_batch=n, n_dense=d)
        agrees(mine, np.eye(*size, k=k))
        assert (mine.n_batch, mine.n_dense) == (n, d)
    assert not sparse.eye(3, k=2**40).data.size
    assert sparse.eye(3, dtype="int32").dtype == np.int32


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (2, 0, 3)])
def test_arrays_without_elements(shape):
    kinds = layouts(len(shape))

    def results(n, d):
        mat = sparse.BCOO.fromdense(np.zeros(shape, "f4"), nse=0, n_batch=n, n_dense=d)
        return (
            [
                mat.todense(),
                sparse.empty(shape, n_batch=n, n_dense=d, nse=2).sum_duplicates(nse=1).todense(),
                mat.sum_duplicates(nse=0).todense(),
                mat.sort_indices().update_layout(n_batch=0, n_dense=0).todense(),
                (mat + mat).todense(),
            ],
            mat.sum(),
            mat @ np.zeros((shape[-1], 2), "f4") if not d else pnp.zeros((*shape[:-1], 2)),
        )

    for same, total, product in px.jit(lambda: [results(n, d) for n, d in kinds])():
        assert {x.shape for x in same} == {shape}
        assert float(total) == 0
        assert product.shape == (*shape[:-1], 2)
        assert not product.any()
    assert sparse.BCOO.fromdense(np.zeros(shape, "f4")).sum_duplicates().todense().shape == shape


def test_arrays_of_scipy():
    x = dense((3, 4))
    for mat in (scipy.sparse.csr_matrix(x), scipy.sparse.coo_array(x), scipy.sparse.csc_matrix(x)):
        mine = sparse.BCOO.from_scipy_sparse(mat)
        agrees(mine, x)
        assert mine.indices.dtype == np.int32
    assert sparse.BCOO.from_scipy_sparse(mat, index_dtype="int16").indices.dtype == np.int16


def test_dtypes():
    mat = made(dense((3, 4))).astype("int32")
    assert mat.dtype == np.int32
    agrees(mat, dense((3, 4)))
    for kind in ("int8", "uint8", "bool", "float16"):
        assert made(dense((3, 4), dtype=kind)).sum().dtype == pnp.sum(pnp.ones(3, kind)).dtype
        assert made(dense((3, 4), dtype=kind)).sum(0).dtype == pnp.sum(pnp.ones(3, kind)).dtype
    truth = sparse.BCOO.fromdense(dense((3, 4), dtype="bool"), n_batch=1)
    np.testing.assert_array_equal(truth.todense(), dense((3, 4), dtype="bool"))
    assert truth.update_layout(n_batch=0, n_dense=2, on_inefficient=None).todense().dtype == bool


def test_trees_batches_and_loops_know_the_shape():
    x = dense((3, 4))
    mat = made(x, 1)
    assert px.tree.structure(mat).num_leaves == 2
    rows = px.vmap(lambda row: row * 2)(mat)
    assert (rows.shape, rows.n_batch) == ((3, 4), 1)
    agrees(rows, 2 * x)
    agrees(px.jit(px.vmap(lambda row: sparse.BCOO.fromdense(row, nse=4)))(x), x)
    total, _ = px.lax.scan(lambda carry, row: (carry + row.todense(), None), pnp.zeros(4), mat)
    np.testing.assert_array_equal(total, x.sum(0))
    shared = sparse.BCOO((np.ones((1, 2), "f4"), np.array([[[0], [2]]])), shape=(5, 3))
    np.testing.assert_array_equal(shared.todense(), [[1, 0, 1]] * 5)
    np.testing.assert_array_equal(px.jit(lambda m: m.T if m.n_batch == 0 else m)(shared).todense(), [[1, 0, 1]] * 5)
    assert mat.block_until_ready().shape == (3, 4)
    assert px.tree.map(lambda _: None, mat).data is None
    assert "data=None" in repr(px.tree.map(lambda _: None, mat))


M, B, D = made(dense((3, 4))), made(dense((2, 3, 4)), 1, nse=9), made(dense((2, 3, 4)), 0, 1)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: sparse.BCOO(1, shape=(3,)), TypeError, "BCOO: args must be"),
        (lambda: sparse.BCOO((1, 2, 3), shape=(3,)), ValueError, r"BCOO: args must be \(data, indices\), got 3"),
        (lambda: sparse.BCOO(("a", [[0]]), shape=(3,)), TypeError, "BCOO: data must be an array, got 'a'"),
        (lambda: sparse.BCOO((M, [[0]]), shape=(3,)), TypeError, "BCOO: data must be a dense array, got BCOO"),
        (lambda: sparse.BCOO(([1.0], [[0.0]]), shape=(3,)), TypeError, "BCOO: indices must be integers, got float"),
        (lambda: sparse.BCOO(([1.0], [0]), shape=(3,)), ValueError, r"indices must have shape \(\*batch, nse, n_sp"),
        (lambda: sparse.BCOO((1.0, [[0]]), shape=(3,)), ValueError, r"data must have shape .*, got \(\)"),
        (lambda: sparse.BCOO(([1.0], [[0]]), shape=(3, 4)), ValueError, r"0 \+ 1 \+ 0 dimensions .*got \(3, 4\)"),
        (lambda: sparse.BCOO(([1.0, 2.0], [[0]]), shape=(3,)), ValueError, r"data must have shape \(1,\) .*got \(2,\)"),
        (
            lambda: sparse.BCOO((np.ones((2, 1)), np.zeros((2, 1, 1), int)), shape=(3, 4)),
            ValueError,
            "data must have b",
        ),
        (
            lambda: sparse.BCOO(([1.0], np.zeros((1, 1), "int8")), shape=(300,)),
            ValueError,
            r"indices must hold the sparse sizes \(300,\), got int8",
        ),
        (lambda: sparse.BCOO(([1.0], [[0]]), shape=(-1,)), ValueError, "shape must have no negative size"),
        (lambda: sparse.BCOO.fromdense(dense((3, 4)), n_batch=2, n_dense=1), ValueError, "at most 2 together"),
        (lambda: sparse.BCOO.fromdense(dense((3, 4)), nse=-1), ValueError, "nse must be at least 0, got -1"),
        (
            lambda: sparse.BCOO.fromdense(dense((3, 4)), index_dtype="f4"),
            TypeError,
            "index_dtype must be integers, got float32",
        ),
        (
            lambda: sparse.BCOO.fromdense(dense(300), index_dtype="int8"),
            ValueError,
            r"index_dtype must hold the sparse sizes \(300,\)",
        ),
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
        (lambda: sparse.empty((3,), sparse_format="dia"), ValueError, "sparse_format must be"),
        (lambda: sparse.empty((3, 2), sparse_format="csr", nse=1), TypeError, "nse must be 0"),
        (lambda: sparse.empty((300,), index_dtype="int8"), ValueError, r"index_dtype must hold the sparse sizes"),
        (lambda: sparse.empty((3,), sparse_format=np.ones(2)), ValueError, "sparse_format must be"),
        (lambda: sparse.eye(3, index_dtype=float), TypeError, "eye: index_dtype must be integers, got float"),
        (lambda: sparse.eye(3, n_batch=np.ones(2)), TypeError, "eye: n_batch must be an int"),
        (lambda: M.sum([[1, [2]]]), TypeError, "BCOO.sum: axis.* must be an int"),
        (lambda: M.reshape([[1, [2]]]), TypeError, "BCOO.reshape: shape.* must be an int"),
        (lambda: M * [[1, [2]]], TypeError, "v must be an array"),
        (lambda: M * px.random.key(0), TypeError, "v must be an array of numbers, got one of dtype key"),
        (lambda: M[px.random.key(0)], NotImplementedError, "index must be of integers"),
        (lambda: sparse.eye(-1), ValueError, "N and M must be at least 0"),
        (lambda: len(M[0, 0]), TypeError, "no dimensions"),
        (lambda: bool(M), TypeError, "truth of BCOO"),
        (lambda: sparse.todense_p, AttributeError, "BCOO and BCSR arrays have no primitives"),
        (lambda: sparse.bcsr_todense_p, AttributeError, "BCOO and BCSR arrays have no primitives"),
        (lambda: sparse.nothing, AttributeError, "has no attribute 'nothing'"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_function_keeps_zeros_and_batches_of_size_1_and_the_method_drops_zeros():
    data, indices = np.float32([[1, 0, 2, 3]]), np.array([[[0], [1], [2], [2]]])
    mat = sparse.BCOO((data, indices), shape=(2, 4))
    same = in_jax(mat)
    jax_sparse = pytest.importorskip("jax.experimental.sparse")
    for got, wanted in (
        (sparse.bcoo_sum_duplicates(mat), jax_sparse.bcoo_sum_duplicates(same)),
        (sparse.bcoo_sum_duplicates(mat, nse=2), jax_sparse.bcoo_sum_duplicates(same, nse=2)),
        (mat.sum_duplicates(), same.sum_duplicates()),
        (sparse.bcoo_sort_indices(mat), jax_sparse.bcoo_sort_indices(same)),
    ):
        np.testing.assert_array_equal(got.data, wanted.data)
        np.testing.assert_array_equal(got.indices, wanted.indices)
    assert sparse.bcoo_sum_duplicates(mat).indices[0, :, 0].tolist() == [0, 1, 2]
    assert mat.sum_duplicates().indices[0, :, 0].tolist() == [0, 2]
