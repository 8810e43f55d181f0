"""Sparse matrices: elements and their indices, made of dense matrices, made dense, and multiplied by dense arrays."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.sparse import matrices as _matrices
from primax.plugins.sparse.elements import (
    cleared,
    contracted,
    positions,
    row_numbers,
    row_starts,
    rows_of,
    scattered,
    taken,
    within,
)
from primax.plugins.sparse.layouts import BY_COLUMNS, BY_COORDINATES, BY_ROWS, COOInfo, Layout, check_indices
from primax.plugins.sparse.matrices import (
    coo_fromdense_p,
    coo_matmat_p,
    coo_matvec_p,
    coo_todense_p,
    csr_fromdense_p,
    csr_matmat_p,
    csr_matvec_p,
    csr_todense_p,
)

__all__ = [
    "BY_COLUMNS",
    "BY_COORDINATES",
    "BY_ROWS",
    "COOInfo",
    "Layout",
    "check_indices",
    "cleared",
    "contracted",
    "coo_fromdense_p",
    "coo_matmat_p",
    "coo_matvec_p",
    "coo_todense_p",
    "csr_fromdense_p",
    "csr_matmat_p",
    "csr_matvec_p",
    "csr_todense_p",
    "positions",
    "row_numbers",
    "row_starts",
    "rows_of",
    "scattered",
    "taken",
    "within",
]

RULES: Table = _matrices.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.sparse:SAMPLES"], **rules)
