"""px.scipy.special against scipy.special, and derivatives against jax."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from parts import computed

import primax as px
from primax.scipy import special

scipy_special = pytest.importorskip("scipy.special")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

POSITIVE = np.array([0.1, 0.7, 1.0, 2.5, 6.0, 20.0])
REAL = np.array([-12.0, -3.3, -0.4, 0.0, 0.6, 1.0, 4.2, 9.0])
UNIT = np.array([1e-9, 1e-3, 0.07, 0.3, 0.5, 0.93, 0.999])

CASES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("erf", "erfc", "expit", "ndtr", "log_ndtr", "i0", "i0e", "i1", "i1e", "entr"), (REAL,)),
    **dict.fromkeys(("gamma", "gammaln", "gammasgn", "digamma", "factorial"), (np.array([-2.7, -0.3, 0.2, 1.0, 4.5]),)),
    **dict.fromkeys(("logit", "ndtri"), (UNIT,)),
    **dict.fromkeys(("beta", "betaln", "gammainc", "gammaincc", "poch"), (POSITIVE, POSITIVE[::-1])),
    **dict.fromkeys(("rel_entr", "kl_div", "xlogy"), (np.array([0.0, 0.0, 0.3, 2.0]), np.array([0.0, 1.0, 0.5, 3.0]))),
    "erfinv": (np.array([-0.99, -0.5, 0.1, 0.9]),),
    "xlog1py": (np.array([0.0, 0.3, 2.0]), np.array([-1.0, 0.5, 1e-9])),
    "betainc": (POSITIVE, POSITIVE[::-1], np.linspace(0.05, 0.95, 6)),
    "boxcox": (POSITIVE, np.array([0.0, 0.5, 1.0, -1.0, 2.0, 0.1])),
    "boxcox1p": (POSITIVE, np.array([0.0, 0.5, 1.0, -1.0, 2.0, 0.1])),
    "comb": (np.array([5.0, 5.0, 5.0, 2.0, 4.5]), np.array([2.0, 0.0, 6.0, 1.0, 2.0])),
    "polygamma": (np.array([0.0, 1.0, 2.0]), np.array([0.7, 2.0, 3.5])),
    "zeta": (np.array([1.5, 3.0, 6.0]), np.array([1.0, 0.7, 4.0])),
    "softmax": (REAL,),
    "log_softmax": (REAL,),
    "logsumexp": (REAL,),
}


def test_values_are_those_of_scipy():
    with px.enable_x64(True):
        found = computed({name: partial(getattr(special, name), *args) for name, args in CASES.items()})
    narrow = computed(
        {name: partial(getattr(special, name), *[x.astype(np.float32) for x in args]) for name, args in CASES.items()}
    )
    for name, args in CASES.items():
        want = getattr(scipy_special, name)(*args)
        np.testing.assert_allclose(found[name], want, rtol=1e-7, atol=1e-12, err_msg=name)
        assert (found[name].dtype, narrow[name].dtype) == (np.float64, np.float32), name
        np.testing.assert_allclose(narrow[name], want, rtol=2e-3, atol=2e-5, err_msg=name)


def test_values_of_integers_and_of_numbers_are_floating():
    assert special.gammaln(5).dtype == np.float32
    np.testing.assert_allclose(special.multigammaln(np.float32(4.5), 3), scipy_special.multigammaln(4.5, 3), rtol=1e-5)
    np.testing.assert_allclose(special.bernoulli(6), scipy_special.bernoulli(6), rtol=1e-6)
    assert special.bernoulli(263)[258:].tolist() == [np.inf, 0, -np.inf, 0, np.inf, 0]
    np.testing.assert_allclose(special.zeta(2.0), np.pi**2 / 6, rtol=1e-5)
    np.testing.assert_allclose(special.comb(np.int32([4]), 2, repetition=True), [10.0])
    of_nothing = special.comb(np.int32([0, 0, 1]), np.int32([0, 1, 0]), repetition=True)
    np.testing.assert_array_equal(of_nothing, [1.0, 0.0, 1.0])


def test_the_normal_distribution_is_precise_in_its_tails():
    with px.enable_x64(True):
        low = np.array([-38.0, -25.0, -19.0, -8.0])
        np.testing.assert_allclose(special.log_ndtr(low), scipy_special.log_ndtr(low), rtol=1e-6)
        small = np.array([1e-300, 1e-100, 1e-20, 1e-5])
        np.testing.assert_allclose(special.ndtri(small), scipy_special.ndtri(small), rtol=1e-6)
        assert special.ndtri(np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


DERIVATIVES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "xlogy": (lambda m, x, y: m.xlogy(x, y), (np.float32([0, 0.5, 2]), np.float32([2, 0.5, 3]))),
    "xlog1py": (lambda m, x, y: m.xlog1py(x, y), (np.float32([0, 0.5, 2]), np.float32([2, 0.5, 3]))),
    "entr": (lambda m, x: m.entr(x), (np.float32([0.2, 3]),)),
    "log_ndtr": (lambda m, x: m.log_ndtr(x), (np.float32([-30, -3, 0, 3, 9]),)),
    "ndtri": (lambda m, x: m.ndtri(x), (np.float32([0.01, 0.4, 0.9]),)),
    "gamma": (lambda m, x: m.gamma(x), (np.float32([0.5, 3.2]),)),
    "betaln": (lambda m, a, b: m.betaln(a, b), (np.float32([0.5, 3.2]), np.float32([2, 1.5]))),
    "rel_entr": (lambda m, p, q: m.rel_entr(p, q), (np.float32([0.5, 3.2]), np.float32([2, 1.5]))),
    "logit": (lambda m, p: m.logit(p), (np.float32([0.2, 0.9]),)),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_jax(name):
    jax = pytest.importorskip("jax")
    theirs = pytest.importorskip("jax.scipy.special")
    function, args = DERIVATIVES[name]

    def slopes(p: Any, m: Any) -> Any:
        every = tuple(range(len(args)))
        return p.jit(p.grad(lambda *xs: function(m, *xs).sum(), every))(*args)

    for got, want in zip(slopes(px, special), slopes(jax, theirs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5)


def test_complex_arguments_are_refused_where_there_is_no_value():
    with pytest.raises(TypeError, match=r"gammaln: arguments must be real, got c64\[2\]"):
        special.gammaln(np.ones(2, np.complex64))


def test_functions_have_the_arguments_of_jax():
    theirs = pytest.importorskip("jax.scipy.special")
    for name in [name for name in special.__all__ if hasattr(theirs, name)]:  # releases differ in what there is
        have, want = (inspect.signature(getattr(m, name)).parameters for m in (special, theirs))
        assert list(have) == list(want), name


def test_incomplete_functions_of_scalar_parameters_have_derivatives():
    x = np.array([0.25, 0.5], np.float32)
    total = px.grad(lambda x: (px.scipy.special.betainc(2.0, 1.0, x) + px.scipy.special.gammainc(1.0, x)).sum())
    np.testing.assert_allclose(total(x), 2 * x + np.exp(-x), rtol=1e-6)
