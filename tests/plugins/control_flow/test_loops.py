"""`scan`, `while_loop` and what is built on them: values, what is kept, what is computed once, and messages."""

from __future__ import annotations

import collections
import functools
import gc
import weakref

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core
from primax.extend.interpreters import partial_eval

ADD = lambda c, x: (c + x, c)  # noqa: E731


def equations(fun, *args):
    return px.make_jaxpr(fun)(*args).eqns


def scans(fun, *args):
    return [eqn for eqn in equations(fun, *args) if eqn.primitive.name == "scan"]


@hypothesis.settings(max_examples=12, deadline=None)
@hypothesis.given(
    length=st.integers(0, 7), unroll=st.sampled_from([1, 2, 3, 7, True]), reverse=st.booleans(), jit=st.booleans()
)
def test_scan_is_a_loop_of_python(length, unroll, reverse, jit):
    xs = np.arange(length, dtype=np.int32)
    run = functools.partial(
        lax.scan, lambda c, x: (2 * c + x, (c, x - c)), length=length, reverse=reverse, unroll=unroll
    )
    last, (a, b) = (px.jit(run) if jit else run)(np.int32(1), xs)
    carry, before = 1, {}
    for i in reversed(range(length)) if reverse else range(length):
        before[i] = carry
        carry = 2 * carry + i
    assert int(last) == carry
    assert a.tolist() == [before[i] for i in range(length)]
    assert b.tolist() == [i - before[i] for i in range(length)]


def test_scan_takes_and_gives_pytrees():
    carry, ys = lax.scan(
        lambda c, x: ({"n": c["n"] + 1, "none": None}, (x[0], [x[1]["b"] * c["n"]])),
        {"n": 0, "none": None},
        (np.arange(3), {"b": np.ones((3, 2), np.float32)}),
    )
    assert carry == {"n": 3, "none": None}
    assert ys[1][0].tolist() == [[0, 0], [1, 1], [2, 2]]


def test_a_carry_of_weak_type_takes_the_type_the_step_makes_of_it():
    last, _ = lax.scan(ADD, 0, np.ones(3, np.float32))
    assert last.dtype == np.float32
    assert not last.weak_type
    assert lax.while_loop(lambda x: x < 3, lambda x: x + np.float32(1), 0).dtype == np.float32
    assert lax.fori_loop(0, 3, lambda i, x: x + 1, 0).weak_type
    half = px.numpy.ones(3, "bfloat16")
    out, _ = lax.scan(lambda c, x: ((c[0] + x, c[1] + c[0], c[2] + c[1]), None), (0, 0.0, 0.0), half)
    assert [(x.dtype, float(x)) for x in out] == [(half.dtype, 3), (half.dtype, 3), (half.dtype, 1)]
    step = lambda c: (c[0] + 1, c[1] + half[0], c[2] + c[1], c[3] + c[2])  # noqa: E731
    out = lax.while_loop(lambda c: c[0] < 3, step, (0, 0.0, 0, 0.0))
    assert [x.dtype for x in out[1:]] == [half.dtype] * 3, out
    other = lax.while_loop(lambda x: x < 3, lambda x: x + 1.5, 1)  # of another dtype: not weak, as in jax
    assert other.dtype == px.numpy.result_type(float)
    assert not other.weak_type


def test_work_on_constants_alone_is_done_once_and_kept_once():
    def f(w, x, xs):
        return lax.scan(lambda c, e: (c * pnp.sin(pnp.exp(w)) + e, None), x, xs)[0]

    w, xs = np.ones(4, np.float32), np.ones((10, 4), np.float32)
    forward, backward = scans(px.grad(lambda *a: f(*a).sum(), (0, 1)), w, w, xs)
    assert {"sin", "exp"} & {eqn.primitive.name for eqn in forward.params["jaxpr"].eqns} == set()
    stacked = [v.aval.shape for v in (*forward.outvars, *backward.invars) if v.aval.shape == (10, 4)]
    assert len(stacked) == 2, "the carries, made and read; nothing else is stacked"


def test_known_steps_run_once_and_the_rest_is_linear():
    def f(x):
        return lax.scan(lambda c, _: (pnp.sin(c), c), x, None, length=5)

    _, linear = px.linearize(f, 1.0)
    names = {eqn.primitive.name for eqn in scans(linear, 1.0)[0].params["jaxpr"].eqns}
    assert names <= {"mul"}


