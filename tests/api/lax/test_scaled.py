"""scaled_dot: products of arrays with a scale for each block of elements."""

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax


def operands(lhs, rhs, dtype="float8_e4m3fn"):
    rng = np.random.default_rng(0)
    return pnp.asarray(rng.normal(size=lhs), dtype), pnp.asarray(rng.normal(size=rhs), dtype)


def wide(x):
    return np.asarray(x.astype("float32"), np.float64)


def test_operands_are_multiplied_by_the_scales_of_their_blocks():
    a, b = operands((4, 8), (8, 3))
    rng = np.random.default_rng(1)
    a_scale = pnp.asarray(2.0 ** rng.integers(-2, 3, (4, 2)), "float8_e8m0fnu")
    b_scale = pnp.asarray(2.0 ** rng.integers(-2, 3, (4, 3)), "float8_e8m0fnu")
    out = lax.scaled_dot(a, b, lhs_scale=a_scale, rhs_scale=b_scale, preferred_element_type="float32")
    expected = (wide(a) * np.repeat(wide(a_scale), 4, 1)) @ (wide(b) * np.repeat(wide(b_scale), 2, 0))
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-5, atol=1e-5)
    assert lax.scaled_dot(a, b, lhs_scale=a_scale).dtype == "bfloat16"


@pytest.mark.parametrize(
    "lhs, rhs, shape",
    [((4, 8), (8, 3), (4, 3)), ((2, 4, 8), (2, 8, 3), (2, 4, 3)), ((2, 5, 4, 8), (2, 5, 8, 3), (2, 5, 4, 3))],
)
def test_axes_before_the_last_two_are_shared(lhs, rhs, shape):
    a, b = operands(lhs, rhs, "float32")
    out = lax.scaled_dot(a, b, preferred_element_type="float32")
    assert out.shape == shape
    np.testing.assert_allclose(np.asarray(out), np.asarray(a) @ np.asarray(b), rtol=1e-4, atol=1e-4)


def test_dimensions_may_be_named():
    x = pnp.ones((2, 3, 4), "bfloat16")
    numbers = (((2,), (2,)), ((0,), (0,)))
    assert (
        lax.scaled_dot(x, x, dimension_numbers=numbers, lhs_scale=pnp.ones((2, 3, 2))).tolist() == [[[4.0] * 3] * 3] * 2
    )


def test_it_is_differentiable_and_batched():
    a, b = operands((3, 4), (4, 2), "float32")
    scale = pnp.array([[2.0, 0.5]] * 3)

    def loss(a, scale):
        return lax.scaled_dot(a, b, lhs_scale=scale, preferred_element_type="float32").sum()

    da, ds = px.grad(loss, argnums=(0, 1))(a, scale)
    rows = np.asarray(b).sum(1)
    np.testing.assert_allclose(np.asarray(da), np.repeat(np.asarray(scale), 2, 1) * rows, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(ds), (np.asarray(a) * rows).reshape(3, 2, 2).sum(-1), rtol=1e-4, atol=1e-5)
    assert px.vmap(loss, (0, None))(a[None], scale).shape == (1,)


def test_scales_that_do_not_fit_are_refused():
    a, b = operands((4, 8), (8, 3), "float32")
    with pytest.raises(TypeError, match=r"lhs_scale must have a length that divides 8 in axis 1, got 3"):
        lax.scaled_dot(a, b, lhs_scale=pnp.ones((4, 3)))
    with pytest.raises(TypeError, match=r"rhs_scale must have the rank 2 of rhs, got the shape \(3,\)"):
        lax.scaled_dot(a, b, rhs_scale=pnp.ones(3))
