"""Functions with derivatives of their own: the rule survives, Python stays usable, wrong rules are refused."""

from __future__ import annotations

import functools
import gc
import pickle
import weakref

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.custom_derivatives import CustomVJPPrimal, SymbolicZero, custom_transpose, linear_call
from primax.extend import core
from primax.extend.effects import register_effect

pytestmark = pytest.mark.usefixtures("in_32_bits")

ONES = np.ones(4, np.float32)


@px.custom_jvp
def tripled(x):
    """Twice its argument, which claims to be three times it."""
    return 2 * x


@tripled.defjvp
def tripled_jvp(primals, tangents):
    return tripled(*primals), 3 * tangents[0]


@px.custom_vjp
def sevenfold(x, y):
    """sin(x) y, whose gradient claims to be 7 y and nothing."""
    return pnp.sin(x) * y


sevenfold.defvjp(lambda x, y: (sevenfold(x, y), (x, y)), lambda res, ct: (7 * ct * res[1], None))

PLACES = {
    "alone": lambda f: f,
    "jit": px.jit,
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    "cond": lambda f: lambda x: lax.cond(pnp.sum(x) > -100, f, lambda y: y, x),
    "jit in scan": lambda f: lambda x: lax.scan(lambda c, _: (px.jit(f)(c), None), x, None, length=1)[0],
    "while, forward": lambda f: lambda x: lax.fori_loop(0, 1, lambda i, c: f(c), x),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_rule_survives_every_order_of_transformations(place):
    f = PLACES[place](tripled)
    assert float(px.grad(f)(1.0)) == float(px.jvp(f, (1.0,), (1.0,))[1]) == 3
    for way in (
        px.vmap(px.grad(f)),
        px.grad(lambda x: px.vmap(f)(x).sum()),
        px.jit(px.grad(lambda x: px.vmap(f)(x).sum())),
        px.grad(px.jit(lambda x: px.vmap(f)(x).sum())),
        lambda x: px.linearize(px.vmap(f), x)[1](x),
    ):
        assert way(ONES).tolist() == [3, 3, 3, 3]
    assert np.asarray(px.vmap(f)(ONES)).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("place", [place for place in PLACES if "while" not in place])
def test_a_backward_rule_survives_every_order_of_transformations(place):
    def f(x, y):
        return PLACES[place](lambda xy: pnp.stack([sevenfold(xy[0], xy[1]), xy[1]]))(pnp.stack([x, y]))[0]

    assert float(px.grad(f)(1.0, 2.0)) == 14
    assert px.vmap(px.grad(f), (0, None))(ONES, 2.0).tolist() == [14] * 4
    total = lambda x, y: px.vmap(f, (0, None))(x, y).sum()  # noqa: E731
    for gradient in (px.grad(total, (0, 1)), px.jit(px.grad(total, (0, 1))), px.grad(px.jit(total), (0, 1))):
        dx, dy = gradient(ONES, 2.0)
        assert dx.tolist() == [14] * 4
        assert float(dy) == 0


def test_what_all_elements_share_gets_the_sum_of_cotangents():
    f = px.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: (ct * res[1], ct * res[0]))
    gradient = px.grad(lambda y: px.vmap(f, (0, None))(np.float32([1, 2, 3]), y).sum())
    assert float(gradient(5.0)) == 6


def test_python_sees_values_when_the_caller_has_them():
    seen = []

    @px.custom_jvp
    def f(x):
        return x if x > 0 else -x

    @f.defjvp
    def _(primals, tangents):
        seen.append(float(primals[0]))
        return f(*primals), tangents[0] * (10.0 if primals[0] > 0 else 20.0)

    assert float(f(-2.0)) == 2
    assert float(px.grad(f)(-2.0)) == 20
    assert float(px.jvp(f, (3.0,), (1.0,))[1]) == 10
    assert float(px.linearize(f, 3.0)[1](1.0)) == 10
    assert seen == [-2, 3, 3]


