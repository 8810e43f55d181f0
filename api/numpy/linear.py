"""Products of vectors, matrices and stacks of them, and Einstein's summation convention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, ShapeError, config, get_aval
from primax.extend.provisional.arguments import canonical_axes, canonical_axis, integer, listed, sequence
from primax.extend.provisional.precision import PrecisionLike, canonicalize_precision
from primax.extend.provisional.sharding import unreduced_params, with_out_sharding
from primax.extend.provisional.typing import ArrayLike, Axes, DTypeLike, ShardingLike
from primax.numpy.conversion import read_dtype
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, convert, promote, strong
from primax.numpy.shaping import moveaxis, ravel, reshaped
from primax.numpy.ufuncs import conjugate, multiply, negative, subtract
from primax.plugins import arithmetic, bitwise
from primax.plugins.dot import dot_general_p
from primax.plugins.structural import broadcast_shapes, concatenate_p, reshape_p, split_p, squeeze_p, transpose_p

__all__ = ["cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot", "vecmat"]

_MATRIX_BY_MATRIX = (((1,), (0,)), ((), ()))


def prepared(function: str, arrays: Sequence[Any], preferred: Any) -> tuple[list[Any], Any]:
    """The arguments of `dot_general`: the operands, and the dtype of the result, or None for a weak type.

    Operands keep their dtypes, as in JAX, so that interpreters see them; the lowering of `dot_general` converts them.
    Operands are converted here only if the result is weakly typed or its dtype is given.
    """
    if preferred is None:
        avals = [aval_of(function, x, i) for i, x in enumerate(arrays)]
        first, strong_one = avals[0].dtype, False
        for aval in avals:
            if aval.dtype != first:
                break
            strong_one = strong_one or not aval.weak_type
        else:
            return list(arrays), first if strong_one else None
        dtype, weak = dtypes.result_type(*avals, return_weak_type=True)
        if weak:
            return [convert(x, aval, dtype, weak) for x, aval in zip(arrays, avals, strict=True)], None
        return list(arrays), dtype
    result_dtype = read_dtype(preferred, function)
    avals = [aval_of(function, x, i) for i, x in enumerate(arrays)]
    with config.numpy_dtype_promotion("standard"):  # the caller chose the dtype of the result, so conversion is allowed
        common = dtypes.result_type(*avals)
    bits = dtypes.itemsize_bits(result_dtype)
    if bits < dtypes.itemsize_bits(common) and all(dtypes.itemsize_bits(aval.dtype) <= bits for aval in avals):
        common = result_dtype  # no operand has a wider dtype; only their common dtype is wider
    return [strong(convert(x, aval, common)) for x, aval in zip(arrays, avals, strict=True)], result_dtype


def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The sum of products over the last axis of `a` and the second to last axis of `b`.

    Args:
      a: an array of shape (..., k) or a number.
      b: an array of shape (..., k, n) or (k,), or a number.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      An array with the axes of `a`, then those of `b`, without the two summed axes.

    Raises:
      TypeError: the two axes have different lengths, or an argument is neither an array nor a number.

    >>> import primax as px
    >>> px.numpy.dot(px.numpy.array([1.0, 2.0]), px.numpy.array([3.0, 4.0]))
    Array(11., dtype=float32)
    """
    if out_sharding is not None:
        return with_out_sharding(
            "dot",
            lambda a, b: dot(a, b, precision=precision, preferred_element_type=preferred_element_type),
            (a, b),
            out_sharding,
        )
    if type(a) is Array and type(b) is Array and precision is None and preferred_element_type is None:
        return _dot_of_arrays(a, b)
    return _dot(a, b, precision, preferred_element_type)


def _dot(a: Any, b: Any, precision: Any = None, preferred_element_type: Any = None) -> Array:
    (a, b), preferred = prepared("dot", (a, b), preferred_element_type)
    x, y = get_aval(a).shape, get_aval(b).shape
    if not x or not y:
        return _scaled(a, b, preferred)
    if len(x) == 2 and len(y) == 2 and x[1] == y[0]:
        numbers: Any = _MATRIX_BY_MATRIX
    else:
        axis = len(y) - 2 if len(y) > 1 else 0
        if x[-1] != y[axis]:
            raise TypeError(
                f"dot: the last axis of a and axis {axis} of b must have the same length, got {x[-1]} and {y[axis]} "
                "for "
                f"shapes {x} and {y}"
            )
        numbers = (((len(x) - 1,), (axis,)), ((), ()))
    return _dot_general(a, b, numbers, precision, preferred)


