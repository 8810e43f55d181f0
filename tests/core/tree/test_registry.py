"""Classes that are nodes of trees: what is registered, in which registries, and what is refused."""

from __future__ import annotations

import collections
import dataclasses
import functools
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primax as px
from primax import tree, tree_util
from primax.core import tree as core_tree

pytestmark = pytest.mark.usefixtures("in_32_bits")


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = tree.static(default="dense")


@tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Mode:
    name: str


def test_the_registries_pickle_by_name() -> None:
    for one in (core_tree.registry, core_tree.dispatch_registry):
        assert pickle.loads(pickle.dumps(one)) is one


def test_static_fields_are_structure() -> None:
    layer = Layer(1, 2, name="a")
    assert tree.leaves(layer) == [1, 2]
    assert tree.structure(layer) != tree.structure(Layer(1, 2, name="b"))
    assert tree.structure(layer) == tree.structure(Layer(3, 4, name="a"))
    assert [str(path[0]) for path, _ in tree.leaves_with_path(layer)] == [".weight", ".bias"]


def test_register_dataclass_takes_explicit_fields() -> None:
    @functools.partial(tree_util.register_dataclass, data_fields=["b"], meta_fields=("a",))
    @dataclasses.dataclass
    class Made:
        a: int
        b: int

    @dataclasses.dataclass
    class Cached:
        a: int
        size: int = dataclasses.field(init=False, default=0)

    tree_util.register_dataclass(Cached, drop_fields=["size"])
    assert tree.leaves(Made(1, 2)) == [2]
    assert tree.map(lambda x: x + 1, Cached(1)) == Cached(2)


def test_register_dataclass_takes_a_plain_class_with_fields() -> None:
    class Plain:
        def __init__(self, a: int, b: int) -> None:
            self.a, self.b = a, b

    with pytest.raises(TypeError, match="must be given, since it is not a dataclass"):
        tree_util.register_dataclass(Plain)
    assert tree_util.register_dataclass(Plain, ["a"], ["b"]) is Plain
    assert tree.map(lambda x: x + 1, Plain(1, 2)).a == 2


@pytest.mark.parametrize(
    "fields, error, message",
    [
        ({"data_fields": ["a"]}, TypeError, "must be given both or neither"),
        ({"data_fields": "ab", "meta_fields": []}, TypeError, "must be a sequence of names, got the string"),
        ({"data_fields": ["a"], "meta_fields": []}, ValueError, r"missing \['b'\], unexpected \[\]"),
        ({"data_fields": ["a", "q"], "meta_fields": ["b"]}, ValueError, r"missing \[\], unexpected \['q'\]"),
        ({"data_fields": ["a", "b"], "meta_fields": ["b"]}, ValueError, r"got \['b'\] more than once"),
    ],
)
def test_register_dataclass_refuses_wrong_fields(fields: dict[str, Any], error: type[Exception], message: str) -> None:
    @dataclasses.dataclass
    class Made:
        a: int
        b: int

    with pytest.raises(error, match=message):
        tree_util.register_dataclass(Made, **fields)
    assert tree.leaves(Made(1, 2)) == [Made(1, 2)]
    tree_util.register_dataclass(Made)


def test_keys_can_be_registered() -> None:
    @tree_util.register_pytree_with_keys_class
    class Named:
        def __init__(self, value: Any) -> None:
            self.value = value

        def tree_flatten_with_keys(self) -> Any:
            return ((tree_util.GetAttrKey("value"), self.value),), None

        @classmethod
        def tree_unflatten(cls, aux: None, children: Any) -> Named:
            return cls(*children)

    assert tree_util.keystr(tree.leaves_with_path([Named([1])])[0][0]) == "[0].value[0]"
    assert tree.map(lambda x: x + 1, Named([1])).value == [2]
    with pytest.raises(ValueError, match=r"tree\.value: a list of length 1 cannot match a leaf of type int"):
        tree.map(lambda x, y: x, Named([1]), Named(1))


