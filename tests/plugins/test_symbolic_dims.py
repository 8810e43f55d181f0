"""The arithmetic, the bounds and the texts of symbolic dimensions, against integers."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primax as px
from primax.errors import InconclusiveDimensionOperation
from primax.export import SymbolicScope, is_symbolic_dim, symbolic_dim_bounds, symbolic_shape
from primax.extend.dimensions import max_dim, min_dim
from primax.extend.provisional.dimensions import sliced
from primax.plugins.symbolic_shapes.dims import Atom, SymbolicDim, bounds

SIZES = ("a", "b", "c")


def value_of(dim: Any, values: dict[str, int]) -> Any:
    """The value of a dimension for values of the named sizes."""
    return dim.replaced({Atom("size", (name,)): v for name, v in values.items()}) if is_symbolic_dim(dim) else dim


def modulo(a: Any, b: Any) -> Any:
    return a % b


OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": modulo,
    "max": max_dim,
    "min": min_dim,
}


def expressions() -> st.SearchStrategy[Any]:
    """Trees of operations on named sizes and integers."""
    leaves = st.sampled_from(SIZES) | st.integers(-4, 8)
    return st.recursive(
        leaves, lambda inner: st.tuples(st.sampled_from(sorted(OPERATIONS)), inner, inner), max_leaves=6
    )


def evaluated(tree: Any, leaf: Any) -> Any:
    """A tree of operations, with a function of its leaves."""
    if isinstance(tree, tuple):
        name, left, right = tree
        a, b = evaluated(left, leaf), evaluated(right, leaf)
        if name in ("//", "%"):
            b = abs(b) + 1 if isinstance(b, int) else b * b + 1
        return OPERATIONS[name](a, b)
    return leaf(tree)


NUMBERS = st.fixed_dictionaries(dict.fromkeys(SIZES, st.integers(1, 9)))


@settings(max_examples=200, deadline=None)
@given(expressions(), NUMBERS)
def test_a_dimension_has_the_value_of_its_expression(tree, values):
    dims = dict(zip(SIZES, symbolic_shape(", ".join(SIZES)), strict=True))

    def number(leaf):
        return values.get(leaf, leaf)

    dim = evaluated(tree, lambda leaf: dims.get(leaf, leaf))

    def plain(node):
        if isinstance(node, tuple):
            name, left, right = node
            a, b = plain(left), plain(right)
            if name in ("//", "%"):
                symbolic = is_symbolic_dim(evaluated(right, lambda leaf: dims.get(leaf, leaf)))
                b = b * b + 1 if symbolic else abs(b) + 1
            return OPERATIONS[name](a, b)
        return number(node)

    wanted = plain(tree)
    assert value_of(dim, values) == wanted
    least, most = bounds(dim)
    assert least <= wanted <= most
    if is_symbolic_dim(dim):
        (again,) = symbolic_shape(str(dim), scope=dim.scope)
        assert again == dim, str(dim)
        assert hash(again) == hash(dim)
    for other in (0, 1, 5):
        for compare in (operator.ge, operator.gt, operator.le, operator.lt):
            try:
                told = compare(dim, other)
            except InconclusiveDimensionOperation:
                continue
            assert told == compare(wanted, other)
        if dim == other:
            assert wanted == other


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 9),
    st.none() | st.integers(-12, 12),
    st.none() | st.integers(-12, 12),
    st.sampled_from([1, 2, 3, -1, -2]),
)
def test_a_slice_has_the_elements_that_it_has_in_python(size, start, stop, step):
    (b,) = symbolic_shape("b")
    first, count, by = sliced(slice(start, stop, step), b)
    wanted = range(size)[start:stop:step]
    assert value_of(count, {"b": size}) == len(wanted)
    assert by == step
    if len(wanted):
        assert value_of(first, {"b": size}) == wanted[0]


def test_polynomials_are_in_a_normal_form():
    b, c = symbolic_shape("b, c")
    assert (b + c) * (b - c) == b * b - c * c
    assert str((b + 1) ** 2) == "b^2 + 2*b + 1"
    assert (b * b - c * c) // (b + c) == b - c
    assert (4 * b + 6) // 2 == 2 * b + 3
    assert (b * c + 3 * c) // c == b + 3
    assert (6 * b) % 3 == 0
    assert (6 * b + 4) % 3 == 1
    assert b - b == 0
    assert type(b - b) is int
    assert 2 * b - b is not None
    assert divmod(4 * b, 2) == (2 * b, 0)
    assert {b + c: 1}[c + b] == 1
    assert str(b - 2 * c + 1) == "b - 2*c + 1"
    assert str(-b // 2) == "floordiv(-b, 2)"


def test_comparisons_that_bounds_decide():
    b, c = symbolic_shape("b, c", constraints=["b >= 3", "c <= b", "mod(b, 4) == 0"])
    assert b > 2
    assert b + c >= 4
    assert not b < c
    assert b % 4 == 0
    assert (b - 1) // 2 >= 1
    assert c % b <= b - 1
    assert max_dim(b, 3) is b
    assert min_dim(b, c) is c
    assert b != 2
    assert bool(b)
    with pytest.raises(InconclusiveDimensionOperation, match=r"'c' > '2' is inconclusive.*constraints=\['c >= 3'\]"):
        _ = c > 2
    with pytest.raises(InconclusiveDimensionOperation, match="used in a context that requires a constant"):
        range(b)
    assert b != 4  # it is not known to be 4


def test_bounds_that_can_be_told():
    b, n = symbolic_shape("b, n", constraints=["n <= 8"])
    assert symbolic_dim_bounds(b + n) == (2, math.inf)
    assert symbolic_dim_bounds(n * n - n) == (-7, 63)
    assert symbolic_dim_bounds(b % 4) == (0, 3)
    assert symbolic_dim_bounds(np.int64(3)) == (3, 3)
    with pytest.raises(TypeError, match="symbolic_dim_bounds: dimension must be an integer or a symbolic dimension"):
        symbolic_dim_bounds(1.5)


def test_copies_and_pickles_are_equal():
    b, c = symbolic_shape("b, c", constraints=["b >= 2"])
    assert copy.copy(b) is b
    assert copy.deepcopy(b + c) == b + c
    first, second = pickle.loads(pickle.dumps((b, b * c + 1)))
    assert (str(first), str(second)) == ("b", "b*c + 1")
    assert first * 2 - first == first
    assert second > 2
    assert hash(first) == hash(symbolic_shape("b", scope=first.scope)[0])


def test_texts_of_shapes():
    assert str(symbolic_shape("(b, 2*c + 1, floordiv(b, 2), max(b, c), b^2,)")) == (
        "(b, 2*c + 1, floordiv(b, 2), max(b, c), b^2)"
    )
    assert symbolic_shape("b, ...", like=(2, 3, 4))[1:] == (3, 4)
    assert symbolic_shape("_, b, _", like=(2, 3, 4))[::2] == (2, 4)
    assert symbolic_shape(None, like=(2, 3)) == (2, 3)
    assert symbolic_shape("") == symbolic_shape("()") == ()
    assert symbolic_shape("3, 4") == (3, 4)
    scope = SymbolicScope(["b >= 2"])
    (b,) = symbolic_shape("b", scope=scope)
    (also,) = symbolic_shape("b + 1", scope=scope)
    assert also == b + 1
    assert str(scope) == "SymbolicScope(['b >= 2'])"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("b,, c", {}, "must consist of integers, names"),
        ("2b", {}, "got '2b'"),
        ("b / 2", {}, "got 'b / 2'"),
        ("b.c", {}, "got 'b.c'"),
        ("f(b)", {}, r"got 'f\(b\)'"),
        ("floordiv(b, 0)", {}, "got 'floordiv"),
        ("b" * 2000, {}, "must consist of"),
        ("(" * 900 + "b" + ")" * 90, {}, "must consist of"),
        ("*".join(["(a+b+c+d+e+f+g)"] * 12), {}, "must consist of"),
        ("...", {}, "like must be given"),
        ("_", {}, "like must have a size for '_'"),
        ("..., b", {"like": (1, 2)}, "must consist of"),
        ("b", {"like": (2, 3)}, "as many sizes as like, got 1"),
        ("3, b", {"like": (4, 5)}, "size 0 in '3, b' must be 4"),
        ("b, _", {"like": (None, None)}, "like must have a size where"),
        ("b", {"constraints": ["b"]}, "must be a text with >=, <= or =="),
        ("b", {"constraints": ["b > 1"]}, "must be a text with >=, <= or =="),
        ("b", {"constraints": ["2 >= 3"]}, "can never hold"),
        ("b", {"constraints": ["b == 3", "b == 4"]}, "can never hold"),
        ("b", {"constraints": ["b == 2*b - 3"]}, "no size in common"),
        ("b", {"constraints": ["2*b == 6"]}, "left side of =="),
        ("b", {"constraints": "b >= 2"}, "constraints_str must be a sequence of texts"),
        ("b", {"constraints": ["b >= 2"], "scope": SymbolicScope()}, "give one of constraints and scope"),
    ],
)
def test_wrong_texts(text, options, message):
    with pytest.raises(ValueError, match=message):
        symbolic_shape(text, **options)


def test_wrong_types():
    with pytest.raises(TypeError, match="shape_spec must be a text or None, got 3"):
        symbolic_shape(3)
    with pytest.raises(TypeError, match="scope must be a SymbolicScope or None"):
        symbolic_shape("b", scope=3)
    with pytest.raises(TypeError, match="SymbolicScope: constraints_str must be a sequence, got 3"):
        SymbolicScope(3)
    with pytest.raises(TypeError, match=r"max_dim: a and b must be integers or symbolic dimensions, got 1\.5 and 2"):
        max_dim(1.5, 2)
    assert (max_dim(np.int64(3), 2), min_dim(True, 2)) == (3, 1)


def test_dimensions_of_two_scopes():
    (b,), (c,) = symbolic_shape("b"), symbolic_shape("c")
    with pytest.raises(ValueError, match="'b' and 'c' come from two calls of symbolic_shape"):
        _ = b + c
    (other,) = symbolic_shape("b", constraints=["b >= 2"])
    assert b != other
    types = [px.extend.core.ShapedArray((size, 3), np.dtype("float32")) for size in (b, other)]
    assert [aval.shape[0].scope for aval in types] == [b.scope, other.scope]


def test_polynomials_do_not_grow_without_end():
    dims = symbolic_shape(", ".join("abcdefgh"))
    with pytest.raises(OverflowError, match="at most 200 terms"):
        _ = sum(dims) ** 12


def test_types_with_symbolic_dimensions():
    b, c = symbolic_shape("b, c")
    struct = px.ShapeDtypeStruct((b, 3), "float32")
    assert struct.shape == (b, 3)
    assert struct == px.ShapeDtypeStruct((b + 0, 3), "float32")
    assert hash(struct) == hash(px.ShapeDtypeStruct((b + 0, 3), "float32"))
    assert px.extend.core.ShapedArray((b * c, 2), np.dtype("int32")).str_short() == "i32[b*c,2]"
    assert px.extend.core.ShapedArray((b, 2), np.dtype("int32")).size == 2 * b
    assert isinstance(b, SymbolicDim)


def test_sizes_of_two_scopes_with_one_name_have_different_texts_once_they_are_compared():
    (one,), (other,) = symbolic_shape("2*n + mod(n, 3)"), symbolic_shape("2*n + mod(n, 3)")
    text = "mod(n, 3) + 2*n"
    assert str(one) == str(other) == text
    assert one.scope.mark == other.scope.mark == ""
    one.scope.distinguish(other.scope)
    assert (str(one), str(other)) == (text, "mod(n', 3) + 2*n'")
    assert one.spelling == other.spelling == text
    (x,), (y,) = symbolic_shape("n"), symbolic_shape("n")
    types = [px.ShapeDtypeStruct((size,), np.float32) for size in (x, y)]
    with pytest.raises(TypeError, match="incompatible shapes") as error:
        px.eval_shape(lambda a, b: px.numpy.add(a, b), *types)
    assert "n'" in str(error.value)
