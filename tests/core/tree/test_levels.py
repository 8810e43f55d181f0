"""One level of a tree, and structures put together and taken apart."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest

from primax import tree, tree_util

pytestmark = pytest.mark.usefixtures("in_32_bits")


class Pair(NamedTuple):
    x: Any
    y: Any


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = tree.static(default="dense")


def test_structures_can_be_built_and_taken_apart() -> None:
    parts = [tree.structure(1), tree.structure([1, {"a": 2}])]
    whole = tree_util.treedef_tuple(iter(parts))
    assert whole == tree.structure((1, [1, {"a": 2}]))
    assert tree_util.treedef_children(whole) == parts
    assert tree_util.build_tree(parts[1], [1, [2]]) == [1, {"a": 2}]
    assert [tree_util.treedef_is_leaf(tree.structure(x)) for x in (1, None, (), [1])] == [True] + [False] * 3


def test_only_classes_may_be_nodes() -> None:
    for wrong in (None, 3, [1]):
        with pytest.raises(TypeError, match=r"is_tree_node: cls must be a class, got "):
            tree_util.is_tree_node(wrong)


def test_all_leaves_looks_at_the_items_themselves() -> None:
    assert tree_util.all_leaves([1, "a"])
    assert not tree_util.all_leaves([1, [2]])
    assert not tree_util.all_leaves([None])
    assert tree_util.all_leaves([1, [2]], is_leaf=lambda x: isinstance(x, list))
    assert not tree_util.all_leaves([(1,), [2]], is_leaf=lambda x: isinstance(x, list))


def test_one_level_gives_children_with_keys_and_static_data() -> None:
    assert tree_util.flatten_one_level(Layer(1, [2])) == ([1, [2]], ("dense",))
    pairs, aux = tree_util.flatten_one_level_with_keys(Pair(1, (2, 3)))
    assert (list(pairs), aux) == ([(tree_util.GetAttrKey("x"), 1), (tree_util.GetAttrKey("y"), (2, 3))], Pair)
    with pytest.raises(ValueError, match="must be a pytree node, got a leaf"):
        tree_util.flatten_one_level(3)
