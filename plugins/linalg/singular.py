"""The singular value decomposition."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray
from primax.extend.dimensions import min_dim
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import among, check_hashable, integers
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.linalg.lapack import (
    ir_by_operations,
    ir_empty,
    ir_eye,
    ir_picked,
    lapack_call,
    letter,
    on_gpu,
    unless_failed,
)
from primax.plugins.linalg.matrices import (
    adjoint,
    front_batch,
    picked,
    real_dtype,
    require_matrix,
)

svd_p = core.Primitive("svd", multiple_results=True)


class SvdAlgorithm(enum.Enum):
    """The algorithms for singular values.

    CPUs support QR and DIVIDE_AND_CONQUER, the default. GPUs support QR, JACOBI (the default for small matrices) and
    POLAR.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ROUTINES = {
    SvdAlgorithm.QR: "gesvd",
    SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd",
    SvdAlgorithm.DEFAULT: "gesdd",
    None: "gesdd",
}
_ROUTINES_OF_GPUS = {  # the default depends on the size
    SvdAlgorithm.QR: "gesvd",
    SvdAlgorithm.JACOBI: "gesvdj",
    SvdAlgorithm.POLAR: "gesvdp",
    SvdAlgorithm.DEFAULT: "",
    None: "",
}
_MOST_FOR_JACOBI = 1024
_LEAST_FOR_PARTS = 32


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array] | Array:
    """The singular value decomposition: x = U diag(s) V^H with orthonormal columns of U and V and s >= 0 descending.

    Args:
      x: matrices of shape (..., m, n).
      full_matrices: whether U and V are square; otherwise they have k = min(m, n) columns.
      compute_uv: whether to return U and V.
      subset_by_index: the range of singular values and vectors to return: the first, and the one after the last; None
        for all. If U and V are returned, `full_matrices` must be False.
      algorithm: QR, DIVIDE_AND_CONQUER, DEFAULT or None on CPUs.

    Returns:
      A triple of U, s and V^H; only s unless `compute_uv`. NaN where the iteration does not converge.

    Raises:
      NotImplementedError: the platform does not have this algorithm; or a derivative needs columns of U or V that
        `x` does not determine.
      TypeError: `x` has a rank below 2, or a dtype that LAPACK does not support.
      ValueError: the range is not one of singular values, or is not possible with `full_matrices`.

    >>> import primax as px
    >>> px.lax.linalg.svd(px.numpy.array([[0.0, 2.0], [3.0, 0.0]]), compute_uv=False)
    Array([3., 2.], dtype=float32)
    """
    check_hashable("svd", "algorithm", algorithm)
    outs = svd_p.bind(
        x,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        subset_by_index=None if subset_by_index is None else integers(subset_by_index, "svd", "subset_by_index"),
        algorithm=algorithm,
    )
    if not compute_uv:
        return outs[0]
    s, u, vh = outs
    return u, s, vh


