"""The functions that JAX's users look for under jax.extend and jax.interpreters do here what they do there."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.errors import ConcretizationTypeError, UnexpectedTracerError
from primax.extend import api_util, core, effects, sharding, source_info_util
from primax.extend import linear_util as lu
from primax.extend.host.registry import Registry
from primax.extend.interpreters import ad, batching, mlir, xla
from primax.extend.interpreters import partial_eval as pe

X = np.arange(3, dtype=np.float32)
AVAL = core.ShapedArray((3,), np.float32)


class DoublingTrace(core.Trace):
    """Sees that binds reach it, and leaves the work to its parent."""

    def __init__(self, parent, tag):
        super().__init__(parent)
        self.tag = tag
        self.seen = []

    def process(self, primitive, args, params):
        self.seen.append(primitive.name)
        return self.parent.process(primitive, args, params)


def test_a_trace_is_made_on_top_of_the_one_that_was_taken():
    def under(x):
        with core.take_current_trace() as parent:
            assert core.current_trace() is core.eval_trace
            trace = DoublingTrace(parent, core.TraceTag())
            with core.set_current_trace(trace):
                assert core.find_top_trace((x,)) is trace
                out = pnp.negative(x)
        assert core.find_top_trace() is parent
        return out, trace

    out, trace = under(X)
    assert trace.seen == ["neg"]
    np.testing.assert_array_equal(out, -X)
    closed = px.make_jaxpr(lambda x: under(x)[0])(X)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["neg"]
    assert trace.tag == trace.tag
    assert trace.tag != core.TraceTag()


def test_within_eval_context_what_is_bound_is_evaluated():
    def f(x):
        with core.eval_context():
            table = pnp.arange(3, dtype=np.float32) * 2
        assert isinstance(table, px.Array)
        return x + table

    assert [eqn.primitive.name for eqn in px.make_jaxpr(f)(X).eqns] == ["add"]


@pytest.mark.parametrize("axis", [0, 1, None])
def test_types_of_what_is_mapped(axis):
    aval = core.ShapedArray((2, 3), np.float32)
    element = core.mapped_aval(2 if axis == 0 else 3, axis, aval)
    assert element.shape == {0: (3,), 1: (2,), None: (2, 3)}[axis]
    assert core.unmapped_aval(2 if axis == 0 else 3, axis, element) == aval


def test_what_can_be_an_argument_of_a_program():
    assert all(map(core.valid_jaxtype, (1, 2.0, True, X, np.float32(1), pnp.arange(3))))
    assert not any(map(core.valid_jaxtype, ("text", None, [1.0], np.array(["text"]), object())))


def test_dtypes_of_tangents():
    assert core.primal_dtype_to_tangent_dtype(np.dtype(np.float32)) == np.float32
    assert core.primal_dtype_to_tangent_dtype(np.dtype(np.int32)) == core.dtypes.float0


def test_concrete_or_error_asks_for_a_value_and_says_why():
    assert core.concrete_or_error(int, np.float32(2.0)) == 2
    assert core.concrete_or_error(None, "text") == "text"
    seen = []
    px.grad(lambda x: (seen.append(core.concrete_or_error(float, x)), x)[1])(2.0)
    assert seen == [2.0]
    kept = []

    @px.jit
    def f(x):
        kept.append(x)
        return core.concrete_or_error(int, x, "the length must be known")

    with pytest.raises(ConcretizationTypeError, match=r"the length must be known\..*\n.*argument x of f"):
        f(3)
    with pytest.raises(UnexpectedTracerError):
        core.concrete_or_error(int, kept[0])


def test_apply_primitive_compiles_what_a_lowering_says():
    p = core.Primitive("applied")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.nary("stablehlo.negate"))
    np.testing.assert_array_equal(xla.apply_primitive(p, X), -X)


def test_wrapped_functions_are_called_with_what_was_wrapped_around_them():
    @lu.transformation2
    def scaled(f, factor, *args, **kwargs):
        return factor * f(*args, **kwargs)

    @lu.transformation
    def shifted(by, *args):
        out = yield tuple(x + by for x in args), {}
        yield out - by

    def add(x, y, *, z=0):
        return x + y + z

    fun = lu.wrap_init(add, {"z": 100})
    assert fun.call_wrapped(1, 2) == 103
    assert scaled(fun, 2).call_wrapped(1, 2) == 206
    assert shifted(lu.wrap_init(add), 10).call_wrapped(1, 2) == (1 + 10 + 2 + 10) - 10
    assert shifted(scaled(lu.wrap_init(add), 2), 10).call_wrapped(1, 2) == 2 * 23 - 10
    assert scaled(fun, 2) == scaled(lu.wrap_init(add, {"z": 100}), 2)
    assert len({scaled(fun, 2), scaled(fun, 2), scaled(fun, 3), fun}) == 3
    assert fun.__name__ == "add"


def test_a_second_result_is_there_once_the_function_has_been_called():
    @lu.transformation_with_aux
    def counted(*args):
        out = yield args, {}
        yield out, len(args)

    one, first = counted(lu.wrap_init(max))
    two, second = counted(lu.wrap_init(min))
    with pytest.raises(lu.StoreException, match="only once"):
        first()
    with pytest.raises(lu.StoreException, match="got 0"):
        lu.merge_linear_aux(first, second)
    assert one.call_wrapped(3, 1, 2) == 3
    assert first() == 3
    assert lu.merge_linear_aux(first, second) == (True, 3)
    with pytest.raises(lu.StoreException, match="called twice"):
        one.call_wrapped(1, 2)
    two.call_wrapped(1, 2)
    with pytest.raises(lu.StoreException, match="got 2"):
        lu.merge_linear_aux(first, second)


def flat(fun, *args, **kwargs):
    info = api_util.debug_info("test", fun, args, kwargs)
    leaves, in_tree = px.tree.flatten((args, kwargs))
    wrapped, out_tree = api_util.flatten_fun(lu.wrap_init(fun, debug_info=info), in_tree)
    return wrapped, out_tree, leaves


def test_functions_of_containers_become_functions_of_leaves():
    def f(pair, *, scale):
        return {"sum": (pair[0] + pair[1]) * scale}

    wrapped, out_tree, leaves = flat(f, (X, X), scale=2.0)
    (out,) = wrapped.call_wrapped(*leaves)
    np.testing.assert_array_equal(px.tree.unflatten(out_tree(), [out])["sum"], 4 * X)
    wrapped, out_tree = api_util.flatten_fun_nokwargs(lu.wrap_init(lambda x, y: [x, y]), px.tree.structure((1, 2)))
    assert wrapped.call_wrapped(3, 4) == [3, 4]
    assert out_tree() == px.tree.structure([1, 2])


def test_debug_info_names_the_leaves_of_arguments():
    def f(x, rest, *, mode="a"):
        return x

    info = api_util.debug_info("jit", f, (X, {"a": X, "b": X}), {"mode": "b"}, static_argnames=("mode",))
    assert info.func_name == "f"
    assert __file__ in info.func_src_info
    assert info.arg_names == ("x", "rest['a']", "rest['b']")
    assert api_util.debug_info("jit", max, (1, 2), {}).arg_names is None


@pytest.mark.parametrize(
    "value",
    [X, 1.0, np.int8(3), core.ShapedArray((3,), np.int32), px.ShapeDtypeStruct((2,), np.float32)],
)
def test_shaped_abstractify_gives_the_type(value):
    aval = api_util.shaped_abstractify(value)
    assert isinstance(aval, core.ShapedArray)
    assert aval.shape == getattr(value, "shape", ())
    with pytest.raises(TypeError, match="not a valid primax type"):
        api_util.shaped_abstractify("text")


def test_wrapped_functions_are_staged():
    wrapped, _, leaves = flat(lambda x, y: [x * 2.0 + TABLE, y], X, 3)
    jaxpr, out_avals, consts = pe.trace_to_jaxpr_dynamic(wrapped, [core.get_aval(x) for x in leaves])
    assert [aval.str_short() for aval in out_avals] == ["f32[3]", core.get_aval(3).str_short()]
    assert [c is TABLE for c in consts] == [True]
    np.testing.assert_array_equal(core.eval_jaxpr(jaxpr, consts, X, 3)[0], 2 * X + TABLE)
    closed = pe.convert_constvars_jaxpr(jaxpr)
    assert not closed.constvars
    np.testing.assert_array_equal(core.eval_jaxpr(closed, (), TABLE, X, 3)[0], 2 * X + TABLE)


TABLE = np.array([5.0, 7.0, 9.0], np.float32)


@pytest.mark.parametrize("instantiate", [False, True, [False, True, False]])
def test_what_is_known_is_computed_and_the_rest_is_staged(instantiate):
    done = []

    def f(x, y):
        known = pnp.sin(x)
        done.append(isinstance(known, px.Array))
        return [known, x, known * y]

    pvals = [pe.PartialVal.known(X), pe.PartialVal.unknown(AVAL)]
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(lu.wrap_init(f), pvals, instantiate=instantiate)
    assert done == [True]
    wanted = [instantiate] * 3 if isinstance(instantiate, bool) else instantiate
    assert [pval.is_known() for pval in outs] == [not wanted[0], not wanted[1], False]
    assert [pval.get_aval() for pval in outs] == [AVAL] * 3
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]
    results = iter(core.eval_jaxpr(jaxpr, consts, X + 1))
    found = [pval.get_known() if pval.is_known() else next(results) for pval in outs]
    for got, want in zip(found, [np.sin(X), X, np.sin(X) * (X + 1)], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_all_outputs_or_none_are_wanted_of_a_program():
    jaxpr = px.make_jaxpr(lambda x, y: (pnp.sin(x), y))(X, X).jaxpr
    assert [len(pe.dce_jaxpr(jaxpr, used)[0].eqns) for used in (True, False)] == [1, 0]
    assert pe.dce_jaxpr(jaxpr, [False, True])[1] == [False, True]


def test_helpers_of_derivatives():
    assert ad.get_primitive_transpose(px.lax.mul_p) is ad.primitive_transposes[px.lax.mul_p]
    with pytest.raises(NotImplementedError, match="no transpose rule"):
        ad.get_primitive_transpose(px.lax.sin_p)
    np.testing.assert_array_equal(ad.add_jaxvals(X, X), 2 * X)
    np.testing.assert_array_equal(ad.Zero(AVAL).instantiate(), np.zeros(3, np.float32))


def test_batch_rules_that_know_the_axis_come_in_two_forms():
    seen = []
    p, q = core.Primitive("by_axis_data"), core.Primitive("by_size_and_name")
    for primitive in (p, q):
        primitive.def_impl(lambda x: x)
        primitive.def_abstract_eval(lambda x: x)

    def by_axis_data(axis, args, dims):
        seen.append((axis.size, axis.name))
        return args[0], dims[0]

    def by_size_and_name(size, name, trace_type, args, dims):
        seen.append((size, name, trace_type))
        return args[0], dims[0]

    batching.fancy_primitive_batchers[p] = by_axis_data
    batching.axis_primitive_batchers[q] = by_size_and_name
    px.vmap(lambda x: q.bind(p.bind(x)), axis_name="i")(X)
    assert seen == [(3, "i"), (3, "i", None)]
    assert batching.fancy_primitive_batchers.provenance[q].line == by_size_and_name.__code__.co_firstlineno
    assert batching.bdim_at_front(X, None, 2, None).shape == batching.broadcast(X, 2, 0, None).shape == (2, 3)


def test_builders_of_ir():
    p = core.Primitive("built")
    p.def_abstract_eval(lambda x: x)
    found = {}

    def lowering(ctx, x):
        assert mlir.aval_to_ir_type(ctx.avals_in[0]) == mlir.aval_to_ir_type(ctx.module_context, ctx.avals_in[0])
        assert mlir.aval_to_ir_types(ctx.module_context, AVAL) == (mlir.aval_to_ir_type(AVAL),)
        for name, made in {
            "array": mlir.dense_int_array(np.array([1, 2])),
            "elements": mlir.dense_int_elements([[0, 1]]),
            "i32": mlir.i32_attr(3),
            "i64": mlir.i64_attr(4),
            "shape": mlir.shape_tensor(ctx.module_context, (2, 3)).type,
            "no shape": mlir.shape_tensor(()).type,
            "token": mlir.token_type(),
        }.items():
            found[name] = str(made)
        found["text"] = mlir.module_to_string(ctx.module_context.module)
        found["code"] = mlir.module_to_bytecode(ctx.module_context.module)[:4]
        assert dict(ctx.tokens_in) == {}
        assert ctx.replace(avals_in=[AVAL]).avals_in == [AVAL]
        (constant,) = mlir.ir_constants(np.ones(3, np.float32))
        return mlir.hlo.AddOp(x, constant).results

    mlir.register_lowering(p, lowering, inline=False, cacheable=False)
    np.testing.assert_array_equal(px.jit(p.bind)(X), X + 1)
    assert "stablehlo.constant" in found.pop("text")
    assert found.pop("code") == b"ML\xefR"
    assert found == {
        "array": "array<i64: 1, 2>",
        "elements": "dense<[[0, 1]]> : tensor<1x2xi64>",
        "i32": "3 : i32",
        "i64": "4 : i64",
        "shape": "tensor<2xi32>",
        "no shape": "tensor<0xi32>",
        "token": "!stablehlo.token",
    }


def test_token_sets():
    tokens = mlir.TokenSet({"a": 1, "b": 2})
    assert tokens.get("a") == 1
    assert tokens.effects() == {"a", "b"}
    assert tokens.tokens() == (1, 2)
    assert tokens.subset(["b"]) == mlir.TokenSet({"b": 2})
    assert list(tokens.update_tokens({"b": 3, "c": 4}).items()) == [("a", 1), ("b", 3)]


def test_lists_of_effects_are_views_of_what_was_registered():
    class Ping(effects.Effect):
        pass

    ping = Ping()
    everything = (
        effects.lowerable_effects,
        effects.ordered_effects,
        effects.control_flow_allowed_effects,
        effects.custom_derivatives_allowed_effects,
    )
    assert not any(each.contains(ping) for each in everything)
    for i, each in enumerate(everything):
        each.add_type(Ping)
        assert [other.contains(ping) for other in everything] == [j <= i for j in range(4)]
    assert effects.ordered_effects.filter_in([ping]) == [ping]
    assert effects.ordered_effects.filter_not_in([ping]) == []
    assert "Ping" in repr(effects.lowerable_effects)


def test_sources_of_equations():
    closed = px.make_jaxpr(lambda x: (lambda y: pnp.sin(y))(x))(X)
    source = closed.eqns[0].source_info
    assert __file__ in source_info_util.summarize(source)
    assert source_info_util.summarize(source) == str(source_info_util.user_frame(source))
    assert source_info_util.summarize(None) == "an unknown line"
    assert len(source_info_util.summarize(source, num_frames=2).split("\n")) == 2

    def g(x):
        with source_info_util.user_context(source):
            assert source_info_util.current() is source
            y = pnp.cos(x)
        return y * 2.0

    cos, mul = px.make_jaxpr(g)(X).eqns
    assert cos.source_info is source
    assert mul.source_info is not source


def test_shardings_are_serialized_and_read_back():
    found = px.numpy.arange(3).sharding
    hlo = found._to_xla_hlo_sharding(1)
    text = sharding.get_serialized_proto_from_hlo_sharding(hlo)
    assert sharding.get_hlo_sharding_from_serialized_proto(text) == hlo
    assert sharding.get_op_sharding_from_serialized_proto(text).SerializeToString() == text


def test_what_is_not_there_is_an_import_error():
    with pytest.raises(ImportError):
        from primax.extend import pallas  # noqa: F401


def test_a_plugin_may_claim_a_primitive_whose_rules_were_entered_at_import():
    p = core.Primitive("claimed")
    p.def_impl(lambda x: x)
    registry = Registry("claiming", {})
    registry.define(p)
    assert p.plugin == "claiming"
    assert core.rule_tables["impl"].provenance[p].plugin == __name__
    p.def_impl(lambda x: -x)
    assert p.bind(2.0) == -2.0
    registry.roll_back()


def test_primitives_are_an_attribute_of_core():
    assert core.primitives["sin"] is core.primitives.sin_p is px.lax.sin_p


def test_the_attributes_that_the_document_names_are_there():
    closed = px.make_jaxpr(px.jit(lambda x: pnp.sin(x)))(X)
    (eqn,) = closed.eqns
    assert any(core.jaxprs_in_params(eqn.params))
    np.testing.assert_array_equal(core.eval_trace.process(px.lax.neg_p, [X], {}), -X)
    assert px.lax.neg_p.abstract_eval((AVAL,), {}) == ([AVAL], core.no_effects)
    assert closed.replace(jaxpr=closed.jaxpr.replace(eqns=[])).eqns == []
