"""The registration of the primitive with all its rules."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.extend.interpreters import mlir
from primax_bounded_while.batching import batch
from primax_bounded_while.forward import jvp, partial_eval_jaxpr
from primax_bounded_while.passes import close_over, dce, interpret
from primax_bounded_while.primitive import abstract_eval, bounded_while_p, check, impl, run
from primax_bounded_while.reverse import transpose
from primax_bounded_while.samples import samples

__all__ = ["primax_register"]


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the primitive. primax calls this when a program first needs a rule."""
    registry.define(
        bounded_while_p,
        impl=impl,
        effectful_abstract_eval=abstract_eval,
        jvp=jvp,
        transpose=transpose,
        axis_batch=batch,
        lowering=mlir.lower_fun(run),
        partial_eval_jaxpr=partial_eval_jaxpr,
        dce=dce,
        check=check,
        close_over=close_over,
        interpret=interpret,
        samples=[samples],
    )
