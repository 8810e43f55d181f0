"""`make_jaxpr`: the program of a function of pytrees."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
from primax import lax

X = np.ones(3, np.float32)


def test_pytrees_and_keywords_are_flattened_in_order():
    closed = px.make_jaxpr(lambda d, *, k: {"sum": d["a"] + d["b"], "k": k})({"b": X, "a": X[0]}, k=np.int32(2))
    assert [aval.str_short() for aval in closed.in_avals] == ["f32[]", "f32[3]", "i32[]"]
    assert [aval.str_short() for aval in closed.out_avals] == ["i32[]", "f32[3]"]


def test_static_arguments_are_part_of_the_program():
    closed = px.make_jaxpr(lambda x, n: x * n, static_argnums=1)(X, 3)
    assert len(closed.in_avals) == 1
    assert "3.0" in str(closed)


def test_shapes_of_results_have_their_structure():
    _, shapes = px.make_jaxpr(lambda x: {"y": lax.sin(x)}, return_shape=True)(px.ShapeDtypeStruct((2,), np.float32))
    assert shapes == {"y": px.ShapeDtypeStruct((2,), np.float32)}


def test_axes_of_the_environment_are_there_for_collectives_only_within():
    closed = px.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(X)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["psum"]
    with pytest.raises(NameError):
        px.make_jaxpr(lambda x: lax.psum(x, "i"))(X)


def test_what_the_function_closes_over_is_a_constant():
    closed = px.make_jaxpr(lambda x: x + X)(X)
    (const,) = closed.consts
    np.testing.assert_array_equal(const, X)


def test_only_functions_have_programs():
    with pytest.raises(TypeError, match="make_jaxpr: fun must be callable, got 3"):
        px.make_jaxpr(3)
