"""Functions of dense arrays compute with sparse ones what they compute with dense ones."""

from __future__ import annotations

import numpy as np
import pytest
from sparsecheck import agrees, dense, elements, in_jax, made, wild

import primax as px
import primax.numpy as pnp
from primax.experimental import sparse

jax = pytest.importorskip("jax")
theirs = pytest.importorskip("jax.experimental.sparse")

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.any_release]
V = np.linspace(-1, 1, 4, dtype="float32")

# Functions of a matrix of 3 by 4, for primax and jax alike: modules of arrays and of operations.
FUNCTIONS = {
    "sine": lambda np, lax, m: np.sin(m),
    "negative": lambda np, lax, m: -m,
    "square root": lambda np, lax, m: np.sqrt(m * m),
    "absolute": lambda np, lax, m: np.abs(m),
    "power": lambda np, lax, m: m**3,
    "twice": lambda np, lax, m: 2 * m + m,
    "difference": lambda np, lax, m: m - m / 2,
    "product": lambda np, lax, m: m * m,
    "row by row": lambda np, lax, m: m * V,
    "dense sum": lambda np, lax, m: m + np.ones((3, 4)),
    "vector": lambda np, lax, m: m @ V,
    "matrix": lambda np, lax, m: np.ones((2, 3)) @ m,
    "sparse matrix": lambda np, lax, m: m @ m.T,
    "contraction": lambda np, lax, m: np.einsum("ij,kj->ki", m, np.ones((5, 4))),
    "sum": lambda np, lax, m: np.sum(m),
    "sums": lambda np, lax, m: np.sum(m, axis=0),
    "mean": lambda np, lax, m: np.mean(m, axis=1),
    "transpose": lambda np, lax, m: m.T,
    "reshape": lambda np, lax, m: np.reshape(m, (2, 6)),
    "row": lambda np, lax, m: m[1],
    "column": lambda np, lax, m: m[:, -1],
    "slice": lambda np, lax, m: m[1:, ::2],
    "moving slice": lambda np, lax, m: lax.dynamic_slice(m, (1, 1), (2, 2)),
    "backwards": lambda np, lax, m: np.flip(m),
    "new dimensions": lambda np, lax, m: np.broadcast_to(m[None], (2, 3, 4)),
    "one after the other": lambda np, lax, m: np.concatenate([m, m], axis=1),
    "integers": lambda np, lax, m: m.astype("int32"),
    "narrow": lambda np, lax, m: m.astype("float16"),
    "branch": lambda np, lax, m: lax.cond(True, lambda x: x * 2, lambda x: x * 3, m),
    "loop": lambda np, lax, m: lax.fori_loop(0, 3, lambda _, x: x * 2, m),
    "while": lambda np, lax, m: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 2, c[1] + 1), (m, 0))[0],
    "scan": lambda np, lax, m: lax.scan(lambda c, v: (c * v, (c @ V).sum()), m, V)[1],
    "no sparse array": lambda np, lax, m: np.zeros(3) + 1,
    "two": lambda np, lax, m: {"a": m * 2, "b": (V, m @ V)},
}
# What jax has no rule for, or gets wrong for elements with the same indices.
ONLY_HERE = {"contraction", "integers", "sine", "square root", "absolute", "scan"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sparse_arrays_take_the_place_of_dense_ones(name):
    def of(m):
        return FUNCTIONS[name](pnp, px.lax, m)

    wanted = px.tree.leaves(px.jit(of)(elements(wild())))
    mats = wild(), made(elements(wild()))
    for mat, outs in zip(mats, px.jit(lambda *m: [sparse.sparsify(of)(x) for x in m])(*mats), strict=True):
        leaves = px.tree.leaves(outs, is_leaf=lambda x: isinstance(x, sparse.BCOO))
        likes = [None] * len(leaves)
        if mat.unique_indices and name not in ONLY_HERE:
            like = jax.eval_shape(theirs.sparsify(lambda m: FUNCTIONS[name](jax.numpy, jax.lax, m)), in_jax(mats[1]))
            likes = jax.tree.leaves(like, is_leaf=lambda x: isinstance(x, theirs.BCOO))
        for out, array, like in zip(leaves, wanted, likes, strict=True):
            assert out.dtype == array.dtype
            agrees(out, array, like)


def test_transformations_go_in_and_out():
    x = dense((3, 4))
    mat = made(x, 1)

    def scaled(m, v):
        return pnp.sum(pnp.sin(m * 2) @ v)

    whole, mapped, inner, slope, calls = px.jit(
        lambda m: (
            sparse.sparsify(scaled)(m, V),
            px.vmap(sparse.sparsify(lambda row: row * 2))(m),
            sparse.sparsify(px.vmap(lambda row: row * 2))(m),
            sparse.grad(sparse.sparsify(scaled))(m, V),
            sparse.sparsify(px.checkpoint(px.jit(lambda z, *, v: z @ v)))(m, v=V),
        )
    )(mat)
    np.testing.assert_allclose(whole, np.sum(np.sin(2 * x) @ V), rtol=1e-5)
    agrees(mapped, 2 * x)
    agrees(inner, 2 * x)
    agrees(slope, np.where(x != 0, 2 * np.cos(2 * x) * V, 0))
    np.testing.assert_allclose(calls, x @ V, rtol=1e-6)


def test_bcsr_arrays_and_loops_along_batches():
    x = dense((2, 3, 4))
    rows = sparse.BCSR.fromdense(x[0])
    agrees(sparse.sparsify(lambda m: m * 2)(rows), 2 * x[0])
    loop = sparse.sparsify(lambda m: px.lax.scan(lambda c, each: (c + each @ V, each * 2), pnp.zeros(3), m))
    total, doubled = px.jit(loop)(made(x, 1))
    np.testing.assert_allclose(total, (x @ V).sum(0), rtol=1e-5)
    agrees(doubled, 2 * x)
    with pytest.raises(NotImplementedError, match=r"loop along BCOO.* must go along a batch dimension"):
        loop(made(x))


@pytest.mark.parametrize(
    "function, message",
    [
        (pnp.exp, r"sparsify: exp of BCOO\(float32\[3, 4\], nse=.*\) would be dense, or has no rule"),
        (lambda m: m > 0, "sparsify: gt of BCOO"),
        (lambda m: m**-1, "sparsify: integer_pow of BCOO"),
        (lambda m: 1 / m, "sparsify: div of BCOO"),
        (lambda m: m + 1, "add: a dense operand must have the shape"),
        (lambda m: pnp.concatenate([m, pnp.ones((3, 4))]), "sparsify: concatenate takes either sparse or dense arrays"),
        (lambda m: px.lax.map(pnp.sin, m), "a loop along BCOO"),
    ],
)
def test_what_would_be_dense_is_refused(function, message):
    with pytest.raises(NotImplementedError, match=message):
        sparse.sparsify(function)(made(dense((3, 4))))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="sparsify: f must be callable, got 1"):
        sparse.sparsify(1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nse": 5, "sorted_indices": True},
        {"nse": 5, "unique_indices": False, "indices_dtype": "int16"},
        {"nse": 0.9, "n_dense": 1, "dtype": "float16"},
    ],
)
def test_random_arrays_are_those_of_jax(options):
    options = {"dtype": "float32", **options}
    mat = sparse.random_bcoo(px.random.key(3), (3, 4), **options)
    same = theirs.random_bcoo(jax.random.key(3), (3, 4), **options)
    np.testing.assert_array_equal(mat.indices, same.indices)
    np.testing.assert_array_equal(mat.data, same.data)
    assert mat.dtype == same.dtype
    assert (mat.shape, mat.n_dense) == (same.shape, same.n_dense)


def test_random_arrays_of_batches():
    mat = sparse.random_bcoo(px.random.key(0), (5, 3, 4), nse=6, n_batch=1, generator=px.random.normal)
    assert (mat.shape, mat.n_batch, mat.nse) == ((5, 3, 4), 1, 6)
    assert (np.count_nonzero(elements(mat), axis=(1, 2)) == 6).all()
    assert len({str(rows.tolist()) for rows in mat.indices}) > 1


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"nse": 13}, ValueError, "random_bcoo: nse must be from 0 to 12, the number of elements, got 13"),
        ({"nse": 1.5}, TypeError, "random_bcoo: nse must be an int"),
        ({"nse": "a"}, TypeError, "random_bcoo: nse must be"),
        ({"n_batch": 3}, ValueError, "n_batch and n_dense must be at least 0 and at most 2 together"),
        ({"generator": 1}, TypeError, "random_bcoo: generator must be callable"),
        ({"indices_dtype": "f4"}, TypeError, "indices_dtype must be integers, got float32"),
    ],
)
def test_wrong_arguments_of_random_arrays_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        sparse.random_bcoo(px.random.key(0), (3, 4), **options)
