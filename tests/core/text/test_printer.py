"""Jaxprs print as jax prints them."""

from __future__ import annotations

import re
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from toys import F32, call_p, chain, grows_linearly, mul_p, nested, powers, shout_p, sin_p, sincos_p

import primax as px
from primax.core import rules
from primax.core.avals import ShapedArray, abstract_token
from primax.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, Literal, Var, new_jaxpr_eqn
from primax.core.primitive import Primitive
from primax.core.text.printer import eqn_to_text, jaxpr_to_text, name_vars
from primax.interpreters.staging import trace_to_jaxpr
from primax.plugins.calls.primitive import printed

jit_p = Primitive("jit", multiple_results=True)
rules.print_rules.register(jit_p, printed)
jit_p.def_abstract_eval(lambda *avals, jaxpr, **params: jaxpr.out_avals)

VECTOR = ShapedArray((3,), np.float32)


def one_eqn(params: dict[str, Any], primitive: Any = sin_p) -> Jaxpr:
    x, y = Var(F32), Var(F32)
    return Jaxpr([], [x], [y], [new_jaxpr_eqn([x], [y], primitive, params)])


def call(inner: ClosedJaxpr, name: str | None = None) -> ClosedJaxpr:
    params = {"jaxpr": inner} if name is None else {"jaxpr": inner, "name": name}
    return trace_to_jaxpr(lambda x: call_p.bind(x, **params), [F32])


def test_a_small_program_stands_on_one_line() -> None:
    closed = trace_to_jaxpr(lambda x: [mul_p.bind(np.float32(2), x)], [F32])
    assert str(closed) == "{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }"
    assert str(closed.jaxpr) == repr(closed) == jaxpr_to_text(closed) == closed.pretty_print()


def test_a_program_that_does_not_fit_has_a_line_for_each_equation() -> None:
    assert (
        chain(3).pretty_print()
        == """\
{ lambda ; a:f32[]. let
    b:f32[] = mul a 2.0:f32[]
    c:f32[] = mul b 2.0:f32[]
    d:f32[] = mul c 2.0:f32[]
  in (d,) }"""
    )
    assert chain(3).pretty_print(width=200).count("\n") == 0


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_outputs_are_written_like_a_tuple(count: int) -> None:
    xs = [Var(F32) for _ in range(count)]
    text = str(Jaxpr([], xs, xs, []))
    assert text.endswith(["in () }", "in (a,) }", "in (a, b) }", "in (a, b, c) }"][count])


def test_constvars_stand_before_the_semicolon() -> None:
    table = np.ones(3, np.float32)
    closed = trace_to_jaxpr(lambda x: [mul_p.bind(table, x)], [F32])
    assert str(closed) == "{ lambda a:f32[3]; b:f32[]. let c:f32[3] = mul a b in (c,) }"


def test_names_run_through_the_alphabet_and_on() -> None:
    jaxpr = Jaxpr([], xs := [Var(F32) for _ in range(26 * 27 + 2)], xs, [])
    names = name_vars(jaxpr)
    assert [names[xs[i]] for i in (0, 25, 26, 51, 52, 675, 676, 702)] == [
        "a", "z", "ba", "bz", "ca", "zz", "baa", "bba",
    ]  # fmt: skip
    assert len(set(names.values())) == len(xs)


def test_results_that_nothing_reads_are_underscores() -> None:
    closed = trace_to_jaxpr(lambda x: [sincos_p.bind(x)[1]], [F32])
    assert str(closed) == "{ lambda ; a:f32[]. let _:f32[] b:f32[] = sincos a in (b,) }"


def test_dropped_variables_are_underscores_at_any_depth() -> None:
    x = Var(F32)
    inner = Jaxpr([], [x], [x], [new_jaxpr_eqn([x], [DropVar(F32)], sin_p, {})])
    text = str(call(ClosedJaxpr(inner)))
    assert "jaxpr={ lambda ; c:f32[]. let _:f32[] = sin c in (c,) }" in text


def test_weak_types_are_not_shown() -> None:
    x = Var(ShapedArray((), np.float32, weak_type=True))
    assert str(Jaxpr([], [x], [x], [])) == "{ lambda ; a:f32[]. let  in (a,) }"


def test_types_without_dtype_are_shown() -> None:
    x = Var(abstract_token)
    assert str(Jaxpr([], [x], [x], [])) == "{ lambda ; a:token. let  in (a,) }"


