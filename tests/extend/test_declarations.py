"""What is declared of a primitive gives it the rules that follow, and contradictions are told at the definition."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import core, define_primitive, derive
from primax.extend.effects import Mutates, OperandEffect, register_effect
from primax.extend.host.contributions import sample_sources
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.testing import Sample, check_primitive, iter_checks

FROM_IMPL = derive.from_impl
X = np.float32([1.0, -2.0, 3.0])
Y = np.float32([0.5, 4.0, -1.0])


def _mix(x, y):
    return x * pnp.sum(y)


def test_what_is_linear_has_derivatives_and_transposes():
    p = define_primitive("mix", impl=_mix, abstract_eval=FROM_IMPL, linear=(0, 1), batch=FROM_IMPL, lowering=FROM_IMPL)
    check_primitive(p, X, Y)
    names = [eqn.primitive.name for eqn in px.make_jaxpr(lambda x, y: px.jvp(p.bind, (x, y), (y, x)))(X, Y).eqns]
    assert names == ["mix", "mix", "mix", "add_any"] or names == ["mix", "mix", "mix", "add"]
    (ct,) = px.linear_transpose(lambda x: p.bind(x, Y), X)(Y)
    np.testing.assert_allclose(ct, Y * Y.sum())


def test_a_transpose_follows_from_a_jvp_by_hand():
    def jvp(primals, tangents):
        x, k = primals
        t = ad.instantiate_zeros(tangents[0])
        return p.bind(x, k), pnp.roll(t, 1) * k

    p = define_primitive(
        "turned",
        impl=lambda x, k: np.roll(np.asarray(x), 1) * np.asarray(k),
        abstract_eval=lambda x, k: x,
        jvp=jvp,
        linear=(0,),
        nondiff=(1,),
    )
    assert core.rule_tables["transpose"].provenance[p].origin == "derived from jvp"
    (ct,) = px.linear_transpose(lambda x: p.bind(x, 2.0), X)(Y)
    assert ct.tolist() == (2 * np.roll(Y, -1)).tolist()


def test_a_transpose_that_would_need_itself_is_refused():
    p = define_primitive(
        "again", impl=lambda x: x, abstract_eval=lambda x: x, jvp=lambda xs, ts: (p.bind(*xs), p.bind(*ts)), linear=(0,)
    )
    with pytest.raises(core.RuleError, match="the transpose rule of again cannot be derived from its jvp rule, which"):
        px.grad(lambda x: p.bind(x).sum())(X)


def test_nothing_is_made_up_for_arguments_that_are_not_declared():
    p = define_primitive("curved", impl=lambda x, k: x * k * k, abstract_eval=FROM_IMPL, linear=(0,))
    assert px.grad(lambda x: p.bind(x, Y).sum())(X).tolist() == (Y * Y).tolist()
    with pytest.raises(core.MissingRuleError, match=r"with respect to argument 1: it is declared linear only in \[0\]"):
        px.grad(lambda k: p.bind(X, k).sum())(Y)
    with pytest.raises(TypeError, match=r"curved: it is declared linear in \[0\], not in argument 1"):
        px.linear_transpose(lambda k: p.bind(X, k), Y)(X)


def test_a_transpose_that_forgets_what_is_declared_linear_is_wrong():
    p = define_primitive(
        "lossy", impl=lambda x: x, abstract_eval=FROM_IMPL, linear=(0,), transpose=lambda ct, x: [None]
    )
    said = r"the transpose rule of lossy returned None for its argument 0, in which it is declared linear; .* ad.Zero\("
    with pytest.raises(core.RuleError, match=said):
        px.grad(lambda x: p.bind(x).sum())(X)


def test_there_is_no_derivative_with_respect_to_what_is_nondiff():
    p = define_primitive(
        "picked", impl=lambda x, k: x * k, abstract_eval=FROM_IMPL, jvp=FROM_IMPL, nondiff=(1,), lowering=FROM_IMPL
    )
    assert px.grad(lambda x: p.bind(x, Y).sum())(X).tolist() == Y.tolist()
    for use in (p.bind, px.jit(p.bind)):
        with pytest.raises(
            TypeError, match="picked: it has no derivative with respect to argument 1, which is declared"
        ):
            px.grad(lambda k: use(X, k).sum())(Y)  # noqa: B023


def _clipped_fwd(x, k, *, limit):
    return clipped_p.bind(x, k, limit=limit), {"k": k}


def _clipped_bwd(residuals, ct, *, limit):
    return pnp.clip(ct * residuals["k"], -limit, limit), None


clipped_p = define_primitive(
    "clipped",
    impl=lambda x, k, *, limit: x * k,
    abstract_eval=FROM_IMPL,
    vjp=(_clipped_fwd, _clipped_bwd),
    batch=FROM_IMPL,
    lowering=FROM_IMPL,
)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda f: f,
        px.jit,
        lambda f: px.vmap(f, (0, None)),
        lambda f: px.jit(px.vmap(f, (0, None))),
        lambda f: lambda x, k: px.jit(f)(x, k),
    ],
)
def test_a_backward_rule_serves_reverse_mode_under_every_transformation(wrap):
    f = wrap(lambda x, k: clipped_p.bind(x, k, limit=2.0))
    got = px.grad(lambda x: (f(x, np.float32(3)) * Y).sum())(X)
    np.testing.assert_allclose(got, np.clip(3 * Y, -2, 2))
    got = px.vmap(px.grad(lambda x: clipped_p.bind(x, np.float32(3), limit=2.0)))(X)
    assert got.tolist() == [2, 2, 2]


def test_forward_mode_says_that_there_is_a_backward_rule_only():
    with pytest.raises(TypeError, match=r"clipped has a backward rule .*, but no forward-mode derivative"):
        px.jvp(lambda x: clipped_p.bind(x, 3.0, limit=2.0), (X,), (X,))


@pytest.mark.parametrize(
    ("vjp", "said"),
    [
        ((lambda x: 1, lambda r, ct: [ct]), "the vjp rule of odd: fwd must return (out, residuals), got 1"),
        ((lambda x: (x, None), lambda r, ct: ct), "the vjp rule of odd: bwd must return 1 cotangents"),
    ],
)
def test_what_a_backward_rule_returns_is_looked_at(vjp, said):
    p = define_primitive("odd", impl=lambda x: x, abstract_eval=FROM_IMPL, vjp=vjp)
    with pytest.raises(core.RuleError, match=re.escape(said)):
        px.grad(lambda x: p.bind(x).sum())(X)


def test_what_is_elementwise_needs_no_batch_rule():
    p = define_primitive("dent", impl=lambda x, y: x * y + 1, elementwise=True, jvp=FROM_IMPL, lowering=FROM_IMPL)
    check_primitive(p, X.reshape(1, 3), Y.reshape(1, 3))
    (eqn,) = px.make_jaxpr(px.vmap(lambda x: p.bind(x, x)))(X).eqns
    assert eqn.primitive is p


def test_a_lowering_and_a_shape_are_enough():
    p = define_primitive("twin", elementwise=True, lowering=lambda ctx, x: [mlir.hlo.add(x, x)], jvp=derive.linear)
    assert px.vmap(p.bind)(X).tolist() == (2 * X).tolist()
    q = define_primitive("pair_of", elementwise=True, lowering=lambda ctx, x, y: [mlir.hlo.add(x, y)])
    with pytest.raises(TypeError, match=r"pair_of: arguments must be of the shape of argument 0, f32\[3\], or scalars"):
        q.bind(X, X[:2])


def test_a_result_may_be_like_an_argument():
    p = define_primitive("like", impl=lambda k, x: np.sort(np.asarray(x)) * np.asarray(k), out_like=1)
    assert px.eval_shape(p.bind, 2.0, X).shape == (3,)
    assert not core.get_aval(p.bind(2.0, X)).weak_type
    with pytest.raises(TypeError, match="like: the number of arguments must be 2, got 3"):
        px.eval_shape(p.bind, 2.0, X, X)
    q = define_primitive("like_first", lowering=lambda ctx, *xs: [xs[0]], out_like=0)
    with pytest.raises(TypeError, match="like_first: the number of arguments must be 1 or more, got 0"):
        px.eval_shape(q.bind)


def _even(value):
    return value % 2 == 0


def test_parameters_are_held_to_what_is_declared():
    p = define_primitive(
        "typed",
        impl=lambda x, *, k, name, step: x,
        abstract_eval=FROM_IMPL,
        lowering=FROM_IMPL,
        parameters={"k": int, "name": str | None, "step": _even},
    )
    right = {"k": 1, "name": None, "step": 2}
    for use in (p.bind, lambda x, **params: px.jit(lambda x: p.bind(x, **params))(x)):
        assert use(2.0, **right) == 2.0
        for wrong, kind, said in (
            ({"k": 1.0}, TypeError, "typed: parameter k must be of type int, got 1.0"),
            ({"k": True}, TypeError, "typed: parameter k must be of type int, got True"),
            ({"name": 3}, TypeError, "typed: parameter name must be of type str | None, got 3"),
            ({"step": 3}, ValueError, "typed: parameter step must satisfy _even, got 3"),
            ({"steps": 3}, TypeError, "typed: parameters must be among k, name, step, got steps; did you mean 'step'?"),
        ):
            with pytest.raises(kind, match=re.escape(said)):
                use(2.0, **{**right, **wrong})
        with pytest.raises(TypeError, match="typed: parameter step must be given"):
            use(2.0, k=1, name="a")


# What is wrong at the definition is told there.
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"linear": (2,)}, "linear must be positions of arguments below 2, got 2"),
        ({"linear": 0}, "linear must be a tuple of positions of arguments, got 0"),
        ({"linear": (True,)}, "linear must be positions of arguments below 2, got True"),
        ({"linear": (0,), "nondiff": (0,)}, "an argument must not be both linear and nondiff, got 0"),
        ({"nondiff": ("x",)}, "nondiff must be positions of arguments below 2, got 'x'"),
        ({"out_like": 5}, "out_like must be positions of arguments below 2, got 5"),
        ({"out_like": 0, "abstract_eval": FROM_IMPL}, "out_like must not be given together with a type rule"),
        ({"elementwise": 1}, "elementwise must be True or False, got 1"),
        ({"vjp": _mix}, "vjp must be a pair of functions, fwd(*args, **params) -> (out, residuals)"),
        ({"vjp": (_mix, _mix), "jvp": FROM_IMPL}, "vjp must not be given together with a jvp rule"),
        ({"vjp": (_mix, _mix), "linear": (0,)}, "vjp must not be given together with linear"),
        ({"parameters": ["k"]}, "parameters must be a mapping from names to types or functions, got ['k']"),
        ({"parameters": {"k": 3}}, "parameters must map names to types or functions, got 'k': 3"),
        ({"jvp": lambda primals: 0}, "the jvp rule must be (primals, tangents, **params), got <lambda>"),
        ({"jvp": lambda x, t, k: 0}, "the jvp rule must be (primals, tangents, **params), got <lambda>"),
        ({"batch": batching.vectorized}, "a factory of rules is given by derive.by(vectorized)"),
        ({"axis_batch": lambda args, dims: 0}, "the axis_batch rule must be (axis_data, args, dims, **params)"),
        ({"abstract_eval": lambda x: x}, "the abstract_eval rule must take as many arguments as the impl, 2, got 1"),
    ],
)
def test_what_is_wrong_at_the_definition_is_told_there(given, said):
    with pytest.raises(TypeError, match=re.escape(said)) as error:
        define_primitive("misfit", **{"impl": lambda x, y: x, **given})
    assert "misfit" in str(error.value)


def test_what_is_linear_needs_something_to_transpose():
    with pytest.raises(TypeError, match="linear needs an impl, a jvp or a transpose rule to derive"):
        define_primitive("bare", linear=(0,), lowering=lambda ctx, x: [x])


def test_rules_of_any_form_are_taken():
    class Rule:
        def __call__(self, primals, tangents, **params):
            return primals[0], tangents[0]

    p = define_primitive("formed", impl=lambda *xs: xs[0], abstract_eval=lambda *xs: xs[0], jvp=Rule())
    assert px.jvp(p.bind, (X,), (Y,))[1].tolist() == Y.tolist()


@dataclass(frozen=True)
class Reads(OperandEffect):
    """A stand-in for reading what an operand refers to."""


register_effect(Reads, control_flow=True, custom_derivatives=True)


def test_effects_are_declared_by_operand_and_no_transformation_loses_them():
    rules = dict.fromkeys(("abstract_eval", "jvp", "batch", "lowering"), FROM_IMPL)
    p = define_primitive("peek", impl=lambda x, y: x * y, effects=(Reads(1),), **rules)
    check_primitive(p, X, Y)

    def unread(x, y):
        p.bind(x, y)
        return x

    for fun, effects in (
        (unread, {Reads(1)}),
        (lambda x, y: unread(y, x), {Reads(0)}),
        (px.vmap(unread), {Reads(1)}),
        (px.grad(lambda x, y: unread(x, y).sum()), {Reads(1)}),
        (lambda x, y: px.jvp(unread, (x, y), (x, y)), {Reads(1)}),
        (lambda x, y: px.vjp(unread, x, y)[1](x), {Reads(1)}),
        (lambda x, y: px.jit(unread)(y, x), {Reads(0)}),
        (lambda x, y: px.lax.fori_loop(0, 2, lambda i, c: unread(c, y), x), {Reads(1)}),
    ):
        jaxpr = px.make_jaxpr(fun)(X, Y)
        core.check_jaxpr(jaxpr.jaxpr)
        assert jaxpr.effects == effects
    np.testing.assert_allclose(px.jit(px.grad(lambda x: p.bind(x, Y).sum()))(X), Y)


class _Cell:
    """A value that can be written to."""

    value = 0.0


class _CellType(core.AbstractValue):
    def __eq__(self, other):
        return type(other) is _CellType

    def __hash__(self):
        return hash(_CellType)


core.Registry("cells", {}).aval(_Cell, lambda cell: _CellType())


def _poke(cell, x):
    cell.value = x
    return x


def test_an_operand_that_is_written_to_is_declared_and_is_no_array():
    p = define_primitive("poke", impl=_poke, out_like=1, mutates=(0,), nondiff=(0,), lowering=FROM_IMPL)
    cell = _Cell()
    assert px.make_jaxpr(lambda x, k: p.bind(k, x))(X, cell).effects == {Mutates(1)}
    assert p.bind(cell, X).tolist() == cell.value.tolist() == X.tolist()
    said = r"poke: argument 0, which is declared in mutates, must have a mutable type, got an array of type f32\["
    for fun in (p.bind, px.jit(p.bind), px.make_jaxpr(p.bind)):
        with pytest.raises(TypeError, match=said):
            fun(X, X)


def _clear_first(x, y):
    np.asarray(x)[:] = 0
    return y


def test_the_kit_tells_of_operands_that_are_changed_unless_that_is_declared():
    outcomes = {}
    frank = {"abstract_eval": None, "effectful_abstract_eval": lambda x, y: (y, {Mutates(0)})}
    for name, declared in (("sly", {}), ("frank", frank)):
        p = define_primitive(name, impl=_clear_first, **{"abstract_eval": lambda x, y: y, **declared})
        sample_sources[p] = [Sample([X, Y])]
        try:
            *_, outcomes[name] = [check.run() for check in iter_checks(p, only=["inputs_unchanged"])]
        finally:
            del sample_sources[p]
    assert "the impl rule must not change its arguments, but changed argument 0" in outcomes["sly"].message
    assert outcomes["frank"].status == "passed"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"effects": (Reads,)}, "which is a class: make an instance"),
        ({"effects": (Reads(2),)}, "effects must be positions of arguments below 2, got 2"),
        ({"effects": 3}, "effects must be a sequence of instances of Effect, got 3"),
        ({"mutates": (2,)}, "mutates must be positions of arguments below 2, got 2"),
        ({"mutates": 0}, "mutates must be a tuple of positions of arguments, got 0"),
        ({"mutates": (0,), "abstract_eval": None}, "mutates must be given together with an abstract_eval rule"),
        (
            {"mutates": (0,), "abstract_eval": None, "effectful_abstract_eval": FROM_IMPL},
            "mutates must not be given together with effectful_abstract_eval",
        ),
        (
            {"effects": (Reads(0),), "interpret": FROM_IMPL},
            "interpret must not be derive.from_impl if effects is given",
        ),
    ],
)
def test_effects_that_are_wrong_at_the_definition_are_told_there(given, said):
    with pytest.raises(TypeError, match=re.escape(said)) as error:
        define_primitive("misfit", **{"impl": lambda x, y: x, "abstract_eval": FROM_IMPL, **given})
    assert str(error.value).startswith("define_primitive(misfit)")


MATVEC = "(m,n),(n)->(m)"
A = np.float32(np.arange(24).reshape(4, 2, 3) ** 2 % 7 - 3)


def _times(a, x):
    return pnp.einsum("...mn,...n->...m", a, x)


def test_a_signature_gives_types_batch_and_sharding_rules():
    p = define_primitive("matvec", impl=_times, signature=MATVEC, jvp=FROM_IMPL, lowering=FROM_IMPL)
    x = A[:, 0]
    for dims, shape in (((0, 0), "abc,ac->ab"), ((0, None), "abc,c->ab"), ((None, 0), "bc,ac->ab")):
        args = [v if d == 0 else v[0] for v, d in zip((A, x), dims, strict=True)]
        got = px.vmap(p.bind, dims, 1)(*args)
        np.testing.assert_allclose(got, np.einsum(shape, *args).T)
    outer = px.vmap(px.vmap(p.bind, (0, None)), (None, 1))
    np.testing.assert_allclose(outer(A, x.T), np.einsum("abc,dc->dab", A, x))
    names = [eqn.primitive.name for eqn in px.make_jaxpr(px.vmap(p.bind, (0, None)))(A, x[0]).eqns]
    assert names == ["matvec"]  # without repeating the operand that is not mapped
    assert core.rule_tables["sharding"][p].text == "... _ _, ... _ -> ... _"
    (b,) = px.export.symbolic_shape("b")
    spec = px.ShapeDtypeStruct((b, 2, 3), np.float32)
    assert px.eval_shape(p.bind, spec, px.ShapeDtypeStruct((1, 3), np.float32)).shape == (b, 2)
    with pytest.raises(TypeError, match=re.escape("matvec: the core dimension n of argument 1 must be 3, got f32[2]")):
        p.bind(A, x[0, :2])
    with pytest.raises(TypeError, match=re.escape("matvec: argument 0 must end with axes (m,n), got f32[3]")):
        p.bind(x[0], x[0])
    with pytest.raises(TypeError, match="matvec: leading axes have incompatible shapes for broadcasting"):
        p.bind(A, x[:3])


def test_a_signature_checks_the_type_rule_and_completes_its_dtypes():
    least = {"impl": lambda x: [np.argmin(x, -1).astype(np.int32), np.min(x, -1, keepdims=True)]}
    p = define_primitive(
        "least", multiple_results=True, **least, signature="(n)->(),(1)", abstract_eval=lambda x: [np.int32, x.dtype]
    )
    index, value = px.vmap(p.bind, 1)(A[0])
    assert (index.shape, value.shape) == ((3,), (3, 1))
    q = define_primitive("wrong", impl=np.sort, signature="(n)->(n)", abstract_eval=lambda x: x.update(shape=(7,)))
    with pytest.raises(
        core.RuleError, match=r"(?s)abstract_eval rule of wrong returned f32\[7\] as result 0, .* \(3\)"
    ):
        q.bind(Y)
    kernel = define_primitive("kernel", impl=_times, signature=MATVEC, lowering=FROM_IMPL, leading="equal")
    np.testing.assert_allclose(px.vmap(kernel.bind, (0, None))(A, Y), A @ Y)
    with pytest.raises(TypeError, match="kernel: all arguments must have the same leading axes"):
        kernel.bind(A, Y)


@pytest.mark.parametrize(
    "declared, message",
    [
        ({"signature": "(m,n)"}, "signature must list the core dimensions"),
        (
            {"signature": "(n?),()->()"},
            "signature must name core dimensions by identifiers or sizes, got 'n?'; optional dimensions of NumPy",
        ),
        ({"signature": "(n)->()"}, "signature must be for the 2 arguments of the impl"),
        ({"signature": "(n),(n)->(k)"}, "signature gives no size for dimension 'k' of a result"),
        ({"signature": "(n),(n)->(),()"}, "multiple_results must be True for signature"),
        ({"signature": "(n),(n)->()", "leading": "same"}, "leading must be 'broadcast' or 'equal', got 'same'"),
        ({"leading": "equal"}, "leading must be given together with signature"),
        ({"signature": "(),()->()", "elementwise": True}, "signature must not be given together with elementwise"),
    ],
)
def test_wrong_signatures_are_refused(declared, message):
    with pytest.raises(TypeError, match=re.escape(f"define_primitive(unsigned): {message}")):
        define_primitive("unsigned", impl=lambda x, y: x, **declared)


def _failed(p, check):
    return [outcome for one in iter_checks(p, only=[check]) for outcome in [one.run()] if outcome.status == "failed"]


@pytest.mark.parametrize(
    "impl, signature, args",
    [
        (lambda a, x: a @ x, MATVEC, [A[0], Y]),  # only for core dimensions
        (lambda x: x - pnp.sum(x), "(n)->(n)", [Y]),
        (lambda x: x / pnp.max(x), "()->()", [Y]),
    ],
    ids=["core only", "all axes", "scalars"],
)
def test_the_kit_finds_false_signatures(impl, signature, args):
    p = define_primitive("false", impl=impl, signature=signature, lowering=FROM_IMPL, samples=[Sample(args)])
    (outcome,) = _failed(p, "core_dimensions")
    assert "for operands of shapes (2, " in outcome.message


def test_the_kit_passes_right_signatures():
    p = define_primitive("right", impl=_times, signature=MATVEC, lowering=FROM_IMPL, samples=[Sample([A[0], Y])])
    assert not _failed(p, "core_dimensions")


def test_factories_for_elementwise_primitives_say_so_when_misused():
    p = define_primitive("product", impl=_times, abstract_eval=FROM_IMPL, batch=derive.by(batching.broadcasting))
    with pytest.raises(core.RuleError, match=r"product is batching\.broadcasting, which is for elementwise primitives"):
        px.vmap(p.bind)(A, A[:, 0])
    q = define_primitive("total", impl=pnp.sum, abstract_eval=FROM_IMPL, batch=derive.by(batching.vectorized))
    with pytest.raises(core.RuleError, match=r"batching\.vectorized, which is for elementwise .* signature="):
        px.vmap(q.bind)(A)
    sort_p = define_primitive(
        "sorting",
        impl=pnp.sort,
        abstract_eval=FROM_IMPL,
        batch=derive.by(batching.vectorized),
        lowering=FROM_IMPL,
        samples=[Sample([Y])],
    )
    (outcome,) = _failed(sort_p, "batch")
    assert "batching.vectorized, which is for elementwise primitives" in outcome.message


def test_rules_that_nobody_wrote_are_derived():
    p = define_primitive("alike", impl=pnp.sin, elementwise=True, out_like=0, jvp=FROM_IMPL)
    origins = {kind: core.rule_tables[kind].provenance[p].origin for kind in ("impl", "abstract_eval", "batch", "jvp")}
    assert origins == {
        "impl": "given",
        "abstract_eval": "derived from out_like",
        "batch": "derived from being elementwise",
        "jvp": "derived from impl",
    }
