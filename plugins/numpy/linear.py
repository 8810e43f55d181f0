"""Products of vectors, matrices and stacks of them, and Einstein's summation convention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend.core import get_aval
from primax.plugins import arithmetic
from primax.plugins.dot import dot_general_p
from primax.plugins.numpy.creation import read_dtype
from primax.plugins.numpy.promotion import convert, promote
from primax.plugins.precision import canonicalize_precision
from primax.plugins.structural import broadcast_shapes, reshape_p, transpose_p

__all__ = [
    "dot",
    "matmul",
]

_MATRIX_BY_MATRIX = (((1,), (0,)), ((), ()))


def _prepared(function: str, arrays: Sequence[Any], preferred: Any) -> tuple[list[Any], Any]:
    """Operands of one dtype, and the dtype of the result if it is another."""
    out = promote(function, *arrays)
    if preferred is None:
        return out, None
    return out, read_dtype(preferred, function)


def dot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum of products over the last axis of `a` and the last but one of `b`.

    Args:
      a: an array of shape (..., k) or a number.
      b: an array of shape (..., k, n) or (k,), or a number.
      precision: as in `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in and to return, if not the common one.

    Returns:
      An array whose axes are those of `a`, then those of `b`, without the two that are summed over.

    Raises:
      TypeError: the two axes have different lengths, or an argument is no array and no number.

    >>> import primax as px
    >>> px.numpy.dot(px.numpy.array([1.0, 2.0]), px.numpy.array([3.0, 4.0]))
    Array(11., dtype=float32)
    """
    (a, b), preferred = _prepared("dot", (a, b), preferred_element_type)
    x, y = get_aval(a).shape, get_aval(b).shape
    if not x or not y:
        return _scaled(a, b, preferred)
    if len(x) == 2 and len(y) == 2 and x[1] == y[0]:
        numbers: Any = _MATRIX_BY_MATRIX
    else:
        axis = len(y) - 2 if len(y) > 1 else 0
        if x[-1] != y[axis]:
            raise TypeError(
                f"dot: the last axis of a and axis {axis} of b must have one length, got {x[-1]} and {y[axis]} for "
                f"shapes {x} and {y}"
            )
        numbers = (((len(x) - 1,), (axis,)), ((), ()))
    return _dot_general(a, b, numbers, precision, preferred)


def _dot_general(a: Any, b: Any, numbers: Any, precision: Any, preferred: Any) -> Any:
    return dot_general_p.bind(
        a,
        b,
        dimension_numbers=numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred,
    )


def _scaled(a: Any, b: Any, preferred: Any) -> Any:
    if preferred is not None:
        a, b = (convert(x, get_aval(x), preferred) for x in (a, b))
    return arithmetic.mul_p.bind(a, b)


def matmul(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The matrix product of two arrays, or of two stacks of matrices.

    Args:
      a: an array of shape (..., m, k) or (k,).
      b: an array of shape (..., k, n) or (k,); leading axes broadcast with those of `a`.
      precision: as in `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in and to return, if not the common one.

    Returns:
      An array of shape (..., m, n); an axis of an argument of rank 1 is left out.

    Raises:
      TypeError: an argument is of rank 0, or the inner axes differ in length.
      ValueError: the leading axes do not broadcast.

    >>> import primax as px
    >>> px.numpy.matmul(px.numpy.ones((2, 3)), px.numpy.ones((3, 4))).shape
    (2, 4)
    """
    (a, b), preferred = _prepared("matmul", (a, b), preferred_element_type)
    x, y = get_aval(a).shape, get_aval(b).shape
    if not x or not y:
        raise TypeError(
            f"matmul: arguments must have an axis, got shapes {x} and {y}; multiply by numbers with *"
        )
    inner = max(len(y) - 2, 0)
    if x[-1] != y[inner]:
        raise TypeError(
            f"matmul: the last axis of a and axis {inner} of b must have one length, got {x[-1]} and {y[inner]} for "
            f"shapes {x} and {y}"
        )
    if len(x) == 2 and len(y) == 2:
        return _dot_general(a, b, _MATRIX_BY_MATRIX, precision, preferred)
    rows = ("m", "k") if len(x) > 1 else ("k",)
    columns = ("k", "n") if len(y) > 1 else ("k",)
    return _stacked(a, b, rows, columns, rows[:-1] + columns[1:], precision, preferred)


def _stacked(a: Any, b: Any, own_a: Any, own_b: Any, own_out: Any, precision: Any, preferred: Any) -> Any:
    """A product over the last axes, whose labels are given, for all indices of leading axes that broadcast."""
    x, y = get_aval(a).shape, get_aval(b).shape
    outer_x, outer_y = x[: len(x) - len(own_a)], y[: len(y) - len(own_b)]
    outer = broadcast_shapes(outer_x, outer_y)
    labels = tuple(range(len(outer)))
    a, labels_a = _without_ones(a, labels[len(outer) - len(outer_x) :], outer_x, outer)
    b, labels_b = _without_ones(b, labels[len(outer) - len(outer_y) :], outer_y, outer)
    return contract(a, (*labels_a, *own_a), b, (*labels_b, *own_b), (*labels, *own_out), precision, preferred)


def _without_ones(x: Any, labels: Any, sizes: Any, outer: Any) -> tuple[Any, Any]:
    """An array without the leading axes of length 1 that broadcast against longer ones."""
    kept = [i for i, (label, size) in enumerate(zip(labels, sizes, strict=True)) if size == outer[label]]
    if len(kept) == len(labels):
        return x, labels
    shape = get_aval(x).shape
    sizes = (*(shape[i] for i in kept), *shape[len(labels) :])
    return reshape_p.bind(x, new_sizes=sizes, dimensions=None), tuple(labels[i] for i in kept)


def contract(
    x: Any,
    of_x: Sequence[Any],
    y: Any,
    of_y: Sequence[Any],
    out: Sequence[Any],
    precision: Any,
    preferred: Any,
) -> Any:
    """The product of two arrays whose axes have labels, summed over labels that the result does not have.

    At most one `dot_general` and one `transpose`; no transpose if one of the two orders of the factors needs none.

    Args:
      x, y: arrays of one dtype.
      of_x, of_y: the labels of their axes, each once.
      out: the labels of the axes of the result; each is in `of_x` or `of_y`.
      precision: as in `lax.dot_general`.
      preferred: the dtype of the result, or None.
    """
    shared = set(of_x) & set(of_y)
    batch = [label for label in out if label in shared]
    summed = [label for label in of_x if label in shared and label not in out]
    free_x = [label for label in of_x if label not in shared]
    free_y = [label for label in of_y if label not in shared]
    if not summed and not free_x and not free_y:
        return _scaled(_permuted(x, of_x, out), _permuted(y, of_y, out), preferred)
    forward, backward = [*batch, *free_x, *free_y], [*batch, *free_y, *free_x]
    if forward != list(out) and backward == list(out):
        x, of_x, y, of_y, forward = y, of_y, x, of_x, backward
        if isinstance(precision, tuple):
            precision = precision[::-1]
    numbers = (
        (tuple(map(of_x.index, summed)), tuple(map(of_y.index, summed))),
        (tuple(map(of_x.index, batch)), tuple(map(of_y.index, batch))),
    )
    return _permuted(_dot_general(x, y, numbers, precision, preferred), forward, out)


def _permuted(x: Any, labels: Sequence[Any], wanted: Sequence[Any]) -> Any:
    order = tuple(map(labels.index, wanted))
    return x if order == tuple(range(len(order))) else transpose_p.bind(x, permutation=order)
