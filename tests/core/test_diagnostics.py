"""What a user is told of rules that are missing, wrong or failing: under every transformation, with the line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import primax as px
from primax.core import rules
from primax.core.array_protocol import protocol_of
from primax.core.avals import AbstractValue
from primax.extend import core
from primax.extend.interpreters import ad, mlir

pytestmark = [pytest.mark.filterwarnings("ignore:.* are experimental"), pytest.mark.usefixtures("in_32_bits")]

X = np.ones(3, np.float32)
SOURCE = Path(__file__).read_text(encoding="utf-8").splitlines()


def line(mark):
    return next(i for i, text in enumerate(SOURCE, 1) if text.endswith(f"# {mark}"))


def primitive(name="my_op", multiple_results=False, **given):
    """A primitive that does nothing, with some of its rules replaced, and those that are None left out."""
    single = not multiple_results
    p = core.Primitive(name, multiple_results=multiple_results)
    usual = {
        "impl": lambda *xs: xs[0] if single else list(xs),
        "abstract_eval": lambda *xs: xs[0] if single else list(xs),
        "jvp": lambda xs, ts: (p.bind(*xs), p.bind(*[ad.instantiate_zeros(t) for t in ts])),
        "transpose": lambda ct, *xs: [ct] if single else list(ct),
        "batch": lambda xs, ds: (p.bind(*xs), ds[0] if single else ds),
        "lowering": lambda ctx, *xs: list(xs),
    }
    for kind, rule in {**usual, **given}.items():
        if rule is not None:
            rules.rule_tables[kind][p] = rule
    return p


def used(p):
    """A function that binds `p` at a line to be found in messages."""

    def f(x):
        y = p.bind(x)  # bound
        return (y[0] if p.multiple_results else y) * 1.0

    return f


BOUND = f"{__file__}:{line('bound')} (used.<locals>.f)"


def summed(f):
    return lambda x: f(x).sum()


# How a function is used, by name.
USES = {
    "eager": lambda f: f(X),
    "jit": lambda f: px.jit(f)(X),
    "make_jaxpr": lambda f: px.make_jaxpr(f)(X),
    "jvp": lambda f: px.jvp(f, (X,), (X,)),
    "linearize": lambda f: px.linearize(f, X),
    "grad": lambda f: px.grad(summed(f))(X),
    "vjp": lambda f: px.vjp(f, X)[1](X),
    "linear_transpose": lambda f: px.linear_transpose(f, X)(X),
    "vmap": lambda f: px.vmap(f)(X),
    "jacfwd": lambda f: px.jacfwd(f)(X),
    "vmap of jit": lambda f: px.vmap(px.jit(f))(X),
    "jit of vmap": lambda f: px.jit(px.vmap(f))(X),
    "grad of jit": lambda f: px.grad(summed(px.jit(f)))(X),
    "jit of grad": lambda f: px.jit(px.grad(summed(f)))(X),
    "grad of jit of vmap": lambda f: px.grad(lambda x: px.jit(px.vmap(f))(x).sum())(X),
    "vmap of grad of jit": lambda f: px.vmap(px.grad(px.jit(f)))(X),
    "jvp of jit of jit": lambda f: px.jvp(px.jit(px.jit(f)), (X,), (X,)),
}

DIFFERENTIATION = "differentiation (jvp, grad, linearize) needs it"
TRANSPOSITION = "transposition (grad, vjp, linear_transpose) needs it"
COMPILATION = f"compilation for {px.default_backend()} needs it"

# The kind of the missing rule, and for each use what is said to need it.
MISSING = {
    "abstract_eval": {
        "jit": "jit of f needs it",
        "make_jaxpr": "make_jaxpr of f needs it",
        "jit of vmap": "jit of f needs it",
        "grad of jit": "jit of f needs it",
    },
    "jvp": dict.fromkeys(
        ("jvp", "linearize", "grad", "vjp", "jacfwd", "grad of jit", "jit of grad", "jvp of jit of jit"),
        DIFFERENTIATION,
    ),
    "transpose": dict.fromkeys(
        ("grad", "vjp", "linear_transpose", "grad of jit", "jit of grad", "grad of jit of vmap"), TRANSPOSITION
    ),
    "batch": dict.fromkeys(
        ("vmap", "vmap of jit", "jit of vmap", "jacfwd", "grad of jit of vmap", "vmap of grad of jit"),
        "vmap needs it",
    ),
    "lowering": dict.fromkeys(("jit", "vmap of jit", "grad of jit"), COMPILATION),
}
ONE_LINERS = {
    "abstract_eval": "my_op_p.def_abstract_eval(rule)",
    "jvp": "ad.primitive_jvps[my_op_p] = rule",
    "transpose": "ad.primitive_transposes[my_op_p] = rule",
    "batch": "batching.primitive_batchers[my_op_p] = rule",
    "lowering": "mlir.register_lowering(my_op_p, rule)",
}


@pytest.mark.parametrize(("kind", "use"), [(kind, use) for kind, uses in MISSING.items() for use in uses])
def test_a_missing_rule_is_named_with_who_needs_it_the_users_line_and_what_helps(kind, use):
    p = primitive(**{kind: None})
    with pytest.raises(px.errors.MissingRuleError) as error:
        USES[use](used(p))
    text = str(error.value)
    there = [each for each in ("impl", "abstract_eval", "jvp", "transpose", "batch", "lowering") if each != kind]
    for phrase in (
        f"no {kind} rule for primitive 'my_op' (from no plugin, made in {__name__}).\n",
        f"{BOUND}; {MISSING[kind][use]}.\n",
        f"  It has these rules: {', '.join(there)}.\n",
        f"  Give it:    {ONE_LINERS[kind]}, or",
        f"registry.define(my_op_p, {kind}=rule)",
        f"where rule is {rules.rule_tables[kind].signature}.",
        "  Derive it:  rule may be derive.",
        f'  Or declare: registry.define(my_op_p, unsupported={{"{kind}": "the reason"}}).',
    ):
        assert phrase in text
    assert all(len(each) <= 120 for each in text.splitlines() if __name__ not in each and __file__ not in each)


def test_without_any_way_to_compute_evaluation_says_that_there_is_no_impl_either():
    for given, kind in (({}, "abstract_eval"), ({"abstract_eval": lambda x: x}, "lowering")):
        p = core.Primitive("bare")
        for each, rule in given.items():
            rules.rule_tables[each][p] = rule
        with pytest.raises(px.errors.MissingRuleError, match=f"no {kind} rule for primitive 'bare'") as error:
            used(p)(X)
        assert BOUND in str(error.value)
        assert error.value.__notes__ == ["  bare has no impl rule either, which evaluation would call instead."]


def test_a_lowering_for_an_absent_platform_is_taken_and_named_when_another_is_wanted():
    p = primitive(lowering=None)
    mlir.register_lowering(p, lambda ctx, x: [x], platform="elsewhere")
    with pytest.raises(px.errors.MissingRuleError) as error:
        px.jit(used(p))(X)
    text = str(error.value)
    assert f"There are lowerings for ['elsewhere'], but the program is built for {px.default_backend()!r}." in text
    assert "lowering[elsewhere]" in text
    assert BOUND in text


def test_what_is_declared_unsupported_says_why_and_where():
    p = primitive(jvp=None)
    rules.jvp_rules.unsupported[p] = "it jumps"
    with pytest.raises(px.errors.MissingRuleError) as error:
        px.grad(summed(px.jit(used(p))))(X)
    assert str(error.value) == (
        f"my_op (no plugin) does not support jvp: it jumps\n  Bound at {BOUND}; {DIFFERENTIATION}."
    )


class Noise(core.Effect):
    """An effect that nobody has registered."""


class Sound(AbstractValue):
    """A type that nobody supplies the protocol for."""

    def __repr__(self):
        return "Sound"


def test_a_missing_array_protocol_is_said_with_the_line():
    with pytest.raises(
        TypeError, match="no active plugin supplies the array protocol for values of type Sound"
    ) as error:
        protocol_of(Sound())  # asked
    assert f"Needed at {__file__}:{line('asked')} (" in str(error.value)
    assert "registry.array_protocol(Sound, zeros=..., add=..., ...)" in str(error.value)


kept = []


def leak():
    """A tracer that outlives its transformation."""
    kept.clear()
    px.make_jaxpr(lambda x: kept.append(x) or x)(X)
    return kept[0]


F7 = np.ones(7, np.float32)
F16 = np.ones(3, np.float16)

# By the kind of rule: what a wrong one returns given its first argument, the uses that meet it, and what is said.
WRONG = {
    "impl": [
        (lambda x: None, ("eager", "jvp", "grad"), "must return arrays, got None"),
        (lambda x: "text", ("eager",), "must return arrays, got 'text'"),
        (lambda x: [x], ("eager",), "must return arrays, got ["),
        (lambda x: leak(), ("eager",), "that had escaped from make_jaxpr of"),
    ],
    "abstract_eval": [
        (lambda x: None, ("jit", "make_jaxpr", "jit of vmap", "grad of jit"), "must return an aval, got None for ("),
        (lambda x: [x], ("make_jaxpr",), "must return an aval, got ["),
        (lambda x: X, ("make_jaxpr",), "must return an aval, got array("),
    ],
    "effectful_abstract_eval": [
        (lambda x: x, ("make_jaxpr",), "must return (avals, effects), got ShapedArray"),
        (lambda x: (x, None), ("make_jaxpr", "jit"), "must return a set of effects, got None"),
        (lambda x: (x, "loud"), ("make_jaxpr",), "must return a set of effects, got 'loud'"),
        (lambda x: (x, {"loud"}), ("make_jaxpr",), "must return effects that are instances of Effect, got 'loud'"),
        (lambda x: (x, {Noise()}), ("make_jaxpr",), "call register_effect(Noise, ...) before using it"),
    ],
    "jvp": [
        (lambda xs: None, ("jvp", "grad", "grad of jit"), "must return (primal_out, tangent_out), got None"),
        (lambda xs: (X, None), ("jvp", "linearize", "jit of grad"), "returned None as a tangent; a zero is Zero(aval)"),
        (lambda xs: (X, F7), ("jvp", "vjp", "grad of jit"), "a tangent of type f32[7] for a primal of type f32[3]"),
        (
            lambda xs: (X, F16),
            ("jvp", "linearize", "jvp of jit of jit"),
            "a tangent of type f16[3] for a primal",
        ),
        (lambda xs: (None, X), ("jvp", "grad"), "must return arrays, got (None, array("),
        (lambda xs: (leak(), X), ("jvp", "grad"), "that had escaped from make_jaxpr of"),
    ],
    "transpose": [
        (lambda ct: None, ("grad", "linear_transpose"), "one cotangent or None per argument, got None for 1 arguments"),
        (lambda ct: [ct, ct], ("grad", "grad of jit", "jit of grad"), "per argument, got 2 for 1 arguments"),
        (lambda ct: [F7], ("grad", "vjp", "grad of jit"), "f32[7] for its argument 0, of type f32[3]"),
        (lambda ct: [F16], ("vjp",), "returned a cotangent of type f16[3] for its argument 0, of type f32[3]"),
        (lambda ct: ["text"], ("grad",), "must return arrays, got 'text'"),
        (lambda ct: [leak()], ("grad",), "that had escaped from make_jaxpr of"),
    ],
    "batch": [
        (lambda xs: None, ("vmap", "jit of vmap"), "must return (out, dim), got None"),
        (lambda xs: (xs[0], 1), ("vmap", "jit of vmap"), "returned dim 1 for an output of shape (3,); it must be None"),
        (lambda xs: (xs[0], -1), ("vmap",), "returned dim -1 for"),
        (lambda xs: (F7, 0), ("vmap", "vmap of jit"), "dim 0 for an output of shape (7,); it must be None or the pos"),
        (lambda xs: ([xs[0]], [0]), ("vmap",), "must return arrays, got ["),
        (lambda xs: (None, None), ("vmap",), "must return arrays, got None"),
        (lambda xs: (leak(), 0), ("vmap",), "that had escaped from make_jaxpr of"),
    ],
    "lowering": [
        (lambda ctx: None, ("jit", "grad of jit"), "must return IR values, got None"),
        (lambda ctx: "text", ("jit",), "must return IR values, got 'text'"),
        (lambda ctx: [], ("jit", "vmap of jit"), "must return 1 IR values, got 0"),
        (lambda ctx: [mlir.ir_constant(F7)], ("jit",), "returned tensor<7xf32> for a result of type f32[3]"),
    ],
}


def cases(faults):
    return [(kind, *fault, use) for kind, all_ in faults.items() for *fault, uses in map(_last, all_) for use in uses]


def _last(fault):
    rule, uses, said = fault
    return rule, said, uses


def misbehaving(kind, rule, **given):
    """A primitive one of whose rules looks at its first argument only."""

    def wrong_rule(first, *rest, **params):  # the rule
        return rule(first)

    if kind == "effectful_abstract_eval":
        given["abstract_eval"] = None
    if kind == "lowering":
        given["impl"] = None
    return primitive(**{kind: wrong_rule}, **given)


@pytest.mark.parametrize(("kind", "rule", "said", "use"), cases(WRONG))
def test_what_a_wrong_rule_returns_is_refused_with_its_place_and_the_users_line(kind, rule, said, use):
    p = misbehaving(kind, rule)
    with pytest.raises(px.errors.RuleError) as error:
        USES[use](used(p))
    text = str(error.value)
    assert text.startswith(f"the {kind} rule of my_op ")
    assert said in text.splitlines()[0]
    assert text.splitlines()[1] == f"  The rule is at {__file__}:{line('the rule')}."
    assert text.splitlines()[2].startswith("  Bound at ")
    assert text.endswith(f"{BOUND}.")


SEVERAL = {
    "impl": [(lambda x: x, ("eager",), "must return a list, since multiple_results is True")],
    "abstract_eval": [(lambda x: x, ("make_jaxpr",), "must return a list of avals, since multiple_results is True")],
    "jvp": [
        (lambda xs: (X, X), ("jvp", "grad"), "must return a list of primals and one of tangents"),
        (lambda xs: ([X], []), ("jvp", "grad of jit"), "returned 1 primals but 0 tangents"),
    ],
    "batch": [
        (lambda xs: (xs[0], 0), ("vmap",), "must return a list, since multiple_results is True"),
        (lambda xs: ([xs[0]], [0, 0]), ("vmap",), "returned 1 outputs but 2 dims"),
    ],
    "partial_eval": [(lambda trace: None, ("grad", "linearize"), "must return a list, since multiple_results")],
    "staging": [(lambda trace: None, ("make_jaxpr", "jit"), "must return a list, since multiple_results is True")],
    "dce": [
        (lambda used_: None, ("jit",), "must return (used_inputs, eqn or None), with 1 flags, got None"),
        (lambda used_: ([], None), ("jit",), "must return (used_inputs, eqn or None), with 1 flags, got ([], None)"),
    ],
    "partial_eval_jaxpr": [
        (lambda unknown: None, ("grad of jit",), "must return (known eqn or None, unknown eqn or None, unknown_out)"),
        (lambda unknown: (None, None, []), ("grad of jit",), "with 1 flags, got (None, None, [])"),
    ],
}


@pytest.mark.parametrize(("kind", "rule", "said", "use"), cases(SEVERAL))
def test_with_multiple_results_lists_of_the_right_length_are_asked_for(kind, rule, said, use):
    p = misbehaving(kind, rule, multiple_results=True)
    with pytest.raises(px.errors.RuleError) as error:
        USES[use](used(p))
    text = str(error.value)
    assert text.startswith(f"the {kind} rule of my_op ")
    assert said in text.splitlines()[0]
    assert text.endswith(f"{BOUND}.")


def test_cotangents_of_arguments_that_are_not_linear_are_left_out_as_in_jax():
    p = primitive(
        jvp=lambda xs, ts: (p.bind(*xs), p.bind(ts[0], xs[1])),
        transpose=lambda ct, x, y: [ct, F7],
        lowering=lambda ctx, x, y: [x],
    )
    assert px.grad(lambda x: p.bind(x, X).sum())(X).tolist() == [1.0] * 3


def failing(kind):
    def rule(*args, **params):  # fails
        raise LookupError("not today")

    given = {"abstract_eval": None} if kind == "effectful_abstract_eval" else {}
    return primitive(**{"impl": None} if kind == "lowering" else {}, **given, **{kind: rule})


FAILING = {
    "impl": ("eager", "grad"),
    "abstract_eval": ("jit", "make_jaxpr", "jit of vmap"),
    "effectful_abstract_eval": ("jit",),
    "jvp": ("jvp", "grad", "grad of jit", "jit of grad", "vmap of grad of jit"),
    "transpose": ("grad", "vjp", "grad of jit", "jit of grad"),
    "batch": ("vmap", "vmap of jit", "jacfwd", "grad of jit of vmap"),
    "lowering": ("jit", "grad of jit"),
    "dce": ("jit",),
    "partial_eval": ("grad",),
    "partial_eval_jaxpr": ("grad of jit",),
    "staging": ("make_jaxpr",),
}


@pytest.mark.parametrize(("kind", "use"), [(kind, use) for kind, uses in FAILING.items() for use in uses])
def test_an_exception_within_a_rule_passes_with_one_note_of_the_rule_and_the_users_line(kind, use):
    p = failing(kind)
    with pytest.raises(LookupError, match="not today") as error:
        USES[use](used(p))
    (note,) = error.value.__notes__
    assert note.startswith(f"while applying the {kind} rule of my_op ({__file__}:{line('fails')}), bound at ")
    assert note.endswith(BOUND)


@pytest.mark.parametrize("kind", ["jvp", "transpose", "batch", "lowering"])
def test_a_rule_of_a_wrong_signature_is_named(kind):
    p = primitive(**{"impl": None} if kind == "lowering" else {}, **{kind: lambda: None})
    use = {"jvp": "jvp", "transpose": "grad", "batch": "vmap", "lowering": "jit"}[kind]
    with pytest.raises(TypeError, match="takes 0 positional arguments") as error:
        USES[use](used(p))
    (note,) = error.value.__notes__
    assert note.startswith(f"while applying the {kind} rule of my_op ({__file__}:")
    assert note.endswith(BOUND)


def test_a_rule_that_needs_a_rule_that_is_missing_is_told_apart_from_the_users_line():
    q = primitive("inner", batch=None)
    p = primitive("outer", batch=lambda xs, ds: (px.vmap(q.bind)(xs[0]), 0))
    with pytest.raises(px.errors.MissingRuleError, match="no batch rule for primitive 'inner'") as error:
        px.vmap(used(p))(X)
    (note,) = error.value.__notes__
    assert note.startswith("while applying the batch rule of outer (")
    assert note.endswith(BOUND)


def test_an_error_of_the_users_own_gets_no_note():
    def f(x):
        return px.lax.add(x, F7)

    for use in ("eager", "jvp", "jit", "grad of jit"):
        with pytest.raises(TypeError) as error:
            USES[use](f)
        assert not getattr(error.value, "__notes__", [])


def test_overriding_a_jvp_changes_grad_too_also_in_functions_that_were_compiled():
    p = primitive(jvp=lambda xs, ts: (p.bind(*xs), ts[0] * 2.0))
    inner = px.jit(used(p))
    slopes = [
        px.jit(px.grad(summed(used(p)))),
        px.grad(summed(inner)),
        px.jit(px.grad(summed(inner))),
        lambda x: px.jvp(inner, (x,), (X,))[1],
        lambda x: px.vjp(inner, x)[1](X)[0],
    ]
    assert {float(slope(X)[0]) for slope in slopes} == {2.0}
    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(*xs), ts[0] * 5.0)
    assert {float(slope(X)[0]) for slope in slopes} == {5.0}


PROGRAM = """
import primax as px
from primax.extend import core
from primax.extend.interpreters import ad, batching
p = core.Primitive("typed")
p.def_impl(lambda x: x)
p.def_abstract_eval(lambda x: x)

