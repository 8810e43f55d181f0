"""Resampling of images: arrays with other sizes along their axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from math import pi
from typing import Any

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integer, sequence
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.precision import PrecisionLike
from primax.extend.provisional.typing import ArrayLike, ShapeLike
from primax.numpy.conversion import read_shape
from primax.numpy.programs import one_program
from primax.numpy.promotion import promote

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
__dir__ = __all__.copy


class ResizeMethod(Enum):
    """The interpolation method for resampling."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method with a given name.

        Args:
          s: "nearest", "linear", "bilinear", "trilinear", "triangle", "cubic", "bicubic", "tricubic", "cubic-pytorch",
            "bicubic-pytorch", "lanczos3", "lanczos5" or "area".

        Raises:
          ValueError: `s` is another string.
        """
        return _method("ResizeMethod.from_string", s)


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "area": ResizeMethod.AREA,
}


def _method(function: str, value: Any) -> ResizeMethod:
    if isinstance(value, ResizeMethod):
        return value
    if not isinstance(value, str) or value not in _NAMES:
        raise ValueError(f"{function}: method must be a ResizeMethod or one of {', '.join(_NAMES)}, got {value!r}")
    return _NAMES[value]


def _triangle(x: Any) -> Array:
    return pnp.maximum(0, 1 - x)


def _keys(a: float) -> Callable[[Any], Any]:
    """R. Keys, "Cubic convolution interpolation for digital image processing" (1981), with the slope `a` at 1."""

    def kernel(x: Any) -> Array:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return pnp.where(x <= 1, near, pnp.where(x < 2, far, 0))

    return kernel


def _lanczos(radius: float) -> Callable[[Any], Any]:
    """C. E. Duchon, "Lanczos filtering in one and two dimensions" (1979): sinc(x) sinc(x / radius)."""

    def kernel(x: Any) -> Array:
        away = x > 1e-3
        safe = pi * pnp.where(away, x, 1)
        inner = pnp.where(away, radius * pnp.sin(safe) * pnp.sin(safe / radius) / (safe * safe), 1)
        return pnp.where(x > radius, 0, inner)

    return kernel


_KERNELS = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _keys(-0.5),
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
}
_PYTORCH = _keys(-0.75)


def _kernel_weights(kernel: Any, samples: Any, size: int, width: Any) -> Array:
    """The weight of each of `size` pixels in each sample, by the kernel stretched by `width`."""
    return kernel(pnp.abs(samples[None] - pnp.arange(size, dtype=samples.dtype)[:, None]) / width)


def _clamped_weights(samples: Any, size: int) -> Array:
    """Weights of the four nearest pixels by PyTorch's cubic kernel; indices outside of the image are clamped to it."""
    low = pnp.floor(samples)
    pixels = pnp.arange(size, dtype=samples.dtype)[:, None]
    total: Any = 0
    for tap in range(-1, 3):
        at = low + tap
        there = (pixels == pnp.clip(at, 0, size - 1)) & (at >= -2) & (at <= size + 1)
        total = total + pnp.where(there, _PYTORCH(pnp.abs(samples - at)), 0)
    return total


def _overlaps(inverse: Any, shift: Any, size: int, out_size: int) -> Array:
    """The length of the overlap of each pixel of the image with each pixel of the result."""
    start = (pnp.arange(out_size, dtype=inverse.dtype) * inverse - shift)[None]
    pixels = pnp.arange(size, dtype=inverse.dtype)[:, None]
    return pnp.maximum(0, pnp.minimum(start + inverse, pixels + 1) - pnp.maximum(start, pixels))


def _weights(size: int, out_size: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool) -> Array:
    """A matrix of shape (size, out_size): the weights of pixels in samples; they sum to 1, or to 0 outside."""
    inverse = 1 / scale
    shift = translation * inverse
    samples = (pnp.arange(out_size, dtype=scale.dtype) + 0.5) * inverse - shift - 0.5
    width = pnp.maximum(inverse, 1) if antialias else 1
    inside = (samples >= -0.5) & (samples <= size - 0.5)
    if method is ResizeMethod.AREA:
        weights = _overlaps(inverse, shift, size, out_size)
    elif method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        weights, inside = _clamped_weights(samples, size), True
    else:
        kernel = _KERNELS[ResizeMethod.CUBIC if method is ResizeMethod.CUBIC_PYTORCH else method]
        weights = _kernel_weights(kernel, samples, size, width)
    total = pnp.sum(weights, axis=0, keepdims=True)
    enough = pnp.abs(total) > 1000 * float(np.finfo(np.float32).eps)
    weights = pnp.where(enough, weights / pnp.where(total != 0, total, 1), 0)
    return pnp.where(inside, weights, 0)


def _resampled(
    x: Any, scale: Any, translation: Any, shape: Any, dims: Any, method: Any, antialias: bool, precision: Any
) -> Array:
    for i, axis in enumerate(dims):
        weights = _weights(x.shape[axis], shape[axis], scale[i], translation[i], method, antialias).astype(x.dtype)
        product = lax.dot_general(x, weights, (((axis,), (0,)), ((), ())), precision=precision)
        x = pnp.moveaxis(product, -1, axis)
    return x


_resample = one_program(3)(_resampled)


def _read_shape(function: str, shape: Any, rank: int) -> tuple[int, ...]:
    sizes = read_shape(shape, function)
    if len(sizes) != rank:
        raise ValueError(f"{function}: shape must have {rank} elements, as the image has axes, got {sizes}")
    return sizes


def _refuse_empty(function: str, image: Any, shape: tuple[int, ...], axes: Sequence[int]) -> None:
    for axis in axes:
        if not image.shape[axis] and shape[axis]:
            raise ValueError(
                f"{function}: image must have elements along axis {axis}, to be resampled, "
                f"got {get_aval(image).str_short()}"
            )


