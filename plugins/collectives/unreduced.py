"""Primitives that convert between varying, unreduced and reduced values along mesh axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, ShardingTypeError, get_aval
from primax.extend.interpreters import ad
from primax.extend.provisional.sharding import (
    AvalSharding,
    aval_sharding,
    axes_of_dims,
    current_scope,
    manual_axes,
    required_placement_rules,
    vma_of,
)
from primax.extend.provisional.sharding_rule import ShardingRule
from primax.extend.rule_types import Table
from primax.plugins.collectives.lowerings import lower_all_gather, lower_reduce_scatter, lower_reduction
from primax.plugins.collectives.mapped import index_along
from primax.plugins.collectives.vma import axes_by_name, axes_of_params, mesh_batch, own_variance
from primax.plugins.comparison import eq
from primax.plugins.structural import repeat, select, zeros_like

Names = frozenset[Any]
_NONE: Names = frozenset()

all_gather_reduced_p = core.Primitive("all_gather_reduced")
preduced_p = core.Primitive("preduced")
reduced_vary_cast_p = core.Primitive("reduced_vary_cast")
unreduced_psum_p = core.Primitive("unreduced_psum")
unreduced_reduce_scatter_p = core.Primitive("unreduced_reduce_scatter")
vary_unreduced_cast_p = core.Primitive("vary_unreduced_cast")


def pending_of(x: Any) -> tuple[Names, Names]:
    """The axes along which a value is unreduced, and those along which it is reduced."""
    explicit = aval_sharding(get_aval(x))
    return (_NONE, _NONE) if explicit is None else (explicit.unreduced, explicit.reduced)


def unreduced_along(function: str, x: Any, names: tuple[Any, ...]) -> bool:
    """Whether a value is unreduced along axes.

    Raises:
      ValueError: it is unreduced along only some of them.
    """
    unreduced = pending_of(x)[0]
    along = [name for name in names if name in unreduced]
    if along and len(along) < len(names):
        others = [name for name in names if name not in unreduced]
        raise ValueError(
            f"{function}: x must be unreduced along all of the axes or along none, got type "
            f"{get_aval(x).str_short()} for {names}; sum along {', '.join(map(repr, others))} in a separate call"
        )
    return bool(along)


def _changed(
    x: ShapedArray,
    names: Any,
    *,
    shape: tuple[int, ...] | None = None,
    axes: Any = None,
    varies: bool = False,
    unreduced: bool = False,
    reduced: bool = False,
) -> ShapedArray:
    """A type with a new state along some axes of the mesh, and the old state along the others."""
    along = frozenset(names)
    explicit = aval_sharding(x)
    if explicit is None:
        scope = current_scope()
        assert scope is not None  # that of the enclosing shard_map
        explicit = AvalSharding(scope.abstract, axes_of_dims(x))
    outer = AvalSharding(explicit.mesh, explicit.axes if axes is None else axes)
    pending = outer.with_pending(
        explicit.unreduced | along if unreduced else explicit.unreduced - along,
        explicit.reduced | along if reduced else explicit.reduced - along,
    )
    return x.update(
        shape=x.shape if shape is None else shape, vma=x.vma | along if varies else x.vma - along, sharding=pending
    )


def _typed(**state: Any) -> Callable[..., ShapedArray]:
    def abstract_eval(x: ShapedArray, *, axes: Any) -> ShapedArray:
        return _changed(x, axes, **state)

    return abstract_eval


def _gathered(x: ShapedArray, *, all_gather_dimension: int, axis_name: Any, axis_size: int, tiled: bool) -> ShapedArray:
    shape, axes = list(x.shape), list(axes_of_dims(x))
    if tiled:
        shape[all_gather_dimension] *= axis_size
    else:
        shape.insert(all_gather_dimension, axis_size)
        axes.insert(all_gather_dimension, ())
    return _changed(x, axis_name, shape=tuple(shape), axes=tuple(axes), reduced=True)


def _scattered(x: ShapedArray, *, scatter_dimension: int, axis_name: Any, axis_size: int, tiled: bool) -> ShapedArray:
    shape, axes = list(x.shape), list(axes_of_dims(x))
    length = shape[scatter_dimension]
    if length % axis_size if tiled else length != axis_size:
        must = f"a multiple of {axis_size}" if tiled else f"{axis_size}, the number of devices along {axis_name}"
        raise ValueError(f"psum_scatter: axis {scatter_dimension} of x must be of length {must}, got {x.str_short()}")
    if tiled:
        shape[scatter_dimension] //= axis_size
    else:
        del shape[scatter_dimension], axes[scatter_dimension]
    return _changed(x, axis_name, shape=tuple(shape), axes=tuple(axes), varies=True)


def _rules(
    primitive: core.Primitive, abstract_eval: Any, transpose: Any, lowering: Any, named: Any, *positions: str
) -> Any:
    def shardings(x: ShapedArray, **params: Any) -> list[Any]:
        return [aval_sharding(abstract_eval(x, **params))]

    return {
        "abstract_eval": abstract_eval,
        "jvp": ad.linear_jvp(primitive),
        "transpose": ad.linear_transpose(primitive, transpose),
        "axis_batch": mesh_batch(primitive, *positions),
        "lowering": lowering,
        "named_axes": named,
        "variance": own_variance,
        "sharding": ShardingRule(shardings, whole_shardings=True),
    }


def _same(ctx: Any, x: Any, *, axes: Any) -> list[Any]:
    return [x]


def _bound(primitive: core.Primitive) -> Callable[..., list[Any]]:
    return lambda ct, **params: [primitive.bind(ct, **params)]


def _gather_transpose(ct: Any, *, all_gather_dimension: int, **params: Any) -> list[Any]:
    return [unreduced_reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]


def _scatter_transpose(ct: Any, *, scatter_dimension: int, **params: Any) -> list[Any]:
    return [all_gather_reduced_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]


def _scatter_lowering(ctx: Any, x: Any, **params: Any) -> Any:
    return lower_reduce_scatter(ctx, x, axis_index_groups=None, **params)


def recast(x: Any, unreduced: Names, reduced: Names) -> Any:
    """A value with other pending sums along axes that `shard_map` maps.

    Raises:
      ShardingTypeError: there is no such conversion.
    """
    mapped = frozenset(manual_axes())
    open_now, same_now = (names & mapped for names in pending_of(x))
    summed = open_now - unreduced
    if summed:
        x = unreduced_psum_p.bind(x, axes=_ordered(summed))
    lost = same_now - reduced - unreduced
    wrong = lost | (reduced & vma_of(x))
    if wrong:
        raise ShardingTypeError(
            f"a value of type {get_aval(x).str_short()} cannot be made {'the same' if lost else 'reduced'} along "
            f"{', '.join(sorted(map(repr, wrong)))}; lax.psum sums a varying value, and "
            "lax.pcast(x, axis, to='varying') makes a reduced value varying"
        )
    added = reduced - same_now
    if added:
        x = preduced_p.bind(x, axes=_ordered(added))
    unreduced_axes = unreduced - open_now
    return _as_summands(x, unreduced_axes) if unreduced_axes else x


def _as_summands(x: Any, names: Names) -> Any:
    """A value as a sum over devices along axes: the first device has it, and the others have zero."""
    varying = names & vma_of(x)
    x = required_placement_rules().vary(x, names - varying) if names - varying else x
    first = names - varying
    if first:
        is_first = eq(index_along(_ordered(first)), np.int32(0))
        x = select(repeat(is_first, get_aval(x).shape), x, zeros_like(x))
    return vary_unreduced_cast_p.bind(x, axes=_ordered(names))


def _ordered(names: Names) -> tuple[Any, ...]:
    return tuple([name for name in manual_axes() if name in names])


RULES: Table = {
    preduced_p: _rules(preduced_p, _typed(reduced=True), _bound(unreduced_psum_p), _same, axes_of_params),
    unreduced_psum_p: _rules(
        unreduced_psum_p, _typed(), _bound(preduced_p), lower_reduction("stablehlo.add"), axes_of_params
    ),
    vary_unreduced_cast_p: _rules(
        vary_unreduced_cast_p, _typed(unreduced=True), _bound(reduced_vary_cast_p), _same, axes_of_params
    ),
    reduced_vary_cast_p: _rules(
        reduced_vary_cast_p, _typed(varies=True), _bound(vary_unreduced_cast_p), _same, axes_of_params
    ),
    all_gather_reduced_p: _rules(
        all_gather_reduced_p, _gathered, _gather_transpose, lower_all_gather, axes_by_name, "all_gather_dimension"
    ),
    unreduced_reduce_scatter_p: _rules(
        unreduced_reduce_scatter_p, _scattered, _scatter_transpose, _scatter_lowering, axes_by_name, "scatter_dimension"
    ),
}
