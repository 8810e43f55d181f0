"""The primitive that JAX's documentation on how primitives work defines step by step."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import ShapedArray
from jax.extend import core
from jax.interpreters import ad, batching, mlir
from jaxlib.mlir.dialects import stablehlo as hlo


def multiply_add(x, y, z):
    """x * y + z, element by element."""
    return multiply_add_p.bind(x, y, z)


def square_add(a, b):
    """a * a + b."""
    return multiply_add(a, a, b)


def square_add_lax(a, b):
    """The same, of operations that are there already."""
    return lax.add(lax.mul(a, a), b)


def _impl(x, y, z):
    return np.add(np.multiply(x, y), z)


def _abstract_eval(xs, ys, zs):
    assert xs.shape == ys.shape == zs.shape
    return ShapedArray(xs.shape, xs.dtype)


def _lowering(ctx, xc, yc, zc):
    return [hlo.AddOp(hlo.MulOp(xc, yc), zc).result]


def _value_and_jvp(arg_values, arg_tangents):
    x, y, z = arg_values
    xt, yt, zt = arg_tangents
    primal_out = multiply_add(x, y, z)

    def make_zero(tan):
        return jnp.zeros_like(x) if type(tan) is ad.Zero else tan

    output_tangent = multiply_add(make_zero(xt), y, multiply_add(x, make_zero(yt), make_zero(zt)))
    return primal_out, output_tangent


def _transpose(ct, x, y, z):
    def times(factor):
        return multiply_add(ct, factor, jnp.zeros_like(factor))

    if type(ct) is ad.Zero:
        return tuple(ad.Zero(arg.aval) if ad.is_undefined_primal(arg) else None for arg in (x, y, z))
    ct_x = times(y) if ad.is_undefined_primal(x) else None
    ct_y = times(x) if ad.is_undefined_primal(y) else None
    return ct_x, ct_y, ct if ad.is_undefined_primal(z) else None


def _batch(vector_arg_values, batch_axes):
    size = next(x.shape[axis] for x, axis in zip(vector_arg_values, batch_axes) if axis is not None)  # noqa: B905
    front = [batching.bdim_at_front(x, axis, size) for x, axis in zip(vector_arg_values, batch_axes)]  # noqa: B905
    return multiply_add(*front), 0


multiply_add_p = core.Primitive("multiply_add")
multiply_add_p.def_impl(_impl)
multiply_add_p.def_abstract_eval(_abstract_eval)
mlir.register_lowering(multiply_add_p, _lowering, platform="cpu")
ad.primitive_jvps[multiply_add_p] = _value_and_jvp
ad.primitive_transposes[multiply_add_p] = _transpose
batching.primitive_batchers[multiply_add_p] = _batch
