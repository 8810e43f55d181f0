"""Exchanges of values among the elements along mapped axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval, tree
from primax.extend.interpreters import ad, batching
from primax.extend.provisional.arguments import canonical_axis, integers
from primax.extend.provisional.sharding import vary
from primax.extend.provisional.typing import AxisNames
from primax.extend.rule_types import Table
from primax.plugins.collectives.lowerings import (
    lower_all_gather,
    lower_all_to_all,
    lower_permutation,
    lower_reduce_scatter,
)
from primax.plugins.collectives.mapped import all_gather_p, bind_checked, collective_batch, rows
from primax.plugins.collectives.names import canonical_groups, group_size, names_in_scope, require_numbers
from primax.plugins.collectives.unreduced import all_gather_reduced_p, unreduced_along, unreduced_reduce_scatter_p
from primax.plugins.collectives.vma import all_gather_invariant_p, split_names, varying_by_name
from primax.plugins.reductions import reduce_sum
from primax.plugins.structural import reshape, transpose

__all__ = [
    "all_gather",
    "all_gather_p",
    "all_to_all",
    "all_to_all_p",
    "ppermute",
    "ppermute_p",
    "pshuffle",
    "psum_scatter",
    "pswapaxes",
    "reduce_scatter_p",
]

all_to_all_p = core.Primitive("all_to_all")
ppermute_p = core.Primitive("ppermute")
reduce_scatter_p = core.Primitive("reduce_scatter")


_T = TypeVar("_T")


def all_gather(
    x: _T,
    axis_name: AxisNames,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> _T:
    """The values of all elements along a mapped axis, stacked.

    Args:
      x: arrays in any containers.
      axis_name: the name of the axis, or several names; the last axis varies fastest.
      axis_index_groups: groups of indices along the axis, each gathered separately; of the same size, with each index
        in one.
      axis: the position of the new axis.
      tiled: whether to concatenate along `axis` instead.
      to: `varying`; or `invarying` if the type of the result records that it is the same for all elements; or `reduced`
        if, in addition, the sum of its cotangents is pending.

    Returns:
      The structure of `x`; its arrays have a new axis, or a longer one.

    Raises:
      NameError: no axis of that name is being mapped over.
      ValueError: the groups differ in size, or do not contain each index once; `axis` is out of range.

    >>> import primax as px
    >>> px.vmap(lambda x: px.lax.all_gather(x, "i"), axis_name="i")(px.numpy.arange(3)).tolist()
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    names = names_in_scope(axis_name, "all_gather")
    if not names:
        return x
    groups = canonical_groups(axis_index_groups, names, "all_gather")
    size = group_size(names, groups)
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(f"all_gather: to must be 'varying', 'invarying' or 'reduced', got {to!r}")
    manual, others = split_names(names)
    invariant = (to == "invarying" and bool(manual)) or to == "reduced"
    if invariant and (others or groups is not None):
        raise ValueError(
            f"all_gather: to={to!r} needs axes of one shard_map with check_vma=True, and no axis_index_groups"
        )
    same = all_gather_reduced_p if to == "reduced" else all_gather_invariant_p

    def gather(leaf: Any) -> Array:
        rank = len(get_aval(leaf).shape) + (not tiled)
        if invariant:
            if to == "reduced":  # its type rule ignores variance
                leaf = vary(leaf, frozenset(names))
            return same.bind(
                leaf,
                all_gather_dimension=canonical_axis(axis, rank, "all_gather"),
                axis_name=names,
                axis_size=size,
                tiled=tiled,
            )
        return bind_checked(
            all_gather_p,
            leaf,
            all_gather_dimension=canonical_axis(axis, rank, "all_gather"),
            axis_name=names,
            axis_index_groups=groups,
            axis_size=size,
            tiled=tiled,
        )

    return tree.tree_map(gather, x)


