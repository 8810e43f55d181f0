"""Programs with symbolic shapes: traced, transformed, lowered, exported, and called with several sizes."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax, nn
from primax.errors import InconclusiveDimensionOperation, UnsupportedError, XlaError
from primax.export import deserialize, export, is_symbolic_dim, symbolic_args_specs, symbolic_shape
from primax.plugins.symbolic_shapes.dims import Atom

pytestmark = pytest.mark.usefixtures("in_32_bits")

b, n = symbolic_shape("b, n", constraints=["b >= 2", "n >= 2"])


def S(*shape: Any, d: str = "float32") -> px.ShapeDtypeStruct:
    """The type of an argument."""
    return px.ShapeDtypeStruct(shape, d)


def convolved(x: Any) -> Any:
    """A convolution whose padding depends on the size."""
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, pnp.ones((3, 3, 1, 2)), (2, 2), "SAME", dimension_numbers=numbers)


def nuclear_norm_and_polar_factor(x: Any) -> Any:
    """A function of all results of svd, for matrices of either orientation."""
    u, s, vh = pnp.linalg.svd(x, full_matrices=False)
    return s.sum() + (pnp.sin(u @ vh) * pnp.arange(1, x.shape[1] + 1)).sum()


PROGRAMS: dict[str, tuple[Any, ...]] = {
    "jacfwd": (lambda x, y: px.jacfwd(lambda x, y: (x @ y, pnp.sin(y)), (0, 1))(x, y), S(b, n), S(n)),
    "jacrev": (lambda x, y: px.jacrev(lambda x, y: (x @ y, pnp.sin(y)), (0, 1))(x, y), S(b, n), S(n)),
    "hessian": (lambda x, y: px.hessian(lambda x, y: (x**3).sum() * (y**2).sum(), (0, 1))(x, y), S(b), S(3)),
    "rbg": (lambda x: px.random.normal(px.random.split(px.random.key(0, impl="rbg"))[1], (x.shape[0] + 1, 2)), S(b)),
    "unsafe_rbg": (
        lambda x: px.random.key_data(px.random.split(px.random.key(0, impl="unsafe_rbg"), x.shape[0])),
        S(b),
    ),
    "pinv": (lambda x: pnp.linalg.pinv(x), S(b, 2)),
    "lstsq": (lambda x: pnp.linalg.lstsq(x, x[:, 0])[0], S(b, 2)),
    "svdgrad": (lambda x: px.grad(nuclear_norm_and_polar_factor)(x), S(b, n)),
    "choice": (lambda x: px.random.choice(px.random.key(0), x, (3,)), S(b)),
    "resize_cubic": (lambda x: px.image.resize(x, (3, *x.shape[1:]), "cubic"), S(b, n)),
    "resize_nearest": (lambda x: px.image.resize(x, (x.shape[0] + 1, 5), "nearest"), S(b, n)),
    "unravel_index": (lambda x: pnp.unravel_index(pnp.array([0, 1, -1]), x.shape), S(b, 2)),
    "insert": (lambda x: pnp.insert(x, [1, 0, 1], pnp.array([3.0, 4.0, 5.0])), S(b)),
    "insert2": (lambda x: pnp.insert(x, -1, 7.0, axis=1), S(3, b)),
    "delete": (lambda x: (pnp.delete(x, 1), pnp.delete(x, -1), pnp.delete(x, slice(0, 2))), S(b)),
    "isin": (lambda x, y: (pnp.isin(x, y), pnp.isin(x, pnp.arange(3.0)), pnp.isin(pnp.arange(3.0), x)), S(b), S(n)),
    "searchsorted": (lambda x, y: pnp.searchsorted(pnp.sort(x), y), S(b), S(n)),
    "toeplitz": (lambda x, y: px.scipy.linalg.toeplitz(x, y), S(b), S(n)),
    "hankel": (lambda x: px.scipy.linalg.hankel(x), S(b)),
    "ranks": (lambda x: (px.scipy.stats.rankdata(x), px.scipy.stats.mode(x)[0]), S(b)),
    "eigenvalues": (lambda x: px.jvp(lambda x: pnp.linalg.eigvalsh(x @ x.T), (x,), (x,)), S(b, 2)),
    "inv": (lambda x: pnp.linalg.inv(x @ x.T + pnp.eye(x.shape[0])), S(b, 2)),
    "histogram": (lambda x: pnp.histogram(x, 5)[0], S(b)),
    "unique": (lambda x: pnp.unique(x, size=2), S(b)),
    "gamma": (lambda x: px.random.gamma(px.random.key(0), pnp.abs(x)), S(b)),
    "categorical": (lambda x: px.random.categorical(px.random.key(0), x), S(b, 5)),
    "avg_pool": (lambda x: nn.avg_pool(x, (2, 2), (2, 2), "SAME"), S(b, n, n, 1)),
    "conv_transpose": (lambda x: lax.conv_transpose(x, pnp.ones((3, 3, 1, 2)), (2, 2), "SAME"), S(b, 4, 4, 1)),
    "convgrad": (lambda x: px.grad(lambda x: (convolved(x) ** 2).sum())(x), S(b, n, n, 1)),
    "scangrad": (lambda x: px.grad(lambda y: lax.scan(lambda c, z: (c * z.sum(), c), 1.0, y)[0])(x), S(b, 2)),
    "jvp": (lambda x: px.jvp(lambda x: (x @ x.T).sum(), (x,), (x,)), S(b, 5)),
    "max_dim": (lambda x: pnp.ones(px.extend.dimensions.max_dim(x.shape[0], 4)), S(b)),
    "mod": (lambda x: pnp.ones((x.shape[0] % 3 + 1, (x.shape[0] - 9) // 4 + 3)) * x.sum(), S(b)),
    "add": (lambda x: x + 1, S(b, 3)),
    "add2": (lambda x, y: x + y, S(b, 3), S(3)),
    "add3": (lambda x, y: x + y, S(b, 3), S(b, 1)),
    "dot": (lambda x, y: x @ y, S(b, 3), S(3, 4)),
    "sum": (lambda x: x.sum(0), S(b, 3)),
    "mean": (lambda x: x.mean(0), S(b, 3)),
    "var": (lambda x: x.var(0), S(b, 3)),
    "softmax": (lambda x: nn.softmax(x), S(b, 3)),
    "softmax0": (lambda x: nn.softmax(x, 0), S(b, 3)),
    "reshape": (lambda x: x.reshape(x.shape[0], -1), S(b, 3, 4)),
    "reshape-1": (lambda x: x.reshape(-1, 12), S(b, 3, 4)),
    "reshape2": (lambda x: x.reshape(-1), S(b, 3, 4)),
    "ravel": (lambda x: x.ravel(), S(b, n)),
    "reshape3": (lambda x: pnp.reshape(x, (-1, 2, 2)), S(b, 4)),
    "reshape4": (lambda x: pnp.reshape(x, (x.shape[0] * 2, 2)), S(b, 4)),
    "transpose": (lambda x: x.T, S(b, 3)),
    "concat": (lambda x: pnp.concatenate([x, x]), S(b, 3)),
    "concat1": (lambda x: pnp.concatenate([x, x], 1), S(b, 3)),
    "stack": (lambda x: pnp.stack([x, x]), S(b, 3)),
    "pad": (lambda x: pnp.pad(x, ((0, 0), (1, 1))), S(b, 3)),
    "pad0": (lambda x: pnp.pad(x, ((1, 1), (0, 0))), S(b, 3)),
    "slice": (lambda x: x[:, 1:], S(b, 3)),
    "slice0": (lambda x: x[:2], S(b, 3)),
    "slice1": (lambda x: x[1:], S(b, 3)),
    "idx": (lambda x: x[:, 0], S(b, 3)),
    "idx0": (lambda x: x[0], S(b, 3)),
    "last": (lambda x: x[-1], S(b, 3)),
    "none": (lambda x: x[:, None], S(b, 3)),
    "rev": (lambda x: x[::-1], S(b, 3)),
    "stride": (lambda x: x[::2], S(b, 3)),
    "take": (lambda x, i: pnp.take(x, i, axis=0), S(10, 3), S(b, d="int32")),
    "gather": (lambda x, i: x[i], S(10, 3), S(b, n, d="int32")),
    "gather0": (lambda x, i: x[i], S(b, 3), S(n, d="int32")),
    "ones": (lambda x: pnp.ones(x.shape), S(b, 3)),
    "zeros_like": (lambda x: pnp.zeros_like(x), S(b, 3)),
    "full": (lambda x: pnp.full((x.shape[0], 2), 3.0), S(b, 3)),
    "arange": (lambda x: pnp.arange(x.shape[0]), S(b, 3)),
    "ones_like": (lambda x: pnp.ones_like(x), S(b, 3)),
    "eye": (lambda x: pnp.eye(x.shape[0]), S(b, 3)),
    "bto": (lambda x: pnp.broadcast_to(x, (x.shape[0], 5, 3)), S(b, 1, 3)),
    "expand": (lambda x: pnp.expand_dims(x, 1), S(b, 3)),
    "squeeze": (lambda x: pnp.squeeze(x, 1), S(b, 1)),
    "squeezeall": (lambda x: pnp.squeeze(x), S(b, 1)),
    "where": (lambda x: pnp.where(x > 0, x, 0), S(b, 3)),
    "max": (lambda x: x.max(0), S(b, 3)),
    "argmax": (lambda x: x.argmax(-1), S(b, 3)),
    "argmax0": (lambda x: x.argmax(0), S(b, 3)),
    "cumsum": (lambda x: x.cumsum(0), S(b, 3)),
    "sort": (lambda x: pnp.sort(x, 0), S(b, 3)),
    "conv": (
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        S(b, 28, 28, 1),
        S(3, 3, 1, 8),
    ),
    "conv2": (
        lambda x, k: lax.conv_general_dilated(x, k, (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        S(b, n, n, 1),
        S(3, 3, 1, 8),
    ),
    "convsame": (
        lambda x, k: lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        S(b, n, n, 1),
        S(3, 3, 1, 8),
    ),
    "pool": (lambda x: lax.reduce_window(x, -pnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), S(b, 28, 28, 1)),
    "poolsame": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"), S(b, n, n, 1)),
    "scan": (lambda x: lax.scan(lambda c, y: (c + y, c * y), x[0], x), S(n, b, 3)),
    "scan0": (
        lambda x: lax.scan(lambda c, y: (c + y, c * y), pnp.zeros((x.shape[0],)), pnp.moveaxis(x, 1, 0)),
        S(b, 5),
    ),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda: x, lambda: -x), S(b, 3)),
    "while": (lambda x: lax.while_loop(lambda x: x.sum() > 0, lambda x: x - 1, x), S(b, 3)),
    "fori": (lambda x: lax.fori_loop(0, x.shape[0], lambda i, x: x - 1, x), S(b, 3)),
    "vmap": (lambda x: px.vmap(lambda r: r * r.sum())(x), S(b, 3)),
    "grad": (lambda x: px.grad(lambda x: (x @ x.T).sum())(x), S(b, 3)),
    "jit": (lambda x: px.jit(lambda x: x * 2)(x), S(b, 3)),
    "gradmean": (lambda x: px.grad(lambda x: (nn.softmax(x) ** 2).mean())(x), S(b, 3)),
    "einsum": (lambda x, y: pnp.einsum("bij,bjk->bik", x, y), S(b, 3, 4), S(b, 4, 5)),
    "einsum2": (lambda x, y: pnp.einsum("bqhd,bkhd->bhqk", x, y), S(b, n, 2, 4), S(b, n, 2, 4)),
    "tensordot": (lambda x, y: pnp.tensordot(x, y, 1), S(b, 3, 4), S(4, 5)),
    "matmul": (lambda x, y: pnp.matmul(x, y), S(b, 3, 4), S(4, 5)),
    "split": (lambda x: pnp.split(x, 3, 1), S(b, 6)),
    "tile": (lambda x: pnp.tile(x, (1, 2)), S(b, 3)),
    "repeat": (lambda x: pnp.repeat(x, 2, axis=1), S(b, 3)),
    "one_hot": (lambda x: nn.one_hot(x, 10), S(b, d="int32")),
    "logsumexp": (lambda x: nn.logsumexp(x, axis=-1), S(b, 3)),
    "random": (lambda k, x: px.random.uniform(k, x.shape), S(2, d="uint32"), S(b, 3)),
    "bernoulli": (lambda k, x: px.random.bernoulli(k, 0.5, x.shape), S(2, d="uint32"), S(b, 3)),
    "normal": (lambda k, x: px.random.normal(k, (x.shape[0], 2)), S(2, d="uint32"), S(b, 3)),
    "div": (lambda x: x / x.shape[0], S(b, 3)),
    "size": (lambda x: x * x.size, S(b, 3)),
    "iota": (lambda x: lax.iota("int32", x.shape[0]), S(b, 3)),
    "tri": (lambda x: pnp.tril(pnp.ones((x.shape[1], x.shape[1]))), S(b, n)),
    "dyn": (lambda x: lax.dynamic_slice(x, (0, 0), (x.shape[0], 2)), S(b, 3)),
    "dus": (lambda x: lax.dynamic_update_slice(x, pnp.ones((x.shape[0], 1)), (0, 0)), S(b, 3)),
    "at": (lambda x: x.at[:, 0].set(1.0), S(b, 3)),
    "at0": (lambda x: x.at[0].add(1.0), S(b, 3)),
    "swap": (lambda x: pnp.swapaxes(x, 0, 1), S(b, 3)),
    "flip": (lambda x: pnp.flip(x, 0), S(b, 3)),
    "outer": (lambda x: pnp.outer(x, x), S(b)),
    "norm": (lambda x: pnp.linalg.norm(x, axis=0), S(b, 3)),
    "roll": (lambda x: pnp.roll(x, 1, 0), S(b, 3)),
    "astype": (lambda x: x.astype("int32"), S(b, 3)),
    "resize": (lambda x: px.image.resize(x, (x.shape[0], 8, 8, 1), "bilinear"), S(b, 4, 4, 1)),
    "attention": (lambda q: nn.dot_product_attention(q, q, q), S(b, n, 2, 4)),
    "gelu": (lambda x: nn.gelu(x), S(b, 3)),
    "median": (lambda x: pnp.median(x, 0), S(b, 3)),
    "std": (lambda x: pnp.std(x), S(b, 3)),
    "take_along": (lambda x: pnp.take_along_axis(x, pnp.zeros((x.shape[0], 1), "int32"), 1), S(b, 3)),
    "cumprod": (lambda x: pnp.cumprod(x, 1), S(b, 3)),
    "fft": (lambda x: pnp.fft.fft(x), S(b, 8)),
    "chol": (lambda x: pnp.linalg.cholesky(x), S(b, 3, 3)),
    "solve": (lambda x: pnp.linalg.solve(x, x), S(b, 3, 3)),
    "meshgrid": (lambda x: pnp.meshgrid(pnp.arange(x.shape[0]), pnp.arange(3)), S(b, 3)),
    "select_n": (lambda x: lax.select(x > 0, x, x), S(b, 3)),
    "top_k": (lambda x: lax.top_k(x, 2), S(b, 3)),
    "batchnorm": (lambda x: nn.standardize(x, axis=0), S(b, 3)),
    "map": (lambda x: lax.map(lambda r: r.sum(), x), S(b, 3)),
    "remat": (lambda x: px.checkpoint(lambda x: pnp.sin(x))(x), S(b, 3)),
    "segsum": (lambda x, i: px.ops.segment_sum(x, i, 5), S(b, 3), S(b, d="int32")),
    "linspace": (lambda x: pnp.linspace(0, 1, x.shape[0]), S(b, 3)),
    "bincount": (lambda x: pnp.bincount(x, length=5), S(b, d="int32")),
    "apply_along": (lambda x: pnp.apply_along_axis(pnp.sum, 0, x), S(b, 3)),
    "vjp": (lambda x: px.vjp(lambda x: pnp.sin(x), x)[1](x), S(b, 3)),
    "lstm": (
        lambda x: lax.scan(lambda c, y: (pnp.tanh(c + y), c), pnp.zeros((x.shape[0], 4)), pnp.transpose(x, (1, 0, 2))),
        S(b, n, 4),
    ),
}
SIZES = ((2, 2), (5, 4))


def known(shape: Any, sizes: tuple[int, int]) -> tuple[int, ...]:
    """A shape for the values of b and n."""
    values = {Atom("size", (name,)): size for name, size in zip("bn", sizes, strict=True)}
    return tuple(size.replaced(values) if is_symbolic_dim(size) else size for size in shape)


def arguments(name: str, types: Any, sizes: tuple[int, int]) -> list[np.ndarray]:
    """Random arguments of types for the values of b and n."""
    rng = np.random.default_rng(0)
    found = []
    for struct in types:
        shape = known(struct.shape, sizes)
        if struct.dtype.kind in "iu":
            x = rng.integers(0, 3, shape)
        else:
            x = rng.normal(size=shape)
        if name == "chol":
            x = x @ x.swapaxes(-1, -2) + np.eye(shape[-1])
        found.append(x.astype(struct.dtype))
    return found


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_has_the_values_that_it_has_for_known_shapes(name):
    function, *types = PROGRAMS[name]
    shapes = px.tree.leaves(px.eval_shape(function, *types))
    exported = deserialize(export(px.jit(function))(*types).serialize())
    every = [arguments(name, types, sizes) for sizes in SIZES]
    results = px.jit(lambda every: [(exported.call(*args), function(*args)) for args in every])(every)
    for sizes, (got, want) in zip(SIZES, results, strict=True):
        leaves = zip(px.tree.leaves(got), px.tree.leaves(want), shapes, strict=True)
        for x, y, struct in leaves:
            assert x.shape == np.shape(y) == known(struct.shape, sizes)
            assert x.dtype == struct.dtype
            np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-4, atol=2e-4)


def test_a_program_prints_its_sizes():
    jaxpr = px.make_jaxpr(lambda x: (x * x.shape[0]).reshape(-1))(S(b, 3))
    assert str(jaxpr.in_avals) == "[ShapedArray(float32[b,3])]"
    assert "dim_as_value[dim=b]" in str(jaxpr)
    assert str(px.eval_shape(lambda x: x.T[1:], S(b, n)).shape) == "(n - 1, b)"


def test_transformations_of_an_exported_program():
    exported = export(px.jit(lambda x: (nn.softmax(x) ** 2).sum() / x.shape[0]))(S(b, 3))
    assert str(exported.in_avals[0].shape) == "(b, 3)"
    function = lambda x: (nn.softmax(x) ** 2).sum() / x.shape[0]  # noqa: E731
    x = pnp.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(exported.call(x), function(x), rtol=1e-6)
    np.testing.assert_allclose(px.grad(exported.call)(x), px.grad(function)(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(px.jit(lambda x: exported.call(x[1:]) + 1)(x), function(x[1:]) + 1, rtol=1e-6)
    loaded = deserialize(exported.serialize(vjp_order=2))
    np.testing.assert_allclose(px.grad(loaded.call)(x[:2]), px.grad(function)(x[:2]), rtol=1e-5, atol=1e-6)
    derivative = loaded.vjp()
    assert [str(aval.shape) for aval in derivative.in_avals] == ["(b, 3)", "()"]
    (slope,) = derivative.call(x, np.float32(1))
    np.testing.assert_allclose(slope, px.grad(function)(x), rtol=1e-5, atol=1e-6)


def test_an_exported_program_in_one_of_other_sizes():
    def layer(x, y):
        return pnp.sin(x) * y.sum() + pnp.arange(x.shape[0]), x.sum() * y

    (c,) = symbolic_shape("c", constraints=["mod(c, 2) == 0", "c <= 20"])
    inner = deserialize(export(px.jit(layer))(S(c), S(2 * c - 1)).serialize(vjp_order=2))

    def model(layer, x):
        def step(total, y):
            up, down = layer(x, pnp.concatenate([x, x[1:] * y]))
            return total + up.sum(), down

        total, steps = lax.scan(step, 0.0, pnp.ones(2))
        known = layer(pnp.ones(2), pnp.ones(3))
        return lax.cond(total > 0, lambda: layer(x, steps[1])[0], lambda: x), known

    def slope(layer):
        return px.grad(lambda x: model(layer, x)[0].sum())

    (k,) = symbolic_shape("k", constraints=["k <= 10"])
    assert [str(x.shape) for x in px.eval_shape(inner.call, S(2 * k), S(4 * k - 1))] == ["(2*k,)", "(4*k - 1,)"]
    outer = deserialize(export(px.jit(lambda x: model(inner.call, x)))(S(2 * k)).serialize())
    derivative = deserialize(export(px.jit(slope(inner.call)))(S(2 * k)).serialize())
    for size in (2, 6):
        x = px.random.normal(px.random.key(size), (size,))
        for got, want in ((outer.call(x), model(layer, x)), (derivative.call(x), slope(layer)(x))):
            for a, b in zip(px.tree.leaves(got), px.tree.leaves(want), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ("k, 2*k - 1", r"the constraint 'mod\(c, 2\) == 0' may not hold for c = k"),
        ("2*k + 1, 4*k + 1", r"the constraint 'mod\(c, 2\) == 0' does not hold for c = 2\*k \+ 1"),
        ("2*n, 4*n - 1", r"the constraint 'c <= 20' may not hold for c = 2\*n"),
        ("2*k, 4*k", r"argument\[1\] must have the length 2\*c - 1, which is 4\*k - 1 for c = 2\*k, got 4\*k"),
        ("k - 1, 2*k - 3", r"axis 0 of argument\[0\] must have the length c with c of 1 or more, got k - 1"),
    ],
)
def test_sizes_of_a_program_around_that_may_not_fit(shapes, message):
    (c,) = symbolic_shape("c", constraints=["mod(c, 2) == 0", "c <= 20"])
    exported = export(px.jit(lambda x, y: x.sum() * y))(S(c), S(2 * c - 1))
    k, n = symbolic_shape(shapes, constraints=["k <= 10"])
    with pytest.raises(ValueError, match=message):
        px.eval_shape(exported.call, S(k), S(n))


def test_structures_keyword_arguments_and_keys():
    def draw(key, *, like):
        return {"x": px.random.normal(key, like["a"].shape) + like["a"]}

    key = px.random.key(0)
    types = symbolic_args_specs({"a": pnp.ones((2, 3))}, "b, ...", scope=b.scope)
    exported = deserialize(export(px.jit(draw))(key, like=types).serialize())
    like = {"a": pnp.ones((5, 3))}
    np.testing.assert_allclose(exported.call(key, like=like)["x"], draw(key, like=like)["x"], rtol=1e-6)


def test_types_of_arguments_with_symbolic_shapes():
    args = (pnp.ones((2, 3)), {"a": np.ones(4, np.int32)})
    first, second = symbolic_args_specs(args, ("b, ...", {"a": "2*b"}))
    assert (str(first.shape), str(second["a"].shape)) == ("(b, 3)", "(2*b,)")
    assert second["a"].dtype == np.int32
    assert second["a"].shape[0] == 2 * first.shape[0]
    (first, second) = symbolic_args_specs(args, (None, "k"), ["k >= 3"])
    assert first.shape == (2, 3)
    assert second["a"].shape[0] > 2
    with pytest.raises(ValueError, match="as many sizes as like"):
        symbolic_args_specs(args, "b")


def test_sizes_follow_from_arguments_of_other_forms():
    c, d = symbolic_shape("c, d")
    exported = export(px.jit(lambda x, y: pnp.ones(d) * x.sum() + y.sum()))(S(2 * c + 1), S(c * d))
    assert exported.call(np.ones(5, np.float32), np.ones(6, np.float32)).tolist() == [11.0] * 3


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((4,), (3, 3)), r"axis 0 of argument\[1\] must have the length 2\*c - 1, which is 7 for c = 4, got 3"),
        (((0,), (7, 3)), r"axis 0 of argument\[0\] must have the length c with c of 1 or more, got 0"),
        (((9,), (17, 3)), "the constraint 'c <= 8' does not hold for c = 9"),
        (((3,), (5, 3)), r"the constraint 'mod\(c, 2\) == 0' does not hold for c = 3"),
    ],
)
def test_arguments_whose_sizes_do_not_fit(shapes, message):
    (c,) = symbolic_shape("c", constraints=["c <= 8", "mod(c, 2) == 0"])
    exported = deserialize(export(px.jit(lambda x, y: x.sum() + y.sum()))(S(c), S(2 * c - 1, 3)).serialize())
    assert exported.call(np.ones(2, np.float32), np.ones((3, 3), np.float32)) == 11
    with pytest.raises(ValueError, match=message):
        exported.call(*(np.ones(shape, np.float32) for shape in shapes))
    with pytest.raises(TypeError, match=r"argument\[1\] must be f32\[2\*c - 1,3\]"):
        exported.call(np.ones(2, np.float32), np.ones((3, 2), np.float32))
    with pytest.raises(TypeError, match=r"argument\[0\] must be f32\[c\]"):
        exported.call(np.ones(2, np.int32), np.ones((3, 3), np.float32))


def test_what_needs_known_sizes_says_so():
    with pytest.raises(InconclusiveDimensionOperation, match="used in a context that requires a constant"):
        px.eval_shape(lambda x: [x[i] for i in range(x.shape[0])], S(b))
    with pytest.raises(UnsupportedError, match="associative_scan: elems must have a known length along axis 0"):
        px.eval_shape(lambda x: lax.associative_scan(pnp.add, x), S(b))
    with pytest.raises(UnsupportedError, match=r"cannot be compiled before they are known, got f32\[b\]; export"):
        px.jit(pnp.sin).lower(S(b)).compile()
    with pytest.raises(ValueError, match=r"sin: .* the size 'b' has no value here"):
        pnp.sin(b)
    with pytest.raises(UnsupportedError, match="the size 'n' has no value here"):
        export(px.jit(lambda x: pnp.ones(n)))(S(b))
    with pytest.raises(UnsupportedError, match="fft: the transformed axes must have known lengths"):
        export(px.jit(pnp.fft.fft))(S(b))
    with pytest.raises(UnsupportedError, match="permutation and shuffle: the number of elements must be known"):
        export(px.jit(lambda x: px.random.permutation(px.random.key(0), x)))(S(b))
    (k,) = symbolic_shape("k")
    with pytest.raises(InconclusiveDimensionOperation, match="'k' > '1' is inconclusive"):
        px.eval_shape(pnp.squeeze, S(k, 1))
    assert px.eval_shape(pnp.squeeze, S(b, 1)).shape == (b,)
    with pytest.raises(TypeError, match=r"broadcast.*\(b,\).*\(n,\)"):
        px.eval_shape(pnp.add, S(b), S(n))


def test_a_lowering_rule_without_symbolic_dimensions_is_named():
    spread_p = px.extend.define_primitive(
        "spread_rows",
        abstract_eval=lambda x: px.extend.core.ShapedArray((*x.shape, 2), x.dtype),
        lowering=lambda ctx, x: [
            px.extend.interpreters.mlir.hlo.broadcast_in_dim(
                px.extend.interpreters.mlir.aval_to_ir_type(ctx.avals_out[0]),
                x,
                px.extend.interpreters.mlir.ir.DenseI64ArrayAttr.get([0]),
            )
        ],
    )
    assert px.jit(spread_p.bind)(pnp.ones(3)).shape == (3, 2)
    with pytest.raises(XlaError, match=r"(?s)does not support unknown sizes \(see broadcast_in_dim"):
        export(px.jit(spread_p.bind))(S(b))


def test_several_devices_are_refused():
    devices = px.devices()
    mesh = px.sharding.Mesh(np.array(devices), ("x",))
    if len(devices) < 2:
        pytest.skip("one device")
    sharded = px.sharding.NamedSharding(mesh, px.sharding.PartitionSpec())
    (c,) = symbolic_shape("c")
    with pytest.raises(UnsupportedError, match="symbolic dimensions on several devices"):
        export(px.jit(lambda x: x * 2, in_shardings=sharded))(S(c))


def test_an_artifact_of_another_process(tmp_path):
    file = tmp_path / "program"
    file.write_bytes(export(px.jit(lambda x: pnp.cumsum(x, 0) @ x.T))(S(b, 3)).serialize())
    program = f"""
