"""Names of jax.extend and jax.interpreters that primax.extend has too."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax.extend import backend, core, linear_util, lowering, mlir
from primax.extend.interpreters import ad
from primax.extend.interpreters import mlir as rules
from primax.extend.provisional import runtime


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
