"""Cosine transforms are SciPy's, and linear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
from rulecheck import assert_close, check_transpose, equations

import primax as px

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
NORMS = (None, "ortho", "forward")


@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("n", [1, 2, 4, 5, 7])
def test_transforms_along_an_axis_are_those_of_scipy(name: str, n: int) -> None:
    choices = [{"type": kind, "n": n, "norm": norm} for kind in (2, 3) for norm in NORMS]
    outs = px.jit(lambda x: [getattr(px.scipy.fft, name)(x, **options) for options in choices])(X)
    for out, options in zip(outs, choices, strict=True):
        assert_close(out, getattr(scipy.fft, name)(X, **options), rtol=1e-5)


@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_transforms_along_axes_are_those_of_scipy(name: str) -> None:
    choices: list[dict[str, Any]] = [{}, {"axes": (2, 0), "norm": "ortho"}, {"s": (2, 6), "type": 3}]
    outs = px.jit(lambda x: [getattr(px.scipy.fft, name)(x, **options) for options in choices])(X)
    for out, options in zip(outs, choices, strict=True):
        assert_close(out, getattr(scipy.fft, name)(X, **options), rtol=1e-5)


def test_dtypes_are_those_of_jax() -> None:
    jax_fft = pytest.importorskip("jax.scipy.fft")
    for dtype in ("float16", "int8", "bool", "complex64"):
        x = (X > 0).astype(dtype)
        rtol = 1e-3 if dtype == "float16" else 1e-5  # jax rounds factors to the dtype of what it is given
        assert_close(px.scipy.fft.dct(x, axis=1), jax_fft.dct(x, axis=1), rtol=rtol)
        assert_close(px.scipy.fft.idctn(x, norm="ortho"), jax_fft.idctn(x, norm="ortho"), rtol=rtol)


def test_transforms_are_linear_and_one_call() -> None:
    check_transpose(lambda x: [px.scipy.fft.dctn(x, axes=(0, 2)), px.scipy.fft.idct(x, axis=1, norm="ortho")], X)
    assert equations(px.scipy.fft.dct, X) == ["jit"]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: px.scipy.fft.dct(X, 1), "dct: type must be 2 or 3, got 1"),
        (lambda: px.scipy.fft.idct(X, norm="x"), 'idct: norm must be "backward", "ortho" or "forward", got \'x\''),
        (lambda: px.scipy.fft.dct(X, n=0), "dct: the number of points must be positive, got 0 along axis 2"),
        (
            lambda: px.scipy.fft.dctn(X, s=(2, 2), axes=(0,)),
            r"s and axes must be of the same length, got \(2, 2\) and \(0,",
        ),
        (lambda: px.scipy.fft.dctn(X, axes=(0, 0)), "dctn: axes must be distinct"),
        (lambda: px.scipy.fft.dct(X, axis=3), r"dct: axis must be in \[-3, 3\), got 3"),
    ],
)
def test_what_cannot_be_transformed_is_named(call: Any, message: str) -> None:
    with pytest.raises((NotImplementedError, ValueError), match=message):
        call()


def test_one_length_and_one_axis_need_no_sequence():
    x = np.random.default_rng(5).normal(size=(2, 3)).astype(np.float32)
    np.testing.assert_array_equal(px.scipy.fft.dctn(x, axes=-1), px.scipy.fft.dctn(x, axes=(-1,)))
    np.testing.assert_array_equal(px.scipy.fft.idctn(x, s=5), px.scipy.fft.idctn(x, s=(5,)))


@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_a_number_is_its_own_transform_and_an_array(name):
    out = getattr(px.scipy.fft, name)(np.uint8(2))
    assert isinstance(out, px.Array)
    assert out.item() == 2.0


@pytest.mark.parametrize("name", ["dctn", "idctn"])
@pytest.mark.parametrize("dtype", ["float16", "int32", "bool", "complex64"])
def test_without_axes_nothing_is_transformed_and_the_dtype_stays(name: str, dtype: str) -> None:
    x = X[0].astype(dtype)
    out = getattr(px.scipy.fft, name)(x, axes=())
    assert out.dtype == x.dtype == getattr(scipy.fft, name)(x, axes=()).dtype
    np.testing.assert_array_equal(out, x)
