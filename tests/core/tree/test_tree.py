"""Pytrees: taking apart and putting together, registration, and messages that name the path."""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import pickle
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primax import tree, tree_util
from primax.core import tree as core_tree

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


@tree_util.register_pytree_node_class
class Box:
    def __init__(self, value: Any, tag: str = "") -> None:
        self.value, self.tag = value, tag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and (self.value, self.tag) == (other.value, other.tag)

    def __repr__(self) -> str:
        return f"Box({self.value!r}, {self.tag!r})"

    def tree_flatten(self) -> tuple[Any, str]:
        return (self.value,), self.tag

    @classmethod
    def tree_unflatten(cls, aux: str, children: Any) -> Box:
        return cls(*children, aux)


@tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keyed = st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        keyed,
        keyed.map(collections.OrderedDict),
        keyed.map(lambda d: collections.defaultdict(int, d)),
        st.builds(Pair, inner, inner),
    )


PLAIN_TREES = st.recursive(st.none() | st.integers(0, 99), containers, max_leaves=12)
TREES = st.recursive(
    st.none() | st.integers(0, 99) | st.just(Mode("train")),
    lambda inner: st.one_of(
        containers(inner),
        st.builds(Layer, inner, inner, st.sampled_from(["a", "b"])),
        st.builds(Box, inner, st.sampled_from(["", "t"])),
    ),
    max_leaves=12,
)


@given(TREES)
def test_unflatten_undoes_flatten(t: Any) -> None:
    leaves, treedef = tree.flatten(t)
    again = tree.unflatten(treedef, leaves)
    assert again == t
    assert type(again) is type(t)
    assert tree.structure(again) == treedef
    assert leaves == tree.leaves(t)
    assert treedef.num_leaves == len(leaves)


@given(TREES)
def test_map_of_a_counter_numbers_the_leaves_in_order(t: Any) -> None:
    counter = itertools.count()
    assert tree.leaves(tree.map(lambda _: next(counter), t)) == list(range(len(tree.leaves(t))))


@given(TREES)
def test_map_of_many_trees_meets_the_same_places(t: Any) -> None:
    assert tree.map(lambda x, y, z: x + y + z, t, t, t) == tree.map(lambda x: 3 * x, t)


@given(TREES)
def test_paths_lead_to_the_leaves(t: Any) -> None:
    pairs, treedef = tree.flatten_with_path(t)
    assert treedef == tree.structure(t)
    assert [leaf for _, leaf in pairs] == tree.leaves(t)
    for path, leaf in pairs:
        here = t
        for key in path:
            match key:
                case tree_util.SequenceKey(idx=i):
                    here = here[i]
                case tree_util.DictKey(key=k):
                    here = here[k]
                case tree_util.GetAttrKey(name=name):
                    here = getattr(here, name)
                case _:
                    here = here.value
        assert here is leaf


@given(TREES)
def test_both_registries_agree_on_what_is_a_node(t: Any) -> None:
    leaves, treedef = core_tree.dispatch_registry.flatten(t)
    assert leaves == tree.leaves(t)
    assert treedef.unflatten(leaves) == t


@given(TREES)
def test_a_treedef_survives_pickling_and_copying(t: Any) -> None:
    treedef = tree.structure(t)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert hash(pickle.loads(pickle.dumps(treedef))) == hash(treedef)
    assert copy.deepcopy(treedef) == treedef
    other = core_tree.dispatch_registry.flatten(t)[1]
    assert pickle.loads(pickle.dumps(other)) == other


@given(TREES, TREES)
def test_errors_are_found_exactly_where_structures_differ(a: Any, b: Any) -> None:
    one, two = tree.structure(a), tree.structure(b)
    assert bool(core_tree.equality_errors(a, b)) == (one != two)
    assert bool(core_tree.equality_errors_treedef(one, two)) == (one != two)
    assert len(core_tree.equality_errors(a, b)) == len(core_tree.equality_errors_treedef(one, two))


@given(TREES, TREES)
def test_prefix_errors_are_found_exactly_where_flatten_up_to_fails(a: Any, b: Any) -> None:
    treedef = tree.structure(a)
    try:
        treedef.flatten_up_to(b)
        is_prefix = True
    except ValueError:
        is_prefix = False
    assert (core_tree.prefix_errors(a, b) == []) == is_prefix
    assert (core_tree.prefix_errors(treedef, tree.structure(b)) == []) == is_prefix