def test_a_rule_is_not_traced_before_it_is_needed():
    f = px.custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: pytest.fail("nobody differentiates"))
    assert float(px.jit(f)(2.0)) == 2
    assert px.jit(px.vmap(f))(ONES).tolist() == [1] * 4


def test_higher_derivatives_use_the_rule_of_the_rule():
    @px.custom_jvp
    def log1pexp(x):
        return pnp.log(1 + pnp.exp(x))

    @log1pexp.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return log1pexp(x), lax.logistic(x) * t

    assert float(px.grad(log1pexp)(100.0)) == 1
    assert float(px.grad(px.grad(log1pexp))(100.0)) == 0
    second = float(px.grad(px.grad(log1pexp))(0.5))
    assert abs(second - np.exp(0.5) / (1 + np.exp(0.5)) ** 2) < 1e-6
    assert float(px.jit(px.grad(px.grad(log1pexp)))(80.0)) == pytest.approx(np.exp(-80.0), rel=1e-6)


def test_jvp_of_a_function_is_its_rule():
    primals, tangents = (np.float32(2),), (np.float32(5),)
    got = px.jvp(tripled, primals, tangents)
    want = tripled_jvp(primals, tangents)
    assert [float(x) for x in got] == [float(x) for x in want]


def test_an_equation_keeps_function_and_rule():
    closed = px.make_jaxpr(lambda x: tripled(x) * 1.0)(1.0)
    eqn = closed.eqns[0]
    assert eqn.primitive.name == "custom_jvp_call"
    core.check_jaxpr(closed)
    again = core.jaxpr_as_fun(closed)
    assert float(px.grad(lambda x: again(x)[0])(1.0)) == 3
    assert px.vmap(px.grad(lambda x: again(x)[0]))(ONES).tolist() == [3] * 4
    assert "custom_jvp_call[" in str(closed)
    assert "0x" not in str(closed)
    vjp = px.make_jaxpr(sevenfold)(1.0, 2.0)
    assert float(px.grad(lambda x: core.jaxpr_as_fun(vjp)(x, 2.0)[0])(1.0)) == 14


def test_arguments_resolve_through_the_signature():
    @px.custom_jvp
    def f(x, y=2.0, *, scale=None):
        return x * y

    f.defjvps(lambda t, out, x, y: t * y * 10, None)
    assert float(f(x=3.0)) == 6
    assert float(px.grad(lambda x: f(y=5.0, x=x))(3.0)) == 50
    with pytest.raises(TypeError, match="scale can be given by keyword only"):
        f(3.0, scale=1.0)
    with pytest.raises(TypeError, match="missing a required argument"):
        f(y=1.0)


def test_trees_go_in_and_out():
    @px.custom_vjp
    def f(a):
        return {"sum": a["x"] + a["y"][0], "n": 3}

    f.defvjp(lambda a: (f(a), a), lambda a, ct: ({"x": ct["sum"] * a["x"], "y": (None,)},))
    ct = px.grad(lambda a: f(a)["sum"])({"x": 2.0, "y": (5.0,)})
    assert (float(ct["x"]), float(ct["y"][0])) == (2, 0)


def test_arguments_that_are_not_differentiated_come_first_and_may_be_anything():
    @functools.partial(px.custom_jvp, nondiff_argnums=(0,), nondiff_argnames=("mode",))
    def apply(f, x, mode="plain"):
        assert mode == "loud"
        return f(x)

    apply.defjvp(lambda f, mode, primals, tangents: (apply(f, *primals, mode), tangents[0] * len(mode)))
    assert float(px.grad(lambda x: apply(pnp.sin, x, "loud"))(1.0)) == 4

    @functools.partial(px.custom_vjp, nondiff_argnums=(1,))
    def scaled(x, k):
        return x * k

    scaled.defvjp(lambda x, k: (x * k, x), lambda k, x, ct: (ct * k * 100,))
    assert float(px.jit(px.grad(scaled), static_argnums=1)(1.0, 3)) == 300


