"""Calls of LAPACK and the corresponding libraries on GPUs, for stacks of matrices; common parts of lowering rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional.dimensions import has_symbolic
from primax.extend.provisional.elementwise import ir_full
from primax.extend.provisional.sharding_rule import divided_stack

# The names for orthogonal and symmetric matrices where they are unitary and Hermitian.
_OF_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}

# The libraries of GPUs: the prefixes of function names, and of those outside of the solver library.
_VENDORS = {"cuda": "cu", "rocm": "hip"}
_OF_GPUS = {
    "eig_comp": "hybrid_eig_comp",
    "eig_real": "hybrid_eig_real",
    "geqp3": "hybrid_geqp3",
    "gtsv": "sparse_gtsv2_ffi",
    "lu_pivots_to_permutation": "_lu_pivots_to_permutation",
    "tridiagonal_solve_perturbed": "_tridiagonal_solve_perturbed",
}


def letter(character: str) -> Any:
    """A letter that is an option of LAPACK's routines."""
    return np.uint8(ord(character))


def flag(condition: bool, yes: str, no: str) -> Any:
    """One of two letters."""
    return letter(yes if condition else no)


def on_gpu(ctx: mlir.LoweringRuleContext) -> bool:
    """Whether the program is built for a GPU."""
    return ctx.module_context.platform in _VENDORS


def _target(platform: str, routine: str, dtype: Any) -> str:
    """The name of the foreign function for a routine and a dtype."""
    vendor = _VENDORS.get(platform)
    if vendor is not None:
        return vendor + _OF_GPUS.get(routine, f"solver_{routine}_ffi")
    return mlir.lapack_target(_OF_COMPLEX.get(routine, routine) if dtypes.is_complex(dtype) else routine, dtype)


def _layout(rank: int, batch: int, by_rows: bool) -> tuple[int, ...]:
    """The axes, the fastest first: matrices are column-major unless `by_rows`, all others row-major, as in NumPy."""
    rows = range(rank - 1, -1, -1)
    return (rank - 2, rank - 1, *rows[2:]) if rank - batch == 2 and not by_rows else tuple(rows)


def lapack_call(
    ctx: mlir.LoweringRuleContext,
    routine: str,
    batch: Sequence[int],
    operands: Sequence[tuple[Any, ShapedArray]],
    results: Sequence[ShapedArray],
    attributes: Mapping[str, Any] | None = None,
    aliases: Mapping[int, int] | None = None,
    by_rows: bool = False,
) -> list[Any]:
    """The results of a routine of LAPACK, or of its counterpart on GPUs, applied to each element of a stack.

    Args:
      ctx: the lowering context; its platform determines the library.
      routine: its name without the letter of the dtype.
      batch: the shape of the stack.
      operands: IR values with their types: matrices, vectors or numbers, after the axes of the stack. The dtype
        of the first determines the routine.
      results: the types of the results, in the same form.
      attributes: the options of the routine.
      aliases: for positions of operands, the results that take over their memory.
      by_rows: whether matrices are row-major.
    """
    count = len(batch)
    target = _target(ctx.module_context.platform, routine, operands[0][1].dtype)
    shapes = [aval.shape for _, aval in operands], [aval.shape for aval in results]
    symbolic = has_symbolic(results)
    return list(
        mlir.custom_call(
            target,
            operands=[x for x, _ in operands],
            result_types=[mlir.aval_to_ir_type(aval) for aval in results],
            backend_config=attributes or {},
            api_version=4,
            operand_output_aliases=None if symbolic else aliases,
            operand_layouts=[_layout(aval.ndim, count, by_rows) for _, aval in operands],
            result_layouts=[_layout(aval.ndim, count, by_rows) for aval in results],
            extra_attributes=divided_stack(ctx.module_context, target, count, *shapes),
            result_shapes=[mlir.shape_tensor(shape) for shape in shapes[1]] if symbolic else None,
        ).results
    )


def unless_failed(
    info: Any, batch: Sequence[int], results: Sequence[tuple[Any, ShapedArray]], direction: str = "EQ"
) -> list[Any]:
    """Results of a routine, NaN where the comparison `direction` of its code with 0 is false.

    Args:
      info: the codes, an int32 for each element of the stack.
      batch: the shape of the stack.
      results: IR values with their types.
      direction: `"EQ"`, or `"GE"` if positive codes are not failures.
    """
    hlo = mlir.hlo
    zero = ir_full(0, ShapedArray(tuple(batch), np.dtype(np.int32)))
    fine = hlo.compare(
        info, zero, hlo.ComparisonDirectionAttr.get(direction), compare_type=hlo.ComparisonTypeAttr.get("SIGNED")
    )
    outs = []
    for x, aval in results:
        truths = mlir.broadcast_in_dim(
            None, fine, ShapedArray(aval.shape, np.dtype(np.bool_)), broadcast_dimensions=range(len(batch))
        )
        outs.append(hlo.select(truths, x, ir_full(np.nan, aval)))
    return outs


def ir_by_operations(
    ctx: mlir.LoweringRuleContext, fun: Callable[..., Any], operands: Sequence[tuple[Any, ShapedArray]]
) -> list[Any]:
    """The IR of a function of arrays that returns a list of arrays."""
    inner = ctx.replace(avals_in=[aval for _, aval in operands], avals_out=[])
    return mlir.lower_fun(fun)(inner, *(x for x, _ in operands))


def ir_empty(avals: Sequence[ShapedArray]) -> list[Any]:
    """Results without elements."""
    return [mlir.ir_constant(np.zeros(aval.shape, aval.dtype)) for aval in avals]


def ir_tril(x: Any, aval: ShapedArray) -> mlir.ir.Value:
    """Matrices with zeros above the diagonal."""
    hlo = mlir.hlo
    kind = ShapedArray(aval.shape, np.dtype(np.int32))
    rows, columns = (mlir.iota(None, kind, dimension=axis) for axis in (aval.ndim - 2, aval.ndim - 1))
    below = hlo.compare(
        rows, columns, hlo.ComparisonDirectionAttr.get("GE"), compare_type=hlo.ComparisonTypeAttr.get("SIGNED")
    )
    return hlo.select(below, x, ir_full(0, aval))


def ir_eye(aval: ShapedArray) -> mlir.ir.Value:
    """Matrices with ones on the diagonal and zeros elsewhere."""
    return mlir.ir_constant(np.broadcast_to(np.eye(*aval.shape[-2:], dtype=aval.dtype), aval.shape))


def ir_picked(x: Any, subset: tuple[int, int], axis: int) -> mlir.ir.Value:
    """A range along an axis, which is counted from the end."""
    attribute = mlir.ir.DenseI64ArrayAttr.get
    limits = list(x.type.shape)
    starts = [0] * len(limits)
    starts[axis], limits[axis] = subset
    return mlir.hlo.slice(x, attribute(starts), attribute(limits), attribute([1] * len(limits)))