@pytest.mark.parametrize(
    "value, text",
    [
        (2.0, "2.0:f32[]"),
        (np.float32(0.1), "0.10000000149011612:f32[]"),
        (float("nan"), "nan:f32[]"),
        (-np.float32("inf"), "-inf:f32[]"),
        (True, "True:bool[]"),
        (np.int8(-3), "-3:i8[]"),
        (np.complex64(1j), "1j:c64[]"),
        (ml_dtypes.bfloat16(1.5), "1.5:bf16[]"),
        (np.ones(2, np.float32), "[...]:f32[2]"),
    ],
)
def test_literals_show_value_and_type(value: Any, text: str) -> None:
    dtype = value.dtype if isinstance(value, np.generic | np.ndarray) else {float: "f4", bool: "?"}[type(value)]
    literal = Literal(value, ShapedArray(np.shape(value), dtype))
    assert str(Jaxpr([], [], [literal], [])) == f"{{ lambda ; . let  in ({text},) }}"


def test_parameters_are_sorted_by_name() -> None:
    assert "= sin[alpha=(1, 2) beta=None gamma=text] a" in str(
        one_eqn({"gamma": "text", "alpha": (1, 2), "beta": None})
    )


def test_parameters_that_do_not_fit_have_a_line_each() -> None:
    assert (
        one_eqn({"first": 1, "second": 22}).pretty_print(width=20)
        == """\
{ lambda ; a:f32[]. let
    b:f32[] = sin[
      first=1
      second=22
    ] a
  in (b,) }"""
    )


def test_addresses_and_sets_print_the_same_every_time() -> None:
    text = str(one_eqn({"f": object(), "s": frozenset({"b", "a"})}))
    assert "f=<object object at 0xXXXXXX" in text
    assert "s=frozenset({'a', 'b'})" in text


def test_a_print_rule_chooses_and_orders_parameters() -> None:
    primitive = Primitive("chosen")
    change = rules.print_rules.register(primitive, lambda params: {"z": params["z"], "a": params["a"]})
    assert "= chosen[z=1 a=2] a" in str(one_eqn({"a": 2, "b": 3, "z": 1}, primitive))
    rules.print_rules.restore(change)
    assert "= chosen[a=2 b=3 z=1] a" in str(one_eqn({"a": 2, "b": 3, "z": 1}, primitive))


def test_equations_without_results_have_no_equals_sign() -> None:
    closed = trace_to_jaxpr(lambda x: (shout_p.bind(x), [x])[1], [F32])
    assert str(closed) == "{ lambda ; a:f32[]. let shout a in (a,) }"


def test_held_programs_are_indented_and_share_no_names() -> None:
    inner = trace_to_jaxpr(powers(2), [F32])
    assert (
        str(call(inner))
        == """\
{ lambda ; a:f32[]. let
    b:f32[] = call[
      jaxpr={ lambda ; c:f32[]. let
          d:f32[] = mul c 2.0:f32[]
          e:f32[] = mul d 2.0:f32[]
        in (e,) }
    ] a
  in (b,) }"""
    )


def test_tuples_of_programs_are_held_in_parentheses() -> None:
    x, y, i = Var(F32), Var(F32), Var(ShapedArray((), np.int32))
    branches = (trace_to_jaxpr(lambda x: [sin_p.bind(x)], [F32]), trace_to_jaxpr(lambda x: [x], [F32]))
    cond_p = Primitive("cond", multiple_results=True)
    jaxpr = Jaxpr([], [i, x], [y], [new_jaxpr_eqn([i, x], [y], cond_p, {"branches": branches, "n": ()})])
    assert (
        str(jaxpr)
        == """\
{ lambda ; a:i32[] b:f32[]. let
    c:f32[] = cond[
      branches=(
        { lambda ; d:f32[]. let e:f32[] = sin d in (e,) }
        { lambda ; f:f32[]. let  in (f,) }
      )
      n=()
    ] a b
  in (c,) }"""
    )


def test_programs_among_other_values_are_held_too() -> None:
    inner = trace_to_jaxpr(lambda x: [sin_p.bind(x)], [F32])
    jaxpr = one_eqn({"rules": [(None, inner), 1], "sizes": [2, (3,)]})
    assert (
        str(jaxpr)
        == """\
{ lambda ; a:f32[]. let
    b:f32[] = sin[
      rules=[(None { lambda ; c:f32[]. let d:f32[] = sin c in (d,) }) 1]
      sizes=[2, (3,)]
    ] a
  in (b,) }"""
    )


