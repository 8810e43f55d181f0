"""Communication between processes in program order, for a world in which every process holds the same values."""

from functools import partial

import numpy as np
from jax._src import effects
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla
from jaxlib.mlir.dialects import stablehlo as hlo


class CommunicationEffect(effects.Effect):
    """Orders everything that is sent and received."""

    def __str__(self):
        return "communication"

    def __hash__(self):
        return hash("communication")

    def __eq__(self, other):
        return isinstance(other, CommunicationEffect)


effect = CommunicationEffect()
effects.lowerable_effects.add_type(CommunicationEffect)
effects.ordered_effects.add_type(CommunicationEffect)
effects.control_flow_allowed_effects.add_type(CommunicationEffect)
effects.custom_derivatives_allowed_effects.add_type(CommunicationEffect)


def allreduce(x, *, world=2):
    """The sum over all processes."""
    return allreduce_p.bind(x, world=world, transpose=False)


def barrier():
    """Wait for all processes; there is no result."""
    barrier_p.bind()


def _allreduce_abstract_eval(x, *, world, transpose):
    return ShapedArray(x.shape, x.dtype), {effect}


def _allreduce_lowering(ctx, x, *, world, transpose):
    token = ctx.tokens_in.get(effect)
    assert ctx.tokens_in.effects() == {effect}
    (aval,) = ctx.avals_out
    result_type, token_type = mlir.aval_to_ir_type(ctx.module_context, aval), mlir.token_type()
    after = hlo.AfterAllOp([token])
    assert token_type == after.result.type
    ctx.set_tokens_out(mlir.TokenSet({effect: after.result}))
    if transpose:
        return [x]
    factor = mlir.ir_constants(np.full(aval.shape, world, aval.dtype))
    (result,) = hlo.MulOp(x, *factor).results
    assert result.type == result_type
    return [result]


def _allreduce_jvp(primals, tangents, *, world, transpose):
    (x,), (t,) = primals, tangents
    out = allreduce_p.bind(x, world=world, transpose=transpose)
    return out, allreduce_p.bind(ad.instantiate_zeros(t), world=world, transpose=transpose)


def _allreduce_transpose(ct, x, *, world, transpose):
    return (allreduce_p.bind(ct, world=world, transpose=not transpose),)


def _allreduce_batch(args, dims, *, world, transpose):
    return allreduce_p.bind(*args, world=world, transpose=transpose), dims[0]


def _barrier_lowering(ctx):
    ctx.set_tokens_out(mlir.TokenSet({effect: hlo.after_all([ctx.tokens_in.get(effect)])}))
    return []


allreduce_p = Primitive("package_allreduce")
allreduce_p.def_impl(partial(xla.apply_primitive, allreduce_p))
allreduce_p.def_effectful_abstract_eval(_allreduce_abstract_eval)
mlir.register_lowering(allreduce_p, _allreduce_lowering)
ad.primitive_jvps[allreduce_p] = _allreduce_jvp
ad.primitive_transposes[allreduce_p] = _allreduce_transpose
batching.primitive_batchers[allreduce_p] = _allreduce_batch

barrier_p = Primitive("package_barrier")
barrier_p.multiple_results = True
barrier_p.def_impl(partial(xla.apply_primitive, barrier_p))
barrier_p.def_effectful_abstract_eval(lambda: ([], {effect}))
mlir.register_lowering(barrier_p, _barrier_lowering)
