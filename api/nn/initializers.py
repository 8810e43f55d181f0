"""Initializers of parameters: each returns a function of a key, a shape and a dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, canonical_axes, canonical_axis, rename
from primax.extend.provisional.typing import ArrayLike, DTypeLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy import conversion, creation
from primax.numpy.conversion import read_dtype, read_shape
from primax.numpy.promotion import cast
from primax.numpy.shaping import moveaxis, reshaped
from primax.numpy.triangles import last_diagonal
from primax.numpy.ufuncs import absolute
from primax.plugins import exponential
from primax.plugins.arithmetic import complex_p
from primax.plugins.linalg.orthogonal import qr
from primax.plugins.random.functions import split
from primax.plugins.resharding import resharded
from primax.plugins.structural import pad
from primax.plugins.trigonometry import cos, sin
from primax.random.gaussian import normal as _normal
from primax.random.gaussian import truncated_normal as _truncated_normal
from primax.random.interval import uniform as _uniform

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]
__dir__ = __all__.copy

Initializer = Callable[..., Any]
Axes = int | Sequence[int]

# The standard deviations of real and of complex normal numbers that are truncated at two.
_STDDEV = 0.87962566103423978
_COMPLEX_STDDEV = 0.95311164380491208
_MODES = ("fan_in", "fan_out", "fan_avg", "fan_geo_avg")
_DISTRIBUTIONS = ("truncated_normal", "normal", "uniform")


def _initializer(function: str, dtype: Any, make: Callable[[Any, tuple[int, ...], Any], Any]) -> Initializer:
    """A function of a key, a shape and a dtype; `dtype` is the default."""
    standard = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
        value_dtype = standard if dtype is None else dtype
        value_dtype = dtypes.default_float_dtype() if value_dtype is None else read_dtype(value_dtype, function)
        out = make(key, read_shape(shape, function), value_dtype)
        return out if out_sharding is None else resharded(function, out, out_sharding)

    rename(init, function)
    return init


def _require_inexact(function: str, dtype: Any) -> None:
    if not dtypes.is_inexact(dtype):
        raise ValueError(f"{function}: dtype must be floating or complex, got {dtype}")


def zeros(
    key: KeyLike, shape: ShapeLike, dtype: DTypeLike | None = None, out_sharding: ShardingLike | None = None
) -> Array:
    """Zeros.

    Args:
      key: not used.
      shape: the shape.
      dtype: the dtype, the default floating one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Examples:
      >>> import primax as px
      >>> px.nn.initializers.zeros(None, (2,))  # needs no key
      Array([0., 0.], dtype=float32)
    """
    return creation.zeros(shape, dtype, out_sharding=out_sharding)


def ones(
    key: KeyLike, shape: ShapeLike, dtype: DTypeLike | None = None, out_sharding: ShardingLike | None = None
) -> Array:
    """Ones.

    Args:
      key: not used.
      shape: the shape.
      dtype: the dtype, the default floating one if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.nn.initializers.ones(None, (2,), np.int8)  # needs no key
      Array([1, 1], dtype=int8)
    """
    return creation.ones(shape, dtype, out_sharding=out_sharding)


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that fills an array with one value.

    Args:
      value: a number, or an array that broadcasts to the requested shapes.
      dtype: the dtype if the call gives none; the default floating dtype if None.

    Examples:
      >>> import primax as px
      >>> px.nn.initializers.constant(7)(px.random.key(0), (2,))
      Array([7., 7.], dtype=float32)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        return creation.full(shape, value, dtype)

    return _initializer("constant", dtype, make)


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws numbers uniformly from [0, scale).

    Args:
      scale: the upper bound.
      dtype: the dtype if the call gives none; the default floating dtype if None.

    >>> import primax as px
    >>> px.nn.initializers.uniform(0.1)(px.random.key(0), (3,)).shape
    (3,)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        return _uniform(key, shape, dtype) * dtype.type(scale)

    return _initializer("uniform", dtype, make)


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws normal numbers with mean 0.

    Args:
      stddev: the standard deviation.
      dtype: the dtype if the call gives none; the default floating dtype if None.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> weights = px.nn.initializers.normal(0.1)(px.random.key(0), (100, 100), np.float16)
      >>> weights.dtype, abs(weights.std() - 0.1) < 0.01
      (dtype('float16'), Array(True, dtype=bool))
    """

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        _require_inexact("normal", dtype)
        return _normal(key, shape, dtype) * dtype.type(stddev)

    return _initializer("normal", dtype, make)