def _dot_general(a: Any, b: Any, numbers: Any, precision: Any, preferred: Any) -> Array:
    return dot_general_p.bind(
        a,
        b,
        dimension_numbers=numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred,
        **unreduced_params(),
    )


def _scaled(a: Any, b: Any, preferred: Any) -> Array:
    if preferred is not None:
        a, b = (convert(x, get_aval(x), preferred) for x in (a, b))
    return (bitwise.and_p if dtypes.is_bool(get_aval(a).dtype) else arithmetic.mul_p).bind(a, b)


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The matrix product of two arrays, or of two stacks of matrices.

    Args:
      a: an array of shape (..., m, k) or (k,).
      b: an array of shape (..., k, n) or (k,); leading axes broadcast with those of `a`.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      An array of shape (..., m, n), without the axis m or n if an argument is of rank 1.

    Raises:
      TypeError: an argument is of rank 0, or the inner axes differ in length.
      ValueError: the leading axes do not broadcast.

    >>> import primax as px
    >>> px.numpy.matmul(px.numpy.ones((2, 3)), px.numpy.ones((3, 4))).shape
    (2, 4)
    """
    if out_sharding is not None:
        return with_out_sharding(
            "matmul",
            lambda a, b: matmul(a, b, precision=precision, preferred_element_type=preferred_element_type),
            (a, b),
            out_sharding,
        )
    if type(a) is Array and type(b) is Array and precision is None and preferred_element_type is None:
        return _matmul_of_arrays(a, b)
    return _matmul(a, b, precision, preferred_element_type)


def _matmul(a: Any, b: Any, precision: Any = None, preferred_element_type: Any = None) -> Array:
    (a, b), preferred = prepared("matmul", (a, b), preferred_element_type)
    x, y = get_aval(a).shape, get_aval(b).shape
    if not x or not y:
        raise ShapeError(f"matmul: arguments must have an axis, got shapes {x} and {y}; multiply by numbers with *")
    inner = max(len(y) - 2, 0)
    if x[-1] != y[inner]:
        raise TypeError(
            f"matmul: the last axis of a and axis {inner} of b must have the same length, got {x[-1]} and {y[inner]} "
            "for "
            f"shapes {x} and {y}"
        )
    if len(x) == 2 and len(y) == 2:
        return _dot_general(a, b, _MATRIX_BY_MATRIX, precision, preferred)
    rows = ("m", "k") if len(x) > 1 else ("k",)
    columns = ("k", "n") if len(y) > 1 else ("k",)
    return _stacked(a, b, rows, columns, rows[:-1] + columns[1:], precision, preferred)


@one_program(2)
def _dot_of_arrays(a: Array, b: Array) -> Array:
    return _dot(a, b)


@one_program(2)
def _matmul_of_arrays(a: Array, b: Array) -> Array:
    return _matmul(a, b)


def _stacked(a: Any, b: Any, own_a: Any, own_b: Any, own_out: Any, precision: Any, preferred: Any) -> Array:
    """A product over labeled last axes, for all indices of leading axes, which broadcast."""
    x, y = get_aval(a).shape, get_aval(b).shape
    outer_x, outer_y = x[: len(x) - len(own_a)], y[: len(y) - len(own_b)]
    outer = broadcast_shapes(outer_x, outer_y)
    labels = tuple(range(len(outer)))
    a, labels_a = _without_ones(a, labels[len(outer) - len(outer_x) :], outer_x, outer)
    b, labels_b = _without_ones(b, labels[len(outer) - len(outer_y) :], outer_y, outer)
    return contract(a, (*labels_a, *own_a), b, (*labels_b, *own_b), (*labels, *own_out), precision, preferred)


def _without_ones(x: Any, labels: Any, sizes: Any, outer: Any) -> tuple[Any, Any]:
    """An array without leading axes of length 1 that broadcast against longer ones."""
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
    dot_product: Callable[..., Any] | None = None,
) -> Array:
    """The product of two labeled arrays, summed over the labels that the result lacks.

    The program has at most one `dot_general` and one `transpose`; if swapping the factors avoids it, no `transpose`.

    Args:
      x, y: arrays.
      of_x, of_y: the labels of their axes; each label appears once.
      out: the labels of the result's axes; each is in `of_x` or `of_y`.
      precision: see `lax.dot_general`.
      preferred: the dtype of the result, or None.
      dot_product: a function with the parameters of `lax.dot_general` that replaces it.
    """
    shared = set(of_x) & set(of_y)
    batch = [label for label in out if label in shared]
    summed = [label for label in of_x if label in shared and label not in out]
    free_x = [label for label in of_x if label not in shared]
    free_y = [label for label in of_y if label not in shared]
    if not summed and not free_x and not free_y and dot_product is None:
        return _scaled(_permuted(x, of_x, out), _permuted(y, of_y, out), preferred)
    forward, backward = [*batch, *free_x, *free_y], [*batch, *free_y, *free_x]
    if forward != list(out) and backward == list(out) and dot_product is None:
        x, of_x, y, of_y, forward = y, of_y, x, of_x, backward
        if isinstance(precision, tuple):
            precision = precision[::-1]
    numbers = (
        (tuple(map(of_x.index, summed)), tuple(map(of_y.index, summed))),
        (tuple(map(of_x.index, batch)), tuple(map(of_y.index, batch))),
    )
    if dot_product is None:
        product = _dot_general(x, y, numbers, precision, preferred)
    else:
        dtype = aval_of("dot_general", x, "lhs").dtype if preferred is None else preferred
        product = dot_product(x, y, numbers, precision, preferred_element_type=dtype)
    return _permuted(product, forward, out)


def _permuted(x: Any, labels: Sequence[Any], new_labels: Sequence[Any]) -> Array:
    order = tuple(map(labels.index, new_labels))
    return x if order == tuple(range(len(order))) else transpose_p.bind(x, permutation=order)


@one_program("precision preferred_element_type")
def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None
) -> Array:
    """The sum of products of the elements of two arrays; the first array is conjugated.

    Args:
      a, b: arrays with the same number of elements.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.

    Raises:
      TypeError: the sizes differ.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.vdot(pnp.array([1j, 2]), pnp.array([1j, 1])), pnp.vdot(pnp.ones((2, 2)), pnp.ones((2, 2)))
      (Array(3.+0.j, dtype=complex64), Array(4., dtype=float32))
    """
    aval_of("vdot", a, 0)
    aval_of("vdot", b, 1)
    return dot(ravel(conjugate(a)), ravel(b), precision=precision, preferred_element_type=preferred_element_type)


@one_program("precision preferred_element_type")
def inner(
    a: ArrayLike, b: ArrayLike, *, precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None
) -> Array:
    """The sum of products over the last axes of two arrays.

    Args:
      a: an array of shape (..., k), or a number.
      b: an array of shape (..., k), or a number.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.

    Returns:
      An array with the axes of `a`, then those of `b`, without the two last axes.

    Raises:
      TypeError: the last axes differ in length.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.inner(pnp.ones((2, 3)), pnp.ones((4, 3))).shape, pnp.inner(pnp.arange(3), 2)
      ((2, 4), Array([0, 2, 4], dtype=int32))
    """
    if not aval_of("inner", a, 0).shape or not aval_of("inner", b, 1).shape:
        return dot(a, b, preferred_element_type=preferred_element_type)
    return tensordot(a, b, (-1, -1), precision=precision, preferred_element_type=preferred_element_type)


@one_program("out")
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The products of each element of one array with each element of another.

    Args:
      a, b: arrays, which are raveled.
      out: None.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.outer(pnp.arange(2), pnp.ones((2, 3))).shape
      (2, 6)
    """
    if out is not None:
        raise NotImplementedError("outer: out must be None: arrays are immutable")
    rows, columns = aval_of("outer", a, 0).size, aval_of("outer", b, 1).size
    return multiply(reshaped(a, (rows, 1)), reshaped(b, (1, columns)))


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: Axes | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The sum of products of two arrays over several axes.

    Args:
      a, b: arrays.
      axes: the number of axes to sum over, the last of `a` and the first of `b`; or a pair of axes, or of sequences of
        axes.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      An array with the remaining axes of `a`, then the remaining axes of `b`.

    Raises:
      TypeError: the axes differ in number or length.
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.numpy.tensordot(px.numpy.ones((2, 3, 4)), px.numpy.ones((3, 4, 5))).shape
    (2, 5)
    """
    if out_sharding is not None:
        return with_out_sharding(
            "tensordot",
            lambda a, b: tensordot(a, b, axes, precision=precision, preferred_element_type=preferred_element_type),
            (a, b),
            out_sharding,
        )
    (a, b), preferred = prepared("tensordot", (a, b), preferred_element_type)
    x, y = get_aval(a).shape, get_aval(b).shape
    if not hasattr(axes, "__iter__"):
        count = max(integer("tensordot", "axes", axes), 0)  # NumPy sums over no axes where the number is negative
        if count > min(len(x), len(y)):
            raise TypeError(f"tensordot: axes must be at most {min(len(x), len(y))}, the lower rank, got {count}")
        of_a, of_b = tuple(range(len(x) - count, len(x))), tuple(range(count))
    else:
        pair = sequence("tensordot", "axes", axes)
        if len(pair) != 2:
            raise ValueError(f"tensordot: axes must be an integer, or the axes of a and those of b, got {axes!r}")
        first, second = pair
        of_a = canonical_axes(listed(first), len(x), "tensordot")
        of_b = canonical_axes(listed(second), len(y), "tensordot")
    sizes = tuple(x[i] for i in of_a), tuple(y[i] for i in of_b)
    if sizes[0] != sizes[1]:
        raise TypeError(
            f"tensordot: the axes summed over must have the same length, got {sizes[0]} and {sizes[1]} for axes "
            f"{of_a} of "
            f"shape {x} and {of_b} of shape {y}"
        )
    return _dot_general(a, b, ((of_a, of_b), ((), ())), precision, preferred)


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The products of stacks of vectors; the first ones are conjugated.

    Args:
      x1, x2: arrays whose shapes broadcast except along `axis`.
      axis: the axis of the vectors.
      precision: see `lax.dot_general`.
      preferred_element_type: the dtype of accumulation and result; the common dtype if None.

    Raises:
      ValueError: the vectors differ in length, or the other axes do not broadcast.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.vecdot(pnp.array([[1j, 0], [1, 2]]), pnp.array([1j, 1]))  # the first one is conjugated
      Array([1.+0.j, 2.+1.j], dtype=complex64)
    """
    (a, b), preferred = prepared("vecdot", (x1, x2), preferred_element_type)
    a, b = (moveaxis(x, canonical_axis(axis, len(get_aval(x).shape), "vecdot"), -1) for x in (a, b))
    lengths = get_aval(a).shape[-1], get_aval(b).shape[-1]
    if lengths[0] != lengths[1]:
        raise ValueError(f"vecdot: the vectors must have the same length, got {lengths[0]} and {lengths[1]}")
    return _stacked(conjugate(a), b, ("k",), ("k",), (), precision, preferred)