@given(TREES, st.data())
def test_a_tree_cut_short_is_a_prefix_and_broadcasts(t: Any, data: st.DataObject) -> None:
    prefix = tree.map(lambda x: 0, t, is_leaf=lambda x: data.draw(st.booleans()))
    assert core_tree.prefix_errors(prefix, t) == []
    assert tree.structure(tree.broadcast(prefix, t)) == tree.structure(t)
    assert len(core_tree.flatten_axes("axes", tree.structure(t), prefix)) == len(tree.leaves(t))


@given(PLAIN_TREES)
def test_plain_trees_flatten_as_in_jax(t: Any) -> None:
    jax = pytest.importorskip("jax")
    leaves, treedef = tree.flatten(t)
    jax_leaves, jax_treedef = jax.tree.flatten(t)
    assert leaves == jax_leaves
    assert str(treedef) == str(jax_treedef)
    paths = [tree_util.keystr(path) for path, _ in tree.leaves_with_path(t)]
    assert paths == [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(t)]

    def short(x: Any) -> bool:
        return isinstance(x, (tuple, dict))

    assert tree.leaves(t, is_leaf=short) == jax.tree.leaves(t, is_leaf=short)
    assert tree.map(lambda x: x + 1, t) == jax.tree.map(lambda x: x + 1, t)
    assert tree.all(t) == jax.tree.all(t)
    assert tree.reduce(lambda x, y: 2 * x + y, t, 1) == jax.tree.reduce(lambda x, y: 2 * x + y, t, 1)


@given(PLAIN_TREES, PLAIN_TREES)
def test_broadcast_agrees_with_jax_on_what_is_a_prefix(a: Any, b: Any) -> None:
    jax = pytest.importorskip("jax")
    try:
        expected = jax.tree.broadcast(a, b)
    except ValueError:
        with pytest.raises(ValueError, match=r"tree\.broadcast: full_tree must"):
            tree.broadcast(a, b)
    else:
        assert tree.broadcast(a, b) == expected


def test_public_names_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    for ours, theirs in ((tree, jax.tree), (tree_util, jax.tree_util)):
        public = {name for name in vars(theirs) if not name.startswith("_")} - {"annotations", "KeyEntry"}
        assert public <= set(ours.__all__)


def test_none_is_a_tree_without_leaves() -> None:
    assert tree.leaves([None, 1]) == [1]
    assert tree.leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]
    assert tree.map(lambda x: x, None) is None
    assert tree.map(lambda x, y: (x, y), [1], [None]) == [(1, None)]


def test_dicts_are_taken_by_sorted_key_and_ordered_dicts_in_order() -> None:
    assert tree.leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree.leaves(collections.OrderedDict(b=1, a=2)) == [1, 2]
    assert tree.leaves(collections.defaultdict(int, b=1, a=2)) == [2, 1]


def test_subclasses_of_containers_are_leaves() -> None:
    class Special(dict):  # type: ignore[type-arg]
        pass

    special = Special(a=1)
    assert tree.leaves([special]) == [special]


def test_dicts_with_keys_that_cannot_be_sorted_are_refused() -> None:
    with pytest.raises(ValueError, match="sorting pytree dictionary keys"):
        tree.flatten({1: 0, "a": 0})


def test_map_passes_on_what_the_function_raises() -> None:
    def stop(x: Any) -> Any:
        raise StopIteration("enough")

    for map_one in (tree.map, lambda f, t: tree.map(lambda x, y: f(x), t, t)):
        with pytest.raises(StopIteration, match="enough"):
            map_one(stop, [1, 2])


def test_map_with_path_gives_path_then_leaves() -> None:
    found = tree.map_with_path(lambda path, x, y: (tree_util.keystr(path), x, y), {"a": [1, 2]}, {"a": [3, (4,)]})
    assert found == {"a": [("['a'][0]", 1, 3), ("['a'][1]", 2, (4,))]}


def test_is_leaf_may_take_the_path() -> None:
    t = {"a": [1, 2], "b": [3]}
    found = tree.leaves_with_path(t, is_leaf=lambda path, x: tree_util.keystr(path) == "['a']", is_leaf_takes_path=True)
    assert [(tree_util.keystr(path), leaf) for path, leaf in found] == [("['a']", [1, 2]), ("['b'][0]", 3)]
    assert [leaf for _, leaf in tree.leaves_with_path(t, is_leaf=lambda x: x == [3])] == [1, 2, [3]]


def test_reduce_begins_with_the_initializer_even_if_it_is_none() -> None:
    assert tree.reduce(lambda x, y: [x, y], [1, 2], None) == [[None, 1], 2]
    assert tree.reduce(lambda x, y: x, [], 5) == 5


