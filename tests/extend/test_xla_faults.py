"""The guards against wrong numbers of XLA: right results, and no cost for programs that need no guard."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax import lax
from primax import numpy as pnp
from primax.core import _jaxlib
from primax.extend.stablehlo.xla_faults import may_know_nan

# The flags of the tests compile without the optimizations that show the faults.
USUAL = _jaxlib.known_options(
    {
        "xla_backend_optimization_level": 3,
        "xla_cpu_use_fusion_emitters": True,
        "xla_llvm_disable_expensive_passes": False,
    }
)


def compiled(f, *args):
    return px.jit(f).lower(*args).compile(USUAL)


def test_sums_of_narrow_products_are_right():
    x = np.arange(120_000, dtype=np.float32).reshape(40_000, 3) % 1000
    m = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    f = compiled(lambda m, x: (m @ x.T).sum(0), m, x)
    np.testing.assert_allclose(f(m, x), (m @ x.T).sum(0))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_exponentials_of_a_known_nan_are_nan(dtype):
    nan = np.array(np.nan, dtype)
    names = ["exp", "exp2", "expm1", "logistic", "sinh", "cosh"]

    def f(x):
        made = {"product": x * nan, "either": pnp.where(x == 1, nan, x.dtype.type(1))}
        of_call = px.jit(lambda y: lax.exp(y))(x * nan)
        return [getattr(lax, name)(y) for name in names for y in made.values()] + [of_call]

    x = np.ones(5, dtype)
    assert all(np.isnan(np.asarray(out).astype(np.complex64)).all() for out in compiled(f, x)(x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@px.enable_x64(True)
def test_extrema_keep_nan(dtype):
    x = np.zeros((5, 2000), np.float32)
    x[1, 7] = x[2, -1] = np.nan
    x[3, :2] = np.inf, -np.inf
    x[4] = -np.inf
    x = x.astype(dtype)

    def f(x):
        pooled = lax.reduce_window(x, -np.inf, lax.max, (1, 2000), (1, 7), "VALID")[:, 0]
        return pnp.max(x, 1), pnp.min(x, 1), pnp.max(x), pnp.min(x[3:]), pnp.max(x.T * 2, 0), pooled

    for out, right in zip(compiled(f, x)(x), [np.asarray(y) for y in f_of_numpy(x.astype(np.float32))], strict=True):
        np.testing.assert_array_equal(np.asarray(out).astype(np.float32), right)


def f_of_numpy(x):
    return np.max(x, 1), np.min(x, 1), np.max(x), np.min(x[3:]), np.max(x.T * 2, 0), np.max(x, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@px.enable_x64(True)
def test_sums_of_maxima_keep_nan(dtype):
    x = np.ones((8, 1024), dtype)
    x[1] = np.nan

    def f(x):
        sums = pnp.maximum(x, 0).sum(1), pnp.minimum(0, x).sum(1), px.nn.relu(x).mean(1), (pnp.clip(x, 0, 3) * 2).sum(1)
        return *sums, pnp.maximum(x, x[::-1]).sum(1)

    *outs, both = compiled(f, x)(x)
    assert all((np.isnan(out) == np.isnan(x[:, 0])).all() for out in outs)
    assert np.isnan(both).tolist() == [False, True, False, False, False, False, True, False]


def test_softmax_needs_no_guard_for_its_maximum():
    x = np.ones((8, 1024), np.float32)
    for f in (px.nn.softmax, px.nn.log_softmax, px.nn.logsumexp):
        assert "stablehlo.if" not in px.jit(f).lower(x).as_text()
        assert np.isnan(compiled(f, x)(x * np.nan)).all()
    assert "stablehlo.if" in px.jit(pnp.max).lower(x).as_text()


def has_guard(f, *args):
    return "select" in px.jit(f).lower(*args).as_text()


def test_extreme_literals_are_read_without_warnings():
    for least in (np.int32(-(2**31)), np.int8(-128)):
        assert not may_know_nan(px.make_jaxpr(lambda x, least=least: lax.exp(1.0 * (x + least)))(least).jaxpr)
    large = np.complex64(3e38 + 3e38j)
    assert may_know_nan(px.make_jaxpr(lambda x: x + large * lax.full((), large))(large).jaxpr)


def test_only_programs_that_may_know_nan_have_a_guard():
    x = np.ones(5, np.float32)
    assert has_guard(lambda x: lax.exp(x + np.float32(np.nan)), x)
    assert has_guard(lambda x: lax.exp((x + np.float32(np.inf)) - np.float32(np.inf)), x)
    assert has_guard(lambda x: lax.exp(x * lax.log(lax.full((5,), np.float32(-1)))), x)
    assert not has_guard(lambda x: lax.exp(x - 1), x)
    assert not has_guard(lambda x: lax.exp(lax.max(x, np.float32(-np.inf))), x)
    with px.enable_x64(True):
        assert not has_guard(lambda x: lax.exp(x * np.nan), np.ones(5))


@pytest.mark.parametrize(
    "f, known",
    [
        (lambda x: px.nn.softmax(pnp.where(x > 0, x, -np.inf)), False),
        (lambda x: px.nn.logsumexp(x), False),
        (lambda x: pnp.exp(pnp.arange(5) / 5 * x), False),
        (lambda x: pnp.exp(pnp.where(x > 0, np.inf, 1.0) - pnp.where(x > 0, np.inf, 2.0)), True),
        (lambda x: lax.scan(lambda c, y: (c * np.nan, y), x[0], x)[0], True),
        (lambda x: x * (pnp.float32(0) / pnp.float32(0)), True),
    ],
)
def test_what_a_compiler_may_know(f, known):
    assert may_know_nan(px.make_jaxpr(f)(np.ones(5, np.float32)).jaxpr) is known