def test_jit_shows_its_name_first_and_defaults_not_at_all() -> None:
    inner = trace_to_jaxpr(lambda x: [sin_p.bind(x)], [F32], "f")
    params = {"name": "f", "jaxpr": inner, "inline": False, "keep_unused": False, "donated_invars": (False,)}
    closed = trace_to_jaxpr(lambda x: jit_p.bind(x, **params), [F32])
    assert (
        str(closed)
        == """\
{ lambda ; a:f32[]. let
    b:f32[] = jit[
      name=f
      jaxpr={ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
    ] a
  in (b,) }"""
    )
    params |= {"keep_unused": True, "donated_invars": (True,)}
    closed = trace_to_jaxpr(lambda x: jit_p.bind(x, **params), [F32])
    assert "jit[name=f donated_invars=(True,) jaxpr={" in closed.pretty_print(width=200)
    assert "keep_unused=True]" in closed.pretty_print(width=200)


def test_repeated_programs_stand_ahead_under_unique_names() -> None:
    first = trace_to_jaxpr(lambda x: [sin_p.bind(x)], [F32])
    second = trace_to_jaxpr(lambda x: [mul_p.bind(x, x)], [F32])

    def twice(x: Any) -> Any:
        for inner in (first, second, first, second):
            (x,) = call_p.bind(x, jaxpr=inner, name="<lambda>")
        return [x]

    assert (
        str(trace_to_jaxpr(twice, [F32]))
        == """\
let lambda = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in
let lambda1 = { lambda ; c:f32[]. let d:f32[] = mul c c in (d,) } in
{ lambda ; e:f32[]. let
    f:f32[] = call[jaxpr=lambda name=<lambda>] e
    g:f32[] = call[jaxpr=lambda1 name=<lambda>] f
    h:f32[] = call[jaxpr=lambda name=<lambda>] g
    i:f32[] = call[jaxpr=lambda1 name=<lambda>] h
  in (i,) }"""
    )


def test_long_programs_stand_ahead_and_their_names_are_no_variables() -> None:
    text = str(call(trace_to_jaxpr(powers(11), [F32]), "c"))
    assert text.startswith("let c = { lambda ; a:f32[]. let\n    b:f32[] = mul a 2.0:f32[]\n    d:f32[] = mul b")
    assert text.endswith("in\n{ lambda ; n:f32[]. let o:f32[] = call[jaxpr=c name=c] n in (o,) }")
    assert str(call(trace_to_jaxpr(powers(10), [F32]), "c")).startswith("{ lambda")


def test_programs_shared_at_every_level_print_once_each() -> None:
    closed = trace_to_jaxpr(lambda x: [sin_p.bind(x)], [F32])
    for _ in range(100):
        closed = trace_to_jaxpr(lambda x, inner=closed: call_p.bind(*call_p.bind(x, jaxpr=inner), jaxpr=inner), [F32])
    assert str(closed).count("let jaxpr") == 100


def test_source_lines_stand_in_one_column() -> None:
    def fun(x: Any) -> Any:
        y = sin_p.bind(x)
        return call_p.bind(y, jaxpr=inner)

    inner = trace_to_jaxpr(lambda x: [sin_p.bind(x)], [F32])
    line = fun.__code__.co_firstlineno
    lines = trace_to_jaxpr(fun, [F32]).pretty_print(source_info=True).split("\n")
    noted = [text.split(" # ") for text in lines if " # " in text]
    assert len({len(text) for text, _ in noted}) == 1
    assert f"test_printer.py:{line + 1} (" in noted[0][1]
    assert f"test_printer.py:{line + 2} (" in noted[1][1]
    assert f"test_printer.py:{line + 4} (" in noted[2][1]


def test_source_lines_of_equations_on_one_line_follow_each_other() -> None:
    closed = trace_to_jaxpr(powers(2), [F32])
    first, second = closed.pretty_print(source_info=True, width=200).split("\n")
    assert first.startswith("{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[]; c:f32[] = ")
    assert second.startswith(" " * first.index(" # ") + " # ")
    assert "toys.py" in second


def test_equations_from_nowhere_have_no_comment() -> None:
    assert chain(3).pretty_print(source_info=True) == chain(3).pretty_print()


