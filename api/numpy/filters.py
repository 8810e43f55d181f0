"""Convolution and correlation of sequences."""

from __future__ import annotations

from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among
from primax.extend.provisional.precision import PrecisionLike, canonicalize_precision
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.numpy.conversion import read_dtype
from primax.numpy.programs import one_program
from primax.numpy.promotion import promote
from primax.numpy.ufuncs import conjugate
from primax.plugins.calls import jit
from primax.plugins.convolution.sliding import MODES, mode_padding, slide
from primax.plugins.structural import rev_p

__all__ = ["convolve", "correlate"]


@one_program("mode precision preferred_element_type")
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The convolution of two sequences: the coefficients of the product of two polynomials.

    Args:
      a: an array of rank 1, not empty.
      v: an array of rank 1, not empty.
      mode: 'full' for all positions where the sequences overlap; 'same' for the middle positions, as many as the longer
        sequence has elements; 'valid' for positions where they overlap completely.
      precision: see `lax.conv_general_dilated`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.

    Returns:
      An array of a floating or complex dtype.

    Raises:
      ValueError: an argument is not of rank 1 or is empty, or `mode` is unknown.

    >>> import primax as px
    >>> px.numpy.convolve(px.numpy.array([1.0, 2.0]), px.numpy.array([1.0, 3.0]))
    Array([1., 5., 6.], dtype=float32)
    """
    return _compiled("convolve", a, v, *_options("convolve", mode, precision, preferred_element_type))


@one_program("mode precision preferred_element_type")
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The correlation of two sequences, `c[k]`, the sum of `a[n + k] * conj(v[n])`.

    Args:
      a: an array of rank 1, not empty.
      v: an array of rank 1, not empty.
      mode: see `convolve`.
      precision: see `lax.conv_general_dilated`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.

    Returns:
      An array of a floating or complex dtype.

    Raises:
      ValueError: an argument is not of rank 1 or is empty, or `mode` is unknown.

    >>> import primax as px
    >>> px.numpy.correlate(px.numpy.array([1.0, 2.0, 3.0]), px.numpy.array([0.0, 1.0]))
    Array([2., 3.], dtype=float32)
    """
    return _compiled("correlate", a, v, *_options("correlate", mode, precision, preferred_element_type))


def _options(function: str, mode: str, precision: Any, preferred: Any) -> tuple[Any, ...]:
    if not among(mode, MODES):
        raise ValueError(f"{function}: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    if preferred is not None:
        preferred = read_dtype(preferred, function)
    return mode, canonicalize_precision(precision, function), preferred


def _filtered(function: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any) -> Array:
    a, v = promote(function, a, v, to=dtypes.to_inexact_dtype)
    for name, x in (("a", a), ("v", v)):
        aval = get_aval(x)
        if len(aval.shape) != 1:
            raise ValueError(f"{function}: {name} must be of rank 1, got {aval.str_short()}")
        if not aval.shape[0]:
            raise ValueError(f"{function}: {name} must not be empty, got {aval.str_short()}")
    swapped = get_aval(a).shape[0] < get_aval(v).shape[0]
    if function == "correlate":
        v = conjugate(v)
    if swapped:
        a, v = v, a
    if function == "convolve":
        v = rev_p.bind(v, dimensions=(0,))
    out = slide(a, v, [mode_padding(mode, get_aval(v).shape[0])], precision, preferred)
    return rev_p.bind(out, dimensions=(0,)) if swapped and function == "correlate" else out


# One call in programs, and one program outside of them, in place of half a dozen operations.
_compiled = jit(_filtered, static_argnums=(0, 3, 4, 5))
