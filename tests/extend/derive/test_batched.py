"""A batch rule derived from an impl keeps every other rule of its primitive, in any order of transformations."""

from __future__ import annotations

import itertools
import pickle
import re

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.errors import RuleError
from primax.extend import Interpreter, core, define_primitive, derive, replay
from primax.extend.interpreters import ad, batching, mlir

FROM_IMPL = derive.from_impl
ZEROS = np.zeros(3, np.float32)
X = np.float32([0.0, 3.0, -5.0])
Y = np.float32([0.0, 4.0, 12.0])


def _norm(x, y):
    return pnp.sqrt(x * x + y * y)


def _norm_jvp(primals, tangents):
    out = norm_p.bind(*primals)
    x, y = primals
    dx, dy = map(ad.instantiate_zeros, tangents)
    safe = pnp.where(out == 0, 1, out)
    return out, x / safe * dx + y / safe * dy


norm_p = define_primitive(
    "norm2", impl=_norm, abstract_eval=FROM_IMPL, jvp=_norm_jvp, batch=FROM_IMPL, lowering=FROM_IMPL
)
norm = norm_p.bind


def _blur(x, y, *, k):
    return k * (pnp.roll(x, 1, -1) + x) * pnp.sum(y)


def _blur_transpose(ct, x, y, *, k):
    """Right, and twenty times what it should be, so that it is seen at work."""
    return [20 * k * (pnp.roll(ct, -1, -1) + ct) * pnp.sum(y), None]


blur_p = define_primitive(
    "blur",
    impl=_blur,
    abstract_eval=FROM_IMPL,
    jvp=derive.by(ad.standard_jvp, lambda t, x, y, *, k: blur_p.bind(t, y, k=k), None),
    transpose=_blur_transpose,
    batch=FROM_IMPL,
    lowering=FROM_IMPL,
)


def names(fun, *args):
    return [eqn.primitive.name for eqn in px.make_jaxpr(fun)(*args).eqns]


def test_a_mapped_primitive_shows_under_its_name():
    closed = px.make_jaxpr(px.vmap(norm, (0, None)))(X, np.float32(2))
    assert str(closed).split("let")[1].strip().startswith("c:f32[3] = norm2[vmapped=(3 at (0, None),)] a b")
    core.check_jaxpr(closed)


def test_parameters_print_with_where_it_is_mapped():
    closed = px.make_jaxpr(px.vmap(lambda x: blur_p.bind(x, x, k=2)))(np.ones((2, 3), np.float32))
    assert "blur[k=2 vmapped=(2 at (0, 0),)] a a" in " ".join(str(closed).split())


