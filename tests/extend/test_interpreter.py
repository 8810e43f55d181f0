"""`replay`, and the base class of interpreters: dispatch, programs in programs, transformations, messages."""

from __future__ import annotations

import gc
import inspect
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.core import undo_log
from primax.extend import core, held_programs, hookimpl
from primax.extend.core import primitives
from primax.extend.core.primitives import add_p, cos_p, erf_p, mul_p, neg_p, sin_p
from primax.extend.core.samples import samples_of
from primax.extend.host.plugin_host import host
from primax.extend.interpreter import Interpreter, replay

F32 = np.float32


class Words(Interpreter):
    """Values are strings: what each variable is, written out."""

    def lift(self, constant: Any) -> str:
        return str(np.asarray(constant).tolist())

    def default(self, eqn: core.JaxprEqn, *values: Any) -> str:
        return f"{eqn.primitive}({', '.join(values)})"


class Pair(NamedTuple):
    """A value and its tangent."""

    value: Any
    tangent: Any


class Forward(Interpreter):
    """Forward differentiation of a few primitives, keeping calls."""

    inline = False

    def lift(self, constant: Any) -> Pair:
        return Pair(constant, pnp.zeros_like(constant))

    def primal(self, value: Pair) -> Any:
        return value.value


@Forward.rule(sin_p)
def sin_forward(self, eqn, x):
    return Pair(pnp.sin(x.value), x.tangent * pnp.cos(x.value))


@Forward.rule(mul_p)
def mul_forward(self, eqn, x, y):
    return Pair(x.value * y.value, x.tangent * y.value + x.value * y.tangent)


@Forward.rule(add_p, neg_p)
def linear_forward(self, eqn, *xs):
    return Pair(*(replay(eqn, part)[0] for part in zip(*xs, strict=True)))


def words(fun, *args):
    count = len(args)
    return Words().interpret(px.make_jaxpr(fun)(*args), *("xyz"[:count]))


def this_line() -> int:
    return inspect.currentframe().f_back.f_lineno


def test_replay_applies_the_same_primitive_with_the_same_params():
    (eqn,) = px.make_jaxpr(lambda x: pnp.reshape(x, (3, 2)))(np.ones((2, 3))).eqns
    (out,) = replay(eqn, [np.zeros((2, 3), np.float32)])
    assert out.shape == (3, 2)


def test_replay_returns_all_results_of_a_call():
    (eqn,) = px.make_jaxpr(px.jit(lambda x: (x + 1.0, x * 2.0)))(3.0).eqns
    assert [float(x) for x in replay(eqn, [5.0])] == [6.0, 10.0]


def test_replay_binds_with_the_parameters_that_get_bind_params_makes():
    class Applying(core.Primitive):
        def get_bind_params(self, params):
            return {"fun": core.jaxpr_as_fun(params["jaxpr"])}

    apply_p = Applying("apply", multiple_results=True)
    apply_p.def_impl(lambda *args, fun: fun(*args))
    closed = px.make_jaxpr(lambda x: -x)(1.0)
    eqn = core.new_jaxpr_eqn(closed.jaxpr.invars, [core.Var(a) for a in closed.out_avals], apply_p, {"jaxpr": closed})
    assert [float(x) for x in replay(eqn, [2.0])] == [-2.0]


def test_what_is_staged_by_replay_belongs_to_the_line_of_the_equation():
    line = this_line() + 1
    (eqn,) = px.make_jaxpr(lambda x: pnp.sin(x))(1.0).eqns
    again = px.make_jaxpr(lambda x: replay(eqn, [x]))(1.0)
    assert f"test_interpreter.py:{line}" in again.pretty_print(source_info=True)


def test_what_rules_stage_belongs_to_the_line_of_the_equation():
    line = this_line() + 1
    closed = px.make_jaxpr(px.jit(lambda x: pnp.sin(x)))(1.0)
    derived = px.make_jaxpr(lambda x: Forward().interpret(closed, Pair(x, x)))(1.0)
    (call,) = derived.eqns
    printed = call.params["jaxpr"].pretty_print(source_info=True).splitlines()
    assert len(printed) > 3
    assert all(f"test_interpreter.py:{line}" in text for text in printed if " = " in text)


def test_values_may_be_anything_and_constants_are_lifted():
    array = np.float32([2.0])
    (said,) = words(lambda x, y: pnp.sin(x) * 2.0 + (y + array), np.float32(1.0), array)
    assert said == "add(mul(sin(x), 2.0), add(y, [2.0]))"