@one_program("")
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of stacks of matrices with stacks of vectors.

    Args:
      x1: an array of shape (..., m, n).
      x2: an array of shape (..., n); leading axes broadcast with those of `x1`.

    Raises:
      ValueError: the inner axes differ in length, or the leading axes do not broadcast.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.matvec(pnp.ones((5, 2, 3)), pnp.ones(3)).shape
      (5, 2)
    """
    (a, b), preferred = prepared("matvec", (x1, x2), None)
    _require_inner("matvec", a, 2, -1, b, 1, -1)
    return _stacked(a, b, ("m", "k"), ("k",), ("m",), None, preferred)


@one_program("")
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The products of stacks of conjugated vectors with stacks of matrices.

    Args:
      x1: an array of shape (..., m).
      x2: an array of shape (..., m, n); leading axes broadcast with those of `x1`.

    Raises:
      ValueError: the inner axes differ in length, or the leading axes do not broadcast.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.vecmat(pnp.array([1j, 0]), pnp.eye(2))  # the vector is conjugated
      Array([0.-1.j, 0.+0.j], dtype=complex64)
    """
    (a, b), preferred = prepared("vecmat", (x1, x2), None)
    _require_inner("vecmat", a, 1, -1, b, 2, -2)
    return _stacked(conjugate(a), b, ("k",), ("k", "n"), ("n",), None, preferred)


