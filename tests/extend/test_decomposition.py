"""Programs are decomposed to the primitives that are asked for, or the message says which could not be."""

from __future__ import annotations

import re

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.errors import MissingRuleError
from primax.extend import Interpreter, core, decompose, define_primitive, derive, replay
from primax.extend.interpreters import mlir

FROM_IMPL = derive.from_impl
X = np.float32([1.0, 2.0])

twist_p = define_primitive(
    "twist",
    multiple_results=True,
    impl=lambda x, *, k: [x * k, pnp.exp(x)],
    abstract_eval=FROM_IMPL,
    batch=FROM_IMPL,
    lowering=FROM_IMPL,
    interpret=FROM_IMPL,
)
shift_p = define_primitive("shift", impl=lambda x: x + 1.0, abstract_eval=FROM_IMPL, lowering=FROM_IMPL)


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def test_an_impl_is_what_an_interpreter_without_a_rule_goes_through():
    class Counting(Interpreter):
        def __init__(self):
            self.seen = []

        def default(self, eqn, *values):
            self.seen.append(eqn.primitive.name)
            return replay(eqn, values)[0]

    counting = Counting()
    outs = counting.interpret(px.make_jaxpr(lambda x: twist_p.bind(x, k=3.0))(X), X)
    np.testing.assert_allclose(outs, [3 * X, np.exp(X)], rtol=1e-6)
    assert counting.seen == ["mul", "exp"]


def test_an_interpreter_may_have_a_rule_of_its_own():
    class Doubting(Interpreter):
        pass

    @Doubting.rule(twist_p)
    def twist(interpreter, eqn, x):
        return [x, x]

    assert Doubting().interpret(px.make_jaxpr(lambda x: twist_p.bind(x, k=3.0))(X), 5) == [5, 5]


def test_programs_are_decomposed_wherever_they_are_held():
    def fun(x):
        def body(carry, _):
            return px.jit(lambda c: twist_p.bind(shift_p.bind(c), k=2.0)[0])(carry), None

        return px.lax.scan(body, x, length=2)[0]

    closed = px.make_jaxpr(px.jit(fun))(X)
    made = decompose(closed, to=["scan", "mul", "add", "exp"])
    core.check_jaxpr(made)
    (loop,) = made.eqns
    assert names(loop.params["jaxpr"]) == ["add", "mul", "exp"]
    np.testing.assert_allclose(core.eval_jaxpr(made.jaxpr, made.consts, X)[0], px.jit(fun)(X))
    kept = decompose(closed, to=["jit", "scan", "twist", "add"])
    assert names(kept) == ["jit"]


def test_what_is_asked_for_stays():
    closed = px.make_jaxpr(lambda x: twist_p.bind(shift_p.bind(x), k=2.0))(X)
    assert names(decompose(closed, to=[twist_p, "add"])) == ["add", "twist"]
    assert names(decompose(closed, to=[shift_p, "mul", "exp"])) == ["shift", "mul", "exp"]


def test_a_mapped_primitive_is_decomposed_too():
    closed = px.make_jaxpr(px.vmap(lambda x: twist_p.bind(x, k=2.0)))(X)
    assert names(decompose(closed, to=["mul", "exp"])) == ["mul", "exp"]


def test_what_cannot_be_decomposed_is_named_with_its_line():
    closed = px.make_jaxpr(lambda x: pnp.sin(twist_p.bind(x, k=2.0)[1]))(X)
    with pytest.raises(core.MissingRuleError) as error:
        decompose(closed, to=["mul"])
    said = str(error.value)
    assert said.startswith("decompose: exp, sin must be among the primitives to decompose to, or have a decomposition:")
    assert re.search(rf"sin \(from trigonometry\), used at {re.escape(__file__)}:\d+", said)


def test_what_is_no_primitive_is_refused():
    with pytest.raises(TypeError, match="decompose: to must hold primitives or their names, got 3"):
        decompose(px.make_jaxpr(pnp.sin)(1.0), to=[3])


def square(x):
    return px.jit(lambda x: lax.scan(lambda c, y: (c + twist_p.bind(y, k=3.0)[0], None), 0.0, x)[0] + pnp.exp(x[0]))(x)


@pytest.mark.parametrize(
    "away, left",
    [
        ("jit", ["scan", "twist"]),
        (twist_p, ["jit", "scan"]),
        ([twist_p, "calls"], ["scan"]),
        (["twist", lambda eqn: eqn.primitive.name == "jit"], ["scan"]),
        ([], ["jit", "scan", "twist"]),
    ],
)
def test_what_is_named_is_decomposed_away_wherever_it_is(away, left):
    made = decompose(px.make_jaxpr(square)(X), away=away)
    text = str(made)
    assert [name for name in ("jit", "scan", "twist") if f"= {name}" in text] == left
    np.testing.assert_allclose(core.eval_jaxpr(made.jaxpr, made.consts, X), [square(X)], rtol=1e-6)


def test_a_mapped_primitive_and_one_that_a_function_lowers_are_decomposed_away():
    closed = px.make_jaxpr(px.vmap(lambda x: twist_p.bind(x, k=3.0)))(X)
    assert names(decompose(closed, away="twist")) == ["mul", "exp"]
    cube_p = define_primitive("cube", impl=np.square, abstract_eval=lambda x: x, lowering=mlir.lower_fun(cube, False))
    assert names(decompose(px.make_jaxpr(cube_p.bind)(X), away=cube_p)) == ["mul", "mul"]


def cube(x):
    return x * x * x


def test_what_cannot_be_decomposed_away_is_said():
    closed = px.make_jaxpr(square)(X)
    with pytest.raises(MissingRuleError, match="decompose: exp, scan must have a decomposition:\n  exp"):
        decompose(closed, away=["exp", "scan"])
    with pytest.raises(ValueError, match="decompose: away must name primitives or plugins, got 'jjit'"):
        decompose(closed, away="jjit")
    with pytest.raises(TypeError, match=r"decompose: away must hold primitives, names .*, got 3"):
        decompose(closed, away=[3])
    with pytest.raises(TypeError, match="decompose: one of to and away must be given, got to=None and away=None"):
        decompose(closed)