def test_a_namedtuple_can_be_given_another_meaning_once() -> None:
    class Special(NamedTuple):
        x: int
        y: int

    def register() -> None:
        tree_util.register_pytree_node(Special, lambda s: ((s.x,), s.y), lambda y, xs: Special(*xs, y))

    register()
    assert tree.leaves(Special(1, 2)) == core_tree.dispatch_registry.flatten(Special(1, 2))[0] == [1]
    with pytest.raises(ValueError, match="is one already"):
        register()


@pytest.mark.parametrize(
    "register",
    [
        lambda cls: tree_util.register_pytree_node(cls, lambda x: ((), None), lambda aux, xs: None),
        lambda cls: tree_util.register_pytree_with_keys(cls, lambda x: ((), None), lambda aux, xs: None),
        lambda cls: tree_util.register_dataclass(cls, [], []),
        tree_util.register_static,
    ],
)
def test_registration_refuses_what_is_no_class_or_a_node_already(register: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="must be a class, got 3"):
        register(3)
    for cls in (list, dict, tuple, type(None), collections.OrderedDict, Mode, tree_util.Partial):
        with pytest.raises(ValueError, match=f"{cls.__name__}.*is one already"):
            register(cls)


def test_a_refused_registration_leaves_both_registries_alone() -> None:
    class Made:
        pass

    for wrong in ({"flatten_func": 3}, {"unflatten_func": None}, {"flatten_with_keys_func": 3}):
        good: dict[str, Any] = {
            "flatten_func": lambda x: ((), None),
            "unflatten_func": lambda aux, xs: Made(),
        }
        with pytest.raises(TypeError, match="must be callable, got"):
            tree_util.register_pytree_node(Made, **{**good, **wrong})
        assert not core_tree.registry.is_node(Made)
        assert not core_tree.dispatch_registry.is_node(Made)


def test_a_node_of_the_dispatch_registry_alone_cannot_be_registered() -> None:
    class Hidden:
        pass

    core_tree.dispatch_registry.register_dataclass_node(Hidden, [], [])
    with pytest.raises(ValueError, match="is one already"):
        tree_util.register_dataclass(Hidden, [], [])
    assert not core_tree.registry.is_node(Hidden)


def test_classes_without_the_methods_are_refused() -> None:
    class Bare:
        pass

    with pytest.raises(TypeError, match="must define tree_flatten and tree_unflatten"):
        tree_util.register_pytree_node_class(Bare)
    with pytest.raises(TypeError, match="must define tree_flatten_with_keys and tree_unflatten"):
        tree_util.register_pytree_with_keys_class(Bare)


def test_static_data_needs_no_hash() -> None:
    @tree_util.register_static
    class Options(dict[str, int]):
        pass

    traced = []

    @px.jit
    def plus(x: Any, options: Options) -> Any:
        traced.append(options)
        return x + options["a"]

    assert [int(plus(x, Options(a=a))) for x, a in ((1, 2), (5, 2), (1, 3))] == [3, 7, 4]
    assert len(traced) == 2


@pytest.mark.parametrize(
    "kind", [float, np.float32, np.ndarray, px.numpy.bfloat16.dtype.type, px.Array, px.ShapeDtypeStruct]
)
@pytest.mark.parametrize(
    "register",
    [
        lambda kind: tree_util.register_static(kind),
        lambda kind: tree_util.register_pytree_node(kind, lambda x: ((), x), lambda aux, _: aux),
        lambda kind: tree_util.register_pytree_with_keys(kind, lambda x: ((), x), lambda aux, _: aux),
    ],
)
def test_classes_of_values_are_no_nodes(kind: Any, register: Any) -> None:
    with pytest.raises(ValueError, match=r"^register_\w+: \w+ must be a class of containers, got <class"):
        register(kind)
