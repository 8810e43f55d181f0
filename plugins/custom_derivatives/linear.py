"""`linear_call`: linear functions with a custom transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import tree
from primax.extend.held_programs import all_lifted, checked_types, held_types, lifted
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters.partial_eval import convert_constvars_jaxpr
from primax.extend.provisional.arguments import check_function, name_of, wraps
from primax.extend.provisional.avals import WEAKNESS, same_type
from primax.extend.rule_types import Table
from primax.plugins.control_flow import flatten_operands
from primax.plugins.custom_derivatives.calls import Batch, evaluate
from primax.plugins.custom_derivatives.vjp_rules import batched_bwd

linear_call_p = core.Primitive("linear_call", multiple_results=True)


def linear_call(
    fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: object, linear_args: object
) -> Any:
    """Call a linear function with a given transpose.

    Args:
      fun: `(residual_args, linear_args) -> out`, linear in its second argument.
      fun_transpose: `(residual_args, ct) -> cts`, from a cotangent of the result to those of the linear arguments.
      residual_args: arrays in any containers, which are not differentiated.
      linear_args: arrays in any containers.

    Returns:
      `fun(residual_args, linear_args)`.

    Raises:
      TypeError: the result of `fun_transpose` does not have the structure or the types of `linear_args`.

    >>> import primax as px
    >>> def scaled(r, x):
    ...     return px.custom_derivatives.linear_call(lambda r, x: r * x, lambda r, ct: 100.0 * ct, r, x)
    >>> float(scaled(2.0, 3.0)), float(px.grad(scaled, 1)(2.0, 3.0))
    (6.0, 100.0)
    """
    check_function("linear_call", "fun", fun)
    check_function("linear_call", "fun_transpose", fun_transpose)
    residuals, residual_tree, residual_avals = flatten_operands("linear_call", "residual_args", residual_args)
    linear, linear_tree, linear_avals = flatten_operands("linear_call", "linear_args", linear_args)
    callee, out_tree, callee_consts = _staged(fun, (residual_tree, linear_tree), [*residual_avals, *linear_avals])
    out_avals = [aval.to_tangent_aval() for aval in callee.out_avals]
    transpose, in_tree, transpose_consts = _staged(
        fun_transpose, (residual_tree, out_tree), [*residual_avals, *out_avals]
    )
    _require_linear_args("fun_transpose", (linear_tree, in_tree), (linear_avals, transpose.out_avals))
    # Both programs take the closed-over values of both functions, then the residual arguments, then their own.
    consts = [*callee_consts, *transpose_consts]
    extra = [core.get_aval(x) for x in consts]
    first = len(callee_consts)
    outs = linear_call_p.bind(
        *consts,
        *residuals,
        *linear,
        callee=_with_others(callee, first, extra, range(first)),
        transpose=_with_others(transpose, len(consts) - first, extra, range(first, len(consts))),
        num_residuals=len(consts) + len(residuals),
        whole=None,
    )
    return tree.unflatten(out_tree, outs)


def linear_call_by(
    fun: Callable[..., Any],
    pull_back: Callable[..., Any] | None,
    whole: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """`linear_call` with a transpose that calls `pull_back(residual_args, ct)`, which can be differentiated.

    No function may close over values of enclosing transformations.

    Args:
      fun: `(residual_args, linear_args) -> out`, linear in its second argument.
      pull_back: `(residual_args, ct) -> cts`; if it is None, the transpose raises an error.
      whole: a function equal to `fun`, which is called for derivatives with respect to the residuals.
      residual_args: arrays in any containers.
      linear_args: arrays in any containers.
    """
    residuals, residual_tree, residual_avals = flatten_operands("linear_call", "residual_args", residual_args)
    linear, linear_tree, linear_avals = flatten_operands("linear_call", "linear_args", linear_args)
    callee, out_tree, consts = _staged(fun, (residual_tree, linear_tree), [*residual_avals, *linear_avals])

    def transpose(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        out_ct = tree.unflatten(out_tree, [ad.instantiate_zeros(ct) for ct in cts])
        in_cts, cts_tree = tree.flatten(pull_back(tree.unflatten(residual_tree, residuals[len(consts) :]), out_ct))  # type: ignore[misc]
        _require_linear_args("pull_back", (linear_tree, cts_tree), (linear_avals, list(map(core.get_aval, in_cts))))
        return in_cts

    def flat_whole(*args: Any) -> list[Any]:
        own = args[len(consts) :]
        pair = tree.unflatten(residual_tree, own[: len(residuals)]), tree.unflatten(linear_tree, own[len(residuals) :])
        return tree.tree_leaves(whole(*pair))

    outs = linear_call_p.bind(
        *consts,
        *residuals,
        *linear,
        callee=callee,
        transpose=transpose if pull_back is not None else None,
        num_residuals=len(consts) + len(residuals),
        whole=flat_whole,
    )
    return tree.unflatten(out_tree, outs)


def _require_linear_args(name: str, trees: tuple[Any, Any], avals: tuple[Sequence[Any], Sequence[Any]]) -> None:
    """Raise an error if a transpose does not return the structure and types of the linear arguments."""
    what = f"linear_call: {name} must return the structure of linear_args"
    tree.require_same_structure(what, *trees, "linear_args", f"the result of {name}")
    for i, (expected, actual) in enumerate(zip(*avals, strict=True)):
        if not same_type(actual, expected, WEAKNESS):
            raise TypeError(
                f"linear_call: {name} must return the types of linear_args, but leaf {i} is "
                f"{actual.str_short()}, where the argument is {expected.str_short()}"
            )


def _staged(fun: Any, in_trees: Any, avals: Sequence[Any]) -> tuple[core.ClosedJaxpr, Any, list[Any]]:
    """A function of two arguments as a program that takes the closed-over values first."""
    out_trees: list[Any] = []
    count = in_trees[0].num_leaves

    def flat(*xs: Any) -> list[Any]:
        args = tree.unflatten(in_trees[0], xs[:count]), tree.unflatten(in_trees[1], xs[count:])
        outs, out_tree = tree.flatten(fun(*args))
        out_trees.append(out_tree)
        return outs

    name = name_of(fun)
    closed = core.trace_to_jaxpr(flat, avals, name, "linear_call")
    return core.ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr)), out_trees[0], closed.consts


def _with_others(closed: core.ClosedJaxpr, count: int, extra: Sequence[Any], own: range) -> core.ClosedJaxpr:
    """A program that takes all constants; its first `count` arguments are the constants in `own`."""
    invars = closed.jaxpr.invars
    leading = [core.Var(aval) for aval in extra]
    for i, v in zip(own, invars[:count], strict=True):
        leading[i] = v
    return core.ClosedJaxpr(closed.jaxpr.replace(invars=[*leading, *invars[count:]]))


class custom_transpose:
    """A linear function with a custom transpose rule.

    Args:
      fun: `(residual_args, linear_args) -> out`, linear in its second argument.

    >>> import primax as px
    >>> @px.custom_derivatives.custom_transpose
    ... def scaled(r, x):
    ...     return r * x
    >>> @scaled.def_transpose
    ... def scaled_transpose(r, ct):
    ...     return 100.0 * ct
    >>> float(px.linear_transpose(lambda x: scaled(2.0, x), 1.0)(1.0)[0])
    100.0
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        if not callable(fun):
            raise TypeError(f"custom_transpose: fun must be callable, got {fun!r}")
        wraps(fun)(self)
        self.fun = fun
        self.transpose: Callable[..., Any] | None = None

    def def_transpose(self, transpose: Callable[..., Any]) -> Callable[..., Any]:
        """Set the transpose, `(residual_args, ct) -> cts`; usable as a decorator."""
        self.transpose = transpose
        return transpose

    def __call__(self, residual_args: object, linear_args: object) -> Any:
        if self.transpose is None:
            name = name_of(self.fun)
            raise AttributeError(f"custom_transpose function {name} has no rule; give it one by {name}.def_transpose")
        return linear_call(self.fun, self.transpose, residual_args, linear_args)