def test_a_carry_without_tangent_has_none_in_the_loop():
    def f(x):
        return lax.scan(lambda c, _: ((c[0] + 1, c[1] * x, c[2] * 2.0), None), (0, x, 1.0), None, length=3)[0][1]

    (eqn,) = scans(lambda x: px.jvp(f, (x,), (x,)), 2.0)
    assert eqn.params["num_carry"] == 3 + 1


def test_an_unbatched_carry_stays_so():
    def f(x):
        return lax.scan(lambda c, _: ((c[0] * 2.0, c[1] + x), c[0]), (1.0, x), None, length=3)

    (eqn,) = scans(px.vmap(f), np.ones(4, np.float32))
    assert [v.aval.shape for v in eqn.outvars] == [(), (4,), (3,)]


def test_what_nobody_reads_is_not_computed():
    def f(x, y):
        return lax.scan(lambda c, e: ((pnp.sin(c[0]), c[1] * e), (c[0], c[1])), (x, y), np.ones(3, np.float32))

    closed = px.make_jaxpr(f)(1.0, 2.0)
    trimmed, used = core.dce_jaxpr(closed.jaxpr, [True, False, False, False])
    assert used == [True, False]
    assert [eqn.primitive.name for eqn in trimmed.eqns[-1].params["jaxpr"].eqns] == ["sin"]
    loop = px.make_jaxpr(lambda x, y: lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] * 2, s[1] + 1), (x, y)))(1, 2)
    trimmed, used = core.dce_jaxpr(loop.jaxpr, [True, False])
    assert used == [True, False]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_fori_loop_with_known_bounds_differentiates_in_reverse(n):
    def power(x):
        return lax.fori_loop(0, n, lambda i, y: y * x, 1.0)

    assert float(px.grad(power)(2.0)) == n * 2.0 ** (n - 1)
    assert float(px.jit(lambda m, x: lax.fori_loop(0, m, lambda i, y: y * x, 1.0))(n, 2.0)) == 2.0**n


def test_fori_loop_passes_the_index_and_may_be_empty():
    assert int(lax.fori_loop(2, 6, lambda i, x: x * 10 + i, 0)) == 2345
    assert int(lax.fori_loop(5, 2, lambda i, x: x + 1, 7)) == 7
    assert int(px.jit(lambda a, b: lax.fori_loop(a, b, lambda i, x: x + i, 0))(np.int8(1), np.int8(4))) == 6


def test_fori_loop_counts_in_the_type_of_its_bounds():
    last = lambda a, b, init: lax.fori_loop(a, b, lambda i, _: i, init)  # noqa: E731
    assert last(0, 2, 0).weak_type
    assert px.jit(last, static_argnums=2)(0, 2, 0).weak_type
    eights = px.jit(last, static_argnums=2)(np.int8(0), np.int8(2), np.int8(0))
    assert eights.dtype == np.int8
    assert not eights.weak_type


def test_a_mapped_condition_goes_on_for_each_element_as_long_as_it_holds():
    def f(x, limit):
        return lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] * 2, s[1] + 1), (x, 0))

    x, limit = np.array([1, 3, 50]), np.array([10, 100, 20])
    doubled, count = px.vmap(f)(x, limit)
    assert (doubled.tolist(), count.tolist()) == ([16, 192, 50], [4, 6, 0])
    assert px.vmap(f, (None, 0))(1, limit)[1].tolist() == [4, 7, 5]


def test_while_differentiates_forward_and_says_why_not_in_reverse():
    def f(x):
        return lax.while_loop(lambda y: y < 100.0, lambda y: y * x, x)

    assert float(px.jvp(f, (3.0,), (1.0,))[1]) == 5 * 3.0**4
    assert float(px.linearize(f, 3.0)[1](2.0)) == 2 * 5 * 3.0**4
    assert float(px.jit(px.jacfwd(f))(3.0)) == 5 * 3.0**4
    with pytest.raises(ValueError, match="use scan, or fori_loop"):
        px.grad(f)(3.0)


