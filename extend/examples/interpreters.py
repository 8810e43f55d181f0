"""Examples of the transformations, of lowering and compilation: the names of the room interpreters."""

from __future__ import annotations

__all__: list[str] = []

EXAMPLES = {
    "primax.interpreters.batching:AxisData": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend.interpreters.batching import AxisData, batch_flat
>>> batch_flat(lambda x: [px.lax.psum(x, "rows")], AxisData("rows", 3), [pnp.arange(3)], [0])
([Array(3, dtype=int32)], [None])
""",
    "primax.interpreters.batching:BatchTracer": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.interpreters.batching import BatchTracer
>>> def f(x):
...     print(type(x) is BatchTracer, x.aval.shape, x.value.shape, x.dim)
...     return x
>>> _ = px.vmap(f, in_axes=1)(np.ones((2, 3)))
True (2,) (2, 3) 1
""",
    "primax.interpreters.batching:BatchTrace": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.core import current_trace
>>> def f(x):
...     print(type(current_trace()).__name__, current_trace().axis.size)
...     return x
>>> _ = px.vmap(f)(np.arange(3))
BatchTrace 3
""",
    "primax.interpreters.batching:moveaxis": """
>>> import primax.numpy as pnp
>>> from primax.extend.interpreters import batching
>>> batching.moveaxis(pnp.ones((2, 3, 4)), 0, 2).shape
(3, 4, 2)
""",
    "primax.interpreters.batching:to_dim": """
>>> import primax.numpy as pnp
>>> from primax.extend.interpreters import batching
>>> batching.to_dim(pnp.ones((2, 3)), 3, 1, 0).shape, batching.to_dim(pnp.ones(2), 3, None, 1).shape
((3, 2), (2, 3))
""",
    "primax.interpreters.batching:stacked": """
>>> import primax.numpy as pnp
>>> from primax.extend.interpreters import batching
>>> axis = batching.AxisData(None, 3)
>>> batching.stacked(axis, pnp.ones(2), None, 0).shape, batching.stacked(axis, pnp.ones((2, 3)), 1, 0).shape
((3, 2), (3, 2))
""",
    "primax.interpreters.batching:batch_flat": """
>>> import numpy as np
>>> from primax.extend.interpreters import batching
>>> axis = batching.AxisData(None, 3)
>>> batching.batch_flat(lambda x, y: [2 * x, y], axis, [np.arange(3), 5], [0, None])
([Array([0, 2, 4], dtype=int32), 5], [0, None])
""",
    "primax.interpreters.batching:batch_jaxpr": """
>>> import primax as px
>>> from primax.extend.interpreters import batching
>>> program = px.make_jaxpr(lambda x, y: (2 * x, y))(1, 2)
>>> batching.batch_jaxpr(program, batching.AxisData(None, 3), [0, None])
({ lambda ; a:i32[3] b:i32[]. let c:i32[3] = mul 2:i32[] a in (c, b) }, [0, None])
""",
    "primax.interpreters.call_signature:positions_and_names": """
>>> from primax.extend.api_util import positions_and_names
>>> def f(x, n, *, mode="same"):
...     return x
>>> positions_and_names(f, 1, None, "static", "jit")
((1,), ('n',))
>>> positions_and_names(f, None, "mode", "static", "jit")
((), ('mode',))
""",
    "primax.interpreters.call_signature:StaticArguments": """
>>> from primax.extend.api_util import StaticArguments
>>> statics = StaticArguments((1,), ("mode",))
>>> args, kwargs, record = statics.split((1.0, 2), {"mode": "same", "y": 3.0}, "f")
>>> args, kwargs
((1.0,), {'y': 3.0})
>>> statics.merge([10.0], {"y": 30.0}, record)
((10.0, 2), {'y': 30.0, 'mode': 'same'})
""",
    "primax.interpreters.call_signature:shaped_abstractify": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.api_util import shaped_abstractify
>>> shaped_abstractify(px.ShapeDtypeStruct((2,), np.int8)), shaped_abstractify(1.0)
(ShapedArray(int8[2]), ShapedArray(float32[], weak_type=True))
""",
    "primax.interpreters.jvp:JVPTracer": """
>>> import primax as px
>>> from primax.extend.interpreters import ad
>>> def f(x):
...     print(x.primal, x.tangent, type(x) is ad.JVPTracer)
...     return x
>>> _ = px.jvp(f, (2.0,), (3.0,))
2.0 3.0 True
""",
    "primax.interpreters.jvp:JVPTrace": """
>>> import primax as px
>>> from primax.extend.core import current_trace
>>> from primax.extend.interpreters import ad
>>> def f(x):
...     print(isinstance(current_trace(), ad.JVPTrace))
...     return x
>>> _ = px.jvp(f, (1.0,), (1.0,)), px.jit(f)(1.0)
True
False
""",
    "primax.interpreters.jvp:jvp_flat": """
>>> from primax.extend.core import get_aval
>>> from primax.extend.interpreters import ad
>>> ad.jvp_flat(lambda x, y: [x * y, y], [2.0, 3.0], [1.0, ad.Zero(get_aval(3.0))])
([Array(6., dtype=float32, weak_type=True), 3.0], [Array(3., dtype=float32, weak_type=True), Zero(f32[])])
""",
    "primax.interpreters.jvp:jvp_jaxpr": """
>>> import primax as px
>>> from primax.extend.interpreters import ad
>>> program = px.make_jaxpr(lambda x, y: (2 * x, y))(1.0, 2.0)
>>> ad.jvp_jaxpr(program, [True, False])
({ lambda ; a:f32[] b:f32[] c:f32[]. let
    d:f32[] = mul 2.0:f32[] a
    e:f32[] = mul 2.0:f32[] c
  in (d, b, e) }, [True, False])
""",
    "primax.interpreters.linearize:linearize_flat": """
>>> from primax.extend.interpreters import ad
>>> outs, tape = ad.linearize_flat(lambda x: [x * x], [3.0])
>>> outs, tape.transpose([1.0])
([Array(9., dtype=float32, weak_type=True)], [Array(6., dtype=float32, weak_type=True)])
""",
    "primax.interpreters.linearize:transpose_jaxpr": """
>>> import primax as px
>>> from primax.extend.interpreters import ad
>>> program = px.make_jaxpr(lambda x, y: x * y)(1.0, 2.0)
>>> ad.transpose_jaxpr(program, [False, True], [True])
({ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) }, [True])
""",
    "primax.interpreters.partial_eval:PartialEval": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend.interpreters.partial_eval import partial_eval_jaxpr
>>> program = px.make_jaxpr(lambda x, y: pnp.sin(x) * y)(1.0, 2.0)
>>> split = partial_eval_jaxpr(program, [False, True])
>>> split.known
{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
>>> split.unknown
{ lambda ; a:f32[] b:f32[]. let c:f32[] = mul a b in (c,) }
""",
    "primax.interpreters.partial_eval:partial_eval_jaxpr": """
>>> import primax as px
>>> from primax.extend.interpreters.partial_eval import partial_eval_jaxpr
>>> program = px.make_jaxpr(lambda x, y: (2 * x, y))(1.0, 2.0)
>>> partial_eval_jaxpr(program, [False, True]).unknown_out
[False, True]
>>> partial_eval_jaxpr(program, [False, True], instantiate=True).unknown_out
[True, True]
""",
    "primax.interpreters.partial_eval:close_over": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.interpreters.partial_eval import convert_constvars_jaxpr
>>> closed = px.make_jaxpr(lambda x: x * np.array([1, 2]))(3)
>>> convert_constvars_jaxpr(closed.jaxpr)
{ lambda ; a:i32[2] b:i32[]. let c:i32[2] = mul b a in (c,) }
""",
    "primax.interpreters.staging:StagingTracer": """
>>> import primax as px
>>> from primax.extend.interpreters.partial_eval import StagingTracer
>>> def f(x):
...     print(type(x) is StagingTracer, type(2 * x) is StagingTracer, x.is_concrete)
...     return x
>>> _ = px.make_jaxpr(f)(1.0)
True True False
""",
    "primax.interpreters.staging:StagingTrace": """
>>> import primax as px
>>> from primax.extend.core import current_trace
>>> from primax.extend.interpreters.partial_eval import StagingTrace
>>> def f(x):
...     print(isinstance(current_trace(), StagingTrace))
...     return x + (1 + 2)
>>> px.make_jaxpr(f)(1.0)
True
{ lambda ; a:f32[]. let b:f32[] = add a 3.0:f32[] in (b,) }
""",
    "primax.interpreters.staging:trace_to_jaxpr": """
>>> import numpy as np
>>> from primax.extend.core import get_aval, trace_to_jaxpr
>>> trace_to_jaxpr(lambda x, y: [x * y, 2.0], [get_aval(1.0), get_aval(np.ones(2))])
{ lambda ; a:f32[] b:f32[2]. let c:f32[2] = mul a b in (c, 2.0:f32[]) }
""",
    "primax.interpreters.tangents:Zero": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.core import ShapedArray
>>> from primax.extend.interpreters.ad import Zero, instantiate_zeros
>>> zero = Zero(ShapedArray((2,), np.float32))
>>> px.tree.leaves(zero), instantiate_zeros(zero)
([], Array([0., 0.], dtype=float32))
""",
    "primax.interpreters.tangents:UndefinedPrimal": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.core import ShapedArray
>>> from primax.extend.interpreters.ad import UndefinedPrimal
>>> UndefinedPrimal(ShapedArray((2,), np.float32))
UndefinedPrimal(f32[2])
>>> px.tree.leaves(UndefinedPrimal(ShapedArray((2,), np.float32)))
[]
""",
    "primax.interpreters.tangents:is_undefined_primal": """
>>> from primax.extend.core import get_aval
>>> from primax.extend.interpreters import ad
>>> ad.is_undefined_primal(ad.UndefinedPrimal(get_aval(1.0))), ad.is_undefined_primal(1.0)
(True, False)
""",
    "primax.interpreters.tangents:zeros_like_aval": """
>>> import numpy as np
>>> from primax.extend.core import ShapedArray
>>> from primax.extend.interpreters import ad
>>> ad.zeros_like_aval(ShapedArray((2,), np.int8))
Array([0, 0], dtype=int8)
""",
    "primax.interpreters.tangents:instantiate_zeros": """
>>> import numpy as np
>>> from primax.extend.core import ShapedArray
>>> from primax.extend.interpreters import ad
>>> ad.instantiate_zeros(ad.Zero(ShapedArray((2,), np.float32))), ad.instantiate_zeros(1.0)
(Array([0., 0.], dtype=float32), 1.0)
""",
    "primax.interpreters.tangents:add_tangents": """
>>> from primax.extend.core import get_aval
>>> from primax.extend.interpreters import ad
>>> zero = ad.Zero(get_aval(1.0))
>>> ad.add_tangents(zero, 2.0), ad.add_tangents(zero, zero)
(2.0, Zero(f32[]))
""",
    "primax.interpreters.runtime.lowering:register_lowering": """
>>> import primax as px
>>> from primax.extend.core import Primitive
>>> from primax.extend.interpreters import mlir
>>> same_p = Primitive("same")
>>> _ = same_p.def_abstract_eval(lambda x: x)
>>> _ = mlir.register_lowering(same_p, lambda ctx, x: [x], platform="tpu")  # which need not be present
>>> px.jit(same_p.bind)(1.0)
Traceback (most recent call last):
    ...
primax.errors.MissingRuleError: no lowering rule for primitive 'same' (from no plugin, made in __main__).
""",
    "primax.interpreters.runtime.lowering:ModuleContext": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.core import Primitive
>>> from primax.extend.interpreters import mlir
>>> same_p = Primitive("same")
>>> _ = same_p.def_abstract_eval(lambda x: x)
>>> def lower(ctx, x):
...     print(type(ctx.module_context).__name__, ctx.module_context.platform, ctx.module_context.options)
...     return [x]
>>> _ = mlir.register_lowering(same_p, lower, platform="cpu")
>>> px.jit(same_p.bind)(np.int8(1))
ModuleContext cpu {}
Array(1, dtype=int8)
""",
    "primax.interpreters.runtime.lowering:LoweringRuleContext": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.core import Primitive
>>> from primax.extend.interpreters import mlir
>>> same_p = Primitive("same")
>>> _ = same_p.def_abstract_eval(lambda x: x)
>>> def lower(ctx, x):
...     print(ctx.primitive, ctx.avals_in)
...     return [x]
>>> _ = mlir.register_lowering(same_p, lower)
>>> px.jit(same_p.bind)(np.int8(1))
same [ShapedArray(int8[])]
Array(1, dtype=int8)
""",
    "primax.interpreters.runtime.lowering:jaxpr_subcomp": """
>>> import primax as px
>>> from primax.extend import define_primitive
>>> from primax.extend.interpreters import mlir
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> def lower(ctx, x):
...     outs, tokens = mlir.jaxpr_subcomp(ctx.module_context, program.jaxpr, {}, [], [x])
...     return outs
>>> twice_p = define_primitive("twice_inline", abstract_eval=lambda x: x, lowering=lower)
>>> px.jit(twice_p.bind)(3.0)
Array(6., dtype=float32, weak_type=True)
""",
    "primax.interpreters.runtime.lowering:lower_jaxpr_to_fun": """
>>> import primax as px
>>> from primax.extend import define_primitive
>>> from primax.extend.interpreters import mlir
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> def lower(ctx, x):
...     functions = [mlir.lower_jaxpr_to_fun(ctx.module_context, "inner", program) for _ in range(2)]
...     print(functions[0] is functions[1])
...     return [x]
>>> same_p = define_primitive("with_a_function", abstract_eval=lambda x: x, lowering=lower)
>>> _ = px.jit(same_p.bind).lower(1.0)
True
""",
    "primax.interpreters.runtime.lowering:call_jaxpr": """
>>> import primax as px
>>> from primax.extend import define_primitive
>>> from primax.extend.interpreters import mlir
>>> block_p = define_primitive(
...     "a_block",
...     multiple_results=True,
...     abstract_eval=lambda *avals, program: program.out_avals,
...     lowering=lambda ctx, *args, program: mlir.call_jaxpr(ctx, "inner", program, args),
... )
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> text = px.jit(lambda x: block_p.bind(x, program=program)).lower(3.0).as_text()
>>> "call @inner(" in text
True
""",
    "primax.interpreters.runtime.lowering:inline_jaxpr": """
>>> import primax as px
>>> from primax.extend import define_primitive
>>> from primax.extend.interpreters import mlir
>>> block_p = define_primitive(
...     "an_inlined_block",
...     multiple_results=True,
...     abstract_eval=lambda *avals, program: program.out_avals,
...     lowering=lambda ctx, *args, program: mlir.inline_jaxpr(ctx, program, args),
... )
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> text = px.jit(lambda x: block_p.bind(x, program=program)).lower(3.0).as_text()
>>> text.count("func.func"), "stablehlo.multiply" in text
(1, True)
""",
    "primax.interpreters.runtime.tokens:TokenSet": """
>>> import primax as px
>>> from primax.extend import define_primitive
>>> from primax.extend.interpreters import mlir
>>> def lower(ctx, x):
...     print(type(ctx.tokens_in) is mlir.TokenSet, len(ctx.tokens_in))
...     return [x]
>>> same_p = define_primitive("without_effects", abstract_eval=lambda x: x, lowering=lower)
>>> _ = px.jit(same_p.bind).lower(1.0)
True 0
""",
    "primax.interpreters.runtime.ir_types:dtype_to_ir_type": """
>>> import numpy as np
>>> from primax.extend.interpreters import mlir
>>> with mlir.make_ir_context():
...     print(mlir.dtype_to_ir_type(np.dtype("uint8")), mlir.dtype_to_ir_type(np.dtype("complex64")))
ui8 complex<f32>
""",
    "primax.interpreters.runtime.ir_types:ir_attribute": """
>>> import numpy as np
>>> from primax.extend.interpreters import mlir
>>> with mlir.make_ir_context():
...     print(mlir.ir_attribute(np.bool_([True, False])))
dense<[true, false]> : tensor<2xi1>
""",
    "primax.interpreters.runtime.ir_types:ir_constant": """
>>> import numpy as np
>>> from primax.extend.core import ShapedArray
>>> from primax.extend.interpreters import mlir
>>> ir = mlir.ir
>>> with mlir.make_ir_context(), ir.Location.unknown(), ir.InsertionPoint(ir.Module.create().body):
...     print(mlir.ir_constant(2.0, ShapedArray((), np.float16)).type)
tensor<f16>
""",
    "primax.interpreters.runtime.devices.backends:default_device": """
>>> import primax as px
>>> from primax.extend import backend
>>> with px.default_device(px.devices()[-1]):
...     backend.get_default_device() == px.devices()[-1]
True
""",
    "primax.interpreters.runtime.devices.backends:devices": """
>>> import primax as px
>>> from primax.extend import backend
>>> backend.devices() == backend.devices(px.default_backend()), backend.devices("cpu")[0].platform
(True, 'cpu')
""",
    "primax.interpreters.runtime.devices.backends:platform_of": """
>>> from primax.extend import backend
>>> backend.platform_of(backend.devices("cpu")[0])
'cpu'
""",
    "primax.interpreters.runtime.devices.backends:register_platform": """
>>> from primax.extend import backend
>>> backend.register_platform("cpu", lambda: None)
Traceback (most recent call last):
    ...
ValueError: register_platform: there is a platform 'cpu' already
""",
    "primax.interpreters.runtime.eval:apply_primitive": """
>>> from primax.extend.core.primitives import add_p
>>> from primax.extend.interpreters.xla import apply_primitive
>>> apply_primitive(add_p, 1, 2)
Array(3, dtype=int32, weak_type=True)
""",
    "primax.interpreters.runtime.eval:clear_caches": """
>>> import primax as px
>>> from primax.extend import backend
>>> f = px.jit(lambda x: print("traced") or x)
>>> _ = f(1.0), f(2.0)
traced
>>> backend.clear_in_memory_compilation_cache()
>>> _ = f(3.0)
traced
""",
    "primax.interpreters.runtime.pipeline:Lowered": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend import backend
>>> lowered = backend.lower(px.make_jaxpr(lambda x, y: 2 * pnp.sin(x))(1.0, 2.0), backend.Target("f", "cpu"))
>>> [eqn.primitive.name for eqn in lowered.program.eqns]
['sin', 'mul']
>>> lowered.target.name, lowered.target.keep_unused
('f', False)
""",
    "primax.interpreters.runtime.pipeline:Program": """
>>> import primax as px
>>> from primax.extend.programs import Program
>>> program = Program(px.make_jaxpr(lambda x: 2 * x)(1.0), px.tree.structure((1.0,)), px.tree.structure(1.0))
>>> program.ins, program.mutable
(None, False)
""",
    "primax.interpreters.runtime.pipeline:Target": """
>>> from primax.extend import backend
>>> target = backend.Target("f", "cpu")
>>> target._replace(donated=(True,)).donated, target.donated
((True,), ())
""",
    "primax.interpreters.runtime.pipeline:compile": """
>>> import primax as px
>>> from primax.extend import backend
>>> program = px.make_jaxpr(lambda x: (2 * x, x))(1.0)
>>> target = backend.Target("f", backend.choose_devices(program, [1.0]))
>>> backend.compile(backend.lower(program, target))([3.0])
[Array(6., dtype=float32, weak_type=True), Array(3., dtype=float32, weak_type=True)]
""",
    "primax.interpreters.runtime.pipeline:executable_for": """
>>> import primax as px
>>> from primax.extend import backend
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> target = backend.Target("f", backend.choose_devices(program, [1.0]))
>>> backend.executable_for(program, target) is backend.executable_for(program, target)
True
""",
    "primax.interpreters.runtime.pipeline:lower": """
>>> import primax as px
>>> from primax.extend import backend
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> lowered = backend.lower(program, backend.Target("twice", "cpu"), platform="tpu")  # needs no TPU
>>> "stablehlo.multiply" in str(lowered.module.module)
True
""",
    "primax.interpreters.runtime.sharding.device_assignment:choose_device": """
>>> import numpy as np
>>> from primax.extend import backend
>>> backend.choose_device([np.ones(2), 3.0]) == backend.get_default_device()
True
""",
    "primax.interpreters.runtime.sharding.device_assignment:choose_devices": """
>>> import primax as px
>>> from primax.extend import backend
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> backend.choose_devices(program, [1.0])
DeviceAssignment(devices=(CpuDevice(id=0),), mesh=None, ins=None, outs=None)
""",
}
