"""Names of jax.extend and jax.interpreters that primax.extend has too."""

from __future__ import annotations

import functools
import importlib
import types

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import backend, core, define_primitive, derive, ffi, linear_util, lowering, mlir, source_info_util
from primax.extend.interpreters import ad, batching, partial_eval
from primax.extend.interpreters import mlir as rules
from primax.extend.provisional import runtime
from primax.porting.private.flattree import FlatTree
from primax.porting.table import table


def test_a_linear_program_is_pulled_back():
    closed = px.make_jaxpr(lambda x, y: (pnp.sin(x) * y, y * 2.0))(1.0, 2.0)
    aval = closed.in_avals[1]
    zero, ct = ad.backward_pass(closed.jaxpr, False, closed.consts, [1.0, ad.UndefinedPrimal(aval)], [1.0, 3.0])
    assert type(zero) is ad.Zero
    assert float(ct) == pytest.approx(np.sin(1.0) + 6.0)
    with pytest.raises(core.MissingRuleError):
        ad.backward_pass(closed.jaxpr, False, closed.consts, [ad.UndefinedPrimal(aval), 1.0], [1.0, 3.0])


def test_results_for_wrapped_functions_are_remembered():
    made = []

    @linear_util.cache
    def program(fun, aval):
        made.append(fun)
        return px.make_jaxpr(fun.call_wrapped)(aval)

    def f(x):
        return x * 2.0

    info = linear_util.DebugInfo("test", "f")
    aval = px.ShapeDtypeStruct((3,), "float32")
    first = program(linear_util.wrap_init(f, debug_info=info), aval)
    assert program(linear_util.wrap_init(f, debug_info=info), aval) is first
    assert program(linear_util.wrap_init(f, debug_info=info), px.ShapeDtypeStruct((4,), "float32")) is not first
    assert program(linear_util.wrap_init(lambda x: x, debug_info=info), aval) is not first
    assert len(made) == 3


def test_second_results_are_stored_under_the_name_that_jax_has():
    @linear_util.transformation_with_aux2
    def counted(f, store, *args):
        store.store(len(args))
        return f(*args)

    wrapped, count = counted(linear_util.wrap_init(lambda x, y: x + y))
    assert wrapped.call_wrapped(1.0, 2.0) == 3.0
    assert count() == 2
    with pytest.raises(linear_util.StoreException):
        wrapped.call_wrapped(1.0, 2.0)


def test_the_backend_is_found_under_the_names_of_jax():
    assert backend.get_backend().client is runtime.client()
    assert backend.backends()["cpu"] is backend.get_backend("cpu")
    assert backend.get_default_device() == px.devices()[0]
    options = backend.get_compile_options(1, 1, env_options_overrides={"xla_embed_ir_in_executable": True})
    assert (options.num_replicas, options.num_partitions) == (1, 1)
    assert backend.get_compile_options(1, 1, device_assignment=[0]).num_replicas == 1
    backend.backend_xla_version()
    with pytest.raises(ValueError, match="fail_quietly must be True"):
        backend.register_backend_factory("moon", lambda: None, fail_quietly=False)


def test_modules_are_parsed_and_written_as_portable_artifacts():
    lowered = px.jit(lambda x: x + 1.0).lower(1.0)
    with mlir.ir.Context():
        data = mlir.serialize_portable_artifact(lowered.compiler_ir(), "1.0.0")
    assert b"StableHLO" in data
    assert "stablehlo" in str(mlir.deserialize_portable_artifact(data))


@pytest.mark.parametrize("dialect", ["stablehlo", "func", "arith", "chlo", "builtin"])
def test_dialects_are_those_of_jaxlib(dialect):
    assert getattr(mlir.dialects, dialect).__name__ == f"jaxlib.mlir.dialects.{dialect}"
    with pytest.raises(AttributeError, match="has no attribute 'moon'"):
        _ = mlir.dialects.moon


def test_numpy_types_are_array_types():
    assert {np.ndarray, np.float32} <= core.array_types
    assert float not in core.array_types