def test_symbolic_zeros_are_shown_to_rules_that_ask():
    seen = []
    f = px.custom_jvp(lambda x, y: x * y)

    def rule(primals, tangents):
        seen.append([type(t) is SymbolicZero for t in tangents])
        (x, y), (tx, _) = primals, tangents
        return x * y, tx * y

    f.defjvp(rule, symbolic_zeros=True)
    assert float(px.grad(f)(2.0, 5.0)) == 5
    assert seen == [[False, True]]

    g = px.custom_vjp(lambda x, y: (x, y))

    def fwd(x, y):
        assert isinstance(x, CustomVJPPrimal)
        return (x.value, y.value), (x.perturbed, y.perturbed)

    def bwd(res, ct):
        seen.append([*map(bool, res), *(type(c) is SymbolicZero for c in ct)])
        return ct[0], None

    g.defvjp(fwd, bwd, symbolic_zeros=True)
    assert float(px.grad(lambda x: g(x, 2.0)[0])(1.0)) == 1
    assert seen[-1] == [True, False, False, True]


def test_integers_have_no_tangents():
    @px.custom_vjp
    def f(x, n):
        return x * n, n

    f.defvjp(lambda x, n: (f(x, n), n), lambda n, ct: (ct[0] * n, None))
    assert float(px.grad(lambda x: f(x, 3)[0])(2.0)) == 3
    assert float(px.grad(px.jit(lambda x: f(x, 3)[0]))(2.0)) == 3


def test_a_backward_rule_may_be_differentiated_forward():
    f = px.custom_vjp(pnp.sin)
    f.defvjp(lambda x: (pnp.sin(x), x), lambda x, ct: (ct * pnp.cos(x),))
    for second in (px.jacfwd(px.grad(f)), px.grad(px.grad(f)), px.jit(px.hessian(px.jit(f)))):
        assert abs(float(second(1.0)) + np.sin(1.0)) < 1e-6


def test_a_tangent_that_a_backward_rule_stands_for_is_pulled_back_by_it():
    @px.custom_vjp
    def f(x):
        return pnp.sin(x)

    f.defvjp(lambda x: (pnp.sin(x), x), lambda x, ct: (ct * 3 * x,))
    pulled = px.jit(px.grad(lambda t: px.jvp(f, (2.0,), (t,))[1]))  # the tangent itself is not computed
    assert float(pulled(1.0)) == 6.0


@pytest.mark.parametrize("way", ["jvp", "jit", "linearize"])
def test_forward_mode_of_a_backward_rule_is_refused(way):
    calls = {
        "jvp": lambda: px.jvp(sevenfold, (1.0, 2.0), (1.0, 1.0)),
        "jit": lambda: px.jit(lambda x: px.jvp(sevenfold, (x, 2.0), (1.0, 1.0)))(1.0),
        "linearize": lambda: px.linearize(sevenfold, 1.0, 2.0)[1](1.0, 1.0),
    }
    with pytest.raises(TypeError, match=r"sevenfold has a backward rule .* or custom_jvp, which gives both"):
        calls[way]()


def test_a_function_without_a_rule_says_which():
    with pytest.raises(AttributeError, match=r"give it one by f\.defjvp"):
        px.custom_jvp(named("f"))(1.0)
    with pytest.raises(AttributeError, match=r"give it one by f\.defvjp"):
        px.custom_vjp(named("f"))(1.0)


def named(name):
    def f(x):
        return x

    f.__name__ = name
    return f


def with_jvp(rule):
    f = px.custom_jvp(lambda x, y: x * y)
    f.defjvp(rule)
    return lambda: px.jvp(f, (np.float32(1), np.float32(2)), (np.float32(1), np.float32(1)))


