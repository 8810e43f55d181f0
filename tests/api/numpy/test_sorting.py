"""Sorting, searching and quantiles against jax.numpy and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpycheck import compare, refuses, sample

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.any_release

X = np.array([[3, 1, 2, 1], [0, -1, 5, 5]], np.float32)
SPECIAL = np.array([2.0, np.nan, -np.inf, np.inf, -0.0, 0.0, 1.0], np.float32)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "bfloat16", "float32", "complex64"])
def test_sorting_agrees_with_jax(dtype: str) -> None:
    calls = {
        "sort": lambda m, x: (m.sort(x), m.sort(x, axis=0), m.sort(x, axis=None), m.sort(x, descending=True), x.sort()),
        "argsort": lambda m, x: (m.argsort(x), m.argsort(x, axis=0), m.argsort(x, axis=None), x.argsort(axis=0)),
        "descending": lambda m, x: (m.argsort(x, descending=True), m.argsort(x, axis=0, descending=True)),
        "lexsort": lambda m, x: (m.lexsort((x[0], x[1])), m.lexsort((x, x[::-1]), axis=0)),
        "sort_complex": lambda m, x: m.sort_complex(x),
        "scalar": lambda m, x: m.sort(x[0, 0]),
        "dtype": lambda m, x: m.argsort(x, dtype="uint8"),
    }
    compare(calls, sample(dtype, (3, 4)))


def test_special_values_come_in_the_same_order_as_in_jax() -> None:
    compare(
        {
            "sort": lambda m, x: m.sort(x),
            "argsort": lambda m, x: m.argsort(x),
            "down": lambda m, x: m.sort(x, descending=True),
        },
        SPECIAL,
    )


@pytest.mark.parametrize("kth", [1, 3, -1, -2])
def test_the_derivative_of_a_partition_goes_where_its_elements_came_from(kth: int) -> None:
    x, weights = np.array([3.0, 1.0, 5.0, 2.0, 4.0], np.float32), np.arange(1.0, 6.0, dtype=np.float32)
    got = px.grad(lambda v: (pnp.partition(v, kth) * weights).sum())(x)
    values = np.asarray(pnp.partition(x, kth))
    np.testing.assert_array_equal(got, [weights[list(values).index(value)] for value in x])


def test_partitions_have_what_is_smaller_in_front() -> None:
    x = sample("float32", (3, 7))
    for kth in (0, 3, -2):
        for found in (
            np.asarray(pnp.partition(x, kth)),
            np.take_along_axis(x, np.asarray(pnp.argpartition(x, kth)), -1),
        ):
            assert np.array_equal(found[:, kth], np.sort(x)[:, kth])
            assert (found[:, : kth % 7] <= found[:, [kth]]).all()
    refuses(ValueError, "partition: kth must be in [-7, 7), got 7", pnp.partition, x, 7)
    refuses(TypeError, "partition: kth must be an integer, got 1.5", pnp.partition, x, 1.5)


@pytest.mark.parametrize("kth", [-7, -3, -1, 0, 2, 6])
def test_partitions_have_the_order_of_jax_and_its_derivatives(kth: int) -> None:
    jax = pytest.importorskip("jax")
    x, t = sample("float32", (2, 7)), np.cos(np.arange(14, dtype=np.float32)).reshape(2, 7)
    x[0, 3] = np.nan
    np.testing.assert_array_equal(pnp.argpartition(x, kth), jax.numpy.argpartition(x, kth))
    for transform in (_tangent, _cotangent):
        got, want = (transform(m, lambda x, m=m: m.numpy.partition(x, kth), x, t) for m in (px, jax))
        np.testing.assert_array_equal(got, want)


def _tangent(library, fun, x, t):
    return library.jvp(fun, (x,), (t,))[1]


def _cotangent(library, fun, x, t):
    return library.vjp(fun, x)[1](t)[0]


@pytest.mark.parametrize("method", ["default", "scan_unrolled", "sort", "compare_all"])
def test_searching_agrees_with_jax(method: str) -> None:
    options = {} if method == "default" else {"method": method}

    def search(m: Any, a: Any, v: Any, **further: Any) -> Any:
        # With 64 bits positions are int64 here, as the array API standard has them, and int32 in jax.
        return m.searchsorted(a, v, **further, **options).astype("int32")

    calls = {
        "left": search,
        "right": lambda m, a, v: search(m, a, v, side="right"),
        "scalar": lambda m, a, v: (search(m, a, 2), search(m, a[:0], v)),
        "dtypes": lambda m, a, v: search(m, a.astype(int)[1:5], v[:2]),
    }
    compare(
        calls,
        np.array([-np.inf, 0, 1, 2, 2, 3, np.inf, np.nan], np.float32),
        np.array([[2, 0.5, -1], [np.nan, 3, np.inf]], np.float32),
    )


def test_bins_and_membership_agree_with_jax() -> None:
    calls = {
        "up": lambda m, x: (
            m.digitize(x, m.array([0.0, 1.0, 3.0])),
            m.digitize(x, m.array([0.0, 1.0, 3.0]), right=True),
        ),
        "down": lambda m, x: (
            m.digitize(x, m.array([3.0, 1.0, 0.0])),
            m.digitize(x, m.array([3.0, 1.0, 0.0]), right=True),
        ),
        "one": lambda m, x: m.digitize(x, m.array([1.0])),
        "isin": lambda m, x: (m.isin(x, m.array([1, 5])), m.isin(x, 3, invert=True), m.isin(2, x)),
    }
    compare(calls, X)


QUANTILES = "quantile percentile nanquantile nanpercentile".split()


@pytest.mark.parametrize("dtype", ["int32", "bfloat16", "float32"])
def test_quantiles_agree_with_jax(dtype: str) -> None:
    calls: dict[str, Any] = {
        f"{name} {method} {given}": lambda m, x, name=name, method=method, given=given, q=q: getattr(m, name)(
            x, q, method=method, **given
        )
        for name, q in (
            ("quantile", 0.3),
            ("nanquantile", np.array([0.0, 0.5, 1.0])),
            ("percentile", np.array([25, 90])),
            ("nanpercentile", 62.5),
        )
        for method in ("linear", "lower", "higher", "midpoint", "nearest")
        for given in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True})
    }
    calls |= {
        "median": lambda m, x: (m.median(x), m.median(x, axis=0), m.median(x, axis=(1, 2), keepdims=True)),
        "nanmedian": lambda m, x: (m.nanmedian(x), m.nanmedian(x, axis=-1)),
    }
    compare(calls, sample(dtype, (2, 3, 4)), weak=False, rtol={"bfloat16": 2e-2}.get(dtype))


def test_quantiles_of_special_values_agree_with_jax() -> None:
    x = np.array(
        [[np.nan, 1.0, -2.0, 4.0], [np.nan, np.nan, np.nan, np.nan], [0.0, 2.0, 3.0, np.nan], [1, 2, 3, 5]], np.float32
    )
    compare(
        {
            f"{name} {q}": lambda m, x, name=name, q=q: getattr(m, name)(x, q, axis=1)
            for name in ("quantile", "nanquantile")
            for q in (0.0, 0.4, 1.0)
        },
        x,
    )


def test_quantiles_may_be_traced() -> None:
    x = sample("float32", (3, 4))
    for name in ("quantile", "nanquantile"):
        traced = px.jit(lambda x, q, name=name: getattr(pnp, name)(x, q, axis=1))(x, np.array([0.1, 0.5], np.float32))
        assert np.allclose(traced, np.quantile(x, [0.1, 0.5], axis=1), rtol=1e-5)
    refuses(ValueError, "quantile: method must be one of", pnp.quantile, x, 0.5, method="fancy")
    refuses(ValueError, "median: a must be real", pnp.median, x * 1j)


def test_derivatives_follow_the_elements() -> None:
    jax = pytest.importorskip("jax")
    x = sample("float32", (7,))
    weights = np.arange(7, dtype=np.float32)
    for name, call in {
        "sort": lambda m, x: (m.sort(x) * weights).sum(),
        "median": lambda m, x: m.median(x[:6]),
        "quantile": lambda m, x: m.quantile(x, 0.3),
        "nanquantile": lambda m, x: m.nanquantile(x, 0.3),
    }.items():
        ours, theirs = (
            px.grad(lambda x, call=call: call(pnp, x))(x),
            jax.grad(lambda x, call=call: call(jax.numpy, x))(x),
        )
        assert np.allclose(ours, theirs, rtol=1e-5), name


def test_all_ways_to_search_find_the_same_places_in_large_arrays() -> None:
    random = np.random.default_rng(0)
    a = np.sort(random.integers(0, 99, 300)).astype(np.float32)
    a[-3:] = np.nan
    v = random.integers(-1, 101, 300).astype(np.float32)
    v[::50] = np.nan
    ways = ("scan", "scan_unrolled", "sort", "compare_all")
    sides = ("left", "right")
    found = px.jit(lambda a, v: [[pnp.searchsorted(a, v, side, method=way) for way in ways] for side in sides])(a, v)
    for side, places in zip(sides, found, strict=True):
        for place in places:
            assert np.array_equal(np.asarray(place), np.searchsorted(a, v, side))
    ways = ("auto", "compare_all", "binary_search", "sort")
    for among in px.jit(lambda v, a: [pnp.isin(v, a, method=way) for way in ways])(v, a):
        assert np.array_equal(np.asarray(among), np.isin(v, a))
    refuses(TypeError, "searchsorted: a must be of rank 1", pnp.searchsorted, a[None], v, sorter=np.argsort(a))
    refuses(ValueError, "searchsorted: method must be one of scan", pnp.searchsorted, a, v, method="walk")
    refuses(ValueError, "isin: method must be auto, compare_all", pnp.isin, a, v, method="walk")


def test_weighted_quantiles_are_those_of_numpy() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(3, 4)).astype(np.float32)
    x[1, 2] = np.nan
    weights = random.integers(0, 3, (3, 4)).astype(np.float32) + np.eye(3, 4, dtype=np.float32)
    parts = np.array([0.0, 0.3, 0.5, 1.0])
    ways = [
        ("quantile", {"axis": 1}),
        ("quantile", {"axis": 1, "weights": weights[0]}),
        ("nanquantile", {"axis": 1, "weights": weights, "keepdims": True}),
        ("nanquantile", {"axis": 0}),
        ("quantile", {"axis": (0, 1), "weights": weights}),
    ]
    options = {"method": "inverted_cdf"}
    outs = px.jit(lambda x: [getattr(pnp, name)(x, parts, **way, **options) for name, way in ways])(x)
    for out, (name, way) in zip(outs, ways, strict=True):
        want = getattr(np, name)(x, parts, **way, **options)
        np.testing.assert_allclose(np.asarray(out), want, rtol=1e-6, err_msg=str((name, way)))
    refuses(
        ValueError, "quantile: method must be 'inverted_cdf' where there are weights", pnp.quantile, x, 0.5, weights=x
    )
    refuses(
        ValueError,
        "quantile: weights must have the shape of a, (3, 4), or the length of one axis, got (4,)",
        lambda: pnp.quantile(x, 0.5, axis=0, weights=weights[0], method="inverted_cdf"),
    )