def test_a_tutorial_compiles_its_own_programs_with_these_names():
    """As "Autodidax" does: a module is built operation by operation, compiled by the client and run on buffers."""
    ir, func, hlo = mlir.ir, mlir.dialects.func, mlir.dialects.stablehlo
    with ir.Context() as context, ir.Location.unknown(context):
        hlo.register_dialect(context)
        module = ir.Module.create()
        scalar = ir.RankedTensorType.get((), ir.F64Type.get())
        with ir.InsertionPoint(module.body):

            @func.func(scalar)
            def doubled(x):
                return hlo.add(x, x)

            @func.func(scalar, scalar)
            def main(x, y):
                call = func.CallOp(doubled.func_op, [x])
                twice = call.results[0]
                three = hlo.constant(ir.DenseElementsAttr.get(np.asarray(3.0)))
                return hlo.multiply(hlo.sine(twice), hlo.add(y, three))

    client = backend.get_backend(None)
    compiled = client.compile_and_load(str(module), client.devices()[:1])
    with px.enable_x64(True):
        (out,) = compiled.execute([px.device_put(np.float64(x))._b for x in (0.5, 1.0)])
    assert float(np.asarray(out)) == pytest.approx(4.0 * np.sin(1.0))


def test_a_context_for_modules_is_made_and_rules_know_theirs():
    context = rules.make_ir_context()
    body = "%y = stablehlo.sine %x : tensor<f32> return %y : tensor<f32>"
    text = f"func.func @main(%x: tensor<f32>) -> tensor<f32> {{ {body} }}"
    assert "stablehlo.sine" in str(mlir.ir.Module.parse(text, context))
    assert lowering.LoweringRuleContext is rules.LoweringRuleContext


def test_io_callback_is_experimental_too():
    assert px.experimental.io_callback is px.io_callback
    assert {"checkify", "io_callback", "jet"} <= set(px.experimental.__all__)


MODULES = """
extend.backend extend.core extend.core.primitives extend.linear_util extend.lowering extend.mlir extend.mlir.ir
extend.mlir.passmanager extend.mlir.dialects.stablehlo extend.mlir.dialects.func extend.random extend.sharding
extend.source_info_util interpreters.ad interpreters.batching interpreters.mlir interpreters.partial_eval
interpreters.xla
""".split()


@pytest.mark.parametrize("module", MODULES)
def test_each_name_of_a_module_of_jax_is_there_or_has_a_reason(module):
    theirs = pytest.importorskip(f"jax.{module}")
    ours = importlib.import_module("primax.extend." + module.removeprefix("extend."))
    names = {name for name in vars(theirs) if not name.startswith("_")} | set(getattr(theirs, "__all__", ()))
    lacking = []
    for name in names:
        value = getattr(theirs, name, None)
        if isinstance(value, types.ModuleType) or value is None or type(value).__name__ == "_Feature":
            continue  # an import of JAX's own
        if not hasattr(ours, name) and table().reason(f"jax.{module}.{name}") is None:
            lacking.append(name)
    assert lacking == []


def test_a_function_is_called_by_a_primitive():
    call_p = core.CallPrimitive("called")
    wrapped = linear_util.wrap_init(lambda x: [x * 2.0])
    assert float(call_p.bind(1.5, subfuns=(wrapped,))[0]) == 3.0
    assert core.call_impl(wrapped, 1.5) == [3.0]
    assert issubclass(core.InconclusiveDimensionOperation, Exception)


def test_the_approximate_top_elements_are_a_primitive_too():
    bind = functools.partial(
        core.primitives.approx_top_k_p.bind,
        k=2,
        reduction_dimension=-1,
        recall_target=0.95,
        reduction_input_size_override=-1,
        aggregate_to_topk=True,
    )
    x = np.array([1.0, 4.0, 2.0, 3.0], np.float32)
    values, indices = px.jit(functools.partial(bind, is_max_k=True))(x)
    assert (values.tolist(), indices.tolist()) == ([4.0, 3.0], [1, 3])
    np.testing.assert_array_equal(px.grad(lambda x: bind(x, is_max_k=False)[0].sum())(x), [1, 0, 1, 0])
    assert core.primitives.linear_solve_p.name == "custom_linear_solve"


def test_transformations_of_a_trace_are_found():
    seen = []

    def f(x):
        seen.append((core.unsafe_am_i_under_a_jit_DO_NOT_USE(), core.unsafe_am_i_under_a_vmap_DO_NOT_USE()))
        return x

    f(1.0), px.jit(f)(1.0), px.vmap(f)(np.ones(2)), px.jit(px.vmap(f))(np.ones(2))
    assert seen == [(False, False), (True, False), (False, True), (True, True)]
    px.vmap(lambda x: seen.append(core.nonempty_axis_env_DO_NOT_USE()) or x, axis_name="i")(np.ones(2))
    assert (seen[-1], core.nonempty_axis_env_DO_NOT_USE()) == (True, False)


