"""Examples of programs, types, traces, rule tables and effects: the names of the room core."""

from __future__ import annotations

__all__: list[str] = []

EXAMPLES = {
    "primax.core.array_protocol:protocol_of": """
>>> from primax.extend.core import get_aval, protocol_of
>>> protocol_of(get_aval(1.0)).add(1.0, 2.0)
Array(3., dtype=float32, weak_type=True)
>>> protocol_of(None)
Traceback (most recent call last):
    ...
TypeError: no active plugin supplies the array protocol for values of type None.
""",
    "primax.core.avals:AbstractValue": """
>>> import primax.numpy as pnp
>>> import numpy as np
>>> from primax.extend.core import AbstractValue, get_aval
>>> isinstance(get_aval(pnp.ones(3)), AbstractValue)
True
>>> get_aval(1.0), get_aval(np.float32(1))
(ShapedArray(float32[], weak_type=True), ShapedArray(float32[]))
""",
    "primax.core.avals:ShapedArray": """
>>> import numpy as np
>>> from primax.extend.core import ShapedArray
>>> ShapedArray((2,), np.float32) is ShapedArray([2], "float32")
True
>>> ShapedArray((), np.int32, weak_type=True)
ShapedArray(int32[], weak_type=True)
""",
    "primax.core.avals:AbstractToken": """
>>> import primax as px
>>> from primax.extend.core import AbstractToken, get_aval
>>> token = px.lax.create_token()
>>> get_aval(token) == AbstractToken()
True
""",
    "primax.core.avals:Token": """
>>> import primax as px
>>> type(px.lax.create_token())
<class 'primax.core.avals.Token'>
>>> px.make_jaxpr(px.lax.create_token)()
{ lambda ; . let a:token = create_token  in (a,) }
""",
    "primax.core.avals:Token.block_until_ready": """
>>> import numpy as np
>>> from primax.extend.core import get_aval
>>> get_aval(1), get_aval(np.int8(1))
(ShapedArray(int32[], weak_type=True), ShapedArray(int8[]))
>>> get_aval([1.0])
Traceback (most recent call last):
    ...
TypeError: a value of type list is not a valid primax type: [1.0] (an argument of get_aval)
""",
    "primax.core.avals:register_aval": """
>>> import numpy as np
>>> from primax.extend.core import get_aval, register_aval
>>> class Meters(float):
...     pass
>>> register_aval(Meters, lambda x: get_aval(np.float32(x)))
>>> get_aval(Meters(2))
ShapedArray(float32[])
""",
    "primax.core.avals:get_aval": """
>>> import numpy as np
>>> from primax.extend.core import get_aval
>>> get_aval(1), get_aval(np.int8(1))
(ShapedArray(int32[], weak_type=True), ShapedArray(int8[]))
>>> get_aval([1.0])
Traceback (most recent call last):
    ...
TypeError: a value of type list is not a valid primax type: [1.0] (an argument of get_aval)
""",
    "primax.core.avals:ShapeDtypeStruct": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> import numpy as np
>>> spec = px.ShapeDtypeStruct((2, 3), np.float32)
>>> spec.ndim, spec.size, len(spec)
(2, 6, 2)
>>> px.eval_shape(pnp.sum, spec)
ShapeDtypeStruct(shape=(), dtype=float32)
""",
    "primax.core.check:check_jaxpr": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend.core import Jaxpr, check_jaxpr
>>> good = px.make_jaxpr(lambda x: pnp.sin(pnp.cos(x)))(1.0).jaxpr
>>> check_jaxpr(good)
>>> check_jaxpr(Jaxpr([], good.invars, good.outvars, good.eqns[::-1]))
Traceback (most recent call last):
    ...
primax.errors.JaxprTypeError: check_jaxpr: variable c is read, but nothing before binds it, at equation 0
""",
    "primax.core.dce:dce_jaxpr": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend.core import dce_jaxpr
>>> jaxpr = px.make_jaxpr(lambda x, y: (pnp.sin(x), pnp.cos(y)))(1.0, 2.0).jaxpr
>>> dce_jaxpr(jaxpr, [False, True])
({ lambda ; a:f32[]. let b:f32[] = cos a in (b,) }, [False, True])
""",
    "primax.core.derivation:Derivation": """
>>> from primax.extend import derive
>>> isinstance(derive.by(lambda primitive: None), derive.Derivation)
True
""",
    "primax.core.dimensions:register_dimension": """
>>> from primax.extend.dimensions import register_dimension
>>> register_dimension("n", as_array=int, bounds=lambda dim: (1, 9), extreme=max, lowering=None)
Traceback (most recent call last):
    ...
TypeError: register_dimension: kind must be a class, got 'n'
""",
    "primax.core.dtypes:tangent_dtype": """
>>> import numpy as np
>>> from primax.extend.core import primal_dtype_to_tangent_dtype
>>> primal_dtype_to_tangent_dtype(np.dtype("float16")), primal_dtype_to_tangent_dtype(np.dtype("int32"))
(dtype('float16'), dtype([('float0', 'V')]))
""",
    "primax.core.effects:Effect": """
>>> import primax as px
>>> px.make_jaxpr(lambda x: px.debug.print("{}", x))(1.0).effects
frozenset({Debug})
>>> px.make_jaxpr(lambda x: 2 * x)(1.0).effects
frozenset()
""",
    "primax.core.effects:OperandEffect": """
>>> from primax.extend.effects import Mutates, OperandEffect
>>> isinstance(Mutates(2), OperandEffect), Mutates(2).operand
(True, 2)
""",
    "primax.core.effects:Mutates": """
>>> import primax as px
>>> from primax.extend.effects import Mutates
>>> px.make_jaxpr(lambda x: px.ref.swap(px.new_ref(x), (), 2 * x))(1.0).eqns[-1].effects
frozenset({WriteEffect(operand=0)})
>>> Mutates(0) == Mutates(0), Mutates(0) == Mutates(1)
(True, False)
""",
    "primax.core.effects:register_effect": """
>>> from primax.extend.core import kind_of
>>> from primax.extend.effects import Effect, register_effect
>>> class Log(Effect):
...     pass
>>> _ = register_effect(Log, control_flow=True)
>>> kind_of(Log())
EffectKind(ordered=False, control_flow=True, custom_derivatives=False)
""",
    "primax.core.effects:kind_of": """
>>> import primax as px
>>> from primax.extend.core import kind_of
>>> (effect,) = px.make_jaxpr(lambda x: px.debug.print("{}", x, ordered=True))(1.0).effects
>>> kind_of(effect)
EffectKind(ordered=True, control_flow=True, custom_derivatives=True)
""",
    "primax.core.errors:InconclusiveDimensionOperation": """
>>> from primax import export
>>> a, b = export.symbolic_shape("a, b")
>>> a >= 1, a + b >= b
(True, True)
>>> a < b
Traceback (most recent call last):
    ...
primax.errors.InconclusiveDimensionOperation: Symbolic dimension comparison 'a' < 'b' is inconclusive. A
constraint may decide it: symbolic_shape(..., constraints=['a >= b']).
""",
    "primax.core.errors:TangentTypeError": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> import numpy as np
>>> px.jvp(pnp.sin, (1.0,), (np.ones(2),))
Traceback (most recent call last):
    ...
primax.errors.TangentTypeError: jvp: tangents[0] must be of type f32[], the tangent type of f32[], got
f32[2]
""",
    "primax.core.errors:ShapeError": """
>>> import primax.numpy as pnp
>>> pnp.ones(2) + pnp.ones(3)
Traceback (most recent call last):
    ...
primax.errors.ShapeError: add got incompatible shapes for broadcasting: (2,), (3,). Counted from the last
axis, sizes must be equal or 1, but axis -1 has 2 and 3
""",
    "primax.core.errors:ConcretizationTypeError": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> px.jit(pnp.zeros)(3)
Traceback (most recent call last):
    ...
primax.errors.TracerIntegerConversionError: zeros: an argument must be known before tracing. Abstract tracer
value encountered where concrete value is expected: it is a value of type i32[] inside jit of zeros.
""",
    "primax.core.errors:TracerBoolConversionError": """
>>> import primax as px
>>> px.jit(lambda x: 1 if x > 0 else 2)(3)
Traceback (most recent call last):
    ...
primax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array: Python asks for its
truth, but its value is not known: it is a value of type bool[] inside jit of <lambda>.
""",
    "primax.core.errors:TracerIntegerConversionError": """
>>> import primax as px
>>> px.jit(lambda n: [0, 1, 2][n])(1)
Traceback (most recent call last):
    ...
primax.errors.TracerIntegerConversionError: The __index__() method was called on traced array: Python asks
for it as a Python integer, but its value is not known: it is a value of type i32[] inside jit of <lambda>.
""",
    "primax.core.errors:NonConcreteBooleanIndexError": """
>>> import primax as px
>>> import numpy as np
>>> px.jit(lambda x: x[x > 0])(np.ones(3))
Traceback (most recent call last):
    ...
primax.errors.NonConcreteBooleanIndexError: Array boolean indices must be concrete: a mask must have a known
value, got a value of type bool[3]: the number of elements that it selects determines a shape. To choose
between values use where(mask, x, y), or nonzero(mask, size=...)
""",
    "primax.core.errors:TracerArrayConversionError": """
>>> import primax as px
>>> import numpy as np
>>> px.jit(np.sin)(1.0)
Traceback (most recent call last):
    ...
primax.errors.TracerArrayConversionError: The numpy.ndarray conversion method __array__() was called on
traced array: Python asks for a NumPy array, but its value is not known: it is a value of type f32[] inside
jit of sin.
""",
    "primax.core.errors:UnexpectedTracerError": """
>>> import primax as px
>>> kept = []
>>> _ = px.jit(lambda x: kept.append(x))(1.0)
>>> kept[0] + 1
Traceback (most recent call last):
    ...
primax.errors.UnexpectedTracerError: Encountered an unexpected tracer: a value of type f32[] escaped from
jit of <lambda> and was used after the end of that transformation. It is argument x of <lambda>.
""",
    "primax.core.errors:MissingRuleError": """
>>> import primax as px
>>> from primax.extend.core import Primitive
>>> px.make_jaxpr(Primitive("twice").bind)(1.0)
Traceback (most recent call last):
    ...
primax.errors.MissingRuleError: no abstract_eval rule for primitive 'twice' (from no plugin, made in
__main__).
""",
    "primax.core.errors:UnsupportedError": """
>>> import primax as px
>>> import numpy as np
>>> px.grad(lambda x: px.pure_callback(np.sin, x, x))(1.0)
Traceback (most recent call last):
    ...
primax.errors.UnsupportedError: pure_callback (callbacks) does not support jvp: the derivative of a Python
function is unknown; call it in a function with custom derivatives, primax.custom_jvp or primax.custom_vjp,
or as the lowering of a primitive that has a jvp rule
""",
    "primax.core.errors:RuleError": """
>>> import primax as px
>>> from primax.extend.core import Primitive
>>> pair_p = Primitive("pair")
>>> _ = pair_p.def_abstract_eval(lambda x: [x, x])
>>> px.make_jaxpr(pair_p.bind)(1.0)
Traceback (most recent call last):
    ...
primax.errors.RuleError: the abstract_eval rule of pair must return an aval, got [ShapedArray(float32[],
weak_type=True), ShapedArray(float32[], weak_type=True)] for (ShapedArray(float32[], weak_type=True),);
several results need Primitive('pair', multiple_results=True).
""",
    "primax.core.errors:JaxprTypeError": """
>>> from primax.extend.core import Jaxpr, Var, check_jaxpr, get_aval
>>> x, y = Var(get_aval(1.0)), Var(get_aval(1.0))
>>> check_jaxpr(Jaxpr([], [x], [y], []))
Traceback (most recent call last):
    ...
primax.errors.JaxprTypeError: check_jaxpr: variable b is read, but nothing before binds it, among the
outputs
""",
    "primax.core.errors:PluginError": """
>>> from primax.extend.testing import check_plugin
>>> check_plugin("no-such-plugin")
Traceback (most recent call last):
    ...
primax.errors.PluginError: there is no plugin 'no-such-plugin' (there are arithmetic, arrays, bitwise,
callbacks, calls, checkify, collectives, comparison, composite, control_flow, convolution, cumulative,
custom_batching, custom_derivatives, devices, dot, exponential, export, fft, indexing, linalg, ...
""",
    "primax.core.errors:DeletedArrayError": """
>>> import primax.numpy as pnp
>>> x = pnp.ones(2)
>>> x.delete()
>>> x + 1
Traceback (most recent call last):
    ...
primax.errors.DeletedArrayError: the array of type f32[2] was deleted (delete()) and has no value any more;
use the results of the computation, or keep a copy
""",
    "primax.core.jaxpr:Var": """
>>> from primax.extend.core import Var, get_aval
>>> x, y = Var(get_aval(1.0)), Var(get_aval(1.0))
>>> x.aval is y.aval, x == y
(True, False)
""",
    "primax.core.jaxpr:DropVar": """
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.core import DropVar, dce_jaxpr
>>> jaxpr = px.make_jaxpr(lambda x: px.lax.top_k(x, 2))(np.ones(3)).jaxpr
>>> program, _ = dce_jaxpr(jaxpr, [True, False])
>>> program
{ lambda ; a:f32[3]. let b:f32[2] _:i32[2] = top_k[axis=0 k=2] a in (b,) }
>>> [type(v) is DropVar for v in program.eqns[0].outvars]
[False, True]
""",
    "primax.core.jaxpr:Literal": """
>>> import numpy as np
>>> from primax.extend.core import Literal
>>> Literal(2.0).aval, Literal(np.float32(2)).aval
(ShapedArray(float32[], weak_type=True), ShapedArray(float32[]))
""",
    "primax.core.jaxpr:JaxprEqn": """
>>> import primax as px
>>> (eqn,) = px.make_jaxpr(lambda x: 2 * x)(1.0).eqns
>>> eqn.primitive, eqn.params
(mul, {})
>>> [type(v).__name__ for v in eqn.invars]
['Literal', 'Var']
""",
    "primax.core.jaxpr:new_jaxpr_eqn": """
>>> from primax.extend.core import Jaxpr, Var, get_aval, new_jaxpr_eqn
>>> from primax.extend.core.primitives import mul_p
>>> x, y = Var(get_aval(1.0)), Var(get_aval(1.0))
>>> Jaxpr([], [x], [y], [new_jaxpr_eqn([x, x], [y], mul_p, {})])
{ lambda ; a:f32[]. let b:f32[] = mul a a in (b,) }
""",
    "primax.core.jaxpr:Jaxpr": """
>>> import primax as px
>>> jaxpr = px.make_jaxpr(lambda x, y: x)(1.0, 2.0).jaxpr
>>> jaxpr
{ lambda ; a:f32[] b:f32[]. let  in (a,) }
>>> jaxpr.outvars[0] is jaxpr.invars[0]
True
""",
    "primax.core.jaxpr:ClosedJaxpr": """
>>> import primax as px
>>> import numpy as np
>>> closed = px.make_jaxpr(lambda x: x * np.array([1, 2]))(3)
>>> closed.jaxpr
{ lambda a:i32[2]; b:i32[]. let c:i32[2] = mul b a in (c,) }
>>> closed.consts
[array([1, 2], dtype=int32)]
""",
    "primax.core.jaxpr:cached": """
>>> import primax as px
>>> from primax.extend.core import cached
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> for _ in range(2):
...     cached(program, "count", lambda: print("counting") or len(program.eqns))
counting
1
1
""",
    "primax.core.jaxpr:eval_jaxpr": """
>>> import primax as px
>>> from primax.extend.core import eval_jaxpr
>>> closed = px.make_jaxpr(lambda x: x * x)(1.0)
>>> eval_jaxpr(closed.jaxpr, closed.consts, 3.0)
[Array(9., dtype=float32, weak_type=True)]
>>> px.grad(lambda x: eval_jaxpr(closed.jaxpr, closed.consts, x)[0])(3.0)
Array(6., dtype=float32, weak_type=True)
""",
    "primax.core.jaxpr:jaxpr_as_fun": """
>>> import primax as px
>>> from primax.extend.core import jaxpr_as_fun
>>> f = jaxpr_as_fun(px.make_jaxpr(lambda x: x + 1)(1))
>>> f(2)
[Array(3, dtype=int32, weak_type=True)]
""",
    "primax.core.jaxpr:jaxprs_in_params": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend.core import jaxprs_in_params
>>> (eqn,) = px.make_jaxpr(lambda x: px.lax.cond(True, pnp.sin, pnp.cos, x))(1.0).eqns
>>> [jaxpr.eqns[0].primitive.name for jaxpr in jaxprs_in_params(eqn.params)]
['cos', 'sin']
""",
    "primax.core.jaxpr:subjaxprs": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend.core import subjaxprs
>>> program = px.make_jaxpr(lambda x: px.lax.cond(x > 0, pnp.sin, pnp.cos, x))(1.0)
>>> [jaxpr.eqns[0].primitive.name for jaxpr in subjaxprs(program.jaxpr)]
['cos', 'sin']
""",
    "primax.core.jaxpr:named_axes": """
>>> from primax import lax
>>> import primax as px
>>> import numpy as np
>>> from primax.extend.core import named_axes
>>> def f(x):
...     print(named_axes(px.make_jaxpr(lambda x: lax.psum(x, "i"))(x)))
...     return x
>>> _ = px.vmap(f, axis_name="i")(np.ones(2))
frozenset({'i'})
""",
    "primax.core.lazy_tables:Table": """
>>> from primax.extend import Table
>>> shapes = Table("shape", "examples")
>>> "square" in shapes, len(shapes)
(False, 0)
>>> shapes["square"]
Traceback (most recent call last):
    ...
KeyError: 'square'
""",
    "primax.core.option:Option": """
>>> import primax as px
>>> px.enable_x64.value
False
>>> with px.enable_x64(True):
...     px.numpy.arange(2).dtype
dtype('int64')
>>> px.enable_x64("perhaps")
Traceback (most recent call last):
    ...
ValueError: enable_x64: value must be True or False, got 'perhaps'
""",
    "primax.core.primitive:Primitive": """
>>> import primax as px
>>> from primax.extend.core import Primitive
>>> twice_p = Primitive("twice")
>>> _ = twice_p.def_impl(lambda x: 2 * x)
>>> twice_p.bind(3)
Array(6, dtype=int32, weak_type=True)
>>> px.make_jaxpr(twice_p.bind)(3)
Traceback (most recent call last):
    ...
primax.errors.MissingRuleError: no abstract_eval rule for primitive 'twice' (from no plugin, made in
__main__).
""",
    "primax.core.rules:Provenance": """
>>> from primax.extend.core import rule_tables
>>> from primax.extend.core.primitives import sin_p
>>> found = rule_tables["jvp"].provenance[sin_p]
>>> found.plugin, found.origin, found.replaced
('trigonometry', 'given', None)
""",
    "primax.core.rules:RuleTable": """
>>> from primax.extend.core import rule_tables
>>> from primax.extend.core.primitives import sin_p, transpose_p
>>> sin_p in rule_tables["transpose"], transpose_p in rule_tables["transpose"]
(False, True)
>>> rule_tables["transpose"].signature
'(cotangent, *args, **params) -> one cotangent or None per argument'
""",
    "primax.core.rules:new_rule_table": """
>>> from primax.extend.core import new_rule_table, rule_tables
>>> from primax.extend.core.primitives import sin_p
>>> flops = new_rule_table("flops", "(*avals, **params) -> int")
>>> flops.find(sin_p)
Traceback (most recent call last):
    ...
primax.errors.MissingRuleError: no flops rule for primitive 'sin' (from trigonometry).
>>> del rule_tables["flops"]  # a plugin keeps it
""",
    "primax.core.source_info:scope_of": """
>>> import primax as px
>>> from primax.extend import source_info_util
>>> def f(x):
...     with px.named_scope("outer"), px.named_scope("inner"):
...         return 2 * x
>>> source_info_util.scope_of(px.make_jaxpr(f)(1.0).eqns[0].source_info)
'outer/inner'
""",
    "primax.core.source_info:register_exclusion": """
>>> from primax.extend import source_info_util
>>> source_info_util.register_exclusion("")
Traceback (most recent call last):
    ...
ValueError: register_exclusion: path must not be empty, got ''
""",
    "primax.core.source_info:user_frame": """
>>> import primax as px
>>> from primax.extend import source_info_util
>>> def f(x):
...     return 2 * x
>>> (eqn,) = px.make_jaxpr(f)(1.0).eqns
>>> frame = source_info_util.user_frame(eqn.source_info)
>>> frame.line, frame.function
(2, 'f')
""",
    "primax.core.trace:current_trace": """
>>> import primax as px
>>> from primax.extend.core import current_trace
>>> type(current_trace()).__name__
'EvalTrace'
>>> px.jit(lambda: print(type(current_trace()).__name__))()
StagingTrace
""",
    "primax.core.trace:set_current_trace": """
>>> import primax as px
>>> import primax.numpy as pnp
>>> from primax.extend.core import current_trace, set_current_trace
>>> outer = current_trace()
>>> def f(x):
...     with set_current_trace(outer):
...         y = pnp.add(1, 2)  # computed, and no equation
...     return x + y
>>> px.make_jaxpr(f)(1)
{ lambda a:i32[]; b:i32[]. let c:i32[] = add b a in (c,) }
""",
    "primax.core.trace:Tracer": """
>>> import primax as px
>>> from primax.extend.core import Tracer
>>> def f(x):
...     print(isinstance(x, Tracer), x.is_concrete, x.aval)
...     return x
>>> _ = px.jit(f)(1.0), px.grad(f)(1.0)
True False ~float32[]
True True ~float32[]
""",
    "primax.core.text.debug_info:DebugInfo": """
>>> import primax as px
>>> closed = px.make_jaxpr(lambda x: {"a": -x, "b": x})(1.0)
>>> info = closed.jaxpr.debug_info
>>> info.arg_names, info.result_paths
(('x',), ("result['a']", "result['b']"))
""",
    "primax.core.text.printer:PrintedCall": """
>>> import primax as px
>>> from primax.extend.core import PrintedCall
>>> program = px.make_jaxpr(lambda x: 2 * x)(1.0)
>>> PrintedCall({"times": 3}, program)
PrintedCall(params={'times': 3}, program={ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) })
""",
    "primax.core.tree.prefix:flatten_axes": """
>>> import primax as px
>>> from primax.extend.api_util import flatten_axes
>>> structure = px.tree.structure(({"a": 1, "b": 2}, 3))
>>> flatten_axes("in_axes", structure, (0, None))
[0, 0, None]
>>> flatten_axes("in_axes", structure, ({"a": 0}, None))
Traceback (most recent call last):
    ...
ValueError: in_axes[0]: a dict with keys 'a' cannot match a dict with keys 'a', 'b' (missing 'b')
""",
}
