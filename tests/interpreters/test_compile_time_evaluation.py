"""Evaluation while a program is traced."""

from __future__ import annotations

import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core


def f(x):
    with px.ensure_compile_time_eval():
        count = pnp.sum(pnp.arange(4))
        doubled = px.jit(lambda z: z * 2.0)(pnp.float32(2))
        both = x + count
    return int(count) * x + float(doubled) + both


@pytest.mark.parametrize(
    "transform", [lambda g: g, px.jit, px.grad, lambda g: px.jit(px.vmap(px.grad(g), axis_size=2, in_axes=None))]
)
def test_what_is_known_is_computed_and_the_rest_is_traced(transform):
    expected = px.grad(lambda x: 7.0 * x + 10.0)(2.0) if transform in (px.grad,) else None
    found = transform(f)(2.0)
    if expected is None:
        expected = 24.0 if transform not in (px.grad,) and found.ndim == 0 else 7.0
    assert bool(pnp.all(found == expected))


def test_only_what_depends_on_arguments_is_in_the_program():
    assert [str(eqn.primitive) for eqn in px.make_jaxpr(f)(1.0).eqns if not eqn.invars] == []
    assert "iota" not in str(px.make_jaxpr(f)(1.0))
    assert "iota" in str(px.make_jaxpr(lambda x: x + pnp.sum(pnp.arange(4)))(1.0))


def test_values_of_scans_and_conditions_are_computed_too():
    def g(x):
        with px.ensure_compile_time_eval():
            total, _ = px.lax.scan(lambda c, i: (c + i, None), 0, pnp.arange(4))
        return x[: int(total)]

    assert px.jit(g)(pnp.arange(10.0)).shape == (6,)


def test_the_block_ends_with_an_error_inside():
    def g(x):
        try:
            with px.ensure_compile_time_eval():
                raise KeyError
        except KeyError:
            return x + pnp.sum(pnp.arange(4))

    assert "iota" in str(px.make_jaxpr(g)(1.0))


def test_the_state_of_traces_is_equal_as_long_as_they_are_the_same():
    outside = core.get_opaque_trace_state()
    seen = []

    def g(x):
        seen.append(core.get_opaque_trace_state(convention="flax"))
        assert seen[-1] == core.get_opaque_trace_state()
        return x

    px.jit(g)(1.0)
    px.vmap(g)(pnp.ones(2))
    assert outside == core.get_opaque_trace_state()
    assert outside != seen[0] != seen[1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(outside)
