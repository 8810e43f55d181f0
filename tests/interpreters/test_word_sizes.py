"""Programs whose parts are written with and without `enable_x64`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primax as px
from primax import numpy as pnp
from primax.extend import core


def wide_constant(x: Any) -> Any:
    with px.enable_x64(True):
        return pnp.sin(pnp.asarray(np.float64(1.5))) * x


def wide_scalars(x: Any) -> Any:
    with px.enable_x64(True):
        return pnp.asarray(x, "float64") * 2.0 + 1.0


def wide_range(x: Any) -> Any:
    with px.enable_x64(True):
        y = pnp.arange(2) * 2
    return y + x


def wide_result(x: Any) -> Any:
    with px.enable_x64(True):
        return pnp.float64(2.5)


def narrow_scalars(x: Any) -> Any:
    with px.enable_x64(False):
        return pnp.asarray(x, "float32") * 2.0 + 1.0


FUNCTIONS = [wide_constant, wide_scalars, wide_range, wide_result, narrow_scalars]


def summed(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: f(x).sum().astype("float32")


def pulled_back(f: Callable[..., Any], x: Any, wide: bool) -> Any:
    """The gradient, pulled back in the given word size."""
    y, pullback = px.vjp(summed(f), x)
    with px.enable_x64(wide):
        return pullback(np.ones_like(y))[0]


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_transformations_agree_with_eager_code(f, wide):
    x = np.float32(1.25)
    with px.enable_x64(wide):
        expected = f(x)
        gradient = px.grad(summed(f))(x)
        for result in (px.jit(f)(x), px.jvp(f, (x,), (x,))[0], px.vmap(f)(x[None])[0], px.jit(px.vmap(f))(x[None])[0]):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
        for other in (px.jit(px.grad(summed(f)))(x), px.grad(summed(px.jit(f)))(x), px.grad(px.jit(summed(f)))(x)):
            assert other.dtype == gradient.dtype
            np.testing.assert_array_equal(other, gradient)
        for result in (pulled_back(f, x, not wide), pulled_back(px.jit(f), x, not wide)):
            np.testing.assert_array_equal(result, gradient)


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_program_means_the_same_in_either_word_size(f, wide):
    x = pnp.float32(1.25)
    with px.enable_x64(wide):
        closed = px.make_jaxpr(f)(x)
        expected = f(x)
    assert closed.jaxpr.x64 is wide
    with px.enable_x64(not wide):
        for run in (core.jaxpr_as_fun(closed), px.jit(core.jaxpr_as_fun(closed))):
            (result,) = run(x)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
        again = px.make_jaxpr(core.jaxpr_as_fun(closed))(x)
        assert again.out_avals[0].dtype == expected.dtype


def test_programs_derived_from_a_program_have_its_word_size():
    with px.enable_x64(True):
        closed = px.make_jaxpr(lambda x: x * 2.0)(np.float64(1.0))
    jvp, _ = px.extend.interpreters.ad.jvp_jaxpr(closed, [True], True)
    assert jvp.jaxpr.x64
    assert all(aval.dtype == np.float64 for aval in jvp.out_avals)


def test_arguments_of_another_word_size_are_refused_by_name():
    with px.enable_x64(True):
        closed = px.make_jaxpr(lambda x: x * 2.0)(np.ones(2))
    with pytest.raises(TypeError, match=r"mul: arguments must have the same dtype, got f32\[2\] and f64\[\]"):
        core.jaxpr_as_fun(closed)(pnp.ones(2, "float32"))


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[0],
        lambda x: x[1, 2],
        lambda x: x[:1],
        lambda x: x[np.array([1, 0])],
        lambda x: x[x > 1],
        lambda x: next(iter(x)),
        lambda x: pnp.unstack(x)[0],
        lambda x: pnp.take(x, 0),
        lambda x: x.at[0].set(1.5),
        lambda x: pnp.pad(x, 1),
        lambda x: pnp.stack([x, x]),
        lambda x: px.lax.fori_loop(0, 2, lambda i, c: c + c, x),
    ],
)
def test_parts_of_an_array_have_its_word_size_whatever_the_option_says(part):
    with px.enable_x64(True):
        x = pnp.arange(6.0).reshape(2, 3)
        expected = part(x)
    with px.enable_x64(False):
        for result in (part(x), px.vmap(lambda _: part(x))(np.zeros(1))[0]):
            assert result.dtype == np.float64
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("f", [lambda x: x > 1, lambda x: x * 2.0, lambda x: 1 + x, lambda x: pnp.maximum(x, 0.0)])
def test_scalars_meet_wide_arrays_in_either_word_size_in_any_order(f):
    with px.enable_x64(True):
        x = pnp.arange(3.0)
        expected = f(x)
    for wide in (True, False, True):
        with px.enable_x64(wide):
            np.testing.assert_array_equal(f(x), expected)
            np.testing.assert_array_equal(px.jit(f)(x), expected)
            assert not wide or f(x).dtype == expected.dtype


class Status(enum.IntEnum):
    GOOD = 2


@pytest.mark.parametrize("constant", [np.int64(2), Status.GOOD, 2, np.array(2)], ids=repr)
def test_constants_of_programs_made_by_hand_have_the_types_of_their_variables(constant):
    with px.enable_x64(False):
        double = px.jit(lambda n, x: n * x)
        closed = px.make_jaxpr(lambda x: double(Status.GOOD, x))(2.0)
        assert [v.aval.dtype for v in closed.jaxpr.constvars] == [np.int32]
        wide = closed.replace(consts=[constant])
        params = {"name": "by_hand", "donated_invars": (False,), "keep_unused": False, "inline": False}
        found = px.jit(lambda x: core.primitives.jit_p.bind(x, jaxpr=wide, **params)[0])(2.0)
    assert (float(found), found.dtype) == (4.0, np.float32)