def test_a_loop_whose_result_has_no_tangent_does_not_hinder_a_gradient():
    def f(x):
        steps = lax.while_loop(lambda n: n < 5, lambda n: n + 2, 1)
        return x * steps

    assert float(px.grad(f)(2.0)) == 5.0


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 7, 100])
def test_map_is_the_same_in_batches(batch_size):
    xs = {"a": np.arange(7), "b": np.arange(14.0, dtype=np.float32).reshape(7, 2)}
    out = lax.map(lambda x: (x["a"] * x["b"], x["a"] + 1), xs, batch_size=batch_size)
    np.testing.assert_array_equal(out[0], xs["a"][:, None] * xs["b"])
    assert out[1].tolist() == list(range(1, 8))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_associative_scan_is_a_running_total(size, reverse):
    x = np.arange(2.0 * size, dtype=np.float32).reshape(2, size)
    flip = slice(None, None, -1) if reverse else slice(None)
    want = np.cumsum(x[:, flip], 1)[:, flip]
    np.testing.assert_allclose(lax.associative_scan(lax.add, x, reverse, axis=-1), want)
    any_so_far = lax.associative_scan(lax.bitwise_or, x > 2, reverse, axis=1)
    assert any_so_far.tolist() == (np.maximum.accumulate((x > 2)[:, flip], 1)[:, flip]).tolist()


def test_loops_called_again_compile_once():
    def step(c, x):
        traced.append(1)
        return c + x, c

    traced = []
    for _ in range(3):
        lax.scan(step, 0.0, np.ones(3, np.float32))
    assert len(traced) <= 2  # once more for the carry that begins with a weak type


def test_a_loop_over_known_bounds_is_traced_and_compiled_once(caplog):
    def double(i, x):
        traced.append(1)
        return x * 2.0

    traced = []
    with px.log_compiles(True):
        outs = [lax.fori_loop(0, 3, double, pnp.ones(2)).tolist() for _ in range(3)]
    assert outs == [[8.0, 8.0]] * 3
    assert len(traced) == 1
    assert len([record for record in caplog.records if "compile" in record.getMessage()]) <= 1


def test_map_reads_what_its_function_closes_over_at_each_call():
    factor = 1.0
    scale = lambda x: x * factor  # noqa: E731
    assert lax.map(scale, pnp.ones(2)).tolist() == [1.0, 1.0]
    factor = 2.0
    assert lax.map(scale, pnp.ones(2)).tolist() == [2.0, 2.0]


def test_a_loop_over_known_bounds_does_not_keep_its_body():
    def body(i, x):
        return x + 1.0

    lax.fori_loop(0, 3, body, 0.0)
    gone = weakref.ref(body)
    del body
    gc.collect()
    assert gone() is None


def test_derivatives_of_loops_taken_again_compile_nothing(caplog):
    below, double, halve = lambda x: x < 9.0, lambda x: x * 2.0, lambda c, _: (c * 0.5, None)

    def derivatives():
        px.grad(lambda x: lax.scan(halve, x, None, length=3)[0])(1.0)
        px.jvp(lambda x: lax.while_loop(below, double, x), (1.0,), (1.0,))

    derivatives()
    with px.log_compiles(True):
        derivatives()
    assert not caplog.records


def test_ordered_effects_keep_their_order_in_loops(capfd):
    def f(x):
        px.debug.print("begin", ordered=True)
        x = lax.fori_loop(0, 3, lambda i, c: (px.debug.print("step {}", i, ordered=True), c + 1)[1], x)
        x = lax.while_loop(lambda c: c < 5, lambda c: (px.debug.print("at {}", c, ordered=True), c + 1)[1], x)
        px.debug.print("end {}", x, ordered=True)
        return x

    px.jit(f)(0)
    px.effects_barrier()
    assert capfd.readouterr().out.splitlines() == ["begin", "step 0", "step 1", "step 2", "at 3", "at 4", "end 5"]


def test_the_known_part_of_a_loop_has_the_effects_that_it_keeps():
    def body(carry):
        px.debug.print("{}", carry[1])
        return carry[0] + 1, carry[1] * 2.0

    closed = px.make_jaxpr(lambda i, x: lax.while_loop(lambda c: c[0] < 3, body, (i, x)))(np.int32(0), np.float32(1))
    split = partial_eval.partial_eval_jaxpr(closed, [False, True])
    core.check_jaxpr(split.known)
    assert not split.known.effects
    assert split.unknown.effects


