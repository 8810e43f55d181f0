"""Eigenvalues and eigenvectors of Hermitian matrices, and their tridiagonal form."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import among, check_hashable, integers
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.linalg.lapack import flag, ir_empty, ir_picked, lapack_call, letter, on_gpu, unless_failed
from primax.plugins.linalg.matrices import (
    front_batch,
    inexact,
    real_dtype,
    require_square,
)
from primax.plugins.linalg.positive import symmetrize

eigh_p = core.Primitive("eigh", multiple_results=True)
tridiagonal_p = core.Primitive("tridiagonal", multiple_results=True)


class EighImplementation(enum.Enum):
    """The algorithms for eigenvalues of Hermitian matrices: QR on CPUs, QR or JACOBI on GPUs."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


# The algorithms on CPUs and GPUs, with the codes for the latter.
_WAYS: dict[Any, int] = {EighImplementation.QR: 1, None: 0}
_WAYS_OF_GPUS = {EighImplementation.QR: 1, EighImplementation.JACOBI: 2, None: 0}


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """The eigenvectors and eigenvalues of Hermitian matrices.

    Args:
      x: matrices of shape (..., n, n); integers and booleans become floats.
      lower: whether to read the lower triangles instead of the upper ones.
      symmetrize_input: whether to take the mean of `x` and its adjoint first.
      sort_eigenvalues: whether eigenvalues must ascend; on CPUs they always do.
      subset_by_index: the range of eigenvalues to return: the first, and the one after the last; None for all.
      implementation: QR or None on CPUs.

    Returns:
      Normalized eigenvectors as columns, of shape (..., n, k), and eigenvalues of shape (..., k). NaN where the
      iteration does not converge. Where eigenvalues coincide, derivatives hold their eigenvectors fixed among each
      other, and those of functions that do not depend on the order of eigenvalues are right up to the second.

    Raises:
      NotImplementedError: the platform does not have this implementation.
      TypeError: `x` has a rank below 2, or a dtype that LAPACK does not support.
      ValueError: the matrices are not square, or the range is not one of eigenvalues.

    >>> import primax as px
    >>> px.lax.linalg.eigh(px.numpy.array([[2.0, 0.0], [0.0, 1.0]]))[1]
    Array([1., 2.], dtype=float32)
    """
    x = inexact(x)
    check_hashable("eigh", "implementation", implementation)
    vectors, values = eigh_p.bind(
        symmetrize("eigh", x) if symmetrize_input else x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=None if subset_by_index is None else integers(subset_by_index, "eigh", "subset_by_index"),
        algorithm=implementation,
    )
    return vectors, values


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """The tridiagonal form of Hermitian matrices: a = Q T Q^H with a unitary Q.

    Args:
      a: matrices of shape (..., n, n), n at least 1.
      lower: whether to read the lower triangles instead of the upper ones.

    Returns:
      Four arrays: matrices like `a` with the reflections whose product is Q in one triangle; the diagonal of T, its
      other diagonal, and the factors of the reflections, of shapes (..., n), (..., n - 1) and (..., n - 1).

    Raises:
      TypeError: `a` has a rank below 2, or a dtype that LAPACK does not support.
      ValueError: the matrices are not square, or empty.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> _, diagonal, off_diagonal, taus = lax.linalg.tridiagonal(np.diag(np.float32([1, 2, 3])))
      >>> diagonal, off_diagonal.shape, taus.shape
      (Array([1., 2., 3.], dtype=float32), (2,), (2,))
    """
    reflections, diagonal, off_diagonal, taus = tridiagonal_p.bind(a, lower=bool(lower))
    return reflections, diagonal, off_diagonal, taus


def _eigh_abstract_eval(
    x: ShapedArray, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any = None
) -> list[ShapedArray]:
    require_square("eigh", x, "x")
    n = x.shape[-1]
    if subset_by_index is None:
        count = n
    else:
        if len(subset_by_index) != 2 or not 0 <= subset_by_index[0] < subset_by_index[1] <= n:
            raise ValueError(
                f"eigh: subset_by_index must be a range of the {n} eigenvalues, got {subset_by_index} for "
                f"{x.str_short()}"
            )
        count = subset_by_index[1] - subset_by_index[0]
    batch = x.shape[:-2]
    return [ShapedArray((*batch, n, count), x.dtype), ShapedArray((*batch, count), real_dtype(x.dtype))]


def _eigh_lowering(
    ctx: mlir.LoweringRuleContext,
    x: Any,
    *,
    lower: bool,
    sort_eigenvalues: bool,
    subset_by_index: Any,
    algorithm: Any = None,
) -> list[Any]:
    ways = _WAYS_OF_GPUS if on_gpu(ctx) else _WAYS
    if not among(algorithm, tuple(ways)):
        raise NotImplementedError(
            f"eigh: implementation must be {' or '.join(str(way and way.name) for way in ways)} on platform "
            f"{ctx.module_context.platform!r}, got {algorithm}"
        )
    (aval,) = ctx.avals_in
    if not aval.size:
        return ir_empty(ctx.avals_out)
    batch = aval.shape[:-2]
    of_values = ShapedArray(aval.shape[:-1], real_dtype(aval.dtype))
    results = [aval, of_values, ShapedArray(batch, np.dtype(np.int32))]
    attributes: dict[str, Any] = {"mode": letter("V"), "uplo": flag(lower, "L", "U")}
    if on_gpu(ctx):
        attributes = {"algorithm": np.uint8(ways[algorithm]), "lower": lower}
    vectors, values, info = lapack_call(ctx, "syevd", batch, [(x, aval)], results, attributes, {0: 0})
    outs = unless_failed(info, batch, [(vectors, aval), (values, of_values)])
    return outs if subset_by_index is None else [ir_picked(out, subset_by_index, -1) for out in outs]


def _tridiagonal_abstract_eval(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    require_square("tridiagonal", a, "a")
    if not a.shape[-1]:
        raise ValueError(f"tridiagonal: a must have at least one row, got {a.str_short()}")
    *batch, n, _ = a.shape
    real = real_dtype(a.dtype)
    shapes = ((*batch, n), real), ((*batch, n - 1), real), ((*batch, n - 1), a.dtype)
    return [ShapedArray(a.shape, a.dtype), *(ShapedArray(*shape) for shape in shapes)]


def _tridiagonal_lowering(ctx: mlir.LoweringRuleContext, a: Any, *, lower: bool) -> list[Any]:
    aval = ctx.avals_out[0]
    batch = aval.shape[:-2]
    if not aval.size:
        return ir_empty(ctx.avals_out)
    results = [*ctx.avals_out, ShapedArray(batch, np.dtype(np.int32))]
    attributes = {"lower": lower} if on_gpu(ctx) else {"uplo": flag(lower, "L", "U")}
    *outs, info = lapack_call(ctx, "sytrd", batch, [(a, aval)], results, attributes, {0: 0})
    return unless_failed(info, batch, list(zip(outs, ctx.avals_out, strict=True)))


RULES: Table = {
    eigh_p: {
        "abstract_eval": _eigh_abstract_eval,
        "axis_batch": front_batch(eigh_p),
        "lowering": dict.fromkeys(("cpu", "gpu"), _eigh_lowering),
    },
    tridiagonal_p: {
        "abstract_eval": _tridiagonal_abstract_eval,
        "axis_batch": front_batch(tridiagonal_p),
        "lowering": dict.fromkeys(("cpu", "gpu"), _tridiagonal_lowering),
        "unsupported": {"jvp": "Householder reflections are intermediate results; differentiate eigh instead"},
    },
}