def test_inputs_and_literals_may_be_outputs():
    assert words(lambda x, y: (y, 3.0, x, x), 1.0, 2.0) == ["y", "3.0", "x", "x"]


def test_the_number_of_values_must_be_that_of_the_inputs():
    closed = px.make_jaxpr(lambda x, y: x + y)(1.0, 2.0)
    with pytest.raises(TypeError, match=r"Words\.interpret: .* got 1 for 2 inputs"):
        Words().interpret(closed, "x")


def test_values_are_let_go_after_their_last_use():
    class Thing:
        pass

    alive = []
    made: list[weakref.ref[Thing]] = []

    class Watch(Interpreter):
        def default(self, eqn, *values):
            del values
            gc.collect()
            alive.append(sum(ref() is not None for ref in made))
            thing = Thing()
            made.append(weakref.ref(thing))
            return thing

    def chain(x):
        for _ in range(6):
            x = -x
        return x

    Watch().interpret(px.make_jaxpr(chain)(1.0), None)
    assert len(alive) == 6
    assert max(alive) <= 1


def test_rules_are_inherited_and_a_subclass_has_the_last_word():
    class Louder(Words):
        pass

    @Louder.rule(sin_p, cos_p)
    def shout(self, eqn, x):
        return f"{eqn.primitive.name.upper()}({x})"

    class Loudest(Louder):
        rules = {cos_p: lambda self, eqn, x: f"COS!({x})"}  # noqa: RUF012 - as an author would write it

    closed = px.make_jaxpr(lambda x: pnp.cos(pnp.sin(-x)))(1.0)
    assert Words().interpret(closed, "x") == ["cos(sin(neg(x)))"]
    assert Louder().interpret(closed, "x") == ["COS(SIN(neg(x)))"]
    assert Loudest().interpret(closed, "x") == ["COS!(SIN(neg(x)))"]


def test_the_base_class_takes_no_rules():
    with pytest.raises(TypeError, match=r"Interpreter\.rule: .* interpret=rule"):
        Interpreter.rule(sin_p)


def test_calls_are_interpreted_in_place():
    assert words(px.jit(lambda x: px.jit(pnp.sin)(x) * 2.0), 1.0) == ["mul(sin(x), 2.0)"]


def test_a_method_named_after_a_primitive_goes_before_its_plugin():
    class Opaque(Words):
        def handle_jit(self, eqn, *values):
            return [f"{eqn.params['name']}({', '.join(values)})"]

    def square(x):
        return x * x

    closed = px.make_jaxpr(lambda x: px.jit(square)(-x))(1.0)
    assert Opaque().interpret(closed, "x") == ["square(neg(x))"]


def test_every_equation_can_be_watched():
    seen = []

    class Watching(Words):
        def equation(self, eqn, values):
            seen.append(eqn.primitive.name)
            return super().equation(eqn, values)

    Watching().interpret(px.make_jaxpr(px.jit(lambda x: pnp.sin(-x)))(1.0), "x")
    assert seen == ["jit", "neg", "sin"]


def program():
    factor = np.float32([3.0])

    @px.jit
    def wave(x):
        return pnp.sin(x) * x

    return px.make_jaxpr(lambda x: wave(x) * factor + wave(x))(factor), np.float32([2.0])


def derivative(closed):
    return lambda x, t: tuple(Forward().interpret(closed, Pair(x, t))[0])


def test_calls_that_are_kept_keep_their_name():
    closed, x = program()
    transformed = px.make_jaxpr(derivative(closed))(x, x)
    core.check_jaxpr(transformed.jaxpr)
    calls = [eqn for eqn in transformed.eqns if eqn.primitive.name == "jit"]
    assert [eqn.params["name"] for eqn in calls if eqn.params["name"] == "wave"] == ["wave", "wave"]
    assert all(len(eqn.outvars) == 2 for eqn in calls if eqn.params["name"] == "wave")


def test_an_interpreter_may_be_transformed_in_turn():
    closed, x = program()
    slope, curvature = (4 * (np.sin(2) + 2 * np.cos(2)), 4 * (2 * np.cos(2) - 2 * np.sin(2)))

    def tangent(x):
        return derivative(closed)(x, pnp.ones_like(x))[1]

    assert float(tangent(x)[0]) == pytest.approx(slope, rel=1e-5)
    assert float(px.jit(tangent)(x)[0]) == pytest.approx(slope, rel=1e-5)
    assert float(px.jit(px.grad(lambda x: tangent(x)[0]))(x)[0]) == pytest.approx(curvature, rel=1e-5)
    np.testing.assert_allclose(px.jit(px.vmap(tangent))(np.stack([x, x])), [[slope]] * 2, rtol=1e-5)


