"""The names of `jax._src.tree_util` that packages use, besides the names of `primax.tree_util`."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from primax.core import tree
from primax.core.tree.registry import child_names
from primax.extend.api_util import flatten_axes

__all__ = ["Leaf", "flatten_axes", "prefix_errors"]

Leaf = Any

_CONTAINERS = (tuple, list, dict, type(None), OrderedDict, defaultdict)


@dataclass(frozen=True, slots=True)
class _Node:
    """The functions that flatten and unflatten a class of nodes."""

    cls: type

    def to_iter(self, node: Any) -> tuple[Iterable[Any], Any]:
        return tree.flatten_one_level(node)

    def from_iter(self, aux: Any, children: Iterable[Any]) -> Any:
        parts = tuple(children)
        leaf = tree.tree_structure(0)
        node = (self.cls, aux)
        structure = tree.PyTreeDef.from_node_data_and_children(tree.registry, node, [leaf] * len(parts))
        return tree.tree_unflatten(structure, parts)


class _Registry:
    """The registered node classes, as a mapping."""

    def __contains__(self, cls: Any) -> bool:
        return cls in _CONTAINERS or child_names(cls) is not None

    def __getitem__(self, cls: Any) -> _Node:
        if cls not in self:
            raise KeyError(cls)
        return _Node(cls)

    def get(self, cls: Any, default: Any = None) -> Any:
        return _Node(cls) if cls in self else default


_registry = _Registry()


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Callable[[str], ValueError]]:
    """For each place where a tree is not a prefix of another, a function from the argument's name to an error."""

    def error(message: str, name: str) -> ValueError:
        return ValueError(f"{name}{message}")

    messages = tree.prefix_errors(prefix_tree, full_tree, is_leaf, name="")
    return [functools.partial(error, message) for message in messages]
