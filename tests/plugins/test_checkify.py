"""`checkify`: what fails in a program is a value, under every transformation, as in jax."""

from __future__ import annotations

import re

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.experimental import checkify
from primax.extend import core, define_primitive, derive
from primax.extend.core import primitives

VECTOR = np.arange(5, dtype=np.float32)


def modules(which, jax):
    """The modules of one of the two: itself, its numpy, lax and checkify."""
    if which == "primax":
        return px, pnp, lax, checkify
    return jax, jax.numpy, jax.lax, __import__("jax.experimental.checkify", fromlist=["checkify"])


def positive(m, np_, lax_, ck):
    def f(x):
        x = np_.asarray(x)
        ck.check(x > 0, "must be positive, got {}", x)
        return np_.log(x)

    return f


def stepped(m, np_, lax_, ck):
    f = positive(m, np_, lax_, ck)
    return lambda xs: lax_.scan(lambda c, x: (c + f(x), x), 0.0, xs)[0]


def body_of_while(m, np_, lax_, ck):
    def body(c):
        ck.check(c < 1.0, "body {}", c)
        return c + 1.0

    return lambda x: lax_.while_loop(lambda c: c < 3, body, x)


def test_of_while(m, np_, lax_, ck):
    def test(c):
        ck.check(c < 2.0, "test {}", c)
        return c < 3

    return lambda x: lax_.while_loop(test, lambda c: c + 1.0, x)


test_of_while.__test__ = False


def counted(m, np_, lax_, ck):
    def body(i, c):
        ck.check(i < 2, "i={i}", i=i)
        return c + 1.0

    return lambda x: lax_.fori_loop(0, 3, body, x)


def branched(m, np_, lax_, ck):
    f = positive(m, np_, lax_, ck)
    return lambda x: lax_.cond(x > 0, lambda y: f(y - 5.0), lambda y: y, x)


def twice(m, np_, lax_, ck):
    def f(x):
        ck.check(x > 0, "first")
        ck.check(x > 1, "second")
        return x

    return f


def formatted(m, np_, lax_, ck):
    def f(x):
        ck.check(np_.all(x > 0), "{} and {total:.2f}", x, total=x.sum())
        return x

    return f


def rechecked(m, np_, lax_, ck):
    f = positive(m, np_, lax_, ck)

    def g(x):
        error, out = ck.checkify(f)(x)
        ck.check_error(error)
        return out

    return g


def with_jvp(m, np_, lax_, ck):
    f = m.custom_jvp(positive(m, np_, lax_, ck))
    f.defjvps(lambda t, out, x: t * 7.0)
    return f


def with_vjp(m, np_, lax_, ck):
    g = positive(m, np_, lax_, ck)
    f = m.custom_vjp(g)
    f.defvjp(lambda x: (np_.log(x), x), lambda x, ct: (ct * 7.0,))
    return f


def checkpointed(m, np_, lax_, ck):
    return m.checkpoint(positive(m, np_, lax_, ck))


