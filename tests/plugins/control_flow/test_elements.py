"""Branches and loops with effects under `vmap`, where elements choose differently: each has its own effects."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.experimental import checkify, io_callback
from primax.extend import core
from primax.extend.effects import OperandEffect, register_effect

XS = np.float32([1.0, -1.0, 2.0])


def seen(record):
    """A function that notes the values that it is called with."""

    def note(x):
        px.debug.callback(lambda value: record.append(float(value)), pnp.sum(x))
        return x

    return note


@pytest.mark.parametrize("compile", [px.jit, lambda f: f], ids=["jit", "eager"])
def test_only_the_branch_that_an_element_takes_has_effects(compile):
    record = []
    f = compile(px.vmap(lambda x: lax.cond(x > 0, seen(record), lambda x: -x, x)))
    np.testing.assert_array_equal(f(XS), [1.0, 1.0, 2.0])
    px.effects_barrier()
    assert sorted(record) == [1.0, 2.0]


def test_a_loop_has_the_effects_of_the_turns_that_an_element_takes():
    record = []
    f = px.vmap(lambda x: lax.while_loop(lambda c: c < 2, lambda c: seen(record)(c) + 1, x))
    np.testing.assert_array_equal(f(XS), [2.0, 2.0, 2.0])
    px.effects_barrier()
    assert sorted(record) == [-1.0, 0.0, 1.0, 1.0]


def test_a_switch_over_operands_of_which_some_are_mapped_elsewhere():
    record = []
    branches = [lambda x, y: x + y, lambda x, y: seen(record)(x) * y, lambda x, y: x - y]
    f = px.vmap(lambda i, x, y: lax.switch(i, branches, x, y), in_axes=(0, 1, None))
    found = f(np.array([0, 1, 2]), np.ones((2, 3), np.float32) * XS, np.float32(3))
    np.testing.assert_array_equal(found, [[4, 4], [-3, -3], [-1, -1]])
    px.effects_barrier()
    assert record == [-2.0]


def test_derivatives_and_inputs_and_outputs_keep_to_one_element():
    def noted(x):
        y = io_callback(lambda value: np.float32(2 * value), px.ShapeDtypeStruct((), np.float32), lax.stop_gradient(x))
        return y * x

    def f(x):
        return lax.cond(x > 0, noted, lambda x: x * x, x)

    np.testing.assert_array_equal(px.vmap(f)(XS), [2.0, 1.0, 8.0])
    found = px.grad(lambda xs: px.vmap(lambda x: lax.cond(x > 0, seen([]), lambda x: x * x, x))(xs).sum())(XS)
    np.testing.assert_array_equal(found, [1.0, -2.0, 1.0])


def test_checks_are_made_in_the_branches_that_are_taken():
    def positive(x):
        checkify.check(x > 1, "must be above 1, got {}", x)
        return x

    f = checkify.checkify(px.vmap(lambda p, x: lax.cond(p, positive, lambda x: x, x)))
    assert f(np.array([False, False, True]), XS)[0].get() is None
    assert f(np.array([False, True, True]), XS)[0].get() == "must be above 1, got -1.0 (`check` failed)"
    loop = checkify.checkify(px.vmap(lambda x: lax.while_loop(lambda c: c < 2, lambda c: positive(c) + 3, x)))
    assert loop(np.float32([1.5, 2.0]))[0].get() is None
    assert loop(np.float32([2.0, 0.5]))[0].get() == "must be above 1, got 0.5 (`check` failed)"


def test_functions_with_effects_do_not_communicate_along_the_mapped_axis():
    f = px.vmap(lambda x: lax.cond(x > 0, lambda x: lax.psum(seen([])(x), "i"), pnp.sin, x), axis_name="i")
    with pytest.raises(NotImplementedError, match="must not communicate along the mapped axis 'i'"):
        f(XS)


class Reads(OperandEffect):
    """Reading what an operand refers to."""


def test_effects_on_operands_are_refused():
    register_effect(Reads, control_flow=True)
    read_p = core.Primitive("read_operand")
    read_p.def_effectful_abstract_eval(lambda x: (x, {Reads(0)}))
    read_p.def_impl(lambda x: x)
    closed = px.make_jaxpr(read_p.bind)(np.float32(1))
    with pytest.raises(NotImplementedError, match="no effects on operands"):
        px.vmap(lambda p, x: core.primitives.cond_p.bind(p, x, branches=(closed, closed)))(np.int32([0, 1]), XS[:2])