def with_vjp(fwd, bwd):
    f = px.custom_vjp(lambda x, y: x * y)
    f.defvjp(fwd, bwd)
    return lambda: px.grad(f, (0, 1))(np.float32(1), np.float32(2))


def good(x, y):
    return x * y, (x, y)


@pytest.mark.parametrize(
    "call, phrases",
    [
        (with_jvp(lambda p, t: p[0]), ["must return a pair (out, tangent_out)"]),
        (with_jvp(lambda p, t: (p[0], (t[0],))), ["the primal output", "tuple of length 1"]),
        (
            with_jvp(lambda p, t: (p[0], pnp.stack([t[0]]))),
            ["output 0 is f32[]", "its tangent is f32[1]", "test_custom_derivatives.py:"],
        ),
        (with_jvp(lambda p, t: (p[0], lax.convert_element_type(t[0], "int32"))), ["f32[]", "its tangent is i32[]"]),
        (with_vjp(lambda x, y: x * y, lambda r, c: (c, c)), ["must return a pair (out, residuals)"]),
        (
            with_vjp(lambda x, y: (x * y, ("kept", x)), lambda r, c: (c, c)),
            ["<lambda> at ", "must return residuals that are arrays or numbers, got 'kept'"],
        ),
        (
            with_vjp(good, lambda r, c: (c,)),
            ["one cotangent per argument, 2 in all", "<lambda> at ", "test_custom_derivatives.py:"],
        ),
        (with_vjp(good, lambda r, c: (c, pnp.stack([c, c]))), ["leaf 1", "is f32[]", "its cotangent is f32[2]"]),
        (with_vjp(good, lambda r, c: (c, (c, c))), ["for argument 1, a cotangent of its structure"]),
    ],
)
def test_wrong_rules_are_refused_at_first_use(call, phrases):
    with pytest.raises(TypeError) as caught:
        call()
    for phrase in phrases:
        assert phrase in str(caught.value)


def test_results_of_function_and_rule_must_agree_where_both_are_known():
    f = px.custom_jvp(lambda x: (x, x))
    f.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(TypeError, match="must return what <lambda> returns"):
        px.grad(px.jit(lambda x: f(x)[0]))(1.0)


def test_closures_become_arguments():
    def f(w, x):
        converted, consts = px.closure_convert(lambda y: pnp.sin(w) * y, x)

        @px.custom_vjp
        def g(y, *consts):
            return converted(y, *consts)

        g.defvjp(
            lambda y, *consts: (g(y, *consts), (y, consts)),
            lambda res, ct: (ct * 0, *[ct * 11 for _ in res[1]]),
        )
        return g(x, *consts)

    assert [float(d) for d in px.grad(f, (0, 1))(1.0, 2.0)] == [11, 0]
    assert px.closure_convert(lambda x: x + 1, 1.0)[1] == []
    with pytest.raises(TypeError, match="must be called with arguments of structure"):
        px.closure_convert(lambda x: x, 1.0)[0](1.0, 2.0)


def test_a_gradient_may_be_given_with_the_value():
    @px.custom_gradient
    def f(x, y):
        z = pnp.sin(x)
        return z * y, lambda ct: (ct * 5 * z, ct * 6 * y)

    want = [5 * np.sin(1.0), 6 * 2.0]
    for g in (f, px.jit(f), lambda x, y: px.vmap(f)(pnp.stack([x]), pnp.stack([y]))[0]):
        np.testing.assert_allclose([float(d) for d in px.grad(g, (0, 1))(1.0, 2.0)], want, rtol=1e-6)
    np.testing.assert_allclose(px.vmap(px.grad(f))(ONES, ONES), 5 * np.sin(ONES), rtol=1e-6)


