"""One planted mistake makes one message of the kit; and what only narrow dtypes, singular points or orders show."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sound_rules import X

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive, hookimpl
from primax.extend.effects import register_effect
from primax.extend.host.contributions import sample_sources
from primax.extend.host.plugin_host import host
from primax.extend.interpreters import ad, mlir
from primax.extend.testing import ConformanceError, Outcome, Report, Sample, check_plugin, check_primitive, iter_checks

FROM_IMPL = derive.from_impl
FILE = __file__


def report_of(p, *args, only=None):
    samples = [x if isinstance(x, Sample) else Sample([x]) for x in args]
    sample_sources[p] = samples
    try:
        return Report([check.run() for check in iter_checks(p, only=only)])
    finally:
        del sample_sources[p]


def triple(**rules):
    usual = {
        "impl": lambda x: 3 * x,
        "abstract_eval": FROM_IMPL,
        "jvp": lambda primals, tangents: (p.bind(*primals), ad_map(lambda t: 3 * t, tangents[0])),
        "batch": FROM_IMPL,
        "lowering": FROM_IMPL,
    }
    p = define_primitive("triple", **{**usual, **rules})
    return p


def ad_map(f, t):
    return t if type(t) is ad.Zero else f(t)


def _halved_in_float32(primals, tangents):
    (x,), (t,) = primals, tangents
    factor = 3 if core.get_aval(x).dtype == np.float64 else 6
    return x * 3, ad_map(lambda t: t * factor, t)


def _wide_factor(primals, tangents):
    return primals[0] * 3, ad_map(lambda t: t * np.float64(3), tangents[0])


def test_sound_rules_have_no_causes():
    report = report_of(triple(), X)
    assert report.ok
    assert report.causes == []


@pytest.mark.parametrize("jvp", [_halved_in_float32, _wide_factor])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_are_checked_in_narrow_dtypes_too(jvp, dtype):
    report = report_of(triple(jvp=jvp), X.astype(dtype), only=["own_dtype", "jvp"])
    ((cause, _),) = report.causes
    assert cause.check == "own_dtype"
    assert "functools" not in str(report)
    assert f"look at its jvp rule, given by {__name__} ({FILE}:{jvp.__code__.co_firstlineno})" in cause.message


FAULTS = {
    "jvp": lambda primals, tangents: (primals[0] * 3, ad_map(lambda t: t * 2, tangents[0])),
    "batch": lambda args, dims: (args[0] * 2, dims[0]),
    "abstract_eval": lambda x: x.update(dtype=np.dtype(np.float16)),
    "impl": lambda x: np.asarray(x) * 2,
}


@pytest.mark.parametrize("kind", FAULTS)
def test_one_mistake_makes_one_message(kind):
    lowering = {"lowering": derive.by(lambda p: core.rule_tables["lowering"][triple()])} if kind == "impl" else {}
    batch = {"batch": batching_by_hand} if kind == "impl" else {}
    report = report_of(triple(**{kind: FAULTS[kind], **lowering, **batch}), X, X[0])
    ((cause, followers),) = report.causes
    assert len(report.failed) == 1 + len(followers)
    assert followers
    assert f"({FILE}:" in cause.message
    text = str(report)
    assert text.count("look at its") == cause.message.count("look at its")
    assert f"probable consequences: {followers[0].label}" in text


def batching_by_hand(args, dims):
    return args[0] * 3, dims[0]


def test_a_report_groups_failures_by_the_causes_that_the_checks_found():
    outcomes = [
        Outcome("p", "", "0", "jvp", "failed", "wrong", rules=("jvp",)),
        Outcome("p", "", "0", "transpose", "failed", "wrong too", rules=("transpose", "jvp")),
        Outcome("p", "", "0", "linearity", "failed", "not linear", rules=("jvp",), cause="p[0]::jvp"),
        Outcome("p", "", "1", "batch", "failed", "and wrong", rules=("batch",), cause="p[0]::batch"),
        Outcome("q", "", "0", "jvp", "failed", "wrong", rules=("jvp",)),
    ]
    causes = [(cause.label, [each.label for each in followers]) for cause, followers in Report(outcomes).causes]
    own = [("p[0]::transpose", []), ("p[1]::batch", []), ("q[0]::jvp", [])]
    assert causes == [("p[0]::jvp", ["p[0]::linearity"]), *own]


def test_the_error_of_a_failed_check_names_causes_only_once():
    with pytest.raises(ConformanceError) as error:
        check_primitive(triple(jvp=FAULTS["jvp"]), X)
    assert str(error.value).count("look at its jvp rule") == 1


def _cone(x):
    return pnp.sqrt(pnp.sum(x * x))


def _cone_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    out = cone_p.bind(x)
    return out, ad_map(lambda t: pnp.sum(x * t) / pnp.where(out == 0, 1, out), t)


cone_p = define_primitive(
    "cone", impl=_cone, abstract_eval=FROM_IMPL, jvp=_cone_jvp, batch=FROM_IMPL, lowering=FROM_IMPL
)
ORIGIN = Sample([np.zeros(3)], singular=True, name="origin")
ORDERS = ["vmap_of_jvp", "jvp_of_vmap", "vmap_of_grad", "grad_of_vmap", "grad_of_jit"]


def test_at_a_singular_point_all_orders_of_transformations_agree():
    report = report_of(cone_p, ORIGIN, Sample([X[0]]))
    assert report.ok, report
    assert {outcome.check for outcome in report.passed if outcome.sample == "origin"} >= set(ORDERS)
    skipped = {outcome.check for outcome in report.not_run if outcome.message == "the sample is a singular point"}
    assert {"jvp", "transpose", "second_derivatives"} <= skipped


def test_a_batch_rule_that_loses_the_derivative_at_a_singular_point_is_found():
    def batch(args, dims):
        return px.vmap(_cone, dims)(*args), 0  # forgets the jvp rule of the primitive

    p = define_primitive("cone", impl=_cone, abstract_eval=FROM_IMPL, jvp=_cone_jvp, batch=batch, lowering=FROM_IMPL)
    report = report_of(p, ORIGIN, only=ORDERS)
    ((cause, _),) = report.causes
    assert cause.check == "jvp_of_vmap"
    assert "got nan" in cause.message


def _scale_transpose(ct, x, k):
    return [ct * k, None] if ad.is_undefined_primal(x) else [None, pnp.sum(ct * x)]


def _powered(refuse):
    def transpose(ct, x, k):
        if refuse and ad.is_undefined_primal(k):
            raise TypeError("powered: it is not linear in k")
        return _scale_transpose(ct, x, k * k if not ad.is_undefined_primal(k) else k)

    p = define_primitive(
        "powered",
        impl=lambda x, k: x * k * k,
        abstract_eval=FROM_IMPL,
        jvp=derive.by(ad.standard_jvp, lambda t, x, k: p.bind(t, k), lambda t, x, k: 2 * x * k * t),
        transpose=transpose,
        batch=FROM_IMPL,
        lowering=FROM_IMPL,
    )
    return p


def test_a_transpose_of_what_is_not_linear_must_refuse():
    sample = Sample([X[0], np.array(1.7)])
    assert report_of(_powered(refuse=True), sample).ok
    report = report_of(_powered(refuse=False), sample)
    ((cause, _),) = report.causes
    assert cause.check == "linear_arguments"
    assert "a cotangent of argument 1" in cause.message
    assert "in which the primitive is not linear; it must raise instead" in cause.message


class Spoken(core.Effect):
    """Something is said."""


register_effect(Spoken)


def _holder(**rules):
    return define_primitive(
        "holder",
        multiple_results=True,
        impl=lambda x, *, program: core.eval_jaxpr(program.jaxpr, program.consts, x),
        lowering=FROM_IMPL,
        batch=derive.loop,
        jvp=FROM_IMPL,
        **rules,
    )


FORGETFUL = {"abstract_eval": lambda x, *, program: program.out_avals}
MINDFUL = {"effectful_abstract_eval": lambda x, *, program: (program.out_avals, program.effects)}


def test_a_primitive_that_forgets_the_effects_of_its_programs_is_found_by_the_kit():
    program = px.make_jaxpr(lambda x: pnp.sin(x))(X[0])
    sample = Sample([X[0]], {"program": program})
    assert report_of(_holder(**MINDFUL), sample, only=["effects"]).ok
    (outcome,) = report_of(_holder(**FORGETFUL), sample, only=["effects"]).failed
    assert "it must have the effects of its inner program" in outcome.message
    assert f"look at its abstract_eval rule, given by {__name__} ({FILE}:" in outcome.message


def test_it_is_found_by_check_jaxpr():
    said_p = define_primitive("said", effectful_abstract_eval=lambda x: (x, {Spoken()}), impl=lambda x: x)
    program = px.make_jaxpr(said_p.bind)(X[0])
    core.check_jaxpr(px.make_jaxpr(lambda x: _holder(**MINDFUL).bind(x, program=program))(X[0]))
    closed = px.make_jaxpr(lambda x: _holder(**FORGETFUL).bind(x, program=program))(X[0])
    with pytest.raises(
        core.JaxprTypeError, match=r"holder must have the effects of its inner program, got none of the effects"
    ):
        core.check_jaxpr(closed)


def test_a_plugin_that_has_entered_nothing_fails():
    module = type(core)("idle")
    module.primax_register = hookimpl(lambda registry: None)
    host.register_module(module, name="idle")
    try:
        report = check_plugin("idle")
    finally:
        host.unregister("idle")
    outcome = next(outcome for outcome in report.outcomes if outcome.label == "idle::samples")
    assert not report.ok
    assert outcome.message.startswith(
        "idle: the plugin is active, but has entered nothing; did you forget definitions.enter(registry)"
    )


def test_a_report_of_nothing_is_not_fine():
    assert not Report([]).ok
    with pytest.raises(ConformanceError, match="nothing was checked: 0 passed, 0 failed, 0 not run"):
        Report([]).require()


def _decorated(rule):
    @functools.wraps(rule)
    def wrapped(*args, **kwargs):
        return rule(*args, **kwargs)

    return wrapped


class Callable:
    def __call__(self, primals, tangents):
        return primals[0] * 3, tangents[0]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: functools.partial(FAULTS["jvp"]), FAULTS["jvp"].__code__),
        (lambda: _decorated(FAULTS["jvp"]), FAULTS["jvp"].__code__),
        (lambda: functools.lru_cache(FAULTS["jvp"]), FAULTS["jvp"].__code__),
        (Callable, Callable.__call__.__code__),
    ],
)
def test_reports_name_the_line_that_the_author_wrote(make, code):
    p = triple(jvp=make())
    provenance = core.rule_tables["jvp"].provenance[p]
    assert (provenance.file, provenance.line) == (FILE, code.co_firstlineno)


def test_a_rule_that_raises_within_a_helper_of_the_library_is_told_by_the_authors_line():
    def jvp(primals, tangents):
        return functools.reduce(lambda a, b: a / 0, [1, 2])  # raised here

    report = report_of(triple(jvp=jvp), X, only=["jvp"])
    assert f"raised at {FILE}:" in report.failed[0].message
    assert "functools" not in report.failed[0].message


def _weak_and_wrong_when_empty(x):
    return core.ShapedArray(tuple(n or 1 for n in x.shape), x.dtype)


def _doubles_and_is_wrong_without_elements(args, dims):
    return (2 * args[0], dims[0]) if args[0].size else (pnp.zeros((0,), args[0].dtype), 0)


def _raises_for_float16(x):
    if x.dtype == np.float16:
        raise OverflowError("too large")
    return 2 * x


LINEAR = {"jvp": derive.linear, "transpose": lambda ct, x: [3 * ct]}
PAIRS = {
    "weak types, and the shape without elements": (
        {"abstract_eval": _weak_and_wrong_when_empty},
        {"weak_types", "shapes"},
    ),
    "a derivative, and a batch rule": ({"jvp": FAULTS["jvp"], "batch": FAULTS["batch"]}, {"jvp", "batch"}),
    "a derivative, and a transpose rule": (
        {
            "jvp": lambda primals, tangents: (p_of(primals), ad_map(lambda t: 2 * p_of([t]), tangents[0])),
            "transpose": lambda ct, x: [4 * ct],
        },
        {"jvp", "transpose"},
    ),
    "a batch rule, and its result without elements": (
        {"batch": _doubles_and_is_wrong_without_elements},
        {"batch", "batch_sizes"},
    ),
    "a lowering, and one dtype of it": (
        {"lowering": mlir.lower_fun(_raises_for_float16, multiple_results=False)},
        {"lowering", "dtypes"},
    ),
    "an impl, and a batch rule": (
        {
            "impl": FAULTS["impl"],
            "abstract_eval": lambda x: x,
            "lowering": mlir.lower_fun(lambda x: 3 * x, multiple_results=False),
            "batch": FAULTS["batch"],
        },
        {"lowering", "batch"},
    ),
}


def p_of(xs):
    return _last[0].bind(*xs)


_last = []


@pytest.mark.parametrize("name", PAIRS)
def test_one_mistake_does_not_hide_another(name):
    rules, checks = PAIRS[name]
    _last[:] = [triple(**rules)]
    report = report_of(_last[0], X)
    assert checks <= {cause.check for cause, _ in report.causes}, report


@pytest.mark.parametrize("factor", [np.float32(1), np.float64(1)])
def test_derivatives_of_a_float32_program_are_of_float32(factor):
    def holder_jvp(primals, tangents, *, program):
        out, moved = px.jvp(lambda x: core.eval_jaxpr(program.jaxpr, program.consts, x)[0], primals, tangents)
        return out, moved * factor

    p = define_primitive(
        "holder_of_one",
        impl=lambda x, *, program: core.eval_jaxpr(program.jaxpr, program.consts, x)[0],
        abstract_eval=FROM_IMPL,
        lowering=FROM_IMPL,
        jvp=holder_jvp,
    )
    x = X.astype(np.float32)
    report = report_of(p, Sample([x], {"program": px.make_jaxpr(pnp.sin)(x)}), only=["own_dtype"])
    assert [outcome.status for outcome in report] == ["failed" if factor.dtype == np.float64 else "passed"]


def _helper():
    def refuse(args, dims):
        raise KeyError("lost")

    p = define_primitive("helper", impl=lambda x: 3 * x, abstract_eval=FROM_IMPL, lowering=FROM_IMPL, batch=refuse)
    return p, refuse


def test_blame_goes_to_the_rule_that_raised_and_not_to_the_check():
    def raises(x):
        raise KeyError("lost")

    rules = {"jvp": lambda p, t: (raises(p), t), "batch": lambda a, d: (raises(a), d)}
    p = triple(batch=rules["batch"])
    (outcome,) = report_of(p, X, only=["vmap_of_jvp"]).failed
    assert outcome.rules[0] == "batch"  # whose line is also that of the jvp rule
    (outcome,) = report_of(triple(jvp=rules["jvp"]), X, only=["grad_of_vmap"]).failed
    assert outcome.rules[0] == "jvp"


def test_blame_names_a_rule_of_another_primitive_that_raised():
    helper_p, refuse = _helper()
    p = triple(batch=lambda args, dims: (px.vmap(helper_p.bind)(args[0]), 0))
    (outcome,) = report_of(p, X[0], only=["batch"]).failed
    line = refuse.__code__.co_firstlineno
    assert f"look at the batch rule of helper, given by {__name__} ({FILE}:{line}), which raised it" in outcome.message


@pytest.mark.parametrize("kind", ["jvp", "batch"])
def test_values_are_blamed_on_the_rule_whose_repair_helps(kind):
    report = report_of(triple(**{kind: FAULTS[kind]}), X, only=["vmap_of_grad", "grad_of_vmap"])
    assert {outcome.rules[0] for outcome in report.failed} <= {kind}


def test_a_wrong_dce_rule_is_blamed_for_programs_that_do_not_compile():
    def first_name(used, eqn):
        return [True], eqn.replace(params={"names": eqn.params["names"][:1]})

    p = define_primitive(
        "extremes",
        impl=lambda x, *, names: [{"low": pnp.min, "high": pnp.max}[name](x) for name in names],
        multiple_results=True,
        abstract_eval=FROM_IMPL,
        lowering=FROM_IMPL,
        dce=first_name,
    )
    report = report_of(p, Sample([X], {"names": ("low", "high")}), only=["effects", "lowering"])
    assert report.failed[0].rules[0] == "dce"
    assert "probable consequences: extremes[0]::lowering" in str(report)
