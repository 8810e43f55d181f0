"""Rules that are derived from others do what rules written by hand would."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pytest
from checkout import ROOT

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive, testing
from primax.extend.effects import register_effect
from primax.extend.interpreters import ad, mlir

FROM_IMPL = derive.from_impl
X = np.float32([0.5, -1.0, 2.0])
Y = np.float32([1.0, 3.0, -2.0])


class Loud(core.Effect):
    """Something is said aloud."""


register_effect(Loud)


def _blend(x, y, *, k):
    return pnp.tanh(x * k) * y + pnp.sin(y)


blend_p = define_primitive(
    "blend", impl=_blend, abstract_eval=FROM_IMPL, jvp=FROM_IMPL, batch=FROM_IMPL, lowering=FROM_IMPL
)


def _sums(x, y):
    return [pnp.cumsum(x) * 2, 3 * x - y]


sums_p = define_primitive(
    "sums",
    multiple_results=True,
    impl=_sums,
    abstract_eval=FROM_IMPL,
    jvp=derive.linear,
    transpose=FROM_IMPL,
    batch=derive.loop,
    lowering=FROM_IMPL,
)


def _assert_same(got, want):
    got, want = (px.tree_util.tree_leaves(each) for each in (got, want))
    assert [np.asarray(x).dtype for x in got] == [np.asarray(x).dtype for x in want]
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


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

    _assert_same(
        everything(lambda x, y: blend_p.bind(x, y, k=2.0))(X, Y), everything(lambda x, y: _blend(x, y, k=2.0))(X, Y)
    )


def test_rules_derived_from_an_impl_hold_eagerly():
    _assert_same(blend_p.bind(X, Y, k=2.0), _blend(X, Y, k=2.0))

    def slope(f):
        return px.jvp(lambda x: f(x, Y, k=2.0), (X,), (Y,))

    _assert_same(slope(blend_p.bind), slope(_blend))


def test_derived_types_are_those_of_the_program():
    jaxpr = px.make_jaxpr(lambda x: blend_p.bind(x, 1.0, k=2.0))(X)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [blend_p]
    assert jaxpr.out_avals == px.make_jaxpr(lambda x: _blend(x, 1.0, k=2.0))(X).out_avals
    core.check_jaxpr(jaxpr)


def test_host_values_enter_a_derived_program_as_the_arrays_they_stand_for():
    p = define_primitive("wide", impl=lambda x, y: x * (y * y), jvp=FROM_IMPL)
    big = np.full(3, 65536)
    with px.enable_x64(False):
        y, dy = px.jvp(lambda x: p.bind(x, big), (X,), (X,))
    assert y.tolist() == dy.tolist() == [0, 0, 0]  # as 32-bit integers wrap, unlike those of NumPy


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
        want = px.vjp(of(_sums), *given)[1](cts)
        _assert_same(px.vjp(of(sums_p.bind), *given)[1](cts), want)
    _assert_same(px.grad(lambda *xs: of(sums_p.bind)(*xs)[1].sum())(*given), 3 * X / X if chosen[0] == 0 else -X / X)


def test_a_transpose_may_find_an_argument_that_the_result_does_not_depend_on():
    p = define_primitive(
        "first", impl=lambda x, y: x + x, abstract_eval=FROM_IMPL, jvp=derive.linear, transpose=FROM_IMPL
    )
    assert [g.tolist() for g in px.grad(lambda x, y: p.bind(x, y).sum(), (0, 1))(X, Y)] == [[2, 2, 2], [0, 0, 0]]


def test_the_derivative_of_what_is_linear_is_itself():
    (eqn, again) = px.make_jaxpr(lambda x, t: px.jvp(sums_p.bind, (x, x), (t, t)))(X, Y).eqns
    assert eqn.primitive is again.primitive is sums_p
    found = core.rule_tables["jvp"].provenance[sums_p]
    assert (found.origin, found.file) == ("derived from linearity", __file__)


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


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("abstract_eval", lambda p: px.make_jaxpr(p.bind)(X)),
        ("jvp", lambda p: px.jvp(p.bind, (X,), (X,))),
        ("batch", lambda p: px.vmap(p.bind)(X)),
        ("lowering", lambda p: px.jit(p.bind)(X)),
    ],
)
def test_an_impl_that_cannot_be_traced_says_for_which_rule_it_had_to_be(kind, use):
    rules = {"abstract_eval": lambda x: x, kind: FROM_IMPL}
    p = define_primitive("stiff", impl=lambda x: np.sin(x), **rules)
    with pytest.raises(px.errors.TracerArrayConversionError) as error:
        use(p)
    (note,) = [note for note in error.value.__notes__ if "derived" in note]
    assert note.startswith(f"The {kind} rule of stiff is derived from its impl ({__file__}:")
    assert note.endswith("so the impl must be written in primax operations.")


def test_an_impl_that_is_not_linear_says_so_when_it_is_transposed():
    p = define_primitive("bent", impl=pnp.sin, abstract_eval=FROM_IMPL, jvp=derive.linear, transpose=FROM_IMPL)
    with pytest.raises(core.MissingRuleError, match="no transpose rule for primitive 'sin'") as error:
        px.grad(lambda x: p.bind(x).sum())(X)
    assert any("transpose rule of bent" in note and "and linear" in note for note in error.value.__notes__)


def test_an_impl_of_several_results_must_return_a_list():
    p = define_primitive("lone", multiple_results=True, impl=lambda x: x, abstract_eval=FROM_IMPL)
    with pytest.raises(core.RuleError, match="impl rule of lone must return a list, since multiple_results is True"):
        px.make_jaxpr(p.bind)(X)


def _each(f, args, dims, out):
    """`vmap` by hand, in NumPy."""
    size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    rows = [f(*(x if d is None else np.take(x, i, d) for x, d in zip(args, dims, strict=True))) for i in range(size)]
    return np.stack(rows, out)


def _scan(x, y):
    return np.cumsum(x, -1) * y.sum()


def test_a_loop_maps_any_arguments_over_any_axes():
    p = define_primitive(
        "scanned",
        impl=lambda x, y: pnp.cumsum(x, -1) * y.sum(),
        abstract_eval=FROM_IMPL,
        batch=derive.loop,
        lowering=FROM_IMPL,
    )
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    y = x + 1
    chosen = [dims for dims in itertools.product([None, 0, 1], repeat=2) if dims != (None, None)]
    found = px.jit(lambda x, y: [px.vmap(p.bind, dims, out)(x, y) for dims in chosen for out in (0, -1)])(x, y)
    want = [_each(_scan, (x, y), dims, out) for dims in chosen for out in (0, -1)]
    _assert_same(found, want)


@pytest.mark.parametrize("size", [0, 1])
def test_a_loop_of_no_elements_has_their_type(size):
    x = np.ones((2, size), np.float32)
    first, second = px.vmap(sums_p.bind, (1, None))(x, np.ones(2, np.float32))
    assert first.tolist() == [[2, 4]] * size
    assert second.tolist() == [[2, 2]] * size
    assert first.shape == second.shape == (size, 2)
    assert first.dtype == second.dtype == np.float32


def test_a_loop_keeps_gradients():
    def of(f):
        def total(x, y):
            return px.vmap(f, (0, None))(x, y)[0].sum() + px.vmap(px.vmap(f))(pnp.stack([x]), pnp.stack([x]))[1].sum()

        return px.jit(lambda x, y: (px.grad(total, (0, 1))(x, y), px.vmap(px.grad(lambda x: f(x, x)[0].sum()))(x)))

    x = np.stack([X, Y])
    _assert_same(of(sums_p.bind)(x, X), of(_sums)(x, X))


def test_a_long_loop_is_one_equation_and_keeps_gradients():
    x, y = np.sin(np.arange(120, dtype=np.float32)).reshape(2, 20, 3)
    mapped = px.vmap(sums_p.bind, (0, 1))
    assert "scan" in [eqn.primitive.name for eqn in px.make_jaxpr(mapped)(x, y.T).eqns]

    def of(f):
        def total(x, y):
            first, second = px.vmap(f, (0, 1))(x, y)
            return (first * first).sum() + (second * y.T).sum()

        return px.jit(lambda x, y: (px.vmap(f, (0, 1), 1)(x, y), px.grad(total, (0, 1))(x, y)))

    _assert_same(of(sums_p.bind)(x, y.T), of(_sums)(x, y.T))


@pytest.mark.parametrize("rules", [{"impl": np.sort}, {"lowering": lambda ctx, x: [x], "effects": {Loud()}}])
def test_a_long_loop_of_what_no_program_may_hold_is_copies(rules):
    effects = rules.get("effects", frozenset())
    p = define_primitive(
        "outsider",
        effectful_abstract_eval=lambda x: (x, effects),
        batch=derive.loop,
        **{kind: rule for kind, rule in rules.items() if kind != "effects"},
    )
    jaxpr = px.make_jaxpr(px.vmap(p.bind))(np.ones((20, 3), np.float32))
    assert [eqn.primitive for eqn in jaxpr.eqns].count(p) == 20
    assert jaxpr.effects == effects


def test_a_loop_says_that_it_was_used(caplog):
    assert core.rule_tables["batch"].provenance[sums_p].origin == "derived from a loop"
    with caplog.at_level(logging.INFO, logger="primax"):
        px.make_jaxpr(px.vmap(sums_p.bind))(np.ones((5, 3), np.float32), np.ones((5, 3), np.float32))
    assert [record.getMessage() for record in caplog.records if record.name == "primax.extend.derive"] == [
        "vmap binds sums 5 times, because its batch rule is derive.loop"
    ]


def test_what_is_derived_stays_what_it_was_when_the_impl_is_overridden():
    p = define_primitive("steady", impl=lambda x: x + x, jvp=FROM_IMPL)
    core.rule_tables["impl"].register(p, lambda x: np.zeros(3), override=True)
    assert px.jvp(p.bind, (X,), (X,))[1].tolist() == (2 * X).tolist()


def test_rules_may_be_written_on_top_of_derived_ones():
    p = define_primitive("squared", impl=lambda x: x * x, abstract_eval=FROM_IMPL, jvp=FROM_IMPL, lowering=FROM_IMPL)
    ad.primitive_jvps[p] = ad.standard_jvp(p, lambda t, x: 5 * t)
    assert px.grad(p.bind)(np.float32(2)) == 5


def test_the_tutorial_names_all_that_can_be_derived():
    text = (ROOT / "docs" / "write-a-primitive.md").read_text(encoding="utf-8")
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
    _assert_same(px.jit(p.bind)(keys[0], X), p.bind(keys[0], X))
    _assert_same(px.jit(px.vmap(p.bind, (0, None)))(keys, X), pnp.stack([p.bind(key, X) for key in keys]))


def test_derived_rules_pass_the_conformance_kit():
    report = testing.check_primitive(sums_p, X[:2], Y[:2])
    assert {"jvp", "transpose", "batch", "lowering"} <= {outcome.check for outcome in report.passed}
