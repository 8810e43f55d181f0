"""Pytrees: flattening of nested containers into leaves and a structure, and the inverse."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from primax.core.arguments import check_function, sequence
from primax.core.tree.flatten import flatten, flatten_with_path
from primax.core.tree.levels import (
    all_leaves,
    build_tree,
    check_treedef,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)
from primax.core.tree.partial import Partial
from primax.core.tree.paths import (
    TreeMismatch,
    equality_errors,
    equality_errors_treedef,
    keystr,
    prefix_errors,
    require_same_structure,
)
from primax.core.tree.prefix import broadcast_prefix, flatten_axes, flatten_up_to
from primax.core.tree.registry import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    dispatch_registry,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    registry,
    result_registry,
    static,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "TreeMismatch",
    "all_leaves",
    "broadcast_prefix",
    "build_tree",
    "dispatch_registry",
    "equality_errors",
    "equality_errors_treedef",
    "flatten",
    "flatten_axes",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_up_to",
    "is_tree_node",
    "keystr",
    "prefix_errors",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "registry",
    "require_same_structure",
    "result_registry",
    "static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unflatten",
]
__dir__ = __all__.copy

IsLeaf = Callable[[Any], bool] | None

# For the kernel: `flatten(tree)` and `unflatten(treedef, leaves)`.
unflatten = PyTreeDef.unflatten

_MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<no value>"})()


def tree_flatten(tree: object, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Flatten a tree into its leaves and its structure.

    Lists, tuples, namedtuples, dicts, OrderedDicts, defaultdicts, None (which has no leaves) and
    registered classes are nodes; other objects are leaves. The children of a dict are sorted by their keys.

    Args:
        tree: any object.
        is_leaf: called on every object in the tree; objects for which it returns True are leaves.

    Returns:
        The list of leaves and a PyTreeDef, from which `tree.unflatten` rebuilds the tree.

    Raises:
        ValueError: the keys of a dict cannot be sorted.

    >>> from primax import tree
    >>> tree.flatten({"b": [1, None], "a": (2, 3)})
    ([2, 3, 1], PyTreeDef({'a': (*, *), 'b': [*, None]}))
    >>> tree.flatten([1, None], is_leaf=lambda x: x is None)[0]
    [1, None]
    """
    if is_leaf is not None:
        check_function("tree.flatten", "is_leaf", is_leaf)
    return flatten(tree, is_leaf)


def tree_leaves(tree: object, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree.

    Args:
        tree: any object.
        is_leaf: returns True for nodes that count as leaves.

    Returns:
        The list of leaves, in the order of `tree.flatten`.

    >>> from primax import tree
    >>> tree.leaves({"b": [1, None], "a": (2, 3)})
    [2, 3, 1]
    """
    if is_leaf is not None:
        check_function("tree.leaves", "is_leaf", is_leaf)
    return flatten(tree, is_leaf)[0]


def tree_structure(tree: object, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree without its leaves.

    Args:
        tree: any object.
        is_leaf: returns True for nodes that count as leaves.

    Returns:
        A PyTreeDef. It is hashable, comparable by `==`, and picklable.

    >>> from primax import tree
    >>> tree.structure([1, (2, None)])
    PyTreeDef([*, (*, None)])
    """
    if is_leaf is not None:
        check_function("tree.structure", "is_leaf", is_leaf)
    return flatten(tree, is_leaf)[1]


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Rebuild a tree from its structure and its leaves.

    Args:
        treedef: the structure.
        leaves: the leaves in order, as many as the structure has.

    Raises:
        TypeError: `treedef` is not a PyTreeDef.
        ValueError: there are too few or too many leaves.

    >>> from primax import tree
    >>> tree.unflatten(tree.structure({"a": 0, "b": (0, 0)}), [1, 2, 3])
    {'a': 1, 'b': (2, 3)}
    """
    check_treedef("tree.unflatten", "treedef", treedef)
    leaves = sequence("tree.unflatten", "leaves", leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError(
            f"tree.unflatten: leaves must have one item for each leaf of treedef, "
            f"got {len(leaves)} for the {treedef.num_leaves} of {treedef}"
        )
    return treedef.unflatten(leaves)


def tree_map(f: Callable[..., Any], tree: object, *rest: object, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to every leaf of a tree, and return the results in a tree of the same structure.

    Args:
        f: takes one leaf of `tree` and, from each tree of `rest`, the subtree at the same place.
        tree: the tree that gives the structure.
        *rest: trees that `tree` is a prefix of.
        is_leaf: returns True for nodes of `tree` that count as leaves.

    Returns:
        A tree with the structure of `tree`.

    Raises:
        TypeError: `f` is not callable.
        ValueError: `tree` is not a prefix of one of `rest`; the message names the path.

    >>> from primax import tree
    >>> tree.map(lambda x, y: x + y, {"a": 1, "b": [2, 3]}, {"a": 10, "b": [20, 30]})
    {'a': 11, 'b': [22, 33]}
    """
    if not callable(f):
        raise TypeError(f"tree.map: f must be callable, got {f!r}; the function comes before the trees")
    if is_leaf is not None:
        check_function("tree.map", "is_leaf", is_leaf)
    leaves, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in leaves])
    columns = [flatten_up_to("tree.map", treedef, other, f"tree {i}") for i, other in enumerate(rest, 2)]
    return treedef.unflatten([f(*row) for row in zip(leaves, *columns, strict=True)])


