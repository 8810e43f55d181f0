"""Quantized arrays do what floating arrays do, to the precision of 8 bits, under every transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from primax_quantized import Quantized, quantize, take

import primax as px
import primax.numpy as pnp
from primax import lax

rng = np.random.default_rng(0)
W = rng.normal(size=(4, 64)).astype(np.float32)
X = rng.normal(size=(64, 3)).astype(np.float32)
Q = quantize(W)


def close(got: Any, want: Any, rtol: float = 1e-5) -> None:
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-5)


def test_an_element_is_off_by_half_a_step_at_most() -> None:
    steps = np.repeat(np.abs(W).reshape(4, 2, 32).max(-1) / 127, 32, -1)
    assert np.all(np.abs(Q.dequantize() - W) <= 0.5001 * steps)
    assert Q.ints.dtype == np.int8
    assert (Q.shape, Q.block, Q.nbytes, repr(Q)) == ((4, 64), 32, 288, "Quantized(int8[4,64], block=32)")


def test_zeros_and_short_axes_are_quantized() -> None:
    assert not quantize(pnp.zeros((2, 64))).dequantize().any()
    assert quantize(pnp.ones((2, 5))).block == 5


@pytest.mark.parametrize(
    "x, block, error, message",
    [
        (np.ones((2, 3), np.int32), 3, TypeError, "x must be floating, got int32"),
        (np.float32(1), 3, ValueError, "x must have a last axis"),
        (np.ones((2, 64), np.float32), 48, ValueError, r"block must divide the last axis, got 48 for shape \(2, 64\)"),
    ],
)
def test_what_cannot_be_quantized_is_refused(x: Any, block: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        quantize(x, block)


def test_products_are_those_of_the_dequantized_matrix() -> None:
    floating = Q.dequantize()
    close(Q @ X, floating @ X)
    close(Q @ X[:, 0], floating @ X[:, 0])
    close(px.jit(lambda q, x: x @ q)(Q, X[:4].T), X[:4].T @ np.asarray(floating))
    with pytest.raises(ValueError, match="inner sizes of the matrices must agree"):
        Q @ X[:5]


def test_an_embedding_reads_rows() -> None:
    rows = np.array([[2, 0], [1, 1]])
    close(take(Q, rows), Q.dequantize()[rows])
    found = px.grad(lambda q: take(q, rows).sum())(Q)
    close(found, np.bincount(rows.ravel(), minlength=4)[:, None] * Q.ints.reshape(4, 2, 32).sum(-1, dtype=np.float32))


def loss(q: Any, x: Any) -> Any:
    return pnp.sum(pnp.tanh(q @ x))


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit, px.checkpoint])
def test_gradients_are_those_of_the_scales(wrap: Any) -> None:
    ints, scales = Q.ints.astype(np.float32), Q.scales

    def floating(scales: Any, x: Any) -> Any:
        return pnp.sum(pnp.tanh((ints * pnp.repeat(scales, 32, -1)) @ x))

    wants = px.grad(floating, (0, 1))(scales, X)
    for got, want in zip(px.grad(wrap(loss), (0, 1))(Q, X), wants, strict=True):
        close(got, want, 1e-4)


def test_quantized_arrays_are_mapped() -> None:
    ws = np.stack([W, 2 * W])
    close(px.vmap(lambda w: quantize(w) @ X)(ws), np.stack([Q @ X, quantize(2 * W) @ X]))
    many = quantize(ws)
    close(px.vmap(lambda q, x: q @ x, (0, None))(many, X), many @ X)
    close(px.vmap(lambda x: many @ x[:, None], 1, -1)(X)[..., 0, :], many @ X)
    with pytest.raises(ValueError, match="cannot be mapped along axis 1, which its blocks divide"):
        px.vmap(lambda q: q, 1)(Q)


def test_layers_are_scanned_and_trained() -> None:
    layers = quantize(rng.normal(size=(3, 8, 8)).astype(np.float32), 4)

    def network(layers: Any) -> Any:
        return lax.scan(lambda h, layer: (pnp.tanh(layer @ h), None), pnp.ones(8), layers)[0]

    h = pnp.ones(8)
    for layer in layers.dequantize():
        h = pnp.tanh(layer @ h)
    close(network(layers), h)
    assert px.grad(lambda layers: network(layers).sum())(layers).shape == (3, 8, 2)


def test_control_flow_carries_them() -> None:
    doubled = lax.while_loop(
        lambda state: state[1] < 2, lambda state: (quantize(2 * state[0].dequantize()), state[1] + 1), (Q, 0)
    )[0]
    close(doubled.dequantize(), 4 * Q.dequantize())
    close(px.jit(lambda p: lax.cond(p, lambda: Q, lambda: doubled))(False).dequantize(), doubled.dequantize())
    with pytest.raises(TypeError, match=r"init is q8<32>\[4,64\], the carry that f returns is q8<16>\[4,64\]"):
        lax.scan(lambda q, _: (quantize(q.dequantize(), 16), None), Q, length=2)


def test_they_are_leaves_and_exported_and_donated() -> None:
    program = px.make_jaxpr(lambda q, x: q @ x)(Q, X)
    assert "a:q8<32>[4,64] b:f32[64,3]" in str(program)
    assert px.tree.leaves({"layer": Q}) == [Q]
    exported = px.export.export(px.jit(lambda q, x: (q @ x, q)))(Q, X)
    product, same = exported.call(Q, X)
    close(product, Q @ X)
    assert isinstance(same, Quantized)
    spent = quantize(W + 1)
    numbers = spent.ints
    px.jit(lambda q: q, donate_argnums=0)(px.device_put(spent))
    assert numbers.is_deleted()


def test_other_functions_name_the_type_and_its_package() -> None:
    with pytest.raises(
        TypeError, match=r"sin: .* of type q8<32>\[4,64\]; the package of QuantizedType, primax_quantized"
    ):
        pnp.sin(Q)
    with pytest.raises(NotImplementedError, match=r"sin has no rules for values of type q8<32>\[4,64\]"):
        px.jit(px.lax.sin_p.bind)(Q)
