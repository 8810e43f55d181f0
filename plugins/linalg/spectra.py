"""The derivatives of eigh and svd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.dimensions import max_dim, min_dim
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.dimensions import bounds
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, comparison, structural
from primax.plugins.linalg.in_parts import InParts
from primax.plugins.linalg.matrices import (
    adjoint,
    along_rows,
    eye,
    from_triangle,
    front_batch,
    full_like,
    half,
    matmul,
    only,
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


def is_tall_or_wide(m: Any, n: Any) -> tuple[bool, bool]:
    """Whether a matrix may have more rows than columns, and more columns than rows; symbolic sizes allow both."""
    least, most = bounds(m - n)
    return most > 0, least < 0


def _singular_spectrum_abstract_eval(x: ShapedArray, **params: Any) -> list[ShapedArray]:
    *batch, m, n = x.shape
    k = min_dim(m, n)
    outs = [
        ShapedArray((*batch, k), real_dtype(x.dtype)),
        ShapedArray((*batch, m, k), x.dtype),
        ShapedArray((*batch, k, n), x.dtype),
        *[ShapedArray((*batch, k, k), x.dtype)] * 2,
    ]
    return [*outs, ShapedArray((*batch, max_dim(m, n), k), x.dtype)] if any(is_tall_or_wide(m, n)) else outs


def _singular_spectrum(x: Any, *, padded: bool, **params: Any) -> list[Any]:
    *batch, m, n = get_aval(x).shape
    k = min_dim(m, n)
    svd = partial(svd_p.bind, compute_uv=True, subset_by_index=None, **params)
    s, u, vh = _padded_svd(svd, x) if padded else svd(x, full_matrices=False)
    frames = [full_like(x, 0, (*batch, k, k))] * 2
    if any(is_tall_or_wide(m, n)):
        frames.append(full_like(x, 0, (*batch, max_dim(m, n), k)))
    return [s, u, vh, *frames]


def _padded_svd(svd: Callable[..., Any], x: Any) -> tuple[Any, Any, Any]:
    """The decomposition of n columns whose last n rows are zero; these rows have the vectors for n - m zeros."""
    *batch, rows, n = get_aval(x).shape
    m = rows - n
    k = min_dim(m, n)
    s, u, vh = svd(picked(x, (0, m), -2), full_matrices=True)
    square = (*batch, n, n)
    ones = _padded(full_like(s, 1), -1, n - k)
    below = only(eye(get_aval(x).dtype, square), comparison.eq(along_rows(ones, square), full_like(s, 0, square)))
    above = _padded(picked(u, (0, k), -1), -1, n - k)
    return _padded(s, -1, n - k), structural.concatenate([above, below], len(batch)), vh


def _padded(x: Any, axis: int, count: Any) -> Any:
    """An array with zeros at the end of an axis, which is counted from the end."""
    config = [(0, 0, 0)] * get_aval(x).ndim
    config[axis] = (0, count, 0)
    return structural.pad_p.bind(x, get_aval(x).dtype.type(0), padding_config=tuple(config))


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
    tall, wide = is_tall_or_wide(*get_aval(x).shape[-2:])
    if tall:
        rest = arithmetic.sub(moved, matmul(u, inner))
        du = arithmetic.add(du, _quotients(s, blocks, rest, "column", True))
        change.append(rest)
    if wide:
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
    padded = all(is_tall_or_wide(m, n))
    if padded:  # with n rows more there are certainly more rows than columns
        primals, tangents = [_padded(x, -2, n)], [_padded(t, -2, n)]
    count = 3 if compute_uv else 1
    outs, changes = (xs[:count] for xs in _singular_spectrum_jvp(primals, tangents, padded=padded, **params))
    if padded:
        k = min_dim(m, n)
        parts = ([(-1, k)], [(-2, m), (-1, k)], [(-2, k)])
        outs, changes = ([_first(x, part) for x, part in zip(xs, parts, strict=False)] for xs in (outs, changes))
    if subset_by_index is None:
        return outs, changes
    return tuple(
        [picked(x, subset_by_index, axis) for x, axis in zip(xs, (-1, -1, -2), strict=False)] for xs in (outs, changes)
    )


def _first(x: Any, counts: Sequence[tuple[int, Any]]) -> Any:
    """The first elements along some axes."""
    for axis, count in counts:
        x = picked(x, (0, count), axis)
    return x


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
