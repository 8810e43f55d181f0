"""What elementwise families share: shapes of operands, and what is repeated to them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import primax as px
from tests.support.rulecheck import assert_close

SHAPES = (
    ((3, 1), (3, 4)),
    ((1, 4), (3, 1)),
    ((3, 4), (1, 1)),
    ((1,), (4,)),
    ((0, 1), (1, 3)),
    ((1,), (0,)),
    ((3, 4), ()),
    ((4,), (3, 4)),
    ((2,), (3,)),
    ((1, 4), ()),
)
KINDS = (np.float32, np.int32)
NOT_ELEMENTWISE = ("add_any", "broadcast_like", "select_n")


def _functions():
    """The functions of two arrays in lax, by name, each with a dtype that it takes."""
    found = {}
    x = np.ones((2, 3), np.float32)
    for name in px.lax.__all__:
        function = getattr(px.lax, name)
        if inspect.isfunction(function) and list(_required(function)) and len(_required(function)) == 2:
            for dtype in KINDS:
                try:
                    out = px.eval_shape(function, x.astype(dtype), x.astype(dtype))
                except (TypeError, ValueError):
                    continue
                if getattr(out, "shape", None) == x.shape and name not in NOT_ELEMENTWISE:
                    found[name] = dtype
                    break
    return found


def _required(function):
    return [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]


BINARY = _functions()


def _traced(library, lax, name, arrays):
    try:
        return str(library.make_jaxpr(getattr(lax, name))(*arrays))
    except TypeError:
        return TypeError


def test_there_are_all_functions_of_two_arrays():
    assert {"add", "atan2", "eq", "igamma", "shift_left", "bitwise_xor", "zeta", "nextafter", "complex"} <= set(BINARY)
    assert len(BINARY) >= 30


@pytest.mark.parametrize("name", sorted(BINARY.keys() - {"random_gamma_grad"}))  # jax writes that one out
def test_axes_of_length_1_are_repeated_by_the_program_that_jax_has(name):
    jax = pytest.importorskip("jax")
    if not hasattr(jax.lax, name):
        pytest.skip(f"this release of jax has no lax.{name}")
    for shapes in SHAPES:
        arrays = [np.ones(shape, BINARY[name]) for shape in shapes]
        assert _traced(px, px.lax, name, arrays) == _traced(jax, jax.lax, name, arrays), shapes
    for arrays in ([np.ones(3, BINARY[name]), 1], [1.0, np.ones((1, 1), BINARY[name])]):
        assert _traced(px, px.lax, name, arrays) == _traced(jax, jax.lax, name, arrays)


@pytest.mark.parametrize("name", BINARY)
def test_repeated_operands_have_the_values_of_operands_in_full(name):
    function = getattr(px.lax, name)
    x = np.array([[1.5], [2.5]]).astype(BINARY[name])
    y = np.array([[1, 4, 2.25]]).astype(BINARY[name])
    full = function(*np.broadcast_arrays(x, y))
    np.testing.assert_allclose(function(x, y), full, rtol=1e-6)  # XLA rounds loops over other shapes otherwise


@pytest.mark.parametrize("name", ["add", "complex", "lt", "shift_left"])
def test_repeated_operands_are_mapped(name):
    function = getattr(px.lax, name)
    x = np.array([[1.5], [2.5]]).astype(BINARY[name])
    y = np.array([[1, 4, 2.25]]).astype(BINARY[name])
    full = function(*np.broadcast_arrays(x, y))
    np.testing.assert_array_equal(px.vmap(function)(x, np.repeat(y, 2, 0)), full)
    np.testing.assert_array_equal(px.vmap(function, (None, 1), 1)(x[:, 0], y), full)
    np.testing.assert_array_equal(px.vmap(function, (0, None))(x[:, 0], y[0]), full)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "rem", "pow", "max", "atan2", "complex"])
def test_derivatives_are_summed_over_repeated_axes(name):
    function = getattr(px.lax, name)
    x, y = np.float32([[0.5], [1.5], [2.5]]), np.float32([[0.7, 1.1, 3.0, 0.9]])

    def loss(x, y):
        return (px.lax.abs(function(x, y)) ** 2 * np.arange(12.0, dtype=np.float32).reshape(3, 4)).sum()

    def in_full(x, y):
        return loss(px.lax.broadcast_in_dim(x, (3, 4), (0, 1)), px.lax.broadcast_in_dim(y, (3, 4), (0, 1)))

    outs, wanted = (px.tree.leaves(px.jit(px.hessian(f, (0, 1)))(x, y)) for f in (loss, in_full))
    for got, want in zip(outs, wanted, strict=True):
        assert_close(got, want, 1e-5)
    for a, b in ((1, 2), (1, 0), (0, 1)):
        tx, ty = np.full_like(x, a), np.full_like(y, b)
        assert_close(px.jvp(loss, (x, y), (tx, ty))[1], px.jvp(in_full, (x, y), (tx, ty))[1], 1e-5)


def test_functions_of_three_arrays_repeat_axes_of_length_1_or_say_what_they_take():
    jax = pytest.importorskip("jax")
    a, b, x = np.float32([[1], [2]]), np.float32([[2, 3, 4]]), np.float32(0.5)
    want = jax.lax.betainc(*np.broadcast_arrays(a, b, x))
    assert_close(px.lax.betainc(a, b, np.full((1, 1), x)), want, 1e-5)
    with pytest.raises(
        TypeError, match=r"clamp: arguments must have the same shape, or rank 0, got shapes \(2, 1\) and \(2, 3\)"
    ):
        px.lax.clamp(a, np.ones((2, 3), np.float32), np.float32(3))


def test_operands_of_extended_dtypes_are_repeated_too():
    keys = px.random.split(px.random.key(0), 3)
    assert px.lax.eq(keys.reshape(3, 1), keys.reshape(1, 3)).tolist() == np.eye(3, dtype=bool).tolist()


def test_operands_of_equal_shapes_lower_to_one_operation():
    x = np.ones((3, 4), np.float32)
    assert "broadcast" not in px.jit(px.lax.mul).lower(x, x).as_text()
