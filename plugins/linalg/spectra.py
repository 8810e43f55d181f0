"""The derivatives of eigh and svd."""

from __future__ import annotations

from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, mlir
from primax.extend.rule_types import Table
from primax.plugins import arithmetic
from primax.plugins.linalg.in_parts import InParts
from primax.plugins.linalg.matrices import (
    adjoint,
    eye,
    from_triangle,
    front_batch,
    full_like,
    half,
    matmul,
    picked,
    real_dtype,
    require_matrix,
    scaled,
)
from primax.plugins.linalg.repeated import spectral_changes_p, spectral_quotients_p
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.symmetric import eigh_p

# The decompositions, zeros whose tangents are those of blocks of equal values, and frames; see `repeated`.
spectrum_p = InParts("spectrum", multiple_results=True)
singular_spectrum_p = InParts("singular_spectrum", multiple_results=True)


def _spectrum_abstract_eval(x: ShapedArray, **params: Any) -> list[ShapedArray]:
    return [
        ShapedArray(x.shape, x.dtype),
        ShapedArray(x.shape[:-1], real_dtype(x.dtype)),
        *[ShapedArray(x.shape, x.dtype)] * 2,
    ]


def _spectrum(x: Any, **params: Any) -> list[Any]:
    return [*eigh_p.bind(x, subset_by_index=None, **params), full_like(x, 0), full_like(x, 0)]


def _spectrum_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """dw = diag(V^H dA V) and dV = V (F * (V^H dA V)) with F[i, j] = 1 / (w[j] - w[i]), or 0 if these are equal.

    S. F. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions, arXiv:1009.3112, section 4.4.
    """
    (x,), (t,) = primals, tangents
    v, w, blocks, frame = outs = spectrum_p.bind(x, **params)
    if type(t) is ad.Zero:
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    inner = matmul(adjoint(v), matmul(from_triangle(t, params["lower"]), v))
    dv = matmul(v, _quotients(w, blocks, inner, "difference", False))
    dw, change = spectral_changes_p.bind(w, frame, inner, singular=False, shared=False)
    return outs, [dv, dw, inner, change]


