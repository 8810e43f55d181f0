"""Operands and results are held to the type rule, the same under every transformation; `check_rules` looks at all."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive
from primax.extend.interpreters import ad

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.ones(3, np.float32)


def _floats_only(x):
    if x.dtype != np.float32:
        raise TypeError(f"half: x must be float32, got {x.dtype}")
    return x


def half(**rules):
    """A primitive that halves, with some of its rules replaced."""
    p = None
    usual = {
        "impl": lambda x: 0.5 * x,
        "abstract_eval": _floats_only,
        "jvp": lambda primals, tangents: (p.bind(*primals), p.bind(*map(ad.instantiate_zeros, tangents))),
        "transpose": lambda ct, x: [p.bind(ct)],
        "batch": lambda args, dims: (p.bind(*args), dims[0]),
        "lowering": derive.from_impl,
    }
    p = define_primitive("half", **{**usual, **rules})
    return p


def _same_batch(args, dims, *, k):
    return args[0], dims[0]


USES = {
    "evaluation": lambda f, x: f(x),
    "jit": lambda f, x: px.jit(f)(x),
    "vmap": lambda f, x: px.vmap(f)(x),
    "jvp": lambda f, x: px.jvp(f, (x,), (np.zeros(3, px.float0),)),
    "grad": lambda f, x: px.grad(lambda t: f(t.astype(int)).sum().astype(float))(np.ones(3, np.float32)),
    "make_jaxpr": lambda f, x: px.make_jaxpr(f)(x),
}


@pytest.mark.parametrize("use", USES)
def test_all_transformations_refuse_the_same_operands_with_the_same_error(use):
    # Rules that do not bind it, so that no other transformation can refuse on their behalf.
    p = half(jvp=lambda primals, tangents: (primals[0], tangents[0]), batch=lambda args, dims: (args[0], dims[0]))
    with pytest.raises(TypeError, match="half: x must be float32, got int32"), px.enable_x64(False):
        USES[use](p.bind, np.ones(3, np.int32))


@pytest.mark.parametrize("returned", [lambda x: np.zeros(4, np.float32), lambda x: np.zeros(3, np.int32)])
def test_what_an_impl_returns_is_held_to_the_type_rule(returned):
    p = half(impl=returned, lowering=None)
    with pytest.raises(core.RuleError) as error:
        p.bind(X)
    said = str(error.value)
    assert said.startswith("the impl rule of half returned")
    assert f"but by its abstract_eval rule ({__file__}:" in said
    assert "it is f32[3]." in said
    assert f"The rule is at {__file__}" in said
    assert f"Bound at {__file__}" in said


def test_the_number_of_results_is_held_to_the_type_rule():
    p = define_primitive("pair", multiple_results=True, impl=lambda x: [x], abstract_eval=lambda x: [x, x])
    with pytest.raises(core.RuleError, match="the impl rule of pair returned 1 results, but its abstract_eval rule"):
        p.bind(X)


def test_the_type_rule_is_asked_once_for_a_signature():
    asked = []

    def types(x, *, k):
        asked.append((x.shape, k))
        return x

    p = define_primitive(
        "asked", impl=lambda x, *, k: x, abstract_eval=types, batch=lambda xs, ds, *, k: (xs[0], ds[0])
    )
    for _ in range(3):
        p.bind(pnp.ones(3), k=1)
        px.vmap(lambda x: p.bind(x, k=1))(np.ones((2, 3), np.float32))
    p.bind(pnp.ones(2), k=1)
    p.bind(pnp.ones(3), k=2)
    assert asked == [((3,), 1), ((2,), 1), ((3,), 2)]


def test_a_new_rule_is_held_to_its_promise_anew():
    p = half()
    p.bind(X)
    core.rule_tables["impl"].register(p, lambda x: np.zeros(4, np.float32), override=True)
    with pytest.raises(core.RuleError, match=r"returned f32\[4\]"):
        p.bind(X)


def test_a_primitive_of_no_type_rule_promises_nothing():
    p = define_primitive("free", impl=lambda x, *, options: x)
    assert p.bind(2.0, options=["any"]) == 2.0


def test_signatures_keep_no_program_alive():
    p = define_primitive("holder", impl=lambda x, *, program: x, abstract_eval=lambda x, *, program: x)
    closed = px.make_jaxpr(lambda x: x + 1.0)(1.0)
    p.bind(1.0, program=closed)
    alive = weakref.ref(closed)
    del closed
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ([1, 2], "make it a tuple"),
        ({"a": 1}, "make it a tuple of pairs"),
        ({1}, "make it a frozenset"),
        (np.ones(2), "pass it as an operand, that is by position"),
        (pnp.ones(2), "pass it as an operand, that is by position"),
        ((1, pnp.ones(2)), "pass it as an operand, that is by position"),
    ],
)
@pytest.mark.parametrize("use", ["evaluation", "jit", "vmap", "make_jaxpr"])
def test_a_parameter_that_cannot_be_one_is_refused(value, remedy, use):
    p = define_primitive("scaled", impl=lambda x, *, k: x, abstract_eval=lambda x, *, k: x, batch=_same_batch)
    with pytest.raises(
        TypeError, match=r"scaled: parameter k must be hashable, got .*; parameters are static"
    ) as error:
        USES[use](lambda x: p.bind(x, k=value), X)
    assert str(error.value).endswith(remedy)


@pytest.mark.parametrize("transform", [px.jit, px.vmap, px.grad])
def test_a_tracer_as_a_parameter_is_refused(transform):
    p = define_primitive(
        "scaled", impl=lambda x, *, k: x, abstract_eval=lambda x, *, k: x, jvp=derive.linear, batch=derive.loop
    )
    with pytest.raises(TypeError, match=r"scaled: parameter k must be hashable, got .*: pass it as an operand"):
        transform(lambda x: p.bind(x, k=x))(np.float32(1) if transform is px.grad else X)


def test_a_zero_of_no_type_has_a_text():
    assert repr(ad.Zero(None)) == "Zero(None)"


def test_a_zero_in_arithmetic_says_how_to_make_it_an_array():
    zero = ad.Zero(core.ShapedArray((3,), np.float32))
    remedy = r"Zero\(f32\[3\]\) is a symbolic zero, not an array: convert it by ad.instantiate_zeros\(t\)"
    attempts = (
        lambda: 2 * zero,
        lambda: zero * 2,
        lambda: np.ones(3) * zero,
        lambda: np.float32(2) + zero,
        lambda: pnp.ones(3) * zero,
        lambda: pnp.sin(zero),
        lambda: -zero,
        lambda: np.asarray(zero),
        lambda: zero[0],
    )
    for attempt in attempts:
        with pytest.raises(TypeError, match=remedy):
            attempt()


def test_a_derived_rule_says_that_the_impl_returned_nothing():
    p = define_primitive("mute", impl=lambda x: None, jvp=derive.from_impl)
    with pytest.raises(core.RuleError, match="the impl rule of mute must return arrays, got None"):
        px.jvp(p.bind, (X,), (X,))


def test_a_jvp_rule_that_returns_nothing_for_a_primal_is_wrong_even_if_its_tangent_is_zero():
    p = half(jvp=lambda primals, tangents: (None, ad.Zero(core.ShapedArray((3,), np.float32))))
    with pytest.raises(core.RuleError, match="the jvp rule of half must return arrays, got None"):
        px.jvp(p.bind, (X,), (X,))


# What `check_rules` finds, which is not looked at otherwise: by rule, the message, and a use.
FAULTS = {
    "the primal of a jvp": (
        {"jvp": lambda primals, tangents: (2.0, 2.0)},
        r"the jvp rule of half returned f32\[\], but by its abstract_eval rule .* it is f32\[3\]",
        lambda f: px.jvp(f, (X,), (X,)),
    ),
    "the primal of a jvp whose tangent is zero": (
        {"jvp": lambda primals, tangents: (2.0, ad.Zero(core.ShapedArray((), np.float32)))},
        r"the jvp rule of half returned f32\[\]",
        lambda f: px.jvp(f, (X,), (X,)),
    ),
    "the weak type of a primal": (
        {"jvp": lambda primals, tangents: (np.float32(1), np.float32(1))},
        r"returned f32\[\] of strong type, but by its abstract_eval rule .* it is f32\[\] of weak type",
        lambda f: px.jvp(f, (1.0,), (1.0,)),
    ),
    "an element of a batch": (
        {"batch": lambda args, dims: (args[0][..., None], 0)},
        r"the batch rule of half returned f32\[3,1\], but by its abstract_eval rule .* it is f32\[3\]",
        lambda f: px.vmap(f)(np.ones((2, 3), np.float32)),
    ),
    "the dtype of an element": (
        {"batch": lambda args, dims: (args[0].astype(np.int32), 0)},
        r"the batch rule of half returned i32\[3\]",
        lambda f: px.vmap(f)(np.ones((2, 3), np.float32)),
    ),
    "the type of a zero cotangent": (
        {"transpose": lambda ct, x: [ad.Zero(core.ShapedArray((7,), np.float32))]},
        r"the transpose rule of half returned a cotangent of type f32\[7\] for its argument 0, of type f32\[3\]",
        lambda f: px.grad(lambda x: f(x).sum())(X),
    ),
    "no cotangent": (
        {"transpose": lambda ct, x: [None]},
        r"the transpose rule of half returned None for its argument 0, which needs a cotangent; .* ad.Zero\(x.aval\)",
        lambda f: px.grad(lambda x: f(x).sum())(X),
    ),
    "a transpose that is not linear": (
        {"transpose": lambda ct, x: [ct + 1]},
        "the transpose rule of half is not linear: for zero cotangents it returns 1.0 for its argument 0",
        lambda f: px.grad(lambda x: f(x).sum())(X),
    ),
    "what an impl returns the second time": (
        {"impl": (lambda calls: lambda x: calls.append(x) or (np.asarray(x) if len(calls) < 2 else 1.0))([])},
        r"the impl rule of half returned f32\[\]",
        lambda f: (f(X), f(X)),
    ),
    "what a lowering returns": (
        {"lowering": lambda ctx, x: [ctx.module_context and _scalar(ctx)]},
        r"the lowering rule of half returned tensor<f32> for a result of type f32\[3\]",
        lambda f: px.jit(f)(X),
    ),
}


def _scalar(ctx):
    from_impl = define_primitive("one", impl=lambda: pnp.asarray(1.0), lowering=derive.from_impl)
    lower = core.rule_tables["lowering"][from_impl]
    return lower(ctx.replace(primitive=from_impl, avals_in=[], avals_out=[core.ShapedArray((), np.float32)]))[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_check_rules_finds_it_at_the_first_use(fault):
    rules, said, use = FAULTS[fault]
    with px.check_rules(), pytest.raises(core.RuleError, match=said) as error:
        use(half(**rules).bind)
    assert "Bound at" in str(error.value)


def test_check_rules_finds_nothing_wrong_where_nothing_is():
    p = half()
    with px.check_rules():
        for f in (p.bind, px.jit(p.bind), px.vmap(p.bind)):
            assert px.grad(lambda x: f(x).sum())(X).tolist() == [0.5, 0.5, 0.5]  # noqa: B023
            assert px.jvp(f, (X,), (X,))[1].tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("rules", "use"),
    [
        ({"jvp": lambda primals, tangents: (primals[0][0], tangents[0][0])}, lambda f: px.jvp(f, (X,), (X,))),
        ({"batch": lambda args, dims: (args[0][:, :1], 0)}, lambda f: px.vmap(f)(np.stack([X, X]))),
        ({"batch": lambda args, dims: (args[0], None)}, lambda f: px.vmap(f)(np.stack([X, X]))),
    ],
)
def test_results_under_transformations_are_held_to_the_type_rule_at_the_first_use(rules, use):
    with pytest.raises(
        core.RuleError, match=r"the (jvp|batch) rule of half returned f32\[.*\], but by its abstract_eval"
    ):
        use(half(**rules).bind)


def test_programs_made_before_are_checked_too():
    weak = pnp.broadcast_to(2.0, (3,))
    p = half(jvp=lambda primals, tangents: (weak, weak))
    f = px.jit(lambda x: px.jvp(p.bind, (x,), (x,))[0])
    f(X)
    with px.check_rules(), pytest.raises(core.RuleError, match="the jvp rule of half returned"):
        f(X)


@pytest.mark.parametrize("define", ["def_abstract_eval", "def_effectful_abstract_eval"])
def test_a_type_rule_that_is_given_later_counts_from_then_on(define):
    p = core.Primitive("late")
    p.def_impl(lambda x: x)
    assert [p.bind(2.0), p.bind(2.0)] == [2.0, 2.0]

    def refuse(x):
        raise TypeError("late: x must be an int")

    getattr(p, define)(refuse)
    with pytest.raises(TypeError, match="late: x must be an int"):
        p.bind(2.0)
