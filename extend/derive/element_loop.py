"""A batch rule that is correct for any primitive: a loop over the elements."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from primax.core.array_protocol import protocol_of
from primax.core.avals import get_aval
from primax.core.rules import lowering_rules
from primax.core.trace_state import thread
from primax.interpreters.batching import moveaxis

__all__ = ["loop_of", "size_of"]

_logger = logging.getLogger("primax.extend.derive")  # the name in the documentation

Rule = Callable[..., Any]

_FEW = 16  # elements; for more of them, copies of a primitive take too long to compile


def loop_of(primitive: Any) -> Rule:
    """The batch rule for any primitive: it binds the primitive once for each element."""
    single = not primitive.multiple_results

    def rule(args: Any, dims: Any, /, **params: Any) -> Any:
        size = size_of(args, dims)
        _logger.info("vmap binds %s %d times, because its batch rule is derive.loop", primitive, size)
        avals = [get_aval(x) for x in args]
        mapped = [i for i, dim in enumerate(dims) if dim is not None]

        def one(*elements: Any) -> list[Any]:
            values = list(args)
            for i, x in zip(mapped, elements, strict=True):
                values[i] = x
            out = primitive.bind(*values, **params)
            return [out] if single else list(out)

        elements = tuple(a if dim is None else a.mapped(size, dim) for a, dim in zip(avals, dims, strict=True))
        loop = protocol_of(avals[mapped[0]]).loop
        if size == 0:
            outs = [protocol_of(a).zeros(a.unmapped(0, 0)) for a in primitive.result_types(elements, params)[0]]
        elif size > _FEW and loop is not None and _fits_in_a_program(primitive, elements, params):
            outs = loop(one, [moveaxis(args[i], dims[i], 0) for i in mapped])
        else:
            rows = [one(*(protocol_of(avals[i]).index(args[i], k, dims[i]) for i in mapped)) for k in range(size)]
            outs = [protocol_of(get_aval(column[0])).stack(column, 0) for column in zip(*rows, strict=True)]
        return (outs[0], 0) if single else (outs, [0] * len(outs))

    return rule


def _fits_in_a_program(primitive: Any, avals: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """Whether a loop in a program can contain the primitive; plain evaluation needs no such loop."""
    return thread.trace.tracing and primitive in lowering_rules and not primitive.result_types(avals, params)[1]


def size_of(args: Any, dims: Any) -> int:
    """The number of elements of a batch."""
    return int(next(get_aval(x).shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None))
