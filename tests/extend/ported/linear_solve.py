"""Triangular systems of linear equations, as a package for JAX would bring them."""

from functools import partial

import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla
from jaxlib.mlir.dialects import stablehlo as hlo


def solve(a, b, *, lower=True, transpose=False):
    """The x with a x = b, or a^T x = b, for a triangular matrix a and the columns of b."""
    return solve_p.bind(a, b, lower=lower, transpose=transpose)


def _abstract_eval(a, b, *, lower, transpose):
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or a.shape[-1] != b.shape[-2]:
        raise TypeError(f"solve: a must be square and fit b, got {a.shape} and {b.shape}")
    if a.dtype != b.dtype:
        raise TypeError(f"solve: a and b must have the same dtype, got {a.dtype} and {b.dtype}")
    return ShapedArray(b.shape, b.dtype)


def _lowering(ctx, a, b, *, lower, transpose):
    kind = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
    return [
        hlo.triangular_solve(
            a,
            b,
            left_side=mlir.ir.BoolAttr.get(True),
            lower=mlir.ir.BoolAttr.get(lower),
            unit_diagonal=mlir.ir.BoolAttr.get(False),
            transpose_a=hlo.TransposeAttr.get(kind),
        )
    ]


def _triangle(a, lower):
    return jnp.tril(a) if lower else jnp.triu(a)


def _jvp(primals, tangents, *, lower, transpose):
    a, b = primals
    da, db = tangents
    x = solve_p.bind(a, b, lower=lower, transpose=transpose)
    terms = []
    if type(db) is not ad.Zero:
        terms.append(db)
    if type(da) is not ad.Zero:
        da = _triangle(da, lower)
        terms.append(-jnp.matmul(jnp.swapaxes(da, -1, -2) if transpose else da, x))
    if not terms:
        return x, ad.Zero.from_primal_value(x)
    rhs = terms[0] if len(terms) == 1 else ad.add_tangents(*terms)
    return x, solve_p.bind(a, rhs, lower=lower, transpose=transpose)


def _transpose(ct, a, b, *, lower, transpose):
    assert not ad.is_undefined_primal(a)
    assert ad.is_undefined_primal(b)
    if type(ct) is ad.Zero:
        return None, ad.Zero(b.aval)
    return None, solve_p.bind(a, ct, lower=lower, transpose=not transpose)


def _batch(args, dims, **params):
    size = next(x.shape[d] for x, d in zip(args, dims) if d is not None)  # noqa: B905
    a, b = (batching.bdim_at_front(x, d, size) for x, d in zip(args, dims))  # noqa: B905
    return solve_p.bind(a, b, **params), 0


solve_p = Primitive("package_triangular_solve")
solve_p.def_impl(partial(xla.apply_primitive, solve_p))
solve_p.def_abstract_eval(_abstract_eval)
mlir.register_lowering(solve_p, _lowering)
ad.primitive_jvps[solve_p] = _jvp
ad.primitive_transposes[solve_p] = _transpose
batching.primitive_batchers[solve_p] = _batch
