"""Functions on one level of a tree, and on tree structures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from primax.core._jaxlib import pytree
from primax.core.arguments import check_function, naming, sequence
from primax.core.tree.flatten import flatten_with_path
from primax.core.tree.registry import PyTreeDef, registry


def check_treedef(who: str, argument: str, treedef: Any) -> None:
    if not isinstance(treedef, pytree.PyTreeDef):
        raise TypeError(f"{who}: {argument} must be a PyTreeDef, got {treedef!r}; tree.structure(x) makes one")


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees, from the structure of each.

    Args:
        treedefs: structures.

    >>> from primax import tree, tree_util
    >>> tree_util.treedef_tuple([tree.structure(1), tree.structure([1, 2])])
    PyTreeDef((*, [*, *]))
    """
    treedefs = sequence("treedef_tuple", "treedefs", treedefs)
    for treedef in treedefs:
        check_treedef("treedef_tuple", "treedefs", treedef)
    return pytree.treedef_tuple(registry, treedefs)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of a tree's root.

    Args:
        treedef: a structure.

    Returns:
        A list of structures; empty for a leaf.

    >>> from primax import tree, tree_util
    >>> tree_util.treedef_children(tree.structure([1, (2,)]))
    [PyTreeDef(*), PyTreeDef((*,))]
    """
    check_treedef("treedef_children", "treedef", treedef)
    return treedef.children()  # type: ignore[no-any-return]


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether a structure is that of a single leaf. An empty container, such as None or `()`, is not a leaf.

    Args:
        treedef: a structure.

    >>> from primax import tree, tree_util
    >>> tree_util.treedef_is_leaf(tree.structure(1)), tree_util.treedef_is_leaf(tree.structure(None))
    (True, False)
    """
    check_treedef("treedef_is_leaf", "treedef", treedef)
    return treedef.node_data() is None


def all_leaves(iterable: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether no item of an iterable is a node.

    Args:
        iterable: any objects.
        is_leaf: returns True for nodes that count as leaves.

    >>> from primax import tree_util
    >>> tree_util.all_leaves([1, "a"]), tree_util.all_leaves([1, None])
    (True, False)
    """
    if is_leaf is None:
        return pytree.all_leaves(registry, sequence("all_leaves", "iterable", iterable))  # type: ignore[no-any-return]
    check_function("all_leaves", "is_leaf", is_leaf)
    return all(is_leaf(item) or not registry.is_node(type(item)) for item in iterable)


def build_tree(treedef: PyTreeDef, xs: Iterable[Any]) -> Any:
    """Make a tree from its structure and nested iterables of that shape.

    Args:
        treedef: the structure.
        xs: an iterable with an item for each child of the root; an item for a node is such an iterable, too.

    >>> from primax import tree, tree_util
    >>> tree_util.build_tree(tree.structure({"a": 0, "b": (0, 0)}), [1, [2, 3]])
    {'a': 1, 'b': (2, 3)}
    """
    check_treedef("build_tree", "treedef", treedef)
    with naming("build_tree"):
        return treedef.from_iterable_tree(xs)


def is_tree_node(cls: type) -> bool:
    """Whether instances of a class are nodes and not leaves.

    Args:
        cls: a class.

    Raises:
        TypeError: `cls` is not a class.

    >>> from primax import tree_util
    >>> tree_util.is_tree_node(list), tree_util.is_tree_node(int)
    (True, False)
    """
    if not isinstance(cls, type):
        raise TypeError(f"is_tree_node: cls must be a class, got {cls!r}")
    return registry.is_node(cls)  # type: ignore[no-any-return]


def flatten_one_level(tree: object) -> tuple[Iterable[Any], Any]:
    """The children and the static data of a tree's root.

    Args:
        tree: a node.

    Raises:
        ValueError: `tree` is a leaf.

    >>> from primax import tree_util
    >>> tree_util.flatten_one_level([1, (2, 3)])
    ([1, (2, 3)], None)
    """
    level = registry.flatten_one_level(tree)
    if level is None:
        raise ValueError(f"flatten_one_level: tree must be a pytree node, got a leaf of type {type(tree).__name__}")
    return level  # type: ignore[no-any-return]


def flatten_one_level_with_keys(tree: object) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """`flatten_one_level`, with pairs of key and child.

    Args:
        tree: a node.

    Raises:
        ValueError: `tree` is a leaf.

    >>> from primax import tree_util
    >>> tree_util.flatten_one_level_with_keys((5,))
    (((SequenceKey(idx=0), 5),), None)
    """
    _, aux = flatten_one_level(tree)
    keyed, _ = flatten_with_path(tree, lambda path, node: bool(path))
    return tuple((path[0], child) for (path, child) in keyed), aux