def f(x):
    return p.bind(x)

def attempt(g, *args):
    try:
        g(*args)
    except Exception as error:
        print(*str(error).splitlines()[:2], *getattr(error, "__notes__", ()), sep="\\n")

attempt(px.grad(px.jit(f)), 1.0)
ad.primitive_jvps[p] = lambda xs, ts: 1 / 0
attempt(px.grad(f), 1.0)
"""


@pytest.mark.parametrize("way", ["-c", "typed in"])
def test_programs_without_a_file_have_lines_too(way):
    typed_in = way == "typed in"
    done = subprocess.run(
        [sys.executable, "-"] if typed_in else [sys.executable, "-c", PROGRAM],
        input=PROGRAM if typed_in else None,
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    file = "<stdin>" if typed_in else "<string>"
    assert done.stdout.splitlines() == [
        "no jvp rule for primitive 'typed' (from no plugin, made in __main__).",
        f"  Bound at {file}:10 (f); {DIFFERENTIATION}.",
        "division by zero",
        f"while applying the jvp rule of typed ({file}:19), bound at {file}:10 (f)",
    ]


PLUGIN_THAT_FAILS = """
import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, hookimpl

definitions = Definitions()

def wave_jvp(primals, tangents):
    lost_p.bind(primals[0])

lost_p = define_primitive("lost", registry=definitions)
wave_p = define_primitive("wave", impl=lambda x: x, jvp=wave_jvp, registry=definitions)

