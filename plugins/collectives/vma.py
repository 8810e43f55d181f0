"""Primitives that convert between invarying and varying values along mesh axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.sharding import manual_axes, manual_scope, vma_of
from primax.extend.rule_types import Table
from primax.plugins.collectives.lowerings import lower_all_gather, lower_reduction
from primax.plugins.collectives.mapped import index_along
from primax.plugins.indexing import dynamic_slice
from primax.plugins.structural import squeeze

pvary_p = core.Primitive("pvary")
psum_invariant_p = core.Primitive("psum_invariant")
all_gather_invariant_p = core.Primitive("all_gather_invariant")
pscatter_p = core.Primitive("pscatter")


def split_names(names: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The axes that types record, and the others."""
    checked = manual_axes()
    return tuple(n for n in names if n in checked), tuple(n for n in names if n not in checked)


def varying_along(x: Any, *, axes: Any, **params: Any) -> list[frozenset[Any]]:
    """The variance rule of a collective whose parameter `axes` names the axes."""
    return [x.vma | frozenset(split_names(axes)[0])]


def varying_by_name(x: Any, *, axis_name: Any, **params: Any) -> list[frozenset[Any]]:
    """The variance rule of a collective whose parameter `axis_name` names the axes."""
    return [x.vma | frozenset(split_names(axis_name)[0])]


def _missing(x: Any, axes: Any) -> tuple[Any, ...]:
    """The axes along which a value does not vary yet; programs may get values that vary more than expected."""
    already = vma_of(x)
    return tuple([name for name in axes if name not in already])


def _pvary_staging(trace: Any, args: Any, params: dict[str, Any]) -> Any:
    (x,) = args
    axes = _missing(x, params["axes"])
    return trace.add_eqn(pvary_p, args, [_more(get_aval(x), axes=axes)], {"axes": axes}, frozenset())[0] if axes else x


def _pvary_jvp(primals: Any, tangents: Any, *, axes: Any) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    axes = _missing(x, axes)
    if not axes:
        return x, x_dot
    out = pvary_p.bind(x, axes=axes)
    return out, ad.Zero.from_primal_value(out) if type(x_dot) is ad.Zero else pvary_p.bind(x_dot, axes=axes)


def own_variance(x: Any, **params: Any) -> list[frozenset[Any]]:
    return [x.vma]


def _same(x: Any, *, axes: Any) -> ShapedArray:
    return x.update(vma=x.vma - frozenset(axes))


def _more(x: Any, *, axes: Any) -> ShapedArray:
    return x.update(vma=x.vma | frozenset(split_names(axes)[0]))


def axes_of_params(*, axes: Any) -> Any:
    return axes


def _gathered(x: Any, *, all_gather_dimension: int, axis_name: Any, axis_size: int, tiled: bool) -> ShapedArray:
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
    return x.update(shape=tuple(shape), vma=x.vma - frozenset(axis_name))


def _scattered(x: Any, *, all_gather_dimension: int, axis_name: Any, axis_size: int, tiled: bool) -> ShapedArray:
    shape = list(x.shape)
    if tiled:
        shape[all_gather_dimension] //= axis_size
    else:
        del shape[all_gather_dimension]
    return x.update(shape=tuple(shape), vma=x.vma | frozenset(split_names(axis_name)[0]))


def _own_part(x: Any, *, all_gather_dimension: int, axis_name: Any, axis_size: int, tiled: bool) -> Any:
    """The part of a value at the own index along axes."""
    shape = list(get_aval(x).shape)
    length = shape[all_gather_dimension] // axis_size
    shape[all_gather_dimension] = length
    starts: list[Any] = [np.int32(0)] * len(shape)
    starts[all_gather_dimension] = index_along(axis_name) * np.int32(length)
    part = dynamic_slice(x, starts, shape)
    return part if tiled else squeeze(part, (all_gather_dimension,))


def _pscatter_lowering(ctx: Any, x: Any, **params: Any) -> list[Any]:
    mesh, _ = ctx.module_context.spmd.manual
    with manual_scope(mesh, params["axis_name"], False):
        return mlir.lower_fun(lambda x: _own_part(x, **params), multiple_results=False)(ctx, x)


def mesh_batch(primitive: core.Primitive, *positions: str) -> Callable[..., Any]:
    """The batch rule of a primitive over axes of a mesh, which `vmap` never maps."""

    def batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        if dim is not None and positions:
            x, dim = batching.moveaxis(x, dim, 0), 0
            params |= {name: params[name] + 1 for name in positions}
        return primitive.bind(x, **params), dim

    return batch


def _gather_transpose(ct: Any, **params: Any) -> list[Any]:
    return [pscatter_p.bind(ct, **params)]


def _scatter_transpose(ct: Any, **params: Any) -> list[Any]:
    return [all_gather_invariant_p.bind(ct, **params)]


def axes_by_name(*, axis_name: Any, **params: Any) -> Any:
    return axis_name


RULES: Table = {
    pvary_p: {
        "abstract_eval": _more,
        "jvp": _pvary_jvp,
        "staging": _pvary_staging,
        "transpose": ad.linear_transpose(pvary_p, lambda ct, *, axes: [psum_invariant_p.bind(ct, axes=axes)]),
        "axis_batch": mesh_batch(pvary_p),
        "lowering": lambda ctx, x, *, axes: [x],
        "named_axes": axes_of_params,
        "variance": own_variance,
    },
    psum_invariant_p: {
        "abstract_eval": _same,
        "jvp": ad.linear_jvp(psum_invariant_p),
        "transpose": ad.linear_transpose(psum_invariant_p, lambda ct, *, axes: [pvary_p.bind(ct, axes=axes)]),
        "axis_batch": mesh_batch(psum_invariant_p),
        "lowering": lower_reduction("stablehlo.add"),
        "named_axes": axes_of_params,
        "variance": varying_along,
    },
    all_gather_invariant_p: {
        "abstract_eval": _gathered,
        "jvp": ad.linear_jvp(all_gather_invariant_p),
        "transpose": ad.linear_transpose(all_gather_invariant_p, _gather_transpose),
        "axis_batch": mesh_batch(all_gather_invariant_p, "all_gather_dimension"),
        "lowering": lower_all_gather,
        "named_axes": axes_by_name,
        "variance": varying_by_name,
    },
    pscatter_p: {
        "abstract_eval": _scattered,
        "jvp": ad.linear_jvp(pscatter_p),
        "transpose": ad.linear_transpose(pscatter_p, _scatter_transpose),
        "axis_batch": mesh_batch(pscatter_p, "all_gather_dimension"),
        "lowering": _pscatter_lowering,
        "named_axes": axes_by_name,
        "variance": own_variance,
    },
}