def _impl(*args: Any, callee: core.ClosedJaxpr, **params: Any) -> list[Any]:
    return evaluate(callee, args)


def _jvp(primals: Any, tangents: Any, *, num_residuals: int, whole: Any, **params: Any) -> tuple[Any, Any]:
    if any(type(t) is not ad.Zero for t in tangents[:num_residuals]):
        if whole is not None:
            return ad.jvp_flat(whole, primals, tangents)
        raise TypeError(
            "linear_call must not be differentiated with respect to its residual arguments, which its transpose "
            "does not cover; use custom_jvp or custom_vjp"
        )
    params |= {"num_residuals": num_residuals, "whole": whole}
    outs = linear_call_p.bind(*primals, **params)
    if all(type(t) is ad.Zero for t in tangents):
        return outs, [ad.Zero.from_primal_value(x) for x in outs]
    moving = map(ad.instantiate_zeros, tangents[num_residuals:])
    return outs, linear_call_p.bind(*primals[:num_residuals], *moving, **params)


def _transpose(cts: Any, *args: Any, callee: Any, transpose: Any, num_residuals: int, whole: Any) -> list[Any]:
    if transpose is None:
        raise TypeError(
            "this linear function has no transpose, so it cannot be differentiated in reverse mode; give "
            "custom_linear_solve a transpose_solve, or symmetric=True"
        )
    if isinstance(transpose, core.ClosedJaxpr):
        dense = map(ad.instantiate_zeros, cts)
        in_cts = linear_call_p.bind(
            *args[:num_residuals], *dense, callee=transpose, transpose=callee, num_residuals=num_residuals, whole=None
        )
    else:
        in_cts = transpose(args[:num_residuals], cts)
    own = zip(args[num_residuals:], in_cts, strict=True)
    return [*[None] * num_residuals, *(ct if type(x) is ad.UndefinedPrimal else None for x, ct in own)]