def tree_all(tree: object, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf of a tree is true; True for a tree without leaves.

    Args:
        tree: any object whose leaves can be converted to bool.
        is_leaf: returns True for nodes that count as leaves.

    >>> from primax import tree
    >>> tree.all({"a": True, "b": [1, None]}), tree.all([True, 0])
    (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: object, initializer: object = _MISSING, is_leaf: IsLeaf = None
) -> Any:
    """Combine the leaves of a tree by a function of two arguments, from left to right.

    Args:
        function: takes the value so far and a leaf.
        tree: any object.
        initializer: the first value; by default the first leaf.
        is_leaf: returns True for nodes that count as leaves.

    Returns:
        The last result of `function`; `initializer` if there are no leaves.

    Raises:
        TypeError: there are no leaves and no `initializer`.

    >>> from primax import tree
    >>> tree.reduce(lambda x, y: x + y, {"a": 1, "b": [2, 3]})
    6
    """
    check_function("tree.reduce", "function", function)
    leaves = tree_leaves(tree, is_leaf)
    if initializer is not _MISSING:
        return functools.reduce(function, leaves, initializer)
    if not leaves:
        raise TypeError(f"tree.reduce: initializer must be given for a tree without leaves, got {tree!r}")
    return functools.reduce(function, leaves)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: object, *, identity: object = _MISSING, is_leaf: IsLeaf = None
) -> Any:
    """Combine the leaves of a tree by an associative function, in pairs, so that chains of operations stay short.

    Args:
        operation: an associative function of two arguments.
        tree: any object.
        identity: the result for a tree without leaves.
        is_leaf: returns True for nodes that count as leaves.

    Returns:
        The leaves combined, in order.

    Raises:
        TypeError: there are no leaves and no `identity`.

    >>> from primax import tree
    >>> tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcde"))
    '(((ab)(cd))e)'
    """
    check_function("tree.reduce_associative", "operation", operation)
    level = tree_leaves(tree, is_leaf)
    if not level:
        if identity is _MISSING:
            raise TypeError(f"tree.reduce_associative: identity must be given for a tree without leaves, got {tree!r}")
        return identity
    while len(level) > 1:
        pairs = [operation(x, y) for x, y in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def tree_transpose(outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: object) -> Any:
    """Transpose an outer tree of inner trees.

    Args:
        outer_treedef: the outer structure.
        inner_treedef: the structure of each inner tree; by default that of the first one.
        pytree_to_transpose: a tree of structure `outer_treedef` with trees of `inner_treedef` as leaves.

    Returns:
        A tree of structure `inner_treedef` with trees of `outer_treedef` as leaves.

    Raises:
        TypeError: a structure is not a PyTreeDef, or `pytree_to_transpose` does not have these structures.
        ValueError: `outer_treedef` has no leaves that would show the inner structure.

    >>> from primax import tree
    >>> pairs = [(1, 2), (3, 4), (5, 6)]
    >>> tree.transpose(tree.structure([0, 0, 0]), tree.structure((0, 0)), pairs)
    ([1, 3, 5], [2, 4, 6])
    """
    who = "tree.transpose"
    check_treedef(who, "outer_treedef", outer_treedef)
    errors = prefix_errors(outer_treedef, tree_structure(pytree_to_transpose), name="pytree_to_transpose")
    if errors:
        raise TypeError(f"{who}: outer_treedef must be a prefix of pytree_to_transpose; {errors[0]}")
    inner_trees = outer_treedef.flatten_up_to(pytree_to_transpose)
    if inner_treedef is None:
        if not inner_trees:
            raise ValueError(f"{who}: inner_treedef must be given where outer_treedef has no leaves")
        inner_treedef = tree_structure(inner_trees[0])
    check_treedef(who, "inner_treedef", inner_treedef)
    rows = []
    for inner in inner_trees:
        errors = prefix_errors(inner_treedef, inner, name="inner tree")
        if errors:
            raise TypeError(f"{who}: every inner tree must have the structure inner_treedef; {errors[0]}")
        rows.append(inner_treedef.flatten_up_to(inner))
    columns = [[row[i] for row in rows] for i in range(inner_treedef.num_leaves)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


def tree_broadcast(prefix_tree: object, full_tree: object, is_leaf: IsLeaf = None) -> Any:
    """Expand a tree to the structure of another tree by repeating its leaves.

    Args:
        prefix_tree: a tree with leaves where `full_tree` may have subtrees.
        full_tree: the tree that gives the structure.
        is_leaf: returns True for nodes of `prefix_tree` that count as leaves.

    Returns:
        A tree with the structure of `full_tree`.

    Raises:
        ValueError: `prefix_tree` is not a prefix of `full_tree`; the message names the path.

    >>> from primax import tree
    >>> tree.broadcast({"a": 0, "b": 1}, {"a": [5, 6], "b": 7})
    {'a': [0, 0], 'b': 1}
    """
    if is_leaf is not None:
        check_function("tree.broadcast", "is_leaf", is_leaf)
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree).unflatten(leaves)


def _path_predicate(is_leaf: Callable[..., bool] | None, takes_path: bool) -> Callable[[KeyPath, Any], bool] | None:
    """The predicate for C++, which takes a path and a node; `is_leaf` takes the path only if `takes_path` is True."""
    if is_leaf is None:
        return None
    check_function("tree.flatten_with_path", "is_leaf", is_leaf)
    if takes_path:
        return is_leaf
    return lambda path, node: is_leaf(node)


def tree_flatten_with_path(
    tree: object, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """`tree.flatten`, with the key path of every leaf.

    Args:
        tree: any object.
        is_leaf: returns True for nodes that count as leaves.
        is_leaf_takes_path: call `is_leaf(path, node)`.

    Returns:
        A list of pairs of key path and leaf, and the structure.

    >>> from primax import tree
    >>> tree.flatten_with_path({"a": [1]})
    ([((DictKey(key='a'), SequenceKey(idx=0)), 1)], PyTreeDef({'a': [*]}))
    """
    return flatten_with_path(tree, _path_predicate(is_leaf, is_leaf_takes_path))


def tree_leaves_with_path(
    tree: object, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """`tree.leaves`, with the key path of every leaf.

    Args:
        tree: any object.
        is_leaf: returns True for nodes that count as leaves.
        is_leaf_takes_path: call `is_leaf(path, node)`.

    Returns:
        A list of pairs of key path and leaf.

    >>> from primax import tree, tree_util
    >>> [(tree_util.keystr(path), leaf) for path, leaf in tree.leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: object,
    *rest: object,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """`tree.map`, for a function that also takes the key path.

    Args:
        f: takes a key path, a leaf of `tree` and, from each tree of `rest`, the subtree at the same place.
        tree: the tree that gives the structure.
        *rest: trees that `tree` is a prefix of.
        is_leaf: returns True for nodes of `tree` that count as leaves.
        is_leaf_takes_path: call `is_leaf(path, node)`.

    Returns:
        A tree with the structure of `tree`.

    Raises:
        TypeError: `f` is not callable.
        ValueError: `tree` is not a prefix of one of `rest`; the message names the path.

    >>> from primax import tree, tree_util
    >>> tree.map_with_path(lambda path, x: tree_util.keystr(path) + str(x), {"a": [1]})
    {'a': ["['a'][0]1"]}
    """
    who = "tree.map_with_path"
    if not callable(f):
        raise TypeError(f"{who}: f must be callable, got {f!r}; the function comes before the trees")
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [flatten_up_to(who, treedef, other, f"tree {i}") for i, other in enumerate(rest, 2)]
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return treedef.unflatten([f(*row) for row in zip(paths, leaves, *columns, strict=True)])
