"""The two passes of reverse mode as two functions, each compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend.provisional.arguments import argument_positions, check_function, split_arguments
from primax.extend.provisional.transformations import vjp
from primax.plugins.calls.jit import jit


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and backward functions of a function.

    Args:
      fun: a function of pytrees of arrays.
      argnums: the position or positions of the arguments to differentiate.
      has_aux: whether `fun` returns a pair (result, aux).
      jitted: whether to compile both functions.

    Returns:
      `fwd`, which takes the arguments and returns `(primals_out, residuals)`, and `aux` if `has_aux`; and `bwd`, which
      takes the residuals and a cotangent and returns the cotangent of the argument at `argnums`, or a tuple for several
      positions.

    Raises:
      TypeError: `fun` is not callable, or `argnums` are not ints.
      ValueError: when `fwd` is called, if there is no such argument.

    >>> import primax as px
    >>> fwd, bwd = px.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> out, residuals = fwd(3.0, 4.0)
    >>> tuple(map(float, bwd(residuals, 1.0)))
    (4.0, 3.0)
    """
    check_function("fwd_and_bwd", "fun", fun)
    positions = argument_positions("fwd_and_bwd", argnums)

    def fwd(*args: Any, **kwargs: Any) -> Any:
        """The value, the residuals for `bwd`, and `aux` if `has_aux`."""
        chosen, call = split_arguments("fwd_and_bwd", fun, positions, args, kwargs)
        return vjp(call, *chosen, has_aux=has_aux)

    def bwd(residuals: Any, ct: Any) -> Any:
        """The cotangents of the arguments."""
        cts = residuals(ct)
        return cts[0] if isinstance(argnums, int | np.integer) else cts

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