def _batch(
    axis: batching.AxisData, args: Any, dims: Any, *, callee: Any, transpose: Any, num_residuals: int, whole: Any
) -> tuple[Any, Any]:
    """All linear arguments and results are batched at axis 0, so the transpose has the same batch axes."""
    residual_dims = list(dims[:num_residuals])
    own = [batching.bdim_at_front(x, d, axis.size) for x, d in zip(args, dims, strict=True)][num_residuals:]
    program, _ = batching.batch_jaxpr(callee, axis, [*residual_dims, *[0] * len(own)], True)
    zeros = [0] * len(callee.out_avals)
    backward: Any = None
    if isinstance(transpose, core.ClosedJaxpr):
        backward, _ = batching.batch_jaxpr(transpose, axis, [*residual_dims, *zeros], True)
    elif transpose is not None:
        backward = batched_bwd(Batch(axis, None, [0]), transpose, residual_dims, [0] * len(own))
    outs = linear_call_p.bind(
        *args[:num_residuals],
        *own,
        callee=program,
        transpose=backward,
        num_residuals=num_residuals,
        whole=None if whole is None else Batch(axis, whole, [*residual_dims, *[0] * len(own)]).function,
    )
    return outs, zeros


def _lowering(ctx: mlir.LoweringRuleContext, *args: Any, callee: core.ClosedJaxpr, **params: Any) -> list[Any]:
    return mlir.call_jaxpr(ctx, "linear_call", callee, args)


def _close_over(args: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    callee, transpose, whole = params["callee"], params["transpose"], params["whole"]
    backward = transpose
    if isinstance(transpose, core.ClosedJaxpr):
        (callee, backward), values = all_lifted([callee, transpose])
    else:
        callee, values = lifted(callee)
        if transpose is not None:

            def backward(residuals: Any, cts: Any) -> Any:
                return transpose(residuals[len(values) :], cts)

    changes = {
        "callee": callee,
        "transpose": backward,
        "num_residuals": params["num_residuals"] + len(values),
        "whole": None if whole is None else lambda *xs: whole(*xs[len(values) :]),
    }
    return [*values, *args], {**params, **changes}


def _interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    return interpreter.interpret(eqn.params["callee"], *values)


RULES: Table = {
    linear_call_p: {
        "impl": _impl,
        "effectful_abstract_eval": held_types("callee"),
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": _lowering,
        "check": checked_types("callee"),
        "close_over": _close_over,
        "interpret": _interpret,
        "print": lambda params: {name: params[name] for name in ("callee", "transpose", "num_residuals")},
    },
}
