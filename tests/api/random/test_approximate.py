"""Samplers without loops: the numbers of jax 0.12, and the moments of their distributions."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import jax_does

import primax as px

pytestmark = pytest.mark.usefixtures("in_32_bits")

A = np.float32([0.3, 1, 6.9, 7, 40, 1e5])
# Recorded from jax 0.12 with jax.random.key(7).
RECORDED = {
    "gamma": [0.02970246411859989, 0.1770438849925995, 3.800516128540039, 4.799355506896973, 58.6648254, 99741.6640625],
    "loggamma": [-3.5165252685546875, -1.7313576936721802, 1.335136890411377, 1.568481683731079, 4.0718402, 11.5103387],
    "chisquare": [
        0.0011327053653,
        0.03684258088469505,
        2.6358821392059326,
        4.123363494873047,
        68.16924285,
        99635.609375,
    ],
    "poisson": [0, 3, 5, 6, 44, 100106],
}


@pytest.mark.parametrize("name", RECORDED)
def test_numbers_are_those_of_jax(name):
    got = getattr(px.random, name)(px.random.key(7), A, method="approximate")
    np.testing.assert_allclose(got, RECORDED[name], rtol=2e-5)
    compiled = px.jit(lambda key: getattr(px.random, name)(key, A, method="approximate"))(px.random.key(7))
    np.testing.assert_allclose(compiled, got, rtol=1e-5)


def test_beta_numbers_are_those_of_jax():
    got = px.random.beta(px.random.key(7), A, A[::-1], method="approximate")
    want = [1.998047994417e-12, 0.05631642043590546, 0.32070451974868774, 0.36855247616767883, 0.95383471, 0.99999988]
    np.testing.assert_allclose(got, want, rtol=5e-5)


@pytest.mark.skipif(not jax_does("gamma variables and counts may be approximate"), reason="needs jax 0.12")
@pytest.mark.parametrize("wide", [False, True])
def test_many_numbers_are_those_of_the_jax_that_is_installed(jax, wide):
    with px.enable_x64(wide), jax.enable_x64(wide):
        a = np.array([0.01, 0.3, 1, 5, 6.99, 7, 12, 40, 1e3, 1e6, 0], np.float64 if wide else np.float32)
        for name in RECORDED:
            draw, oracle = getattr(px.random, name), getattr(jax.random, name)
            got = draw(px.random.key(7), a, (50, 11), method="approximate")
            np.testing.assert_array_equal(got, oracle(jax.random.key(7), a, (50, 11), method="approximate"))


@pytest.mark.parametrize("wide", [False, True])
def test_moments_are_those_of_the_distributions(wide):
    with px.enable_x64(wide):
        key, shape = px.random.key(0), (40000,)
        for a in (0.4, 3.0, 30.0):
            x = px.random.gamma(key, a, shape, method="approximate")
            np.testing.assert_allclose([x.mean(), x.var()], [a, a], rtol=0.05)
            n = px.random.poisson(key, a, shape, method="approximate")
            np.testing.assert_allclose([n.mean(), n.var()], [a, a], rtol=0.05)
        x = px.random.beta(key, 2.0, 3.0, shape, method="approximate")
        np.testing.assert_allclose([x.mean(), x.var()], [0.4, 0.04], rtol=0.05)
        x = px.random.chisquare(key, 5.0, shape, method="approximate")
        np.testing.assert_allclose([x.mean(), x.var()], [5, 10], rtol=0.05)
        assert x.dtype == (np.float64 if wide else np.float32)


def test_numbers_of_narrow_dtypes_are_drawn_in_32_bits():
    key = px.random.key(1)
    narrow = px.random.gamma(key, np.float16(2), (20,), "float16", method="approximate")
    np.testing.assert_array_equal(narrow, px.random.gamma(key, 2.0, (20,), method="approximate").astype("float16"))
    assert px.random.poisson(key, 3, (5,), "int8", method="approximate").dtype == np.int8


def test_draws_are_differentiated_with_respect_to_their_parameter():
    def mean(a):
        return px.random.gamma(px.random.key(0), a, (20000,), method="approximate").mean()

    np.testing.assert_allclose(px.grad(mean)(3.0), 1, rtol=0.05)


@pytest.mark.parametrize("name", [*RECORDED, "beta"])
def test_other_methods_are_refused(name):
    args = (1.0, 2.0) if name == "beta" else (1.0,)
    with pytest.raises(ValueError, match=f'{name}: method must be "exact" or "approximate", got \'fast\''):
        getattr(px.random, name)(px.random.key(0), *args, method="fast")
