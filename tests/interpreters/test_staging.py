"""Staging: what is recorded, how it prints, where it says it comes from, and what may not leave."""

from __future__ import annotations

import gc
import inspect
import sys
import tracemalloc
from operator import methodcaller
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.core.source_info import user_frame
from primax.extend import core
from primax.extend.interpreters import mlir

X = np.arange(3.0, dtype=np.float32)
ONE = np.float32(1.0)
F32 = core.ShapedArray((), np.float32)


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def line(marker):
    """The number of the line of this file that ends with a comment `# marker`."""
    source = inspect.getsource(inspect.getmodule(line)).splitlines()
    (number,) = [i for i, text in enumerate(source, 1) if text.endswith(f"# {marker}")]
    return number


def lines(closed):
    """The primitive and the user's line of each equation; those that hold programs are replaced by these."""
    found = []
    for eqn in closed.eqns:
        frame = user_frame(eqn.source_info)
        held = [ClosedView(jaxpr) for jaxpr in core.jaxprs_in_params(eqn.params)]
        if held:
            for view in held:
                found += lines(view)
        else:
            found.append((eqn.primitive.name, frame and frame.line))
            assert frame is None or frame.file == __file__
    return found


class ClosedView:
    def __init__(self, jaxpr):
        self.eqns = jaxpr.eqns


def test_a_program_prints_as_in_the_spec():
    closed = px.make_jaxpr(lambda x: 2.0 * x)(np.float32(3.0))
    assert str(closed) == "{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }"


def test_a_weak_argument_prints_as_in_the_spec():
    short = "f64" if px.config.enable_x64 else "f32"
    text = "{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }".replace("f32", short)
    assert str(px.make_jaxpr(lambda x: 2.0 * x)(3.0)) == text


def test_staging_does_not_depend_on_data():
    assert names(px.make_jaxpr(lambda: lax.mul(2.0, 2.0))()) == ["mul"]
    assert names(px.make_jaxpr(lambda x: lax.sin(lax.mul(2.0, 2.0)))(1.0)) == ["mul", "sin"]


def test_staging_inside_another_transformation_records_what_has_no_tracers():
    def f(x):
        return x * lax.sin(np.float32(2.0))

    assert "sin" in names(px.make_jaxpr(px.grad(f))(1.0))
    assert "sin" in names(px.make_jaxpr(px.vmap(f))(X))


@pytest.mark.parametrize(
    "scalar",
    [2, 2.0, True, 2j, np.float32(2), np.int8(2), np.bool_(True), np.array(2.0, np.float32)],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}",
)
def test_scalars_are_literals(scalar):
    closed = px.make_jaxpr(lambda x: (x, lax.sin(np.float32(1.0)), scalar))(1.0)
    assert closed.consts == []
    literal = closed.jaxpr.outvars[2]
    assert isinstance(literal, core.Literal)
    assert literal.val == scalar
    assert literal.aval == core.get_aval(scalar)
    core.check_jaxpr(closed)


def test_an_array_of_rank_zero_that_a_function_closes_over_is_a_constant_as_a_tracer_is():
    def parts(c, i):
        return lambda x: (
            lax.cond(x > 0, lambda x: x * c, lambda x: x + i % 2, x) + lax.fori_loop(0, 3, lambda _, y: y * c, x)
        )

    def count(c, i):
        counts.append(len(px.make_jaxpr(parts(c, i))(ONE).consts))
        return c

    counts: list[int] = []
    count(pnp.float32(2.0), pnp.int32(3))
    px.jit(count)(2.0, 3)
    assert counts == [2, 2]


def test_an_array_that_a_traced_function_makes_of_a_number_is_a_literal():
    closed = px.make_jaxpr(lambda x: lax.cond(x > 0, lambda x: x * pnp.asarray(2.0), lambda x: x + pnp.zeros(()), x))(
        1.0
    )
    assert closed.consts == []


def test_jit_inlines_an_array_of_rank_zero():
    c = pnp.float32(2.0)
    assert px.make_jaxpr(px.jit(lambda x: x * c))(1.0).consts == []
    assert "dense<2.0" in px.jit(lambda x: x * c).lower(1.0).as_text()


