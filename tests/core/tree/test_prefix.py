"""Prefix trees: axes for each leaf, and leaves repeated for a full tree."""

from __future__ import annotations

from typing import Any

import pytest

from primax import tree, tree_util
from primax.core import tree as core_tree

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
    ]