def test_what_a_while_loop_computes_again_has_no_effects_again():
    seen = []

    def body(carry):
        i, x, y = carry
        px.debug.callback(lambda x, y: seen.append((float(x), float(y))), x, y)
        return i + 1, x * 2, lax.cond(i >= 0, lambda y: (px.debug.callback(lambda: seen.append("in")), y * x)[1], id, y)

    def id(y):
        return y

    f = px.jit(lambda y: lax.while_loop(lambda c: c[0] < 2, body, (0, np.float32(1), y))[1:])
    out, tangents = px.linearize(f, np.float32(3))
    np.testing.assert_allclose([*out, tangents(np.float32(1))[1]], [4, 6, 2])
    px.effects_barrier()
    assert sorted(seen, key=str) == [(1, 3), (2, 3), "in", "in"]


def test_a_gradient_of_a_scan_keeps_effects_in_the_loop(capfd):
    def f(x):
        return lax.scan(lambda c, _: (px.debug.print("step"), (pnp.sin(c), None))[1], x, None, length=3)[0]

    px.grad(f)(1.0)
    px.effects_barrier()
    assert capfd.readouterr().out.count("step") == 3


def test_tracers_of_enclosing_transformations_may_be_closed_over():
    def f(x):
        return px.vmap(lambda y: lax.scan(lambda c, e: (c * x + e * y, None), y, np.ones(2, np.float32))[0])(
            np.float32([1, 2])
        ).sum()

    x = 3.0
    assert float(px.grad(f)(x)) == sum(2 * x * y + y for y in (1, 2))


def test_with_disable_jit_loops_are_python():
    seen = []
    with px.disable_jit():
        last, ys = lax.scan(lambda c, x: (seen.append(int(x)), (c + x, c))[1], 0, np.arange(3), reverse=True)
        count = lax.while_loop(lambda x: x < 5, lambda x: x + 2, 0)
    assert (count, type(count), count.weak_type) == (6, px.Array, True)
    assert (int(last), ys.tolist(), seen) == (3, [3, 2, 0], [2, 1, 0])


def test_with_disable_jit_loops_get_arrays_too():
    with px.disable_jit():
        last, ys = lax.scan(lambda c, x: (c.at[0].add(x), x), np.zeros(2), np.arange(3.0))
        assert lax.while_loop(lambda x: x < 3, lambda x: x.at[()].add(1), 0) == 3
        assert lax.while_loop(lambda x: x < 3, lambda x: 7, 0).astype(np.float32) == 7
        with pytest.raises(TypeError, match="must return a pair"):
            lax.scan(lambda c, x: c, 0, np.arange(3))
    assert last.tolist() == [3, 0]
    assert last.dtype == ys.dtype == pnp.zeros(0).dtype


@pytest.mark.parametrize("disabled", [False, True])
def test_the_pair_of_a_step_is_of_any_class(disabled):
    Step = collections.namedtuple("Step", "carry y")
    with px.disable_jit(disabled):
        found = lax.scan(lambda c, x: Step(c + x, c), 0, np.arange(3))
        listed = lax.scan(lambda c, x: [c + x, c], 0, np.arange(3))
    assert isinstance(found, Step)
    assert (int(found.carry), found.y.tolist()) == (3, [0, 0, 1])
    assert isinstance(listed, list)
    assert (int(listed[0]), listed[1].tolist()) == (3, [0, 0, 1])


