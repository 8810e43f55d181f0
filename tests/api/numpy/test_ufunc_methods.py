"""The methods of ufuncs do what they do in jax, with less of their own errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpycheck import compare, refuses

import primax as px
import primax.numpy as pnp

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

X = np.arange(6, dtype=np.float32).reshape(2, 3)
NUMBERS = "add multiply maximum minimum subtract logaddexp logaddexp2".split()
BITS = "bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor".split()


def combined(m: Any) -> Any:
    """A ufunc that is neither commutative nor associative."""
    return m.frompyfunc(lambda x, y: x + 2 * y, 2, 1, identity=0)


def test_reductions_of_ufuncs_agree_with_jax() -> None:
    calls: dict[str, Any] = {}
    for name in NUMBERS:
        calls |= {
            name: lambda m, x, name=name: getattr(m, name).reduce(x),
            f"{name} of all": lambda m, x, name=name: getattr(m, name).reduce(x, axis=None),
            f"{name}, keepdims": lambda m, x, name=name: getattr(m, name).reduce(x, 1, keepdims=True),
            f"{name}, initial": lambda m, x, name=name: getattr(m, name).reduce(x, 1, initial=10.0),
            f"{name}, where": lambda m, x, name=name: getattr(m, name).reduce(x, 1, initial=10.0, where=x > 1),
            f"{name}, where alone": lambda m, x, name=name: getattr(m, name).reduce(x, 1, where=x > 1),
            f"{name} of nothing": lambda m, x, name=name: getattr(m, name).reduce(x[:0]),
        }
    for name in BITS:
        calls[name] = lambda m, x, name=name: getattr(m, name).reduce(x.astype("int32"), 1)
    calls |= {
        "from Python": lambda m, x: combined(m).reduce(x, 1),
        "from Python of nothing": lambda m, x: combined(m).reduce(x[:0]),
        "a dtype": lambda m, x: m.multiply.reduce(x, 1, dtype="float16"),
        "small integers": lambda m, x: m.add.reduce(x.astype("int8")),
        "of two axes": lambda m, x: m.subtract.reduce(x, axis=(0, 1)),
        "of one argument": lambda m, x: m.negative.reduce(x),
    }
    compare(calls, X)


def test_accumulations_and_products_of_ufuncs_agree_with_jax() -> None:
    calls: dict[str, Any] = {}
    for name in NUMBERS:
        calls |= {
            name: lambda m, x, name=name: getattr(m, name).accumulate(x, axis=1),
            f"{name} outer": lambda m, x, name=name: getattr(m, name).outer(x, x[0]),
            f"{name} at": lambda m, x, name=name: getattr(m, name).at(x, np.array([1, 1]), 2.0, inplace=False),
            f"{name} reduceat": lambda m, x, name=name: getattr(m, name).reduceat(x, np.array([0, 2, 1]), 1),
        }
    for name in BITS:
        calls[name] = lambda m, x, name=name: getattr(m, name).accumulate(x.astype("int32"), axis=1)
    calls |= {
        "from Python": lambda m, x: combined(m).accumulate(x),
        "from Python, outer": lambda m, x: combined(m).outer(x, x),
        "from Python, at": lambda m, x: combined(m).at(x, (np.array([0, 0]), 1), 5.0, inplace=False),
        "negative at": lambda m, x: m.negative.at(x, 1, inplace=False),
        "of two results": lambda m, x: m.frompyfunc(lambda x: (x, -x), 1, 2)(x),
    }
    compare(calls, X)


def test_ufuncs_say_what_they_are() -> None:
    assert isinstance(pnp.add, pnp.ufunc)
    assert repr(pnp.add) == "<primax.numpy.ufunc 'add'>"
    assert (pnp.add.nin, pnp.add.nout, pnp.add.nargs, pnp.add.identity) == (2, 1, 2, 0)
    assert pnp.maximum.identity is None
    assert pnp.add.__doc__.startswith("x + y")


def test_derivatives_pass_through_methods_of_ufuncs() -> None:
    gradient = px.grad(lambda x: pnp.subtract.reduce(x**2))(pnp.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(gradient, [2.0, -4.0, -6.0])


def test_several_axes_are_reduced_as_in_numpy() -> None:
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for axis in ((), (0,), (2, 0), (1, -1), (0, 1, 2)):
        for keepdims in (False, True):
            for name in ("bitwise_xor", "logical_xor"):
                out = getattr(pnp, name).reduce(x, axis, keepdims=keepdims)
                np.testing.assert_array_equal(out, getattr(np, name).reduce(x, axis, keepdims=keepdims))
    where = x % 3 == 0
    out = pnp.bitwise_xor.reduce(x, (0, 2), where=where)
    np.testing.assert_array_equal(out, np.bitwise_xor.reduce(x, (0, 2), where=where))
    assert pnp.bitwise_or.reduce(np.zeros((2, 0), np.int32), (0, 1)) == 0
    refuses(ValueError, "subtract.reduce: axis must be one axis", pnp.subtract.reduce, X, (0, 1))
    refuses(TypeError, "bitwise_or.accumulate: axis must be an integer", pnp.bitwise_or.accumulate, x, (0, 1))


def test_what_ufuncs_cannot_do_is_said() -> None:
    refuses(NotImplementedError, "add.at: inplace must be False", pnp.add.at, X, 0, 1.0)
    refuses(NotImplementedError, "add.reduce: out must be None", pnp.add.reduce, X, out=X)
    refuses(ValueError, "subtract.reduceat: indices must be in [0, 2), got 2", pnp.subtract.reduceat, X, [2])
    refuses(ValueError, "subtract.reduceat: indices must be of rank 1, got shape ()", pnp.subtract.reduceat, X, 1)
    refuses(ValueError, "negative.outer: the function must have two arguments", pnp.negative.outer, X, X)


@pytest.mark.parametrize(
    "of", [lambda x: pnp.cumsum(x), lambda x: pnp.logaddexp.reduce(x), lambda x: pnp.subtract.accumulate(x)]
)
def test_scans_and_reductions_of_weak_numbers_are_strong(of) -> None:
    assert pnp.full(3, 1.0).weak_type
    assert not of(pnp.full(3, 1.0)).weak_type


def test_functions_given_to_a_ufunc_do_what_its_methods_do() -> None:
    def told(*args: Any, **options: Any) -> Any:
        return px.tree.map(np.shape, args), options

    def made(m: Any) -> Any:
        return m.ufunc(m.add, 2, 1, nargs=3, call=m.multiply, at=lambda a, i, b: a.at[i].set(2 * b))

    compare({"at": lambda m, x: made(m).at(x, (0, 1), 7.0, inplace=False), "call": lambda m, x: made(m)(x, 3.0)}, X)
    assert made(pnp).nargs == 3
    assert made(pnp).__name__ == "add"
    both = pnp.ufunc(pnp.add, 2, 1, reduceat=told, at=told)
    assert both.reduceat(X, [0, 1], 1) == (((2, 3), [(), ()]), {"axis": 1, "dtype": None})
    assert both.at(X, [0], inplace=False) == (((2, 3), [()]), {})
    assert pnp.ufunc(pnp.add, 2, 1).nargs == 2


@pytest.mark.parametrize(
    "options, error, said",
    [
        ({"nin": -1}, ValueError, "ufunc: nin must not be negative, got -1"),
        ({"nout": 1.0}, TypeError, "ufunc: nout must be an integer, got 1.0"),
        ({"name": 3}, TypeError, "ufunc: name must be a str or None, got 3"),
        ({"nargs": -1}, ValueError, "ufunc: nargs must not be negative, got -1"),
        ({"at": 3}, TypeError, "ufunc: at must be callable, got 3"),
        ({"reduceat": 3}, TypeError, "ufunc: reduceat must be callable, got 3"),
        ({"call": 3}, TypeError, "ufunc: call must be callable, got 3"),
        ({"reduce": 3}, TypeError, "ufunc: reduce must be callable, got 3"),
        ({"accumulate": 3}, TypeError, "ufunc: accumulate must be callable, got 3"),
    ],
)
def test_what_a_ufunc_is_made_of_is_checked(options, error, said) -> None:
    with pytest.raises(error, match=f"^{said}"):
        pnp.ufunc(pnp.exp, **{"nin": 1, "nout": 1, **options})


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e4m3b11fnuz", "bfloat16"])
def test_sums_of_exponentials_begin_in_dtypes_without_infinities_too(dtype) -> None:
    x = pnp.asarray([-0.5, 3, -3, 2.5]).astype(dtype)
    for of, want in ((pnp.logaddexp, 3.5), (pnp.logaddexp2, 3.86)):
        out = of.reduce(x, keepdims=True)
        assert out.dtype == x.dtype
        assert out.shape == (1,)
        assert abs(float(out[0]) - want) < 0.3
        assert abs(float(of.reduce(x, where=x > 2.75)) - 3) < 0.1


@pytest.mark.parametrize(
    "name",
    "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor "
    "logaddexp logaddexp2 negative".split(),
)
def test_options_of_numpy_may_be_given_as_none_alone(name):
    f = getattr(pnp, name)
    args = [np.int32([1, 2])] * f.nin
    np.testing.assert_array_equal(f(*args, out=None, where=None), f(*args))
    with pytest.raises(NotImplementedError, match=rf"{name}: where must be None, got False"):
        f(*args, where=False)
    with pytest.raises(NotImplementedError, match=rf"{name}: out must be None"):
        f(*args, out=np.zeros(2))


def test_reduceat_keeps_an_element_that_is_alone_as_it_is() -> None:
    x = np.array([complex(-3, 1), complex(-1e-30, np.inf), complex(0.5, 2)], np.complex64)
    np.testing.assert_array_equal(pnp.logaddexp.reduceat(x, [0, 1, 2]), x)
    assert pnp.add.reduceat(np.array([True, True]), [0, 1]).dtype == np.int32
    assert pnp.logical_and.reduceat(np.array([2.0, 0.0]), [0, 1]).tolist() == [True, False]


def test_methods_without_a_function_of_their_own_trace_once() -> None:
    calls = []

    def func(x: Any, y: Any) -> Any:
        calls.append(None)
        return x + 2 * y

    made = pnp.frompyfunc(func, 2, 1, identity=0)
    x = pnp.arange(6.0).reshape(2, 3)
    for _ in range(2):
        first = len(calls)
        outs = made.reduce(x, 1), made.accumulate(x, 1), made.reduceat(x, np.array([0, 1]), axis=1)
        changed = made.at(x, np.array([1]), x[:1], inplace=False)
    assert len(calls) == first  # the second round finds all programs
    np.testing.assert_array_equal(outs[0], [6, 24])
    np.testing.assert_array_equal(outs[1], [[0, 2, 6], [3, 11, 21]])
    assert changed.shape == x.shape


def test_methods_take_empty_arrays_and_indices() -> None:
    summed, empty = pnp.frompyfunc(lambda x, y: x + y, 2, 1), np.zeros((2, 0), np.float32)
    assert summed.accumulate(empty, axis=1).shape == (2, 0)
    for ours, theirs in ((pnp.bitwise_or, np.bitwise_or), (pnp.subtract, np.subtract)):
        x = np.arange(6, dtype=np.int32).reshape(2, 3)
        np.testing.assert_array_equal(ours.reduceat(x, np.array([], int), axis=1), theirs.reduceat(x, [], axis=1))


def test_attributes_are_read_only_and_outer_needs_no_promotion_of_ranks() -> None:
    for name in ("nin", "nout", "nargs", "identity"):
        with pytest.raises(AttributeError):
            setattr(pnp.add, name, None)
    with px.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(pnp.add.outer(pnp.ones(2), pnp.ones(3)), np.full((2, 3), 2.0))