USER = {
    "fine": (positive, 2.0),
    "fails": (positive, -2.0),
    "jit": (lambda *m: m[0].jit(positive(*m)), -2.0),
    "grad": (lambda *m: m[0].grad(positive(*m)), -2.0),
    "value_and_grad": (lambda *m: m[0].value_and_grad(m[0].jit(positive(*m))), -2.0),
    "scan": (stepped, np.float32([1.0, -1.0, -2.0])),
    "scan that is fine": (stepped, np.float32([1.0, 2.0])),
    "while": (body_of_while, 0.0),
    "while that does not run": (body_of_while, 5.0),
    "test of while": (test_of_while, 0.0),
    "fori_loop": (counted, 0.0),
    "branch taken": (branched, 1.0),
    "branch not taken": (branched, -1.0),
    "first of two": (twice, -1.0),
    "second of two": (twice, 0.5),
    "formatted": (formatted, -np.ones(3, np.float32)),
    "check_error": (rechecked, -1.0),
    "custom_jvp": (with_jvp, -1.0),
    "grad of custom_jvp": (lambda *m: m[0].grad(with_jvp(*m)), -1.0),
    "custom_vjp": (with_vjp, -1.0),
    "checkpoint": (checkpointed, -1.0),
    "grad of checkpoint": (lambda *m: m[0].grad(checkpointed(*m)), -1.0),
    "debug_check": (lambda *m: lambda x: (m[3].debug_check(x > 0, "debug"), x)[1], -1.0),
    "known": (lambda *m: lambda x: (m[3].check(m[1].asarray(False), "known"), x)[1], -1.0),
}
INDEX = {
    "x[i]": (lambda m, np_, lax_, ck: lambda i: np_.asarray(VECTOR)[i], 7),
    "x[i] inside": (lambda m, np_, lax_, ck: lambda i: np_.asarray(VECTOR)[i], 4),
    "x[-i]": (lambda m, np_, lax_, ck: lambda i: np_.asarray(VECTOR)[i], -6),
    "x[array]": (lambda m, np_, lax_, ck: lambda i: np_.asarray(VECTOR)[i], np.array([1, 9, 10])),
    "x[i, 0]": (lambda m, np_, lax_, ck: lambda i: np_.asarray(VECTOR.reshape(5, 1))[i, 0], 7),
    "set": (lambda m, np_, lax_, ck: lambda i: np_.asarray(VECTOR).at[i].set(1.0), 7),
    "add": (lambda m, np_, lax_, ck: lambda i: np_.asarray(VECTOR).at[i].add(1.0), 7),
    "dynamic_slice": (lambda m, np_, lax_, ck: lambda i: lax_.dynamic_slice(VECTOR, (i,), (2,)), 4),
    "dynamic_update_slice": (
        lambda m, np_, lax_, ck: lambda i: lax_.dynamic_update_slice(VECTOR, VECTOR[:2], (i,)),
        4,
    ),
    "take": (lambda m, np_, lax_, ck: lambda i: np_.take(VECTOR, i), 7),
    "take_along_axis": (lambda m, np_, lax_, ck: lambda i: np_.take_along_axis(VECTOR, i, 0), np.array([7])),
    "in scan": (
        lambda m, np_, lax_, ck: (
            lambda n: lax_.scan(lambda c, i: (c + np_.asarray(VECTOR)[i], i), np_.float32(0), np_.arange(7) * n)[0]
        ),
        1,
    ),
}
FLOAT = {
    "nan": (lambda m, np_, lax_, ck: np_.sin, np.float32(np.inf)),
    "no nan": (lambda m, np_, lax_, ck: np_.sin, np.float32(1)),
    "division": (lambda m, np_, lax_, ck: lambda x: np_.float32(1) / x, np.float32(0)),
    "integers": (lambda m, np_, lax_, ck: lambda x: lax_.div(np_.int32(1), x), np.int32(0)),
    "sqrt": (lambda m, np_, lax_, ck: m.grad(np_.sqrt), np.float32(0)),
    "where": (
        lambda m, np_, lax_, ck: m.value_and_grad(lambda x: np_.where(x > 0, x, 0.0) / x),
        np.float32(0),
    ),
    "in jit": (lambda m, np_, lax_, ck: m.jit(lambda x: np_.log(np_.sin(x))), np.float32(4)),
    "in while": (
        lambda m, np_, lax_, ck: lambda x: lax_.while_loop(lambda c: c > -2, lambda c: np_.log(c) - 1, x),
        np.float32(0.5),
    ),
    "product": (lambda m, np_, lax_, ck: lambda x: np_.dot(x, x), np.float32([np.inf, 0.0, np.nan])),
}
CASES = {
    **{f"user: {name}": (*case, "user_checks") for name, case in USER.items()},
    **{f"index: {name}": (*case, "index_checks") for name, case in INDEX.items()},
    **{f"float: {name}": (*case, "float_checks") for name, case in FLOAT.items()},
}


@pytest.mark.parametrize("name", CASES)
def test_errors_and_results_are_those_of_jax(name, jax):
    make, x, errors = CASES[name]

    def outcome(which, compiled):
        m = modules(which, jax)
        f = m[3].checkify(make(*m), errors=getattr(m[3], errors))
        error, out = (m[0].jit(f) if compiled else f)(m[1].asarray(x))
        return error.get(), [np.asarray(leaf) for leaf in px.tree.leaves(out)]

    theirs, expected = outcome("jax", True)
    for compiled in (False, True):
        ours, results = outcome("primax", compiled)
        assert (ours and ours.strip()) == (theirs and re.sub(r"\s+", " ", theirs).strip())
        for mine, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5)