@given(st.lists(st.text("abc", max_size=2), min_size=1, max_size=20))
def test_reduce_associative_combines_in_order(words: list[str]) -> None:
    assert tree.reduce_associative(lambda x, y: x + y, words) == "".join(words)
    assert tree.reduce_associative(lambda x, y: x + y, [], identity="") == ""


@given(st.integers(1, 3), st.integers(1, 3))
def test_transpose_twice_is_the_same_tree(m: int, n: int) -> None:
    outer, inner = tree.structure([0] * m), tree.structure(Pair(0, {str(i): 0 for i in range(n)}))
    t = [Pair(i, {str(j): (i, j) for j in range(n)}) for i in range(m)]
    tags = tree.map(str, t, is_leaf=lambda x: isinstance(x, tuple) and not isinstance(x, Pair))
    turned = tree.transpose(outer, inner, tags)
    assert turned == tree.transpose(outer, None, tags)
    assert tree.transpose(inner, outer, turned) == tags


def test_transpose_refuses_trees_of_another_structure() -> None:
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0})
    with pytest.raises(TypeError, match=r"outer_treedef must be a prefix .* cannot match a tuple of length 2"):
        tree.transpose(outer, inner, ({"a": 1}, {"a": 2}))
    with pytest.raises(TypeError, match=r"inner tree: .*missing 'b'; unexpected 'a'"):
        tree.transpose(outer, inner, [{"a": 1}, {"b": 2}])
    with pytest.raises(ValueError, match="inner_treedef must be given"):
        tree.transpose(tree.structure([]), None, [])
    with pytest.raises(TypeError, match="outer_treedef must be a PyTreeDef, got"):
        tree.transpose([0, 0], inner, [{"a": 1}, {"a": 2}])


def test_static_keeps_other_metadata() -> None:
    field = tree.static(default=1, metadata={"doc": "width"})
    assert dict(field.metadata) == {"doc": "width", "static": True}


@pytest.mark.parametrize(
    "first, second, message",
    [
        (
            {"a": 1, "c": 1},
            {"b": 1, "c": 1},
            r"tree: a dict with keys 'a', 'c' .*missing 'b'; unexpected 'a'",
        ),
        ([1, {"a": (1,)}], [1, {"a": [1]}], r"tree\[1\]\['a'\]: a tuple of length 1 cannot match a list"),
        ([1, None], [1, 2.0], r"tree\[1\]: None cannot match a leaf of type float \(None is a tree without"),
        ([1], [1, 2], r"tree: a list of length 1 cannot match a list of length 2"),
        (Pair(1, [2]), Pair(1, (2,)), r"tree\.y: a list of length 1 cannot match a tuple of length 1"),
        ([Layer(1, 2)], [Layer(1, 2, "b")], r"tree\[0\]: .*Layer.*\('dense',\).*\('b',\) \(the static data"),
        ([Box([1])], [Box(1)], r"tree\[0\]\[<flat index 0>\]: a list"),
        ({}, {"a": 1}, r"tree: an empty dict cannot match a dict with keys 'a' \(missing 'a'\)"),
    ],
)
def test_map_names_the_path_where_trees_differ(first: Any, second: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"tree\.map: tree 2 must have the structure .*" + message):
        tree.map(lambda x, y: x, first, second)
    with pytest.raises(ValueError, match=r"tree\.map_with_path: tree 3 must .*" + message):
        tree.map_with_path(lambda path, x, y, z: x, first, first, second)
    with pytest.raises(ValueError, match=r"tree\.broadcast: full_tree must .*" + message):
        tree.broadcast(first, second)


def test_map_counts_further_differences() -> None:
    with pytest.raises(ValueError, match=r"tree\[0\]: .*\nand 1 more"):
        tree.map(lambda x, y: x, [[1], [1]], [(1,), (1,)])


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"tree\.map: f must be callable, got \[1\]"):
        tree.map([1], lambda x: x)
    with pytest.raises(TypeError, match=r"tree\.map_with_path: f must be callable"):
        tree.map_with_path([1], lambda x: x)
    with pytest.raises(TypeError, match=r"treedef must be a PyTreeDef, got \[1\]; tree.structure"):
        tree.unflatten([1], [1])
    with pytest.raises(TypeError, match="treedef must be a PyTreeDef"):
        tree_util.build_tree([1], [1])
    for leaves in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=rf"got {len(leaves)} for the 2 of PyTreeDef\(\[\*, \*\]\)"):
            tree.unflatten(tree.structure([0, 0]), leaves)
    with pytest.raises(TypeError, match="initializer must be given"):
        tree.reduce(lambda x, y: x, [])
    with pytest.raises(TypeError, match="identity must be given"):
        tree.reduce_associative(lambda x, y: x, None)
