"""Trees that are too deep are refused by name, and predicates that raise take nothing from the stack."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax, tree

pytestmark = pytest.mark.usefixtures("without_gc")


def endless():
    x = []
    x.append(x)
    return x


def deep():
    x = 1.0
    for _ in range(100_000):
        x = [x]
    return x


def of_one(x):
    return 1.0


CALLS = {
    "tree.flatten": tree.flatten,
    "tree.leaves": tree.leaves,
    "tree.structure": tree.structure,
    "tree.map": lambda x: tree.map(of_one, x),
    "tree.flatten_with_path": tree.flatten_with_path,
    "tree.broadcast": lambda x: tree.broadcast(1, x),
    "is_leaf": lambda x: tree.leaves(x, is_leaf=lambda node: False),
    "is_leaf of a builtin": lambda x: tree.leaves(x, is_leaf=callable),
    "is_leaf of a path": lambda x: tree.leaves_with_path(x, lambda path, node: False, is_leaf_takes_path=True),
    "grad": lambda x: px.grad(of_one)(x),
    "jvp": lambda x: px.jvp(of_one, (x,), (x,)),
    "vjp": lambda x: px.vjp(of_one, x),
    "vmap": lambda x: px.vmap(of_one)(x),
    "in_axes": lambda x: px.vmap(of_one, in_axes=x)(pnp.ones(2)),
    "result of vmap": lambda x: px.vmap(lambda _: x)(pnp.ones(2)),
    "jit": lambda x: px.jit(of_one)(x),
    "jit and a number": lambda x: px.jit(lambda x, y: y)(x, 1.0),
    "jit and a NumPy array": lambda x: px.jit(lambda x, y: y)(x, np.ones(2)),
    "jit and a NumPy scalar": lambda x: px.jit(lambda x, y: y)(x, np.float32(1)),
    "jit and a keyword": lambda x: px.jit(lambda x, y: y)(1.0, y=x),
    "result of jit": lambda x: px.jit(lambda: x)(),
    "lower": lambda x: px.jit(of_one).lower(x),
    "make_jaxpr": lambda x: px.make_jaxpr(of_one)(x),
    "scan": lambda x: lax.scan(lambda carry, x: (carry, x), x, None, 2),
    "device_put": px.device_put,
}


@pytest.mark.parametrize("make", [endless, deep])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_trees_without_end_are_refused_by_name(call, make):
    with pytest.raises(RecursionError, match="tree must not contain itself or be nested deeper"):
        call(make())
    assert px.jit(of_one)(1.0) == 1


@pytest.mark.parametrize("make", [endless, deep])
def test_a_tree_without_end_beside_a_static_argument_is_refused_by_name(make):
    nested = {"a": make()}
    for static in (frozenset([0]), 2.0, (1,)):
        with pytest.raises(RecursionError, match="tree must not contain itself or be nested deeper"):
            px.jit(lambda x, _: x, static_argnums=1)(nested, static)
    assert px.jit(lambda x, _: x, static_argnums=1)(1.0, 2.0) == 1


@pytest.mark.parametrize("make", [endless, deep])
@pytest.mark.parametrize("other", [1.0, 2, np.ones(2), np.float32(1), pnp.ones(2)], ids=repr)
def test_functions_of_arrays_refuse_lists_without_end_like_other_lists(make, other):
    with pytest.raises(TypeError, match=r"a value of type list is not a valid primax type.*an argument of add"):
        lax.add(make(), other)
    with pytest.raises(TypeError, match=r"a value of type list is not a valid primax type.*an argument of mul"):
        lax.mul(other, make())


@pytest.mark.parametrize("make", [endless, deep])
def test_lists_without_end_become_no_arrays(make):
    with pytest.raises(ValueError, match="array: a must be nested at most 64 deep"):
        pnp.array(make())
    with pytest.raises(TypeError, match="sin: its argument must be an array or a number, got list"):
        pnp.sin(make())


def frames_left():
    def deeper(count):
        try:
            return deeper(count + 1)
        except RecursionError:
            return count

    return deeper(0)


def raising(node):
    if node == 1:
        raise KeyError("no")
    return False


@pytest.mark.parametrize("tree_and_leaf", [(endless(), lambda node: False), ([[[1]]], raising), ([[1]], lambda x: 0)])
def test_a_predicate_that_fails_takes_nothing_from_the_stack(tree_and_leaf):
    broken, is_leaf = tree_and_leaf
    frames_left()
    before = frames_left()
    for _ in range(5):
        with pytest.raises((RecursionError, KeyError, ValueError)):
            tree.flatten(broken, is_leaf)
    assert frames_left() == before <= sys.getrecursionlimit()


def test_errors_of_a_predicate_are_raised_as_they_are():
    error = KeyError("mine")

    def is_leaf(node):
        raise error

    with pytest.raises(KeyError) as raised:
        tree.leaves([1, 2], is_leaf=is_leaf)
    assert raised.value is error


@pytest.mark.parametrize("answer", [1, 0, "yes", np.True_, []])
def test_a_predicate_answers_with_a_bool(answer):
    with pytest.raises(ValueError, match="is_leaf predicate returned a non-boolean value"):
        tree.leaves([1], is_leaf=lambda node: answer)
    assert tree.leaves([1, [2]], is_leaf=lambda node: None) == [1, 2]


def at_depth(count, call):
    return at_depth(count - 1, call) if count else call()


def test_a_shallow_tree_needs_little_room_on_the_stack():
    leaves = [1.0] * 100
    found = at_depth(frames_left() - 16, lambda: tree.leaves(leaves, is_leaf=lambda node: False))
    assert found == leaves


def test_a_long_tree_is_not_taken_for_a_deep_one():
    leaves = [[float(i)] for i in range(5000)]
    assert tree.leaves(leaves, is_leaf=lambda node: None) == [x for [x] in leaves]


UNLIKE = {1: 1.0, "a": 2.0}


@pytest.mark.parametrize(
    "call, place",
    [
        (lambda: px.tree.leaves(UNLIKE), "$"),
        (lambda: px.tree.map(lambda x: x, [0, {"b": UNLIKE}], is_leaf=lambda x: False), r" at \[1\]\['b'\]$"),
        (lambda: px.tree.leaves_with_path((UNLIKE,)), r" at \[0\]$"),
        (lambda: px.tree.map(lambda x, y: x, {"a": 1, "b": 2}, UNLIKE), "$"),
        (lambda: px.jit(lambda x, *args: x)(0.0, [UNLIKE]), r" at argument\[1\]\[0\]$"),
        (lambda: px.jit(lambda n, x: x, static_argnums=0)(0, UNLIKE), r" at argument\[1\]$"),
        (lambda: px.grad(lambda x, y: x, argnums=1)(0.0, UNLIKE), r" at argument\[1\]$"),
        (lambda: px.vmap(lambda x, *, k: x)(np.ones(2), k=UNLIKE), r" at argument\['k'\]$"),
        (lambda: px.jvp(lambda x: x, (UNLIKE,), (0.0,)), r" at argument\[0\]$"),
        (lambda: px.make_jaxpr(lambda x: x)(UNLIKE), r" at argument\[0\]$"),
    ],
)
def test_keys_that_cannot_be_compared_are_named_with_their_place(call, place):
    text = r"sorting pytree dictionary keys: keys of a dict must be comparable, got 1 and 'a'"
    with pytest.raises(ValueError, match=text + place):
        call()


def test_an_error_of_a_user_is_not_changed_by_flattening():
    def jumbled(x):
        raise ValueError("Comparator raised exception while sorting pytree dictionary keys.")

    for call in (px.jit(jumbled), lambda x: px.tree.leaves([x], is_leaf=jumbled)):
        with pytest.raises(ValueError, match=r"keys\.$"):
            call(1.0)