def test_an_error_under_vmap_tells_for_each_element(jax):
    xs = pnp.asarray([1.0, -2.0, -3.0])
    f = positive(px, pnp, lax, checkify)
    error, _ = px.vmap(checkify.checkify(f))(xs)
    m = modules("jax", jax)
    theirs, _ = jax.vmap(m[3].checkify(positive(*m)))(jax.numpy.asarray(xs))
    assert error.get() == theirs.get()
    assert "at mapped index 1: must be positive, got -2.0" in error.get()
    error, _ = checkify.checkify(px.vmap(f))(xs)
    assert error.get() == "must be positive, got -2.0 (`check` failed)"
    error, _ = checkify.checkify(px.vmap(px.vmap(f), in_axes=1))(xs.reshape(1, 3))
    assert error.get() == "must be positive, got -2.0 (`check` failed)"
    error, _ = px.vmap(checkify.checkify(stepped(px, pnp, lax, checkify)))(pnp.asarray([[1.0, 2.0], [1.0, -2.0]]))
    assert error.get() == "at mapped index 1: must be positive, got -2.0 (`check` failed)"


def test_checks_survive_the_derivative_of_a_loop():
    f = px.grad(stepped(px, pnp, lax, checkify))
    error, found = checkify.checkify(f)(pnp.asarray([1.0, -1.0, -2.0]))
    assert error.get() == "must be positive, got -1.0 (`check` failed)"
    np.testing.assert_allclose(found, [1.0, -1.0, -0.5])
    error, _ = px.jit(checkify.checkify(f))(pnp.asarray([1.0, 1.0]))
    assert error.get() is None


def test_an_error_is_thrown_or_looked_at():
    f = px.jit(checkify.checkify(positive(px, pnp, lax, checkify)))
    error, _ = f(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match=r"must be positive, got -1\.0"):
        error.throw()
    assert isinstance(error.get_exception(), checkify.FailedCheckError)
    fine, _ = f(1.0)
    fine.throw()
    assert (fine.get(), fine.get_exception()) == (None, None)
    assert repr(fine) == "Error(None)"
    assert checkify.init_error.get() is None
    oob, _ = checkify.checkify(lambda i: pnp.arange(3)[i], errors=checkify.all_checks)(9)
    assert isinstance(oob.get_exception(), checkify.OOBError)


def test_a_check_outside_of_programs_raises_and_inside_must_be_transformed():
    f = positive(px, pnp, lax, checkify)
    assert float(f(1.0)) == 0.0
    with pytest.raises(checkify.JaxRuntimeError, match=r"must be positive, got -1\.0"):
        f(-1.0)
    with pytest.raises(checkify.JaxRuntimeError, match=r"must be positive, got -1\.0"):
        px.vmap(f)(pnp.asarray([1.0, -1.0]))
    assert float(px.grad(f)(2.0)) == 0.5
    with pytest.raises(ValueError, match="must be transformed by checkify before it is compiled"):
        px.jit(f)(1.0)
    checkify.debug_check(False, "nothing happens")
    px.jit(lambda x: (checkify.debug_check(x > 0, "nothing happens"), x)[1])(-1.0)


@pytest.mark.parametrize(
    "read, said",
    [
        (lambda x: x[3, 0], "index 3 is out of bounds for axis 0 with size 3"),
        (lambda x: x[1, -9], "index -5 is out of bounds for axis 1 with size 4"),
        (lambda x: x[7], "index 7 is out of bounds for axis 0"),
        (lambda x: x[np.array([0, 1]), 9], "index 9 is out of bounds for axis 1"),
        (lambda x: x.at[8, 1].set(1.0), "index 8 is out of bounds for axis 0"),
        (lambda x: x.at[:, 6].add(1.0), "index 6 is out of bounds for axis 1"),
        (lambda x: x[-3, -4], None),
        (lambda x: x[1:9], None),
        (lambda x: x.at[9].get(mode="clip"), None),
    ],
)
def test_known_indices_are_checked(read, said):
    error, out = checkify.checkify(read, errors=checkify.index_checks)(np.ones((3, 4), np.float32))
    assert said is None if error.get() is None else said in error.get()
    assert out.shape == read(pnp.ones((3, 4))).shape


def test_a_condition_that_ignores_what_it_computes_of_a_constant_carry():
    def run(c):
        condition = lambda v: (pnp.sin(v[1]), v[0] < 2)[1]  # noqa: E731
        return lax.while_loop(condition, lambda v: (v[0] + 1, v[1], v[2] / c), (0, c, 1.0))

    error, (_, _, last) = checkify.checkify(run, errors=checkify.float_checks)(2.0)
    assert (error.get(), float(last)) == (None, 0.25)
    assert checkify.checkify(run, errors=checkify.float_checks)(0.0)[0].get() == "division by zero"


