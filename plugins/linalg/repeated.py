"""Derivatives of eigenvalues and singular values, also where these are repeated.

Any function of eigenvalues that does not depend on their order has the derivatives that follow from these rules. Where
eigenvalues are equal, their directional derivatives are the eigenvalues of a block of the change; they are not linear
in the change, and no linear rule gives the right second derivatives. (With a linear one, the Hessian of a function of k
equal eigenvalues has k directions at most; that of their sum of squares has k (k + 1) / 2.) A second derivative along
two changes needs the basis in which one block is diagonal. The changes are therefore passed on as tangents of "frames",
which are zero, and in reverse mode as their cotangents:

- forward mode over reverse mode, as in `hessian`, and reverse mode over either mode: the second derivative is right;
- forward mode over forward mode: it is right for changes whose blocks have a common basis and order, as two equal
  changes have, and NaN otherwise;
- third derivatives are NaN.

T. Kato, Perturbation theory for linear operators, 1966, chapter 2; A. S. Lewis and H. S. Sendov, Twice differentiable
spectral functions, SIAM J. Matrix Anal. Appl. 23 (2001).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.dimensions import as_array, bounds, is_symbolic_dim
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, bitwise, comparison, structural
from primax.plugins.control_flow import cond
from primax.plugins.cumulative import cumsum_p
from primax.plugins.exponential import sqrt
from primax.plugins.indexing import take_along
from primax.plugins.linalg.in_parts import InParts
from primax.plugins.linalg.matrices import (
    adjoint,
    along_columns,
    along_rows,
    conj,
    eye,
    front_batch,
    full_like,
    half,
    matmul,
    on_diagonals,
    only,
    picked,
    real_dtype,
    real_part,
    require_matrix,
    scaled,
)
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.symmetric import eigh_p
from primax.plugins.reductions import reduce_max_p, reduce_or_p
from primax.plugins.structural import broadcast_in_dim_p, convert_element_type_p, reduce_sum_p, select_n_p

spectral_changes_p = InParts("spectral_changes", multiple_results=True)
spectral_quotients_p = InParts("spectral_quotients")
spectral_turns_p = InParts("spectral_turns")
from_spectrum_p = InParts("from_spectrum", multiple_results=True)

# Two values are equal if they differ by at most this many roundings of the greatest, times the root of their number.
_ROUNDINGS = 8
_INT32 = np.dtype(np.int32)


def equal_pairs(w: Any, shape: tuple[int, ...]) -> Array:
    """Where two of several numbers in order are equal up to rounding: matrices of booleans."""
    groups = _groups(w)
    return comparison.eq(along_rows(groups, shape), along_columns(groups, shape))


def vanishing(w: Any) -> Array:
    """Where numbers are zero up to the rounding of the greatest."""
    return comparison.le(arithmetic.abs(w), _limit(w, get_aval(w).shape[-1]))


def _limit(w: Any, count: int) -> Array:
    """The difference up to which numbers are equal, repeated `count` times."""
    shape, rank, dtype = get_aval(w).shape, get_aval(w).ndim, get_aval(w).dtype
    rounding = _ROUNDINGS * float(dtypes.finfo(dtype).eps)
    if is_symbolic_dim(shape[-1]):
        roundings = arithmetic.mul(sqrt(_number(shape[-1], dtype)), dtype.type(rounding))
    else:
        roundings = dtype.type(rounding * float(np.sqrt(shape[-1])))
    greatest = reduce_max_p.bind(arithmetic.abs(w), axes=(rank - 1,))
    limit = arithmetic.mul(greatest, _repeated(roundings, get_aval(greatest).shape))
    return broadcast_in_dim_p.bind(limit, shape=(*shape[:-1], count), broadcast_dimensions=tuple(range(rank - 1)))


def _number(size: Any, dtype: Any) -> Any:
    """The size of an axis, which may be symbolic, as a scalar."""
    if not is_symbolic_dim(size):
        return dtype.type(size)
    return convert_element_type_p.bind(as_array(size), new_dtype=dtype, weak_type=False)


def _groups(w: Any) -> Array:
    """The number of the group of equal numbers to which each of several numbers in order belongs."""
    shape, rank = get_aval(w).shape, get_aval(w).ndim
    n = shape[-1]
    if bounds(n)[1] <= 1:
        return broadcast_in_dim_p.bind(np.int32(0), shape=shape, broadcast_dimensions=())
    gaps = arithmetic.abs(arithmetic.sub(picked(w, (1, n), -1), picked(w, (0, n - 1), -1)))
    differ = bitwise.bitwise_not(comparison.le(gaps, _limit(w, n - 1)))
    steps = convert_element_type_p.bind(differ, new_dtype=_INT32, weak_type=False)
    config = (*((0, 0, 0),) * (rank - 1), (1, 0, 0))
    steps = structural.pad_p.bind(steps, np.int32(0), padding_config=config)
    return cumsum_p.bind(steps, axis=rank - 1, reverse=False)


def _repeated(x: Any, shape: tuple[int, ...]) -> Array:
    """One number for each matrix, repeated for its elements, or one for each vector."""
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(get_aval(x).ndim)))


def _normalized(x: Any, size: Any) -> Array:
    """Matrices divided by sizes, unless these are zero."""
    size = select_n_p.bind(comparison.gt(size, full_like(size, 0)), full_like(size, 1), size)
    return scaled(x, _repeated(arithmetic.div(get_aval(size).dtype.type(1), size), get_aval(x).shape))


def _sum(x: Any, axes: int) -> Array:
    """The sums along the last axes."""
    rank = get_aval(x).ndim
    return reduce_sum_p.bind(x, axes=tuple(range(rank - axes, rank)))


def _on_diagonal(x: Any) -> Array:
    """The real diagonals of matrices with as many rows as columns or more."""
    aval = get_aval(x)
    return real_part(reduce_sum_p.bind(only(x, on_diagonals(aval.shape)), axes=(aval.ndim - 2,)))


class _Bases:
    """Blocks of changes for groups of equal values, and for each group bases in which its block is diagonal.

    Attributes:
      blocks: the blocks of each part of the change, and zeros elsewhere.
      left: the left bases, in as many parts.
      right: the right bases; the values are the diagonals of the sum of left^H block right.
    """

    def __init__(self, w: Any, parts: Sequence[Any], singular: bool) -> None:
        change, *rest = parts
        shape, rank = get_aval(change).shape, get_aval(change).ndim
        equal = equal_pairs(w, shape)
        zero = vanishing(w) if singular else None
        hermitian = half(arithmetic.add(change, adjoint(change)))
        block = only(hermitian, equal)
        if zero is not None:
            in_zero = bitwise.bitwise_and(equal, along_rows(zero, shape))
            block = only(block, bitwise.bitwise_not(in_zero))
        right = self._eigenbasis(w, block, -1 if singular else 1)
        self.blocks, self.left, self.right = [block], [right], right
        if zero is None:
            return
        # The changes of singular values that are zero: the singular values of a block, which is not Hermitian.
        corner = only(change, in_zero)
        below = [only(x, along_rows(zero, get_aval(x).shape)) for x in rest]
        whole = structural.concatenate([corner, *below], rank - 2) if below else corner
        _, u, vh = svd_p.bind(whole, full_matrices=False, compute_uv=True, subset_by_index=None, algorithm=None)
        order = self._last_first(zero)
        v = only(_columns_at(adjoint(vh), order), along_columns(zero, shape))
        u = _columns_at(u, order)
        n = shape[-1]
        starts = [0, n] if below else [0]
        ends = [n, get_aval(u).shape[-2]] if below else [n]
        us = [picked(u, pair, -2) for pair in zip(starts, ends, strict=True)]
        us[0] = only(us[0], along_columns(zero, shape))
        nothing = [full_like(x, 0) for x in below]
        self.blocks = [arithmetic.add(block, corner), *below]
        self.left = [
            select_n_p.bind(along_rows(zero, get_aval(x).shape), x, y)
            for x, y in zip([right, *nothing], us, strict=True)
        ]
        self.right = select_n_p.bind(along_rows(zero, shape), right, v)

    @staticmethod
    def _eigenbasis(w: Any, block: Any, sign: int) -> Array:
        """Unitary matrices that diagonalize Hermitian blocks, for ascending or descending eigenvalues.

        The blocks are scaled, and shifted to different intervals, so that no vector has components in two of them.
        """
        shape, rank = get_aval(block).shape, get_aval(block).ndim
        unit = _normalized(block, reduce_max_p.bind(arithmetic.abs(block), axes=(rank - 2, rank - 1)))
        unit = _normalized(unit, sqrt(_sum(arithmetic.square(arithmetic.abs(unit)), 2)))
        shifts = convert_element_type_p.bind(
            arithmetic.mul(_groups(w), np.int32(4)), new_dtype=get_aval(w).dtype, weak_type=False
        )
        shift = scaled(eye(get_aval(block).dtype, shape), along_rows(shifts, shape))
        shifted = arithmetic.add(shift, unit if sign > 0 else arithmetic.neg(unit))
        basis, _ = eigh_p.bind(shifted, lower=True, sort_eigenvalues=True, subset_by_index=None, algorithm=None)
        return basis

    @staticmethod
    def _last_first(zero: Any) -> Array:
        """A rotation that moves the first places to the last ones, where numbers are zero."""
        shape = get_aval(zero).shape
        others = convert_element_type_p.bind(bitwise.bitwise_not(zero), new_dtype=_INT32, weak_type=False)
        places = structural.iota_p.bind(dtype=_INT32, shape=shape, dimension=len(shape) - 1)
        moved = arithmetic.sub(places, _repeated(_sum(others, 1), shape))
        return select_n_p.bind(
            comparison.lt(moved, full_like(moved, 0)),
            moved,
            arithmetic.add(moved, _repeated(_number(shape[-1], _INT32), shape)),
        )

    def values(self, parts: Sequence[Any]) -> Array:
        """The diagonals of a change in these bases."""
        terms = [matmul(adjoint(l), matmul(x, self.right)) for l, x in zip(self.left, parts, strict=True)]
        return _on_diagonal(_total(terms))


def _total(terms: Sequence[Any]) -> Any:
    total, *others = terms
    for term in others:
        total = arithmetic.add(total, term)
    return total


def _columns_at(x: Any, order: Any) -> Array:
    shape = get_aval(x).shape
    return take_along(x, along_rows(order, shape), len(shape) - 1)


def _where_repeated(w: Any, singular: bool, repeated: Callable[..., Any], simple: Callable[..., Any], *xs: Any) -> Any:
    """One function of operands if there are equal values, or singular values that are zero; otherwise another one."""
    n, axes = get_aval(w).shape[-1], tuple(range(get_aval(w).ndim))
    if bounds(n)[1] <= (0 if singular else 1):
        return simple(*xs)
    last = picked(_groups(w), (n - 1, n), -1)
    special = reduce_or_p.bind(comparison.lt(last, _repeated(_number(n - 1, _INT32), get_aval(last).shape)), axes=axes)
    if singular:
        special = bitwise.bitwise_or(special, reduce_or_p.bind(vanishing(w), axes=axes))
    return cond(special, repeated, simple, *xs)


def _halves(xs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    count = len(xs) // 2
    return list(xs[:count]), list(xs[count:])


def _require_parts(function: str, w: ShapedArray, parts: Sequence[ShapedArray]) -> None:
    for i, aval in enumerate(parts):
        require_matrix(function, aval, f"part {i} of a change")
        n = w.shape[-1]
        if aval.shape[:-2] != w.shape[:-1] or aval.shape[-1] != n or real_dtype(aval.dtype) != w.dtype:
            raise TypeError(
                f"{function}: part {i} of a change must have a column for each of {w.str_short()}, got "
                f"{aval.str_short()}"
            )


def _changes_abstract_eval(w: ShapedArray, *parts: ShapedArray, singular: bool, shared: bool) -> list[ShapedArray]:
    _require_parts("spectral_changes", w, parts)
    return [ShapedArray(w.shape, w.dtype), *(ShapedArray(x.shape, x.dtype) for x in _halves(parts)[1])]


def _changes(w: Any, *parts: Any, singular: bool, shared: bool) -> list[Any]:
    """The directional derivatives of values, in order, and the change as the tangent of the frames.

    Args:
      w: eigenvalues, ascending, or singular values, descending.
      parts: the frames, and as many parts of a change. For eigenvalues it is V^H dA V. For singular values the first
        part is D = U^H dA V, and for matrices with more rows than columns the second one is dA V - U D.
      singular: whether the values are singular values.
      shared: whether several changes, along a leading axis, are of the same values.
    """
    _, change = _halves(parts)

    def of_groups(w: Any, *change: Any) -> Array:
        bases = _Bases(w, change, singular)
        return bases.values(bases.blocks)

    return [_where_repeated(w, singular, of_groups, _changes_of_simple, w, *change), *change]


def _changes_of_simple(w: Any, change: Any, *others: Any) -> Array:
    return _on_diagonal(change)


def _changes_jvp(primals: Any, tangents: Any, *, singular: bool, shared: bool) -> tuple[Any, Any]:
    w, *parts = primals
    frames, _ = _halves(parts)
    t_frames, t_change = _halves(tangents[1:])
    outs = spectral_changes_p.bind(*primals, singular=singular, shared=shared)
    if all(type(t) is ad.Zero for t in (*t_frames, *t_change)):
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    t_change = [ad.instantiate_zeros(t) for t in t_change]
    if all(type(t) is ad.Zero for t in t_frames):
        return outs, spectral_changes_p.bind(w, *frames, *t_change, singular=singular, shared=shared)
    t_frames = [ad.instantiate_zeros(t) for t in t_frames]
    turns = spectral_turns_p.bind(w, *parts, *t_frames, *t_change, singular=singular, shared=shared)
    return outs, [turns, *t_change]


def _changes_transpose(cts: Any, w: Any, *parts: Any, singular: bool, shared: bool) -> list[Any]:
    """The bases of groups are those of the cotangents of the frames, if there are some."""
    frames, change = _halves(parts)
    ct, *turns = cts
    known: list[Any] = [None] * (1 + len(frames))
    if type(ct) is ad.Zero:
        return [*known, *(ad.Zero(x.aval) for x in change)]
    if all(type(turn) is ad.Zero for turn in turns):
        turns = []
    turns = [ad.instantiate_zeros(turn) for turn in turns]
    return [*known, *from_spectrum_p.bind(w, ct, *frames, *turns, singular=singular, turned=bool(turns))]


def _from_spectrum_abstract_eval(
    w: ShapedArray, ct: ShapedArray, *parts: ShapedArray, singular: bool, turned: bool
) -> list[ShapedArray]:
    _require_parts("from_spectrum", w, parts)
    if (ct.shape, ct.dtype) != (w.shape, w.dtype):
        raise TypeError(f"from_spectrum: cotangents must be {w.str_short()}, got {ct.str_short()}")
    frames = _halves(parts)[0] if turned else parts
    return [ShapedArray(x.shape, x.dtype) for x in frames]


def _from_spectrum(w: Any, ct: Any, *parts: Any, singular: bool, turned: bool) -> list[Any]:
    """The transpose of `_changes`: cotangents of values become those of the change, diagonal in bases of the groups.

    The cotangent of a complex matrix is the conjugate of the matrix that it stands for.

    Args:
      w: the values.
      ct: their cotangents.
      parts: the frames and, if `turned`, the parts of a change in whose bases groups are diagonal.
      singular: whether the values are singular values.
      turned: whether there is such a change; otherwise the cotangents of equal values are assumed to be equal.
    """

    def from_simple(w: Any, ct: Any, *parts: Any) -> list[Any]:
        shape, dtype = get_aval(parts[0]).shape, get_aval(parts[0]).dtype
        return [scaled(eye(dtype, shape), along_rows(ct, shape)), *(full_like(x, 0) for x in parts[1:])]

    def from_groups(w: Any, ct: Any, *turns: Any) -> list[Any]:
        bases = _Bases(w, turns, singular)
        right = adjoint(bases.right)
        return [conj(matmul(scaled(l, along_rows(ct, get_aval(l).shape)), right)) for l in bases.left]

    if not turned:
        return from_simple(w, ct, *parts)
    return list(_where_repeated(w, singular, from_groups, from_simple, w, ct, *_halves(parts)[1]))


def _from_spectrum_jvp(primals: Any, tangents: Any, *, singular: bool, turned: bool) -> tuple[Any, Any]:
    w, _, *parts = primals
    _, t_ct, *t_parts = tangents
    outs = from_spectrum_p.bind(*primals, singular=singular, turned=turned)
    changes: list[Any] = [ad.Zero.from_primal_value(out) for out in outs]
    frames = _halves(parts)[0] if turned else parts
    if type(t_ct) is not ad.Zero:
        turns = []
        if not turned and any(type(t) is not ad.Zero for t in t_parts):
            turns = [ad.instantiate_zeros(t) for t in t_parts]
        changes = from_spectrum_p.bind(w, t_ct, *frames, *turns, singular=singular, turned=bool(turns))
    if turned:  # a third derivative
        moved = tangents[0], t_parts[0], t_parts[len(frames)]
        changes = [ad.add_tangents(changes[0], _unknown(w, moved, get_aval(outs[0]), singular)), *changes[1:]]
    return outs, changes


def _from_spectrum_transpose(cts: Any, w: Any, ct: Any, *parts: Any, singular: bool, turned: bool) -> list[Any]:
    frames, turns = _halves(parts) if turned else (parts, [])
    operands = ct, *turns
    known: list[Any] = [None] * len(frames)
    if all(type(y) is ad.Zero for y in cts):
        zeros = [ad.Zero(x.aval) if type(x) is ad.UndefinedPrimal else None for x in operands]
    else:
        ys = map(ad.instantiate_zeros, cts)
        zeros = spectral_changes_p.bind(w, *frames, *ys, singular=singular, shared=False)
        zeros = [out if type(x) is ad.UndefinedPrimal else None for out, x in zip(zeros, operands, strict=False)]
    return [None, zeros[0], *known, *zeros[1:]]


def _unknown(w: Any, tangents: Sequence[Any], aval: ShapedArray, singular: bool) -> Any:
    """A linear function of the tangents of values and of matrices, for derivatives that are not known.

    It is NaN in blocks of equal values, beside the diagonal, and of vanishing singular values; elsewhere it is zero.
    """
    unknown = bitwise.bitwise_and(equal_pairs(w, aval.shape), bitwise.bitwise_not(on_diagonals(aval.shape)))
    if singular:
        zero = along_rows(vanishing(w), aval.shape)
        unknown = bitwise.bitwise_or(unknown, bitwise.bitwise_and(zero, on_diagonals(aval.shape)))
    zeros = broadcast_in_dim_p.bind(get_aval(w).dtype.type(0), shape=aval.shape, broadcast_dimensions=())
    factors = select_n_p.bind(unknown, zeros, full_like(zeros, np.nan))
    of_values, *others = tangents
    out: Any = ad.Zero(aval)
    if type(of_values) is not ad.Zero:
        product = arithmetic.mul(along_rows(of_values, aval.shape), factors)
        out = convert_element_type_p.bind(product, new_dtype=aval.dtype, weak_type=False)
    for t in others:
        if type(t) is not ad.Zero:
            out = ad.add_tangents(out, scaled(t, factors))
    return out


def _turns_abstract_eval(w: ShapedArray, *parts: ShapedArray, singular: bool, shared: bool) -> ShapedArray:
    _require_parts("spectral_turns", w, parts)
    return ShapedArray(w.shape, w.dtype)


def _turns(w: Any, *parts: Any, singular: bool, shared: bool) -> Array:
    """The derivatives of directional derivatives along a second change; in the bases of the first one for groups.

    A symmetric function of equal values has this second derivative if both changes have a common basis and order;
    otherwise the result is NaN.

    Args:
      w: the values.
      parts: the frames, the first change, the second one, and the derivative of the first one along the second one.
      singular: whether the values are singular values.
      shared: whether several changes, along a leading axis, are of the same values.
    """
    (_, change), (second, t_change) = map(_halves, _halves(parts))
    count = len(change)

    def of_groups(w: Any, *parts: Any) -> Array:
        change, second, t_change = parts[:count], parts[count : 2 * count], parts[2 * count :]
        bases, others = _Bases(w, change, singular), _Bases(w, second, singular)
        of_values = _sum(arithmetic.mul(bases.values(bases.blocks), others.values(others.blocks)), 1)
        of_blocks = _inner(bases.blocks, others.blocks)
        sizes = arithmetic.mul(*(sqrt(_inner(x.blocks, x.blocks)) for x in (bases, others)))
        roundings = 100 * get_aval(w).shape[-1] * float(dtypes.finfo(get_aval(w).dtype).eps)
        rest = arithmetic.sub(of_values, of_blocks)
        aligned = comparison.le(rest, arithmetic.mul(sizes, get_aval(w).dtype.type(roundings)))
        values = bases.values(t_change)
        return select_n_p.bind(_repeated(aligned, get_aval(w).shape), full_like(values, np.nan), values)

    def of_simple(w: Any, *parts: Any) -> Array:
        return _on_diagonal(parts[2 * count])

    return _where_repeated(w, singular, of_groups, of_simple, w, *change, *second, *t_change)


def _inner(xs: Sequence[Any], ys: Sequence[Any]) -> Array:
    return _total([_sum(real_part(arithmetic.mul(x, conj(y))), 2) for x, y in zip(xs, ys, strict=True)])


def _turns_jvp(primals: Any, tangents: Any, *, singular: bool, shared: bool) -> tuple[Any, Any]:
    w, *parts = primals
    frames = _halves(_halves(parts)[0])[0]
    out = spectral_turns_p.bind(*primals, singular=singular, shared=shared)
    count = len(frames)
    moved = tangents[0], *(tangents[1 + k * count] for k in range(3))
    unknown = _unknown(w, moved, get_aval(frames[0]), singular)
    change = ad.Zero.from_primal_value(out) if type(unknown) is ad.Zero else _sum(real_part(unknown), 1)
    t_change = tangents[-count:]
    if any(type(t) is not ad.Zero for t in t_change):
        ts = map(ad.instantiate_zeros, t_change)
        known, *_ = spectral_changes_p.bind(w, *frames, *ts, singular=singular, shared=shared)
        change = ad.add_tangents(change, known)
    return out, change


def _turns_transpose(ct: Any, w: Any, *parts: Any, singular: bool, shared: bool) -> list[Any]:
    """The cotangents of the frames determine the bases for the cotangents of equal values."""
    (frames, change), (second, t_change) = map(_halves, _halves(parts))
    known: list[Any] = [None] * (1 + 2 * len(frames))
    operands = *second, *t_change
    if type(ct) is ad.Zero:
        return [*known, *(ad.Zero(x.aval) if type(x) is ad.UndefinedPrimal else None for x in operands)]
    outs = [
        *(_of_one(change, ct) if shared else change),
        *from_spectrum_p.bind(w, ct, *frames, *change, singular=singular, turned=True),
    ]
    return [*known, *(y if type(x) is ad.UndefinedPrimal else None for x, y in zip(operands, outs, strict=True))]


def _of_one(change: Sequence[Any], ct: Any) -> list[Any]:
    """The changes whose values have a cotangent, and zeros for the others, since a sum has room for one change only.

    They are NaN if no change has a cotangent, since the one that matters is then not known.
    """
    used = reduce_or_p.bind(comparison.ne(ct, full_like(ct, 0)), axes=(get_aval(ct).ndim - 1,))
    some = reduce_or_p.bind(used, axes=tuple(range(get_aval(used).ndim)))
    shape, dtype = get_aval(used).shape, get_aval(change[0]).dtype
    none = select_n_p.bind(
        broadcast_in_dim_p.bind(some, shape=shape, broadcast_dimensions=()),
        *(broadcast_in_dim_p.bind(dtype.type(x), shape=shape, broadcast_dimensions=()) for x in (np.nan, 0)),
    )
    return [select_n_p.bind(_repeated(used, get_aval(x).shape), _repeated(none, get_aval(x).shape), x) for x in change]


def _batch(primitive: Any) -> Callable[..., Any]:
    """The batch rule of a primitive that several changes of one matrix may share."""
    in_front = front_batch(primitive)

    def batch(axis: batching.AxisData, args: Any, dims: Any, *, singular: bool, shared: bool) -> tuple[Any, Any]:
        shared = shared or (dims[0] is None and axis.size != 1)
        return in_front(axis, args, dims, singular=singular, shared=shared)

    return batch


def _quotients_abstract_eval(
    w: ShapedArray, blocks: ShapedArray, change: ShapedArray, *, by: str, **params: Any
) -> ShapedArray:
    _require_parts("spectral_quotients", w, [blocks, change])
    if by != "column" and change.shape[-2] != w.shape[-1]:
        raise TypeError(
            f"spectral_quotients: the change must have a row for each of {w.str_short()}, got {change.str_short()}"
        )
    return ShapedArray(change.shape, change.dtype)


def _quotients(w: Any, blocks: Any, change: Any, *, by: str, singular: bool, conjugate: bool) -> Array:
    """The elements (i, j) of a change divided by w[j] - w[i], w[j] + w[i], or w[j]; 0 where the divisor is zero.

    Args:
      w: the values.
      blocks: zeros, whose tangents have those of the values, with the blocks of equal ones.
      change: a part of a change.
      by: "difference", "sum" or "column".
      singular: whether the values are singular values.
      conjugate: whether to divide by the conjugates of the blocks.
    """
    shape = get_aval(change).shape
    columns = along_rows(w, shape)
    if by == "difference":
        divisors, zero = arithmetic.sub(columns, along_columns(w, shape)), equal_pairs(w, shape)
    else:
        divisors, zero = columns, along_rows(vanishing(w), shape)
    if by == "sum":
        divisors = arithmetic.add(columns, along_columns(w, shape))
        zero = bitwise.bitwise_and(zero, along_columns(vanishing(w), shape))
    safe = select_n_p.bind(zero, divisors, full_like(divisors, 1))
    factors = only(arithmetic.div(get_aval(w).dtype.type(1), safe), bitwise.bitwise_not(zero))
    return scaled(change, factors)


def _quotients_jvp(primals: Any, tangents: Any, *, by: str, conjugate: bool, **params: Any) -> tuple[Any, Any]:
    """X W - W X = C for a diagonal W, whose blocks change: dX W - W dX = dC - X dW + dW X; likewise for the others."""
    (w, blocks, _), (_, t_blocks, t_change) = primals, tangents
    params = {"by": by, "conjugate": conjugate, **params}
    x = spectral_quotients_p.bind(*primals, **params)
    change = t_change
    if type(t_blocks) is not ad.Zero:
        block = only(half(arithmetic.add(t_blocks, adjoint(t_blocks))), equal_pairs(w, get_aval(blocks).shape))
        if conjugate:
            block = conj(block)
        moved = arithmetic.neg(matmul(x, block))
        if by != "column":
            other = matmul(block, x)
            moved = arithmetic.add(moved, other if by == "difference" else arithmetic.neg(other))
        change = ad.add_tangents(t_change, moved)
    if type(change) is ad.Zero:
        return x, ad.Zero.from_primal_value(x)
    return x, spectral_quotients_p.bind(w, blocks, change, **params)


def _quotients_transpose(ct: Any, w: Any, blocks: Any, change: Any, *, conjugate: bool, **params: Any) -> list[Any]:
    if type(ct) is ad.Zero:
        return [None, None, ad.Zero(change.aval)]
    return [None, None, spectral_quotients_p.bind(w, blocks, ct, conjugate=not conjugate, **params)]


RULES: Table = {
    spectral_changes_p: {
        "abstract_eval": _changes_abstract_eval,
        "jvp": _changes_jvp,
        "transpose": _changes_transpose,
        "axis_batch": _batch(spectral_changes_p),
        "lowering": mlir.lower_fun(_changes),
    },
    spectral_quotients_p: {
        "abstract_eval": _quotients_abstract_eval,
        "jvp": _quotients_jvp,
        "transpose": _quotients_transpose,
        "axis_batch": front_batch(spectral_quotients_p),
        "lowering": mlir.lower_fun(_quotients, multiple_results=False),
    },
    spectral_turns_p: {
        "abstract_eval": _turns_abstract_eval,
        "jvp": _turns_jvp,
        "transpose": _turns_transpose,
        "axis_batch": _batch(spectral_turns_p),
        "lowering": mlir.lower_fun(_turns, multiple_results=False),
    },
    from_spectrum_p: {
        "abstract_eval": _from_spectrum_abstract_eval,
        "jvp": _from_spectrum_jvp,
        "transpose": _from_spectrum_transpose,
        "axis_batch": front_batch(from_spectrum_p),
        "lowering": mlir.lower_fun(_from_spectrum),
    },
}
