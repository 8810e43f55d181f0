"""Eigenvalues and eigenvectors of square matrices, and the Schur and Hessenberg forms."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.arguments import among, check_hashable
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, bitwise, comparison, structural
from primax.plugins.cumulative import cumsum_p
from primax.plugins.indexing import take_along
from primax.plugins.linalg.lapack import flag, ir_by_operations, ir_empty, lapack_call, letter, on_gpu, unless_failed
from primax.plugins.linalg.matrices import (
    adjoint,
    along_columns,
    along_rows,
    as_complex,
    conj,
    diagonal,
    eye,
    front_batch,
    full_like,
    matmul,
    require_square,
)
from primax.plugins.linalg.solve import by_lu
from primax.plugins.reductions import argmax_p

eig_p = core.Primitive("eig", multiple_results=True)
schur_p = core.Primitive("schur", multiple_results=True)
hessenberg_p = core.Primitive("hessenberg", multiple_results=True)

_INT32 = np.dtype(np.int32)
_FLAGS = ("compute_left_eigenvectors", "compute_right_eigenvectors", "enable_eigvec_derivs")


class EigImplementation(enum.Enum):
    """The implementations of eigenvalues of square matrices.

    On CPUs it is LAPACK. On GPUs it is cuSOLVER by default; MAGMA computes left eigenvectors, or LAPACK on the host if
    there is no MAGMA.
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """The eigenvalues and eigenvectors of square matrices.

    Args:
      x: matrices of shape (..., n, n).
      compute_left_eigenvectors: whether to return the vectors u with u^H x = w u^H.
      compute_right_eigenvectors: whether to return the vectors v with x v = w v.
      enable_eigvec_derivs: whether eigenvectors can be differentiated. Their derivatives depend on the normalization:
        length 1, and a real component of the largest absolute value.
      implementation: LAPACK or None on CPUs.
      use_magma: None; MAGMA is not available.

    Returns:
      A list of complex arrays: the eigenvalues, of shape (..., n), and the requested left and right eigenvectors as
      columns of matrices. NaN where the iteration does not converge.

    Raises:
      NotImplementedError: the platform does not have this implementation; or eigenvectors are differentiated
        without `enable_eigvec_derivs`.
      TypeError: `x` has a rank below 2, or a dtype that LAPACK does not support.
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.lax.linalg.eig(px.numpy.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    if use_magma:
        raise ValueError(f"eig: use_magma must be None or False: there is no MAGMA here, got {use_magma!r}")
    check_hashable("eig", "implementation", implementation)
    return eig_p.bind(
        x,
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=implementation,
    )


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Any, ...]:
    """The Schur decomposition: x = Z T Z^H with a unitary Z and an upper triangular T.

    The T of a real matrix is real, and has blocks of two rows on its diagonal for complex eigenvalues.

    Args:
      x: matrices of shape (..., n, n).
      compute_schur_vectors: whether to return Z.
      sort_eig_vals: False, because jaxlib's LAPACK functions cannot sort.
      select_callable: None, for the same reason.

    Returns:
      T and Z, or T alone in a tuple. NaN where the iteration does not converge.

    Raises:
      NotImplementedError: `sort_eig_vals` is not False.
      TypeError: `x` has a rank below 2, or a dtype that LAPACK does not support.
      ValueError: the matrices are not square.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> t, z = lax.linalg.schur(np.float32([[1, 5], [0, 2]]))  # a triangular matrix is its own form
      >>> abs(t)
      Array([[1., 5.],
             [0., 2.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            "schur: sort_eig_vals must be False and select_callable None: primax does not sort eigenvalues"
        )
    return tuple(
        schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors), sort_eig_vals=False, select_callable=None)
    )


def hessenberg(a: ArrayLike) -> tuple[Any, Any]:
    """The Hessenberg form: a = Q H Q^H with a unitary Q, and H zero below the first diagonal under the main one.

    Args:
      a: matrices of shape (..., n, n), n at least 1.

    Returns:
      Two arrays: matrices like `a` with H, and the vectors of reflections, whose product is Q, in the part where H is
      zero; and the factors of the reflections, of shape (..., n - 1).

    Raises:
      TypeError: `a` has a rank below 2, or a dtype that LAPACK does not support.
      ValueError: the matrices are not square, or empty.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> a, taus = lax.linalg.hessenberg(np.eye(3, dtype=np.float32))
      >>> a.shape, taus.shape
      ((3, 3), (2,))
    """
    reflections, taus = hessenberg_p.bind(a)
    return reflections, taus


