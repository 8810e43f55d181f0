"""Named scopes are seen in programs, in StableHLO, in what XLA makes of it, and in messages."""

from __future__ import annotations

import pytest

import primax as px
import primax.numpy as pnp
from primax.core.trace_state import thread
from primax.extend import core
from primax.extend.interpreters import mlir
from primax.extend.options import compilation_cache_dir
from primax.extend.source_info_util import scope_of


def f(x):
    with px.named_scope("outer"):
        y = pnp.sin(x)
        with px.named_scope("inner"):
            y = pnp.cos(y)
    return y + 1.0


def scopes(fun, *args):
    return [scope_of(eqn.source_info) for eqn in px.make_jaxpr(fun)(*args).eqns]


def test_equations_have_the_scopes_they_were_made_in():
    assert scopes(f, 1.0) == ["outer", "outer/inner", ""]
    text = px.make_jaxpr(f)(1.0).pretty_print(name_stack=True)
    assert "# [outer/inner]" in text
    assert "#" not in str(px.make_jaxpr(f)(1.0))


@pytest.mark.parametrize("transform", ["grad", "vmap(grad)", "jvp"])
def test_scopes_of_transformed_functions_are_those_of_jax(transform, jax):
    def run(j, fun):
        x = j.numpy.arange(3.0)
        if transform == "jvp":
            return j.make_jaxpr(lambda y: j.jvp(fun, (y,), (y,)))(1.0)
        return j.make_jaxpr(j.grad(fun))(1.0) if transform == "grad" else j.make_jaxpr(j.vmap(j.grad(fun)))(x)

    def theirs(x):
        with jax.named_scope("outer"):
            y = jax.numpy.sin(x)
            with jax.named_scope("inner"):
                return jax.numpy.cos(y)

    def ours(x):
        with px.named_scope("outer"):
            y = pnp.sin(x)
            with px.named_scope("inner"):
                return pnp.cos(y)

    expected = {str(eqn.source_info.name_stack) for eqn in run(jax, theirs).eqns}
    assert {scope_of(eqn.source_info) for eqn in run(px, ours).eqns} == expected


@pytest.mark.parametrize("transform", ["grad", "vmap", "jvp", "vmap of grad"])
def test_transformations_within_a_scope_are_named_after_it_as_in_jax(transform, jax):
    def run(j):
        def fun(x):
            with j.named_scope("inner"), j.named_scope("most"):
                return j.numpy.sin(x) * x

        functions = {
            "grad": j.grad(fun),
            "vmap": j.vmap(fun),
            "jvp": lambda y: j.jvp(fun, (y,), (y,)),
            "vmap of grad": j.vmap(j.grad(fun)),
        }

        def within(x):
            with j.named_scope("outer"):
                return functions[transform](x)

        return j.make_jaxpr(within)(j.numpy.arange(3.0) if "vmap" in transform else 1.0).eqns

    expected = {str(eqn.source_info.name_stack) for eqn in run(jax)}
    assert {scope_of(eqn.source_info) for eqn in run(px)} == expected
    assert "outer/" in "".join(expected)


def test_the_functions_of_a_program_begin_without_scopes():
    inner = px.jit(lambda x: pnp.sin(x) * 2.0)

    def fun(x):
        with px.named_scope("here"):
            return inner(x)

    (call,) = px.make_jaxpr(fun)(1.0).eqns
    assert scope_of(call.source_info) == "here"
    assert [scope_of(eqn.source_info) for eqn in call.params["jaxpr"].eqns] == ["", ""]
    assert thread.scope == ""


def test_stablehlo_and_optimized_programs_have_the_names():
    lowered = px.jit(f).lower(1.0)
    assert '"jit(f)/outer/inner/cos"' in lowered.as_text(debug_info=True)
    with compilation_cache_dir(None):  # programs from the cache keep the names that they were compiled with
        assert 'op_name="jit(f)/outer/inner/cos"' in lowered.compile().as_text()


def test_operations_are_named_by_the_way_to_them():
    @px.jit
    def inner(x):
        return pnp.tan(x)

    def outer(x):
        with px.named_scope("loop"):
            x = px.lax.while_loop(lambda x: x < 9.0, lambda x: pnp.sin(x), x)
        x, _ = px.lax.scan(lambda c, _: (pnp.cos(c), None), x, None, length=3)
        x = px.lax.cond(x > 0, px.lax.rsqrt, lambda x: inner(x), x)
        return px.checkpoint(pnp.exp)(x)

    text = px.jit(outer).lower(1.0).as_text(debug_info=True)
    for name in (
        "loop/while",
        "loop/while/cond/lt",
        "loop/while/body/sin",
        "scan/body/cos",
        "cond/branch_0_fun/jit(inner)",
        "cond/branch_1_fun/rsqrt",
        "checkpoint/exp",
    ):
        assert f'"jit(outer)/{name}"' in text
    assert '"tan"' in text  # in a function of its own: XLA puts the name of the call before it
    with compilation_cache_dir(None):
        compiled = px.jit(lambda x: inner(x) * 2).lower(1.0).compile().as_text()
    assert 'op_name="jit(<lambda>)/jit(inner)/tan"' in compiled


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


def test_any_name_of_a_primitive_and_any_parameter_called_name_lower():
    odd = core.Primitive("half \ud800")
    odd.def_abstract_eval(lambda x, **params: x)
    mlir.register_lowering(odd, lambda ctx, x, **params: mlir.hlo.negate(x))

    @px.jit
    def f(x):
        return [odd.bind(x, **params) for params in ({"name": "one"}, {}, {"name": Unprintable()})]

    assert f(2.0) == [-2.0] * 3
    names = [part for part in f.lower(2.0).as_text(debug_info=True).split('"') if part.startswith("jit(f)/half")]
    assert len(names) == 2  # with the name, and without
    assert sum("(one)" in name for name in names) == 1


def test_messages_say_in_which_scope():
    lonely = core.Primitive("lonely")
    lonely.def_abstract_eval(lambda x: x)

    def fun(x):
        with px.named_scope("attention"):
            return lonely.bind(x)

    with pytest.raises(core.MissingRuleError, match="in the scope attention"):
        px.jit(fun)(1.0)


def test_a_scope_decorates_and_may_be_entered_again():
    scope = px.named_scope("again")

    def fun(x):
        with scope, scope:
            return pnp.sin(x)

    assert scopes(fun, 1.0) == ["again/again"]
    assert scopes(px.named_scope("whole")(pnp.sin), 1.0) == ["whole"]


def test_named_call_takes_its_name_from_the_function():
    def attend(x):
        return pnp.sin(x)

    assert scopes(px.named_call(attend), 1.0) == ["attend"]
    assert scopes(px.named_call(attend, name="layer"), 1.0) == ["layer"]


def test_names_must_be_strings():
    with pytest.raises(TypeError, match="named_scope: name must be a str, got 1"):
        px.named_scope(1)
    with pytest.raises(TypeError, match="named_call: name must be a str or None, got 1"):
        px.named_call(f, name=1)
    with pytest.raises(TypeError, match="named_call: fun must be callable"):
        px.named_call(3)


def test_a_scope_ends_when_its_block_raises():
    with pytest.raises(ZeroDivisionError), px.named_scope("gone"):
        _ = 1 // 0
    assert thread.scope == ""


def test_types_may_be_left_out_of_the_text():
    assert px.make_jaxpr(lambda x: pnp.sin(x))(1.0).pretty_print(print_shapes=False) == (
        "{ lambda ; a. let b = sin a in (b,) }"
    )