def test_a_linear_call_is_transposed_by_its_transpose():
    def f(r, x):
        return linear_call(lambda r, x: (r * x, x), lambda r, ct: 100 * ct[0] + r * ct[1], r, x)[0]

    assert float(f(2.0, 3.0)) == 6
    assert float(px.jvp(lambda x: f(2.0, x), (3.0,), (1.0,))[1]) == 2
    assert float(px.grad(f, 1)(2.0, 3.0)) == 100
    assert float(px.jit(px.grad(px.jit(f), 1))(2.0, 3.0)) == 100
    assert px.vmap(px.grad(f, 1), (0, None))(ONES, 3.0).tolist() == [100] * 4
    assert px.grad(lambda x: px.vmap(f, (None, 0))(2.0, x).sum())(ONES).tolist() == [100] * 4
    with pytest.raises(TypeError, match="residual arguments"):
        px.grad(f)(2.0, 3.0)
    # The transpose of the transpose is the function.
    back = lambda ct: px.linear_transpose(lambda x: f(2.0, x), 1.0)(ct)[0]  # noqa: E731
    assert float(px.linear_transpose(back, 1.0)(1.0)[0]) == 2


def test_linear_functions_carry_their_transpose():
    @custom_transpose
    def f(r, x):
        return r * x

    with pytest.raises(AttributeError, match="def_transpose"):
        f(1.0, 2.0)
    f.def_transpose(lambda r, ct: 10 * ct)
    assert float(px.grad(lambda x: f(2.0, x))(1.0)) == 10


def test_programs_do_not_keep_the_arguments_of_calls_alive():
    x = pnp.ones(3)
    gone = weakref.ref(x)
    f = px.jit(lambda x: px.grad(lambda y: tripled(y).sum())(x))
    f(x)
    del x
    gc.collect()
    assert gone() is None


def test_effects_of_functions_must_be_allowed():
    class Quiet(core.Effect):
        __slots__ = ()

    register_effect(Quiet)
    quiet_p = core.Primitive("quiet")
    quiet_p.def_effectful_abstract_eval(lambda x: (x, {Quiet()}))
    f = px.custom_jvp(quiet_p.bind)
    f.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(NotImplementedError, match=r"custom_derivatives_allowed_effects\.add_type"):
        px.make_jaxpr(lambda x: f(x))(1.0)


def fixed_point(f, a, guess):
    """x = f(a, x), by iteration, differentiated by the implicit function theorem."""

    @functools.partial(px.custom_vjp, nondiff_argnums=(0,))
    def solve(f, a, guess):
        def step(s):
            return f(a, s[0]), s[0]

        return lax.while_loop(lambda s: pnp.abs(s[0] - s[1]) > 1e-6, step, (f(a, guess), guess))[0]

    def forward(f, a, guess):
        x = solve(f, a, guess)
        return x, (a, x)

    def backward(f, res, ct):
        a, x = res
        _, pull_a = px.vjp(lambda a: f(a, x), a)
        _, pull_x = px.vjp(lambda x: f(a, x), x)
        u = ct / (1 - pull_x(pnp.ones_like(ct))[0])
        return pull_a(u)[0], pnp.zeros_like(x)

    solve.defvjp(forward, backward)
    return solve(f, a, guess)


def test_a_fixed_point_is_differentiated_by_the_implicit_function_theorem():
    def newton_sqrt(a):
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)

    assert abs(float(newton_sqrt(2.0)) - np.sqrt(2)) < 1e-6
    for gradient in (px.grad(newton_sqrt), px.jit(px.grad(newton_sqrt))):
        assert abs(float(gradient(2.0)) - 0.5 / np.sqrt(2)) < 1e-5
    got = px.vmap(px.grad(newton_sqrt))(np.float32([1, 2, 4]))
    np.testing.assert_allclose(got, 0.5 / np.sqrt([1, 2, 4]), rtol=1e-4)


