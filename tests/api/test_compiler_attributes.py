"""What XLA is told of parts of a program: metadata, the type of computation, groups of a schedule."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.experimental.compute_on import compute_on
from primax.experimental.scheduling_groups import scheduling_group
from primax.experimental.xla_metadata import set_xla_metadata, xla_metadata_call


def text(f, *args):
    return px.jit(f).lower(*(args or (1.0,))).as_text()


def told(f, operation):
    """What stands beside an operation of the module of a function."""
    (line,) = (line for line in text(f).splitlines() if f"stablehlo.{operation}" in line)
    return line.partition("mhlo.frontend_attributes = {")[2].partition("}")[0]


def test_blocks_nest_and_the_inner_one_counts():
    def f(x):
        with set_xla_metadata(a=True, b="Outer", c=1.5):
            with set_xla_metadata(b="Inner", d=2):
                x = pnp.sin(x)
            with set_xla_metadata(a=None):
                x = pnp.cos(x)
        return pnp.exp(x)

    assert told(f, "sine") == 'a = "true", b = "Inner", c = "1.5", d = "2"'
    assert told(f, "cosine") == 'b = "Outer", c = "1.5"'
    assert told(f, "exponential") == ""
    assert px.jit(f)(1.0) == f(1.0)


def test_functions_and_values_are_told_of_too():
    assert told(set_xla_metadata(a=1)(pnp.sin), "sine") == 'a = "1"'
    assert told(xla_metadata_call(pnp.sin, a=1), "sine") == 'a = "1"'
    assert told(lambda x: set_xla_metadata({"y": pnp.sin(x)}, a=1), "sine") == 'a = "1"'
    assert float(set_xla_metadata(pnp.float32(2), a=1)) == 2.0


def test_a_decorated_function_is_lowered_in_the_block_too():
    double = set_xla_metadata(a=1)(px.jit(lambda x: pnp.sin(x) * 2.0))
    assert double.lower(1.0).as_text().count('a = "1"') == 2
    assert double.trace(1.0).lower().as_text().count('a = "1"') == 2
    assert double.eval_shape(1.0).shape == ()
    assert not hasattr(set_xla_metadata(a=1)(lambda x: x), "lower")


def test_functions_called_within_are_told_of_and_compiled_for_each_of_what_is_said():
    f = px.jit(lambda x: pnp.sin(x))

    def g(x):
        with set_xla_metadata(a=1):
            y = f(x)
        with set_xla_metadata(a=2):
            z = px.lax.cond(x > 0, f, pnp.cos, x)
        return y + z + f(x)

    lines = [line for line in text(g).splitlines() if "stablehlo.sine" in line]
    assert sorted(line.partition("{")[2].partition(" :")[0] for line in lines) == [
        "",
        'mhlo.frontend_attributes = {a = "1"}}',
        'mhlo.frontend_attributes = {a = "2"}}',
    ]


def test_derivatives_and_batches_say_the_same():
    def f(x):
        with set_xla_metadata(a=1):
            return pnp.sin(x)

    assert told(px.grad(f), "cosine") == 'a = "1"'
    lines = text(px.vmap(f), np.ones(2, np.float32)).splitlines()
    assert all('a = "1"' in line for line in lines if "sine" in line)


@pytest.mark.parametrize(
    "kind, attributes",
    [
        ("device_host", '_xla_compute_type = "host"'),
        ("device", '_xla_compute_type = "dense"'),
        ("tpu_sparsecore", '_xla_compute_type = "sparseoffload"'),
        ("gpu_stream:3", '_xla_stream_annotation = "3", inlineable = "false"'),
    ],
)
def test_types_of_computation_are_told_as_jax_tells_them(kind, attributes):
    assert told(compute_on(kind)(pnp.sin), "sine") == attributes
    assert told(compute_on(pnp.sin, compute_type=kind, out_memory_spaces=None), "sine") == attributes


def test_a_group_of_a_schedule_has_a_name():
    assert told(scheduling_group(name="first")(pnp.sin), "sine") == 'scheduling_group = "first"'


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"compute_type must be one of .*'gpu_stream:' with a number, got 'gpu'"):
        compute_on("gpu")
    with pytest.raises(TypeError, match="compiler_attributes: a must be a str, a number, a bool or None"):
        set_xla_metadata(a=[1])
    with pytest.raises(TypeError, match="scheduling_group: name must be a str, got 1"):
        scheduling_group(1)


def test_a_block_ends_when_it_raises():
    with pytest.raises(ZeroDivisionError), set_xla_metadata(a=1):
        _ = 1 // 0
    assert told(pnp.sin, "sine") == ""
