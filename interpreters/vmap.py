"""`vmap`: a function of pytrees, mapped over axes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ParamSpec, TypeVar

from primax.core import placement, tree
from primax.core.arguments import check_function, integer, wraps
from primax.core.avals import NO_VALUE, get_aval
from primax.core.dimensions import as_size
from primax.core.text.debug_info import places
from primax.interpreters.batching import AxisData, batch_flat, bdim_at_front, broadcast, stacked
from primax.interpreters.call_signature import avals_of, check_outputs
from primax.interpreters.linearize import linear_tape

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Makes the mapped function, from the arguments of `vmap`, where packages have registered values with axes of their own.
of_registered_values: Callable[..., Any] | None = None


def vmap(
    fun: Callable[_P, _R],
    in_axes: int | Sequence[Any] | None = 0,
    out_axes: object = 0,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable | None = None,
    sum_match: bool = False,
) -> Callable[_P, _R]:
    """Map a function over axes of its arguments, without a loop.

    Args:
      fun: a function of pytrees of arrays.
      in_axes: the axis of each argument to map over, or None: one int for all arguments, or a tuple with one entry per
        argument, each an int, None, or a pytree of these that is a prefix of the argument. Negative axes count from the
        end. Keyword arguments are mapped over axis 0.
      out_axes: the position of the mapped axis in the results: an int, None (only for results that do not depend on
        mapped arguments), or a pytree of these that is a prefix of the result.
      axis_name: the name of the axis, for collectives.
      axis_size: the length of the axis, needed if no argument is mapped.
      spmd_axis_name: the name of an axis of a mesh, or several. In each `shard_map` or `lax.with_sharding_constraint`
        in `fun`, the mapped axis is divided along it; elsewhere it has no effect.
      sum_match: whether a result that depends on mapped arguments, and for which `out_axes` is None, is the sum over
        the axis.

    Returns:
      A function of the same arguments, each with one more axis where mapped.

    Raises:
      TypeError: `in_axes` or `out_axes` are not ints, None or containers of them, `axis_size` is not an int, or
        `axis_name` is not hashable.
      ValueError: mapped sizes disagree (the message names each), `axis_size` is negative, or an axis is out of range.

    >>> import primax as px
    >>> px.vmap(lambda x, y: x * y, in_axes=(0, None))(px.numpy.arange(3.0), 2.0).tolist()
    [0.0, 2.0, 4.0]
    """
    check_function("vmap", "fun", fun)
    if of_registered_values is not None and not hasattr(fun, "of_elements"):
        options = {"axis_name": axis_name, "spmd_axis_name": spmd_axis_name, "sum_match": sum_match}
        return of_registered_values(fun, in_axes, out_axes, axis_size, options)  # type: ignore[no-any-return]
    spmd = () if spmd_axis_name is None else spmd_axis_name
    spmd = spmd if isinstance(spmd, tuple) else (spmd,)
    try:
        hash(spmd)
    except TypeError:
        raise TypeError(f"vmap: spmd_axis_name must be hashable, got {spmd_axis_name!r}") from None
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, int | tuple)):
        raise TypeError(f"vmap: in_axes must be an int, None or a tuple with one entry per argument, got {in_axes!r}")
    for what, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for leaf in tree.tree_leaves(axes):
            if isinstance(leaf, bool) or not isinstance(leaf, int):
                raise TypeError(f"vmap: {what} must consist of ints and None, got {leaf!r} in {axes!r}")

    if axis_size is not None:
        axis_size = integer("vmap", "axis_size", axis_size)
        if axis_size < 0:
            raise ValueError(f"vmap: axis_size must not be negative, got {axis_size}")

    @wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap: in_axes must have one entry per positional argument, got {len(in_axes)} entries "
                f"for {len(args)} arguments"
            )
        leaves, in_tree = tree.flatten((args, kwargs), None, (args, kwargs))
        args_tree, kwargs_tree = tree.treedef_children(in_tree)
        axes = [*tree.flatten_axes("vmap in_axes", args_tree, in_axes), *[0] * kwargs_tree.num_leaves]
        try:
            avals = avals_of(leaves, (args, kwargs), "vmap", call=True, fun=fun, hint=_UNMAPPED)
        except TypeError:  # arguments without a mapped axis may be any objects; `fun` gets them unchanged
            values = [0.0 if axis is None and not _is_value(x) else x for x, axis in zip(leaves, axes, strict=True)]
            avals = avals_of(values, (args, kwargs), "vmap", call=True, fun=fun, hint=_UNMAPPED)
        place = lambda i: places((args, kwargs), fun)[i]  # noqa: E731
        dims = [_normalize(axis, aval, i, place) for i, (axis, aval) in enumerate(zip(axes, avals, strict=True))]
        size = _size(avals, dims, axis_size, place)
        out_trees: list[Any] = []

        def flat(*xs: Any) -> Any:
            xargs, xkwargs = tree.unflatten(in_tree, xs)
            outs, out_tree = tree.flatten(fun(*xargs, **xkwargs))
            out_trees.append(out_tree)
            check_outputs(outs, out_tree, fun)
            return outs

        axis = AxisData(axis_name, size, spmd, placement=_placement_of_axis(avals, dims, place))
        outs, dims_out = batch_flat(flat, axis, leaves, dims)
        (out_tree,) = out_trees
        out_dims = tree.flatten_axes("vmap out_axes", out_tree, out_axes)
        results = [_to_out(x, d, want, axis, sum_match) for x, d, want in zip(outs, dims_out, out_dims, strict=True)]
        return tree.unflatten(out_tree, results)

    return mapped


def _is_value(x: Any) -> bool:
    try:
        get_aval(x)
    except NO_VALUE:
        return False
    return True


_UNMAPPED = "; in_axes=None for it passes it on unchanged"
_Place = Callable[[int], str]  # the name of a leaf of the arguments in messages


def _normalize(axis: Any, aval: Any, i: int, place: _Place) -> int | None:
    if axis is None:
        return None
    rank = len(aval.shape)
    if not -rank <= axis < rank:
        raise ValueError(
            f"vmap: in_axes has axis {axis} for {place(i)}, which is of type {aval.str_short()} and has rank {rank}"
        )
    return int(axis % rank)


def _size(avals: Sequence[Any], dims: Sequence[int | None], axis_size: int | None, place: _Place) -> int:
    sizes = {aval.shape[dim] for aval, dim in zip(avals, dims, strict=True) if dim is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        return as_size(sizes.pop())  # type: ignore[no-any-return]
    if not sizes:
        raise ValueError("vmap: at least one argument must be mapped (in_axes not None), or axis_size must be given")
    lines = [
        f"  {place(i)} of type {aval.str_short()} has size {aval.shape[dim]} along axis {dim}"
        for i, (aval, dim) in enumerate(zip(avals, dims, strict=True))
        if dim is not None
    ]
    if axis_size is not None:
        lines.append(f"  axis_size is {axis_size!r}")
    raise ValueError("vmap: the mapped axes must have the same size:\n" + "\n".join(lines))


def _placement_of_axis(avals: Sequence[Any], dims: Sequence[int | None], place: _Place) -> Any:
    """The placement of the mapped axis; None on one device."""
    if all(getattr(aval, "placement", None) is None for aval in avals):
        return None
    return placement.rules.mapped_axis(avals, dims, place)


def sum_over_axis(x: Any, size: int, dim: int | None) -> Any:
    """The sum over a mapped axis, which is the transpose of broadcasting along it."""
    x = bdim_at_front(x, dim, size)
    element = get_aval(x).mapped(size, 0)
    return linear_tape(lambda y: [broadcast(y, size, 0)], [element]).transpose([x])[0]


def _to_out(x: Any, dim: int | None, want: Any, axis: AxisData, sum_match: bool) -> Any:
    if want is None:
        if dim is not None and sum_match:
            return sum_over_axis(x, axis.size, dim)
        if dim is not None:
            raise ValueError("vmap: out_axes is None for a result that depends on mapped arguments")
        return x
    aval = get_aval(x)
    if getattr(aval, "shape", None) is None:
        raise TypeError(f"vmap: results must be arrays if out_axes is not None, got {aval.str_short()}")
    rank = len(aval.shape) + (dim is None)
    if not -rank <= want < rank:
        raise ValueError(f"vmap: out_axes has axis {want} for a result that has {rank} axes with the mapped one")
    want %= rank
    return stacked(axis, x, dim, want)