def _complex_dtype(dtype: Any) -> np.dtype[Any]:
    return np.dtype(np.complex64 if dtype in (np.float32, np.complex64) else np.complex128)


def _eig_abstract_eval(
    x: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **params: Any
) -> list[ShapedArray]:
    require_square("eig", x, "x")
    dtype = _complex_dtype(x.dtype)
    vectors = [ShapedArray(x.shape, dtype)] * (compute_left_eigenvectors + compute_right_eigenvectors)
    return [ShapedArray(x.shape[:-1], dtype), *vectors]


def _eig_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """dw = diag(C) with C = inv(V) dA V, and dV = V (F * C) with F[i, j] = 1 / (w[j] - w[i]) off the diagonal.

    A multiple of each vector is added to its tangent, to keep its length, and its greatest component real. Left
    eigenvectors are right ones of the adjoint. M. B. Giles, An extended collection of matrix derivative results for
    forward and reverse mode automatic differentiation, 2008, section 3.1.
    """
    (x,), (t,) = primals, tangents
    outs = eig_p.bind(x, **params)
    if type(t) is ad.Zero or 0 in get_aval(x).shape:
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    if len(outs) > 1 and not params["enable_eigvec_derivs"]:
        raise NotImplementedError(
            "eig: enable_eigvec_derivs must be True to differentiate eigenvectors, got False; their derivatives depend "
            "on their normalization"
        )
    w, *vectors = outs
    t = as_complex(t)
    if not params["compute_right_eigenvectors"]:
        flags = {name: name != "compute_left_eigenvectors" for name in _FLAGS}
        _, right = eig_p.bind(x, **{**params, **flags})
    else:
        right = vectors[-1]
    inner = by_lu(right, matmul(t, right))
    changes = [diagonal(inner)]
    if params["compute_left_eigenvectors"]:
        left = vectors[0]
        changes.append(_vector_tangents(conj(w), left, by_lu(left, matmul(adjoint(t), left))))
    if params["compute_right_eigenvectors"]:
        changes.append(_vector_tangents(w, right, inner))
    return outs, changes


def _vector_tangents(w: Any, v: Any, inner: Any) -> Array:
    """The tangents of normalized eigenvectors."""
    shape = get_aval(v).shape
    ones = eye(get_aval(w).dtype, shape)
    gaps = arithmetic.sub(along_rows(w, shape), along_columns(w, shape))
    one = get_aval(w).dtype.type(1)
    weights = arithmetic.sub(arithmetic.div(one, arithmetic.add(gaps, ones)), ones)
    turned = matmul(v, arithmetic.mul(inner, weights))
    growth = arithmetic.real(_column_sums(arithmetic.mul(conj(v), turned)))
    places = argmax_p.bind(arithmetic.abs(v), axes=(len(shape) - 2,), index_dtype=_INT32)
    greatest, tangent = (_at(x, places) for x in (v, turned))
    phase = arithmetic.div(arithmetic.imag(tangent), arithmetic.real(greatest))
    change = along_rows(arithmetic.complex(growth, phase), shape)
    return arithmetic.sub(turned, arithmetic.mul(v, change))


def _column_sums(x: Any) -> Array:
    return structural.reduce_sum_p.bind(x, axes=(len(get_aval(x).shape) - 2,))


def _at(x: Any, places: Any) -> Array:
    """For each column of matrices the element in a given row."""
    rank = len(get_aval(x).shape)
    rows = structural.expand_dims(places, (rank - 2,))
    return structural.squeeze_p.bind(take_along(x, rows, rank - 2), dimensions=(rank - 2,))