REPLAYS = {
    "jvp": lambda f: px.jvp(f, (1.0,), (1.0,))[0],
    "vjp": lambda f: px.vjp(f, 1.0)[0],
    "linearize": lambda f: px.linearize(f, 1.0)[0],
    "vmap": lambda f: px.vmap(lambda _: f(1.0))(X),
    "jit": lambda f: px.jit(f)(1.0),
    "checkpoint": lambda f: px.vjp(px.checkpoint(f), 1.0)[0],
    "scan": lambda f: lax.scan(lambda c, _: (c, f(1.0)), 0.0, None, length=1)[1],
}


@pytest.mark.parametrize("scalar", [2, 2.5, 2j])
@pytest.mark.parametrize("replay", REPLAYS)
def test_a_weak_constant_stays_weak_when_a_program_is_replayed(scalar, replay):
    constant = px.jit(lambda: scalar)()
    inner = px.jit(lambda x: x * constant)
    out = REPLAYS[replay](lambda x: inner(x) * pnp.ones(3, pnp.bfloat16))
    assert out.dtype == (np.complex64 if isinstance(scalar, complex) else pnp.bfloat16)


def test_a_weak_constant_of_a_type_that_no_scalar_has_is_hoisted(in_32_bits):
    narrow = px.jit(lambda: 2.5)()
    with px.enable_x64(True):
        closed = px.make_jaxpr(lambda x: x * narrow)(np.float16(1))
    assert [v.aval.str_short() for v in closed.jaxpr.constvars] == ["f32[]"]
    assert closed.jaxpr.constvars[0].aval.weak_type
    assert closed.out_avals[0].dtype == np.float16


def test_other_constants_are_hoisted_once_by_identity():
    one, equal = np.ones(3, np.float32), np.ones(3, np.float32)
    closed = px.make_jaxpr(lambda x: lax.add(lax.mul(x, one), lax.mul(lax.mul(one, one), equal)))(X)
    assert [c is one or c is equal for c in closed.consts] == [True, True]
    assert len(closed.jaxpr.constvars) == 2
    core.check_jaxpr(closed)


def test_an_output_may_be_an_input_a_constant_or_a_scalar():
    closed = px.make_jaxpr(lambda x: [x, X, 2.0, x])(1.0)
    assert closed.eqns == []
    outs = core.jaxpr_as_fun(closed)(5.0)
    assert outs[0] == outs[3] == 5.0
    assert outs[1] is X
    core.check_jaxpr(closed)


def test_return_shape_gives_the_structure_of_the_result():
    closed, shape = px.make_jaxpr(lambda x: {"a": x[None], "b": (2.0 * x,)}, return_shape=True)(X)
    assert shape == {
        "a": px.ShapeDtypeStruct((1, 3), np.float32),
        "b": (px.ShapeDtypeStruct((3,), np.float32),),
    }
    assert isinstance(closed, core.ClosedJaxpr)


def test_make_jaxpr_takes_structs_for_arrays():
    struct = px.ShapeDtypeStruct((2, 3), np.float16)
    assert px.make_jaxpr(lambda x: x + x)(struct).out_avals == [core.ShapedArray((2, 3), np.float16)]


def test_static_arguments_are_part_of_the_program():
    def power(x, n, *, negate=False):
        for _ in range(n):
            x = x * x
        return -x if negate else x

    assert names(px.make_jaxpr(power, static_argnums=1)(2.0, 3)) == ["mul"] * 3
    assert names(px.make_jaxpr(power, static_argnums=-1)(2.0, 1)) == ["mul"]


def test_eval_shape_computes_nothing():
    struct = px.ShapeDtypeStruct((100_000, 100_000, 100), np.float32)
    out = px.eval_shape(lambda x: {"sum": x.sum(axis=0), "x": x}, struct)
    assert out["sum"] == px.ShapeDtypeStruct((100_000, 100), np.float32)
    assert px.eval_shape(lambda d: d["a"] * 2, {"a": np.ones(3, np.int32)}).shape == (3,)


def test_arguments_that_are_no_arrays_are_refused_by_path():
    with pytest.raises(TypeError, match=r"argument d\['a'\] must be an array"):
        px.make_jaxpr(lambda d: d)({"a": "text"})


def staged(x):
    y = lax.sin(x)  # first
    z = pnp.where(
        y > 0,  # compare
        y,
        2.0 * y,  # double
    )
    return helper(y, z)


