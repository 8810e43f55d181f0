"""Prefix trees: axes for each leaf, and leaves repeated for a full tree."""

from __future__ import annotations

from typing import Any

import pytest

from primax import tree, tree_util
from primax.core import tree as core_tree
from primax.core.tree import prefix

pytestmark = pytest.mark.usefixtures("in_32_bits")


@pytest.mark.parametrize(
    "axes, expected",
    [
        (0, [0, 0, 0, 0]),
        (None, [None] * 4),
        ((0, None), [0, 0, 0, None]),
        (({"a": 1, "b": None}, 2), [1, 1, None, 2]),
        (({"a": [1, None], "b": 0}, 2), [1, None, 0, 2]),
    ],
)
def test_flatten_axes_repeats_axes_and_keeps_none(axes: Any, expected: list[Any]) -> None:
    treedef = tree.structure(({"a": [1, 2], "b": 3}, 4))
    assert core_tree.flatten_axes("in_axes", treedef, axes) == expected


def test_flatten_axes_never_calls_the_class_to_look_inside() -> None:
    class Strict:
        def __init__(self, value: int) -> None:
            assert isinstance(value, int)
            self.value = value

    tree_util.register_dataclass(Strict, ["value"], [])
    treedef = tree.structure((Strict(1), [2, 3]))
    assert core_tree.flatten_axes("in_axes", treedef, (Strict(0), None)) == [0, None, None]


def test_flatten_axes_names_every_path_that_fails() -> None:
    treedef = tree.structure(({"a": [1]}, (2,), 3))
    with pytest.raises(ValueError) as caught:
        core_tree.flatten_axes("vmap in_axes", treedef, ({"a": [0, 0]}, [0], 0))
    assert str(caught.value).splitlines() == [
        "vmap in_axes[0]['a']: a list of length 2 cannot match a list of length 1",
        "vmap in_axes[1]: a list of length 1 cannot match a tuple of length 1",
        "vmap in_axes specification must be a tree prefix of the corresponding value",
    ]


def test_a_prefix_repeats_its_leaves_for_the_leaves_below() -> None:
    full = {"a": [1, (2, 3)], "b": None, "c": 4}
    assert prefix.broadcast_prefix({"a": "x", "b": "y", "c": "z"}, full) == ["x", "x", "x", "z"]
    assert prefix.broadcast_prefix("x", full) == ["x"] * 4
    assert prefix.broadcast_prefix([(0, 1), 2], [[1, 2], 3], lambda x: isinstance(x, tuple)) == [(0, 1), (0, 1), 2]
    with pytest.raises(
        ValueError, match=r"^tree\.broadcast: full_tree must have the structure of the first tree; tree\["
    ):
        prefix.broadcast_prefix([1, [2]], [1, (2,)])


def test_an_error_about_another_tree_counts_its_further_places() -> None:
    treedef = tree.structure({"a": [1], "b": [2], "c": 3})
    assert prefix.flatten_up_to("f", treedef, {"a": [(1, 2)], "b": [None], "c": []}, "x") == [(1, 2), None, []]
    with pytest.raises(ValueError) as error:
        prefix.flatten_up_to("f", treedef, {"a": 1, "b": (2,), "c": 3}, "x")
    assert str(error.value).splitlines() == [
        "f: x must have the structure of the first tree; tree['a']: a list of length 1 cannot match a leaf of type int",
        "and 1 more",
    ]


def test_axes_are_for_a_structure() -> None:
    with pytest.raises(TypeError, match=r"^in_axes: treedef must be the structure of a tree, got \[1\]$"):
        prefix.flatten_axes("in_axes", [1], 0)  # type: ignore[arg-type]
