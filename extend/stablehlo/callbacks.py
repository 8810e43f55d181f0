"""Calls from compiled programs back into Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import config, dtypes
from primax.core.avals import ALL_BUT_SHAPE_AND_DTYPE, AbstractToken, get_aval, same_type
from primax.extend.stablehlo.custom_calls import TYPED, custom_call
from primax.interpreters.runtime.extended_array import ExtendedArray, has_extended_dtype, physical, physical_aval
from primax.interpreters.runtime.ir_types import aval_to_ir_type
from primax.interpreters.runtime.lowering import LoweringRuleContext
from primax.interpreters.runtime.sharding.mesh import PartitionSpec
from primax.interpreters.runtime.sharding.shardy import constrained, on_first_device
from primax.interpreters.runtime.sharding.spmd import spmd_of

__all__ = ["emit_python_callback", "host_results"]

_PROCESSORS = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu"}


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Any],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any = None,
    label: Callable[[int], str] | None = None,
) -> tuple[list[Any], Any, Any]:
    """Build a call of a Python function at the current insertion point; for lowering rules.

    The function runs on a thread of the program, with the `enable_x64` of the time of lowering. If it raises, the user
    gets an `XlaError` with the traceback and the line that bound the primitive. The function lives as long as the
    program.

    Args:
      ctx: the context of the rule.
      callback: `(*arrays) -> results`. It takes NumPy arrays or arrays of extended dtypes, and returns values that
        NumPy accepts as arrays.
      token: the token of an ordered effect for which the call waits; None if it waits only for its operands.
      operands: IR values.
      operand_avals: their types.
      result_avals: the types of the results; the callback must return exactly these.
      has_side_effect: whether the call is kept if nothing uses its results.
      returns_token: not used: there is a token for later calls if `token` is given.
      partitioned: whether each device of a divided program calls the function with its own part of the operands,
        instead of the first device with the whole; the function has no results then.
      sharding: not used: without `partitioned`, the first device calls the function. JAX's rules pass the sharding
        that says so.
      label: `(i) -> text`, the name of the `i`-th result in messages.

    Returns:
      The IR values of the results, the token for later calls (None without `token`), and the function that the
      program keeps.

    Raises:
      NotImplementedError: programs for this platform cannot call Python.
      ValueError: `partitioned` is true, and there are results.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> def lower(ctx, x):
      ...     def callback(x):
      ...         print("called with a", type(x).__name__)
      ...         return [x + 1]
      ...     avals = ctx.avals_in, ctx.avals_out
      ...     return mlir.emit_python_callback(ctx, callback, None, [x], *avals, has_side_effect=False)[0]
      >>> numpy_p = define_primitive("in_numpy", abstract_eval=lambda x: x, lowering=lower)
      >>> px.jit(numpy_p.bind)(np.int32([2, 3]))
      called with a ndarray
      Array([3, 4], dtype=int32)
    """
    module = ctx.module_context
    if partitioned and result_avals:
        raise ValueError(f"emit_python_callback: result_avals must be empty if partitioned, got {result_avals}")
    processor = _PROCESSORS.get(module.platform)
    if processor is None:
        raise NotImplementedError(f"{ctx.primitive}: programs for {module.platform!r} cannot call Python")
    x64 = config.enable_x64.value
    ordered = token is not None
    extended = any(map(has_extended_dtype, operand_avals))

    def call(*args: Any) -> Any:
        operands = args[1:] if ordered else args[: len(operand_avals)]
        with config.enable_x64(x64):
            if extended:
                operands = tuple(map(_element_array, operands, operand_avals))
            returned = callback(*operands)
            results = host_results(returned, result_avals, label)
        return (None, *results) if ordered else results

    def nothing() -> Any:
        results = tuple(map(_no_values, map(physical_aval, result_avals)))
        return (None, *results) if ordered else results

    spmd = spmd_of(module)
    divided = spmd.partitions > 1 and spmd.manual is None
    alone = divided and not partitioned
    if alone:  # the first device calls it, with the whole values
        whole = PartitionSpec()
        ranks = [len(physical_aval(aval).shape) for aval in operand_avals]
        operands = [constrained(module, x, spmd.mesh, whole, n) for x, n in zip(operands, ranks, strict=True)]
    types = [aval_to_ir_type(aval) for aval in result_avals]
    avals = list(operand_avals)
    if spmd.anchor is not None and module.depth == 0:
        operands, avals = [*operands, spmd.anchor], [*avals, get_aval(np.int32(0))]
    if ordered:
        types = [aval_to_ir_type(AbstractToken()), *types]
        operands = [token, *operands]
        avals = [AbstractToken(), *avals]
    operation = custom_call(
        f"xla_ffi{'_partitioned' if divided and partitioned else ''}_python_{processor}_callback",
        result_types=types,
        operands=operands,
        backend_config={"index": np.uint64(module.add_host_callback(call, nothing))},
        has_side_effect=has_side_effect,
        api_version=TYPED,
        operand_layouts=[None] * len(avals),
        result_layouts=[None] * len(types),
    )
    if alone:
        operation.attributes["sdy.sharding"] = on_first_device(module, max(len(types), 1))
    results = list(operation.results)
    return (results[1:], results[0], call) if ordered else (results, None, call)


def _no_values(aval: Any) -> np.ndarray[Any, Any]:
    """The substitute for a missing result: zeros, or NaN, for which comparisons in a loop's condition are False."""
    inexact = dtypes.issubdtype(aval.dtype, np.inexact)
    return np.full(aval.shape, np.nan if inexact else 0, aval.dtype)


def _element_array(x: Any, aval: Any) -> Any:
    """The argument of a callback as an array, possibly of an extended dtype."""
    return ExtendedArray.of_elements(x, aval.dtype) if has_extended_dtype(aval) else x


def host_results(
    found: Sequence[Any], avals: Sequence[Any], label: Callable[[int], str] | None = None
) -> tuple[np.ndarray[Any, Any], ...]:
    """The results of a callback as NumPy arrays of the declared types; 64-bit results are narrowed without x64.

    For a result of an extended dtype, this is the array that holds its elements.

    Raises:
      TypeError: the callback returned other types.
    """
    if len(found) != len(avals):
        raise TypeError(f"the number of arrays that the callback returns must be {len(avals)}, got {len(found)}")
    arrays = []
    for i, (x, aval) in enumerate(zip(found, avals, strict=True)):
        have = get_aval(x) if type(x) is ExtendedArray else get_aval(np.asarray(x))
        if not same_type(have, aval, ALL_BUT_SHAPE_AND_DTYPE):
            name = f"output {i} of the callback" if label is None else label(i)
            raise TypeError(f"{name} must be {aval.str_short()}, got {have.str_short()}")
        array, dtype = np.asarray(physical(x)), physical_aval(have).dtype
        arrays.append(array if array.dtype == dtype else array.astype(dtype))
    return tuple(arrays)
