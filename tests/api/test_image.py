"""Images in other sizes against jax, and what newer releases of it have by numbers."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import image

pytestmark = pytest.mark.any_release

METHODS = ("nearest", "linear", "cubic", "lanczos3", "lanczos5")
ROW = np.float32([1, 4, 9, 16, 30])
PICTURE = np.random.default_rng(0).normal(size=(5, 7, 2)).astype(np.float32)


@pytest.mark.parametrize("method", METHODS)
def test_resized_images_are_those_of_jax(jax, method):
    ways = [(s, a) for s in ((3, 9, 2), (11, 2, 2), (5, 7, 2), (1, 1, 3)) for a in (True, False)]
    ours, theirs = (
        f.jit(lambda x, f=f: [f.image.resize(x, shape, method, antialias) for shape, antialias in ways])(PICTURE)
        for f in (px, jax)
    )
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(image.resize(PICTURE, (3, 9, 2), method), ours[0], rtol=1e-5, atol=1e-5)
    for x in (ROW.astype(np.int32), (1j * ROW).astype(np.complex64), ROW.astype(np.float16)):
        got, want = image.resize(x, (3,), method), jax.image.resize(x, (3,), method)
        assert (got.dtype, got.shape, got.weak_type) == (want.dtype, want.shape, want.weak_type)
        np.testing.assert_allclose(got, want, rtol=1e-3 if x.dtype == np.float16 else 1e-5, atol=1e-5)


@pytest.mark.parametrize("method", METHODS[1:])
def test_scaled_and_moved_images_are_those_of_jax(jax, method):
    places = np.float32([([0.5, 1.7], [0.3, -2.0]), ([-1.0, 2.0], [4.3, 0.1]), ([0.0, 1.0], [0.0, 1.0])])

    def moved(module, scale, translation):
        args = PICTURE, (4, 9, 2), (0, -2), scale, translation, method
        return [module.image.scale_and_translate(*args, antialias) for antialias in (True, False)]

    ours, theirs = (f.jit(lambda scale, translation, f=f: moved(f, scale, translation)) for f in (px, jax))
    for place in places:
        for got, want in zip(ours(*place), theirs(*place), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(moved(px, *places[0])[0], ours(*places[0])[0], rtol=1e-4, atol=1e-5)


def test_areas_and_the_cubic_kernel_of_pytorch_have_the_values_of_jax():
    area = image.ResizeMethod.AREA
    np.testing.assert_allclose(image.resize(ROW, (3,), area), [2.2, 9.4, 24.4], rtol=1e-6)
    np.testing.assert_allclose(image.resize(ROW, (8,), "area"), [1, 2.2, 4, 8, 10.4, 16, 24.4, 30], rtol=1e-6)
    moved = image.scale_and_translate(ROW, (4,), (0,), np.float32([0.5]), np.float32([0.3]), area)
    np.testing.assert_allclose(moved, [1.857143, 8.9, 24.75, 0], rtol=1e-5)
    torch = image.resize(ROW, (8,), "cubic-pytorch", antialias=False)
    wanted = [0.7215, 1.8857, 4.3528, 6.9138, 10.8954, 15.0892, 24.5479, 31.2997]
    np.testing.assert_allclose(torch, wanted, atol=1e-4)
    np.testing.assert_array_equal(image.resize(ROW, (3,), "bicubic-pytorch"), image.resize(ROW, (3,), "cubic"))
    moved = image.scale_and_translate(ROW, (4,), (0,), np.float32([0.5]), np.float32([0.3]), "cubic-pytorch", False)
    np.testing.assert_allclose(moved, [0.8178, 8.185, 28.8993, 30.0], rtol=1e-4)
    # Two pixels beyond the edge continue the image, and no more.
    args = (6,), (0,), np.float32([0.2]), np.float32([2.0]), "cubic-pytorch", False
    np.testing.assert_allclose(image.scale_and_translate(ROW[:4], *args), [0, 0, 9, 0, 0, 0], rtol=1e-5)


def test_images_of_64_bits_stay_so():
    with px.enable_x64(True):
        out = image.resize(ROW.astype(np.float64), (9,), "linear")
        np.testing.assert_allclose(image.resize(out, (9,), "lanczos3"), out, rtol=1e-12)
        assert out.dtype == np.float64


def test_resizing_is_differentiated_compiled_and_mapped(jax):
    def total(module, numpy):
        return lambda x, s, t: numpy.sum(numpy.square(module.scale_and_translate(x, (4, 3), (0, 1), s, t, "cubic")))

    args = PICTURE[:, :, 0], np.float32([0.7, 0.4]), np.float32([0.3, 0.1])
    got = px.jit(px.grad(total(image, pnp), (0, 1, 2)))(*args)
    want = jax.grad(total(jax.image, jax.numpy), (0, 1, 2))(*args)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-3)
    mapped = px.vmap(lambda x: image.resize(x, (3,), "linear"))(PICTURE[:, :, 0])
    np.testing.assert_allclose(mapped, image.resize(PICTURE[:, :, 0], (5, 3), "linear"), rtol=1e-5, atol=1e-6)


def test_names_of_methods_are_those_of_jax(jax):
    for name in (*METHODS, "bilinear", "trilinear", "triangle", "bicubic", "tricubic"):
        assert image.ResizeMethod.from_string(name).name == jax.image.ResizeMethod.from_string(name).name


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: image.resize(ROW, (3, 2), "linear"), ValueError, "resize: shape must have 1 elements"),
        (lambda: image.resize(ROW, (-1,), "linear"), TypeError, "resize: shape must consist of non-neg"),
        (lambda: image.resize(ROW, (2,), "box"), ValueError, "resize: method must be a ResizeMethod or one of nearest"),
        (lambda: image.resize([1, 2], (2,), "linear"), TypeError, "resize: argument 0 must be an array"),
        (lambda: image.resize(ROW[:0], (2,), "linear"), ValueError, "resize: image must have elements along axis 0"),
        (lambda: image.scale_and_translate(ROW, (2,), (0,), ROW[:1], ROW[:1], "nearest"), ValueError, "interpolate"),
        (lambda: image.scale_and_translate(ROW, (2,), (1,), ROW[:1], ROW[:1], "linear"), ValueError, "spatial_dims"),
        (
            lambda: image.scale_and_translate(ROW, (2,), (0,), ROW, ROW[:1], "linear"),
            ValueError,
            "scale must have the sh",
        ),
    ],
)
def test_wrong_images_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