ORDERS = {
    "vmap of grad": lambda: px.vmap(px.grad(norm, (0, 1))),
    "grad of vmap": lambda: px.grad(lambda x, y: px.vmap(norm)(x, y).sum(), (0, 1)),
    "jit of vmap of grad": lambda: px.jit(px.vmap(px.grad(norm, (0, 1)))),
    "grad of jit of vmap": lambda: px.grad(lambda x, y: px.jit(px.vmap(norm))(x, y).sum(), (0, 1)),
    "vmap of jit of grad": lambda: px.vmap(px.jit(px.grad(norm, (0, 1)))),
    "jit of grad of vmap of jit": lambda: px.jit(px.grad(lambda x, y: px.vmap(px.jit(norm))(x, y).sum(), (0, 1))),
    "forward over vmap": lambda: (
        lambda x, y: (
            px.jvp(px.vmap(norm), (x, y), (pnp.ones(3), pnp.zeros(3)))[1],
            px.jvp(px.vmap(norm), (x, y), (pnp.zeros(3), pnp.ones(3)))[1],
        )
    ),
    "linearize of vmap": lambda: (
        lambda x, y: (
            px.linearize(px.vmap(norm), x, y)[1](pnp.ones(3), pnp.zeros(3)),
            px.linearize(px.vmap(norm), x, y)[1](pnp.zeros(3), pnp.ones(3)),
        )
    ),
    "grad of vmap of vmap": lambda: (
        lambda x, y: [
            g[:, 0]
            for g in px.grad(lambda a, b: px.vmap(px.vmap(norm))(a, b).sum(), (0, 1))(x.reshape(3, 1), y.reshape(3, 1))
        ]
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_hand_written_jvp_holds_at_its_singular_point(order):
    dx, dy = ORDERS[order]()(X, Y)
    np.testing.assert_allclose(dx, [0, 0.6, -5 / 13], rtol=1e-5)
    np.testing.assert_allclose(dy, [0, 0.8, 12 / 13], rtol=1e-5)


@pytest.mark.parametrize("dims", [(0, None), (None, 1), (1, 0)])
def test_a_hand_written_jvp_holds_wherever_the_axis_is(dims):
    x = np.zeros((3, 3), np.float32) if dims[0] is not None else ZEROS
    y = np.zeros((3, 3), np.float32) if dims[1] is not None else ZEROS
    gx, gy = px.grad(lambda x, y: px.vmap(norm, dims, 1)(x, y).sum(), (0, 1))(x, y)
    assert (gx.shape, gy.shape) == (x.shape, y.shape)
    assert not np.any(gx)
    assert not np.any(gy)


@pytest.mark.parametrize("dims", [d for d in itertools.product((None, 0, 1), repeat=2) if d != (None, None)])
@pytest.mark.parametrize("wrap", [lambda f: f, px.jit])
def test_a_hand_written_transpose_is_called_under_vmap(dims, wrap):
    x, y = (np.float32([[1, 2, 3], [4, 5, 6], [7, 8, 10]]) if d is not None else np.float32([1, 2, 5]) for d in dims)

    def loss(fun):
        return px.grad(lambda x: (px.vmap(wrap(fun), dims)(x, y) * pnp.arange(3.0)).sum())

    got = loss(lambda x, y: blur_p.bind(x, y, k=2.0))(x)
    np.testing.assert_allclose(got, 20 * loss(lambda x, y: _blur(x, y, k=2.0))(x), rtol=1e-5)


def test_a_transpose_of_several_results_meets_symbolic_zeros():
    kinds = []

    def transpose(cts, x):
        kinds.append([type(ct) is ad.Zero for ct in cts])
        return [pnp.add(*map(ad.instantiate_zeros, cts))]

    p = define_primitive(
        "twice_over",
        multiple_results=True,
        impl=lambda x: [x + 0, x + 0],
        abstract_eval=FROM_IMPL,
        jvp=derive.linear,
        transpose=transpose,
        batch=FROM_IMPL,
    )
    assert px.grad(lambda x: px.vmap(p.bind)(x)[1].sum())(X).tolist() == [1, 1, 1]
    assert kinds == [[True, False]]


def test_a_hand_written_lowering_compiles_the_elements():
    seen = []

    def lowering(ctx, x):
        seen.append(ctx.avals_in[0].shape)
        return [mlir.hlo.add(x, x)]

    p = define_primitive(
        "lowered", impl=lambda x: 3 * x, abstract_eval=FROM_IMPL, jvp=FROM_IMPL, batch=FROM_IMPL, lowering=lowering
    )
    x = np.ones((2, 3), np.float32)
    assert px.jit(px.vmap(p.bind))(x).tolist() == (2 * x).tolist()
    assert px.jit(px.vmap(px.vmap(p.bind)))(x).tolist() == (2 * x).tolist()
    assert set(seen) == {(3,), ()}
    assert px.vmap(p.bind)(x).tolist() == (3 * x).tolist()  # evaluation goes by the impl, of a batch as of an element
    many = px.jit(px.vmap(p.bind))
    assert many(np.ones(40, np.float32)).tolist() == [2] * 40


def test_a_derived_jvp_leaves_the_result_to_a_hand_written_lowering():
    p = define_primitive(
        "own",
        impl=lambda x: 3 * x,
        abstract_eval=FROM_IMPL,
        jvp=FROM_IMPL,
        lowering=lambda ctx, x: [mlir.hlo.add(x, x)],
    )
    y, dy = px.jit(lambda x: px.jvp(p.bind, (x,), (x,)))(X)
    assert y.tolist() == (2 * X).tolist()
    assert dy.tolist() == (3 * X).tolist()


def test_a_primitive_of_no_jvp_has_none_under_vmap_either():
    p = define_primitive("rough", impl=lambda x: x * x, batch=FROM_IMPL, unsupported={"jvp": "it is rough"})
    for use in (px.vmap(px.grad(p.bind)), px.grad(lambda x: px.vmap(p.bind)(x).sum())):
        with pytest.raises(core.MissingRuleError, match=r"rough .* does not support jvp: it is rough"):
            use(X)


def test_a_primitive_of_no_lowering_has_none_under_vmap_either():
    p = define_primitive("hosted", impl=lambda x: x * x, abstract_eval=FROM_IMPL, batch=FROM_IMPL)
    with pytest.raises(core.MissingRuleError, match="no lowering rule for primitive 'hosted'"):
        px.jit(px.vmap(p.bind))(X)
    assert px.vmap(p.bind)(X).tolist() == (X * X).tolist()


def test_rules_given_later_hold_for_what_is_mapped_too():
    p = define_primitive("later", impl=lambda x: x * x, abstract_eval=FROM_IMPL, batch=FROM_IMPL, lowering=FROM_IMPL)
    mapped = px.jit(px.vmap(p.bind))
    mapped(X)
    ad.primitive_jvps[p] = ad.standard_jvp(p, lambda t, x: 7 * t)
    assert px.grad(lambda x: mapped(x).sum())(X).tolist() == [7, 7, 7]
    ad.primitive_jvps[p] = ad.standard_jvp(p, lambda t, x: 9 * t)
    assert px.grad(lambda x: mapped(x).sum())(X).tolist() == [9, 9, 9]


def test_a_wrong_rule_is_named_by_the_primitive_under_vmap():
    p = define_primitive("bad", impl=lambda x: x, batch=FROM_IMPL, jvp=lambda primals, tangents: (primals[0], None))
    with pytest.raises(core.RuleError, match="the jvp rule of bad returned None as a tangent"):
        px.grad(lambda x: px.vmap(p.bind)(x).sum())(X)


def test_axes_are_named_to_the_impl_and_to_the_jvp():
    p = define_primitive(
        "centred",
        impl=lambda x: x - px.lax.pmean(x, "i"),
        abstract_eval=FROM_IMPL,
        jvp=FROM_IMPL,
        axis_batch=FROM_IMPL,
        lowering=FROM_IMPL,
    )
    mapped = px.vmap(p.bind, axis_name="i")
    want = X - X.mean()
    for use in (mapped, px.jit(mapped)):
        np.testing.assert_allclose(use(X), want, rtol=1e-6)
        np.testing.assert_allclose(px.jvp(use, (X,), (Y,))[1], Y - Y.mean(), rtol=1e-5)
        np.testing.assert_allclose(px.grad(lambda x: use(x)[0])(X), [2 / 3, -1 / 3, -1 / 3], rtol=1e-5)  # noqa: B023


@pytest.mark.parametrize("batch", [FROM_IMPL, derive.loop], ids=str)
def test_a_batch_rule_without_the_axis_is_refused_to_what_communicates_along_it(batch):
    share_p = define_primitive(
        "share", impl=lambda x, *, name: x / lax.psum(x, name), abstract_eval=FROM_IMPL, batch=batch, lowering=FROM_IMPL
    )
    with pytest.raises(RuleError, match=r"^share: the batch rule .* communicates along 'i'; give axis_batch=derive.fr"):
        px.vmap(lambda x: share_p.bind(x, name="i"), axis_name="i")(Y)
    np.testing.assert_allclose(px.vmap(norm_p.bind, axis_name="i")(X, Y), np.hypot(X, Y), rtol=1e-6)


def test_an_impl_communicates_along_axes_of_a_mesh_and_of_vmap():
    share_p = define_primitive(
        "share",
        impl=lambda x, *, name: x / lax.psum(x, name),
        abstract_eval=FROM_IMPL,
        axis_batch=FROM_IMPL,
        lowering=FROM_IMPL,
    )
    mesh = px.make_mesh((1,), ("i",))
    shares = lambda x: share_p.bind(x, name="i")  # noqa: E731
    divided = px.shard_map(shares, mesh=mesh, in_specs=px.P("i"), out_specs=px.P("i"))
    np.testing.assert_allclose(px.jit(divided)(1 + Y), np.ones(3))
    np.testing.assert_allclose(px.jit(px.vmap(shares, axis_name="i"))(Y), Y / Y.sum(), rtol=1e-6)


def test_the_primitive_of_such_an_equation_is_pickled():
    (eqn,) = px.make_jaxpr(px.vmap(norm))(X, Y).eqns
    assert pickle.loads(pickle.dumps(eqn.primitive)) is eqn.primitive
    assert eqn.primitive.form_of is norm_p


def test_forms_are_not_listed_as_primitives():
    px.vmap(norm)(X, Y)
    for table in core.rule_tables.values():
        assert not [key for key in table if str(key) == "norm2" and key is not norm_p]
        assert len(list(table)) == len(table)


@pytest.mark.parametrize("kind", ["partial_eval_jaxpr", "dce", "staging"])
def test_what_a_batched_form_cannot_keep_refuses_it(kind):
    with pytest.raises(TypeError, match=f"define_primitive\\(lost\\): batch cannot be derive.from_impl if the {kind}"):
        define_primitive("lost", impl=lambda x: x, batch=FROM_IMPL, **{kind: lambda *args: None})


def test_a_rule_for_the_transformation_of_somebody_else_refuses_it_too():
    core.new_rule_table("series", "(primals, terms, **params) -> (out, terms)")
    try:
        said = "if the series rule is written by hand, because vmap would lose that rule: only its author knows"
        with pytest.raises(TypeError, match=re.escape(said)):
            define_primitive("lost", impl=lambda x: x, batch=FROM_IMPL, series=lambda primals, terms: None)
        define_primitive("kept", impl=lambda x: x, batch=derive.loop, series=lambda primals, terms: None)
    finally:
        del core.rule_tables["series"]


def test_a_derived_jvp_is_refused_beside_a_transpose_by_hand():
    said = "jvp cannot be derive.from_impl if the transpose rule is written by hand"
    with pytest.raises(TypeError, match=re.escape(said)):
        define_primitive("lost", impl=lambda x: x, jvp=FROM_IMPL, transpose=lambda ct, x: [ct])


def test_a_parameter_called_vmapped_is_refused():
    p = define_primitive("mixed_up", impl=lambda x, *, vmapped: x, batch=FROM_IMPL)
    with pytest.raises(TypeError, match="mixed_up: parameters must have other names than 'vmapped'"):
        px.vmap(lambda x: p.bind(x, vmapped=1))(X)


class Replaying(Interpreter):
    def default(self, eqn, *values):
        return replay(eqn, values)[0]


def test_interpreters_see_the_operations_of_a_mapped_primitive():
    closed = px.make_jaxpr(px.vmap(norm))(X, Y)
    (out,) = Replaying().interpret(closed, X, Y)
    np.testing.assert_allclose(out, [0, 5, 13])
    assert names(lambda x, y: Replaying().interpret(closed, x, y)[0], X, Y) == ["mul", "mul", "add", "sqrt"]


def test_a_loop_and_a_derived_batch_rule_agree():
    by_loop = define_primitive("by_loop", impl=_norm, batch=derive.loop)
    a, b = np.float32(np.arange(6).reshape(2, 3)), Y
    np.testing.assert_allclose(px.vmap(norm, (0, None))(a, b), px.vmap(by_loop.bind, (0, None))(a, b), rtol=1e-6)
    assert batching.not_mapped is None