def wave(x):
    return wave_p.bind(x)

def lost(x):
    return lost_p.bind(x)

@hookimpl
def primax_register(registry):
    definitions.enter(registry)
"""
USER = """
import primax as px
from waves import lost, wave

def report(use):
    try:
        use()
    except Exception as error:
        lines = [*str(error).splitlines(), *getattr(error, "__notes__", ())]
        print(*(line for line in lines if "ound at" in line), sep="\\n")

report(lambda: lost(1.0))
report(lambda: px.jit(lost)(1.0))
report(lambda: px.vmap(wave)(px.numpy.ones(3)))
report(lambda: px.grad(wave)(1.0))
"""


def test_the_lines_of_an_installed_plugin_are_not_taken_for_the_users(tmp_path):
    info = tmp_path / "waves-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: waves\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[primax]\nwaves = waves\n")
    (tmp_path / "waves.py").write_text(PLUGIN_THAT_FAILS)
    program = tmp_path / "program.py"
    program.write_text(USER)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PRIMAX_")}
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**inherited, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [part.replace(f"{tmp_path}{os.sep}", "") for part in done.stdout.splitlines()]
    eager, staged, mapped, differentiated, *rest = [each.strip() for each in lines]
    assert eager.startswith("Bound at program.py:12 (<lambda>)")
    assert staged.startswith("Bound at program.py:13 (<lambda>)")
    assert mapped.startswith("Bound at program.py:14 (<lambda>)")
    # What a rule binds is told with both lines: the rule's, and the user's.
    assert differentiated.startswith("Bound at waves.py:8 (wave_jvp), for program.py:15 (<lambda>)")
    assert rest == ["while applying the jvp rule of wave (waves.py:7), bound at program.py:15 (<lambda>)"]