def test_rules_may_close_over_values_of_enclosing_transformations():
    class Scaled(Interpreter):
        inline = False

        def __init__(self, factor):
            self.factor = factor

        def default(self, eqn, *values):
            return replay(eqn, values)[0] * self.factor

    closed = px.make_jaxpr(px.jit(pnp.sin))(1.0)

    def run(factor):
        return Scaled(factor).interpret(closed, 1.0)[0]

    for f in (run, px.jit(run)):
        assert float(f(3.0)) == pytest.approx(3 * np.sin(1.0), rel=1e-6)
        assert float(px.grad(f)(3.0)) == pytest.approx(np.sin(1.0), rel=1e-6)


def test_calls_can_be_kept_for_values_that_are_arrays_only():
    class Keeping(Words):
        inline = False

    closed = px.make_jaxpr(px.jit(pnp.sin))(1.0)
    with pytest.raises(TypeError, match=r"Keeping\.transform: values must be pytrees of arrays, got a leaf 'x'"):
        Keeping().interpret(closed, "x")


def test_a_program_is_interpreted_in_the_word_size_it_was_written_in():
    with core.config.enable_x64(True):
        closed = px.make_jaxpr(lambda x: pnp.sin(x) * 2.0)(np.float64(1.0))

    class Dtypes(Interpreter):
        def default(self, eqn, *values):
            return replay(eqn, values)[0]

    assert Dtypes().interpret(closed, np.float64(1.0))[0].dtype == np.float64


def test_programs_may_be_nested_deeply():
    closed = px.make_jaxpr(lambda x: -x)(1.0)
    for _ in range(200):
        closed = px.make_jaxpr(px.jit(lambda x, inner=closed: core.eval_jaxpr(inner.jaxpr, inner.consts, x)[0]))(1.0)
    assert Words().interpret(closed, "x") == ["neg(x)"]


def test_a_missing_rule_is_named_with_its_plugin_the_line_and_the_remedy():
    line = this_line() + 1
    closed = px.make_jaxpr(px.jit(lambda x: px.lax.erf(x)))(1.0)
    with pytest.raises(NotImplementedError) as error:
        Forward().interpret(closed, Pair(1.0, 1.0))
    message = str(error.value)
    assert f"Forward has no rule for primitive 'erf' (from {erf_p.plugin})" in message
    assert f"test_interpreter.py:{line}" in message
    assert "@Forward.rule(erf_p)" in message


def test_an_error_in_a_rule_says_once_at_which_line_it_happened():
    class Failing(Interpreter):
        def default(self, eqn, *values):
            raise ZeroDivisionError("by zero")

    line = this_line() + 1
    closed = px.make_jaxpr(px.jit(lambda x: pnp.sin(x)))(1.0)
    with pytest.raises(ZeroDivisionError) as error:
        Failing().interpret(closed, 1.0)
    (note,) = error.value.__notes__
    assert note.startswith("Failing was at sin, used at ")
    assert f"test_interpreter.py:{line}" in note


def test_a_list_of_the_wrong_length_is_refused():
    class Careless(Words):
        def handle_jit(self, eqn, *values):
            return ["just one"]

    closed = px.make_jaxpr(px.jit(lambda x: (x, -x)))(1.0)
    with pytest.raises(core.RuleError, match="Careless: the rule or method for jit must return a list of 2 values"):
        Careless().interpret(closed, "x")


class Smooth(Forward):
    """Forward differentiation that takes constants for arrays, and everything else for locally constant."""

    def lift(self, constant):
        return constant

    def primal(self, value):
        return value.value if isinstance(value, Pair) else value

    def uniform(self, value):
        return value if isinstance(value, Pair) else Pair(value, pnp.zeros_like(value))

    def default(self, eqn, *values):
        return replay(eqn, list(map(self.primal, values)))[0]


@Smooth.rule(sin_p, mul_p, add_p)
def smooth_forward(self, eqn, *xs):
    return Forward.rules[eqn.primitive](self, eqn, *map(self.uniform, xs))


