"""Key paths, and messages that show where two pytrees differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from primax.core._jaxlib import pytree
from primax.core.tree.registry import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    PyTreeDef,
    SequenceKey,
    child_names,
    is_namedtuple,
    registry,
)

_ATTRIBUTES = {SequenceKey: "idx", DictKey: "key", GetAttrKey: "name", FlattenedIndexKey: "key"}


def _simple(key: Any) -> str:
    """The bare text of one key: `a` for `['a']`."""
    attribute = _ATTRIBUTES.get(type(key))
    return str(key if attribute is None else getattr(key, attribute))


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """The text of a key path, as it would be written after the tree's name in Python.

    Args:
        keys: a key path, as from `tree.flatten_with_path`.
        simple: leave out brackets, quotes and dots.
        separator: the text between keys.

    Returns:
        The keys' texts, joined.

    >>> from primax import tree, tree_util
    >>> path = tree.leaves_with_path({"a": [7]})[0][0]
    >>> tree_util.keystr(path), tree_util.keystr(path, simple=True, separator="/")
    ("['a'][0]", 'a/0')
    """
    return separator.join((_simple if simple else str)(key) for key in keys)


class TreeMismatch(NamedTuple):
    """One place where two trees differ: its path, the part of each tree there, and a remark, which may be empty."""

    path: KeyPath
    left: str
    right: str
    remark: str


class _Node(NamedTuple):
    """One level of a tree. A leaf has no type; the static data of a dict is its keys."""

    type: type | None
    aux: Any
    keys: Sequence[Any]
    children: Sequence[Any]
    text: str


def _name_of(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _describe(cls: type, aux: Any, size: int) -> str:
    if cls is type(None):
        return "None"
    if cls in (list, tuple):
        return f"a {cls.__name__} of length {size}"
    if cls is dict:
        return f"a dict with keys {', '.join(map(repr, aux))}" if aux else "an empty dict"
    text = f"a {_name_of(cls)} with {_count(size, 'child').replace('childs', 'children')}"
    return text if aux is None else f"{text} and static data {aux!r}"


def _keys(cls: type, aux: Any, size: int) -> list[Any]:
    """The keys of a node's children, as far as its type and static data determine them."""
    if cls is dict:
        return [DictKey(key) for key in aux]
    if cls in (list, tuple):
        return [SequenceKey(i) for i in range(size)]
    names = child_names(cls)
    if names is None and is_namedtuple(cls):
        names = cls._fields  # type: ignore[attr-defined]
    if names:
        return [GetAttrKey(name) for name in names]
    return [FlattenedIndexKey(i) for i in range(size)]


def _node_of_treedef(treedef: PyTreeDef) -> _Node:
    data = treedef.node_data()
    if data is None:
        return _Node(None, None, (), (), "a leaf")
    cls, aux = data
    aux = tuple(aux) if cls is dict else aux
    children = treedef.children()
    size = len(children)
    return _Node(cls, aux, _keys(cls, aux, size), children, _describe(cls, aux, size))


