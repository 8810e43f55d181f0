"""Fourier transforms give what NumPy's give, and differentiate, transpose and map as linear functions do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpycheck import compare
from rulecheck import assert_close, check_batch, check_grad, check_transpose, equations

import primax as px
import primax.numpy as pnp
from primax.lax import FftType, fft

pytestmark = pytest.mark.usefixtures("in_32_bits")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4, 5, 2)).astype(np.float32)
Z = (X + 1j * RANDOM.normal(size=X.shape)).astype(np.complex64)

ONE_AXIS = [{}, {"n": 3}, {"n": 7, "axis": 0}, {"axis": 1, "norm": "ortho"}, {"n": 1, "axis": 2, "norm": "forward"}]
TWO_AXES = [{}, {"s": (2, 6)}, {"axes": (2, 0), "norm": "ortho"}, {"s": (3, 3), "axes": (-1, 1), "norm": "forward"}]
ANY_AXES = [
    {},
    {"norm": "ortho"},
    {"s": (2, 6), "axes": (2, 3)},
    {"axes": (2,)},
    {"axes": (1, 0, 3, 2), "norm": "forward"},
    {"s": (4, 4, 3), "axes": (3, 1, -2), "norm": "backward"},
]
OPTIONS = {
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), ONE_AXIS),
    **dict.fromkeys(("fft2", "ifft2", "rfft2", "irfft2"), TWO_AXES),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), ANY_AXES),
}


def argument(name: str) -> Any:
    return X if name.startswith("r") or name == "ihfft" else Z


@pytest.mark.parametrize("name", OPTIONS)
def test_transforms_are_those_of_numpy(name: str) -> None:
    x = argument(name)
    results = px.jit(lambda x: [getattr(pnp.fft, name)(x, **options) for options in OPTIONS[name]])(x)
    for out, options in zip(results, OPTIONS[name], strict=True):
        want = getattr(np.fft, name)(x, **options)
        assert_close(out, want.astype(np.complex64 if np.iscomplexobj(want) else np.float32), rtol=1e-5)


def test_dtypes_and_refusals_are_those_of_jax() -> None:
    compare(
        {
            "of reals": lambda m, x, z: m.fft.fft(x),
            "of complex as real": lambda m, x, z: m.fft.rfft(z),
            "inverse of reals": lambda m, x, z: m.fft.irfftn(x),
            "of integers": lambda m, x, z: m.fft.fft(m.arange(4)),
            "of booleans": lambda m, x, z: m.fft.rfft(m.arange(4) > 1),
            "of half precision": lambda m, x, z: m.fft.rfft(x.astype("float16")),
            "of half precision as complex": lambda m, x, z: m.fft.fft(x.astype("bfloat16")),
            "of weak type": lambda m, x, z: m.fft.fft(m.full((3,), 1.0)),
            "of no points": lambda m, x, z: m.fft.fft(x, n=0),
            "of fewer than no points": lambda m, x, z: m.fft.fft(x, n=-1),
            "an axis too far": lambda m, x, z: m.fft.fft(x, axis=4),
            "an unknown norm": lambda m, x, z: m.fft.fft(x, norm="backwards"),
            "an axis twice": lambda m, x, z: m.fft.fftn(x, axes=(0, -4)),
            "more lengths than axes": lambda m, x, z: m.fft.fftn(x, s=(2, 2), axes=(0,)),
            "three axes for two": lambda m, x, z: m.fft.fft2(x, axes=(0, 1, 2)),
            "lengths of the last axes": lambda m, x, z: m.fft.irfftn(z, s=(2, 6)),
            "no axis": lambda m, x, z: m.fft.fftn(x, axes=()),
            "a number": lambda m, x, z: m.fft.fft(1.0),
            "a number along no axis": lambda m, x, z: m.fft.fftn(1.0),
            "a list": lambda m, x, z: m.fft.fft([1.0, 2.0]),
            "frequencies": lambda m, x, z: [m.fft.fftfreq(n, 0.5) for n in range(6)],
            "frequencies of half": lambda m, x, z: [m.fft.rfftfreq(n, 0.5) for n in range(1, 6)],
            "frequencies of a dtype": lambda m, x, z: m.fft.fftfreq(4, dtype="float16"),
            "frequencies of integers": lambda m, x, z: [m.fft.fftfreq(5, 0.05, dtype=d) for d in ("int32", "uint32")],
            "shifted": lambda m, x, z: [m.fft.fftshift(x), m.fft.ifftshift(x), m.fft.ifftshift(x, axes=(0, 2))],
            "shifted along one": lambda m, x, z: m.fft.fftshift(x, axes=-2),
        },
        X,
        Z,
        rtol=1e-5,
    )


def test_transforms_in_double_precision_are_exact_to_it() -> None:
    with px.enable_x64(True):
        z = Z.astype(np.complex128)
        assert_close(pnp.fft.fftn(z), np.fft.fftn(z), rtol=1e-13)
        assert_close(pnp.fft.irfftn(pnp.fft.rfftn(z.real)), z.real, rtol=1e-13)


SINGLE = [
    (FftType.FFT, Z[0, 0, :3], (2,)),
    (FftType.IFFT, Z[0, :2], (5, 2)),
    (FftType.RFFT, X[0, 0], (5, 2)),
    (FftType.RFFT, X[0, :, 0], (4, 2)),
    (FftType.IRFFT, Z[0, :3, 0], (3, 3)),
    (FftType.IRFFT, Z[0, 0], (2,)),
]


@pytest.mark.parametrize("kind, x, lengths", SINGLE)
def test_what_is_not_linear_in_transforms_has_second_derivatives(kind: FftType, x: Any, lengths: Any) -> None:
    check_grad(lambda x: pnp.abs(fft(x * x, kind, lengths)) ** 2, x, order=2)


def test_cotangents_of_real_transforms_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")

    def pulled(library: Any, numpy: Any, lax: Any, x: Any, z: Any) -> Any:
        def loss(x: Any, z: Any) -> Any:
            forward = [lax.fft(x, "RFFT", lengths) for lengths in ((2,), (5, 2), (4, 5, 2))]
            back = [lax.fft(z, "IRFFT", lengths) for lengths in ((2,), (3,), (5, 3))]
            return sum(numpy.sum(numpy.real(numpy.exp(y / 10))) for y in [*forward, *back])

        return library.grad(loss, (0, 1))(x, z)

    ours = px.jit(lambda x, z: pulled(px, pnp, px.lax, x, z))(X, Z)
    theirs = jax.jit(lambda x, z: pulled(jax, jax.numpy, jax.lax, x, z))(X, Z)
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, rtol=1e-5)


def test_functions_of_axes_are_linear() -> None:
    check_transpose(lambda x: pnp.fft.irfftn(pnp.fft.fftn(x, axes=(1, 0)), s=(3, 5, 3, 2)), X)
    check_transpose(lambda z: [pnp.fft.hfft(z, axis=2), pnp.fft.fftshift(z)], Z)


def test_transforms_are_mapped_along_any_axis() -> None:
    check_batch(lambda x: [pnp.fft.rfft2(x, axes=(0, 2)), fft(x, "FFT", (2,))], X[0], rtol=1e-5)
    assert equations(px.vmap(lambda x: fft(x, "RFFT", (2,))), X) == ["fft"]


def test_nothing_is_done_to_arrays_without_elements() -> None:
    assert fft(np.zeros((0, 4), np.float32), "RFFT", (4,)).shape == (0, 3)
    assert fft(np.zeros((3, 0), np.complex64), FftType.FFT, (0,)).shape == (3, 0)
    out, pull = px.vjp(lambda x: fft(x, "IRFFT", (0,)), np.ones((2, 1), np.complex64))
    assert out.shape == (2, 0)
    assert_close(pull(out)[0], np.zeros((2, 1), np.complex64))


def test_trailing_axes_need_no_rearrangement() -> None:
    assert equations(lambda x: pnp.fft.rfftn(x, axes=(1, 2, 3)), X) == ["fft"]
    assert equations(lambda z: pnp.fft.fftn(z, axes=(3, 1, 2), s=(2, 4, 5)), Z) == ["fft"]
    assert equations(lambda z: pnp.fft.fft2(z, s=(3, 4)), Z) == ["slice", "pad", "fft"]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: fft(Z, "RFFT", (2,)), r"x must be float32 or float64 for RFFT, got c64\[3,4,5,2\]"),
        (lambda: fft(X.astype(np.float16), "RFFT", (2,)), "x must be float32 or float64 for RFFT, got f16"),
        (lambda: fft(Z, "FFT", (3,)), r"must have lengths \(3,\) for FFT with fft_lengths \(3,\), got c64\[3,4,5,2\]"),
        (lambda: fft(Z, "IRFFT", (5, 4)), r"must have lengths \(5, 3\) for IRFFT with fft_lengths \(5, 4\), got c64"),
        (lambda: fft(Z, "FFT", Z.shape), r"fft_lengths must be 1, 2 or 3 lengths, got 4: \(3, 4, 5, 2\)"),
        (lambda: fft(Z[0, 0, 0], "FFT", (1, 2)), r"not be more than the axes of x, got \(1, 2\) for c64\[2\]"),
        (lambda: fft(Z, "DFT", (2,)), "fft_type must be one of FFT, IFFT, RFFT, IRFFT, got 'DFT'"),
        (lambda: fft(Z, FftType.FFT, 2), "fft_lengths must be a sequence of integers, got 2"),
        (lambda: fft(X[..., :0], "RFFT", (0,)), r"fft_lengths must not end in 0 for RFFT, got \(0,\)"),
        (lambda: pnp.fft.rfft(Z), r"rfft: a must be real and of 32 or 64 bits, got c64\[3,4,5,2\]"),
        (lambda: pnp.fft.ifft(X, n=0), r"ifft: the number of points must be positive, got 0 along axis 3 of f32"),
        (lambda: pnp.fft.irfft(X[..., :1]), "irfft: the number of points must be positive, got 0 along axis 3"),
        (
            lambda: pnp.fft.fftn(X, (1, 2), (0,)),
            r"fftn: s and axes must be of the same length, got \(1, 2\) and \(0,\)",
        ),
        (lambda: pnp.fft.fftn(X[0, 0, 0], (1, 2)), r"fftn: s must not be longer than the rank of a, got \(1, 2\) for"),
        (lambda: pnp.fft.rfftn(X, axes=()), "rfftn: there must be an axis to transform along, got none for rank 4"),
        (lambda: pnp.fft.fft2(X, axes=(1,)), r"fft2: axes must be two axes, got \(1,\)"),
        (lambda: pnp.fft.hfft(X, norm="x"), 'hfft: norm must be "backward", "ortho" or "forward", got \'x\''),
        (lambda: pnp.fft.fftfreq(2.5), "fftfreq: n must be an integer, got 2.5"),
        (lambda: pnp.fft.rfftfreq(-1), "rfftfreq: n must not be negative, got -1"),
    ],
)
def test_what_cannot_be_transformed_is_named(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()