def helper(y, z):
    return (y * z).sum()  # helper


def test_each_equation_points_to_the_users_line_also_through_functions_of_numpy():
    found = dict(lines(px.make_jaxpr(staged)(X)))
    assert found["sin"] == line("first")
    assert found["gt"] == line("compare")
    assert found["reduce_sum"] == line("helper")
    assert line("first") < found["select_n"] < line("double")


def test_the_user_frames_go_out_to_the_caller():
    eqn = px.make_jaxpr(staged)(X).eqns[-1]
    from_inside = [frame.function for frame in core_user_frames(eqn)]
    assert from_inside[:2] == ["helper", "staged"]


def core_user_frames(eqn):
    from primax.core.source_info import user_frames

    return user_frames(eqn.source_info)


def differentiated(x):
    a = -x  # neg
    b = lax.sin(a)  # sin
    c = b.sum()  # sum
    return lax.exp(c)  # exp


BACKWARD = ["exp", "sum", "sin", "neg"]


@pytest.mark.parametrize(
    "transform",
    [
        px.grad,
        lambda f: px.grad(px.jit(f)),
        lambda f: px.jit(px.grad(f)),
        lambda f: lambda x: px.vmap(px.grad(f))(x[None])[0],
        lambda f: lambda x: px.jit(px.vmap(px.jit(px.grad(px.jit(f)))))(x[None])[0],
        lambda f: lambda x: px.vjp(f, x)[1](ONE),
    ],
    ids=["grad", "grad-jit", "jit-grad", "vmap-grad", "jit-vmap-jit-grad-jit", "vjp"],
)
def test_transposed_equations_carry_the_line_of_the_forward_ones(transform):
    here = {name: line(name) for name in BACKWARD}
    found = [(name, number) for name, number in lines(px.make_jaxpr(transform(differentiated))(X))]
    numbers = [number for name, number in found if number in here.values()]
    assert set(numbers) == set(here.values())
    last = max(i for i, number in enumerate(numbers) if number == here["exp"])
    tail = [n for i, n in enumerate(numbers[last:]) if not i or n != numbers[last:][i - 1]]
    assert tail == [here[name] for name in BACKWARD], found


def test_the_linear_part_carries_the_lines_of_the_forward_equations_when_it_is_applied():
    found = lines(px.make_jaxpr(lambda x, t: px.linearize(differentiated, x)[1](t))(X, X))
    assert [number for _, number in found[-4:]] == [line(name) for name in ("neg", "sin", "sum", "exp")]


def test_the_transpose_of_a_linear_function_carries_its_lines():
    def linear(x):
        y = 3.0 * x  # three
        return -y  # minus

    found = lines(px.make_jaxpr(lambda ct: px.linear_transpose(linear, X)(ct))(X))
    assert found == [("neg", line("minus")), ("mul", line("three"))]


def test_equations_of_jvp_vmap_and_second_derivatives_carry_lines():
    here = {line(name) for name in BACKWARD}
    for f in (
        lambda x: px.jvp(differentiated, (x,), (x,))[1],
        lambda x: px.vmap(differentiated)(x[None]),
        lambda x: px.hessian(differentiated)(x),
        px.grad(lambda x: px.grad(differentiated)(x).sum()),
    ):
        found = {number for _, number in lines(px.make_jaxpr(f)(X))}
        assert here <= found
        assert None not in found


def test_tracing_again_through_eval_jaxpr_keeps_the_lines():
    closed = px.make_jaxpr(staged)(X)
    again = px.make_jaxpr(core.jaxpr_as_fun(closed))(X)
    assert lines(again) == lines(closed)


def lowering_refused(ctx, x):
    raise px.errors.RuleError("will not")


@pytest.mark.parametrize("given", ["nothing", "refuses", "count"])
def test_failures_of_lowering_point_at_the_users_line(given):
    p = core.Primitive(f"not_lowered_{given}")
    p.def_abstract_eval(lambda x: x)
    if given != "nothing":
        mlir.register_lowering(p, {"refuses": lowering_refused, "count": lambda ctx, x: [x, x]}[given])

    def f(x):
        y = lax.sin(x)
        return p.bind(y)  # not lowered

    for run in (lambda: px.jit(f)(1.0), lambda: px.jit(px.jit(f))(1.0), lambda: px.jit(f).lower(1.0)):
        with pytest.raises((px.errors.RuleError, px.errors.MissingRuleError)) as error:
            run()
        notes = "\n".join(getattr(error.value, "__notes__", ()))
        assert f"{__file__}:{line('not lowered')} " in str(error.value) + notes