def _eig_lowering(
    ctx: mlir.LoweringRuleContext,
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
    implementation: Any,
) -> list[Any]:
    if not on_gpu(ctx) and not among(implementation, (None, EigImplementation.LAPACK)):
        raise NotImplementedError(f"eig: implementation must be LAPACK or None on platform 'cpu', got {implementation}")
    (aval,) = ctx.avals_in
    if not aval.size:
        return ir_empty(ctx.avals_out)
    wants = compute_left_eigenvectors, compute_right_eigenvectors
    if not on_gpu(ctx):
        attributes: dict[str, Any] = {
            "compute_left": flag(compute_left_eigenvectors, "V", "N"),
            "compute_right": flag(compute_right_eigenvectors, "V", "N"),
        }
        values, left, right, info = _eig_by_parts(ctx, x, "geev", attributes)
    elif _is_by_cusolver(ctx.module_context.platform, implementation, compute_left_eigenvectors):
        values, left, right, info = _eig_by_cusolver(ctx, x, *wants)
    else:
        routine = "eig_comp" if dtypes.is_complex(aval.dtype) else "eig_real"
        magma = _MAGMA[implementation]
        attributes = {"left": compute_left_eigenvectors, "right": compute_right_eigenvectors, "magma": magma}
        values, left, right, info = _eig_by_parts(ctx, x, routine, attributes)
    outs = [values, *[left] * compute_left_eigenvectors, *[right] * compute_right_eigenvectors]
    return unless_failed(info, aval.shape[:-2], list(zip(outs, ctx.avals_out, strict=True)))


# Whether to use MAGMA where cuSOLVER does not compute the eigenvalues.
_MAGMA = {None: "auto", EigImplementation.MAGMA: "on", EigImplementation.LAPACK: "off"}


def _is_by_cusolver(platform: str, implementation: Any, left: bool) -> bool:
    """Whether cuSOLVER computes eigenvalues on a GPU; it does not support left eigenvectors.

    Raises:
      NotImplementedError: no library supports the request.
    """
    possible = platform == "cuda" and not left
    if implementation is None or not among(implementation, tuple(EigImplementation)):
        return possible
    chosen = implementation is EigImplementation.CUSOLVER
    if chosen and not possible:
        raise NotImplementedError(
            f"eig: implementation must not be CUSOLVER for left eigenvectors, or on platform {platform!r} other than "
            "'cuda'; MAGMA, LAPACK and None compute them"
        )
    return chosen


def _eig_by_parts(ctx: mlir.LoweringRuleContext, x: Any, routine: str, attributes: Any) -> list[Any]:
    """Eigenvalues, vectors and codes by a routine that returns parts of real matrices' eigenvalues."""
    (aval,) = ctx.avals_in
    batch, of_values = aval.shape[:-2], ShapedArray(aval.shape[:-1], aval.dtype)
    is_complex = dtypes.is_complex(aval.dtype)
    of_vectors = ShapedArray(aval.shape, _complex_dtype(aval.dtype))
    results = [*[of_values] * (1 if is_complex else 2), of_vectors, of_vectors, ShapedArray(batch, _INT32)]
    *parts, left, right, info = lapack_call(ctx, routine, batch, [(x, aval)], results, attributes)
    return [parts[0] if is_complex else mlir.hlo.complex(*parts), left, right, info]


def _eig_by_cusolver(ctx: mlir.LoweringRuleContext, x: Any, left: bool, right: bool) -> list[Any]:
    """Eigenvalues, vectors and codes; vectors of real matrices are columns of real and imaginary parts."""
    (aval,) = ctx.avals_in
    batch, of_values = aval.shape[:-2], ShapedArray(aval.shape[:-1], _complex_dtype(aval.dtype))
    results = [aval, of_values, aval, aval, ShapedArray(batch, _INT32)]
    attributes = {"left": left, "right": right}
    _, values, of_left, of_right, info = lapack_call(ctx, "geev", batch, [(x, aval)], results, attributes)
    if right and not dtypes.is_complex(aval.dtype):
        (of_right,) = ir_by_operations(ctx, _unpacked, [(values, of_values), (of_right, aval)])
    return [values, of_left, of_right, info]