def psum_scatter(
    x: _T,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> _T:
    """The sum over a mapped axis, divided among the elements.

    Args:
      x: arrays of numbers in any containers.
      axis_name: the name of the axis, or several names; the last axis varies fastest.
      scatter_dimension: the axis of `x` along which the sum is divided; as long as the mapped axis.
      axis_index_groups: groups of indices along the axis, each summed separately; of the same size, with each index in
        one.
      tiled: whether the parts keep that axis, whose length is then a multiple of the number of parts.

    Returns:
      The structure of `x`; its arrays lack `scatter_dimension`, or have a shorter one.

    Raises:
      NameError: no axis of that name is being mapped over.
      ValueError: `scatter_dimension` cannot be divided into these parts.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> x = np.array([[1, 2], [10, 20]])
      >>> px.vmap(lambda row: lax.psum_scatter(row, "i"), axis_name="i")(x)
      Array([11, 22], dtype=int32)
    """
    names = names_in_scope(axis_name, "psum_scatter")
    if not names:
        return x
    groups = canonical_groups(axis_index_groups, names, "psum_scatter")
    size = group_size(names, groups)

    def scatter(leaf: Any) -> Any:
        shape = get_aval(leaf).shape
        where = canonical_axis(scatter_dimension, len(shape), "psum_scatter", "scatter_dimension")
        if groups is None and unreduced_along("psum_scatter", leaf, names):
            return unreduced_reduce_scatter_p.bind(
                leaf, scatter_dimension=where, axis_name=names, axis_size=size, tiled=tiled
            )
        return bind_checked(
            reduce_scatter_p,
            leaf,
            scatter_dimension=where,
            axis_name=names,
            axis_index_groups=groups,
            axis_size=size,
            tiled=tiled,
        )

    return tree.tree_map(scatter, x)


def all_to_all(
    x: _T,
    axis_name: AxisNames,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> _T:
    """Each element along a mapped axis splits its value among all elements, and joins the parts that it receives.

    Args:
      x: arrays in any containers.
      axis_name: the name of the axis, or several names; the last axis varies fastest.
      split_axis: the axis of `x` that is divided; as long as the mapped axis.
      concat_axis: the axis of the result along which the received parts are joined.
      axis_index_groups: groups of indices along the axis, each with its own exchange; of the same size, with each
        index in one.
      tiled: whether parts keep `split_axis`, whose length is then a multiple of their number, and are concatenated.

    Returns:
      The structure of `x`; its arrays have one axis moved, or one shorter and one longer.

    Raises:
      NameError: no axis of that name is being mapped over.
      ValueError: `split_axis` cannot be divided into these parts.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> x = np.arange(4).reshape(2, 2)
      >>> px.vmap(lambda row: lax.all_to_all(row, "i", split_axis=0, concat_axis=0), axis_name="i")(x)
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    names = names_in_scope(axis_name, "all_to_all")
    if not names:
        return x
    groups = canonical_groups(axis_index_groups, names, "all_to_all")
    size = group_size(names, groups)

    def exchange(leaf: Any) -> Any:
        shape = get_aval(leaf).shape
        split = canonical_axis(split_axis, len(shape), "all_to_all", "split_axis")
        concat = canonical_axis(concat_axis, len(shape), "all_to_all", "concat_axis")
        return bind_checked(
            all_to_all_p,
            leaf,
            split_axis=split,
            concat_axis=concat,
            axis_name=names,
            axis_index_groups=groups,
            axis_size=size,
            tiled=tiled,
        )

    return tree.tree_map(exchange, x)


def pswapaxes(
    x: _T, axis_name: AxisNames, axis: int, *, axis_index_groups: Sequence[Sequence[int]] | None = None
) -> _T:
    """Exchange a mapped axis with an axis of the arrays; see `all_to_all`.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> x = np.arange(4).reshape(2, 2)
      >>> px.vmap(lambda row: lax.pswapaxes(row, "i", 0), axis_name="i")(x)
      Array([[0, 2],
             [1, 3]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x: _T, axis_name: AxisNames, perm: Sequence[tuple[int, int]]) -> _T:
    """The values of other elements along a mapped axis, by pairs of source and destination.

    Args:
      x: arrays in any containers.
      axis_name: the name of the axis, or several names; the last axis varies fastest.
      perm: pairs (source, destination) of indices along the axis. An element that receives nothing gets zeros.

    Returns:
      The structure of `x`, and the shapes of its arrays.

    Raises:
      NameError: no axis of that name is being mapped over.
      ValueError: an index is out of range, or is twice a source or twice a destination.

    >>> import primax as px
    >>> px.vmap(lambda x: px.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(px.numpy.arange(3) + 1).tolist()
    [0, 1, 2]
    """
    names = names_in_scope(axis_name, "ppermute")
    if not names:
        return x
    size = group_size(names, None)
    pairs = tuple(integers(pair, "ppermute", "each pair of perm") for pair in perm)
    if any(len(pair) != 2 or not all(0 <= i < size for i in pair) for pair in pairs):
        raise ValueError(f"ppermute: perm must hold pairs of indices in [0, {size}), got {perm}")
    if any(len(set(ends)) < len(pairs) for ends in zip(*pairs, strict=True)):
        raise ValueError(f"ppermute: perm must hold no source and no destination twice, got {perm}")
    return tree.tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)


def pshuffle(x: _T, axis_name: AxisNames, perm: Sequence[int]) -> _T:
    """A permutation of the values along a mapped axis: index i gets the value at `perm[i]`.

    Args:
      x: arrays in any containers.
      axis_name: the name of the axis, or several names; the last axis varies fastest.
      perm: each index along the axis once.

    Returns:
      The structure of `x`, and the shapes of its arrays.

    Raises:
      NameError: no axis of that name is being mapped over.
      ValueError: `perm` does not contain each index once.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> px.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(np.array([10, 20, 30]))
      Array([30, 10, 20], dtype=int32)
    """
    sources = integers(perm, "pshuffle", "perm")
    size = group_size(names_in_scope(axis_name, "pshuffle"), None)
    if sorted(sources) != list(range(size)):
        raise ValueError(f"pshuffle: perm must hold each index in [0, {size}) once, got {perm}")
    return ppermute(x, axis_name, list(zip(sources, range(size), strict=True)))


def _divided(function: str, argument: str, x: Any, axis: int, size: int, tiled: bool) -> list[int]:
    """The shape of one of `size` parts along an axis."""
    shape = list(x.shape)
    length = shape[axis] if axis < len(shape) else 0
    if axis >= len(shape) or (length % size if tiled else length != size):
        rule = "a multiple of" if tiled else "as long as"
        raise ValueError(
            f"{function}: {argument} must be {rule} the mapped axis, or its groups, of size {size}, "
            f"got axis {axis}{f' of length {length}' if axis < len(x.shape) else ''} for {x.str_short()}"
        )
    shape[axis : axis + 1] = [length // size] if tiled else []
    return shape


def _joined(function: str, argument: str, shape: list[int], axis: int, size: int, tiled: bool) -> tuple[int, ...]:
    """The shape of `size` parts of a shape, joined along an axis."""
    if axis >= len(shape) + (not tiled):
        raise ValueError(f"{function}: {argument} must be an axis of the result, got {axis} for parts {shape}")
    return (*shape[:axis], size * shape[axis] if tiled else size, *shape[axis + tiled :])


def _gather_abstract_eval(
    x: Any, *, all_gather_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    return x.update(shape=_joined("all_gather", "axis", list(x.shape), all_gather_dimension, axis_size, tiled))


def _scatter_abstract_eval(
    x: Any, *, scatter_dimension: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    require_numbers("psum_scatter", x)
    return x.update(shape=tuple(_divided("psum_scatter", "scatter_dimension", x, scatter_dimension, axis_size, tiled)))


def _exchange_abstract_eval(
    x: Any, *, split_axis: int, concat_axis: int, axis_size: int, tiled: bool, **params: Any
) -> ShapedArray:
    part = _divided("all_to_all", "split_axis", x, split_axis, axis_size, tiled)
    return x.update(shape=_joined("all_to_all", "concat_axis", part, concat_axis, axis_size, tiled))


def _permute_abstract_eval(x: Any, **params: Any) -> ShapedArray:
    return x


def _split(x: Any, axis: int, size: int) -> Any:
    """An axis split into two, the first of which has the given size."""
    shape = get_aval(x).shape
    return reshape(x, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))


def _merged(x: Any, axis: int) -> Any:
    """An axis and the next one, merged."""
    shape = get_aval(x).shape
    return reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _gather_across(stack: Any, *, all_gather_dimension: int, tiled: bool, **params: Any) -> tuple[Any, None]:
    out = batching.moveaxis(stack, 0, all_gather_dimension)
    return _merged(out, all_gather_dimension) if tiled else out, None


def _scatter_across(stack: Any, *, scatter_dimension: int, tiled: bool, **params: Any) -> tuple[Any, int]:
    total = reduce_sum(stack, (0,))
    size = get_aval(stack).shape[0]
    return _split(total, scatter_dimension, size) if tiled else total, scatter_dimension


def _exchange_across(stack: Any, *, split_axis: int, concat_axis: int, tiled: bool, **params: Any) -> tuple[Any, int]:
    """Axis 0 of the stack is the sender, and the parts of `split_axis` are for the receivers."""
    if tiled:
        stack = _split(stack, 1 + split_axis, get_aval(stack).shape[0])
    own = [i for i in range(1, len(get_aval(stack).shape)) if i != 1 + split_axis]
    out = transpose(stack, (1 + split_axis, *own[:concat_axis], 0, *own[concat_axis:]))
    return _merged(out, 1 + concat_axis) if tiled else out, 0


def _permute_across(stack: Any, *, perm: Any) -> tuple[Any, int]:
    sources: list[int | None] = [None] * get_aval(stack).shape[0]
    for source, destination in perm:
        sources[destination] = source
    return rows(stack, sources), 0


def _gather_transpose(ct: Any, *, all_gather_dimension: int, **params: Any) -> list[Any]:
    return [reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]


def _scatter_transpose(ct: Any, *, scatter_dimension: int, **params: Any) -> list[Any]:
    return [all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]


def _exchange_transpose(ct: Any, *, split_axis: int, concat_axis: int, **params: Any) -> list[Any]:
    return [all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)]


def _permute_transpose(ct: Any, *, perm: Any, **params: Any) -> list[Array]:
    return [ppermute_p.bind(ct, perm=tuple((to, origin) for origin, to in perm), **params)]


def _named(*, axis_name: Any, **params: Any) -> Any:
    return axis_name


def _linear(
    primitive: core.Primitive, abstract_eval: Any, transpose: Any, across: Any, lowering: Any, *positions: str
) -> Any:
    return {
        "lowering": lowering,
        "variance": varying_by_name,
        "abstract_eval": abstract_eval,
        "jvp": ad.linear_jvp(primitive),
        "transpose": ad.linear_transpose(primitive, transpose),
        "axis_batch": collective_batch(primitive, across, positions=positions),
        "named_axes": _named,
    }


RULES: Table = {
    all_gather_p: _linear(
        all_gather_p, _gather_abstract_eval, _gather_transpose, _gather_across, lower_all_gather, "all_gather_dimension"
    ),
    reduce_scatter_p: _linear(
        reduce_scatter_p,
        _scatter_abstract_eval,
        _scatter_transpose,
        _scatter_across,
        lower_reduce_scatter,
        "scatter_dimension",
    ),
    all_to_all_p: _linear(
        all_to_all_p,
        _exchange_abstract_eval,
        _exchange_transpose,
        _exchange_across,
        lower_all_to_all,
        "split_axis",
        "concat_axis",
    ),
    ppermute_p: _linear(ppermute_p, _permute_abstract_eval, _permute_transpose, _permute_across, lower_permutation),
}