def test_gradients_may_be_clipped():
    @functools.partial(px.custom_vjp, nondiff_argnums=(0, 1))
    def clip_gradient(low, high, x):
        return x

    clip_gradient.defvjp(lambda low, high, x: (x, None), lambda low, high, _, ct: (pnp.clip(ct, low, high),))
    gradient = px.vmap(px.grad(lambda x: pnp.sin(clip_gradient(-0.5, 0.5, x))))
    x = np.linspace(0, 6, 7, dtype=np.float32)
    np.testing.assert_allclose(gradient(x), np.clip(np.cos(x), -0.5, 0.5), rtol=1e-6)


def test_logit_and_expit_are_inverse_and_know_it():
    @px.custom_jvp
    def expit(x):
        return 1 / (1 + pnp.exp(-x))

    expit.defjvps(lambda t, out, x: t * out * (1 - out))

    @px.custom_jvp
    def logit(p):
        return pnp.log(p / (1 - p))

    logit.defjvps(lambda t, out, p: t / (p * (1 - p)))
    x = np.linspace(-3, 3, 5, dtype=np.float32)
    np.testing.assert_allclose(px.vmap(px.grad(lambda v: logit(expit(v))))(x), np.ones(5), rtol=1e-5)


def scanned(function):
    return lambda x: lax.scan(lambda c, _: (function(c), None), x, None, 1)[0]


@pytest.mark.parametrize("around", [px.jit, scanned])
def test_rules_within_programs_see_the_numbers_of_the_program_as_arrays(around):
    seen = []

    def forward(x, n):
        seen.append(n.shape)
        return x * n, n

    scaled = px.custom_vjp(lambda x, n: x * n)
    scaled.defvjp(forward, lambda n, ct: (ct * n, None))
    told = px.custom_jvp(lambda x, n: x * n)

    @told.defjvp
    def rule(primals, tangents):
        seen.append(primals[1].shape)
        return told(*primals), tangents[0] * primals[1]

    for function in (scaled, told):
        assert float(px.grad(around(lambda x, f=function: f(x, 2)))(3.0)) == 2
    assert seen == [(), ()]


def test_backward_rules_are_given_arrays():
    seen = []

    @px.custom_vjp
    def f(x):
        return 2.0 * x

    def backward(_, ct):
        seen.append((isinstance(ct, px.Array), ct.shape, ct.dtype.name))
        return (2.0 * ct,)

    f.defvjp(lambda x: (f(x), None), backward)
    assert float(px.grad(f)(1.0)) == float(px.vjp(f, 1.0)[1](1.0)[0]) == 2.0
    assert seen == [(True, (), "float32")] * 2


@pytest.mark.parametrize("number", [2, 2.5, 1 + 2j])
def test_numbers_of_python_have_a_dtype_in_functions_and_rules(number):
    seen = []

    def f(x, y):
        seen.append((isinstance(y, type(number)), y == number, hash(y) == hash(number), y.dtype))
        return x * y

    by_jvp, by_vjp = px.custom_jvp(f), px.custom_vjp(f)
    by_jvp.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * primals[1].dtype.type(primals[1])))
    by_vjp.defvjp(lambda x, y: (f(x, y), (x, y)), lambda rest, ct: (ct * rest[1], ct * rest[0]))
    by_gradient = px.custom_gradient(lambda x, y: (f(x, y), lambda ct: (ct * y, ct * x)))
    x = np.float32(3.0) if not isinstance(number, complex) else np.complex64(3.0)
    for g in (by_jvp, by_vjp, by_gradient):
        assert np.asarray(g(x, number)) == x * number
        assert np.asarray(px.vjp(lambda v, g=g: g(v, number), x)[1](x)[0]) == x * number
    wanted = px.typeof(number).dtype
    assert seen
    assert all(entry == (True, True, True, wanted) for entry in seen), seen


