"""Rules that are derived from others do what rules written by hand would."""

from __future__ import annotations

import derived
import numpy as np
import pytest
from checkout import ROOT
from derived import FROM_IMPL, Loud, X, Y, assert_same, sums, sums_p

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive, testing
from primax.extend.interpreters import ad, mlir
from primax.interpreters import events


def _blend(x, y, *, k):
    return pnp.tanh(x * k) * y + pnp.sin(y)


blend_p = define_primitive(
    "blend", impl=_blend, abstract_eval=FROM_IMPL, jvp=FROM_IMPL, batch=FROM_IMPL, lowering=FROM_IMPL
)


def test_rules_derived_from_an_impl_are_those_of_the_function():
    def everything(f):
        def total(x, y):
            return f(x, y).sum()

        def all_of_it(x, y):
            return (
                f(x, y),
                px.jit(f)(x, y),
                px.jvp(f, (x, y), (y, x)),
                px.grad(total, (0, 1))(x, y),
                px.grad(px.jit(total))(x, y),
                px.hessian(total)(x, y),
                px.vmap(f, (0, None), 1)(pnp.stack([x, y]), y),
                px.vmap(px.grad(f, 1))(x, y),
                px.jvp(px.vmap(px.jit(f), (None, 0)), (x[0], y), (x[1], y)),
                px.grad(lambda x: px.vmap(f)(x, y).sum())(x),
            )

        return px.jit(all_of_it)

    assert_same(
        everything(lambda x, y: blend_p.bind(x, y, k=2.0))(X, Y), everything(lambda x, y: _blend(x, y, k=2.0))(X, Y)
    )


def test_rules_derived_from_an_impl_hold_eagerly():
    assert_same(blend_p.bind(X, Y, k=2.0), _blend(X, Y, k=2.0))

    def slope(f):
        return px.jvp(lambda x: f(x, Y, k=2.0), (X,), (Y,))

    assert_same(slope(blend_p.bind), slope(_blend))


def test_derived_types_are_those_of_the_program():
    jaxpr = px.make_jaxpr(lambda x: blend_p.bind(x, 1.0, k=2.0))(X)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [blend_p]
    assert jaxpr.out_avals == px.make_jaxpr(lambda x: _blend(x, 1.0, k=2.0))(X).out_avals
    core.check_jaxpr(jaxpr)


@pytest.mark.parametrize("chosen", [(0,), (1,), (0, 1)])
def test_a_linear_impl_is_transposed_in_any_of_its_arguments(chosen):
    def of(f):
        def linear(*xs):
            args = [X, Y]
            for i, x in zip(chosen, xs, strict=True):
                args[i] = x
            return f(*args)

        return linear

    given = [(X, Y)[i] for i in chosen]
    zero = np.zeros(3, np.float32)
    for cts in ([X, Y], [X, zero]):
        want = px.vjp(of(sums), *given)[1](cts)
        assert_same(px.vjp(of(sums_p.bind), *given)[1](cts), want)
    assert_same(px.grad(lambda *xs: of(sums_p.bind)(*xs)[1].sum())(*given), 3 * X / X if chosen[0] == 0 else -X / X)


def test_a_transpose_may_find_an_argument_that_the_result_does_not_depend_on():
    p = define_primitive(
        "first", impl=lambda x, y: x + x, abstract_eval=FROM_IMPL, jvp=derive.linear, transpose=FROM_IMPL
    )
    assert [g.tolist() for g in px.grad(lambda x, y: p.bind(x, y).sum(), (0, 1))(X, Y)] == [[2, 2, 2], [0, 0, 0]]


def test_the_derivative_of_what_is_linear_is_itself():
    (eqn, again) = px.make_jaxpr(lambda x, t: px.jvp(sums_p.bind, (x, x), (t, t)))(X, Y).eqns
    assert eqn.primitive is again.primitive is sums_p
    found = core.rule_tables["jvp"].provenance[sums_p]
    assert (found.origin, found.file) == ("derived from linearity", derived.__file__)


def test_an_impl_compiled_from_the_lowering_is_visible():
    p = define_primitive(
        "compiled",
        impl=derive.from_lowering,
        abstract_eval=lambda x: x,
        lowering=lambda ctx, x: [mlir.hlo.add(x, x)],
    )
    assert p.bind(X).tolist() == p.bind(X).tolist() == (X + X).tolist()
    found = core.rule_tables["impl"].provenance[p]
    assert (found.origin, found.file) == ("derived from lowering", __file__)


def test_effects_of_an_impl_are_derived_when_asked_for():
    shout_p = define_primitive("shout", effectful_abstract_eval=lambda x: (x, {Loud()}), impl=lambda x: x)
    quiet = define_primitive("quiet", impl=shout_p.bind, abstract_eval=FROM_IMPL)
    loud = define_primitive("loud", impl=shout_p.bind, effectful_abstract_eval=FROM_IMPL)
    assert len(px.make_jaxpr(loud.bind)(X).effects) == 1
    with pytest.raises(core.RuleError, match=r"abstract_eval rule of quiet .* has effects .* effectful_abstract_eval"):
        px.make_jaxpr(quiet.bind)(X)