def test_a_program_that_xla_refuses_is_one_error_with_the_users_line():
    p = core.Primitive("refused_by_xla")
    p.def_abstract_eval(lambda x: x)

    def rule(ctx, x):
        version = mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(32), 4)
        return mlir.hlo.CustomCallOp([x.type], [x], "primax_no_such_target", api_version=version).results

    mlir.register_lowering(p, rule)
    with pytest.raises(px.XlaError) as error:
        px.jit(lambda x: p.bind(x) * 2.0)(1.0)  # refused
    notes = "\n".join(getattr(error.value, "__notes__", ()))
    assert f"{__file__}:{line('refused')}" in str(error.value) + notes


leaks = []


def leaky(x):
    y = lax.sin(x)
    leaks.append(y)  # leak
    return y


LEAKS = {
    "jit": lambda: px.jit(lambda x: leaky(x))(1.0),
    "make_jaxpr": lambda: px.make_jaxpr(lambda x: leaky(x))(1.0),
    "vmap": lambda: px.vmap(leaky)(X),
    "jvp": lambda: px.jvp(leaky, (1.0,), (1.0,)),
    "grad": lambda: px.grad(leaky)(1.0),
    "vjp": lambda: px.vjp(leaky, 1.0),
    "linearize": lambda: px.linearize(leaky, 1.0),
    "jacfwd": lambda: px.jacfwd(leaky)(X),
    "linear_transpose": lambda: px.linear_transpose(lambda x: leaks.append(2.0 * x) or 2.0 * x, 1.0)(1.0),
    "jit-grad": lambda: px.jit(px.grad(lambda x: leaky(x)))(1.0),
    "vmap-grad": lambda: px.vmap(px.grad(leaky))(X),
    "grad-jit": lambda: px.grad(px.jit(lambda x: leaky(x)))(1.0),
    "grad-vmap": lambda: px.grad(lambda x: px.vmap(leaky)(x).sum())(X),
}

