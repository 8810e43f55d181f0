"""Conversion of functions of dense arrays to functions of sparse arrays: an interpreter of their programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import primax as px
from primax import tree_util
from primax.experimental.sparse.arrays import BCOO
from primax.experimental.sparse.coordinates import JAXSparse, operand
from primax.experimental.sparse.products import added, bcoo_dot_general
from primax.experimental.sparse.shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_squeeze,
    bcoo_transpose,
)
from primax.experimental.sparse.slices import bcoo_dynamic_slice, bcoo_rev, bcoo_slice
from primax.experimental.sparse.storage import with_unique_indices
from primax.extend import Interpreter, dtypes, replay
from primax.extend.core import JaxprEqn
from primax.extend.core import primitives as prim
from primax.extend.provisional.arguments import check_function, wraps


class _Sparsify(Interpreter):
    """Computes with BCOO arrays where operands are sparse, and with dense arrays elsewhere."""

    def equation(self, eqn: JaxprEqn, values: list[Any]) -> list[Any]:
        """Apply a rule if an operand is sparse, and the equation itself otherwise."""
        if any(isinstance(value, BCOO) for value in values):
            return super().equation(eqn, values)
        return replay(eqn, values)

    def uniform(self, value: Any) -> Any:
        """Drop the flags of a sparse array, since an iteration of a loop or a branch may not keep them."""
        if not isinstance(value, BCOO):
            return value
        return BCOO((value.data, value.indices), shape=value.shape)

    def unstack(self, value: Any) -> Any:
        """Return the array, if its first dimension is a batch dimension."""
        if isinstance(value, BCOO) and not value.n_batch:
            raise NotImplementedError(
                f"sparsify: a loop along {value!r} must go along a batch dimension; use update_layout(n_batch=1) first"
            )
        return value

    def default(self, eqn: JaxprEqn, *values: Any) -> Any:
        """Raise an error: the primitive has no rule."""
        sparse = next(value for value in values if isinstance(value, BCOO))
        raise NotImplementedError(
            f"sparsify: {eqn.primitive} of {sparse!r} would be dense, or has no rule; use sparse.todense before it"
        )

    default_higher_order = default


@_Sparsify.rule(prim.neg_p, prim.real_p, prim.imag_p, prim.conj_p, prim.copy_p, prim.stop_gradient_p, prim.device_put_p)
def _of_each_element(self: _Sparsify, eqn: JaxprEqn, mat: BCOO) -> Any:
    return mat.remade(replay(eqn, [mat.data])[0])


@_Sparsify.rule(
    prim.abs_p,
    prim.asin_p,
    prim.asinh_p,
    prim.atan_p,
    prim.atanh_p,
    prim.cbrt_p,
    prim.ceil_p,
    prim.erf_p,
    prim.erf_inv_p,
    prim.expm1_p,
    prim.floor_p,
    prim.log1p_p,
    prim.round_p,
    prim.sign_p,
    prim.sin_p,
    prim.sinh_p,
    prim.sqrt_p,
    prim.square_p,
    prim.tan_p,
    prim.tanh_p,
)
def _of_each_sum(self: _Sparsify, eqn: JaxprEqn, mat: BCOO) -> Any:
    return _of_each_element(self, eqn, with_unique_indices(mat))


@_Sparsify.rule(prim.convert_element_type_p)
def _converted(self: _Sparsify, eqn: JaxprEqn, mat: BCOO) -> Any:
    linear = dtypes.is_inexact(eqn.params["new_dtype"]) or eqn.params["new_dtype"] == mat.dtype
    return (_of_each_element if linear else _of_each_sum)(self, eqn, mat)


@_Sparsify.rule(prim.integer_pow_p)
def _power(self: _Sparsify, eqn: JaxprEqn, mat: BCOO) -> Any:
    return self.default(eqn, mat) if eqn.params["y"] < 1 else _of_each_sum(self, eqn, mat)


def _share_indices(x: Any, y: Any) -> bool:
    """Whether two operands are sparse arrays with the same array of indices, so that their data correspond."""
    return isinstance(x, BCOO) and isinstance(y, BCOO) and x.indices is y.indices and x.data.shape == y.data.shape


@_Sparsify.rule(prim.add_p, prim.add_any_p)
def _sum(self: _Sparsify, eqn: JaxprEqn, x: Any, y: Any) -> Any:
    if _share_indices(x, y):
        return x.remade(x.data + y.data)
    return added(x, y, 1) if isinstance(x, BCOO) else added(y, x, 1)


@_Sparsify.rule(prim.sub_p)
def _difference(self: _Sparsify, eqn: JaxprEqn, x: Any, y: Any) -> Any:
    if _share_indices(x, y):
        return x.remade(x.data - y.data)
    return added(x, y, -1) if isinstance(x, BCOO) else added(-y, x, 1)


@_Sparsify.rule(prim.mul_p)
def _product(self: _Sparsify, eqn: JaxprEqn, x: Any, y: Any) -> Any:
    if _share_indices(x, y) and x.unique_indices:
        return x.remade(x.data * y.data)
    return x * y if isinstance(x, BCOO) else y * x


@_Sparsify.rule(prim.div_p)
def _quotient(self: _Sparsify, eqn: JaxprEqn, x: Any, y: Any) -> Any:
    return x / y if isinstance(x, BCOO) and dtypes.is_inexact(x.dtype) else self.default(eqn, x, y)


@_Sparsify.rule(prim.dot_general_p)
def _dot(self: _Sparsify, eqn: JaxprEqn, x: Any, y: Any) -> Any:
    return bcoo_dot_general(x, y, **eqn.params)


@_Sparsify.rule(prim.reduce_sum_p)
def _reduced(self: _Sparsify, eqn: JaxprEqn, mat: BCOO) -> Any:
    out = bcoo_reduce_sum(mat, axes=eqn.params["axes"])
    return out if out.ndim else out.todense()


@_Sparsify.rule(prim.concatenate_p)
def _joined(self: _Sparsify, eqn: JaxprEqn, *operands: Any) -> Any:
    if not all(isinstance(operand, BCOO) for operand in operands):
        raise NotImplementedError(f"sparsify: concatenate takes either sparse or dense arrays, got both in {operands}")
    return bcoo_concatenate(operands, **eqn.params)


@_Sparsify.rule(prim.dynamic_slice_p)
def _moving_slice(self: _Sparsify, eqn: JaxprEqn, mat: Any, *starts: Any) -> Any:
    return bcoo_dynamic_slice(mat, starts, **eqn.params)


def _rule_calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that calls a function with the sparse array and the parameters of the primitive."""
    return lambda self, eqn, mat: function(mat, **eqn.params)


