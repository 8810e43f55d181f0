"""Sums and products of BCOO arrays with each other and with dense arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from primax import numpy as pnp
from primax.experimental.sparse.coordinates import (
    Coordinates,
    as_array,
    axes_of,
    check_none,
    check_sparse,
    is_single,
    operand,
    over_batch,
    with_full_batch,
)
from primax.experimental.sparse.shapes import bcoo_broadcast_in_dim
from primax.experimental.sparse.storage import bcoo_todense, capped
from primax.extend.core import Array
from primax.extend.provisional.arguments import numpy_dtype, sequence
from primax.extend.provisional.precision import PrecisionLike
from primax.extend.provisional.typing import ArrayLike, DotDimensionNumbers, DTypeLike
from primax.interpreters.vmap import vmap
from primax.lax import dot_general
from primax.plugins.sparse import cleared, contracted, taken, within

_T = TypeVar("_T", bound=Coordinates)


def bcoo_multiply_dense(sp_mat: Coordinates, v: ArrayLike) -> Array:
    """The data of the elementwise product of a sparse array and a dense array.

    Args:
      sp_mat: a BCOO array.
      v: a number, or an array that broadcasts to the shape of `sp_mat`.

    Raises:
      TypeError: `sp_mat` is not a BCOO array, or `v` is not an array.
      ValueError: the shapes do not broadcast.
      NotImplementedError: the product is larger than `sp_mat`.
    """
    name = "bcoo_multiply_dense"
    check_sparse(name, "sp_mat", sp_mat)
    if is_single(v) and not isinstance(v, Coordinates):
        v = v if isinstance(v, (bool, int, float, complex)) else as_array(name, "v", v)
        out: Array = pnp.multiply(sp_mat.data, v)
        return out
    dense = as_array(name, "v", v)
    try:
        shape = np.broadcast_shapes(sp_mat.shape, dense.shape)
    except ValueError:
        raise ValueError(f"{name}: v must broadcast to the shape {sp_mat.shape}, got {dense.shape}") from None
    if prod(shape) != sp_mat.size or len(shape) != sp_mat.ndim:
        raise NotImplementedError(
            f"{name}: v must broadcast to the shape {sp_mat.shape}, and no further, got {dense.shape}; use "
            "bcoo_broadcast_in_dim first, or the dense array, .todense()"
        )
    n, k = sp_mat.n_batch, sp_mat.n_sparse
    dense = dense.reshape((1,) * (sp_mat.ndim - dense.ndim) + dense.shape)
    dense = pnp.broadcast_to(dense, sp_mat.batch_shape + dense.shape[n:])
    single = np.array(
        [size == 1 and own != 1 for size, own in zip(dense.shape[n : n + k], sp_mat.sparse_shape, strict=True)]
    )

    def of_one(data: Any, indices: Any, x: Any) -> Any:
        rows, valid = within(indices, sp_mat.sparse_shape)
        rows = pnp.where(single, 0, rows) if k else rows
        factors = taken(x, rows)
        return cleared(data, valid) * factors

    out = over_batch(of_one, n)(*with_full_batch(sp_mat), dense)
    return out


def bcoo_multiply_sparse(lhs: _T, rhs: Coordinates) -> _T:
    """The elementwise product of two sparse arrays, which stores an element for each pair of stored elements.

    Args:
      lhs: a BCOO array.
      rhs: a BCOO array with the same numbers of batch, sparse and dense dimensions, and the same sparse sizes.

    Raises:
      TypeError: an operand is not a BCOO array.
      ValueError: the shapes do not broadcast.
      NotImplementedError: the numbers of dimensions of each kind, or sparse sizes, differ.
    """
    name = "bcoo_multiply_sparse"
    check_sparse(name, "lhs", lhs)
    check_sparse(name, "rhs", rhs)
    _check_layouts(name, lhs, rhs)
    try:
        shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    except ValueError:
        raise ValueError(f"{name}: rhs must have the shape {lhs.shape} of lhs, got {rhs.shape}") from None
    if lhs.sparse_shape != rhs.sparse_shape:
        raise NotImplementedError(
            f"{name}: rhs must have the sparse sizes {lhs.sparse_shape} of lhs, got {rhs.sparse_shape}; multiply by "
            "the dense array, .todense()"
        )
    n, sizes = lhs.n_batch, lhs.sparse_shape
    batch = shape[:n]

    def of_one(x: Any, rows: Any, y: Any, columns: Any) -> tuple[Any, Any]:
        rows, valid = within(rows, sizes)
        columns, also_valid = within(columns, sizes)
        same = pnp.all(rows[:, None] == columns, axis=-1) & valid[:, None] & also_valid
        blocks = pnp.expand_dims(x, 1) * y
        count = same.size
        places = pnp.where(same[:, :, None], rows[:, None], np.array(sizes, rows.dtype))
        return cleared(blocks.reshape(count, *blocks.shape[2:]), same.reshape(count)), places.reshape(count, len(sizes))

    parts = [pnp.broadcast_to(x, batch + x.shape[n:]) for mat in (lhs, rhs) for x in (mat.data, mat.indices)]
    data, indices = over_batch(of_one, n)(*parts)
    return lhs.remade(data, indices, shape)


def _check_layouts(name: str, lhs: Coordinates, rhs: Coordinates) -> None:
    left, right = ((mat.n_batch, mat.n_sparse, mat.n_dense) for mat in (lhs, rhs))
    if left != right:
        raise NotImplementedError(
            f"{name}: rhs must have {left[0]} batch, {left[1]} sparse and {left[2]} dense dimensions as lhs has, "
            f"got {right[0]}, {right[1]} and {right[2]}; use update_layout first"
        )


def added(lhs: Coordinates, rhs: Any, sign: int) -> Any:
    """The sum of a BCOO array and an array, or their difference: sparse if both are sparse, and dense otherwise."""
    name = "add" if sign > 0 else "subtract"
    if isinstance(rhs, Coordinates):
        if lhs.shape != rhs.shape:
            raise NotImplementedError(
                f"{name}: sparse operands must have the same shape, got {lhs.shape} and {rhs.shape}; use "
                "bcoo_broadcast_in_dim first"
            )
        _check_layouts(name, lhs, rhs)
        (x, rows), (y, columns) = with_full_batch(lhs), with_full_batch(rhs)
        dtype, kind = pnp.result_type(x, y), pnp.result_type(rows, columns)
        data = pnp.concatenate([x.astype(dtype), (y if sign > 0 else -y).astype(dtype)], axis=lhs.n_batch)
        return lhs.remade(data, pnp.concatenate([rows.astype(kind), columns.astype(kind)], axis=lhs.n_batch))
    dense = as_array(name, "the other operand", rhs)
    sizes = zip(lhs.shape, dense.shape[dense.ndim - lhs.ndim :], strict=False)
    if dense.ndim < lhs.ndim or any(own not in (1, size) for own, size in sizes):
        raise NotImplementedError(
            f"{name}: a dense operand must have the shape {lhs.shape} of the sparse one, or a larger one, got "
            f"{dense.shape}; the sum is dense, use .todense()"
        )
    return bcoo_todense(lhs) + dense if sign > 0 else bcoo_todense(lhs) - dense


def _numbers(name: str, lhs: Any, rhs: Any, dimension_numbers: Any) -> tuple[tuple[int, ...], ...]:
    """The contracting dimensions and the batch dimensions of both operands, after checks."""
    pairs = [
        sequence(name, "dimension_numbers", pair) for pair in sequence(name, "dimension_numbers", dimension_numbers)
    ]
    if len(pairs) != 2 or any(len(pair) != 2 for pair in pairs):
        raise ValueError(
            f"{name}: dimension_numbers must be ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), got "
            f"{dimension_numbers!r}"
        )
    (lc, rc), (lb, rb) = pairs
    out = tuple(
        axes_of(name, f"dimension_numbers[{i}][{j}]", axes, x.ndim)
        for i, j, axes, x in ((0, 0, lc, lhs), (0, 1, rc, rhs), (1, 0, lb, lhs), (1, 1, rb, rhs))
    )
    for i, kind in ((0, "contracting"), (2, "batch")):
        sizes = [tuple(x.shape[axis] for axis in axes) for x, axes in ((lhs, out[i]), (rhs, out[i + 1]))]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"{name}: {kind} dimensions must have the same sizes in lhs and rhs, got {sizes[0]} and {sizes[1]} for "
                f"shapes {lhs.shape} and {rhs.shape}"
            )
    for side, axes, batch in (("lhs", out[0], out[2]), ("rhs", out[1], out[3])):
        if set(axes) & set(batch):
            raise ValueError(f"{name}: {side} must contract no batch dimension, got {axes} and {batch}")
    return out


def bcoo_dot_general(
    lhs: Coordinates | ArrayLike,
    rhs: Coordinates | ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> Any:
    """`primax.lax.dot_general` of two arrays; one or both are BCOO arrays.

    Args:
      lhs: a BCOO array or a dense array.
      rhs: a BCOO array or a dense array.
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)). For sparse arrays, lhs_batch and
        rhs_batch must be batch dimensions.
      precision: the precision of dense products; see `primax.lax.dot_general`.
      preferred_element_type: the dtype of the result.
      out_sharding: None.

    Returns:
      A dense array; if both operands are sparse, a BCOO array that stores at most `size` elements.

    Raises:
      TypeError: an operand is not an array.
      ValueError: the dimensions do not fit.
      NotImplementedError: a dense dimension is contracted, a batch dimension is not one of the sparse array, or
        `out_sharding` is not None.
    """
    name = "bcoo_dot_general"
    check_none(name, "out_sharding", out_sharding)
    kind = (
        None if preferred_element_type is None else numpy_dtype(name, "preferred_element_type", preferred_element_type)
    )
    a, b = (operand(name, side, x) for side, x in (("lhs", lhs), ("rhs", rhs)))
    lc, rc, lb, rb = _numbers(name, a, b, dimension_numbers)
    sparse = [isinstance(x, Coordinates) for x in (a, b)]
    if not any(sparse):
        return dot_general(a, b, ((lc, rc), (lb, rb)), precision, kind)
    dtype = pnp.result_type(*(x.data if isinstance(x, Coordinates) else x for x in (a, b)))
    if all(sparse):
        out = _of_sparse(a, b, lc, rc, lb, rb, dtype)
        return out if kind is None else out.remade(out.data.astype(kind))
    if sparse[0]:
        out = _of_dense(a, b, lc, rc, lb, rb, dtype, precision)
    else:
        out = _of_dense(b, a, rc, lc, rb, lb, dtype, precision)
        own, others = b.ndim - len(rc) - len(rb), a.ndim - len(lc) - len(lb)
        out = pnp.moveaxis(out, range(len(lb), len(lb) + own), range(len(lb) + others, out.ndim))
    return out if kind is None else out.astype(kind)


def _check_dot(mat: Coordinates, contracted: Sequence[int], batch: Sequence[int]) -> None:
    if any(axis >= mat.n_batch + mat.n_sparse for axis in contracted):
        raise NotImplementedError(
            f"bcoo_dot_general: contracting dimensions {tuple(contracted)} must not be dense in {mat!r}; use "
            "update_layout(n_dense=) first"
        )
    if any(axis >= mat.n_batch for axis in batch):
        raise NotImplementedError(
            f"bcoo_dot_general: batch dimensions {tuple(batch)} must be among the batch dimensions of {mat!r}; use "
            "update_layout(n_batch=) first"
        )


def _of_dense(mat: Coordinates, x: Any, mc: Any, xc: Any, mb: Any, xb: Any, dtype: Any, precision: Any) -> Any:
    """A sparse array times a dense array. Result: batch dimensions, then the others of the sparse and the dense."""
    _check_dot(mat, mc, mb)
    n, k = mat.n_batch, mat.n_sparse
    partner = dict(zip([*mc, *mb], [*xc, *xb], strict=True))
    summed = [axis for axis in range(n, n + k) if axis in mc]
    kept = [axis - n for axis in range(n, n + k) if axis not in mc]
    mapped = [axis for axis in range(n) if axis in partner]
    others = [axis for axis in range(x.ndim) if axis not in partner.values()]
    x = x.transpose(*(partner[axis] for axis in [*mapped, *summed]), *others).astype(dtype)

    def of_one(data: Any, indices: Any, rest: Any) -> Any:
        data = data.astype(dtype)
        if kept:
            return contracted(data, indices, rest, mat.sparse_shape, [axis - n for axis in summed], kept)
        rows, valid = within(indices, mat.sparse_shape)
        data = cleared(data, valid)
        if summed:
            return pnp.tensordot(data, taken(rest, rows), axes=((0,), (0,)), precision=precision)
        return pnp.tensordot(pnp.sum(data, axis=0, dtype=dtype), rest, axes=0)

    function = of_one
    for axis in reversed(range(n)):
        function = vmap(function, in_axes=(0, 0, 0 if axis in mapped else None))
    out = function(*with_full_batch(mat), x)
    gone = [axis for axis in mapped if axis in mc]
    out = pnp.sum(out, axis=tuple(gone), dtype=dtype) if gone else out
    left = [axis for axis in range(n) if axis not in gone]
    first = [left.index(axis) for axis in mb]
    return out.transpose(*first, *(axis for axis in range(out.ndim) if axis not in first))


def _of_sparse(lhs: _T, rhs: Coordinates, lc: Any, rc: Any, lb: Any, rb: Any, dtype: Any) -> _T:
    for mat, axes, batch in ((lhs, lc, lb), (rhs, rc, rb)):
        _check_dot(mat, axes, batch)
        if mat.n_dense:
            raise NotImplementedError(
                f"bcoo_dot_general: two sparse operands must have no dense dimensions, got {mat!r}; use "
                "update_layout(n_dense=0) first"
            )
        if any(axis < mat.n_batch for axis in axes):
            raise NotImplementedError(
                f"bcoo_dot_general: contracting dimensions {tuple(axes)} of two sparse operands must be sparse "
                f"in {mat!r}; use update_layout(n_batch=) first"
            )
    n, m = lhs.n_batch, rhs.n_batch
    left = [axis for axis in range(n) if axis not in lb]
    right = [axis for axis in range(m) if axis not in rb]
    own = [axis - n for axis in range(n, lhs.ndim) if axis not in lc]
    others = [axis - m for axis in range(m, rhs.ndim) if axis not in rc]
    if right and own:
        raise NotImplementedError(
            f"bcoo_dot_general: the batch dimensions {right} of rhs come after the sparse ones of lhs in the result, "
            "which must have its batch dimensions first; use update_layout(n_batch=) first"
        )
    sizes = [lhs.sparse_shape[i] for i in own] + [rhs.sparse_shape[i] for i in others]
    kind = pnp.result_type(lhs.indices, rhs.indices)

    def of_one(x: Any, rows: Any, y: Any, columns: Any) -> tuple[Any, Any]:
        rows, valid = within(rows.astype(kind), lhs.sparse_shape)
        columns, also_valid = within(columns.astype(kind), rhs.sparse_shape)
        same = valid[:, None] & also_valid
        for i, j in zip(lc, rc, strict=True):
            same &= rows[:, None, i - n] == columns[:, j - m]
        count = same.size
        blocks = pnp.where(same, x.astype(dtype)[:, None] * y.astype(dtype), pnp.zeros((), dtype)).reshape(count)
        if not sizes:
            return pnp.sum(blocks, dtype=dtype)[None], pnp.zeros((1, 0), kind)
        places = [pnp.broadcast_to(rows[:, None, i], same.shape) for i in own]
        places += [pnp.broadcast_to(columns[:, j], same.shape) for j in others]
        stacked = pnp.where(same[..., None], pnp.stack(places, axis=-1), np.array(sizes, kind))
        return blocks, stacked.reshape(count, len(sizes))

    function = of_one
    for _ in right:
        function = vmap(function, in_axes=(None, None, 0, 0))
    for _ in left:
        function = vmap(function, in_axes=(0, 0, None, None))
    for _ in lb:
        function = vmap(function)
    first, second = with_full_batch(lhs), with_full_batch(rhs)
    parts = [x.transpose(*lb, *left, *range(n, x.ndim)) for x in first]
    parts += [x.transpose(*rb, *right, *range(m, x.ndim)) for x in second]
    batch = [lhs.shape[axis] for axis in [*lb, *left]] + [rhs.shape[axis] for axis in right]
    data, indices = function(*parts)
    return capped(lhs.remade(data, indices, (*batch, *sizes)))


def bcoo_dot_general_sampled(
    A: ArrayLike, B: ArrayLike, indices: ArrayLike, *, dimension_numbers: DotDimensionNumbers
) -> Array:
    """The elements at given indices of a product of dense arrays, without computing the other elements.

    Args:
      A: an array.
      B: an array.
      indices: integers of shape (*batch, nse, n_sparse): positions in the product, after its batch dimensions.
      dimension_numbers: ((A_contracting, B_contracting), (A_batch, B_batch)).

    Raises:
      TypeError: an argument is not an array.
      ValueError: the dimensions or the shape of `indices` do not fit.
    """
    name = "bcoo_dot_general_sampled"
    a, b, rows = as_array(name, "A", A), as_array(name, "B", B), as_array(name, "indices", indices)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"{name}: indices must be integers, got {rows.dtype}")
    ac, bc, ab, bb = _numbers(name, a, b, dimension_numbers)
    free_a = [axis for axis in range(a.ndim) if axis not in (*ac, *ab)]
    free_b = [axis for axis in range(b.ndim) if axis not in (*bc, *bb)]
    count = len(free_a) + len(free_b)
    batch = tuple(a.shape[axis] for axis in ab)
    if rows.ndim != len(batch) + 2 or rows.shape[: len(batch)] != batch or rows.shape[-1] != count:
        raise ValueError(f"{name}: indices must have shape {(*batch, 'nse', count)}, got {rows.shape}")
    width = prod(a.shape[axis] for axis in ac)
    a, b = a.transpose(*ab, *free_a, *ac), b.transpose(*bb, *free_b, *bc)

    def of_one(x: Any, y: Any, places: Any) -> Any:
        first, second = places[:, : len(free_a)], places[:, len(free_a) :]
        parts = []
        for value, columns in ((x, first), (y, second)):
            row = taken(value, columns)
            parts.append(row.reshape(len(row), width))
        return pnp.sum(parts[0] * parts[1], axis=1)

    out: Array = over_batch(of_one, len(batch))(a, b, rows)
    return out


def matmul(lhs: Any, rhs: Any) -> Any:
    """`lhs @ rhs`, where one or both are sparse."""
    lhs, rhs = (operand("matmul", side, x) for side, x in (("lhs", lhs), ("rhs", rhs)))
    for side, x in (("lhs", lhs), ("rhs", rhs)):
        if not x.ndim:
            raise ValueError(f"matmul: {side} must have one dimension or more, got shape ()")
    inner = lhs.ndim - 1, max(rhs.ndim - 2, 0)
    if lhs.shape[inner[0]] != rhs.shape[inner[1]]:
        raise ValueError(
            f"matmul: the last dimension of lhs must be as long as that of rhs before its last, got shapes {lhs.shape} "
            f"and {rhs.shape}"
        )
    batches = [x.shape[:-2] for x in (lhs, rhs)]
    if not all(batches):
        out = bcoo_dot_general(lhs, rhs, dimension_numbers=(((inner[0],), (inner[1],)), ((), ())))
        if not batches[1] or lhs.ndim < 2:
            return out
        if isinstance(out, Coordinates):
            raise NotImplementedError(
                f"matmul: sparse operands must have the same batch dimensions, got shapes {lhs.shape} and {rhs.shape}; "
                "use bcoo_broadcast_in_dim first"
            )
        return pnp.moveaxis(out, 0, -2)
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        raise ValueError(f"matmul: batch dimensions must broadcast, got shapes {lhs.shape} and {rhs.shape}") from None
    lhs, rhs = (_with_batch(x, batch) for x in (lhs, rhs))
    axes = tuple(range(len(batch)))
    last = len(batch)
    return bcoo_dot_general(lhs, rhs, dimension_numbers=(((last + 1,), (last,)), (axes, axes)))


def _with_batch(x: Any, batch: tuple[int, ...]) -> Any:
    shape = batch + x.shape[-2:]
    if x.shape == shape:
        return x
    if isinstance(x, Coordinates):
        return bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=range(len(shape) - x.ndim, len(shape)))
    return pnp.broadcast_to(x, shape)