def _node_of_value(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> _Node:
    # As in C++, only registered types are nodes. Keys from their own functions are better than those of `_keys`.
    if not (is_leaf is not None and is_leaf(tree)):
        level = registry.flatten_one_level_with_keys(tree)
        if level is not None:
            cls, (pairs, aux) = type(tree), level
            pairs = list(pairs)
            keys, children = [key for key, _ in pairs], [child for _, child in pairs]
            if is_namedtuple(cls) and child_names(cls) is None:  # C++ repeats the first name for every field
                keys, aux = _keys(cls, None, len(children)), None
            return _Node(cls, aux, keys, children, _describe(cls, aux, len(children)))
    return _Node(None, None, (), (), f"a leaf of type {_name_of(type(tree))}")


def _remark(left: _Node, right: _Node) -> str | None:
    """None if two nodes agree, else a remark about their difference."""
    if left.type is not right.type:
        if type(None) in (left.type, right.type) and None in (left.type, right.type):
            return "None is a tree without leaves, not a leaf"
        return ""
    if left.type is dict and left.aux != right.aux:
        missing = [repr(key) for key in right.aux if key not in left.aux]
        extra = [repr(key) for key in left.aux if key not in right.aux]
        parts = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unexpected {', '.join(extra)}"] * bool(extra)
        return "; ".join(parts)
    if len(left.children) != len(right.children):
        return "" if left.type in (list, tuple) else "the numbers of children differ"
    if left.aux != right.aux:
        return "the static data differ"
    return None


def _mismatches(
    left: _Node, right: _Node, left_child: Callable[[Any], _Node], right_child: Callable[[Any], _Node], prefix: bool
) -> Iterator[TreeMismatch]:  # fmt: skip
    """The outermost places where `left` differs from `right`, or, if `prefix`, where it is not a prefix of `right`."""
    # A loop, since trees may be too deep for recursion.
    waiting: list[tuple[_Node, _Node, KeyPath]] = [(left, right, ())]
    while waiting:
        left, right, path = waiting.pop()
        if prefix and left.type is None:
            continue
        remark = _remark(left, right)
        if remark is not None:
            yield TreeMismatch(path, left.text, right.text, remark)
            continue
        children = zip(right.keys, left.children, right.children, strict=True)
        waiting += [(left_child(a), right_child(b), (*path, key)) for key, a, b in children][::-1]


def equality_errors(tree1: Any, tree2: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[TreeMismatch]:
    """Every place where the structures of two trees differ; empty if they are equal."""

    def look(tree: Any) -> _Node:
        return _node_of_value(tree, is_leaf)

    return list(_mismatches(look(tree1), look(tree2), look, look, prefix=False))


def equality_errors_treedef(treedef1: PyTreeDef, treedef2: PyTreeDef) -> list[TreeMismatch]:
    """Every place where two structures differ; empty if they are equal."""
    look = _node_of_treedef
    return list(_mismatches(look(treedef1), look(treedef2), look, look, prefix=False))


def prefix_errors(
    prefix: Any, full: Any, is_leaf: Callable[[Any], bool] | None = None, *, name: str = "prefix"
) -> list[str]:
    """The reasons why `prefix` is not a prefix of `full`: one message for each place, such as `in_axes['a'][0]: ...`.

    Args:
        prefix: a tree or its PyTreeDef; it should equal `full`, except for leaves in place of subtrees.
        full: a tree, or its PyTreeDef.
        is_leaf: returns True for nodes of `prefix` that count as leaves.
        name: the name of `prefix` in the messages.

    Returns:
        The messages; an empty list if `prefix` is a prefix.
    """
    treedef = prefix if isinstance(prefix, pytree.PyTreeDef) else registry.flatten(prefix, is_leaf)[1]
    look = _node_of_treedef if isinstance(full, pytree.PyTreeDef) else _node_of_value
    messages = []
    for path, left, right, remark in _mismatches(
        _node_of_treedef(treedef), look(full), _node_of_treedef, look, prefix=True
    ):
        why = f" ({remark})" if remark else ""
        messages.append(f"{name}{keystr(path)}: {left} cannot match {right}{why}")
    return messages


def require_same_structure(
    what: str,
    treedef1: PyTreeDef,
    treedef2: PyTreeDef,
    name1: str = "the first",
    name2: str = "the second",
    error: type[Exception] = TypeError,
) -> None:
    """Raise an error if two structures differ; its message has the path of the first difference and both structures.

    Args:
        what: the beginning of the message, such as `scan: carry input and output must have the same tree structure`.
        treedef1: one structure.
        treedef2: the other.
        name1: the name of the first in the message.
        name2: the name of the second.
        error: the class of the error.

    Raises:
        TypeError: the structures differ; another class if `error` names one.
    """
    if treedef1 == treedef2:
        return
    errors = equality_errors_treedef(treedef1, treedef2)
    if errors:
        path, left, right, remark = errors[0]
        where, has = (f" at {keystr(path)}", "has") if path else ("", "is")
        more = f", and {_count(len(errors) - 1, 'more difference')}" if len(errors) > 1 else ""
        what = f"{what};{where} {name1} {has} {left}, {name2} {has} {right}{f' ({remark})' if remark else ''}{more}"
    raise error(f"{what}\n  {name1}: {treedef1}\n  {name2}: {treedef2}")