import primax as px, numpy as np
exported = px.export.deserialize(open({str(file)!r}, "rb").read())
print(exported.in_avals[0].shape, exported.call(np.ones((2, 3), np.float32)).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "(b, 3) [[3.0, 3.0], [6.0, 6.0]]\n"


def test_headers_with_wrong_sizes_are_refused():
    blob = export(px.jit(lambda x: x * 2))(S(b, 3)).serialize()
    text = re.search(rb'\{"in_tree.*\}\}', blob)[0]
    header = json.loads(text)
    assert header["program"]["in"][0][0] == ["b", 3]
    assert header["program"]["constraints"] == ["b >= 2", "n >= 2"]
    for path, value, message in (
        (("in", 0, 0), ["b//2", 3], "must have symbolic dimensions"),
        (("in", 0, 0), ["c", 3], "sizes of results among those of arguments, but has b"),
        (("constraints",), ["b"], "must list the constraints"),
        (("constraints",), 3, "must list the constraints"),
        (("in", 0, 0), [-1, 3], "must have types of shape"),
    ):
        changed = json.loads(text)
        place = changed["program"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        with pytest.raises(ValueError, match=message):
            deserialize(with_header(blob, text, json.dumps(changed).encode()))


def with_header(blob: bytes, old: bytes, new: bytes) -> bytes:
    """An artifact with another header and the right checksum."""
    at = blob.index(old)
    body = blob[: at - 8] + len(new).to_bytes(8, "little") + new + blob[at + len(old) : -32]
    return body + hashlib.sha256(body).digest()


def test_modules_that_are_not_those_of_the_header_are_refused():
    def sums(x):
        return x * 2

    for other in (lambda x, y: x, lambda x: x[:, None]):
        exported = export(px.jit(sums))(S(b))
        types = [S(b)] * 2 if other.__code__.co_argcount == 2 else [S(b, 3)]
        exported._artifact.modules = export(px.jit(other))(*types)._artifact.modules
        with pytest.raises(ValueError, match=r"^sums: its program must have the types in its header"):
            exported.call(pnp.ones(3))


def test_functions_of_any_name_and_composites_are_inlined():
    @px.jit
    def main_of_any_sizes(x):
        return lax.composite(lambda x: pnp.sin(x) + pnp.ones(x.shape), "my.operation")(x)

    x = pnp.arange(3.0)
    exported = export(px.jit(lambda x: main_of_any_sizes(x)[::-1]))(S(b))
    np.testing.assert_allclose(exported.call(x), (pnp.sin(x) + 1)[::-1], rtol=1e-6)


def test_attention_over_any_number_of_positions():
    def attended(q, lengths):
        return nn.dot_product_attention(q, q, q, query_seq_lengths=lengths, key_value_seq_lengths=lengths)

    q, lengths = arguments("", [S(b, n, 2, 4)], (3, 5))[0], np.array([1, 2, 5], np.int32)
    exported = export(px.jit(attended))(S(b, n, 2, 4), S(b, d="int32"))
    np.testing.assert_allclose(exported.call(q, lengths), attended(q, lengths), rtol=1e-5, atol=1e-6)
