"""Sequences are convolved and correlated as NumPy does, in jax's dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpycheck import compare, refuses
from rulecheck import assert_close

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.usefixtures("in_32_bits")

MODES = ("full", "same", "valid")


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_convolve_and_correlate_are_numpys(dtype: Any) -> None:
    random = np.random.default_rng(0)
    sizes = [(1, 1), (4, 1), (4, 2), (5, 3), (2, 5), (3, 6)]
    pairs = [tuple(random.normal(size=(2, size)) for size in pair) for pair in sizes]
    pairs = [tuple((x[0] + 1j * x[1] if dtype is np.complex64 else x[0]).astype(dtype) for x in pair) for pair in pairs]

    def everything(library: Any, pairs: Any) -> Any:
        functions = (library.convolve, library.correlate)
        return [function(a, v, mode) for a, v in pairs for function in functions for mode in MODES]

    got = px.jit(lambda pairs: everything(pnp, pairs))(pairs)
    for one, want in zip(got, everything(np, pairs), strict=True):
        assert_close(one, want, 1e-5)


def test_dtypes_and_refusals_are_those_of_jax() -> None:
    x, y = np.arange(4), np.array([1, 2])
    compare(
        {
            "integers": lambda n, x, y: n.convolve(x, y),
            "booleans": lambda n, x, y: n.correlate(x > 1, y > 1, "full"),
            "halves": lambda n, x, y: n.convolve(x.astype("float16"), y),
            "two dtypes": lambda n, x, y: n.convolve(x.astype("int8"), y.astype("complex64")),
            "a wider dtype": lambda n, x, y: n.convolve(x.astype("bfloat16"), y, preferred_element_type="float32"),
            "a narrower dtype": lambda n, x, y: n.convolve(x, y, preferred_element_type="float16"),
            "weak types": lambda n, x, y: n.convolve(n.full((2,), 2.0), n.full((2,), 1.0)),
            "a mode in capitals": lambda n, x, y: n.convolve(x, y, "FULL"),
            "a number": lambda n, x, y: n.convolve(x, 1.0),
            "a list": lambda n, x, y: n.convolve([1, 2], y),
        },
        x,
        y,
    )


def test_what_does_not_fit_is_named() -> None:
    x = np.ones(3, np.float32)
    refuses(ValueError, "convolve: mode must be one of 'full', 'same', 'valid', got 'some'", pnp.convolve, x, x, "some")
    refuses(ValueError, "correlate: v must be of rank 1, got f32[3,1]", pnp.correlate, x, x[:, None])
    refuses(ValueError, "convolve: a must not be empty, got f32[0]", pnp.convolve, x[:0], x)
    refuses(ValueError, "convolve: precision must be", lambda: pnp.convolve(x, x, precision="hihg"))


def test_a_convolution_multiplies_polynomials_and_is_differentiated() -> None:
    one, other = np.float32([1, 2, 3]), np.float32([2, 1, -1, 2])
    assert_close(pnp.convolve(one, other), np.polymul(one, other))
    gradient = px.grad(lambda v: pnp.convolve(one, v, "valid")[0])(other)
    assert_close(gradient, np.float32([3, 2, 1, 0]))