def test_backends_and_caches_are_cleared():
    @functools.lru_cache
    def remembered(x):
        return x

    backend.register_backend_cache(remembered, "a test")
    remembered(1)
    x, client = pnp.arange(3.0), backend.get_backend().client
    backend.clear_backends()
    assert remembered.cache_info().currsize == 0
    assert backend.get_backend().client is not client
    assert (x.tolist(), px.jit(lambda x: x + 1)(pnp.arange(3.0)).tolist()) == ([0, 1, 2], [1, 2, 3])
    with pytest.raises(TypeError, match="cache must have a method cache_clear"):
        backend.register_backend_cache(3, "nothing")


def test_contexts_of_jax():
    context = lowering.JaxIrContext()
    context.append_dialect_registry(lowering.upstream_dialects)
    assert isinstance(context, mlir.ir.Context)
    assert "func.func" in str(mlir.ir.Module.parse("func.func private @f()", context))


def test_a_function_is_differentiated_in_the_forms_of_jax():
    tree = FlatTree.flatten_args(0.5, 2.0)
    tree = FlatTree.flatten((0.5, 2.0))
    outs, tangents = ad.jvp(lambda x, y: {"a": pnp.sin(x) * y}, tree, FlatTree.flatten((1.0, 0.0)))
    assert outs.unflatten()["a"] == pytest.approx(2 * np.sin(0.5))
    assert tangents.unflatten()["a"] == pytest.approx(2 * np.cos(0.5))
    assert ad.jvp(linear_util.wrap_init(lambda x: [x * x])).call_wrapped([3.0], [1.0]) == ([9.0], [6.0])
    _, (tangent,), aux = ad.jvp(lambda x: ([1.0], x), [3.0], [1.0], has_aux=True, instantiate=False)
    assert type(tangent) is ad.Zero
    assert aux is not None
    outs, zeros, jaxpr, consts = ad.linearize(lambda x, y: [x * y, 1.0], tree)
    assert (list(outs), zeros) == ([1.0, 1.0], [False, True])
    assert core.eval_jaxpr(jaxpr, consts, 1.0, 1.0) == [2.5]


def test_name_stacks_are_those_of_jax():
    stack = source_info_util.new_name_stack("a").transform("vmap").extend("b")
    assert (str(stack), str(stack[1:]), len(stack)) == ("a/vmap(b)", "vmap(b)", 3)

    def f(x):
        with source_info_util.extend_name_stack("inner") as inner:
            names.append(str(inner))
            x = x * x
        with source_info_util.set_name_stack(stack):
            return x + x

    names = []
    with px.named_scope("outer"):
        assert str(source_info_util.current_name_stack()) == "outer"
        with source_info_util.reset_name_stack():
            assert str(source_info_util.current_name_stack()) == ""
    eqns = px.make_jaxpr(px.named_call(f, name="outer"))(1.0).eqns
    assert names == ["outer/inner"]
    assert [source_info_util.scope_of(eqn.source_info) for eqn in eqns] == ["outer/inner", "a/vmap(b)"]
    info = source_info_util.new_source_info().replace(name_stack=stack)
    assert (info.traceback, info.name_stack) == (None, stack)
    with source_info_util.user_context(info):
        px.make_jaxpr(pnp.sin)(1.0)


class _Pair:
    def __init__(self, number):
        self.number = number


class _PairType(core.AbstractValue):
    def __eq__(self, other):
        return type(other) is _PairType

    def __hash__(self):
        return hash(_PairType)