@pytest.mark.parametrize(
    "call, error, phrases",
    [
        (lambda: lax.scan(lambda c, x: c, 0, np.arange(3)), TypeError, ["must return a pair (carry, y)"]),
        (lambda: lax.scan(lambda c, x: (c + 1.5, x), np.int32(0), np.arange(3)), TypeError, ["init is i32[]", "f32[]"]),
        (
            lambda: lax.scan(lambda c, x: ((c, c), x), 0, np.arange(3)),
            TypeError,
            ["init is a leaf", "tuple of length 2"],
        ),
        (
            lambda: lax.scan(lambda c, x: ({"a": c["a"][:1]}, x), {"a": np.zeros(3, np.float32)}, np.arange(3)),
            TypeError,
            ["['a']", "f32[3]", "f32[1]"],
        ),
        (lambda: lax.scan(ADD, 0), ValueError, ["length must be given"]),
        (lambda: lax.scan(ADD, 0, (np.ones(3), np.ones(4))), ValueError, ["xs[1]", "got 4 and 3"]),
        (lambda: lax.scan(ADD, 0, np.ones(3), length=4), ValueError, ["as length", "got 3 and 4"]),
        (lambda: lax.scan(ADD, 0, 1.0), ValueError, ["must have an axis", "f32[]"]),
        (lambda: lax.scan(ADD, 0, np.ones(3), length=1.5), TypeError, ["length must be an integer, got 1.5"]),
        (lambda: lax.scan(ADD, 0, np.ones(3), unroll=-1), ValueError, ["unroll must not be negative"]),
        (lambda: lax.scan(3, 0, np.ones(3)), TypeError, ["f must be a function"]),
        (lambda: lax.while_loop(lambda x: x, lambda x: x, 1), TypeError, ["boolean of rank 0", "i32[]"]),
        (lambda: lax.while_loop(lambda x: (x, x), lambda x: x, 1), TypeError, ["must return one boolean"]),
        (
            lambda: lax.while_loop(lambda x: True, lambda x: (x,), 1),
            TypeError,
            [
                "while_loop: body function carry input and carry output must have the same pytree structure",
                "body_fun is <lambda> at",
            ],
        ),
        (lambda: lax.scan(ADD, 0, np.ones(3), unroll=2.0), TypeError, ["scan: unroll must be an integer, got 2.0"]),
        (lambda: lax.fori_loop(0, 1.5, lambda i, x: x, 0), TypeError, ["must be of the same dtype", "i32[] and f32[]"]),
        (lambda: lax.fori_loop(0.0, 1.5, lambda i, x: x, 0), ValueError, ["upper must be a whole number, got 1.5"]),
        (lambda: lax.fori_loop(0.0, np.nan, lambda i, x: x, 0), ValueError, ["upper must be a whole number, got nan"]),
        (lambda: lax.fori_loop(1j, 3j, lambda i, x: x, 0), TypeError, ["lower must be a real number", "c64[]"]),
        (lambda: lax.fori_loop("a", 3, lambda i, x: x, 0), TypeError, ["fori_loop: lower", "'a'"]),
        (lambda: lax.map(lambda x: x, np.ones(3), batch_size=-1), ValueError, ["batch_size must not be negative"]),
        (lambda: lax.associative_scan(lax.add, np.ones(3), axis=1), ValueError, ["axis must be an axis", "got 1"]),
        (lambda: lax.associative_scan(lambda a, b: (a, b), np.ones(3)), TypeError, ["structure of elems"]),
    ],
)
def test_wrong_calls_say_what_would_be_right(call, error, phrases):
    with px.enable_x64(False), pytest.raises(error) as caught:
        call()
    for phrase in phrases:
        assert phrase in str(caught.value)


@pytest.mark.parametrize(
    "lower,upper", [(0.0, 3.0), (np.float16(0), np.float16(3)), (False, True), (np.int8(0), 3), (3.0, 0.0)]
)
def test_known_bounds_are_whole_numbers_of_any_real_dtype(lower, upper):
    steps = range(int(lower), int(upper))
    assert lax.fori_loop(lower, upper, lambda i, x: x + i, 0) == sum(steps)
    assert px.grad(lambda v: lax.fori_loop(lower, upper, lambda i, x: x * v, 1.0))(2.0) == len(steps) * 2.0 ** max(
        len(steps) - 1, 0
    )


@pytest.mark.parametrize("upper", [3.0, np.float32(3), 3, np.int8(3)])
def test_traced_bounds_are_of_any_real_dtype(upper):
    lower = upper - upper
    assert px.jit(lambda a, b: lax.fori_loop(a, b, lambda i, x: x + i, 0.0 * b))(lower, upper) == 3


@pytest.mark.parametrize("unroll", [None, 1, False])
def test_a_loop_of_traced_bounds_takes_one_step_at_a_time(unroll):
    assert px.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x + i, 0, unroll=unroll))(4) == 6
    with pytest.raises(ValueError, match="unroll needs lower and upper"):
        px.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x + i, 0, unroll=2))(4)


def test_no_unrolling_and_no_batches_are_asked_for_by_zero():
    xs = np.arange(4.0, dtype=np.float32)
    assert lax.scan(ADD, 0.0, xs, unroll=0)[1].tolist() == [0, 0, 1, 3]
    assert lax.fori_loop(0, 3, lambda i, x: x + i, 0, unroll=0) == 3
    assert lax.map(lambda x: 2 * x, xs, batch_size=0).tolist() == [0, 2, 4, 6]


