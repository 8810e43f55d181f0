"""Layers around lowering rules: which programs they see, in which order, and what they cost the others."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import primax as px
from primax.core import undo_log
from primax.extend.interpreters import mlir
from primax.interpreters.runtime.lowering import register_lowering_layer
from primax.interpreters.runtime.stablehlo_module import lower_to_module


@pytest.fixture
def register():
    """Registers layers for one test."""
    undos = []

    def register(*args, **kwargs):
        with undo_log.recording(undos):
            register_lowering_layer(*args, **kwargs)

    yield register
    undo_log.undo_all(undos)


def text_of(f, *args):
    return px.jit(f).lower(*args).as_text()


def negate_sines(ctx, values, params, lower):
    outs = lower(ctx, values, params)
    return [mlir.hlo.negate(out) for out in outs] if ctx.primitive is px.lax.sin_p else outs


def test_a_layer_changes_the_operations_of_an_equation(register):
    register(lambda module, jaxpr, types: True, negate_sines, order=25)
    x = np.float32(1.0)
    assert float(px.jit(lambda x: px.lax.sin(x) + px.lax.cos(x))(x)) == pytest.approx(-np.sin(1.0) + np.cos(1.0))
    assert float(px.jit(lambda x: px.lax.cond(x > 0, px.lax.sin, px.lax.cos, x))(x)) == pytest.approx(-np.sin(1.0))


def test_layers_with_smaller_numbers_are_further_out(register):
    calls = []

    def layer(name):
        def lower_in_layer(ctx, values, params, lower):
            calls.append(name)
            return lower(ctx, values, params)

        return lower_in_layer

    for name, order in (("second", 26), ("third", 27), ("first", 25)):
        register(lambda module, jaxpr, types: True, layer(name), order)
    text_of(px.lax.sin, 1.0)
    assert calls == ["first", "second", "third"]


def test_a_layer_sees_only_the_programs_to_which_it_applies(register):
    seen, asked = [], []

    def applies(module, jaxpr, types):
        asked.append(sorted(aval.str_short() for aval in types))
        return any(aval.shape == (3,) for aval in types)

    def layer(ctx, values, params, lower):
        seen.append(ctx.primitive.name)
        return lower(ctx, values, params)

    register(applies, layer, order=25)
    text_of(px.lax.sin, np.float32(1.0))
    assert (asked, seen) == ([["f32[]"]], [])
    text_of(lambda x: px.lax.cos(px.lax.sin(x)), np.ones(3, np.float32))
    assert (asked[1:], seen) == ([["f32[3]"]], ["sin", "cos"])


def test_a_layer_is_removed_with_its_plugin():
    undos = []
    with undo_log.recording(undos):
        register_lowering_layer(lambda module, jaxpr, types: True, negate_sines, order=25)
    assert "negate" in text_of(px.lax.sin, 1.0)
    undo_log.undo_all(undos)
    assert "negate" not in text_of(px.lax.sin, 1.0)


def test_a_layer_that_does_not_apply_costs_an_equation_no_call():
    def f(x):
        for _ in range(50):
            x = px.lax.sin(px.lax.cos(x))
        return x

    def calls():
        closed = px.make_jaxpr(f)(np.float32(1.0))
        count = 0

        def profile(frame, event, arg):
            nonlocal count
            count += event == "call"

        sys.setprofile(profile)
        try:
            lower_to_module(closed, "f", "cpu")
        finally:
            sys.setprofile(None)
        return count

    def fewest():
        return min(calls() for _ in range(4))  # a new MLIR context, or the garbage collector, adds calls

    def cost():
        """The calls with no layer, and those that five layers add."""
        before, undos = fewest(), []
        with undo_log.recording(undos):
            for _ in range(5):
                register_lowering_layer(lambda module, jaxpr, types: False, negate_sines, order=25)
        after = fewest()
        undo_log.undo_all(undos)
        return before, after - before

    # In a long run a full cache may be emptied between two counts; then both are made again.
    before, added = next((pair for pair in (cost() for _ in range(3)) if pair[1] == 5), (0, None))
    assert added == 5
    assert before / 100 < 10  # calls of Python functions for each equation