def _require_inner(function: str, a: Any, rank_a: int, i: int, b: Any, rank_b: int, j: int) -> None:
    x, y = get_aval(a).shape, get_aval(b).shape
    if len(x) < rank_a or len(y) < rank_b or x[i] != y[j]:
        raise ValueError(
            f"{function}: arguments must be of ranks {rank_a} and {rank_b} or more, and their inner axes of one "
            f"length, got shapes {x} and {y}"
        )


@one_program("")
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: each element of one array times the whole other array, as blocks.

    Args:
      a, b: arrays or numbers.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.kron(pnp.array([[1, 2]]), pnp.array([[1], [10]]))
      Array([[ 1,  2],
             [10, 20]], dtype=int32)
    """
    a, b = promote("kron", a, b)
    rank = max(len(get_aval(a).shape), len(get_aval(b).shape))
    x, y = ((1,) * (rank - len(get_aval(z).shape)) + get_aval(z).shape for z in (a, b))
    left = reshaped(a, tuple([size for pair in zip(x, (1,) * rank, strict=True) for size in pair]))
    right = reshaped(b, tuple([size for pair in zip((1,) * rank, y, strict=True) for size in pair]))
    return reshaped(multiply(left, right), tuple([m * n for m, n in zip(x, y, strict=True)]))


@one_program("axisa axisb axisc axis")
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross products of vectors of length 3; for vectors of length 2, the third component.

    Args:
      a, b: arrays whose shapes broadcast except along the axes of the vectors.
      axisa, axisb, axisc: the axes of the vectors in `a`, in `b` and in the result.
      axis: replaces `axisa`, `axisb` and `axisc` if given.

    Raises:
      ValueError: a vector is not of length 2 or 3.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.cross(pnp.array([1, 2]), pnp.array([3, 4])), pnp.cross(pnp.array([1, 0, 0]), pnp.array([0, 1, 0]))
      (Array(-2, dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote("cross", a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    lengths = get_aval(a).shape[-1], get_aval(b).shape[-1]
    if any(length not in (2, 3) for length in lengths):
        raise ValueError(f"cross: vectors must be of length 2 or 3, got {lengths[0]} and {lengths[1]}")
    (a1, a2, a3), (b1, b2, b3) = (_components(x) for x in (a, b))

    def component(p: Any, q: Any, r: Any, s: Any) -> Any:
        """p * q - r * s, where None is zero."""
        first = None if p is None or q is None else multiply(p, q)
        second = None if r is None or s is None else multiply(r, s)
        return first if second is None else negative(second) if first is None else subtract(first, second)

    last = component(a1, b2, a2, b1)
    if lengths == (2, 2):
        return last
    parts = [component(a2, b3, a3, b2), component(a3, b1, a1, b3), last]
    shape = get_aval(last).shape
    joined = concatenate_p.bind(*[reshaped(x, (*shape, 1)) for x in parts], dimension=len(shape))
    return strong(moveaxis(joined, -1, axisc))


def _components(x: Any) -> list[Any]:
    """The components of vectors along the last axis; None for a missing third one."""
    rank, length = len(get_aval(x).shape), get_aval(x).shape[-1]
    parts = split_p.bind(x, sizes=(1,) * length, axis=rank - 1)
    return [*[squeeze_p.bind(part, dimensions=(rank - 1,)) for part in parts], None][:3]
