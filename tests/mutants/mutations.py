"""Ways to make a rule wrong: what it returns negated, operands exchanged, a term left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.avals import WEAKNESS, same_type

__all__ = ["MUTATIONS", "Mutant"]

Rule = Callable[..., Any]


@dataclass
class Mutant:
    """A wrong rule.

    Attributes:
      kind: of which kind of rule it is.
      primitive: whose.
      mutation: how it is wrong.
      applied: how often it returned something else than the right rule would.
    """

    kind: str
    primitive: Any
    mutation: str
    applied: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.kind} of {self.primitive}: {self.mutation}"

    def rule(self, right: Rule) -> Rule:
        """The wrong rule, made of the right one."""
        return MUTATIONS[self.kind][self.mutation](self, right)


def _negated(mutant: Mutant, x: Any) -> Any:
    """Another value of the same type; the same for what has no sign, such as keys, or no elements."""
    dtype = core.get_aval(x).dtype
    if not isinstance(dtype, np.dtype) or dtype == core.dtypes.float0 or not core.get_aval(x).size:
        return x
    mutant.applied += 1
    negation = core.primitives.not_p if dtype == np.bool_ else core.primitives.neg_p
    return negation.bind(x)


def _alike(x: Any, y: Any) -> bool:
    one, other = core.get_aval(x), core.get_aval(y)
    return same_type(one, other, WEAKNESS) and one.dtype != core.dtypes.float0 and one.size > 0


def _exchanged(xs: Sequence[Any]) -> list[Any]:
    return [xs[1], xs[0], *xs[2:]]


def _each(primitive: Any, out: Any, change: Callable[[Any], Any]) -> Any:
    return [change(x) for x in out] if primitive.multiple_results else change(out)


def _jvp_negated(mutant: Mutant, right: Rule) -> Rule:
    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        out, tangent = right(primals, tangents, **params)

        def change(t: Any) -> Any:
            return t if type(t) is ad.Zero else _negated(mutant, t)

        return out, _each(mutant.primitive, tangent, change)

    return rule


def _depends(primitive: Any, found: Any) -> bool:
    """Whether a JVP rule found that a result depends on a tangent, as none of a comparison does."""
    return any(type(t) is not ad.Zero for t in (found[1] if primitive.multiple_results else [found[1]]))


def _jvp_of_other_tangents(mutant: Mutant, right: Rule, change: Callable[[Any, Any], Any]) -> Rule:
    """A rule that is given what `change(primals, tangents)` is, if that is anything."""

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        changed = change(primals, tangents)
        found = right(primals, tangents if changed is None else changed, **params)
        if changed is None or (mutant.primitive.multiple_results and not found[0]):
            return found
        if _depends(mutant.primitive, found) or _depends(mutant.primitive, right(primals, tangents, **params)):
            mutant.applied += 1
        return found

    return rule


def _jvp_exchanged(mutant: Mutant, right: Rule) -> Rule:
    def change(primals: Any, tangents: Any) -> Any:
        nonzero = [type(t) is not ad.Zero for t in tangents[:2]]
        if len(tangents) < 2 or not any(nonzero) or not _alike(primals[0], primals[1]):
            return None
        return _exchanged(tangents)

    return _jvp_of_other_tangents(mutant, right, change)


def _jvp_without_a_term(mutant: Mutant, right: Rule) -> Rule:
    def change(primals: Any, tangents: Any) -> Any:
        given = [i for i, t in enumerate(tangents) if type(t) is not ad.Zero]
        if len(given) < 2:
            return None
        rest = list(tangents)
        rest[given[-1]] = ad.Zero.from_primal_value(primals[given[-1]])
        return rest

    return _jvp_of_other_tangents(mutant, right, change)


def _transpose_negated(mutant: Mutant, right: Rule) -> Rule:
    def rule(ct: Any, *args: Any, **params: Any) -> Any:
        def change(found: Any) -> Any:
            return found if found is None or type(found) is ad.Zero else _negated(mutant, found)

        return [change(found) for found in right(ct, *args, **params)]

    return rule


def _transpose_without_a_term(mutant: Mutant, right: Rule) -> Rule:
    def rule(ct: Any, *args: Any, **params: Any) -> Any:
        found = list(right(ct, *args, **params))
        for i, one in enumerate(found):
            if one is not None and type(one) is not ad.Zero:
                mutant.applied += 1
                found[i] = ad.Zero(core.get_aval(one))
                break
        return found

    return rule


def _batch_negated(mutant: Mutant, right: Rule) -> Rule:
    def rule(*args: Any, **params: Any) -> Any:
        out, dim = right(*args, **params)
        return _each(mutant.primitive, out, lambda x: _negated(mutant, x)), dim

    return rule


def _batch_exchanged(mutant: Mutant, right: Rule) -> Rule:
    def rule(*args: Any, **params: Any) -> Any:
        *axis, values, dims = args
        if len(values) < 2 or dims[0] != dims[1] or not _alike(values[0], values[1]):
            return right(*args, **params)
        found = right(*axis, _exchanged(values), dims, **params)
        mutant.applied += 1
        return found

    return rule


def _lowering_negated(mutant: Mutant, right: Rule) -> Rule:
    def rule(ctx: Any, *args: Any, **params: Any) -> Any:
        out = right(ctx, *args, **params)
        outs = list(out) if isinstance(out, list | tuple) else [out]
        for i, (x, aval) in enumerate(zip(outs, ctx.avals_out, strict=True)):
            dtype = getattr(aval, "dtype", None)
            if isinstance(dtype, np.dtype) and dtype != core.dtypes.float0 and aval.size:
                mutant.applied += 1
                outs[i] = mlir.hlo.not_(x) if dtype == np.bool_ else mlir.hlo.negate(x)
        return outs if isinstance(out, list | tuple) else outs[0]

    return rule


def _lowering_exchanged(mutant: Mutant, right: Rule) -> Rule:
    def rule(ctx: Any, *args: Any, **params: Any) -> Any:
        if len(args) < 2 or str(args[0].type) != str(args[1].type) or not getattr(ctx.avals_in[0], "size", 0):
            return right(ctx, *args, **params)
        found = right(ctx, *_exchanged(args), **params)  # one that only raises is as it was
        mutant.applied += 1
        return found

    return rule


MUTATIONS: dict[str, dict[str, Callable[[Mutant, Rule], Rule]]] = {
    "jvp": {"negated": _jvp_negated, "exchanged": _jvp_exchanged, "without a term": _jvp_without_a_term},
    "transpose": {"negated": _transpose_negated, "without a term": _transpose_without_a_term},
    "batch": {"negated": _batch_negated, "exchanged": _batch_exchanged},
    "axis_batch": {"negated": _batch_negated, "exchanged": _batch_exchanged},
    "lowering": {"negated": _lowering_negated, "exchanged": _lowering_exchanged},
}
