"""Prefix trees, such as trees of axes, broadcast to full trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core.tree.flatten import flatten, raise_unsorted
from primax.core.tree.paths import prefix_errors
from primax.core.tree.registry import PyTreeDef


def flatten_up_to(who: str, treedef: PyTreeDef, full: Any, which: str) -> list[Any]:
    """`treedef.flatten_up_to(full)`, with an error that names the path."""
    try:
        return treedef.flatten_up_to(full)  # type: ignore[no-any-return]
    except ValueError as error:
        raise_unsorted(error, full)
        errors = prefix_errors(treedef, full, name="tree")
        reason = errors[0] if errors else str(error)
        more = f"\nand {len(errors) - 1} more" if len(errors) > 1 else ""
        raise ValueError(f"{who}: {which} must have the structure of the first tree; {reason}{more}") from None


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of `prefix_tree`, each repeated for every leaf of `full_tree` in its place."""
    leaves, treedef = flatten(prefix_tree, is_leaf)
    parts = flatten_up_to("tree.broadcast", treedef, full_tree, "full_tree")
    return [leaf for leaf, part in zip(leaves, parts, strict=True) for _ in flatten(part)[0]]


def _is_none(x: Any) -> bool:
    return x is None


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any) -> list[Any]:
    """Expand a tree of axes, in which None is a leaf, to one axis for each leaf of a structure.

    Args:
        name: the name of `axis_tree` in messages, such as `vmap in_axes`.
        treedef: the structure.
        axis_tree: a prefix of the structure; an int or None is a prefix of any structure.

    Returns:
        One axis for each leaf of `treedef`.

    Raises:
        ValueError: `axis_tree` is not a prefix; the message names every path at which it fails.
    """
    if type(treedef) is not PyTreeDef:
        raise TypeError(f"{name}: treedef must be the structure of a tree, got {treedef!r}")
    if axis_tree is None or isinstance(axis_tree, int):
        return [axis_tree] * treedef.num_leaves
    axes, axis_treedef = flatten(axis_tree, _is_none)
    if axis_treedef == treedef:
        return axes
    counts = _leaves_under(axis_treedef, treedef)
    if counts is None:
        rule = f"{name} specification must be a tree prefix of the corresponding value"
        raise ValueError("\n".join([*prefix_errors(axis_treedef, treedef, name=name), rule]))
    return [axis for axis, count in zip(axes, counts, strict=True) for _ in range(count)]


def _leaves_under(prefix: PyTreeDef, full: PyTreeDef) -> list[int] | None:
    """For each leaf of a prefix the number of leaves of the full tree in its place; None if it is not a prefix."""
    counts: list[int] = []
    waiting = [(prefix, full)]
    while waiting:
        prefix, full = waiting.pop()
        node = prefix.node_data()
        if node is None:
            counts.append(full.num_leaves)
            continue
        children, others = prefix.children(), full.children()
        if node != full.node_data() or len(children) != len(others):
            return None
        waiting += reversed(list(zip(children, others, strict=True)))
    return counts