def test_an_equation_prints_alone() -> None:
    eqn = trace_to_jaxpr(powers(1), [F32]).eqns[0]
    assert repr(eqn) == "a:f32[] = mul b 2.0:f32[]"
    assert eqn_to_text(eqn, {eqn.invars[0]: "x", eqn.outvars[0]: "y"}) == "y:f32[] = mul x 2.0:f32[]"
    assert eqn_to_text(eqn, {eqn.invars[0]: "a"}) == "b:f32[] = mul a 2.0:f32[]"


def test_name_vars_gives_the_names_that_are_printed() -> None:
    inner = trace_to_jaxpr(powers(1), [F32])
    outer = call(inner)
    names = name_vars(outer)
    assert names == {
        outer.jaxpr.invars[0]: "a",
        outer.jaxpr.outvars[0]: "b",
        inner.jaxpr.invars[0]: "c",
        inner.jaxpr.outvars[0]: "d",
    }


def test_two_hundred_nested_programs_print() -> None:
    assert str(nested(200)).count("lambda") == 201


def test_printing_takes_time_linear_in_the_number_of_equations() -> None:
    assert str(chain(1000)).count("\n") == 1001
    assert grows_linearly(chain, str)
    assert grows_linearly(
        lambda n: trace_to_jaxpr(powers(n), [F32]), lambda closed: closed.pretty_print(source_info=True)
    )