def truncated_normal(
    stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None, lower: ArrayLike = -2.0, upper: ArrayLike = 2.0
) -> Initializer:
    """An initializer that draws normal numbers within bounds, and multiplies them by a factor.

    Args:
      stddev: the factor.
      dtype: the dtype if the call gives none; the default floating dtype if None.
      lower, upper: the bounds before scaling.

    Examples:
      >>> import primax as px
      >>> weights = px.nn.initializers.truncated_normal(0.1)(px.random.key(0), (1000,))
      >>> abs(weights).max() <= 0.2
      Array(True, dtype=bool)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        return _truncated_normal(key, lower, upper, shape, dtype) * dtype.type(stddev)

    return _initializer("truncated_normal", dtype, make)


def _fans(shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """The number of inputs per output of a layer, and the number of outputs per input."""
    function = "variance_scaling"
    if len(shape) < 2:
        raise ValueError(f"{function}: shape must have 2 axes or more, for inputs and outputs, got {shape}")

    def size(axes: Axes, name: str) -> int:
        listed = (axes,) if isinstance(axes, int) else tuple(axes)
        return math.prod(shape[i] for i in canonical_axes(listed, len(shape), function, name))

    inputs, outputs = size(in_axis, "in_axis"), size(out_axis, "out_axis")
    field = math.prod(shape) / inputs / outputs / size(batch_axis, "batch_axis") if math.prod(shape) else 0.0
    return inputs * field, outputs * field


def variance_scaling(
    scale: ArrayLike,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """An initializer with mean 0 and variance `scale` / fan, so that layers preserve the variance of their inputs.

    Args:
      scale: a positive number.
      mode: the fan: "fan_in", the number of inputs per output; "fan_out", the number of outputs per input; "fan_avg",
        the mean of both; "fan_geo_avg", their geometric mean.
      distribution: "truncated_normal", "normal" or "uniform".
      in_axis, out_axis: the axes of inputs and of outputs; all other axes are the receptive field.
      batch_axis: axes that belong to neither of these nor to the receptive field; they do not change the fan.
      dtype: the dtype if the call gives none; the default floating dtype if None.

    Raises:
      ValueError: the mode or the distribution is unknown; or, raised at a call, the shape has fewer than two axes.

    Examples:
      >>> import primax as px
      >>> make = px.nn.initializers.variance_scaling(2.0, "fan_in", "uniform")
      >>> abs(make(px.random.key(0), (50, 100)).var() - 2 / 50) < 0.002
      Array(True, dtype=bool)
    """
    if not among(mode, _MODES):
        raise ValueError(f"variance_scaling: mode must be one of {', '.join(_MODES)}, got {mode!r}")
    if not among(distribution, _DISTRIBUTIONS):
        raise ValueError(
            f"variance_scaling: distribution must be one of {', '.join(_DISTRIBUTIONS)}, got {distribution!r}"
        )

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        _require_inexact("variance_scaling", dtype)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        means = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
        fan = means.get(mode, math.sqrt(fan_in * fan_out))
        variance = conversion.asarray(scale / fan if fan else 0.0, dtype)
        if distribution == "normal":
            return _normal(key, shape, dtype) * exponential.sqrt(variance)
        if distribution == "uniform":
            if dtypes.is_complex(dtype):
                return _in_disk(key, shape, dtype) * exponential.sqrt(2 * variance)
            return _uniform(key, shape, dtype, -1) * exponential.sqrt(3 * variance)
        if dtypes.is_complex(dtype):
            return _normal_in_disk(key, 2.0, shape, dtype) * (exponential.sqrt(variance) / _COMPLEX_STDDEV)
        return _truncated_normal(key, -2, 2, shape, dtype) * (exponential.sqrt(variance) / dtype.type(_STDDEV))

    return _initializer("variance_scaling", dtype, make)


def _in_disk(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Complex numbers drawn uniformly from the unit disk."""
    radius, angle = _two_uniforms(key, shape, dtype)
    return _polar(exponential.sqrt(radius), angle)


def _normal_in_disk(key: Any, upper: float, shape: tuple[int, ...], dtype: Any) -> Array:
    """Complex normal numbers with absolute values up to a bound."""
    radius, angle = _two_uniforms(key, shape, dtype)
    share = radius * get_aval(radius).dtype.type(1 - math.exp(-(upper**2)))
    return _polar(exponential.sqrt(-exponential.log(1 - share)), angle)


