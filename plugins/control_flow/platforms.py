"""`platform_dependent`: one of several programs, chosen by the platform of the compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, tree
from primax.extend.interpreters import mlir
from primax.extend.provisional import runtime
from primax.extend.rule_types import Table
from primax.plugins.control_flow.cond import choose
from primax.plugins.control_flow.staging import as_result, flatten_operands, require_function

# The index of the first tuple of names that contains the platform; None stands for all platforms.
platform_index_p = core.Primitive("platform_index")

Platforms = tuple[tuple[str, ...] | None, ...]

_R = TypeVar("_R")


def platform_dependent(
    *args: object, default: Callable[..., _R] | None = None, **per_platform: Callable[..., _R]
) -> _R:
    """`per_platform[platform](*args)` for the platform for which the program is compiled.

    In a program all functions are traced, and one is compiled. Outside of programs one is called. A function may
    contain primitives that only its platform has.

    Args:
      *args: arrays in any containers.
      default: the function for platforms without their own.
      **per_platform: functions by the names of platforms, such as "cpu", "cuda", "rocm", "gpu" for both of these, and
        "tpu". They return the same structure, shapes and dtypes.

    Returns:
      The result of the chosen function.

    Raises:
      TypeError: an argument is not a function, or the results differ in type, in a program.
      ValueError: there are no functions.
      NotImplementedError: at compilation: there is no function for the platform, and no default.

    >>> import primax as px
    >>> px.lax.platform_dependent(2.0, cpu=lambda x: x + 1.0, default=lambda x: x)
    Array(3., dtype=float32, weak_type=True)
    """
    if not per_platform and default is None:
        raise ValueError("platform_dependent: there must be a function or a default, got none")
    functions = {**per_platform, "default": default} if default is not None else per_platform
    for name, function in functions.items():
        require_function("platform_dependent", name, function)
    platforms = tuple([(name,) for name in per_platform]) + ((None,) if default is not None else ())
    index: Any = platform_index_p.bind(platforms=platforms)
    if not isinstance(index, core.Tracer):  # as in a program, the function takes and returns arrays
        leaves, structure, _ = flatten_operands("platform_dependent", "operands", args)
        result = list(functions.values())[int(index)](*tree.unflatten(structure, list(map(as_result, leaves))))
        leaves, structure, _ = flatten_operands("platform_dependent", "results", result)
        return tree.unflatten(structure, list(map(as_result, leaves)))
    return choose("platform_dependent", index, list(functions.values()), list(functions), args)


def _abstract_eval(*, platforms: Platforms) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int32))


def _lowering(ctx: mlir.LoweringRuleContext, *, platforms: Platforms) -> list[Any]:
    platform = ctx.module_context.platform
    for i, names in enumerate(platforms):
        if names is None or any(name in names for name in runtime.names_of(platform)):
            return [mlir.ir_constant(np.int32(i))]
    known = ", ".join(name for names in platforms for name in names or ())
    raise NotImplementedError(
        f"platform_dependent: there must be a default or a function for {platform!r}, got functions for {known}"
    )


RULES: Table = {
    platform_index_p: {
        "abstract_eval": _abstract_eval,
        "lowering": _lowering,
    },
}