def test_kinds_of_checks_are_those_that_were_asked_for():
    f = positive(px, pnp, lax, checkify)
    error, _ = checkify.checkify(f, errors=checkify.index_checks)(-1.0)
    assert error.get() is None
    error, _ = checkify.checkify(f, errors=checkify.nan_checks)(-1.0)
    assert error.get() == "nan generated by primitive: log."
    error, _ = checkify.checkify(f, errors=checkify.all_checks)(-1.0)
    assert error.get() == "must be positive, got -1.0 (`check` failed)"
    with pytest.raises(TypeError, match="errors must be a set of kinds of checks"):
        checkify.checkify(f, errors="user")
    with pytest.raises(TypeError, match="f must be callable"):
        checkify.checkify(3)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: checkify.check(pnp.ones(3) > 0, "a"), TypeError, r"pred must be a boolean of rank 0, got bool\[3\]"),
        (lambda: checkify.check(1, "a"), TypeError, "pred must be a boolean of rank 0"),
        (lambda: checkify.check(True, 3), TypeError, "msg must be a str, got 3"),
        (lambda: checkify.check(True, "{}", "a"), TypeError, "formatting arguments are arrays and numbers"),
        (lambda: checkify.check(True, "{} {}", 1.0), ValueError, "msg must have the fields of its arguments"),
        (lambda: checkify.check_error(3), TypeError, "error must be an Error, got 3"),
    ],
)
def test_arguments_of_checks_are_checked(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_derivatives_of_checked_functions_keep_custom_rules():
    for make in (with_jvp, with_vjp):
        f = make(px, pnp, lax, checkify)
        derivative = px.grad(lambda x, f=f: checkify.checkify(f)(x)[::-1], has_aux=True)
        found, error = derivative(2.0)
        assert (float(found), error.get()) == (7.0, None)
        found, error = px.jit(derivative)(-2.0)
        assert "must be positive, got -2.0" in error.get()
    quiet = px.custom_jvp(pnp.sin)
    quiet.defjvps(lambda t, out, x: t * 9.0)
    found, _ = px.grad(lambda x: checkify.checkify(quiet, errors=checkify.nan_checks)(x)[::-1], has_aux=True)(1.0)
    assert float(found) == 9.0


def test_a_program_is_traced_once_and_parts_without_checks_stay_as_they_are():
    traced = []

    @px.jit
    def inner(x):
        traced.append(None)
        return pnp.sin(x)

    f = checkify.checkify(lambda x: inner(x) + positive(px, pnp, lax, checkify)(x))
    f(1.0)
    f(2.0)
    assert len(traced) == 1
    text = str(px.make_jaxpr(f)(1.0))
    assert "name=inner" in text


def test_functions_called_twice_tell_the_first_failure():
    f = px.jit(positive(px, pnp, lax, checkify))
    error, _ = checkify.checkify(lambda x, y: f(x) + f(y))(1.0, -3.0)
    assert error.get() == "must be positive, got -3.0 (`check` failed)"
    error, _ = checkify.checkify(lambda x, y: f(x) + f(y))(-2.0, -3.0)
    assert error.get() == "must be positive, got -2.0 (`check` failed)"


def test_primitives_of_others_are_given_rules():
    probability_p = core.Primitive("probability")
    probability_p.def_impl(lambda x: x)
    probability_p.def_abstract_eval(lambda x: x)

    class OutOfRange(checkify.JaxException):
        pass

    @checkify.Checker.rule(probability_p)
    def rule(checker, eqn, x):
        failed = primitives.gt_p.bind(x, np.float32(1))
        checker.check(failed, OutOfRange, lambda value: f"a probability is {float(value)}", [x])
        return x

    f = checkify.checkify(probability_p.bind, errors=frozenset({OutOfRange}))
    error, _ = f(np.float32(2))
    assert error.get() == "a probability is 2.0"
    assert f(np.float32(0.5))[0].get() is None


def test_programs_held_by_primitives_without_rule_must_have_no_checks():
    holder_p = core.Primitive("holder", multiple_results=True)
    holder_p.def_effectful_abstract_eval(lambda *avals, program: (program.out_avals, program.effects))
    program = px.make_jaxpr(positive(px, pnp, lax, checkify))(1.0)
    with pytest.raises(core.MissingRuleError, match="checkify has no rule for holder"):
        checkify.checkify(lambda x: holder_p.bind(x, program=program))(1.0)


def test_calls_with_other_rules_are_gone_through():
    f = px.custom_batching.custom_vmap(positive(px, pnp, lax, checkify))
    error, _ = checkify.checkify(f)(-1.0)
    assert error.get() == "must be positive, got -1.0 (`check` failed)"
    program = px.make_jaxpr(positive(px, pnp, lax, checkify))(1.0)
    error, _ = checkify.checkify(lambda x: primitives.closed_call_p.bind(x, call_jaxpr=program))(-1.0)
    assert error.get() == "must be positive, got -1.0 (`check` failed)"
    jitted = px.jit(positive(px, pnp, lax, checkify))
    assert checkify.checkify(jitted, errors=checkify.index_checks)(-1.0)[0].get() is None
    total = checkify.checkify(lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)), errors=checkify.nan_checks)
    assert total(np.float32([np.inf, -np.inf]))[0].get() == "nan generated by primitive: reduce_sum."


