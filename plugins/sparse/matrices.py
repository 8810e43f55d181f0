"""The primitives of sparse matrices, with the same rules for each layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.rule_types import Rules, Table
from primax.plugins.arithmetic import mul
from primax.plugins.comparison import lt, ne
from primax.plugins.sparse.elements import cleared, contracted, positions, row_starts, rows_of, scattered, taken
from primax.plugins.sparse.layouts import BY_COORDINATES, BY_ROWS, Layout, check_indices
from primax.plugins.structural import (
    broadcast_in_dim_p,
    convert_element_type,
    iota,
    reduce_sum,
    reshape,
    slice_in_dim,
    zero_of,
)

coo_fromdense_p = core.Primitive("coo_fromdense", multiple_results=True)
coo_matmat_p = core.Primitive("coo_matmat")
coo_matvec_p = core.Primitive("coo_matvec")
coo_todense_p = core.Primitive("coo_todense")
csr_fromdense_p = core.Primitive("csr_fromdense", multiple_results=True)
csr_matmat_p = core.Primitive("csr_matmat")
csr_matvec_p = core.Primitive("csr_matvec")
csr_todense_p = core.Primitive("csr_todense")

Function = Callable[..., Any]


def _column(x: Any, i: int) -> Any:
    return reshape(slice_in_dim(x, i, i + 1, axis=1), (get_aval(x).shape[0],))


def _by_operations(function: Function) -> Function:
    """The batch rule of a primitive that is a function of arrays."""

    def batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        several: list[bool] = []

        def run(*xs: Any) -> Any:
            out = function(*xs, **params)
            several.append(isinstance(out, list))
            return out if several[0] else [out]

        outs, out_dims = batching.batch_flat(run, axis, args, dims)
        return (outs, out_dims) if several[0] else (outs[0], out_dims[0])

    return batch


def _fromdense_rules(primitive: core.Primitive, layout: Layout) -> Rules:
    name = primitive.name

    def abstract_eval(mat: ShapedArray, *, nse: int, index_dtype: Any) -> list[ShapedArray]:
        if mat.ndim != 2:
            raise ValueError(f"{name}: mat must have two dimensions, got {mat.str_short()}")
        if nse < 0:
            raise ValueError(f"{name}: nse must be at least 0, got {nse}")
        check_indices(name, "index_dtype", index_dtype, (*mat.shape, nse) if layout is BY_ROWS else mat.shape)
        lengths = layout.lengths(nse, mat.shape)
        return [ShapedArray((nse,), mat.dtype), *(ShapedArray((n,), np.dtype(index_dtype)) for n in lengths)]

    def elements(mat: Any, *, nse: int, index_dtype: Any) -> list[Any]:
        shape = get_aval(mat).shape
        flat = reshape(mat, (shape[0] * shape[1],))
        places, used = positions(ne(flat, zero_of(get_aval(mat).dtype)), nse)
        data = taken(flat, reshape(places, (nse, 1)))
        rows = rows_of(places, shape, index_dtype)
        # As in jax, superfluous stored elements are zeros at the first place.
        row, col = (cleared(_column(rows, i), used) for i in (0, 1))
        return [data, row, col] if layout is BY_COORDINATES else [data, col, row_starts(_column(rows, 0), shape[0])]

    def jvp(primals: Any, tangents: Any, *, nse: int, index_dtype: Any) -> tuple[Any, Any]:
        (mat,), (t,) = primals, tangents
        outs = primitive.bind(mat, nse=nse, index_dtype=index_dtype)
        none = [ad.Zero.from_primal_value(x) for x in outs]
        if type(t) is ad.Zero:
            return outs, none
        nonzero = ne(mat, zero_of(get_aval(mat).dtype))
        count = reduce_sum(convert_element_type(nonzero, np.int32), (0, 1))
        used = lt(iota(np.int32, nse), broadcast_in_dim_p.bind(count, shape=(nse,), broadcast_dimensions=()))
        return outs, [cleared(taken(t, layout.rows(*outs[1:])), used), *none[1:]]

    return {
        "abstract_eval": abstract_eval,
        "jvp": jvp,
        "axis_batch": _by_operations(elements),
        "lowering": mlir.lower_fun(elements),
        "unsupported": {"transpose": "which elements are stored depends on the matrix; differentiate with jvp or grad"},
    }


def _todense_rules(primitive: core.Primitive, layout: Layout) -> Rules:
    def abstract_eval(data: ShapedArray, first: ShapedArray, second: ShapedArray, **params: Any) -> ShapedArray:
        layout.check(primitive.name, data, first, second, layout.shape(params))
        return ShapedArray(layout.shape(params), data.dtype)

    def dense(data: Any, first: Any, second: Any, **params: Any) -> Any:
        return scattered(layout.shape(params), layout.rows(first, second), data)

    def transpose(ct: Any, data: Any, first: Any, second: Any, **params: Any) -> list[Any]:
        return [ad.Zero(data.aval) if type(ct) is ad.Zero else taken(ct, layout.rows(first, second)), None, None]

    return {
        "abstract_eval": abstract_eval,
        "jvp": ad.standard_jvp(
            primitive, lambda t, data, *rest, **params: primitive.bind(t, *rest, **params), None, None
        ),
        "transpose": transpose,
        "axis_batch": _by_operations(dense),
        "lowering": mlir.lower_fun(dense, multiple_results=False),
    }


def _product_rules(primitive: core.Primitive, layout: Layout, ndim: int) -> Rules:
    name, argument = primitive.name, "vB"[ndim - 1]
    of_matrices = {"coo": coo_matmat_p, "csr": csr_matmat_p}[layout.name]

    def abstract_eval(
        data: ShapedArray, first: ShapedArray, second: ShapedArray, x: ShapedArray, *, transpose: bool, **params: Any
    ) -> ShapedArray:
        layout.check(name, data, first, second, layout.shape(params))
        out, inner = layout.shape(params)[:: -1 if transpose else 1]
        if x.ndim != ndim or x.shape[0] != inner:
            raise ValueError(
                f"{name}: {argument} must have shape ({inner},{' columns' if ndim == 2 else ''}) for a matrix of shape "
                f"{tuple(layout.shape(params))} and transpose={transpose}, got {x.str_short()}"
            )
        if x.dtype != data.dtype:
            raise TypeError(f"{name}: {argument} must have the dtype {data.dtype} of data, got {x.str_short()}")
        return ShapedArray((out, *x.shape[1:]), x.dtype)

    def product(data: Any, first: Any, second: Any, x: Any, *, transpose: bool, **params: Any) -> Any:
        summed, kept = ((0,), (1,)) if transpose else ((1,), (0,))
        return contracted(data, layout.rows(first, second), x, layout.shape(params), summed, kept)

    def transpose_rule(
        ct: Any, data: Any, first: Any, second: Any, x: Any, *, transpose: bool, **params: Any
    ) -> list[Any]:
        if type(data) is not ad.UndefinedPrimal:
            if type(ct) is ad.Zero:
                return [None, None, None, ad.Zero(x.aval)]
            return [None, None, None, primitive.bind(data, first, second, ct, transpose=not transpose, **params)]
        if type(ct) is ad.Zero:
            return [ad.Zero(data.aval), None, None, None]
        rows = layout.rows(first, second)
        left, right = (x, ct) if transpose else (ct, x)
        products = mul(*(taken(operand, _single(rows, i)) for i, operand in enumerate((left, right))))
        return [products if ndim == 1 else reduce_sum(products, (1,)), None, None, None]

    by_operations = _by_operations(product)

    def batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        if dims[3] is None or any(dim is not None for dim in dims[:3]):
            return by_operations(axis, args, dims, **params)
        *matrix, x = args
        columns = batching.moveaxis(x, dims[3], ndim)
        inner, *others = get_aval(columns).shape
        out = of_matrices.bind(*matrix, reshape(columns, (inner, int(np.prod(others)))), **params)
        return reshape(out, (get_aval(out).shape[0], *others)), ndim

    return {
        "abstract_eval": abstract_eval,
        "jvp": ad.standard_jvp(
            primitive,
            lambda t, data, *rest, **params: primitive.bind(t, *rest, **params),
            None,
            None,
            lambda t, data, first, second, x, **params: primitive.bind(data, first, second, t, **params),
        ),
        "transpose": transpose_rule,
        "axis_batch": batch,
        "lowering": mlir.lower_fun(product, multiple_results=False),
    }


def _single(rows: Any, i: int) -> Any:
    return slice_in_dim(rows, i, i + 1, axis=1)


RULES: Table = {
    coo_fromdense_p: _fromdense_rules(coo_fromdense_p, BY_COORDINATES),
    coo_todense_p: _todense_rules(coo_todense_p, BY_COORDINATES),
    coo_matvec_p: _product_rules(coo_matvec_p, BY_COORDINATES, 1),
    coo_matmat_p: _product_rules(coo_matmat_p, BY_COORDINATES, 2),
    csr_fromdense_p: _fromdense_rules(csr_fromdense_p, BY_ROWS),
    csr_todense_p: _todense_rules(csr_todense_p, BY_ROWS),
    csr_matvec_p: _product_rules(csr_matvec_p, BY_ROWS, 1),
    csr_matmat_p: _product_rules(csr_matmat_p, BY_ROWS, 2),
}
