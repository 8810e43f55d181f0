"""Primitives that hold a program, as `jax.extend.core.create_call_primitive` makes them."""

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core
from primax.extend.call_primitives import create_call_primitive, eval_jaxpr_transpose, register_call_primitive_rules
from primax.extend.interpreters import ad

block_p = create_call_primitive("test_block")
PROGRAM = px.make_jaxpr(lambda x, y: [x * y, x + 1.0])(1.0, 1.0)


def block(x, y):
    return block_p.bind(x, y, call_jaxpr=PROGRAM)


def test_it_computes_its_program_wherever_it_is_applied():
    assert list(map(float, block(2.0, 3.0))) == [6.0, 3.0]
    assert list(map(float, px.jit(block)(2.0, 3.0))) == [6.0, 3.0]
    assert [eqn.primitive for eqn in px.make_jaxpr(block)(2.0, 3.0).eqns] == [block_p]


def test_it_is_differentiated_and_batched():
    assert px.grad(lambda x, y: block(x, y)[0], (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert px.jvp(block, (2.0, 3.0), (1.0, 0.0))[1] == [3.0, 1.0]
    outs = px.vmap(block, (0, None))(pnp.arange(3.0), 2.0)
    assert outs[0].tolist() == [0.0, 2.0, 4.0]
    assert px.jit(px.vmap(px.grad(lambda x: block(x, x)[0])))(pnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    program = px.make_jaxpr(px.vmap(block))(pnp.zeros(2), pnp.zeros(2))
    assert any(eqn.primitive.name == "test_block" for eqn in program.eqns)


def test_a_transpose_rule_may_be_given():
    asked = []
    scaled_p = core.Primitive("test_scaled_block", multiple_results=True)

    def transpose(ct, *args, call_jaxpr):
        asked.append(len(args))
        return eval_jaxpr_transpose(scaled_p, ct, *args, call_jaxpr=call_jaxpr)

    register_call_primitive_rules(scaled_p, transpose_rule=transpose)
    program = px.make_jaxpr(lambda x: [3.0 * x])(1.0)
    (out,) = px.linear_transpose(lambda x: scaled_p.bind(x, call_jaxpr=program)[0], 1.0)(2.0)
    assert out == 6.0
    assert asked == [1]


def test_cotangents_go_back_through_the_linear_arguments():
    linear = ad.UndefinedPrimal(core.get_aval(np.float32(0)))
    back = eval_jaxpr_transpose(block_p, [np.float32(5.0), np.float32(0.0)], np.float32(2.0), linear, call_jaxpr=LINEAR)
    assert back[0] is None
    assert back[1] == 10.0


LINEAR = px.make_jaxpr(lambda x, y: [x * y, 0.0 * y])(np.float32(1), np.float32(1))


def test_a_primitive_of_one_result_is_refused():
    with pytest.raises(TypeError, match="prim must have multiple_results, got test_one"):
        register_call_primitive_rules(core.Primitive("test_one"))
