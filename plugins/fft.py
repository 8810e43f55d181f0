"""Fourier transforms along trailing axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_shape
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.sharding import axes_of_dims
from primax.extend.provisional.sharding_rule import divided_by_rule
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import conj, mul
from primax.plugins.structural import broadcast_in_dim_p, convert_element_type_p, pad_p

__all__ = ["FftType", "fft", "fft_p"]

fft_p = core.Primitive("fft")


class FftType(IntEnum):
    """The kinds of Fourier transform.

    Attributes:
      FFT: the transform of complex numbers.
      IFFT: the inverse of FFT.
      RFFT: the transform of real numbers; the half of the result along the last axis that determines the other half.
      IRFFT: the inverse of RFFT, with a real result. Imaginary parts that a real result cannot have are ignored.
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform along the last one, two or three axes.

    Args:
      x: an array. Real numbers are converted to complex ones for transforms of complex numbers.
      fft_type: the transform: an `FftType` or its name.
      fft_lengths: the lengths of the transformed axes: those of the argument for `RFFT`, those of the result for
        `IRFFT`; on the other side the last length n becomes `n // 2 + 1`. Without lengths, the numbers are only
        converted.

    Returns:
      An array, real for `IRFFT` and complex otherwise.

    Raises:
      TypeError: `x` is complex for `RFFT`, or its numbers do not have 32 or 64 bits; `fft_lengths` are not integers.
      ValueError: there are more than three lengths, or they are not those of the axes; `fft_type` is not valid.

    >>> import primax as px
    >>> px.lax.fft(px.numpy.array([1., 2., 3., 4.]), "RFFT", (4,))
    Array([10.+0.j, -2.+2.j, -2.+0.j], dtype=complex64)
    """
    kind = _kind(fft_type)
    lengths = canonical_shape(fft_lengths, "fft", "fft_lengths")
    dtype = get_aval(x).dtype
    if dtypes.is_bool(dtype) or dtypes.is_integer(dtype):
        dtype = dtypes.to_inexact_dtype(dtype)
    if kind is not FftType.RFFT and dtypes.is_floating(dtype):
        dtype = dtypes.to_complex_dtype(dtype)
    if dtype != get_aval(x).dtype:
        x = convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
    out: Any = fft_p.bind(x, fft_type=kind, fft_lengths=lengths) if lengths else x
    return out


def _kind(fft_type: Any) -> FftType:
    kind = FftType.__members__.get(fft_type.upper()) if isinstance(fft_type, str) else fft_type
    if not isinstance(kind, FftType):
        raise ValueError(f"fft: fft_type must be one of {', '.join(FftType.__members__)}, got {fft_type!r}")
    return kind


def _abstract_eval(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    name, rank = fft_type.name, len(fft_lengths)
    of_real = fft_type is FftType.RFFT
    accepted = ("float32", "float64") if of_real else ("complex64", "complex128")
    if x.dtype.name not in accepted:
        raise TypeError(f"fft: x must be {' or '.join(accepted)} for {name}, got {x.str_short()}")
    if not 1 <= rank <= 3:
        raise ValueError(f"fft: fft_lengths must be 1, 2 or 3 lengths, got {rank}: {fft_lengths}")
    if rank > x.ndim:
        raise ValueError(f"fft: fft_lengths must not be more than the axes of x, got {fft_lengths} for {x.str_short()}")
    *outer, last = fft_lengths
    half = last // 2 + 1
    lengths = (*outer, half if fft_type is FftType.IRFFT else last)
    if x.shape[-rank:] != lengths:
        raise ValueError(
            f"fft: the last axes of x must have lengths {lengths} for {name} with fft_lengths {fft_lengths}, "
            f"got {x.str_short()}"
        )
    if of_real and not last:
        raise ValueError(f"fft: fft_lengths must not end in 0 for RFFT, got {fft_lengths}")
    before = x.shape[:-rank]
    if of_real:
        return ShapedArray((*before, *outer, half), dtypes.to_complex_dtype(x.dtype))
    if fft_type is FftType.IRFFT:
        return ShapedArray((*before, *outer, last), dtypes.to_floating_dtype(x.dtype))
    return ShapedArray(x.shape, x.dtype)


def _transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    """The matrices of complex transforms are symmetric; those of real transforms count each number of a half twice.

    The cotangent of real numbers is the real part of that for complex numbers. The inverse transform, which takes the
    other half as the conjugate of the first, computes exactly this from conjugates.
    """
    size = math.prod(fft_lengths)
    if fft_type is FftType.RFFT:
        halved = mul(conj(ct), _weights(ct, size, size / 2, fft_lengths))
        return [fft_p.bind(halved, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)]
    if fft_type is FftType.IRFFT:
        if not size:
            return [ad.zeros_like_aval(x.aval)]
        half = fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
        return [conj(mul(half, _weights(half, 1 / size, 2 / size, fft_lengths)))]
    return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]


def _weights(half: Any, single: float, paired: float, lengths: tuple[int, ...]) -> Array:
    """A weight for each number of a half along the last axis: `paired` if another one is its conjugate, or `single`."""
    aval = get_aval(half)
    single, paired = (aval.dtype.type(weight) for weight in (single, paired))
    even = int(lengths[-1] % 2 == 0)
    *outer, last = aval.shape
    inside = broadcast_in_dim_p.bind(paired, shape=(*outer, last - 1 - even), broadcast_dimensions=())
    return pad_p.bind(inside, single, padding_config=(*[(0, 0, 0)] * len(outer), (1, even, 0)))


def _batch(args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
    return fft_p.bind(batching.moveaxis(args[0], dims[0], 0), **params), 0


def _lowering(ctx: mlir.LoweringRuleContext, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    aval = ctx.avals_out[0]
    if 0 in aval.shape:
        return [mlir.ir_constant(np.zeros(aval.shape, aval.dtype))]
    if is_symbolic(fft_lengths):
        raise core.UnsupportedError(f"fft: the transformed axes must have known lengths, got {fft_lengths}")
    kind = mlir.hlo.FftTypeAttr.get(fft_type.name)
    return [mlir.hlo.fft(x, kind, mlir.ir.DenseI64ArrayAttr.get(fft_lengths))]


def _sharding_rule(x: Any, *, fft_type: Any, fft_lengths: Any) -> Any:
    """`d0 d1 _ -> d0 d1 _`; XLA gathers arrays whose types tell that transformed axes are divided."""
    count, axes = len(x.shape) - len(fft_lengths), axes_of_dims(x)
    if any(axes[count:]):
        return [axes]
    term = " ".join([*(f"d{i}" for i in range(count)), *["_"] * len(fft_lengths)])
    return f"{term} -> {term}"


RULES: Table = {
    fft_p: {
        "abstract_eval": _abstract_eval,
        "jvp": ad.linear_jvp(fft_p),
        "transpose": ad.linear_transpose2(fft_p, _transpose),
        "batch": _batch,
        "sharding": divided_by_rule(_sharding_rule),
        "lowering": _lowering,
        "makes_nan": True,
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.fft:SAMPLES"], **rules)