@pytest.mark.parametrize(("number", "narrow"), [(2, np.int8), (2.5, np.float16), (1 + 2j, np.complex64)])
def test_arrays_of_numpy_keep_their_dtype_with_numbers_that_a_rule_was_given(number, narrow):
    array = np.ones(3, narrow)

    def f(x, y):
        seen.update(z.dtype.name for z in (array * y, y + array, array[0] - y, np.power(array, y)))
        return x * y

    f_with_rule = px.custom_jvp(f)
    f_with_rule.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * primals[1]))
    for transformed in (
        f_with_rule,
        lambda x, y: px.jvp(lambda v: f_with_rule(v, y), (x,), (x,)),
        lambda x, y: px.vjp(lambda v: f_with_rule(v, y), x),
    ):
        seen = set()
        transformed(np.complex64(3.0) if isinstance(number, complex) else np.float32(3.0), number)
        assert seen == {array.dtype.name}


def test_a_number_that_a_rule_was_given_is_pickled_as_that_number():
    given = []
    f = px.custom_jvp(lambda x: (given.append(x), x * 1)[1])
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    f(2.5)
    assert type(pickle.loads(pickle.dumps(given[0]))) is float


def test_cotangents_of_another_type_are_refused_as_in_jax(jax):
    def with_rule(m, cotangent):
        f = m.custom_vjp(lambda x: x)
        f.defvjp(lambda x: (x, None), lambda _, ct: (cotangent,))
        return m.grad(f)(1.0)

    x = np.ones(3, np.float32)
    for m in (px, jax):
        with pytest.raises(ValueError, match=r"\w"):
            with_rule(m, np.ones(3, np.float32))
        for wrong in (np.ones(4, np.float32), np.ones(3, np.float16), (x,)):
            with pytest.raises(ValueError, match=r"\w"):
                m.vjp(m.numpy.sin, x)[1](wrong)
        with pytest.raises(ValueError, match=r"\w"):
            m.linearize(m.numpy.sin, x)[1](np.ones(4, np.float32))
        assert float(with_rule(m, 2)) == 2.0
    assert issubclass(px.errors.TangentTypeError, TypeError)


@pytest.mark.parametrize(
    "args, vjp",
    [
        (((2.0,),), lambda ct: (3 * ct,)),
        (([2.0],), lambda ct: (3 * ct,)),
        (([2.0],), lambda ct: ([3 * ct],)),
        (({"a": 2.0},), lambda ct: {"a": 3 * ct}),
        (((2.0,), (5.0,)), lambda ct: (3 * ct, 4 * ct)),
        (((2.0, 5.0),), lambda ct: (3 * ct, 4 * ct)),
    ],
)
def test_cotangents_of_custom_gradient_come_in_any_containers(args, vjp):
    f = px.custom_gradient(lambda *args: (sum(px.tree.leaves(args)), vjp))
    found = px.jit(px.grad(f, tuple(range(len(args)))))(*args)
    assert px.tree.structure(found) == px.tree.structure(args)
    assert [float(x) for x in px.tree.leaves(found)] == [3.0, 4.0][: len(px.tree.leaves(args))]


def test_one_cotangent_may_stand_for_a_whole_argument(jax):
    def found(m):
        f = m.custom_vjp(lambda p, x: p["a"] * x)
        f.defvjp(lambda p, x: (f(p, x), (p, x)), lambda r, ct: (r[1] * ct, r[0]["a"] * ct))
        return [float(x) for x in m.tree.leaves(m.grad(f, (0, 1))({"a": 2.0, "b": [5.0]}, 3.0))]

    assert found(px) == found(jax) == [3.0, 3.0, 2.0]


@pytest.mark.parametrize("given, wanted", [("float32", "bfloat16"), ("float16", "float32")])
def test_cotangents_of_another_precision_are_converted(given, wanted):
    f = px.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (3 * ct.astype(given),))
    for transformed in (px.grad, lambda g: px.jit(px.grad(g))):
        found = transformed(lambda x: f(x).sum())(pnp.ones(2, wanted))
        assert found.dtype == wanted
        assert found.tolist() == [3, 3]
