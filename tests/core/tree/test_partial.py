"""Partial application as a tree of its arguments."""

from __future__ import annotations

import functools
import pickle

import pytest

from primax import tree, tree_util

pytestmark = pytest.mark.usefixtures("in_32_bits")


def test_partial_is_a_tree_of_its_arguments() -> None:
    add = tree_util.Partial(lambda *args, scale: scale * sum(args), 1, 2, scale=10)
    assert tree.leaves(add) == [1, 2, 10]
    assert add(3) == 60
    doubled = tree.map(lambda x: 2 * x, add)
    assert isinstance(doubled, tree_util.Partial)
    assert doubled(3) == 180
    assert tree.structure(add) == tree.structure(doubled)
    assert [tree_util.keystr(path) for path, _ in tree.leaves_with_path(add)] == [
        ".args[0]",
        ".args[1]",
        ".keywords['scale']",
    ]


def test_partial_keeps_a_partial_whole() -> None:
    inner = functools.partial(max, 5)
    outer = tree_util.Partial(inner, 7)
    assert outer(1) == 7
    assert tree.leaves(outer) == [7]
    assert tree.structure(outer) == tree.structure(tree_util.Partial(inner, 8))
    assert tree.leaves(tree_util.Partial(tree_util.Partial(max, 1), 2)) == [2]
    assert outer.func == inner
    assert hash(outer.func) == hash(inner)


def test_partial_can_be_pickled() -> None:
    for func in (tree_util.Partial(max, 3), tree_util.Partial(functools.partial(max, 5), 3)):
        assert pickle.loads(pickle.dumps(func))(4) == func(4)
