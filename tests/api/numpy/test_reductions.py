"""Reductions, statistics and scans against jax.numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpycheck import DTYPES, compare, refuses, sample

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.any_release

REDUCTIONS = (
    "sum prod mean var std max min all any argmax argmin ptp count_nonzero nansum nanprod nanmean nanvar nanstd nanmax "
    "nanmin nanargmax nanargmin average"
).split()
SCANS = "cumsum cumprod nancumsum nancumprod".split()
LOOSE = {"bfloat16": 5e-2, "float16": 5e-3}


def over(names: list[str], *options: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Calls of functions of one array with each of several sets of keyword arguments."""
    return {
        f"{name}({given})": lambda m, x, name=name, given=given: getattr(m, name)(x, **given)
        for name in names
        for given in options
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_agree_with_jax(dtype: str) -> None:
    reductions = [name for name in REDUCTIONS if "arg" not in name or dtype != "complex64"]
    calls = over(reductions + SCANS, {}, {"axis": 0}) | over(reductions, {"axis": -1, "keepdims": True})
    compare(calls, sample(dtype), rtol=LOOSE.get(dtype))


def test_reductions_over_several_axes_agree_with_jax() -> None:
    several = [name for name in REDUCTIONS if "arg" not in name]
    compare(
        over(several, {"axis": (0, -1)}, {"axis": ()}, {"axis": (2, 1), "keepdims": True}),
        sample("float32", (2, 3, 4)),
    )


def test_reductions_of_nan_and_infinities_agree_with_jax() -> None:
    x = np.array([[np.nan, 1.0, -2.0], [np.nan, np.inf, 3.0], [np.nan, -0.0, 0.0]], np.float32)
    compare(over(REDUCTIONS + SCANS, {}, {"axis": 0}, {"axis": 1}), x)


def test_reductions_of_scalars_agree_with_jax() -> None:
    compare({f"{name}({x})": lambda m, name=name, x=x: getattr(m, name)(x) for name in REDUCTIONS for x in (3, 2.5)})


@pytest.mark.parametrize("dtype", ["int32", "float32", "bfloat16"])
def test_masks_initial_values_and_dtypes_agree_with_jax(dtype: str) -> None:
    x, mask = sample(dtype), sample("bool", seed=2)
    masked = {
        f"{name}{given}": lambda m, x, mask, name=name, given=given: getattr(m, name)(x, where=mask, **given)
        for name in (
            "sum",
            "prod",
            "mean",
            "var",
            "std",
            "all",
            "any",
            "nansum",
            "nanprod",
            "nanmean",
            "nanvar",
        )
        for given in ({}, {"axis": 1}, {"axis": 0, "keepdims": True})
    }
    masked |= {
        f"{name}{given}": lambda m, x, mask, name=name, given=given: getattr(m, name)(x, where=mask, initial=1, **given)
        for name in ("sum", "prod", "max", "min")
        for given in ({}, {"axis": 1})
    }
    masked |= {
        "row": lambda m, x, mask: m.sum(x, where=mask[0]),
        "max": lambda m, x, mask: m.max(x, where=mask),
    }
    masked |= {
        f"{name}{to}": lambda m, x, mask, name=name, to=to: getattr(m, name)(x, dtype=to)
        for name in ("sum", "prod", "mean", "var", "cumsum", "cumprod")
        for to in ("float32", "int8", "bool", "complex64")
        if not ((name, to) == ("cumprod", "bool") or (name == "var" and to != "float32"))
    }
    masked |= {
        "ddof": lambda m, x, mask: m.var(x, ddof=1),
        "correction": lambda m, x, mask: m.std(x, axis=0, correction=1),
        "too many": lambda m, x, mask: m.var(x, axis=0, ddof=2),
        "narrow": lambda m, x, mask: m.sum(x, promote_integers=False),
        "narrow product": lambda m, x, mask: x.prod(promote_integers=False),
    }
    compare(masked, x, mask, rtol=LOOSE.get(dtype))


def test_counts_of_booleans_that_are_not_widened_are_of_32_bits() -> None:
    with px.enable_x64(True):
        for function in (pnp.sum, pnp.prod):
            assert function(np.ones(3, bool), promote_integers=False).dtype == np.int32
            assert function(np.ones(3, bool)).dtype == np.int64


def test_averages_agree_with_jax() -> None:
    compare(
        {
            "weights": lambda m, x, w: m.average(x, weights=w),
            "axis": lambda m, x, w: m.average(x, 1, w, returned=True),
            "vector": lambda m, x, w: m.average(x, 0, w[:, 0], returned=True),
            "keepdims": lambda m, x, w: m.average(x, 0, w[:, 0], keepdims=True),
            "returned": lambda m, x, w: m.average(x, 0, returned=True),
            "wrong": lambda m, x, w: m.average(x, 0, w[0]),
        },
        sample("float32"),
        np.abs(sample("float32", seed=1)) + 1,
    )


def test_covariances_agree_with_jax() -> None:
    calls = {
        "cov": lambda m, x, w: m.cov(x),
        "y": lambda m, x, w: m.cov(x, x[::-1]),
        "columns": lambda m, x, w: m.cov(x, rowvar=False),
        "bias": lambda m, x, w: m.cov(x, bias=True),
        "ddof": lambda m, x, w: m.cov(x, ddof=0),
        "aweights": lambda m, x, w: m.cov(x, aweights=w),
        "fweights": lambda m, x, w: m.cov(x, fweights=m.array([1, 2, 3, 1])),
        "vector": lambda m, x, w: m.cov(x[0]),
        "corrcoef": lambda m, x, w: m.corrcoef(x),
    }
    compare(calls, sample("float32", (3, 4)), np.array([1.0, 2.0, 0.5, 1.0], np.float32), weak=False, rtol=2e-5)


def test_differences_and_integrals_agree_with_jax() -> None:
    calls = {
        "diff": lambda m, x: m.diff(x),
        "n": lambda m, x: m.diff(x, n=2, axis=0),
        "prepend": lambda m, x: m.diff(x, prepend=0, append=x[:, :1]),
        "bool": lambda m, x: m.diff(x > 0),
        "too often": lambda m, x: m.diff(x, n=9),
        "never": lambda m, x: m.diff(x.ravel()[0], n=0),
        "ediff1d": lambda m, x: m.ediff1d(x, to_end=1, to_begin=m.array([2, 3])),
        "gradient": lambda m, x: m.gradient(x),
        "spacing": lambda m, x: m.gradient(x, 0.5, axis=1),
        "positions": lambda m, x: m.gradient(x, m.array([0.0, 1.0, 3.0, 4.5]), axis=0),
        "trapezoid": lambda m, x: m.trapezoid(x),
        "dx": lambda m, x: m.trapezoid(x, dx=0.5, axis=0),
        "x": lambda m, x: m.trapezoid(x, m.array([0.0, 1.0, 3.0])),
        "cumulative_sum": lambda m, x: m.cumulative_sum(x, axis=1, include_initial=True),
        "cumulative_prod": lambda m, x: m.cumulative_prod(x[0]),
        "no axis": lambda m, x: m.cumulative_sum(x),
    }
    compare(calls, sample("float32", (4, 3)), weak=False, rtol=2e-6)


def test_empty_arrays_agree_with_jax() -> None:
    compare(over(REDUCTIONS + SCANS, {}, {"axis": 0}, {"axis": 1}), np.zeros((2, 0), np.float32))


def test_extrema_of_nothing_are_refused() -> None:
    refuses(ValueError, "max: a must not be empty along axis", pnp.max, pnp.zeros((2, 0)))
    refuses(ValueError, "argmin: a must not be empty", pnp.argmin, pnp.zeros(0))
    refuses(ValueError, "min: initial must be given if where is", pnp.min, pnp.ones(2), where=pnp.ones(2) > 0)


def test_sums_of_booleans_count() -> None:
    x = np.array([[True, False, True], [True, True, False]])
    calls: dict[str, Callable[..., Any]] = {
        "sum": lambda m, x: (m.sum(x), m.sum(x, 0), m.sum(x, dtype=bool), x.sum(1)),
        "cumulative_sum": lambda m, x: (m.cumulative_sum(x, axis=1), m.cumulative_sum(x[0], include_initial=True)),
        "einsum": lambda m, x: (m.einsum("ij->", x), m.einsum("ij,ij->i", x, x), m.einsum("ij,k->ijk", x, x[0])),
        "trace": lambda m, x: (m.trace(x), m.linalg.trace(x)),
    }
    compare(calls, x)


@pytest.mark.parametrize("name", SCANS)
def test_cumulative_functions_of_a_number_have_one_axis(name):
    function = getattr(pnp, name)
    for axis in (0, -1, None):
        assert function(2.5, axis=axis).tolist() == getattr(np, name)(2.5, axis=axis).tolist() == [2.5]
    with pytest.raises(ValueError, match=f"{name}: axis must be"):
        function(2.5, axis=1)


def test_products_of_booleans_say_whether_all_are_true() -> None:
    x = pnp.array([True, False, True])
    assert pnp.cumprod(x, dtype=bool).tolist() == [True, False, False]
    assert pnp.cumsum(~x, dtype=bool).tolist() == [False, True, True]
    assert pnp.cumprod(pnp.array([0.5, 256.0, 0.0]), dtype=bool).tolist() == [True, True, False]
    assert pnp.cumsum(pnp.array([0.0, 0.5, -0.5]), dtype=bool).tolist() == [False, True, True]


@pytest.mark.usefixtures("narrow")
def test_dtypes_of_variances_are_inexact() -> None:
    refuses(TypeError, "var: dtype must be floating or complex, got int8", pnp.var, pnp.ones(2), dtype="int8")
    refuses(ValueError, "std: dtype must be complex for complex a", pnp.std, pnp.ones(2) * 1j, dtype="float32")
    refuses(TypeError, "argmax: a must be real, got c64[2]", pnp.argmax, pnp.ones(2) * 1j)


def test_bad_axes_are_refused() -> None:
    refuses(ValueError, "sum: axis must be in [-1, 1), got 2", pnp.sum, pnp.ones(2), axis=2)
    refuses(ValueError, "axis must be distinct", pnp.mean, pnp.ones((2, 2)), axis=(0, -2))
    refuses(TypeError, "sum: its argument must be an array or a number, got list", pnp.sum, [1, 2])
    refuses(NotImplementedError, "out must be None", pnp.max, pnp.ones(2), out=pnp.ones(()))


def test_reductions_take_few_equations() -> None:
    def count(function: Callable[..., Any]) -> list[str]:
        return [eqn.primitive.name for eqn in px.make_jaxpr(function)(np.ones((2, 3), np.float32)).jaxpr.eqns]

    assert count(pnp.sum) == ["reduce_sum"]
    assert count(lambda x: pnp.max(x, axis=1, keepdims=True)) == ["reduce_max", "broadcast_in_dim"]
    assert count(pnp.mean) == ["reduce_sum", "div"]
    assert count(lambda x: pnp.var(x, axis=0)) == [
        "reduce_sum",
        "div",
        "broadcast_in_dim",
        "sub",
        "square",
        "reduce_sum",
        "div",
    ]
    assert count(lambda x: pnp.all(x > 0)) == ["gt", "reduce_and"]


WITH_WHERE = "sum prod mean var std max min any all nansum nanprod nanmean nanvar nanstd nanmax nanmin".split()


@pytest.mark.parametrize("name", WITH_WHERE)
def test_a_mask_of_a_reduction_must_be_boolean_and_of_no_higher_rank(name: str) -> None:
    x = np.ones((2, 3), np.float32)
    options = {"initial": 1} if "max" in name or "min" in name else {}
    for where in (np.array([1, 0, 1]), np.array([1.0, 0.0, 1.0]), 1, 0.0, np.uint8([1, 0, 1])):
        with pytest.raises(ValueError, match="where must be boolean"):
            getattr(pnp, name)(x, where=where, **options)
    with pytest.raises(ValueError, match="where must be of rank 2 or less"):
        getattr(pnp, name)(x, where=np.ones((4, 2, 3), bool), **options)
    for where in (np.array([True, False, True]), np.True_, np.array([[True], [False]])):
        compare({name: lambda m, x, w: getattr(m, name)(x, where=w, **options)}, x, where)


def test_masks_of_ufunc_reduce_and_softmax_must_be_boolean() -> None:
    x = pnp.ones(3)
    calls = (
        lambda: pnp.add.reduce(x, where=np.array([1, 0, 1])),
        lambda: pnp.logaddexp.reduce(x, where=np.array([1, 0, 1]), initial=0),
        lambda: px.nn.softmax(x, where=np.array([1, 0, 1])),
        lambda: px.nn.logsumexp(x, where=np.array([1, 0, 1])),
        lambda: px.nn.logmeanexp(x, where=np.array([1, 0, 1])),
        lambda: px.nn.standardize(x, where=np.array([1, 0, 1])),
    )
    for call in calls:
        with pytest.raises(ValueError, match="where must be boolean"):
            call()


def test_integrals_of_narrow_integers_do_not_overflow() -> None:
    calls = {"trapezoid": lambda m, y: m.trapezoid(y), "dx": lambda m, y: m.trapezoid(y, dx=0.5)}
    for y in (np.int8([100, 100]), np.uint8([100, 200]), np.array([[True, True], [True, False]])):
        compare(calls, y)


def test_differences_and_covariances_refuse_booleans_that_they_cannot_be() -> None:
    with pytest.raises(TypeError, match="ediff1d: ary must be of numbers"):
        pnp.ediff1d(np.array([True, False]))
    for function in (pnp.cov, pnp.corrcoef):
        with pytest.raises(ValueError, match="dtype must be floating or complex, got int32"):
            function(np.ones(3), dtype=np.int32)


def test_axes_may_be_numpy_integers_and_arrays_of_rank_0() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    for name in (*REDUCTIONS, *SCANS, "median"):
        for axis in (np.int64(1), np.array(1)):
            assert getattr(pnp, name)(x, axis=axis).tolist() == getattr(pnp, name)(x, axis=1).tolist()
    for axis in ([0], [0, 1]):
        assert pnp.mean(x, axis=axis).tolist() == pnp.mean(x, axis=tuple(axis)).tolist()
        assert pnp.var(x, axis=axis).tolist() == pnp.var(x, axis=tuple(axis)).tolist()


def test_an_axis_out_of_range_raises_the_same_error_everywhere() -> None:
    x = np.ones((2, 3), np.float32)
    for name in (
        *REDUCTIONS,
        *SCANS,
        "sort",
        "argsort",
        "median",
        "flip",
        "diff",
        "squeeze",
        "trapezoid",
    ):
        for axis in (-4, 4):
            with pytest.raises(ValueError, match=r"axis must be in \[-\d, \d\), got -?4 for an array of rank"):
                getattr(pnp, name)(x, axis=axis)


@pytest.mark.parametrize("name", ["sum", "argmax", "squeeze", "sort"])
def test_a_number_has_no_axes(name) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: an array of rank 0 has no axes, got axis 0$"):
        getattr(pnp, name)(np.float32(1), axis=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_in_half_precision_are_accumulated_in_single_precision(dtype):
    x = pnp.ones(70_000, dtype)
    small = pnp.full(70_000, 0.01, dtype)
    functions = {
        "norm": lambda x: pnp.linalg.norm(x),
        "vector_norm": lambda x: pnp.linalg.vector_norm(x, ord=3),
        "log_softmax": lambda x: px.nn.log_softmax(x)[0],
        "logsumexp": lambda x: px.nn.logsumexp(x),
        "average": lambda x: pnp.average(x, weights=x),
        "cov": lambda x: pnp.cov(pnp.where(pnp.arange(x.size) % 2 == 0, x, 0)),
        "standardize": lambda x: px.nn.standardize(pnp.where(pnp.arange(x.size) == 0, x, 0))[0],
        "sem": lambda x: px.scipy.stats.sem(pnp.where(pnp.arange(x.size) % 2 == 0, x, 0)),
        "cumsum": lambda x: pnp.cumsum(x * small)[-1],
        "segment_sum": lambda x: px.ops.segment_sum(x * small, pnp.zeros(x.size, int), 1)[0],
        "bincount": lambda x: pnp.bincount(pnp.zeros(x.size, int), x * small, length=1)[0],
        "avg_pool": lambda x: px.nn.avg_pool(x.reshape(1, -1, 1), (x.size,))[0, 0, 0],
    }

    def values(x):
        return {name: function(x) for name, function in functions.items()}

    narrow, wide = px.jit(values)(x), px.jit(values)(x.astype("float32"))
    for name, value in narrow.items():
        assert value.dtype == dtype, name
        np.testing.assert_allclose(
            float(value), float(wide[name]), rtol=2 * float(pnp.finfo(dtype).eps), atol=1e-6, err_msg=name
        )
    slope = px.grad(lambda x: px.nn.log_softmax(x)[0])(pnp.zeros(70_000, dtype))
    assert float(slope[0]) == 1
    assert 1e-5 < -float(slope[1]) < 2e-5
    slope = px.grad(lambda x: pnp.linalg.norm(x))(x)
    np.testing.assert_allclose(float(slope[0]), 70_000**-0.5, rtol=0.01)
