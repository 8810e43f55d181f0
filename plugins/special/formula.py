"""What lowerings of special functions are written in: values with Python's operators, and loops over them.

A formula is traced when a special function is lowered. It works elementwise on arrays of one shape and one
floating dtype; Python numbers in it take that dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.interpreters.partial_eval import close_over
from primax.plugins import arithmetic, bitwise, comparison, exponential
from primax.plugins.structural import broadcast_in_dim, convert_element_type, select_n

__all__ = ["Num", "formula", "iterate", "iterate_p", "select"]


class Num:
    """An array in a formula."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def eps(self) -> float:
        """The distance from 1 to the next number of this dtype."""
        return float(np.finfo(core.get_aval(self.value).dtype).eps)

    def full(self, number: Any) -> Num:
        """An array like this one, all of whose elements are `number`."""
        aval = core.get_aval(self.value)
        return Num(broadcast_in_dim(aval.dtype.type(number), aval.shape, ()))

    def _with(self, primitive: Any, other: Any) -> Num:
        return Num(primitive.bind(self.value, self._operand(other)))

    def _after(self, primitive: Any, other: Any) -> Num:
        return Num(primitive.bind(self._operand(other), self.value))

    def _operand(self, other: Any) -> Any:
        return other.value if type(other) is Num else core.get_aval(self.value).dtype.type(other)

    def __add__(self, other: Any) -> Num:
        return self._with(arithmetic.add_p, other)

    def __radd__(self, other: Any) -> Num:
        return self._after(arithmetic.add_p, other)

    def __sub__(self, other: Any) -> Num:
        return self._with(arithmetic.sub_p, other)

    def __rsub__(self, other: Any) -> Num:
        return self._after(arithmetic.sub_p, other)

    def __mul__(self, other: Any) -> Num:
        return self._with(arithmetic.mul_p, other)

    def __rmul__(self, other: Any) -> Num:
        return self._after(arithmetic.mul_p, other)

    def __truediv__(self, other: Any) -> Num:
        return self._with(arithmetic.div_p, other)

    def __rtruediv__(self, other: Any) -> Num:
        return self._after(arithmetic.div_p, other)

    def __neg__(self) -> Num:
        return Num(arithmetic.neg_p.bind(self.value))

    def __abs__(self) -> Num:
        return Num(arithmetic.abs_p.bind(self.value))

    def __lt__(self, other: Any) -> Num:
        return self._with(comparison.lt_p, other)

    def __le__(self, other: Any) -> Num:
        return self._with(comparison.le_p, other)

    def __gt__(self, other: Any) -> Num:
        return self._with(comparison.gt_p, other)

    def __ge__(self, other: Any) -> Num:
        return self._with(comparison.ge_p, other)

    def __eq__(self, other: Any) -> Any:
        return self._with(comparison.eq_p, other)

    def __ne__(self, other: Any) -> Any:
        return self._with(comparison.ne_p, other)

    def __and__(self, other: Num) -> Num:
        return self._with(bitwise.and_p, other)

    def __or__(self, other: Num) -> Num:
        return self._with(bitwise.or_p, other)

    def __invert__(self) -> Num:
        return Num(bitwise.not_p.bind(self.value))

    def exp(self) -> Num:
        return Num(exponential.exp_p.bind(self.value))

    def log(self) -> Num:
        return Num(exponential.log_p.bind(self.value))

    def log1p(self) -> Num:
        return Num(exponential.log1p_p.bind(self.value))

    def sqrt(self) -> Num:
        return Num(exponential.sqrt_p.bind(self.value))


def select(condition: Num, then: Any, otherwise: Any) -> Num:
    """Elementwise `then` where the condition holds and `otherwise` elsewhere; one of them may be a number."""
    if type(then) is not Num:
        then = otherwise.full(then)
    elif type(otherwise) is not Num:
        otherwise = then.full(otherwise)
    return Num(select_n(condition.value, otherwise.value, then.value))


def formula(function: Callable[..., Num]) -> Any:
    """The lowering rule of an elementwise primitive from a function of `Num`s.

    Half precision is computed in float32. Operands of rank 0 are repeated.
    """

    def compute(*xs: Any, **params: Any) -> Any:
        avals = [core.get_aval(x) for x in xs]
        dtype = avals[0].dtype
        wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
        shape = next((aval.shape for aval in avals if aval.shape), ())
        nums = []
        for x, aval in zip(xs, avals, strict=True):
            y = x if dtype == wide else convert_element_type(x, wide)
            nums.append(Num(y if aval.shape == shape else broadcast_in_dim(y, shape, ())))
        out = function(*nums, **params).value
        return out if dtype == wide else convert_element_type(out, dtype)

    compute.__name__ = function.__name__
    return mlir.lower_fun(compute, multiple_results=False)