def _nearest(x: Any, shape: tuple[int, ...]) -> Array:
    for axis, (size, new_size) in enumerate(zip(x.shape, shape, strict=True)):
        if size != new_size:
            if is_symbolic((size, new_size)):
                at: Any = (2 * pnp.arange(new_size) + 1) * size // (2 * new_size)
            else:
                at = ((2 * np.arange(new_size, dtype=np.int64) + 1) * size // max(2 * new_size, 1)).astype(np.int32)
            x = pnp.take(x, at, axis=axis, mode="clip")
    return x


def resize(
    image: ArrayLike,
    shape: ShapeLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """Resize an image.

    Args:
      image: an array of any rank. Axes of channels and batches are not special: the shape repeats their sizes.
      shape: the new shape, of the rank of `image`.
      method: a `ResizeMethod`, or its name as `ResizeMethod.from_string` takes it. NEAREST takes the pixel whose area
        contains the center of the new pixel; LINEAR, CUBIC (Keys), LANCZOS3 and LANCZOS5 are kernels; AREA is the mean
        of the pixels under the new pixel. CUBIC_PYTORCH is PyTorch's kernel, with the image extended by its edges, if
        `antialias` is false, and CUBIC otherwise.
      antialias: whether kernels are stretched along axes that shrink, so that each pixel has a weight.
      precision: the precision of matrix products, as for `lax.dot_general`.

    Returns:
      An array of the new shape: of the dtype of the image for NEAREST, and of a floating or complex dtype otherwise.

    Raises:
      TypeError: `image` is not an array, or `shape` is not a sequence of integers.
      ValueError: `shape` has another rank, an axis without elements is resampled, or `method` is unknown.

    >>> import primax as px
    >>> px.image.resize(px.numpy.array([1.0, 3.0]), (4,), "linear")
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    method = _method("resize", method)
    if method is ResizeMethod.NEAREST:
        image = pnp.asarray(promote("resize", image)[0])
    else:
        image = pnp.asarray(promote("resize", image, to=dtypes.to_inexact_dtype)[0])
    sizes = _read_shape("resize", shape, image.ndim)
    dims = tuple(i for i, (a, b) in enumerate(zip(image.shape, sizes, strict=True)) if a != b)
    _refuse_empty("resize", image, sizes, dims)
    if 0 in sizes:
        return pnp.zeros(sizes, image.dtype)
    if method is ResizeMethod.NEAREST:
        return _nearest(image, sizes)
    if not dims:
        return image
    real = dtypes.finfo(image.dtype).dtype
    real = np.dtype(np.float32) if dtypes.finfo(real).bits < 32 else real
    ratios = [sizes[i] / image.shape[i] for i in dims]
    if is_symbolic((*sizes, *image.shape)):
        scale: Any = pnp.stack([pnp.asarray(x, real) for x in ratios])
    else:
        scale = np.array(ratios).astype(real)
    return _resample(image, scale, np.zeros(len(dims), real), sizes, dims, method, bool(antialias), precision)


def scale_and_translate(
    image: ArrayLike,
    shape: ShapeLike,
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = lax.Precision.HIGHEST,
) -> Array:
    """Scale and then translate an image along some of its axes.

    The pixel at position x of the image is at scale * x + translation in the result; the center of the first pixel is
    at 0.5. Samples outside of the image are 0.

    Args:
      image: an array.
      shape: the shape of the result, of the rank of `image`.
      spatial_dims: the axes to scale and translate; the other axes keep the sizes of the image.
      scale: an array with one number for each of these axes; it may be differentiated.
      translation: an array with one number for each of these axes; it may be differentiated.
      method: as for `resize`, without NEAREST.
      antialias: as for `resize`.
      precision: as for `resize`.

    Returns:
      An array of a floating or complex dtype.

    Raises:
      TypeError: an argument is not an array.
      ValueError: the length of `shape`, `scale` or `translation` does not fit, an axis is out of range, or `method` is
        NEAREST or unknown.

    >>> import primax as px
    >>> import primax.numpy as pnp
    >>> px.image.scale_and_translate(pnp.array([1.0, 2.0]), (3,), (0,), pnp.array([1.0]), pnp.array([1.0]), "linear")
    Array([0., 1., 2.], dtype=float32)
    """
    function = "scale_and_translate"
    method = _method(function, method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(f"{function}: method must interpolate, got {method}; use resize")
    image = pnp.asarray(promote(function, image, to=dtypes.to_inexact_dtype)[0])
    sizes = _read_shape(function, shape, image.ndim)
    dims = []
    for axis in sequence(function, "spatial_dims", spatial_dims):
        axis = integer(function, "spatial_dims", axis)
        if not -image.ndim <= axis < image.ndim:
            raise ValueError(f"{function}: spatial_dims must be axes of the image of rank {image.ndim}, got {axis}")
        dims.append(axis % image.ndim)
    vectors = []
    for name, value in (("scale", scale), ("translation", translation)):
        vector = pnp.asarray(promote(function, value)[0])
        if vector.shape != (len(dims),):
            raise ValueError(f"{function}: {name} must have the shape ({len(dims)},), got {vector.shape}")
        if dtypes.is_complex(vector.dtype):
            raise TypeError(f"{function}: {name} must be real, got {get_aval(vector).str_short()}")
        vectors.append(vector.astype(np.float64 if vector.dtype == np.float64 else np.float32))
    _refuse_empty(function, image, sizes, dims)
    if not dims:
        return image
    scales, translations = vectors
    return _resample(image, scales, translations, sizes, tuple(dims), method, bool(antialias), precision)
