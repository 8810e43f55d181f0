"""Key paths, and the places where two trees differ."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest

from primax import tree, tree_util
from primax.core import tree as core_tree

pytestmark = pytest.mark.usefixtures("in_32_bits")


class Pair(NamedTuple):
    x: Any
    y: Any


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value


tree_util.register_pytree_node(Box, lambda box: ((box.value,), None), lambda _, children: Box(*children))


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = tree.static(default="dense")


def test_keystr_can_be_simple() -> None:
    t = {"a": [Layer(Box(1), 0)]}
    path = tree.leaves_with_path(t)[0][0]
    assert tree_util.keystr(path) == "['a'][0].weight[<flat index 0>]"
    assert tree_util.keystr(path, simple=True, separator="/") == "a/0/weight/0"


def test_prefix_errors_name_every_place() -> None:
    found = core_tree.prefix_errors(
        {"a": [0, (0, 0)], "b": None}, {"a": [1, [2]], "b": 3}, name="in_axes", is_leaf=None
    )
    assert found == [
        "in_axes['a'][1]: a tuple of length 2 cannot match a list of length 1",
        "in_axes['b']: None cannot match a leaf of type int (None is a tree without leaves, not a leaf)",
    ]
    assert core_tree.prefix_errors({"a": 0, "b": None}, {"a": [1], "b": 3}, lambda x: x is None) == []


def test_equality_errors_give_path_and_both_sides() -> None:
    found = core_tree.equality_errors([1, Pair(1, None)], [(2,), Pair(1, 2)])
    assert [(tree_util.keystr(m.path), m.left, m.right) for m in found] == [
        ("[0]", "a leaf of type int", "a tuple of length 1"),
        ("[1].y", "None", "a leaf of type int"),
    ]
    assert core_tree.equality_errors([1], [(2,)], is_leaf=lambda x: isinstance(x, tuple)) == []


def test_structures_that_must_be_the_same_are_shown_with_their_first_difference() -> None:
    with pytest.raises(TypeError) as raised:
        core_tree.require_same_structure(
            "scan: the carry must keep its structure",
            tree.structure((1, {"a": [1, 2]})),
            tree.structure(((1,), {"a": [1]})),
            "the input",
            "the output",
        )
    assert str(raised.value).splitlines() == [
        "scan: the carry must keep its structure; at [0] the input has a leaf, "
        "the output has a tuple of length 1, and 1 more difference",
        "  the input: PyTreeDef((*, {'a': [*, *]}))",
        "  the output: PyTreeDef(((*,), {'a': [*]}))",
    ]
    with pytest.raises(TypeError, match="; the first is a "):
        core_tree.require_same_structure("f", tree.structure(1), tree.structure([1]))
    core_tree.require_same_structure("f", tree.structure([1]), tree.structure([2]))