def _unpacked(values: Any, v: Any) -> list[Any]:
    """The eigenvectors: a conjugate pair has two columns, the real part of the first vector and its imaginary part."""
    shape = get_aval(v).shape
    imaginary = arithmetic.imag(values)
    zero = full_like(imaginary, 0)
    paired = bitwise.bitwise_or(comparison.lt(imaginary, zero), comparison.gt(imaginary, zero))
    ones = structural.convert_element_type_p.bind(paired, new_dtype=_INT32, weak_type=False)
    number = cumsum_p.bind(ones, axis=len(shape) - 2, reverse=False)
    odd = comparison.eq(bitwise.bitwise_and(number, full_like(number, 1)), full_like(number, 1))
    is_paired = along_rows(paired, shape)
    is_first = bitwise.bitwise_and(along_rows(odd, shape), is_paired)
    select = structural.select_n_p.bind
    real = select(is_first, select(is_paired, v, _column_beside(v, 1)), v)
    turned = select(is_paired, full_like(v, 0), arithmetic.neg(v))
    return [arithmetic.complex(real, select(is_first, turned, _column_beside(v, -1)))]


def _column_beside(x: Any, by: int) -> Array:
    """The column `by` places before each column; zeros enter."""
    aval = get_aval(x)
    config = ((0, 0, 0),) * (aval.ndim - 1) + ((by, -by, 0),)
    return structural.pad_p.bind(x, aval.dtype.type(0), padding_config=config)


def _schur_abstract_eval(x: ShapedArray, *, compute_schur_vectors: bool, **params: Any) -> list[ShapedArray]:
    require_square("schur", x, "x")
    return [ShapedArray(x.shape, x.dtype)] * (2 if compute_schur_vectors else 1)


def _schur_cpu_lowering(
    ctx: mlir.LoweringRuleContext, x: Any, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any
) -> list[Any]:
    (aval,) = ctx.avals_in
    if not aval.size:
        return ir_empty(ctx.avals_out)
    batch, of_values = aval.shape[:-2], ShapedArray(aval.shape[:-1], aval.dtype)
    codes = ShapedArray(batch, _INT32)
    values = [of_values] * (1 if dtypes.is_complex(aval.dtype) else 2)
    attributes = {"mode": flag(compute_schur_vectors, "V", "N"), "sort": letter("N")}
    outs = lapack_call(ctx, "gees", batch, [(x, aval)], [aval, aval, *values, codes, codes], attributes, {0: 0})
    return unless_failed(outs[-1], batch, list(zip(outs, ctx.avals_out, strict=False)))


def _hessenberg_abstract_eval(a: ShapedArray) -> list[ShapedArray]:
    require_square("hessenberg", a, "a")
    if not a.shape[-1]:
        raise ValueError(f"hessenberg: a must have at least one row, got {a.str_short()}")
    return [ShapedArray(a.shape, a.dtype), ShapedArray((*a.shape[:-2], a.shape[-1] - 1), a.dtype)]


def _hessenberg_cpu_lowering(ctx: mlir.LoweringRuleContext, a: Any) -> list[Any]:
    (aval,) = ctx.avals_in
    if not aval.size:
        return ir_empty(ctx.avals_out)
    batch = aval.shape[:-2]
    attributes = {"low": np.int32(1), "high": np.int32(aval.shape[-1])}
    results = [*ctx.avals_out, ShapedArray(batch, _INT32)]
    *outs, info = lapack_call(ctx, "gehrd", batch, [(a, aval)], results, attributes, {0: 0})
    return unless_failed(info, batch, list(zip(outs, ctx.avals_out, strict=True)))


RULES: Table = {
    eig_p: {
        "abstract_eval": _eig_abstract_eval,
        "jvp": _eig_jvp,
        "axis_batch": front_batch(eig_p),
        "lowering": dict.fromkeys(("cpu", "gpu"), _eig_lowering),
    },
    schur_p: {
        "abstract_eval": _schur_abstract_eval,
        "axis_batch": front_batch(schur_p),
        "lowering": {"cpu": _schur_cpu_lowering},
        "unsupported": {"jvp": "the decomposition is not unique; differentiate functions of it instead"},
    },
    hessenberg_p: {
        "abstract_eval": _hessenberg_abstract_eval,
        "axis_batch": front_batch(hessenberg_p),
        "lowering": {"cpu": _hessenberg_cpu_lowering},
        "unsupported": {
            "jvp": "Householder reflections are intermediate results; differentiate functions of them instead"
        },
    },
}
