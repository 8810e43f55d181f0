"""Products of narrow numbers in blocks: against products of what they stand for, and numbers recorded from jax 0.12."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import nn

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

RNG = np.random.default_rng(0)
LHS, RHS = RNG.normal(size=(2, 3, 64)).astype(np.float32), RNG.normal(size=(2, 5, 64)).astype(np.float32)
DIMENSIONS = (((2,), (2,)), ((0,), (0,)))


def test_blocks_are_scaled():
    scales, others = RNG.uniform(1, 2, (2, 3, 4)), RNG.uniform(1, 2, (2, 5, 4))
    want = np.einsum("bmk,bnk->bmn", LHS * np.repeat(scales, 16, -1), RHS * np.repeat(others, 16, -1))
    np.testing.assert_allclose(nn.scaled_matmul(LHS, RHS, scales, others), want, rtol=1e-4, atol=1e-4)
    x = pnp.ones((1, 4, 32), pnp.float8_e4m3fn)
    half = pnp.full((1, 4, 1), 0.5, pnp.float8_e8m0fnu)
    assert (nn.scaled_matmul(x, x, half, half) == 8).all()
    assert nn.scaled_matmul(x, x, half, half, preferred_element_type=pnp.bfloat16).dtype == pnp.bfloat16


@pytest.mark.parametrize("mode, close", [("mxfp8", 0.05), ("mxfp4", 0.3), ("nvfp4", 0.2)])
def test_narrow_products_are_near_plain_ones(mode, close):
    config = nn.get_scaled_dot_general_config(mode, pnp.array([0.5]) if mode == "nvfp4" else None)
    got = px.jit(lambda x, y: nn.scaled_dot_general(x, y, DIMENSIONS, configs=[config] * 3))(LHS, RHS)
    want = np.einsum("bmk,bnk->bmn", LHS, RHS)
    assert 0 < np.abs(got - want).mean() / np.abs(want).mean() < close
    gradient = px.grad(lambda x: nn.scaled_dot_general(x, RHS, DIMENSIONS, configs=[config] * 3).sum())(LHS)
    np.testing.assert_allclose(gradient, np.broadcast_to(RHS.sum(1, keepdims=True), LHS.shape), rtol=1e-4, atol=1e-5)


# Recorded from jax 0.12.
RECORDED = {
    "mxfp8": [-1.8902587890625, -3.82470703125, 4.200046539306641, -6.290557861328125, -8.8634033203125],
    "mxfp4": [-3.25, -2.9375, 3.5625, -7.1875, -8.625],
    "nvfp4": [-0.455078125, -3.9423828125, 3.2216796875, -7.1192626953125, -8.53955078125],
}


@pytest.mark.parametrize("mode", RECORDED)
def test_narrow_products_are_those_of_jax(mode):
    if float(pnp.float32(100.00786).astype(pnp.float8_e4m3fn)) != 104:
        pytest.skip("XLA rounds to 8 bits by way of 16, as that of jaxlib 0.10.0 does with the flags of the tests")
    config = nn.get_scaled_dot_general_config(mode)
    got = nn.scaled_dot_general(LHS, RHS, DIMENSIONS, configs=[config] * 3)
    np.testing.assert_allclose(got[1, 2], RECORDED[mode], rtol=1e-5, atol=1e-5)


def test_scales_are_exact_powers_of_two():
    config = nn.get_scaled_dot_general_config("mxfp8")
    # From the least to the largest number of that type: with twice the scale the least one would be rounded to 0.
    powers = np.exp2(np.arange(-100, 100)).astype(np.float32)
    x = powers[:, None] * np.resize(np.float32([448, 2**-9, 1.25, 64]), 32)
    identity = np.eye(32, dtype=np.float32)
    got = nn.scaled_dot_general(x, identity, (((1,), (0,)), ((), ())), configs=[config] * 3)
    np.testing.assert_array_equal(got, x)


def test_other_axes_and_plain_products():
    config = nn.get_scaled_dot_general_config("mxfp8")
    x, y = RNG.normal(size=(32, 2, 3)).astype(np.float32), RNG.normal(size=(4, 32)).astype(np.float32)
    got = nn.scaled_dot_general(x, y, (((0,), (1,)), ((), ())), configs=[config] * 3, preferred_element_type="bfloat16")
    assert (got.shape, got.dtype) == ((2, 3, 4), pnp.bfloat16)
    np.testing.assert_allclose(got.astype("float32"), np.einsum("kab,nk->abn", x, y), atol=1)
    plain = nn.scaled_dot_general(LHS, RHS, DIMENSIONS)
    np.testing.assert_allclose(plain, np.einsum("bmk,bnk->bmn", LHS, RHS), rtol=1e-4, atol=1e-4)
    zero = nn.scaled_dot_general(0 * LHS, RHS, DIMENSIONS, configs=[config] * 3)
    assert (zero == 0).all()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: nn.scaled_matmul(LHS[0], RHS, LHS, RHS), ValueError, "scaled_matmul: lhs must be of rank 3"),
        (lambda: nn.scaled_matmul(LHS, RHS[:1], LHS, RHS), ValueError, "rhs must have the batch and the contracted"),
        (lambda: nn.scaled_matmul(LHS, RHS, LHS[..., :3], RHS[..., :3]), ValueError, "blocks that divides 64, got 3"),
        (lambda: nn.scaled_matmul(LHS, RHS, LHS[..., :2], RHS[..., :4]), ValueError, "as many blocks as the other"),
        (lambda: nn.get_scaled_dot_general_config("fp8"), ValueError, "mode must be one of 'mxfp8'"),
        (lambda: nn.get_scaled_dot_general_config("mxfp8", 2.0), ValueError, "global_scale must be None for mxfp8"),
        (lambda: nn.scaled_dot_general(LHS, RHS, DIMENSIONS, configs=[1] * 3), TypeError, "configs must be made by"),
        (
            lambda: nn.scaled_dot_general(
                LHS[..., :40], RHS[..., :40], DIMENSIONS, configs=[nn.get_scaled_dot_general_config("mxfp8")] * 3
            ),
            ValueError,
            "must have a multiple of 32 elements for mxfp8, got 40",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
