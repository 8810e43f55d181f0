"""Casts of the types of values along mesh axes: varying, unreduced or reduced; the values do not change."""

from __future__ import annotations

from typing import Any, TypeVar

from primax.extend import core
from primax.extend.core import ShardingTypeError, get_aval, tree
from primax.extend.provisional.sharding import manual_axes, vma_of
from primax.extend.provisional.typing import AxisNames
from primax.plugins.collectives.names import names_in_scope
from primax.plugins.collectives.unreduced import pending_of, preduced_p, reduced_vary_cast_p, vary_unreduced_cast_p
from primax.plugins.collectives.vma import pvary_p

_T = TypeVar("_T")


def pvary(x: _T, axis_name: AxisNames) -> _T:
    """The same values with a type that varies along axes of a mesh; see `pcast`.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> def f(part):
      ...     print(px.typeof(pnp.ones(2)), px.typeof(lax.pvary(pnp.ones(2), "x")))
      ...     return part
      >>> mesh = px.make_mesh((1,), ("x",))
      >>> _ = px.shard_map(f, mesh=mesh, in_specs=px.P("x"), out_specs=px.P("x"))(np.arange(2))
      float32[2] float32[2]{V:x}
    """
    return pcast(x, axis_name, to="varying")


_CASTS: dict[tuple[str, str], core.Primitive] = {
    ("invarying", "varying"): pvary_p,
    ("invarying", "reduced"): preduced_p,
    ("reduced", "varying"): reduced_vary_cast_p,
    ("varying", "unreduced"): vary_unreduced_cast_p,
}


def pcast(x: _T, axis_name: AxisNames, *, to: str) -> _T:
    """The same values with another type: varying, unreduced or reduced along axes of a mesh.

    An invarying value can be made `varying`; its cotangent is summed. It can also be made `reduced`; its cotangent is
    then unreduced. A `reduced` value can be made `varying`. A varying value can be made `unreduced`: it then represents
    its sum over the axis, which `psum` and `psum_scatter` compute.

    Args:
      x: arrays in any containers.
      axis_name: the name of an axis that `shard_map` maps, or several.
      to: `varying`, `unreduced` or `reduced`.

    Returns:
      The structure of `x`, and the shapes of its arrays.

    Raises:
      NameError: an axis is not in scope.
      ValueError: `to` is another text, or the type of an array does not allow the cast along an axis.

    >>> import primax as px
    >>> mesh = px.make_mesh((1,), ("i",))
    >>> f = px.shard_map(lambda x: px.lax.pcast(x, "i", to="varying"), mesh=mesh, in_specs=px.P(), out_specs=px.P("i"))
    >>> f(px.numpy.ones(2)).tolist()
    [1.0, 1.0]
    """
    if to not in ("varying", "unreduced", "reduced"):
        raise ValueError(
            f"pcast: to must be 'varying', 'unreduced' or 'reduced', got {to!r}; psum, pmax and "
            "all_gather(..., to='invarying') make values the same"
        )
    names = names_in_scope(axis_name, "pcast")
    checked = manual_axes()
    untold = [name for name in names if name not in checked]
    if untold and to != "varying":
        raise ValueError(
            f"pcast: to='{to}' needs axes that types record, got {', '.join(map(repr, untold))}, which are not "
            f"axes of a shard_map with check_vma=True"
        )

    def cast(leaf: Any) -> Any:
        axes = tuple(name for name in names if name in checked)
        states = {_state(leaf, name) for name in axes}
        for state in states:
            if (state, to) not in _CASTS:
                allowed = " or ".join(repr(one) for one, other in _CASTS if other == to)
                raise ValueError(
                    f"pcast: x must be {allowed} along {', '.join(map(repr, names))} to be made {to!r}, but its type "
                    f"{get_aval(leaf).str_short()} is {state!r}; {_REMEDIES[state]}"
                )
        for state in sorted(states):
            some = tuple([name for name in axes if _state(leaf, name) == state])
            leaf = _CASTS[state, to].bind(leaf, axes=some) if some else leaf
        return leaf

    return tree.tree_map(cast, x)


_REMEDIES = {
    "invarying": "call pcast(x, axis, to='varying') first",
    "varying": "psum makes it the same",
    "reduced": "call pcast(x, axis, to='varying') first",
    "unreduced": "psum or psum_scatter sum it",
}


def _state(x: Any, name: Any) -> str:
    """The state of a value along an axis, by its type."""
    unreduced, reduced = pending_of(x)
    if name in unreduced:
        return "unreduced"
    return "reduced" if name in reduced else "varying" if name in vma_of(x) else "invarying"


def pvary_along(x: Any, axes: frozenset[Any]) -> Any:
    """A value that may vary along further axes.

    Raises:
      ShardingTypeError: it is unreduced along one of them.
    """
    unreduced, reduced = pending_of(x)
    if unreduced and not unreduced.isdisjoint(axes):
        raise ShardingTypeError(
            f"a value of type {get_aval(x).str_short()} is unreduced along "
            f"{', '.join(sorted(map(repr, unreduced & axes)))}, but is used as a varying value; lax.psum sums it"
        )
    if reduced and not reduced.isdisjoint(axes):
        x = reduced_vary_cast_p.bind(x, axes=_in_order(axes & reduced))
        axes = axes - reduced
    return pvary_p.bind(x, axes=_in_order(axes)) if axes else x


def _in_order(axes: frozenset[Any]) -> tuple[Any, ...]:
    return tuple(axes) if len(axes) == 1 else tuple(sorted(axes, key=_order))


def _order(name: Any) -> tuple[Any, Any]:
    checked = manual_axes()
    return (checked.index(name), "") if name in checked else (len(checked), str(name))
