"""Meshes, the divisions of types, and the mesh axes along which values vary."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from primax.core import placement
from primax.core.avals import get_aval
from primax.core.placement import Space, placed_like
from primax.core.placement import required as required_placement_rules
from primax.core.trace_state import block_fast_path, thread, thread_blockers, unblock_fast_path
from primax.extend.provisional.aval_sharding import AvalSharding, aval_sharding, axes_of_dims, explicit_part, vma_of
from primax.extend.provisional.mesh_context import (
    axes_in_scope,
    canonical_sharding,
    get_mesh,
    manual_axes,
    manual_scope,
)
from primax.interpreters.runtime.sharding.layout import Format, Layout
from primax.interpreters.runtime.sharding.mesh import MeshScope, current_scope, meshes_exist
from primax.interpreters.runtime.sharding.shardings import (
    check_spec,
    devices_of,
    named_from_hlo,
    placed,
    sharding_of,
    to_hlo,
)

__all__ = [
    "AvalSharding",
    "Format",
    "Layout",
    "MeshScope",
    "Space",
    "aval_sharding",
    "axes_in_scope",
    "axes_of_dims",
    "canonical_sharding",
    "check_spec",
    "cotangent_like",
    "current_scope",
    "devices_of",
    "explicit_part",
    "get_mesh",
    "install_placement_rules",
    "keep_vma",
    "manual_axes",
    "manual_scope",
    "match_placement",
    "meshes_exist",
    "named_from_hlo",
    "placed",
    "required_placement_rules",
    "sharding_of",
    "to_hlo",
    "unreduced_contractions",
    "unreduced_params",
    "vary",
    "vma_of",
    "with_aval_sharding",
    "with_out_sharding",
]

Result = TypeVar("Result")


class _Contractions(threading.local):
    """The mesh axes along which contractions in a trace leave their sums pending."""

    axes: tuple[Any, ...] = ()
    trace: Any = None


_contractions = _Contractions()


def unreduced_params() -> dict[str, Any]:
    """The parameter with which a contraction that is bound now leaves its sum pending; empty if it does not."""
    if not thread_blockers or not _contractions.axes or _contractions.trace is not thread.trace:
        return {}
    return {"unreduced_axes": _contractions.axes}


@contextmanager
def unreduced_contractions(names: Iterable[Any]) -> Iterator[None]:
    """A `with` block in which contractions in the current trace leave their sums along mesh axes pending."""
    before = _contractions.axes, _contractions.trace
    _contractions.axes, _contractions.trace = tuple(sorted(names, key=str)), thread.trace
    block_fast_path("unreduced_contractions")
    try:
        yield
    finally:
        unblock_fast_path("unreduced_contractions")
        _contractions.axes, _contractions.trace = before


def with_out_sharding(function: str, bind: Callable[..., Result], args: Sequence[Any], out_sharding: Any) -> Result:
    """The result of a function, with the sharding that its argument `out_sharding` prescribes, if any.

    Args:
      function: the name of the function.
      bind: computes the result.
      args: the arrays; XLA chooses how they are divided.
      out_sharding: a `PartitionSpec` or a `NamedSharding`, or None.
    """
    if out_sharding is None:
        return bind(*args)
    return required_placement_rules().with_out_sharding(function, bind, args, out_sharding)  # type: ignore[no-any-return]


def install_placement_rules(rules: Any) -> None:
    """Give the kernel its rules of placements."""
    placement.rules = rules


def vary(x: Any, axes: frozenset[Any]) -> Any:
    """A value, converted to vary along these mapped axes, too."""
    return required_placement_rules().vary(x, axes) if axes else x


def match_placement(x: Any, aval: Any) -> Any:
    """A value, converted to the placement of a type: it may vary along the same axes, and has the same sharding."""
    return placed_like(x, aval)


def with_aval_sharding(x: Any, sharding: AvalSharding | None) -> Any:
    """A value whose type records this sharding; None for a sharding that XLA chooses."""
    return x if aval_sharding(get_aval(x)) is sharding else required_placement_rules().with_aval_sharding(x, sharding)


def cotangent_like(ct: Any, aval: Any) -> Any:
    """A cotangent for values of a type: summed along the axes along which only the cotangent varies."""
    placed = getattr(get_aval(ct), "placement", None) is not None or getattr(aval, "placement", None) is not None
    return required_placement_rules().cotangent_like(ct, aval) if placed else ct


def keep_vma(*avals: Any, **params: Any) -> list[frozenset[Any]]:
    """The variance rule of a primitive whose operands keep their own axes, such as a call of a user's function."""
    return [getattr(aval, "vma", frozenset()) for aval in avals]
