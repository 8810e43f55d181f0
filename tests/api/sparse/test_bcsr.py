"""BCSR arrays hold what BCOO arrays hold, row after row, as jax's do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sparsecheck import dense, elements, made, stored, wild

import primax as px
import primax.numpy as pnp
from primax.experimental import sparse

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.experimental.sparse")

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.any_release]
LAYOUTS = [((3, 4), 0, 0), ((2, 3, 4), 1, 0), ((3, 4, 2), 0, 1), ((2, 3, 4, 2), 1, 1), ((2, 2, 3, 4), 2, 0)]


def rows(shape, n=0, d=0, nse=None, seed=0):
    """An array, and the BCSR array of it."""
    x = dense(shape, seed)
    data, indices = stored(x, n, d, nse)
    counts = (indices[..., :1] == np.arange(shape[n])).sum(-2)
    starts = np.concatenate([np.zeros((*shape[:n], 1), int), np.cumsum(counts, -1)], -1)
    return x, sparse.BCSR((data, indices[..., 1], starts.astype("int32")), shape=shape)


@pytest.mark.parametrize("shape, n, d", LAYOUTS)
def test_arrays_are_stored_as_in_jax(shape, n, d):
    x, wanted = rows(shape, n, d, 11)
    mat = px.jit(lambda y: sparse.BCSR.fromdense(y, nse=11, n_batch=n, n_dense=d))(x)
    assert (mat.shape, mat.n_batch, mat.n_sparse, mat.n_dense, mat.nse) == (shape, n, 2, d, 11)
    same = theirs.BCSR.fromdense(jax.numpy.asarray(x), nse=11, n_batch=n, n_dense=d)
    assert repr(mat) == repr(same)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(mat, part), getattr(wanted, part))
        np.testing.assert_array_equal(getattr(mat, part), getattr(same, part))
        assert getattr(mat, part).dtype == getattr(same, part).dtype


@pytest.mark.parametrize("shape, n, d", LAYOUTS)
def test_arrays_go_to_bcoo_and_dense_ones_and_come_back(shape, n, d):
    x, mat = rows(shape, n, d, 11)

    @px.jit
    def through(m):
        return m.todense(), m.to_bcoo(), sparse.BCSR.from_bcoo(m.to_bcoo()), m.sum_duplicates(nse=9)

    whole, coordinates, back, fewer = through(mat)
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(elements(coordinates), x)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(back, part), getattr(mat, part))
    np.testing.assert_array_equal(elements(fewer.to_bcoo()), x)
    assert fewer.nse == 9


def test_elements_in_any_order_are_sorted_and_those_out_of_range_come_last():
    mat = sparse.BCSR.from_bcoo(wild())
    np.testing.assert_array_equal(elements(mat.to_bcoo()), elements(wild()))
    assert mat.indptr.tolist() == [0, 2, 2, 3]
    assert mat.indices.tolist()[:3] == [1, 1, 2]
    assert mat.sum_duplicates().data.tolist() == [3, 4]
    twice = sparse.BCOO((np.ones(2, "f4"), np.array([[-9, 0], [2, 3]])), shape=(3, 4))
    np.testing.assert_array_equal(sparse.BCSR.from_bcoo(twice).todense(), elements(twice))


def test_products_are_those_of_dense_arrays():
    x, mat = rows((3, 4), nse=9)
    y, z = dense((4, 2), seed=1), dense((2, 3), seed=2)
    other = made(y)
    outs = px.jit(
        lambda m: (
            m @ y,
            z @ m,
            m @ y[:, 0],
            (m @ sparse.BCSR.fromdense(y, nse=8)).todense(),
            (m @ other).todense(),
            (other.T @ sparse.BCSR.fromdense(x.T, nse=12)).todense(),
            sparse.bcsr_dot_general(m, z, dimension_numbers=(((0,), (1,)), ((), ()))),
        )
    )(mat)
    for out, wanted in zip(outs, (x @ y, z @ x, x @ y[:, 0], x @ y, x @ y, y.T @ x.T, x.T @ z.T), strict=True):
        np.testing.assert_array_equal(out, wanted)
    several, batch = rows((2, 3, 4), 1, nse=9)
    np.testing.assert_array_equal(px.jit(lambda m: m @ y)(batch), several @ y)
    np.testing.assert_array_equal(px.jit(px.vmap(lambda m: m @ y))(batch), several @ y)


def test_derivatives_are_those_of_the_data():
    x, mat = rows((3, 4), nse=9)
    v = np.linspace(0.5, 2, 4, dtype="float32")

    def energy(m):
        return ((m @ v) ** 2).sum()

    slope, value, tangent = px.jit(
        lambda m: (
            sparse.grad(energy)(m),
            energy(m),
            px.jvp(lambda data: energy(sparse.BCSR((data, m.indices, m.indptr), shape=m.shape)), (m.data,), (m.data,)),
        )
    )(mat)
    wanted = 2 * (x @ v)[:, None] * v
    assert isinstance(slope, sparse.BCSR)
    np.testing.assert_allclose(slope.todense(), np.where(x != 0, wanted, 0), rtol=1e-5)
    np.testing.assert_allclose(value, ((x @ v) ** 2).sum(), rtol=1e-5)
    np.testing.assert_allclose(tangent[1], 2 * value, rtol=1e-5)


def test_arrays_one_after_the_other_and_in_batches():
    (x, a), (y, b) = rows((3, 4)), rows((3, 4), seed=1)
    below, beside, repeated = px.jit(
        lambda m, w: (
            sparse.bcsr_concatenate([m, w], dimension=0),
            sparse.bcsr_concatenate([m, w], dimension=1),
            sparse.bcsr_broadcast_in_dim(m, shape=(5, 3, 4), broadcast_dimensions=(1, 2)),
        )
    )(a, b)
    for out, wanted in ((below, np.concatenate([x, y])), (beside, np.concatenate([x, y], 1)), (repeated, [x] * 5)):
        assert isinstance(out, sparse.BCSR)
        np.testing.assert_array_equal(elements(out.to_bcoo()), wanted)


def test_elements_of_dense_arrays_at_the_indices():
    x, mat = rows((2, 3, 4), 1, nse=9)
    out = px.jit(sparse.bcsr_extract)(mat.indices, mat.indptr, x)
    same = theirs.bcsr_extract(*(jax.numpy.asarray(v) for v in (mat.indices, mat.indptr, x)))
    np.testing.assert_array_equal(out, same)
    np.testing.assert_array_equal(out, mat.data)


def test_trees_batches_and_loops_know_the_shape():
    x, mat = rows((2, 3, 4), 1, nse=9)
    assert px.tree.structure(mat).num_leaves == 3
    total, _ = px.lax.scan(lambda carry, m: (carry + m.todense(), None), pnp.zeros((3, 4)), mat)
    np.testing.assert_array_equal(total, x.sum(0))
    same = px.vmap(lambda m: px.tree.map(lambda leaf: leaf, m))(mat)
    assert (same.shape, same.n_batch) == ((2, 3, 4), 1)
    assert "data=None" in repr(px.tree.map(lambda _: None, mat))
    assert mat.block_until_ready().size == 24
    shared = sparse.BCSR((np.ones((1, 2), "f4"), np.array([[0, 2]]), np.array([[0, 1, 2]])), shape=(5, 2, 3))
    np.testing.assert_array_equal(shared.todense(), [[[1, 0, 0], [0, 0, 1]]] * 5)


def test_arrays_of_scipy_zeros_and_ones():
    x = dense((3, 4))
    for other in (scipy.sparse.csr_matrix(x), scipy.sparse.coo_array(x)):
        mat = sparse.BCSR.from_scipy_sparse(other)
        np.testing.assert_array_equal(sparse.todense(mat), x)
        assert mat.indices.dtype == mat.indptr.dtype == np.int32
    for shape in ((0, 3), (3, 0)):
        empty = sparse.empty(shape, sparse_format="bcsr", nse=2)
        assert empty.todense().shape == shape
        assert (empty @ np.ones(shape[1], "f4")).tolist() == [0] * shape[0]
    eye = sparse.eye(3, sparse_format="bcsr")
    assert isinstance(eye, sparse.BCSR)
    np.testing.assert_array_equal(eye.todense(), np.eye(3))


M = rows((3, 4))[1]
C = made(dense((3, 4)))
ONE = np.ones(2, "f4"), np.zeros(2, int), np.array([0, 1, 2])
BATCH = np.ones((3, 2)), np.zeros((1, 2), int), ONE[2][None]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: sparse.BCSR(1, shape=(3,)), TypeError, "BCSR: args must be"),
        (lambda: sparse.BCSR(ONE[:2], shape=(2, 3)), ValueError, r"args must be \(data, indices, indptr\), got 2"),
        (lambda: sparse.BCSR((*ONE[:2], ONE[0]), shape=(2, 3)), TypeError, "BCSR: indptr must be integers, got float"),
        (lambda: sparse.BCSR((ONE[0], *ONE[:1], ONE[2]), shape=(2, 3)), TypeError, "BCSR: indices must be integers"),
        (lambda: sparse.BCSR((*ONE[:2], 1), shape=(2, 3)), ValueError, "BCSR: data, indices and indptr must have sha"),
        (lambda: sparse.BCSR(ONE, shape=(2,)), ValueError, r"BCSR: shape must have 2 dimensions .* got \(2,\)"),
        (lambda: sparse.BCSR(ONE, shape=(3, 3)), ValueError, r"indptr must have 4 starts for 3 rows, got shape \(3,\)"),
        (lambda: sparse.BCSR((np.ones(3), *ONE[1:]), shape=(2, 3)), ValueError, r"data must have shape \(2,\) .*\(3,"),
        (lambda: sparse.BCSR((ONE[0], np.zeros(2, "i1"), ONE[2]), shape=(2, 300)), ValueError, "indices must hold"),
        (lambda: sparse.BCSR(BATCH, shape=(2, 2, 3)), ValueError, r"data must have batch .* \(2,\), or of 1, got \(3,"),
        (lambda: sparse.BCSR.fromdense(np.ones(3)), ValueError, "bcsr_fromdense: mat must have two sparse dimensions"),
        (lambda: sparse.BCSR.from_bcoo(made(dense((3,)))), ValueError, "arr must have two sparse dimensions, got 1"),
        (lambda: sparse.BCSR.from_bcoo(dense((3, 4))), TypeError, "BCSR.from_bcoo: arr must be a BCOO"),
        (lambda: sparse.BCSR.from_scipy_sparse(dense((3, 4))), TypeError, "mat must be a sparse array of SciPy"),
        (lambda: sparse.BCSR.from_scipy_sparse(scipy.sparse.eye(3), n_batch=1), NotImplementedError, "got 0 and 1"),
        (lambda: sparse.bcsr_todense(C), TypeError, "bcsr_todense: mat must be a BCSR, got BCOO"),
        (lambda: sparse.bcsr_concatenate([M, 1], dimension=0), TypeError, r"operands\[1\] must be a BCSR, got 1"),
        (lambda: sparse.bcsr_extract(ONE[1], 1, np.ones((2, 3))), ValueError, "indices, indptr and mat must have sha"),
        (lambda: px.jit(sparse.bcsr_sum_duplicates)(M), ValueError, "nse must be given where the array is traced"),
        (lambda: M @ np.ones(3), ValueError, r"matmul: .* got shapes \(3, 4\) and \(3,\)"),
        (lambda: M * 2, NotImplementedError, r"multiply: BCSR\(.*use .to_bcoo\(\)"),
        (lambda: M == M, NotImplementedError, "equal: BCSR"),
        (lambda: M[0], NotImplementedError, "__getitem__: BCSR"),
        (lambda: M.T, NotImplementedError, "BCSR.transpose: BCSR"),
        (lambda: M.sum(), NotImplementedError, "BCSR.sum: BCSR"),
        (lambda: C + M, TypeError, "add: the other operand must be a dense array, got BCSR"),
        (lambda: bool(M), TypeError, "truth of BCSR"),
        (lambda: sparse.JAXSparse.to_bcoo(object()), NotImplementedError, "object.to_bcoo: the class must define it"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
