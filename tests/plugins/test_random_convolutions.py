"""Convolutions whose options are drawn at random have jax's values, derivatives and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import primax as px

pytestmark = pytest.mark.usefixtures("in_32_bits")


@st.composite
def calls(draw: Any, ranks: tuple[int, ...] = (0, 1, 1, 1, 2, 2, 2, 3)) -> dict[str, Any]:
    """Shapes and options of a convolution, and which axes of its operands are mapped over."""
    rank = draw(st.sampled_from(ranks))
    groups = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)]))

    def each(values: Any) -> tuple[Any, ...]:
        return tuple(draw(values) for _ in range(rank))

    batch, features, outs = (draw(st.integers(1, 2)) for _ in range(3))
    sizes, window = each(st.integers(0, 6)), each(st.integers(1, 4))
    strides = each(st.integers(1, 3))
    lhs_dilation, rhs_dilation = each(st.sampled_from([1, 1, 2, 3])), each(st.sampled_from([1, 1, 2, 3]))
    if lhs_dilation == (1,) * rank and draw(st.booleans()):
        padding: Any = draw(st.sampled_from(["SAME", "SAME_LOWER", "VALID"]))
    else:
        lengths = [(size - 1) * step + 1 if size else 0 for size, step in zip(sizes, lhs_dilation, strict=True)]
        lows = each(st.integers(-3, 4))
        padding = [
            (low, draw(st.integers(max(-3, -length - low), 4))) for low, length in zip(lows, lengths, strict=True)
        ]
    orders = [tuple(draw(st.permutations(range(rank + 2)))) for _ in range(3)]
    lhs = (batch * groups[1], features * groups[0], *sizes)
    rhs = (outs * groups[0] * groups[1], features, *window)
    mapped = st.none() | st.integers(0, rank + 2)
    return {
        "shapes": [
            tuple(shape[order.index(d)] for d in range(rank + 2))
            for shape, order in zip((lhs, rhs), orders, strict=False)
        ],
        "orders": orders,
        "mapped": (draw(mapped), draw(mapped)),
        "options": {
            "window_strides": strides,
            "padding": padding,
            "lhs_dilation": lhs_dilation,
            "rhs_dilation": rhs_dilation,
            "feature_group_count": groups[0],
            "batch_group_count": groups[1],
        },
    }


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


def cropped(library: Any, x: Any, call: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The image without what negative padding removes at its beginning, where XLA, and so jax, has wrong values."""
    options, axes = call["options"], call["orders"][0][2:]
    left = [x.shape[axis] + min(low, 0) for axis, (low, _) in zip(axes, options["padding"], strict=True)]
    if options["lhs_dilation"] != (1,) * len(axes) or min(left, default=1) <= 0:
        return x, options
    config = [(0, 0, 0)] * len(x.shape)
    for axis, (low, _) in zip(axes, options["padding"], strict=True):
        config[axis] = (min(low, 0), 0, 0)
    return library.lax.pad(x, np.float32(0), config), {
        **options,
        "padding": [(max(low, 0), high) for low, high in options["padding"]],
    }


def everything(library: Any, call: dict[str, Any]) -> list[Any]:
    """Value, tangent and cotangents of a convolution, mapped or not."""

    def convolved(x: Any, y: Any) -> Any:
        numbers = library.lax.ConvDimensionNumbers(*call["orders"])
        options = call["options"]
        if library is not px and not isinstance(options["padding"], str):
            x, options = cropped(library, x, call)
        return library.lax.conv_general_dilated(x, y, dimension_numbers=numbers, **options)

    mapped = call["mapped"]
    fun = convolved if mapped == (None, None) else library.vmap(convolved, mapped)
    lhs, rhs = (
        numbers(*(shape if axis is None else (*shape[:axis], 3, *shape[axis:])), seed=i)
        for i, (shape, axis) in enumerate(zip(call["shapes"], mapped, strict=True))
    )

    def run(x: Any, y: Any) -> Any:
        out, pull_back = library.vjp(fun, x, y)
        _, tangent = library.jvp(fun, (x, y), (x * 0.5, y + 1))
        return out, tangent, *pull_back(numbers(*out.shape, seed=2))

    return [np.asarray(one) for one in library.jit(run)(lhs, rhs)]


def check(call: dict[str, Any]) -> None:
    jax = pytest.importorskip("jax")
    for got, want in zip(everything(px, call), everything(jax, call), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


few = settings(max_examples=16, suppress_health_check=[HealthCheck.function_scoped_fixture])
many = settings(few, max_examples=100)


@few
@given(calls())
def test_convolutions_with_any_options_agree_with_jax(call: dict[str, Any]) -> None:
    check(call)


# In parts: a test that takes 15 minutes is ended with a dump of all threads, and a loaded machine takes that for all.
@pytest.mark.slow
@pytest.mark.parametrize("rank", range(4))
@many
@given(st.data())
def test_many_convolutions_with_any_options_agree_with_jax(rank: int, data: Any) -> None:
    check(data.draw(calls((rank,))))