def test_constants_and_types_of_classes_of_ones_own_are_lowered():
    core.register_aval(_Pair, lambda pair: _PairType())
    rules.ir_type_handlers[_PairType] = lambda aval: rules.aval_to_ir_type(core.ShapedArray((), np.float32))
    rules.register_constant_handler(_Pair, lambda pair, aval: rules.ir_constant(np.float32(pair.number)))
    number_p = define_primitive(
        "number", abstract_eval=lambda pair: core.ShapedArray((), np.float32), lowering=lambda ctx, x: [x]
    )
    assert float(px.jit(lambda x: x + number_p.bind(_Pair(3)))(1.0)) == 4.0
    del rules.ir_type_handlers[_PairType]
    assert _PairType not in rules.ir_type_handlers
    assert core.ShapedArray in rules.ir_type_handlers
    with pytest.raises(TypeError, match="expected a class and a function"):
        rules.register_constant_handler(3, abs)
    assert rules.unflatten_ir_values_like_types(rules.flatten_ir_values([1, [2, 3]]), ["a", ["b", "c"]]) == [1, [2, 3]]


def test_rules_of_partial_evaluation_are_those_of_jax():
    kinds = ("abstract_eval", "jvp", "lowering")
    p = define_primitive("split_in_two", impl=lambda x: x * 2.0, **dict.fromkeys(kinds, derive.from_impl))
    seen = []

    def rule(saveable, unknown_in, instantiated_in, eqn):
        seen.append(unknown_in)
        return None, eqn, [True], [True], []

    partial_eval.partial_eval_jaxpr_custom_rules[p] = rule
    assert partial_eval.partial_eval_jaxpr_custom_rules[p] is rule
    aval = core.ShapedArray((), np.float32)
    closed = core.trace_to_jaxpr(lambda x, y: [p.bind(x), y], [aval, aval])
    parts = partial_eval.partial_eval_jaxpr(closed, [True, False])
    assert (seen, parts.unknown_out) == ([[True]], [True, False])
    trimmed, used_consts, used = partial_eval.dce_jaxpr_consts(closed.jaxpr, [True, False])
    assert (len(trimmed.invars), used_consts, used) == (1, [], [True, False])
    assert len(partial_eval.prune_closed_jaxpr_outputs(closed, [False, True]).eqns) == 0
    moved = partial_eval.move_binders_to_back(closed, [True, False])
    assert moved.jaxpr.invars == closed.jaxpr.invars[::-1]
    assert partial_eval.abstract_eval_fun(lambda x: [x, x], aval) == [aval, aval]
    called_p = core.create_call_primitive("trimmed")
    inner = core.trace_to_jaxpr(lambda x, y: [x * 2.0, y], [aval, aval])
    (eqn,) = px.make_jaxpr(lambda x, y: called_p.bind(x, y, call_jaxpr=inner))(1.0, 1.0).eqns
    used, trimmed_eqn = partial_eval.dce_jaxpr_call_rule([True, False], eqn)
    assert (used, len(trimmed_eqn.invars)) == ([True, False], 1)
    assert partial_eval.dce_jaxpr_closed_call_rule([False, False], eqn) == ([False, False], None)


def test_a_foreign_function_is_declared_to_be_partitioned_along_leading_axes():
    ffi.register_ffi_target_as_batch_partitionable("a_target_of_this_test")
    with pytest.raises(TypeError, match="name must be a string, got 3"):
        ffi.register_ffi_target_as_batch_partitionable(3)


class _Two:
    def __init__(self, first, second):
        self.first, self.second = first, second


def test_packages_say_how_their_values_are_mapped():
    pnp = px.numpy

    class Spec:
        def __init__(self, first, second):
            self.first, self.second = first, second

    def to_elt(cont, get_idx, x, spec):
        return _Two(cont(x.first, spec.first), cont(x.second, spec.second))

    def from_elt(cont, size, x, spec):
        return _Two(cont(size, x.first, spec.first), cont(size, x.second, spec.second))

    def f(two, x):
        return _Two(two.first * x, two.second + x)

    batching.register_vmappable(_Two, Spec, int, to_elt, from_elt, None)
    try:
        two = _Two(pnp.arange(3.0), pnp.ones((2, 3)))
        out = px.vmap(f, in_axes=(Spec(0, 1), 0), out_axes=Spec(0, 1))(two, pnp.arange(3.0))
        assert out.first.tolist() == [0, 1, 4]
        assert out.second.tolist() == [[1, 2, 3], [1, 2, 3]]
        assert px.vmap(lambda x: 2 * x)(pnp.arange(2)).tolist() == [0, 2]
    finally:
        batching.unregister_vmappable(_Two)
    assert px.vmap(lambda x: 2 * x)(pnp.arange(2)).tolist() == [0, 2]