def _eigh_jvp(primals: Any, tangents: Any, *, subset_by_index: Any, **params: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    if type(t) is ad.Zero:
        outs = eigh_p.bind(x, subset_by_index=subset_by_index, **params)
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    outs, changes = (xs[:2] for xs in _spectrum_jvp(primals, tangents, **params))
    if subset_by_index is not None:
        outs, changes = ([picked(x, subset_by_index, -1) for x in xs] for xs in (outs, changes))
    return outs, changes


def _quotients(w: Any, blocks: Any, change: Any, by: str, singular: bool) -> Array:
    return spectral_quotients_p.bind(w, blocks, change, by=by, singular=singular, conjugate=False)


def _singular_spectrum_abstract_eval(x: ShapedArray, **params: Any) -> list[ShapedArray]:
    *batch, m, n = x.shape
    k = min(m, n)
    outs = [
        ShapedArray((*batch, k), real_dtype(x.dtype)),
        ShapedArray((*batch, m, k), x.dtype),
        ShapedArray((*batch, k, n), x.dtype),
        *[ShapedArray((*batch, k, k), x.dtype)] * 2,
    ]
    return outs if m == n else [*outs, ShapedArray((*batch, max(m, n), k), x.dtype)]


def _singular_spectrum(x: Any, **params: Any) -> list[Any]:
    s, u, vh = svd_p.bind(x, compute_uv=True, full_matrices=False, subset_by_index=None, **params)
    *batch, m, n = get_aval(x).shape
    k = min(m, n)
    frames = [full_like(x, 0, (*batch, k, k))] * 2
    return [s, u, vh, *frames] if m == n else [s, u, vh, *frames, full_like(x, 0, (*batch, max(m, n), k))]


def _singular_spectrum_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """With D = U^H dA V = H + K, Hermitian and not: ds = diag(H), and U^H dU and V^H dV are H * F +- K * G.

    F[i, j] = 1 / (s[j] - s[i]) and G[i, j] = 1 / (s[j] + s[i]), or 0 where the sum or the difference is zero.
    S. F. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions, arXiv:1009.3112, section 4.5;
    J. Townsend, Differentiating the singular value decomposition, 2016, for the part orthogonal to U and V.
    """
    (x,), (t,) = primals, tangents
    s, u, vh, blocks, *frames = outs = singular_spectrum_p.bind(x, **params)
    if type(t) is ad.Zero:
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    v = adjoint(vh)
    moved = matmul(t, v)
    inner = matmul(adjoint(u), moved)
    hermitian, skew = half(arithmetic.add(inner, adjoint(inner))), half(arithmetic.sub(inner, adjoint(inner)))
    turn = _quotients(s, blocks, hermitian, "difference", True)
    twist = _quotients(s, blocks, skew, "sum", True)
    turn_u, turn_v = arithmetic.add(turn, twist), arithmetic.sub(turn, twist)
    if dtypes.is_complex(get_aval(u).dtype):  # only U turns by the phases of pairs of vectors
        phase = scaled(twist, eye(get_aval(s).dtype, get_aval(twist).shape))
        turn_u, turn_v = arithmetic.add(turn_u, phase), arithmetic.add(turn_v, phase)
    du, dv = matmul(u, turn_u), matmul(v, turn_v)
    change = [inner]
    rows, columns = get_aval(x).shape[-2:]
    if rows > columns:
        rest = arithmetic.sub(moved, matmul(u, inner))
        du = arithmetic.add(du, _quotients(s, blocks, rest, "column", True))
        change.append(rest)
    if rows < columns:
        change = [adjoint(inner)]
        rest = arithmetic.sub(matmul(adjoint(t), u), matmul(v, change[0]))
        dv = arithmetic.add(dv, _quotients(s, blocks, rest, "column", True))
        change.append(rest)
    ds, *change = spectral_changes_p.bind(s, *frames, *change, singular=True, shared=False)
    return outs, [ds, du, adjoint(dv), hermitian, *change]


def _svd_jvp(
    primals: Any, tangents: Any, *, compute_uv: bool, full_matrices: bool, subset_by_index: Any, **params: Any
) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    aval = get_aval(x)
    if type(t) is ad.Zero or not aval.size:
        options = {"compute_uv": compute_uv, "full_matrices": full_matrices, "subset_by_index": subset_by_index}
        outs = svd_p.bind(x, **options, **params)
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    require_matrix("svd", aval, "x")
    m, n = aval.shape[-2:]
    if full_matrices and compute_uv and m != n:
        raise NotImplementedError(
            "svd: x must be square to differentiate with full_matrices=True, since it does not determine the "
            f"derivative otherwise, got {aval.str_short()}"
        )
    count = 3 if compute_uv else 1
    outs, changes = (xs[:count] for xs in _singular_spectrum_jvp(primals, tangents, **params))
    if subset_by_index is None:
        return outs, changes
    return tuple(
        [picked(x, subset_by_index, axis) for x, axis in zip(xs, (-1, -1, -2), strict=False)] for xs in (outs, changes)
    )


JVPS = {eigh_p: _eigh_jvp, svd_p: _svd_jvp}

RULES: Table = {
    spectrum_p: {
        "abstract_eval": _spectrum_abstract_eval,
        "jvp": _spectrum_jvp,
        "axis_batch": front_batch(spectrum_p),
        "lowering": mlir.lower_fun(_spectrum),
    },
    singular_spectrum_p: {
        "abstract_eval": _singular_spectrum_abstract_eval,
        "jvp": _singular_spectrum_jvp,
        "axis_batch": front_batch(singular_spectrum_p),
        "lowering": mlir.lower_fun(_singular_spectrum),
    },
}