def test_an_axis_is_handed_on_when_asked_for():
    sized_p = define_primitive("sized", axis_batch=lambda axis, args, dims: (args[0] + axis.size, dims[0]))
    plain = define_primitive("around", impl=sized_p.bind, axis_batch=FROM_IMPL)
    assert px.vmap(plain.bind)(X).tolist() == (X + 3).tolist()


def test_what_is_derived_stays_what_it_was_when_the_impl_is_overridden():
    p = define_primitive("steady", impl=lambda x: x + x, jvp=FROM_IMPL)
    core.rule_tables["impl"].register(p, lambda x: np.zeros(3), override=True)
    assert px.jvp(p.bind, (X,), (X,))[1].tolist() == (2 * X).tolist()


def test_rules_may_be_written_on_top_of_derived_ones():
    p = define_primitive("squared", impl=lambda x: x * x, abstract_eval=FROM_IMPL, jvp=FROM_IMPL, lowering=FROM_IMPL)
    ad.primitive_jvps[p] = ad.standard_jvp(p, lambda t, x: 5 * t)
    assert px.grad(p.bind)(np.float32(2)) == 5


def test_the_page_on_derivations_names_all_that_can_be_derived():
    text = (ROOT / "docs" / "authors" / "derivations.md").read_text(encoding="utf-8")
    table = text.partition("## What can be derived from what")[2]
    for name in derive.__all__:
        assert f"derive.{name}" in table
    for kind in FROM_IMPL.makers:
        assert kind in table


def test_an_impl_that_takes_a_key_is_compiled():
    p = define_primitive(
        "drawn",
        impl=lambda key, x: x + px.random.normal(key, x.shape),
        abstract_eval=FROM_IMPL,
        batch=FROM_IMPL,
        lowering=FROM_IMPL,
    )
    keys = px.random.split(px.random.key(0), 2)
    assert_same(px.jit(p.bind)(keys[0], X), p.bind(keys[0], X))
    assert_same(px.jit(px.vmap(p.bind, (0, None)))(keys, X), pnp.stack([p.bind(key, X) for key in keys]))


def test_derived_rules_pass_the_conformance_kit():
    report = testing.check_primitive(sums_p, X[:2], Y[:2])
    assert {"jvp", "transpose", "batch", "lowering"} <= {outcome.check for outcome in report.passed}


def _series(x):
    term = total = x
    for k in range(1, 20):
        term = term * x * x / (2 * k * (2 * k + 1))
        total = total + term
    return total


def _compiled(monkeypatch, fun, *args):
    """The result of a function, and the number of programs that its first evaluation compiles and runs."""
    names = []
    with monkeypatch.context() as patch:
        patch.setattr(events, "durations", [lambda event, *_, fun_name: names.append((event, fun_name))])
        out = fun(*args)
    return out, sum(event == events.COMPILE for event, _ in names)


def test_an_impl_from_which_a_lowering_is_derived_is_evaluated_as_one_program(monkeypatch):
    calls = []

    def impl(x):
        calls.append(type(x))
        return _series(x)

    p = define_primitive("series", impl=impl, abstract_eval=FROM_IMPL, batch=FROM_IMPL, lowering=FROM_IMPL)
    x = np.linspace(-1, 1, 11, dtype=np.float32)  # a shape that no other test has
    for fun in (p.bind, px.vmap(p.bind)):
        got, count = _compiled(monkeypatch, fun, x)
        assert count == 1
        calls.clear()
        np.testing.assert_allclose(fun(x), got)
        assert not calls
        np.testing.assert_allclose(got, np.sinh(x), rtol=1e-6)
    with px.disable_jit():
        np.testing.assert_allclose(p.bind(x), got, rtol=1e-6)
    by_hand = define_primitive("series", impl=impl, abstract_eval=FROM_IMPL, lowering=mlir.nary("stablehlo.negate"))
    np.testing.assert_allclose([by_hand.bind(x), by_hand.bind(x)][1], got, rtol=1e-6)
    assert [kind.__name__ for kind in calls].count("ndarray") == 3


def test_an_impl_that_reads_values_is_evaluated_operation_by_operation():
    def sized(x):
        return x if x > 0 else -x

    p = define_primitive("sized", impl=sized, abstract_eval=lambda x: x, lowering=FROM_IMPL)
    assert [float(p.bind(x)) for x in (-2.0, 3.0, -4.0)] == [2, 3, 4]
    seen = []
    told = define_primitive(
        "told", impl=lambda x: seen.append(float(x)) or x + 1, abstract_eval=lambda x: x, lowering=FROM_IMPL
    )
    assert [float(told.bind(x)) for x in (1.0, 2.0)] == [2, 3]
    assert seen == [1, 2]
    ranked = define_primitive(  # needs values only for some shapes
        "ranked", impl=lambda x: x if x.ndim == 0 or x[0] > 0 else -x, abstract_eval=lambda x: x, lowering=FROM_IMPL
    )
    assert [np.ravel(ranked.bind(x)).tolist() for x in (X[0], X, -X)] == [[X[0]], X.tolist(), X.tolist()]
    with pytest.raises(TypeError, match="incompatible shapes"):
        define_primitive("added", impl=lambda x, y: x + y, abstract_eval=FROM_IMPL, lowering=FROM_IMPL).bind(X, X[:2])
