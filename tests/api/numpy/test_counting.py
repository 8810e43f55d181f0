"""Histograms, interpolation and divisors: NumPy's results, in the dtypes of jax, and with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpycheck import compare
from rulecheck import assert_close

import primax as px
import primax.numpy as pnp

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

F = np.array([1.0, 2, 3, 4, 4, 7], np.float32)
W = np.array([1, 2, 0.5, 3, 1, 2], np.float32)


def agree(got: Any, want: Any, rtol: float = 1e-5) -> None:
    """Two trees of arrays have the same numbers."""
    got, want = (list(x) if isinstance(x, tuple | list) else [x] for x in (got, want))
    for one, other in zip(got, want, strict=True):
        if isinstance(one, list):
            agree(one, other)
        else:
            np.testing.assert_allclose(np.asarray(one), other, rtol=rtol)


def test_numbers_are_counted_as_by_numpy() -> None:
    x = np.array([1, 1, 3, 0])
    agree(pnp.bincount(x), np.bincount(x))
    agree(pnp.bincount(x, minlength=6), np.bincount(x, minlength=6))
    agree(pnp.bincount(x, W[:4]), np.bincount(x, W[:4]))
    agree(pnp.bincount(x[:0]), x[:0])
    agree(pnp.bincount(np.array([True, False])), np.array([1, 1]))


def test_a_length_makes_counting_traceable() -> None:
    x = np.array([1, -1, 9, 3])
    assert np.asarray(px.jit(lambda x: pnp.bincount(x, length=4))(x)).tolist() == [1, 1, 0, 1]
    with pytest.raises(px.errors.ConcretizationTypeError, match=r"(?s)bincount: .* the values of x,.*a static length"):
        px.jit(pnp.bincount)(x)


def test_weights_of_counts_have_derivatives() -> None:
    grad = px.grad(lambda w: (pnp.bincount(np.array([1, 0, 1]), w, length=2) * np.float32([3, 5])).sum())(W[:3])
    assert np.asarray(grad).tolist() == [5, 3, 5]


HISTOGRAMS = [
    {},
    {"bins": 3},
    {"bins": 4, "range": (2, 4)},
    {"bins": 2, "range": (3, 3)},
    {"bins": np.array([0.0, 2, 4, 9]), "weights": W},
    {"bins": 3, "weights": W, "density": True},
    {"bins": [0, 2, 5], "density": True},
]


def test_histograms_are_those_of_numpy() -> None:
    outs = px.jit(lambda a: [pnp.histogram(a, **options) for options in HISTOGRAMS])(F)
    for out, options in zip(outs, HISTOGRAMS, strict=True):
        agree(out, np.histogram(F, **options))
    agree(pnp.histogram_bin_edges(np.arange(5), 4), np.histogram_bin_edges(np.arange(5), 4))
    agree(pnp.histogram(np.zeros(0), 2), np.histogram(np.zeros(0), 2))


def test_histograms_of_points_are_those_of_numpy() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (30, 3)).astype(np.float32)
    ways: list[dict[str, Any]] = [
        {"bins": 3},
        {"bins": (2, 3, np.array([-1.0, 0, 0.5, 1])), "density": True},
        {"bins": 2, "range": [(-0.5, 0.5), None, (0, 1)], "weights": points[:, 0]},
    ]
    outs = px.jit(lambda x: [pnp.histogramdd(x, **way) for way in ways])(points)
    for out, way in zip(outs, ways, strict=True):
        want, edges = np.histogramdd(points.astype(np.float64), **way)
        agree(out[0], want, 1e-4)
        agree(out[1], list(edges))
    agree(pnp.histogram2d(F, W, bins=(2, 3)), np.histogram2d(F, W, bins=(2, 3)))
    agree(pnp.histogram2d(F, W, bins=[0, 2, 8]), np.histogram2d(F, W, bins=[0, 2, 8]))


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: pnp.bincount(F), TypeError, r"bincount: x must be integers, got f32\[6\]"),
        (lambda: pnp.bincount(np.ones((2, 2), int)), ValueError, "bincount: x must be of rank 1"),
        (lambda: pnp.bincount(np.arange(2), F), ValueError, r"weights must have the shape of x, \(2,\), got \(6,\)"),
        (lambda: pnp.histogram(F, "auto"), TypeError, "histogram: bins must be a number or edges, got 'auto'"),
        (lambda: pnp.histogram(F, weights=W[:2]), ValueError, r"weights must have the shape of a, \(6,\), got \(2,\)"),
        (lambda: pnp.histogram2d(F, W[:2]), ValueError, r"x and y must be .* the same length, got \(6,\) and \(2,\)"),
        (lambda: pnp.histogramdd((F, W), (1, 2, 3)), ValueError, "one entry per axis, 2, got 3 and 2"),
        (lambda: pnp.interp(1.0, F, W[:2]), ValueError, r"xp and fp must be .* got \(6,\) and \(2,\)"),
        (lambda: pnp.interp(1.0, F, W, period=0), ValueError, "period must be a number other than 0, got 0"),
        (lambda: pnp.interp(1.0, F, W, left="zero"), ValueError, "left and right must be .* got 'zero'"),
        (lambda: pnp.gcd(1.0, 2), ValueError, "gcd: arguments must be integers, got dtype float32"),
    ],
)
def test_bad_arguments_are_named(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_values_between_points_are_those_of_numpy() -> None:
    x, xp, fp = np.float32([0, 1.5, 2, 5, 3]), np.float32([1, 2, 3]), np.float32([10, 20, 40])
    ways: list[dict[str, Any]] = [{}, {"left": -1.0}, {"right": 2.5, "left": 0}]

    def run(x: Any, xp: Any, fp: Any) -> Any:
        outs = [pnp.interp(x, xp, fp, **way) for way in ways]
        round_ = pnp.interp(x * 100, xp[::-1], fp, period=2.5)
        return outs, pnp.interp(x, xp, fp * (1 + 1j)), round_, pnp.interp(x, xp, fp, "extrapolate", "extrapolate")

    outs, complexes, round_, lines = px.jit(run)(x, xp, fp)
    for out, way in zip(outs, ways, strict=True):
        agree(out, np.interp(x, xp, fp, **way))
    agree(complexes, np.interp(x, xp, fp * (1 + 1j)))
    agree(round_, np.interp(x * 100, xp[::-1], fp, period=2.5))
    agree(lines, np.float32([0, 15, 20, 80, 40]))
    grads = px.grad(lambda x, fp: pnp.interp(x, xp, fp), (0, 1))(np.float32(1.25), fp)
    agree(grads, [10, np.float32([0.75, 0.25, 0])])


def test_points_of_a_period_that_are_nan_leave_others_where_they_are() -> None:
    for period in (2.0, np.inf):
        out = pnp.interp(
            np.float32([np.nan, 0.5, 1.5]), np.float32([np.nan, 1, 2]), np.float32([0, 1, 2]), period=period
        )
        agree(out, np.interp([np.nan, 0.5, 1.5], [np.nan, 1, 2], [0, 1, 2], period=period).astype(np.float32))


def test_one_point_has_a_value_for_every_number() -> None:
    x = np.float32([np.nan, 0, 1, np.inf])
    for way in ({}, {"left": -1.0, "right": 2.5}):
        agree(pnp.interp(x, np.float32([1]), np.float32([5]), **way), np.interp(x, [1], [5], **way).astype(np.float32))


def test_divisors_and_multiples_are_those_of_numpy() -> None:
    x, y = np.array([[12], [-18], [0]]), np.array([8, 0, -5, 27])
    for name in ("gcd", "lcm"):
        assert_close(getattr(pnp, name)(x, y), getattr(np, name)(x, y).astype(np.int32))
    small = np.arange(10, dtype=np.uint8)
    assert_close(pnp.gcd(small, np.uint8(6)), np.gcd(small, np.uint8(6)))


@pytest.mark.parametrize("name", ["gcd", "lcm"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_divisors_of_the_lowest_integer_are_positive(name: str, dtype: str) -> None:
    lowest = np.array([np.iinfo(dtype).min], dtype)
    other = np.array([1, -1, 6, -3, 12, lowest[0] + 1, np.iinfo(dtype).max], dtype)
    for x, y in ((lowest, other), (other, lowest)):
        assert_close(getattr(pnp, name)(x, y), getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int8", "bool"])
def test_counts_of_narrow_and_unsigned_integers_agree_with_jax(dtype: str) -> None:
    compare({"bincount": lambda m, x: m.bincount(x)}, np.array([1, 1, 0, 1]).astype(dtype))
    compare({"minlength": lambda m, x: m.bincount(x, minlength=5)}, np.array([1, 0]).astype(dtype))
    compare({"empty": lambda m, x: m.bincount(x)}, np.array([]).astype(dtype))


def test_histograms_of_integers_need_no_promotion() -> None:
    for dtype in ("bool", "int8", "uint8", "int32", "float16"):
        x = np.array([1, 0, 3]).astype(dtype)
        wanted = pnp.histogram(x, bins=3)
        with px.numpy_dtype_promotion("strict"):
            found = pnp.histogram(x, bins=3)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", ["histogram", "histogram_bin_edges"])
@pytest.mark.parametrize(
    "options, words",
    [
        ({"bins": 0}, "bins must be 1 or more, got 0"),
        ({"bins": [2, 1]}, r"bins must be edges that do not decrease, got \[2, 1\]"),
        ({"range": (4, 0)}, "range must be two finite numbers in order, got 4 and 0"),
        ({"range": (0, np.nan)}, "range must be two finite numbers in order, got 0.0 and nan"),
        ({"bins": 3}, "a must be finite where range is None"),
    ],
)
def test_bins_that_make_no_sense_are_refused(function, options, words):
    x = np.array([1.0, np.nan, 2.0])
    with pytest.raises(ValueError):
        getattr(np, function)(x, **options)
    with pytest.raises(ValueError, match=f"^{function}: {words}"):
        getattr(pnp, function)(x, **options)


def test_bins_of_each_axis_are_checked():
    x = np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="bins must be 1 or more, got 0"):
        pnp.histogramdd((x, x), bins=[2, 0])


def test_bins_that_are_traced_are_not_checked():
    counts = px.jit(lambda edges: pnp.histogram(np.float32([1, 3]), edges)[0])(np.float32([0, 2, 4]))
    assert counts.tolist() == [1.0, 1.0]