for _primitive, _function in (
    (prim.broadcast_in_dim_p, bcoo_broadcast_in_dim),
    (prim.reshape_p, bcoo_reshape),
    (prim.rev_p, bcoo_rev),
    (prim.slice_p, bcoo_slice),
    (prim.squeeze_p, bcoo_squeeze),
    (prim.transpose_p, bcoo_transpose),
):
    _Sparsify.rule(_primitive)(_rule_calling(_function))


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Convert a function of dense arrays to one that takes sparse arrays and computes with them.

    Args:
      f: a function of pytrees of arrays. It may multiply, add, negate, sum, transpose, reshape, slice and concatenate,
        apply functions f with f(0) = 0, and contain calls, branches and loops of these.
      use_tracer: ignored: in JAX it chooses between two implementations.

    Returns:
      A function whose arguments and results may contain BCOO arrays. It converts BCSR arguments to BCOO arrays.

    Raises:
      TypeError: `f` is not callable.
      NotImplementedError: raised at a call, if an operation of `f`, such as `exp`, has no rule for sparse arrays.

    >>> import primax.numpy as pnp
    >>> from primax.experimental import sparse
    >>> @sparse.sparsify
    ... def energy(m, v):
    ...     return pnp.sum(pnp.sin(2 * m.T @ v))
    >>> mat = sparse.BCOO.fromdense(pnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> float(energy(mat, pnp.zeros(2)))
    0.0
    """
    check_function("sparsify", "f", f)

    @wraps(f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_util.tree_flatten((args, kwargs), is_leaf=lambda x: isinstance(x, JAXSparse))
        values = [operand("sparsify", "an argument", x) if isinstance(x, JAXSparse) else x for x in leaves]
        out_trees: list[Any] = []

        def of_leaves(*dense: Any) -> Any:
            positional, named = tree_util.tree_unflatten(structure, dense)
            outs, out_tree = tree_util.tree_flatten(f(*positional, **named))
            out_trees.append(out_tree)
            return outs

        shaped = [px.ShapeDtypeStruct(x.shape, x.dtype) if isinstance(x, BCOO) else x for x in values]
        closed = px.make_jaxpr(of_leaves)(*shaped)
        outs = _Sparsify().interpret(closed, *(x if isinstance(x, BCOO) else np.asarray(x) for x in values))
        return tree_util.tree_unflatten(out_trees[0], outs)

    return sparsified