def branching(x):
    return px.lax.cond(x > 1.0, lambda x: pnp.sin(x), lambda x: pnp.ones_like(x), x)


def looping(x):
    return px.lax.while_loop(lambda state: state[0] < 3, lambda state: (state[0] + 1, state[1] * x), (0, F32(1.0)))[1]


def scanning(x):
    last, seen = px.lax.scan(lambda c, e: (pnp.sin(c) * e, c * x), F32(0.5), np.arange(1, 4, dtype=F32), reverse=True)
    return pnp.sin(seen) * last


@pytest.mark.parametrize("fun", [branching, looping, scanning])
@pytest.mark.parametrize("x", [F32(0.7), F32(2.0)])
def test_branches_and_loops_are_gone_through_with_values_of_any_structure(fun, x):
    closed = px.make_jaxpr(px.jit(fun))(x)

    def run(x):
        return Smooth().uniform(Smooth().interpret(closed, Pair(x, F32(1.0)))[0])

    value, tangent = px.jit(lambda x: px.jvp(fun, (x,), (F32(1.0),)))(x)
    found = px.jit(run)(x)
    np.testing.assert_allclose(found.value, value, rtol=1e-5)
    np.testing.assert_allclose(found.tangent, tangent, rtol=1e-5)


def test_elements_of_a_scan_may_be_laid_out_otherwise():
    class Last(Smooth):
        """The tangent has an axis in front, for several directions at once."""

        def uniform(self, value):
            return value if isinstance(value, Pair) else Pair(value, pnp.zeros((2, *pnp.shape(value)), F32))

        def unstack(self, value):
            return Pair(value.value, pnp.swapaxes(value.tangent, 0, 1)) if isinstance(value, Pair) else value

        stack = unstack

    xs = np.arange(3, dtype=F32)
    closed = px.make_jaxpr(lambda xs: px.lax.scan(lambda c, x: (c * 2.0, pnp.sin(x)), F32(1.0), xs)[1])(xs)
    directions = np.stack([np.ones(3, F32), xs])
    (out,) = px.jit(lambda xs: Last().interpret(closed, Pair(xs, directions)))(xs)
    np.testing.assert_allclose(out.tangent, directions * np.cos(xs), rtol=1e-5)


@pytest.mark.parametrize("fun", [branching, looping, scanning])
def test_values_that_cannot_branch_or_loop_are_refused_with_the_remedy(fun):
    class Text(Words):
        def lift(self, constant):
            return "constant"

    closed = px.make_jaxpr(fun)(F32(1.0))
    with pytest.raises(TypeError, match="must be a") as error:
        Text().interpret(closed, "x")
    name = next(eqn.primitive.name for eqn in closed.eqns if "jaxpr" in str(eqn.params) or "branches" in eqn.params)
    assert f"Define Text.handle_{name} to treat its inner programs in another way" in error.value.__notes__[0]


def test_every_built_in_primitive_that_holds_programs_says_how_to_go_through_them():
    holders = {
        primitive.name
        for primitive in map(primitives.__getitem__, primitives)
        if (primitive.module or "").startswith("primax.")
        and any(any(core.jaxprs_in_params(dict(sample.params))) for sample in samples_of(primitive))
    }
    explained = {primitive.name for primitive in core.rule_tables["interpret"]}
    assert {"jit", "cond", "scan", "while"} <= explained
    # The computation of `reduce` is applied to elements in an order that nobody knows, that of `shard_map` to parts
    # of arrays, while interpreters have something else in place of arrays.
    assert holders - explained <= {"reduce", "shard_map"}


# A family of another author: a choice between programs, and a loop. Each says how interpreters go through it.
choose_p = core.Primitive("choose", multiple_results=True)
repeat_p = core.Primitive("repeat", multiple_results=True)


@choose_p.def_impl
def choose_impl(index, *args, branches):
    branch = branches[int(index)]
    return core.eval_jaxpr(branch.jaxpr, branch.consts, *args)


def choose_interpret(interpreter, eqn, index, *values):
    made = [interpreter.transform(branch, *values) for branch in eqn.params["branches"]]
    assert len({one.out_tree for one in made}) == 1
    leaves = core.tree.flatten(list(values))[0]
    branches = tuple(one.closed for one in made)
    return core.tree.unflatten(made[0].out_tree, choose_p.bind(interpreter.primal(index), *leaves, branches=branches))