def test_a_loop_without_steps_returns_its_first_value_in_python_too():
    with px.disable_jit():
        assert lax.fori_loop(3, 0, lambda i, x: x + i, 5.0) == 5.0
        with pytest.raises(ValueError, match="at least one step"):
            lax.scan(ADD, 0.0, np.zeros(0))


@pytest.mark.parametrize("dtype", ["float64", "complex128", "bfloat16", "bool", "uint8"])
def test_carries_and_elements_are_of_any_type(dtype):
    with px.enable_x64(True):
        xs = pnp.asarray(np.array([0, 1, 1, 0])).astype(dtype)
        last, ys = lax.scan(lambda c, x: (x, c), xs[0], xs)
        assert last.dtype == ys.dtype == xs.dtype
        assert ys.astype("float32").tolist() == [0, 0, 1, 1] if dtype != "complex128" else [0, 0, 1, 1]


def test_malformed_programs_are_refused():
    jaxpr = px.make_jaxpr(lambda x: lax.scan(ADD, x, np.ones(3, np.float32)))(np.float32(1)).jaxpr
    eqn = jaxpr.eqns[-1]
    with pytest.raises(core.JaxprTypeError, match="the scan takes 4 steps"):
        core.check_jaxpr(jaxpr.replace(eqns=[eqn.replace(params={**eqn.params, "length": 4})]))
    swapped = core.ClosedJaxpr(eqn.params["jaxpr"].jaxpr.replace(outvars=[eqn.params["jaxpr"].jaxpr.invars[0]] * 2))
    core.check_jaxpr(jaxpr.replace(eqns=[eqn.replace(params={**eqn.params, "jaxpr": swapped})]))


def test_the_memory_of_a_reverse_scan_is_what_its_steps_need():
    def f(x):
        return lax.scan(lambda c, _: (pnp.sin(c), None), x, None, length=1000)[0].sum()

    x = np.ones(16, np.float32)
    used = px.jit(px.grad(f)).lower(x).compile().memory_analysis().temp_size_in_bytes
    assert used <= 1.1 * (1000 * 16 * 4)


def _counted(step, /, **carry):
    """The carry after three steps, which count them."""
    out = lax.while_loop(lambda c: c["n"] < 3, lambda c: {**step(c), "n": c["n"] + 1}, {**carry, "n": 0})
    return {name: out[name] for name in carry}


def test_what_a_while_loop_passes_on_has_a_derivative_in_reverse():
    def f(x):
        out = _counted(lambda c: {"kept": c["kept"], "scaled": 2 * c["scaled"]}, kept=pnp.sin(x), scaled=1.0)
        return out["kept"] * out["scaled"]

    np.testing.assert_allclose(px.grad(f)(0.5), 8 * np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(px.jit(px.hessian(f))(0.5), -8 * np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(px.vmap(px.grad(f))(pnp.arange(2.0)), 8 * np.cos([0.0, 1.0]), rtol=1e-6)
    assert px.grad(lambda x: lax.while_loop(lambda x: False, lambda x: x, x))(3.0) == 1.0


def test_what_a_while_loop_passes_on_is_an_array_and_used_by_its_steps():
    out = _counted(lambda c: {"step": c["step"], "sum": c["sum"] + c["step"]}, step=2, sum=1.0)
    assert isinstance(out["step"], px.Array)
    assert (out["step"].tolist(), out["sum"].tolist()) == (2, 7.0)
    value, change = px.jvp(
        lambda x: _counted(lambda c: {"x": c["x"], "y": c["y"] * c["x"]}, x=x, y=1.0)["y"], (2.0,), (1.0,)
    )
    assert (value, change) == (8.0, 12.0)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1]), (0.0, x))[1],
        lambda x: _counted(lambda c: {"x": c["y"], "y": c["x"]}, x=x, y=x)["x"],
    ],
    ids=["read by the condition", "exchanged"],
)
def test_what_a_while_loop_reads_or_moves_has_none(fun):
    with pytest.raises(ValueError, match="while_loop cannot be differentiated in reverse mode") as error:
        px.grad(fun)(2.0)
    assert any("bound at" in note and "test_loops.py" in note for note in error.value.__notes__)
