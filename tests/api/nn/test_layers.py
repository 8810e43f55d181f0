"""One-hot vectors, standardization and attention, compared with NumPy and with jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import primax as px

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.usefixtures("in_32_bits")

RNG = np.random.default_rng(0)


def test_one_hot_knows_axes_dtypes_and_positions_out_of_range() -> None:
    x = np.array([[0, 2], [-1, 5]])
    for axis in (-1, 0, 1, -3):
        np.testing.assert_array_equal(px.nn.one_hot(x, 3, axis=axis), jax.nn.one_hot(x, 3, axis=axis))
    assert px.nn.one_hot(x, 3, dtype=bool).dtype == bool
    np.testing.assert_array_equal(px.nn.one_hot(np.array([0.5, 1.0]), 3), [[0, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match=r"one_hot: axis must be .* got 3"):
        px.nn.one_hot(x, 3, axis=3)
    with pytest.raises(ValueError, match="one_hot: num_classes must not be negative, got -1"):
        px.nn.one_hot(x, -1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axis": (0, 1)},
        {"axis": 0, "algorithm": "stable"},
        {"mean": np.float32([[1.0], [2.0]])},
        {"variance": 2.0, "epsilon": 0.5},
        {"where": np.array([True, False, True])},
    ],
    ids=str,
)
def test_standardize_is_that_of_jax(options: dict[str, Any]) -> None:
    x = RNG.normal(3.0, 2.0, (2, 3)).astype(np.float32)
    np.testing.assert_allclose(px.nn.standardize(x, **options), jax.nn.standardize(x, **options), rtol=1e-4, atol=1e-4)


def test_a_mean_of_integers_does_not_widen_what_standardize_returns() -> None:
    x, mean = np.uint32([[4, 54, 0]]), np.uint64([[1, 3, 88]])
    with px.enable_x64(True), jax.enable_x64(True):
        assert px.nn.standardize(x, mean=mean).dtype == jax.nn.standardize(x, mean=mean).dtype == np.float32


def test_standardize_needs_no_axis_if_the_mean_and_the_variance_are_given() -> None:
    assert px.nn.standardize(5.0, mean=3.0, variance=4.0, epsilon=0.0) == 1.0
    with pytest.raises(ValueError, match="standardize: an array of rank 0 has no axes, got axis -1"):
        px.nn.standardize(5.0, mean=3.0)


def test_standardize_has_an_end_where_nothing_varies() -> None:
    np.testing.assert_allclose(px.nn.standardize(np.full(5, 0.1, np.float32)), np.zeros(5), atol=1e-4)
    with pytest.raises(ValueError, match=r"standardize: algorithm must be 'fast' or 'stable', got 'slow'"):
        px.nn.standardize(np.ones(3), algorithm="slow")


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    return [RNG.normal(size=shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True, "scale": 0.3},
        {"mask": RNG.uniform(size=(2, 4, 3, 5)) > 0.3, "bias": arrays((1, 4, 3, 5))[0]},
        {
            "query_seq_lengths": np.array([2, 3]),
            "key_value_seq_lengths": np.array([5, 1]),
            "mask": np.ones((3, 5), bool)[None, None],
        },
        {"local_window_size": (1, 0), "return_residual": True},
    ],
    ids=lambda options: " ".join(options) or "plain",
)
def test_attention_is_that_of_jax(options: dict[str, Any]) -> None:
    q, k, v = arrays((2, 3, 4, 6), (2, 5, 2, 6), (2, 5, 2, 6))
    with px.numpy_rank_promotion("raise"):
        found = px.jit(lambda *xs: px.nn.dot_product_attention(*xs, **options))(q, k, v)
    wanted = jax.jit(lambda *xs: jax.nn.dot_product_attention(*xs, **options))(q, k, v)
    for x, y in zip(px.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def test_sums_of_attention_have_the_dtype_of_the_result() -> None:
    x = px.ShapeDtypeStruct((2, 3, 4, 6), "bfloat16")
    out, sums = px.eval_shape(lambda x: px.nn.dot_product_attention(x, x, x, return_residual=True), x)
    assert (out.dtype, sums.dtype) == (x.dtype, x.dtype)


def test_attention_takes_one_sequence_alone() -> None:
    q, k, v = arrays((3, 2, 4), (5, 2, 4), (5, 2, 4))
    weights = np.exp(np.einsum("tnh,snh->nts", q, k) / 2)
    wanted = np.einsum("nts,snh->tnh", weights / weights.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(px.nn.dot_product_attention(q, k, v), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "shapes, message",
    [
        (
            [(3, 2, 4), (5, 2, 4), (4, 2, 4)],
            r"key and value must have the same shape, got f32\[1,5,2,4\] and f32\[1,4,2,4\]",
        ),
        ([(3, 2, 4), (5, 2, 3), (5, 2, 3)], r"query and key must agree in the first and last axis"),
        ([(3, 2, 4), (5, 3, 4), (5, 3, 4)], r"heads of query must be a multiple of those of key, got 2 and 3"),
        ([(3, 4), (5, 4), (5, 4)], r"must be of rank 4, or all of 3"),
    ],
)
def test_attention_refuses_shapes_that_disagree(shapes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"dot_product_attention: .*{message}"):
        px.nn.dot_product_attention(*arrays(*shapes))
