"""Samples of sparse matrices; some store an element twice, or one that is out of range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.provisional.sampling import numbers
from primax.plugins.sparse import (
    COOInfo,
    coo_fromdense_p,
    coo_matmat_p,
    coo_matvec_p,
    coo_todense_p,
    csr_fromdense_p,
    csr_matmat_p,
    csr_matvec_p,
    csr_todense_p,
)

_SHAPE = (3, 4)
_ROW, _COL = np.array([0, 2, 0, -1, 3], np.int32), np.array([1, 3, 1, 2, 0], np.int32)
_INDICES, _INDPTR = np.array([1, 3, 0, 2, 1], np.int32), np.array([0, 2, 2, 4], np.int32)
_COO: tuple[Any, dict[str, Any]] = ((_ROW, _COL), {"spinfo": COOInfo(_SHAPE)})
_CSR: tuple[Any, dict[str, Any]] = ((_INDICES, _INDPTR), {"shape": _SHAPE})


def _dense_coo(data: Any, row: Any, col: Any, **_: Any) -> Any:
    out = np.zeros(_SHAPE, data.dtype)
    inside = (row < _SHAPE[0]) & (col < _SHAPE[1])
    np.add.at(out, (row[inside], col[inside]), data[inside])
    return out


def _dense_csr(data: Any, indices: Any, indptr: Any, **_: Any) -> Any:
    row = np.repeat(np.arange(_SHAPE[0]), np.diff(indptr))
    return _dense_coo(data[: len(row)], row, indices[: len(row)])


def _other_numbers(args: Sequence[Any], k: int) -> list[Any]:
    """The same indices with other numbers."""
    return [np.roll(x, k, 0) if x.dtype.kind in "fc" else x for x in args]


def _of_matrices(dense: Callable[..., Any], layout: tuple[Any, dict[str, Any]]) -> Callable[[], list[core.Sample]]:
    parts, params = layout
    return lambda: [
        core.Sample([numbers((5,), dtype), *parts], params, vary=_other_numbers, reference=dense)
        for dtype in (np.float32, np.complex64)
    ]


def _of_products(
    dense: Callable[..., Any], layout: tuple[Any, dict[str, Any]], *columns: int
) -> Callable[[], list[core.Sample]]:
    parts, params = layout

    def reference(data: Any, first: Any, second: Any, x: Any, *, transpose: bool, **_: Any) -> Any:
        mat = dense(data, first, second)
        return (mat.T if transpose else mat) @ x

    return lambda: [
        core.Sample(
            [numbers((5,), dtype), *parts, numbers((_SHAPE[0 if transpose else 1], *columns), dtype, 5)],
            {**params, "transpose": transpose},
            vary=_other_numbers,
            reference=reference,
        )
        for dtype, transpose in ((np.float32, False), (np.complex64, True))
    ]


def _of_dense(reference: Callable[..., Any]) -> Callable[[], list[core.Sample]]:
    """Matrices, with a request for all stored elements, for more, or for fewer; zeros of the last do not count."""
    full = numbers((2, 3))
    gaps = np.where(np.arange(6).reshape(2, 3) % 2 == 1, full, np.float32(0))
    kind = {"index_dtype": np.dtype(np.int32)}
    return lambda: [
        core.Sample([mat], {"nse": nse, **kind}, vary=_scaled, reference=reference, singular=mat is gaps)
        for mat, nse in ((full, 6), (full, 4), (gaps, 4))
    ]


def _scaled(args: Sequence[Any], k: int) -> list[Any]:
    return [(x * (1 + k / 16)).astype(x.dtype) for x in args]


def _stored_coo(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    row, col = np.nonzero(mat)
    return [np.resize(np.append(x, np.zeros(nse, x.dtype))[:nse], nse) for x in (mat[row, col], row, col)]


def _stored_csr(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
    data, _, col = _stored_coo(mat, nse=nse, index_dtype=index_dtype)
    row = np.nonzero(mat)[0][:nse]
    return [data, col, np.append(0, np.cumsum(np.bincount(row, minlength=len(mat))))]


SAMPLES = {
    coo_fromdense_p: _of_dense(_stored_coo),
    coo_todense_p: _of_matrices(_dense_coo, _COO),
    coo_matvec_p: _of_products(_dense_coo, _COO),
    coo_matmat_p: _of_products(_dense_coo, _COO, 2),
    csr_fromdense_p: _of_dense(_stored_csr),
    csr_todense_p: _of_matrices(_dense_csr, _CSR),
    csr_matvec_p: _of_products(_dense_csr, _CSR),
    csr_matmat_p: _of_products(_dense_csr, _CSR, 2),
}
