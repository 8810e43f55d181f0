"""Samples of decompositions and solvers, for well-conditioned matrices with separated eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import numbers
from primax.plugins.linalg.determinants import det_p, slogdet_p
from primax.plugins.linalg.gauss import lu_p, lu_pivots_to_permutation_p
from primax.plugins.linalg.general import eig_p, hessenberg_p, schur_p
from primax.plugins.linalg.householder import geqp3_p, geqrf_p, householder_product_p, ormqr_p
from primax.plugins.linalg.orthogonal import qr_p
from primax.plugins.linalg.positive import cholesky_p
from primax.plugins.linalg.pseudoinverse import pinv_p
from primax.plugins.linalg.repeated import spectral_quotients_p
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.solve import solve_p
from primax.plugins.linalg.symmetric import eigh_p, tridiagonal_p
from primax.plugins.linalg.triangular import triangular_solve_p
from primax.plugins.linalg.tridiagonal import tridiagonal_solve_p
from primax.plugins.linalg.updates import cholesky_update_p, symmetric_product_p
from primax.plugins.samples.linalg_invariants import (
    of_eig,
    of_eigh,
    of_hessenberg,
    of_pivoted_reflections,
    of_qr,
    of_reflections,
    of_schur,
    of_svd,
    of_tridiagonal,
    reflected,
)


def dominant(shape: Sequence[int], dtype: Any = np.float32, start: int = 0) -> Any:
    """Matrices with a diagonal of different large numbers."""
    rows, columns = shape[-2:]
    steps = 4 + 3 * np.arange(min(rows, columns))
    spread = np.zeros((rows, columns))
    np.fill_diagonal(spread, steps)
    return (numbers(shape, dtype, start) / 2 + spread).astype(dtype)


def positive(shape: Sequence[int], dtype: Any = np.float32) -> Any:
    """Hermitian matrices with positive, separated eigenvalues."""
    x = dominant(shape, dtype)
    return ((x + x.swapaxes(-1, -2).conj()) / 2).astype(dtype)


def vary_diagonal(args: Sequence[Any], k: int) -> list[Any]:
    """The first argument with other diagonals, and the others scaled."""
    matrix, *others = args
    rows, columns = matrix.shape[-2:]
    return [
        (matrix + k * np.eye(rows, columns) * np.arange(1, columns + 1)).astype(matrix.dtype),
        *vary_scale(others, k),
    ]


def vary_scale(args: Sequence[Any], k: int) -> list[Any]:
    """Arguments a little larger."""
    return [(x * (1 + k / 16)).astype(x.dtype) for x in args]


def _det_samples() -> list[core.Sample]:
    return [
        core.Sample([np.roll(dominant(shape, dtype), 1, -1)], vary=vary_diagonal, reference=np.linalg.det)
        for shape, dtype in (((4, 4), np.float32), ((2, 2, 2), np.float32), ((3, 3), np.complex64))
    ]


def _slogdet_samples() -> list[core.Sample]:
    return [
        core.Sample([a], {"method": method}, vary=vary_diagonal, reference=lambda a, method: list(np.linalg.slogdet(a)))
        for sample in _det_samples()
        for method, a in (("lu", sample.args[0]), ("qr", sample.args[0].swapaxes(-1, -2)))
    ]


def _by_numpy(pivots: Any, *, permutation_size: int) -> np.ndarray:
    rows = np.broadcast_to(np.arange(permutation_size, dtype=np.int32), (*pivots.shape[:-1], permutation_size)).copy()
    for stack in np.ndindex(pivots.shape[:-1]):
        for i, pivot in enumerate(pivots[stack]):
            rows[stack][[i, pivot]] = rows[stack][[pivot, i]]
    return rows


def _lu_samples() -> list[core.Sample]:
    cases = {
        "square": ((3, 3), np.float32),
        "wide": ((2, 2, 3), np.float32),
        "tall": ((4, 2), np.float32),
        "complex": ((3, 3), np.complex64),
    }
    return [
        core.Sample([np.roll(dominant(shape, dtype), 1, -2)], name=name, vary=vary_diagonal)
        for name, (shape, dtype) in cases.items()
    ]


def _permutation_samples() -> list[core.Sample]:
    pivots = np.array([[2, 2, 3], [1, 3, 2]], np.int32)
    return [core.Sample([pivots], {"permutation_size": size}, reference=_by_numpy) for size in (4, 5)]


_EIG_FLAGS = ("compute_left_eigenvectors", "compute_right_eigenvectors", "enable_eigvec_derivs")


def _eig_samples() -> list[core.Sample]:
    cases: list[tuple[str, Any, Any, tuple[bool, bool, bool]]] = [
        ("both", (3, 3), np.float32, (True, True, True)),
        ("right, complex", (2, 2, 2), np.complex64, (False, True, True)),
        ("values", (3, 3), np.float32, (False, False, False)),
    ]
    return [
        core.Sample(
            [dominant(shape, dtype, sum(flags))],
            {**dict(zip(_EIG_FLAGS, flags, strict=True)), "implementation": None},
            name,
            vary=vary_diagonal,
            invariants=of_eig,
        )
        for name, shape, dtype, flags in cases
    ]


def _schur_samples() -> list[core.Sample]:
    cases = ((3, 3), np.float32, True), ((2, 2, 2), np.complex64, True), ((3, 3), np.float32, False)
    return [
        core.Sample(
            [dominant(shape, dtype, int(vectors))],
            {"compute_schur_vectors": vectors, "sort_eig_vals": False, "select_callable": None},
            vary=vary_diagonal,
            invariants=of_schur,
        )
        for shape, dtype, vectors in cases
    ]


def _hessenberg_samples() -> list[core.Sample]:
    cases = ((3, 3), np.float32), ((2, 3, 3), np.complex64)
    return [
        core.Sample([dominant(shape, dtype)], vary=vary_diagonal, invariants=of_hessenberg) for shape, dtype in cases
    ]


def _qr_samples() -> list[core.Sample]:
    cases: list[tuple[str, tuple[int, ...], Any, bool, bool]] = [
        ("square", (3, 3), np.float32, False, True),
        ("tall", (2, 3, 2), np.float32, False, False),
        ("wide", (2, 3), np.float32, False, False),
        ("pivoting", (3, 2), np.float32, True, False),
        ("complex", (3, 2), np.complex64, False, False),
    ]
    return [
        core.Sample(
            [dominant(shape, dtype)],
            {"pivoting": pivoting, "full_matrices": full, "use_magma": None},
            name,
            vary=vary_diagonal,
            invariants=of_qr,
        )
        for name, shape, dtype, pivoting, full in cases
    ]


def _cholesky_samples() -> list[core.Sample]:
    return [
        core.Sample([positive(shape, dtype)], name=name, vary=vary_diagonal, reference=np.linalg.cholesky)
        for name, shape, dtype in (
            ("a matrix", (3, 3), np.float32),
            ("a stack", (2, 2, 2), np.float32),
            ("complex", (3, 3), np.complex64),
        )
    ]


def _pinv_samples() -> list[core.Sample]:
    cases: list[tuple[str, Any, bool]] = [
        ("square", dominant((3, 3)), False),
        ("tall", dominant((2, 3, 2)), False),
        ("wide", dominant((2, 3), np.complex64), False),
        ("hermitian", positive((3, 3)), True),
    ]
    return [
        core.Sample(
            [a, np.full(a.shape[:-2], 1e-5, np.float32)[()]],
            {"hermitian": hermitian},
            name,
            constant=(1,),
            vary=lambda args, k: [*vary_diagonal(args[:1], k), args[1]],
            reference=lambda a, rtol, hermitian: np.linalg.pinv(a),
        )
        for name, a, hermitian in cases
    ]


def _svd_samples() -> list[core.Sample]:
    cases: list[tuple[str, tuple[int, ...], bool, bool, Any]] = [
        ("square", (3, 3), True, True, None),
        ("tall", (2, 3, 2), True, False, None),
        ("wide", (2, 3), True, False, None),
        ("values", (3, 2), False, True, None),
        ("subset", (3, 3), True, False, (1, 3)),
    ]
    return [
        core.Sample(
            [dominant(shape)],
            {"compute_uv": vectors, "full_matrices": full, "subset_by_index": subset, "algorithm": None},
            name,
            vary=vary_diagonal,
            invariants=of_svd,
        )
        for name, shape, vectors, full, subset in cases
    ]


def _solve_samples() -> list[core.Sample]:
    samples = []
    for dtype, shape in ((np.float32, (3, 3)), (np.complex64, (2, 2, 2))):
        b = numbers((*shape[:-1], 2), dtype, 5)
        general, definite = dominant(shape, dtype), positive(shape, dtype)
        samples += [
            core.Sample(
                operands,
                {"transpose_a": transposed},
                constant=range(len(operands) - 1),
                vary=_vary_last,
                reference=_solved_by_factors,
            )
            for operands, transposed in (
                ([general, *_factored(general), b], False),
                ([general, *_factored(general), b], True),
                ([definite, np.linalg.cholesky(definite), b], True),
            )
        ]
    return samples


def _factored(a: Any) -> tuple[Any, Any]:
    """The LU decomposition of matrices that need no row exchanges."""
    factors = np.array(a)
    for i in range(a.shape[-1] - 1):
        factors[..., i + 1 :, i] /= factors[..., i, None, i]
        factors[..., i + 1 :, i + 1 :] -= factors[..., i + 1 :, i, None] * factors[..., None, i, i + 1 :]
    return factors, np.broadcast_to(np.arange(a.shape[-1], dtype=np.int32), a.shape[:-1]).copy()


def _vary_last(args: Any, k: int) -> list[Any]:
    *factored, b = args
    return [*factored, (b * (1 + k / 16)).astype(b.dtype)]


def _solved_by_factors(a: Any, *factors_and_b: Any, transpose_a: bool) -> np.ndarray:
    return np.linalg.solve(a.swapaxes(-1, -2) if transpose_a else a, factors_and_b[-1])


def _multiplied(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    q = reflected(a, taus)
    q = q.swapaxes(-1, -2).conj() if transpose else q
    return q @ c if left else c @ q


def _geqrf_samples() -> list[core.Sample]:
    shapes = (((3, 3), np.float32), ((2, 3, 2), np.float32), ((2, 3), np.complex64))
    return [
        core.Sample([dominant(shape, dtype)], vary=vary_diagonal, invariants=of_reflections) for shape, dtype in shapes
    ]


def _geqp3_samples() -> list[core.Sample]:
    shapes = (((3, 3), np.float32, [0, 0, 0]), ((3, 2), np.complex64, [0, 1]))
    return [
        core.Sample(
            [dominant(shape, dtype), np.array(first, np.int32)],
            vary=lambda args, k: [args[0] * (1 + k / 16), args[1]],
            invariants=of_pivoted_reflections,
        )
        for shape, dtype, first in shapes
    ]


def _reflections() -> list[tuple[Any, Any]]:
    cases = (((3, 3), 3, np.float32), ((2, 4, 3), 2, np.float32), ((3, 2), 2, np.complex64))
    return [(numbers(shape, dtype), numbers((*shape[:-2], k), dtype, 7)) for shape, k, dtype in cases]


def _householder_product_samples() -> list[core.Sample]:
    return [
        core.Sample(
            operands, vary=vary_scale, reference=lambda a, taus: reflected(a, taus)[..., : a.shape[-1]].astype(a.dtype)
        )
        for operands in _reflections()
    ]


def _ormqr_samples() -> list[core.Sample]:
    samples = []
    for i, (a, taus) in enumerate(_reflections()):
        m = a.shape[-2]
        c = numbers((*a.shape[:-2], *((m, 2) if i != 1 else (2, m))), a.dtype, 4)
        params = {"left": i != 1, "transpose": i == 2}
        samples.append(core.Sample([a, taus, c], params, vary=vary_scale, reference=_multiplied))
    return samples


def _eigh_samples() -> list[core.Sample]:
    cases: list[tuple[str, tuple[int, ...], bool, Any]] = [
        ("lower", (3, 3), True, None),
        ("upper", (2, 2, 2), False, None),
        ("subset", (3, 3), True, (1, 3)),
    ]
    return [
        core.Sample(
            [positive(shape)],
            {"lower": lower, "sort_eigenvalues": True, "subset_by_index": subset, "algorithm": None},
            name,
            vary=vary_diagonal,
            invariants=of_eigh,
        )
        for name, shape, lower, subset in cases
    ]


def _quotients_samples() -> list[core.Sample]:
    w, frame, change = np.array([1, 2, 4], np.float32), np.zeros((3, 3), np.float32), numbers((3, 3), np.float32, 3)
    return [
        core.Sample(
            [w, frame, change],
            {"by": by, "singular": True, "conjugate": False},
            by,
            constant=(0, 1),
            reference=lambda w, frame, change, by, **params: _quotient(w, change, by),
        )
        for by in ("difference", "sum", "column")
    ]


def _quotient(w: Any, change: Any, by: str) -> np.ndarray:
    columns, rows = w[..., None, :], w[..., :, None]
    divisors = {"difference": columns - rows, "sum": columns + rows, "column": columns + 0 * rows}[by]
    return np.where(divisors == 0, 0, change / np.where(divisors == 0, 1, divisors)).astype(change.dtype)


def _tridiagonal_samples() -> list[core.Sample]:
    cases = ((3, 3), np.float32, True), ((2, 3, 3), np.float32, False), ((3, 3), np.complex64, True)
    return [
        core.Sample([positive(shape, dtype)], {"lower": lower}, vary=vary_diagonal, invariants=of_tridiagonal)
        for shape, dtype, lower in cases
    ]


def _solved_triangle(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Any:
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a * (1 - np.eye(a.shape[-1])) + np.eye(a.shape[-1])
    a = a.swapaxes(-1, -2) if transpose_a else a
    a = a.conj() if conjugate_a else a
    inverse = np.linalg.inv(a)
    return inverse @ b if left_side else b @ inverse


def _triangular_samples() -> list[core.Sample]:
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    cases: list[tuple[Any, Any, Any, tuple[int, ...]]] = [
        ((3, 3), (3, 2), np.float32, (1, 1, 0, 0, 0)),
        ((3, 3), (2, 3), np.float32, (0, 0, 1, 0, 1)),
        ((2, 2, 2), (2, 2, 3), np.float32, (1, 0, 0, 0, 0)),
        ((2, 2), (2, 3), np.complex64, (1, 1, 1, 1, 0)),
        ((2, 2), (3, 2), np.complex64, (0, 1, 0, 1, 1)),
    ]
    return [
        core.Sample(
            [dominant(of_a, dtype), numbers(of_b, dtype, 5)],
            dict(zip(names, map(bool, flags), strict=True)),
            vary=vary_diagonal,
            reference=_solved_triangle,
        )
        for of_a, of_b, dtype, flags in cases
    ]


def _solved_tridiagonal(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> np.ndarray:
    n = d.shape[-1]
    matrix = np.zeros((*d.shape, n), d.dtype)
    for i in range(n):
        matrix[..., i, i] = d[..., i]
        if i:
            matrix[..., i, i - 1], matrix[..., i - 1, i] = dl[..., i], du[..., i - 1]
    return np.linalg.solve(matrix, b)


def _tridiagonal_solve_samples() -> list[core.Sample]:
    samples = []
    for shape, dtype, perturb in (((3,), np.float32, False), ((2, 3), np.complex64, False), ((3,), np.float32, True)):
        below, above = numbers(shape, dtype), numbers(shape, dtype, 4 + perturb)
        args = [below, numbers(shape, dtype, 2) + dtype(9), above, numbers((*shape, 2), dtype, 5)]
        samples.append(
            core.Sample(args, {"perturb_singular": perturb}, reference=_solved_tridiagonal, vary=_vary_tridiagonal)
        )
    return samples


def _vary_tridiagonal(args: Any, k: int) -> list[Any]:
    dl, d, du, b = args
    return [dl, (d * (1 + k / 4)).astype(d.dtype), du, (b * (1 - k / 8)).astype(b.dtype)]


def _update_samples() -> list[core.Sample]:
    samples = []
    for shape in ((3, 3), (2, 2, 2)):
        r = np.linalg.cholesky(positive(shape)).swapaxes(-1, -2)
        samples.append(core.Sample([r, numbers(shape[:-1])], vary=_vary_update, reference=_updated))
    return samples


def _updated(r: Any, w: Any) -> np.ndarray:
    product = r.swapaxes(-1, -2) @ r + w[..., :, None] * w[..., None, :]
    return np.linalg.cholesky(product).swapaxes(-1, -2)


def _vary_update(args: Any, k: int) -> list[Any]:
    r, w = args
    return [(r * (1 + k / 4)).astype(r.dtype), (w * (1 - k / 8)).astype(w.dtype)]


def _product_samples() -> list[core.Sample]:
    return [
        core.Sample(
            [numbers((3, 2)), positive((3, 3))],
            {"alpha": alpha, "beta": beta},
            reference=lambda a, c, alpha, beta: (alpha * (a @ a.T) + beta * c).astype(a.dtype),
        )
        for alpha, beta in ((2.0, 0.5), (-1.0, 0.0))
    ]


SAMPLES = {
    det_p: _det_samples,
    slogdet_p: _slogdet_samples,
    lu_p: _lu_samples,
    lu_pivots_to_permutation_p: _permutation_samples,
    eig_p: _eig_samples,
    schur_p: _schur_samples,
    hessenberg_p: _hessenberg_samples,
    geqrf_p: _geqrf_samples,
    geqp3_p: _geqp3_samples,
    householder_product_p: _householder_product_samples,
    ormqr_p: _ormqr_samples,
    qr_p: _qr_samples,
    cholesky_p: _cholesky_samples,
    pinv_p: _pinv_samples,
    svd_p: _svd_samples,
    solve_p: _solve_samples,
    eigh_p: _eigh_samples,
    spectral_quotients_p: _quotients_samples,
    tridiagonal_p: _tridiagonal_samples,
    triangular_solve_p: _triangular_samples,
    tridiagonal_solve_p: _tridiagonal_solve_samples,
    cholesky_update_p: _update_samples,
    symmetric_product_p: _product_samples,
}
