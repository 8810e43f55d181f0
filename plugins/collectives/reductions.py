"""Sums, means and extrema over the elements along mapped axes, with the same result for each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval, tree
from primax.extend.interpreters import ad, batching
from primax.extend.provisional.arguments import canonical_axes
from primax.extend.provisional.typing import AxisNames
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import div, mul
from primax.plugins.collectives.lowerings import lower_reduction
from primax.plugins.collectives.mapped import collective_batch, index_along
from primax.plugins.collectives.names import (
    Groups,
    canonical_groups,
    group_size,
    names_in_scope,
    names_of,
    require_numbers,
)
from primax.plugins.collectives.unreduced import unreduced_along, unreduced_psum_p
from primax.plugins.collectives.vma import psum_invariant_p, split_names, varying_along
from primax.plugins.comparison import eq
from primax.plugins.reductions import reduce_max, reduce_min, reduce_sum
from primax.plugins.structural import convert_element_type, full_like, select, zeros_like

pmax_p = core.Primitive("pmax")
pmin_p = core.Primitive("pmin")
psum_p = core.Primitive("psum")


_T = TypeVar("_T")


def psum(x: _T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> _T:
    """The sum over a mapped axis.

    Values that are not tracers are the same for every element, and are multiplied by the size of the axis at once:
    `psum(1, "i")` is the size, as a Python integer.

    Args:
      x: arrays of numbers in any containers; booleans count as integers.
      axis_name: the name of the axis, or several. Integers among them are axes of `x`.
      axis_index_groups: groups of indices along the axis, each summed separately; they contain each index once.

    Returns:
      The structure of `x`, and the shapes of its arrays.

    Raises:
      NameError: no axis of that name is being mapped over.
      ValueError: the groups do not contain each index once.

    >>> import primax as px
    >>> px.vmap(lambda x: x / px.lax.psum(x, "i"), axis_name="i")(px.numpy.arange(4.0) + 1)
    Array([0.1, 0.2, 0.3, 0.4], dtype=float32)
    """
    names, groups, leaves, treedef = _arguments("psum", reduce_sum, x, axis_name, axis_index_groups)
    return tree.unflatten(treedef, [_sum(leaf, names, groups) for leaf in leaves])


def pmean(x: _T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> _T:
    """The mean over a mapped axis; see `psum`.

    Integers are converted to floating-point numbers.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> px.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(np.array([1, 2, 6]))
      Array([-2., -1.,  3.], dtype=float32)
    """
    names, groups, leaves, treedef = _arguments("pmean", None, x, axis_name, axis_index_groups)
    size = _size(names, groups)
    return tree.unflatten(treedef, [_divided(_sum(leaf, names, groups), size) for leaf in leaves])


def pmax(x: _T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> _T:
    """The maximum over a mapped axis; see `psum`.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> px.vmap(lambda x: lax.pmax(x, "i"), axis_name="i")(np.array([1, 5, 2]))
      Array([5, 5, 5], dtype=int32)
    """
    return _extremum(pmax_p, reduce_max, x, axis_name, axis_index_groups)


def pmin(x: _T, axis_name: AxisNames, *, axis_index_groups: Sequence[Sequence[int]] | None = None) -> _T:
    """The minimum over a mapped axis; see `psum`.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> groups = [[0, 1], [2, 3]]
      >>> px.vmap(lambda x: lax.pmin(x, "i", axis_index_groups=groups), axis_name="i")(np.array([4, 3, 2, 1]))
      Array([3, 3, 1, 1], dtype=int32)
    """
    return _extremum(pmin_p, reduce_min, x, axis_name, axis_index_groups)


def _extremum(primitive: core.Primitive, reduce: Callable[..., Any], x: Any, axis_name: Any, groups: Any) -> Any:
    names, groups, leaves, treedef = _arguments(primitive.name, reduce, x, axis_name, groups)
    return tree.unflatten(treedef, [_bound(primitive, leaf, names, groups) for leaf in leaves])


def _arguments(
    function: str, reduce: Callable[..., Any] | None, x: Any, axis_name: Any, groups: Any
) -> tuple[tuple[Any, ...], Groups, list[Any], Any]:
    """The names of axes, the groups, and the leaves, reduced along their own axes in `axis_name`."""
    axes = names_of(axis_name)
    own = [name for name in axes if reduce is not None and isinstance(name, int)]
    names = names_in_scope(tuple(name for name in axes if name not in own), function)
    if own and groups is not None:
        raise ValueError(f"{function}: axis_index_groups must be None for axes of x, got {groups} and {own}")
    leaves, treedef = tree.flatten(x)
    if function in ("psum", "pmean"):
        leaves = [
            convert_element_type(leaf, np.int32) if dtypes.is_bool(get_aval(leaf).dtype) else leaf for leaf in leaves
        ]
    if own and reduce is not None:
        leaves = [reduce(leaf, canonical_axes(own, len(get_aval(leaf).shape), function)) for leaf in leaves]
    return names, canonical_groups(groups, names, function, alike=False), leaves, treedef


def _divided(x: Any, n: Any) -> Any:
    """A quotient; integers are converted to floating-point numbers."""
    if type(x) in (int, float, complex) and type(n) is int:
        return x / n
    aval = get_aval(x)
    if not dtypes.is_inexact(aval.dtype):
        x = convert_element_type(x, dtypes.to_inexact_dtype(aval.dtype))
    dtype = get_aval(x).dtype
    return div(x, dtype.type(n) if type(n) is int else convert_element_type(n, dtype))


def _size(names: Sequence[Any], groups: Groups) -> int | Array:
    """The number of elements in the sum: an int, or an array with that of the own group if groups differ in size."""
    if groups is None or len(set(map(len, groups))) == 1:
        return group_size(names, groups)
    sizes = [len(group) for group in groups for _ in group]
    order = [i for group in groups for i in group]
    return _chosen(np.array(sizes, np.int32)[np.argsort(order)], names)


def _chosen(table: Any, names: Sequence[Any]) -> Any:
    """The element of a table at the own index."""
    mine = eq(np.arange(len(table), dtype=np.int32), full_like(table, index_along(names)))
    return reduce_sum(select(mine, table, zeros_like(table)), (0,))


def _sum(x: Any, names: tuple[Any, ...], groups: Groups) -> Any:
    if isinstance(x, core.Tracer):
        return _bound(psum_p, x, names, groups)
    return _times(x, _size(names, groups))


def _times(x: Any, n: Any) -> Any:
    """A value times an integer, by repeated addition."""
    if type(x) in (int, float, complex):
        return n * x if type(n) is int else mul(convert_element_type(n, get_aval(x).dtype), x)
    dtype = get_aval(x).dtype
    return mul(x, dtype.type(n) if type(n) is int else convert_element_type(n, dtype))


def _bound(primitive: core.Primitive, x: Any, names: tuple[Any, ...], groups: Groups) -> Any:
    """A reduction. Sums over axes that types record have their own primitive, whose transpose is not a sum."""
    if primitive is psum_p and groups is None:
        manual, names = split_names(names)
        if manual:
            require_numbers("psum", get_aval(x))
            sums = unreduced_psum_p if unreduced_along("psum", x, manual) else psum_invariant_p
            x = sums.bind(x, axes=manual)
    return primitive.bind(x, axes=names, axis_index_groups=groups) if names else x


def _abstract_eval(x: Any, *, axes: Any, axis_index_groups: Groups) -> ShapedArray:
    if axis_index_groups is not None:
        return x  # groups differ in size
    return x.update(vma=x.vma - frozenset(axes)) if x.vma else x


def _sum_abstract_eval(x: Any, *, axes: Any, axis_index_groups: Groups) -> ShapedArray:
    require_numbers("psum", x)
    return _abstract_eval(x, axes=axes, axis_index_groups=axis_index_groups)


def _batch(
    primitive: core.Primitive, reduce: Callable[..., Any], repeated: Callable[[Any, int], Any]
) -> Callable[..., Any]:
    """The batch rule of a reduction, which treats one axis after the other unless there are groups."""
    across = collective_batch(primitive, lambda stack: (reduce(stack, (0,)), None), "axes")

    def batch(
        axis: batching.AxisData, args: Any, dims: Any, *, axes: Any, axis_index_groups: Groups
    ) -> tuple[Any, None] | Array:
        if axis.name not in axes or axis_index_groups is not None:
            return across(axis, args, dims, axes=axes, axis_index_groups=axis_index_groups)
        (x,), (dim,) = args, dims
        out = repeated(x, axis.size) if dim is None else reduce(x, (dim,))
        return _bound(primitive, out, tuple(name for name in axes if name != axis.name), None), None

    batch.__name__ = f"batch({primitive})"
    return batch


def _extremum_jvp(primitive: core.Primitive) -> Callable[..., Any]:
    """The tangent of an extremum: the mean of the tangents of all elements equal to it."""

    def jvp(t: Any, out: Any, x: Any, *, axes: Any, axis_index_groups: Groups) -> Any:
        share = convert_element_type(eq(x, out), get_aval(t).dtype)
        total, count = (_bound(psum_p, term, axes, axis_index_groups) for term in (mul(t, share), share))
        return div(total, count)

    return ad.standard_jvp2(primitive, jvp)


def _psum_transpose(ct: Any, **params: Any) -> list[Any]:
    return [psum_p.bind(ct, **params)]


def _named(*, axes: Any, **params: Any) -> Any:
    return axes


RULES: Table = {
    psum_p: {
        "abstract_eval": _sum_abstract_eval,
        "jvp": ad.linear_jvp(psum_p),
        "transpose": ad.linear_transpose(psum_p, _psum_transpose),
        "axis_batch": _batch(psum_p, reduce_sum, _times),
        "named_axes": _named,
        "lowering": lower_reduction("stablehlo.add"),
        "variance": varying_along,
        "makes_nan": True,
    },
    pmax_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _extremum_jvp(pmax_p),
        "axis_batch": _batch(pmax_p, reduce_max, lambda x, size: x),
        "named_axes": _named,
        "lowering": lower_reduction("stablehlo.maximum"),
        "variance": varying_along,
    },
    pmin_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _extremum_jvp(pmin_p),
        "axis_batch": _batch(pmin_p, reduce_min, lambda x, size: x),
        "named_axes": _named,
        "lowering": lower_reduction("stablehlo.minimum"),
        "variance": varying_along,
    },
}