@repeat_p.def_impl
def repeat_impl(*args, body, times):
    for _ in range(times):
        args = core.eval_jaxpr(body.jaxpr, body.consts, *args)
    return list(args)


class Control:
    @staticmethod
    @hookimpl
    def primax_register(registry):
        registry.define(
            choose_p,
            abstract_eval=lambda index, *avals, branches: branches[0].out_avals,
            interpret=choose_interpret,
        )
        registry.define(repeat_p, abstract_eval=lambda *avals, body, times: list(avals))


@pytest.fixture(scope="module")
def control():
    host.register_module(Control, name="test_control")
    yield
    host.unregister("test_control")


def with_control():
    branches = with_control_branches()
    return px.make_jaxpr(lambda i, x: choose_p.bind(i, x, branches=branches))(0, 1.0)


@pytest.mark.usefixtures("control")
def test_a_plugin_says_for_all_interpreters_how_to_go_through_its_programs():
    closed = with_control()
    for index, tangent in ((0, np.cos(3.0)), (1, 6.0)):
        (pair,) = Forward().interpret(closed, Pair(index, 0.0), Pair(3.0, 1.0))
        assert float(pair.tangent) == pytest.approx(tangent, rel=1e-5)


@pytest.mark.usefixtures("control")
def test_a_method_may_replace_what_the_plugin_says():
    class Both(Words):
        def handle_choose(self, eqn, index, *values):
            either = [self.interpret(branch, *values)[0] for branch in eqn.params["branches"]]
            return [f"{index} ? {either[1]} : {either[0]}"]

    assert Both().interpret(with_control(), "i", "x") == ["i ? mul(x, x) : sin(x)"]


@pytest.mark.usefixtures("control")
def test_a_primitive_with_programs_that_nobody_explains_is_not_guessed_at():
    body = px.make_jaxpr(lambda x: -x)(1.0)
    line = this_line() + 1
    closed = px.make_jaxpr(lambda x: repeat_p.bind(x, body=body, times=3))(1.0)
    with pytest.raises(NotImplementedError) as error:
        Words().interpret(closed, "x")
    message = str(error.value)
    assert "Words has no rule for primitive 'repeat' (from test_control)" in message
    assert f"test_interpreter.py:{line}" in message
    assert "It has inner programs (body)" in message
    assert "Words.handle_repeat(self, eqn, *values)" in message
    assert "registry.define(repeat_p, interpret=rule)" in message

    class Unrolling(Words):
        def handle_repeat(self, eqn, *values):
            for _ in range(eqn.params["times"]):
                values = self.interpret(eqn.params["body"], *values)
            return values

    assert Unrolling().interpret(closed, "x") == ["neg(neg(neg(x)))"]


class Origins(Interpreter):
    """The set of inputs on which a value may depend; one set stands for all elements of an array."""

    def lift(self, constant):
        return frozenset()

    def join(self, x, y):
        return x | y

    def element(self, value, index, length):
        return value

    def collect(self, values, length):
        return frozenset().union(*values)

    def default(self, eqn, *values):
        origins = frozenset().union(*values)
        return [origins] * len(eqn.outvars) if eqn.primitive.multiple_results else origins


def _origins(fun, *args):
    names = [frozenset(name) for name in "xyz"[: len(args)]]
    return ["".join(sorted(out)) for out in Origins().interpret(px.make_jaxpr(fun)(*args), *names)]


def test_values_of_branches_and_loops_are_joined():
    one = F32(1)
    assert _origins(lambda x, y, z: px.lax.cond(x > 0, lambda: y, lambda: -z), one, one, one) == ["yz"]

    def handed_on(x, y, z):  # it takes two rounds until z is in the first place
        return px.lax.while_loop(lambda c: c[0] < 9, lambda c: (c[1], c[2], c[2]), (x, y, z))

    assert _origins(handed_on, one, one, one) == ["xyz", "yz", "z"]
    for length in (3, 500, 0):
        xs = np.zeros(length, F32)
        outs = _origins(lambda x, xs: px.lax.scan(lambda c, e: (c * e, c), x, xs), one, xs)
        assert outs == (["xy", "xy"] if length else ["x", ""])