class FromJax:
    """Translates jax's programs, leaving out the parameters that jax does not print."""

    def __init__(self) -> None:
        self.vars: dict[Any, Any] = {}
        self.jaxprs: dict[Any, Jaxpr] = {}
        self.primitives = {"jit": jit_p}

    def aval(self, aval: Any) -> ShapedArray:
        return ShapedArray(aval.shape, aval.dtype, aval.weak_type)

    def atom(self, x: Any) -> Any:
        if hasattr(x, "val"):
            return Literal(x.val, self.aval(x.aval))
        if x not in self.vars:
            self.vars[x] = (DropVar if type(x).__name__ == "DropVar" else Var)(self.aval(x.aval))
        return self.vars[x]

    def value(self, x: Any) -> Any:
        if type(x) is tuple:
            return tuple(map(self.value, x))
        if hasattr(x, "consts") and hasattr(x, "jaxpr"):
            return ClosedJaxpr(self.jaxpr(x.jaxpr), x.consts)
        return self.jaxpr(x) if hasattr(x, "eqns") else x

    def params(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        params = dict(params)
        if name == "jit":
            shown = ("name", "jaxpr", "inline", "keep_unused", "donated_invars")
            params = {key: params[key] for key in shown}
            params["inline"] = params["inline"] is True  # newer ones have words for it
        elif name == "dot_general":
            params = {key: value for key, value in params.items() if value is not None}
            (a, b), (c, d) = params["dimension_numbers"]
            params["dimension_numbers"] = (list(a), list(b)), (list(c), list(d))
        elif name == "broadcast_in_dim":
            params = {"broadcast_dimensions": dims} if (dims := params["broadcast_dimensions"]) else {}
        hidden = {"accuracy", "out_dtype"} | ({"sharding"} if name == "convert_element_type" else set())
        return {key: self.value(value) for key, value in params.items() if key not in hidden}

    def jaxpr(self, jaxpr: Any) -> Jaxpr:
        if jaxpr not in self.jaxprs:
            eqns = []
            for eqn in jaxpr.eqns:
                name = eqn.primitive.name
                primitive = self.primitives.setdefault(name, Primitive(name, multiple_results=True))
                invars, outvars = map(self.atom, eqn.invars), map(self.atom, eqn.outvars)
                eqns.append(new_jaxpr_eqn([*invars], [*outvars], primitive, self.params(name, eqn.params)))
            parts = (jaxpr.constvars, jaxpr.invars, jaxpr.outvars)
            self.jaxprs[jaxpr] = Jaxpr(*([*map(self.atom, part)] for part in parts), eqns)
        return self.jaxprs[jaxpr]


def programs_of_jax() -> list[tuple[str, Any, tuple[Any, ...]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jax = pytest.importorskip("jax")
    jnp, lax = jax.numpy, jax.lax

    @jax.jit
    def pair(x: Any, y: Any) -> Any:
        return x * y, jnp.sin(x)

    @jax.jit
    def shared(x: Any) -> Any:
        a, b = pair(x, x)
        return pair(a, b)[0] + pair(a, 2.0)[1]

    @jax.jit
    def h(x: Any) -> Any:
        for _ in range(12):
            x = jnp.sin(x)
        return x

    def nest(depth: int) -> Any:
        f = jnp.sin
        for _ in range(depth):
            f = jax.jit(lambda x, f=f: f(x) + 1)
        return f

    @jax.jit
    def many(x: Any) -> Any:
        return jnp.cos(x), jnp.sin(x), x, 2.0, jnp.sin(x)

    def unread(x: Any) -> Any:
        jnp.sin(x)
        return lax.scan(lambda c, y: (c, y), x, None, length=2)[0]

    matrix = np.ones((3, 4), np.float32)
    return [
        ("product", lambda x: 2.0 * x, (3.0,)),
        ("shared", lambda x: shared(x) + shared(x), (3.0,)),
        ("long", h, (3.0,)),
        ("cond", lambda x: lax.cond(x > 0, jnp.sin, lambda x: -x, x), (3.0,)),
        ("switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x], x), (1, 3.0)),
        ("empty", lambda: (), ()),
        ("sixty", lambda *xs: xs, tuple(range(60))),
        ("sum", lambda *xs: sum(xs), tuple(range(800))),
        ("reversed", lambda *xs: jax.jit(lambda *xs: xs[::-1])(*xs), tuple(range(30))),
        ("constant", lambda x: x + np.arange(3, dtype="f4"), (matrix[0, :3],)),
        ("donated", jax.jit(lambda a, b: a, donate_argnums=0, keep_unused=True), (1.0, 2.0)),
        (
            "while",
            lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x)),
            (3.0,),
        ),
        ("scan", lambda x: lax.scan(lambda c, y: (c + y, c), x, matrix[0]), (3.0,)),
        ("index", lambda i: jnp.array([1, 2, 3])[i], (1,)),
        ("scalars", lambda x: x + np.float32(1.5) + 2 + True + 1j * x, (1.0,)),
        ("unread", unread, (3.0,)),
        ("passed on", lambda x: jax.jit(lambda x: (x, jnp.sin(x)))(x)[1], (3.0,)),
        ("many", many, (3.0,)),
        ("last of many", lambda x: many(x)[4], (3.0,)),
        ("where", lambda x: jnp.where(x > 0, jnp.nan, -jnp.inf) * True, (3.0,)),
        ("matmul", lambda x: jnp.mean(x @ x.T) + jnp.arange(3), (matrix,)),
        ("nested", nest(9), (3.0,)),
        ("grad", jax.grad(lambda x: nest(4)(x) * shared(x)), (3.0,)),
        ("vmap", jax.vmap(lambda x: jnp.sort(x)[1:].cumsum()), (matrix,)),
    ]


def test_programs_print_as_jax_prints_them_at_any_width() -> None:
    cases = programs_of_jax()
    jax = pytest.importorskip("jax")
    for name, fun, args in cases:
        theirs = jax.make_jaxpr(fun)(*args).jaxpr
        ours = FromJax().jaxpr(theirs)
        for width in (1, 10, 20, 33, 40, 57, 72, 80, 100, 160, 400):
            assert ours.pretty_print(width=width) == theirs.pretty_print(width=width), (name, width)
        for mine, eqn in zip(ours.eqns, theirs.eqns, strict=True):
            assert repr(mine) == repr(eqn), name


def test_keywords_and_types_have_the_colors_of_terminals():
    text = px.make_jaxpr(lambda x: px.lax.cond(x > 0, px.lax.sin, px.lax.cos, x))(1.0).pretty_print(use_color=True)
    assert "\x1b[34;1mlambda\x1b[39;22m" in text
    assert re.search(r"a\x1b\[35m:f\d+\[\]\x1b\[39m", text)
    assert "\x1b[34;1mlet\x1b[39;22m" in text
    assert "\x1b[34;1min\x1b[39;22m (" in text
    plain = re.sub(r"\x1b\[[\d;]+m", "", text)
    assert plain == px.make_jaxpr(lambda x: px.lax.cond(x > 0, px.lax.sin, px.lax.cos, x))(1.0).pretty_print()


def test_effects_and_all_parameters_are_printed_where_asked_for():
    closed = px.make_jaxpr(lambda x: px.debug.print("{}", x))(1.0)
    assert closed.pretty_print(print_effects=True).endswith("in () : { Debug } }")
    assert closed.pretty_print().endswith("in () }")
    dot = px.make_jaxpr(lambda x: x @ x)(np.ones(2, np.float32))
    assert "precision" not in dot.pretty_print()
    assert "precision=None" in dot.pretty_print(custom_pp_eqn_rules=False)