# A loop without derivatives or batching: it occurs only inside lowerings, which come after both.
iterate_p = core.Primitive("iterate", multiple_results=True)


def iterate(step: Callable[..., Sequence[Num]], active: Num, state: Sequence[Num], most: int) -> list[Num]:
    """Repeat a step elementwise until no element is active any more.

    Args:
      step: `(n, *state) -> (active, *state)`, for n = 1, 2, ... of rank 0; says which elements are to go on.
        Elements that are not active keep their state.
      active: which elements to start with.
      state: where they start.
      most: how many steps to take at most.

    Returns:
      The last state.
    """
    first = core.get_aval(state[0].value)
    scalar = ShapedArray((), first.dtype)

    def body(n: Any, going: Any, *xs: Any) -> list[Any]:
        now = Num(going)
        more, *new = step(Num(n), *map(Num, xs))
        kept = [select(now, y, Num(x)).value for x, y in zip(xs, new, strict=True)]
        return [arithmetic.add_p.bind(n, first.dtype.type(1)), (now & more).value, *kept]

    avals = [scalar, core.get_aval(active.value), *(core.get_aval(x.value) for x in state)]
    closed = core.trace_to_jaxpr(body, avals, "iterate")
    outs = iterate_p.bind(
        *closed.consts,
        first.dtype.type(1),
        active.value,
        *(x.value for x in state),
        body=core.ClosedJaxpr(close_over(closed.jaxpr), []),
        constants=len(closed.consts),
        most=most,
    )
    return [Num(x) for x in outs[2:]]


def _iterate_abstract_eval(*avals: ShapedArray, body: Any, constants: int, most: int) -> list[ShapedArray]:
    return list(avals[constants:])


def _iterate_lowering(ctx: mlir.LoweringRuleContext, *args: Any, body: Any, constants: int, most: int) -> Any:
    hlo, ir = mlir.hlo, mlir.ir
    types = [x.type for x in args]
    loop = hlo.WhileOp(types, list(args))
    condition = loop.regions[0].blocks.append(*types)
    with ir.InsertionPoint(condition):
        n, active = condition.arguments[constants], condition.arguments[constants + 1]
        limit = mlir.ir_constant(ctx.avals_in[constants].dtype.type(most))
        within = hlo.compare(n, limit, hlo.ComparisonDirectionAttr.get("LE"))
        hlo.return_([hlo.and_(within, _any(active, ctx.avals_in[constants + 1]))])
    steps = loop.regions[1].blocks.append(*types)
    with ir.InsertionPoint(steps):
        state = list(steps.arguments)
        hlo.return_([*state[:constants], *mlir.inline_jaxpr(ctx, body, state)])
    return loop.results[constants:]


def _any(x: Any, aval: ShapedArray) -> Any:
    """Whether any element of a boolean IR value is true."""
    hlo, ir = mlir.hlo, mlir.ir
    if not aval.shape:
        return x
    boolean = mlir.aval_to_ir_type(ShapedArray((), np.bool_))
    false = mlir.ir_constant(np.bool_(False))
    reduce = hlo.ReduceOp([boolean], [x], [false], ir.DenseI64ArrayAttr.get(range(len(aval.shape))))
    block = reduce.regions[0].blocks.append(boolean, boolean)
    with ir.InsertionPoint(block):
        hlo.return_([hlo.or_(*block.arguments)])
    return reduce.results[0]


def _iterate_samples() -> list[core.Sample]:
    """Halves until it is below 1, from the number of the step on."""

    def body(n: Any, going: Any, x: Any) -> list[Any]:
        half = select(Num(going), Num(x) / 2, Num(x))
        return [arithmetic.add_p.bind(n, np.float32(1)), (half > 1).value, half.value]

    args = [np.float32(1), np.array([True, True, False]), np.float32([2.5, 9.7, 4.2])]
    closed = core.trace_to_jaxpr(body, [core.get_aval(x) for x in args], "iterate")
    return [core.Sample(args, {"body": closed, "constants": 0, "most": most}) for most in (2, 9)]


def register(registry: Any) -> None:
    registry.define(
        iterate_p,
        abstract_eval=_iterate_abstract_eval,
        lowering=_iterate_lowering,
        unsupported=dict.fromkeys(("jvp", "batch"), "it occurs only inside lowerings, which come after both"),
        samples=[_iterate_samples],
    )