def test_a_loop_whose_values_do_not_settle_asks_for_widening():
    class Counts(Origins):
        rounds = 2

        def lift(self, constant):
            return 0

        def join(self, x, y):
            return max(x, y)

        def default(self, eqn, *values):
            return max(values) + 1

    closed = px.make_jaxpr(lambda x: px.lax.while_loop(lambda x: x < 9, lambda x: x + 1, x))(1.0)
    with pytest.raises(RuntimeError, match=r"Counts: the values of a loop do not settle after .* define widen"):
        Counts().interpret(closed, 0)

    class Widened(Counts):
        def widen(self, x, y):
            return np.inf if y > x else y

    assert Widened().interpret(closed, 0) == [np.inf]


either_p = core.Primitive("either", multiple_results=True)
often_p = core.Primitive("often", multiple_results=True)
unsound_p = core.Primitive("unsound", multiple_results=True)


class Declared:
    """Control flow of a third party, with the interpret rules that follow from its declaration."""

    @staticmethod
    @hookimpl
    def primax_register(registry):
        def first(*avals, branches):
            return branches[0].out_avals

        registry.define(either_p, abstract_eval=first, interpret=held_programs.interpret_branches("branches"))
        registry.define(
            often_p,
            abstract_eval=lambda *avals, cond, body, consts: list(avals[consts:]),
            interpret=held_programs.interpret_loop("cond", "body", 0, "consts"),
        )
        registry.define(
            unsound_p,
            abstract_eval=first,
            interpret=lambda interpreter, eqn, index, *xs: px.lax.switch(interpreter.primal(index), [lambda x: x], *xs),
        )


@pytest.fixture(scope="module")
def declared():
    host.register_module(Declared, name="test_declared")
    yield
    host.unregister("test_declared")


@pytest.mark.usefixtures("declared")
def test_control_flow_of_others_is_sound_for_abstract_values():
    one = F32(1)
    branches = tuple(px.make_jaxpr(f)(one, one) for f in (lambda x, y: x, lambda x, y: y))
    assert _origins(lambda i, x, y: either_p.bind(i, x, y, branches=branches), 0, one, one) == ["yz"]
    params = {
        "cond": px.make_jaxpr(lambda x: x < 9)(one),
        "body": px.make_jaxpr(lambda k, x: x + k)(one, one),
        "consts": 1,
    }
    assert _origins(lambda k, x: often_p.bind(k, x, **params), one, one) == ["xy"]
    with pytest.raises(TypeError, match=r"Origins\.primal: an abstract value decides no branch .* interpreter\.branch"):
        _origins(lambda i, x: unsound_p.bind(i, x, branches=branches[:1]), 0, one)
    for index, want in ((0, np.sin(3.0)), (5, 9.0)):  # the same rules compute with arrays
        closed = px.make_jaxpr(lambda i, x: either_p.bind(i, x, branches=with_control_branches()))(0, 1.0)
        (pair,) = Forward().interpret(closed, Pair(index, 0.0), Pair(3.0, 1.0))
        assert float(pair.value) == pytest.approx(want, rel=1e-5)


def with_control_branches():
    return tuple(px.make_jaxpr(f)(1.0) for f in (pnp.sin, lambda x: x * x))


@pytest.fixture
def origin_table():
    with undo_log.recording(undos := []):
        yield core.new_rule_table("origin", "(interpreter, eqn, *origins) -> origins", optional=True)
    undo_log.undo_all(undos)


def test_a_table_of_rules_is_asked_before_interpret_rules(origin_table):
    class Extended(Origins):
        table = origin_table
        default = Interpreter.default

    closed = px.make_jaxpr(px.jit(lambda x: pnp.sin(x)))(1.0)
    with pytest.raises(core.MissingRuleError, match=r"registry\.define\(sin_p, origin=rule\)"):
        Extended().interpret(closed, frozenset("x"))
    origin_table[sin_p] = lambda interpreter, eqn, x: x | {"sin"}
    assert Extended().interpret(closed, frozenset("x")) == [{"x", "sin"}]
    origin_table[primitives.jit_p] = lambda interpreter, eqn, *xs: [frozenset({"jit"})] * len(eqn.outvars)
    assert Extended().interpret(closed, frozenset("x")) == [{"jit"}]
    Extended.rule(primitives.jit_p)(lambda interpreter, eqn, *xs: [frozenset()] * len(eqn.outvars))
    assert Extended().interpret(closed, frozenset("x")) == [frozenset()]
    origin_table.remove(sin_p, override=True)
    origin_table.unsupported[sin_p] = "it has no origin"
    with pytest.raises(core.UnsupportedError, match="it has no origin"):
        Extended().interpret(px.make_jaxpr(pnp.sin)(1.0), frozenset("x"))