USES = {
    "eagerly": lambda leaked: lax.cos(leaked),
    "by an operator": lambda leaked: leaked + 1.0,
    "as an argument of jit": lambda leaked: px.jit(lambda x: x + 1.0)(leaked),
    "in the closure of jit": lambda leaked: px.jit(lambda x: x + leaked)(1.0),
    "in a program": lambda leaked: px.make_jaxpr(lambda x: x + leaked)(1.0),
    "as the result of a program": lambda leaked: px.make_jaxpr(lambda: leaked)(),
    "in vmap": lambda leaked: px.vmap(lambda x: x * leaked)(X),
    "as the result of vmap": lambda leaked: px.vmap(lambda x: leaked, out_axes=None)(X),
    "in jvp": lambda leaked: px.jvp(lambda x: x * leaked, (1.0,), (1.0,)),
    "as the result of jvp": lambda leaked: px.jvp(lambda x: leaked, (1.0,), (1.0,)),
    "in grad": lambda leaked: px.grad(lambda x: x * leaked)(1.0),
    "as an argument of grad": lambda leaked: px.grad(lambda x: x * x)(leaked),
    "as the result of grad": lambda leaked: px.grad(lambda x: leaked)(1.0),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_an_escaped_tracer_raises_wherever_it_is_used_and_says_where_it_was_made(leak):
    for use in USES.values():
        leaks.clear()
        LEAKS[leak]()
        with pytest.raises(px.errors.UnexpectedTracerError, match="escaped from") as error:
            use(leaks[0])
        assert __file__ in str(error.value)


@pytest.mark.parametrize("leak", ["jit", "make_jaxpr", "vmap", "jvp", "grad", "vjp", "jit-grad", "grad-vmap"])
@pytest.mark.parametrize("convert", [bool, float, int, complex, np.asarray, range, methodcaller("tolist")])
def test_an_escaped_tracer_asked_for_its_value_says_that_it_escaped(leak, convert):
    leaks.clear()
    LEAKS[leak]()
    with pytest.raises(px.errors.UnexpectedTracerError, match="escaped from"):
        convert(leaks[0])


def test_an_escaped_tracer_of_jit_names_the_line_that_made_it():
    leaks.clear()
    px.jit(lambda x: leaky(x))(1.0)
    with pytest.raises(px.errors.UnexpectedTracerError, match="made by sin at") as error:
        leaks[0] + 1.0
    assert f"{__file__}:{line('leak') - 1} (leaky)" in str(error.value)


def test_an_escaped_tracer_names_its_argument():
    leaks.clear()
    px.jit(lambda x, y: leaks.append(y))(1.0, 2.0)
    with pytest.raises(px.errors.UnexpectedTracerError, match="It is argument y of <lambda>"):
        leaks[0] + 1.0


def test_leaking_leaves_the_transformations_usable():
    leaks.clear()
    f = px.jit(lambda x: leaky(x))
    f(1.0)
    with pytest.raises(px.errors.UnexpectedTracerError):
        px.jit(lambda x: x * leaks[0])(1.0)
    assert float(f(0.0)) == 0.0
    assert float(px.grad(f)(0.0)) == 1.0


def test_tracers_of_enclosing_transformations_may_be_closed_over():
    def f(x):
        @px.jit
        def g(y):
            @px.jit
            def h(z):
                return z * x + lax.sin(y)

            return h(y) * x

        return g(2.0 * x)

    def plain(x):
        y = 2.0 * x
        return (y * x + lax.sin(y)) * x

    for transform in (
        lambda f: f,
        px.jit,
        px.grad,
        lambda f: px.jit(px.grad(f)),
        lambda f: px.grad(px.grad(f)),
    ):
        np.testing.assert_allclose(transform(f)(1.5), transform(plain)(1.5), rtol=1e-5)
    np.testing.assert_allclose(px.vmap(px.grad(f))(X), px.vmap(px.grad(plain))(X), rtol=1e-5)
    np.testing.assert_allclose(px.jacfwd(px.vmap(f))(X), px.jacfwd(px.vmap(plain))(X), rtol=1e-5)


def test_a_jitted_function_made_once_may_close_over_the_tracer_of_each_call():
    state = {}
    inner = px.jit(lambda y: y * state["x"])

    def f(x):
        state["x"] = x
        return inner(3.0)

    assert float(px.grad(f)(2.0)) == 3.0
    assert float(px.grad(f)(2.0)) == 3.0
    assert px.vmap(f)(X).tolist() == [0.0, 3.0, 6.0]
    assert float(px.jit(f)(4.0)) == 12.0


def test_a_staged_function_must_return_arrays():
    with pytest.raises(TypeError, match=r"the result\['a'\] must be an array or a number"):
        px.jit(lambda x: {"a": "text"})(1.0)
    with pytest.raises(TypeError, match="str"):
        px.make_jaxpr(lambda x: "text")(1.0)


def test_trace_to_jaxpr_wants_a_list():
    with pytest.raises(px.errors.RuleError, match="must return a list"):
        core.trace_to_jaxpr(lambda x: x, [F32])


def test_an_error_while_tracing_leaves_no_trace_behind():
    def fails(x):
        raise ZeroDivisionError

    for transform in (px.jit, px.grad, px.make_jaxpr, px.vmap, lambda f: lambda x: px.jvp(f, (x,), (x,))):
        with pytest.raises(ZeroDivisionError):
            transform(fails)(X)
        assert core.current_trace() is core.eval_trace
        assert float(lax.sin(0.0)) == 0.0


def test_a_program_of_64_bits_can_be_lowered_outside_of_the_scope_it_was_traced_in():
    with px.enable_x64(True):
        traced = px.jit(lambda x: lax.cumlogsumexp(x)).trace(np.arange(3.0))
    assert "f64" in traced.lower().as_text()


def test_equations_of_one_line_share_their_source() -> None:
    def f(x):
        for _ in range(3):
            x = px.lax.sin(x)
        return px.lax.cos(x)

    *loop, last = px.make_jaxpr(f)(1.0).eqns
    assert len({id(eqn.source_info) for eqn in loop}) == 1
    assert last.source_info is not loop[0].source_info


def test_equations_without_parameters_share_one_dict() -> None:
    eqns = px.make_jaxpr(lambda x: px.lax.sin(px.lax.cos(x)))(1.0).eqns
    assert [eqn.params for eqn in eqns] == [{}, {}]
    assert eqns[0].params is eqns[1].params


def chain(n):
    """The function that applies a sine and a product n // 2 times."""

    def f(x):
        for _ in range(n // 2):
            x = lax.sin(x)
            x = lax.mul(x, x)
        return x

    return f


def test_an_equation_takes_at_most_350_bytes():
    px.make_jaxpr(chain(100))(X)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        closed = px.make_jaxpr(chain(20_000))(X)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(closed.eqns) == 20_000
    assert taken < 350 * 20_000


def test_the_collector_looks_at_each_equation_at_most_once():
    generations = []

    def note(phase, info):
        if phase == "start":
            generations.append(info["generation"])

    def f(x):
        gc.callbacks.append(note)
        try:
            return chain(40_000)(x)
        finally:
            gc.callbacks.remove(note)

    px.make_jaxpr(f)(X)
    assert len(generations) < 10
    if sys.version_info < (3, 14):  # later ones look at old objects bit by bit
        assert set(generations) <= {0}


@pytest.mark.parametrize("read", [pnp.asarray, pnp.array, lambda w: w, pnp.sum, lambda w: px.jit(pnp.asarray)(w)])
@pytest.mark.parametrize("loop", ["scan", "cond", "while"])
def test_memory_of_numpy_that_a_kept_program_reads_is_read_at_each_call(read: Any, loop: str) -> None:
    w = np.float32([1, 2, 3])

    def step(x: Any, _: Any = None) -> Any:
        return x + pnp.sum(read(w))

    def body(x: Any, _: Any) -> Any:
        return step(x), None

    def turn(carry: Any) -> Any:
        return carry[0] + 1, step(carry[1])

    runs: dict[str, Any] = {
        "scan": lambda: px.lax.scan(body, 0.0, None, length=1)[0],
        "cond": lambda: px.lax.cond(True, step, step, 0.0),
        "while": lambda: px.lax.while_loop(_is_first, turn, (0, 0.0))[1],
    }
    assert float(runs[loop]()) == 6.0
    w *= 5
    assert float(runs[loop]()) == 30.0


def _is_first(carry: Any) -> Any:
    return carry[0] < 1


def test_memory_that_is_written_to_while_a_program_is_staged_counts_as_it_was_read() -> None:
    def rows(x: Any) -> Any:
        memory, found = np.zeros(2, np.float32), []
        for i in range(3):
            memory[0] = i
            found.append(pnp.asarray(memory))
        return x + pnp.stack(found)

    np.testing.assert_array_equal(px.jit(rows)(0.0), [[0, 0], [1, 0], [2, 0]])


def test_an_array_made_of_memory_stays_what_it_was() -> None:
    w, kept = np.float32([1, 2]), []

    def body(x: Any, _: Any) -> Any:
        kept.append(pnp.asarray(w))
        return x + pnp.sum(kept[0]), None

    px.lax.scan(body, 0.0, None, length=1)
    w *= 5
    np.testing.assert_array_equal(px.jit(lambda x: x + kept[0])(0.0), [1, 2])
    np.testing.assert_array_equal(kept[0], [1, 2])


def test_make_jaxpr_takes_the_sizes_of_named_axes():
    closed = px.make_jaxpr(lambda x: px.lax.psum(x, "i") / px.lax.axis_size("i"), axis_env=[("i", 3)])(1.0)
    assert closed.eqns[0].primitive.name == "psum"
    with pytest.raises(NameError, match="i"):
        px.make_jaxpr(lambda x: px.lax.psum(x, "i"))(1.0)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (3, "axis_env must be a sequence, got 3"),
        (["i"], "axis_env must be pairs of a name and a size, got 'i'"),
        ([([], 2)], "axis_env must be pairs"),
        ([("i", "a")], "axis_env, the size of 'i', must be an integer, got 'a'"),
    ],
)
def test_axes_in_scope_are_pairs_of_a_name_and_a_size(axes, message):
    with pytest.raises(TypeError, match=message):
        px.make_jaxpr(lambda x: x, axis_env=axes)