def test_failed_checks_tell_of_arrays_and_of_keys():
    def f(x, key):
        checkify.check(x > 0, "{x!r} with {key}", x=x, key=key)
        return x

    error, _ = checkify.checkify(px.jit(f))(pnp.float32(-1), px.random.key(3))
    assert "Array(-1., dtype=float32)" in error.get()
    assert "key<fry>" in error.get()
    errors, _ = px.vmap(checkify.checkify(f), (0, None))(pnp.float32([1, -2]), px.random.key(3))
    assert errors.get().startswith("at mapped index 1: Array(-2., dtype=float32)")


def checked_sum(x):
    checkify.check(pnp.all(x > 0), "must be positive, got {}", x.min())
    return x.sum()


@pytest.mark.parametrize("checked", [True, False])
def test_the_first_device_whose_check_fails_is_told(checked):
    mesh = px.make_mesh((2, 2), ("i", "j"))
    f = px.shard_map(
        lambda x: px.lax.psum(checked_sum(x), ("i", "j")),
        mesh=mesh,
        in_specs=px.P(("i", "j")),
        out_specs=px.P(),
        check_vma=checked,
    )
    x = np.float32([1, 2, 3, 4, 5, -6, -7, 8])
    for run in (checkify.checkify(f), px.jit(checkify.checkify(px.jit(f)))):
        error, out = run(x)
        assert (error.get(), float(out)) == ("at mapped index 2: must be positive, got -6.0 (`check` failed)", 10.0)
        assert run(abs(x))[0].get() is None
    errors, _ = px.vmap(checkify.checkify(f))(np.stack([abs(x), x]))
    assert errors.get() == "at mapped index 1: at mapped index 2: must be positive, got -6.0 (`check` failed)"


def test_checks_go_through_pmap_after_those_before_it():
    def f(x, first):
        checkify.check(first > 0, "first {}", first)
        return px.pmap(lambda row: checked_sum(row) / px.lax.psum(1.0, "i"), axis_name="i")(x)

    x = np.float32([[1, 2], [-3, 4]])
    assert checkify.checkify(f)(x, 1.0)[0].get() == "at mapped index 1: must be positive, got -3.0 (`check` failed)"
    assert checkify.checkify(f)(x, -1.0)[0].get() == "first -1.0 (`check` failed)"
    error, out = checkify.checkify(f, errors=checkify.nan_checks)(x, -1.0)
    assert error.get() is None
    assert out.tolist() == [1.5, 0.5]


def test_what_is_raised_is_the_first_of_several_errors_without_its_index():
    errors, _ = px.vmap(checkify.checkify(positive(px, pnp, lax, checkify)))(np.float32([1, -2, -3]))
    assert errors.get().startswith("at mapped index 1: must be positive, got -2.0 (`check` failed)")
    for fail in (errors.throw, lambda: checkify.check_error(errors)):
        with pytest.raises(checkify.JaxRuntimeError, match=r"^must be positive, got -2\.0"):
            fail()
    assert str(errors.get_exception()) == "must be positive, got -2.0 (`check` failed)"


def test_what_is_raised_does_not_tell_the_device():
    error, _ = checkify.checkify(px.pmap(positive(px, pnp, lax, checkify)))(np.float32([1, -2]))
    assert error.get() == "at mapped index 1: must be positive, got -2.0 (`check` failed)"
    with pytest.raises(checkify.JaxRuntimeError, match=r"^must be positive, got -2\.0"):
        error.throw()


@pytest.mark.parametrize(
    ("makes_nan", "message"),
    [
        (True, "nan generated by primitive: own."),
        (lambda eqn: eqn.params["strict"], "nan generated by primitive: own."),
        (lambda eqn: not eqn.params["strict"], None),
        (None, None),
    ],
)
def test_primitives_say_that_they_may_make_nan(makes_nan, message):
    own_p = define_primitive(
        "own",
        impl=lambda x, *, strict: pnp.sqrt(x),
        elementwise=True,
        lowering=derive.from_impl,
        makes_nan=makes_nan,
    )
    checked = checkify.checkify(lambda x: own_p.bind(x, strict=True), errors=checkify.nan_checks)
    assert checked(np.float32(-1))[0].get() == message