def _two_uniforms(key: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    real = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
    for_radius, for_angle = split(key)
    return _uniform(for_radius, shape, real), _uniform(for_angle, shape, real) * (2 * math.pi)


def _polar(radius: Any, angle: Any) -> Array:
    return complex_p.bind(radius * cos(angle), radius * sin(angle))


def _scaled(name: str, scale: float, mode: str, distribution: str, source: str) -> Callable[..., Initializer]:
    def make(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike | None = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    fan = "fan_in" if mode == "fan_in" else "the mean of fan_in and fan_out"
    drawn = "uniform" if distribution == "uniform" else "normal, within two standard deviations"
    rename(make, name)
    make.__doc__ = f"""An initializer of mean 0 and variance {scale:g} / {fan}, {drawn}: {source}.

    Args:
      in_axis, out_axis: the axes of inputs and of outputs.
      batch_axis: axes that do not change the fan.
      dtype: the dtype if the call gives none; the default floating dtype if None.

    Examples:
      >>> import primax as px
      >>> weights = px.nn.initializers.{name}()(px.random.key(0), (50, 150))  # from 50 inputs to 150 outputs
      >>> abs(weights.var() * {50 if mode == "fan_in" else 100} - {scale:g}) < 0.1
      Array(True, dtype=bool)
    """
    return make


_GLOROT = "Glorot and Bengio (2010)"
_LECUN = "LeCun, Bottou, Orr and Müller (1998)"
_HE = "He, Zhang, Ren and Sun (2015), for activations like relu"

glorot_normal = xavier_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT)
glorot_uniform = xavier_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN)
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN)
he_normal = kaiming_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal", _HE)
he_uniform = kaiming_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform", _HE)


def orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws matrices with orthonormal rows or columns, whichever are fewer, uniformly.

    Args:
      scale: a factor.
      column_axis: the axis of columns; the other axes together are rows.
      dtype: the dtype if the call gives none; the default floating dtype if None.

    Raises:
      ValueError: raised at a call, if the shape has fewer than two axes.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> wide = px.nn.initializers.orthogonal()(px.random.key(0), (2, 5))
      >>> abs(wide @ wide.T - pnp.eye(2)).max() < 1e-5  # the rows are orthonormal
      Array(True, dtype=bool)
    """

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        if len(shape) < 2:
            raise ValueError(f"orthogonal: shape must have 2 axes or more, got {shape}")
        _require_inexact("orthogonal", dtype)
        axis = canonical_axis(column_axis, len(shape), "orthogonal", "column_axis")
        columns, others = shape[axis], shape[:axis] + shape[axis + 1 :]
        rows = math.prod(others)
        q, r = qr(_normal(key, (max(rows, columns), min(rows, columns)), dtype), full_matrices=False)
        diagonal = last_diagonal(r, 0)
        # LAPACK leaves the signs of r's diagonal arbitrary; without them the distribution of q is not uniform.
        q = q * (diagonal / cast(absolute(diagonal), dtype))[None]
        if rows < columns:
            q = q.T
        return dtype.type(scale) * moveaxis(q.reshape((*others, columns)), -1, axis)

    return _initializer("orthogonal", dtype, make)


def delta_orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer for convolution kernels: an orthogonal matrix at the center of the window, and zeros elsewhere.

    Xiao et al., "Dynamical isometry and a mean field theory of CNNs" (2018).

    Args:
      scale: a factor.
      column_axis: the axis of columns in the matrix.
      dtype: the dtype if the call gives none; the default floating dtype if None.

    Raises:
      ValueError: raised at a call, if the shape does not have one to three spatial axes before the axes of inputs and
        outputs, or if there are more inputs than outputs.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> kernel = px.nn.initializers.delta_orthogonal()(px.random.key(0), (3, 2, 2))
      >>> abs(kernel[0]).max(), abs(kernel[1] @ kernel[1].T - pnp.eye(2)).max() < 1e-5
      (Array(0., dtype=float32), Array(True, dtype=bool))
    """
    draw = orthogonal(scale, column_axis)

    def make(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
        if not 3 <= len(shape) <= 5:
            raise ValueError(f"delta_orthogonal: shape must have 3, 4 or 5 axes, got {shape}")
        if shape[-1] < shape[-2]:
            raise ValueError(
                f"delta_orthogonal: inputs must not be more than outputs, got {shape[-2]} and {shape[-1]} in {shape}"
            )
        window = shape[:-2]
        matrix = reshaped(draw(key, shape[-2:], dtype), (1,) * len(window) + shape[-2:])
        around = [((size - 1) // 2, size // 2, 0) for size in window]
        return pad(matrix, dtype.type(0), [*around, (0, 0, 0), (0, 0, 0)])

    return _initializer("delta_orthogonal", dtype, make)