def _abstract_eval(
    x: ShapedArray, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, algorithm: Any = None
) -> list[ShapedArray]:
    require_matrix("svd", x, "x")
    *batch, m, n = x.shape
    count = min_dim(m, n)
    if subset_by_index is not None:
        if len(subset_by_index) != 2 or not 0 <= subset_by_index[0] < subset_by_index[1] <= count:
            raise ValueError(
                f"svd: subset_by_index must be a range of the {count} singular values, got {subset_by_index} for "
                f"{x.str_short()}"
            )
        if full_matrices and compute_uv and subset_by_index != (0, count):
            raise ValueError(f"svd: full_matrices must be False with subset_by_index, got True and {subset_by_index}")
        count = subset_by_index[1] - subset_by_index[0]
    s = ShapedArray((*batch, count), real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    columns, rows = (m, n) if full_matrices else (count, count)
    return [s, ShapedArray((*batch, m, columns), x.dtype), ShapedArray((*batch, rows, n), x.dtype)]


def _types(aval: ShapedArray, full_matrices: bool) -> list[ShapedArray]:
    """The types of the singular values, of U and of V^H."""
    *batch, m, n = aval.shape
    count = min_dim(m, n)
    columns, rows = (m, n) if full_matrices else (count, count)
    return [
        ShapedArray((*batch, count), real_dtype(aval.dtype)),
        ShapedArray((*batch, m, columns), aval.dtype),
        ShapedArray((*batch, rows, n), aval.dtype),
    ]


def _by_gpu(
    ctx: mlir.LoweringRuleContext, routine: str, x: Any, full_matrices: bool, compute_uv: bool
) -> tuple[list[Any], list[ShapedArray], Any]:
    """The singular values, U and V^H by a routine of GPUs, with their types and the error codes."""
    (aval,) = ctx.avals_in
    *batch, m, n = aval.shape
    codes = ShapedArray(tuple(batch), np.dtype(np.int32))
    if not routine:
        routine = "gesvdj" if max(m, n) <= _MOST_FOR_JACOBI else "gesvd"
    attributes = {"compute_uv": compute_uv, "full_matrices": full_matrices}
    operands = [(x, aval)]
    if routine == "gesvd":  # it requires tall matrices: the rows of a wide one are the columns of its transpose
        outs = _types(aval, full_matrices)
        parts = outs[1:] if compute_uv else [ShapedArray((), aval.dtype)] * 2
        wide = m < n
        results = [aval, outs[0], *(reversed(parts) if wide else parts), codes]
        attributes["transposed"] = wide
        _, s, *vectors, info = lapack_call(ctx, routine, batch, operands, results, attributes, {0: 0}, by_rows=wide)
        return [s, *(reversed(vectors) if wide else vectors)], outs, info
    # Jacobi's method for small matrices supports only full factors.
    whole = full_matrices or (routine == "gesvdj" and min(m, n) <= _LEAST_FOR_PARTS)
    outs = _types(aval, full_matrices)
    of_s, of_u, of_vh = _types(aval, whole)
    of_v = of_vh.update(shape=(*batch, *of_vh.shape[:-3:-1]))
    attributes["full_matrices"] = whole
    results = [aval, of_s, of_u, of_v, codes]
    _, s, u, v, info = lapack_call(ctx, routine, batch, operands, results, attributes, {0: 0})
    if not compute_uv:
        return [s], outs[:1], info
    count = min_dim(m, n)

    def factors(u: Any, v: Any) -> list[Any]:
        vh = adjoint(v)
        return [u, vh] if whole == full_matrices else [picked(u, (0, count), -1), picked(vh, (0, count), -2)]

    return [s, *ir_by_operations(ctx, factors, [(u, of_u), (v, of_v)])], outs, info


def _lowering(
    ctx: mlir.LoweringRuleContext,
    x: Any,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: Any,
    algorithm: Any = None,
) -> list[Any]:
    routines = _ROUTINES_OF_GPUS if on_gpu(ctx) else _ROUTINES
    if not among(algorithm, tuple(routines)):
        raise NotImplementedError(
            f"svd: algorithm must be {', '.join(way.name for way in routines if way)} or None on platform "
            f"{ctx.module_context.platform!r}, got {algorithm}"
        )
    routine = routines[algorithm]
    (aval,) = ctx.avals_in
    batch = aval.shape[:-2]
    if not aval.size:
        return [*ir_empty(ctx.avals_out[:1]), *map(ir_eye, ctx.avals_out[1:])]
    if on_gpu(ctx):
        parts, outs, info = _by_gpu(ctx, routine, x, full_matrices, compute_uv)
    else:
        outs = _types(aval, full_matrices)
        results = [aval, *outs, ShapedArray(batch, np.dtype(np.int32))]
        mode = "N" if not compute_uv else "A" if full_matrices else "S"
        _, *parts, info = lapack_call(ctx, routine, batch, [(x, aval)], results, {"mode": letter(mode)}, {0: 0})
    used = 3 if compute_uv else 1
    parts = unless_failed(info, batch, list(zip(parts, outs, strict=True))[:used])
    if subset_by_index is None:
        return parts
    return [
        *(ir_picked(x, subset_by_index, -1) for x in parts[:2]),
        *(ir_picked(x, subset_by_index, -2) for x in parts[2:]),
    ]


RULES: Table = {
    svd_p: {
        "abstract_eval": _abstract_eval,
        "axis_batch": front_batch(svd_p),
        "lowering": dict.fromkeys(("cpu", "gpu"), _lowering),
    }
}
