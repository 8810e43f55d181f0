"""`custom_vjp`: functions with a rule for their derivative in reverse mode."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import tree
from primax.extend.interpreters import ad
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import RuleName, name_of, shorten, wraps
from primax.extend.provisional.avals import ALL_BUT_SHAPE_AND_DTYPE, is_void, same_type
from primax.extend.provisional.derivatives import as_leaf, from_leaf
from primax.plugins.custom_derivatives.arguments import (
    Arguments,
    Forwarding,
    RulesOfOwner,
    resolve,
    split,
    typed,
    without_positions,
)
from primax.plugins.custom_derivatives.vjp_rules import custom_vjp_call_p
from primax.plugins.structural import convert

_NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)


@dataclass(frozen=True, slots=True)
class CustomVJPPrimal:
    """The argument of a forward rule with `symbolic_zeros` for each array.

    Attributes:
      value: the array.
      perturbed: whether its cotangent is needed.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree_of_primals: object) -> Any:
    """The values of the arguments of a forward rule with `symbolic_zeros`, in the same structure.

    Args:
      tree_of_primals: `CustomVJPPrimal`s in any containers.

    Raises:
      TypeError: a leaf is not a `CustomVJPPrimal`.
    """

    def value(x: Any) -> Any:
        if type(x) is not CustomVJPPrimal:
            raise TypeError(f"custom_vjp_primal_tree_values: leaves must be CustomVJPPrimals, got {x!r}")
        return x.value

    return tree.tree_map(value, tree_of_primals)


_P = ParamSpec("_P")
_R = TypeVar("_R")


class custom_vjp(Forwarding, Generic[_P, _R]):
    """A function with a custom VJP rule, for reverse mode only.

    It has no derivative in forward mode. Use `custom_jvp` unless the rule concerns the backward pass itself.

    Args:
      fun: a function of pytrees of arrays. It must not close over values that are being differentiated.
      nondiff_argnums: positions of arguments that are not differentiated; they need not be arrays. They must not
        depend on differentiated values.
      nondiff_argnames: the names of such arguments.

    >>> import primax as px
    >>> @px.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (px.numpy.clip(ct, -1, 1),))
    >>> float(px.grad(lambda x: 5 * clipped(x))(2.0))
    1.0
    """

    def __init__(
        self,
        fun: Callable[_P, _R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        if not callable(fun):
            raise TypeError(f"custom_vjp: fun must be callable, got {fun!r}")
        wraps(fun)(self)
        self.fun = fun
        self.nondiff_argnums = without_positions(fun, nondiff_argnums, nondiff_argnames, "custom_vjp")
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __repr__(self) -> str:
        return f"<custom_vjp {self.name}>"

    @property
    def name(self) -> str:
        return name_of(self.fun)

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rule.

        Args:
          fwd: takes the arguments of the function, returns `(out, residuals)`.
          bwd: `(*nondiff, residuals, ct) -> cts`, a tuple with one cotangent per differentiated argument; None means a
            zero cotangent, also inside containers.
          symbolic_zeros: whether `fwd` gets a `CustomVJPPrimal` for each differentiated array, and `bwd` a
            `SymbolicZero` for cotangents that are known to be zero.
          optimize_remat: accepted and ignored: unused results of `fwd` are never computed.
        """
        for name, rule in (("fwd", fwd), ("bwd", bwd)):
            if not callable(rule):
                raise TypeError(f"defvjp of {self.name}: {name} must be a function, got {rule!r}")
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"custom_vjp function {self.name} has no rule; give it one by {self.name}.defvjp")
        what = f"custom_vjp function {self.name}"
        arguments = split(resolve(self.fun, args, kwargs, what), self.nondiff_argnums, what)
        call = _Call(self, arguments)
        outs = custom_vjp_call_p.bind(
            *arguments.operands,
            name=self.name,
            call_jaxpr=call.function,
            fwd=call.forward,
            bwd=call.backward,
            num_consts=0,
        )
        return tree.unflatten(call.out_tree, outs)


class _Call(RulesOfOwner):
    """One call: the function and its rules on flat lists."""

    _RULES = ("fwd", "bwd", "symbolic_zeros")

    def __init__(self, owner: custom_vjp[Any, Any], arguments: Arguments) -> None:
        self.owner = owner
        self.given = arguments.skeleton()
        self.fwd: Any = owner.fwd
        self.bwd: Any = owner.bwd
        self.symbolic_zeros = owner.symbolic_zeros
        self.avals = arguments.avals()
        self.out_tree: Any = None
        self.residual_tree: Any = None

    def function(self, *operands: Any) -> list[Any]:
        outs, self.out_tree = tree.flatten(self.owner.fun(*self.given.merged(*self.given.parted(operands))))
        return outs

    def forward(self, primals: Sequence[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        """The results of the user's forward rule; then the constants of the call and the residuals."""
        name = self.owner.name
        constants, leaves = self.given.parted(primals)
        moving, perturbed = self.given.parted(nonzero)
        if any(moving):
            raise core.UnexpectedTracerError(
                f"custom_vjp function {name}: an argument that nondiff_argnums names must not be differentiated, since "
                "the rule has no cotangent for it; remove it from nondiff_argnums, and return None as its cotangent"
            )
        if self.symbolic_zeros:
            leaves = [CustomVJPPrimal(x, nz) for x, nz in zip(typed(leaves), perturbed, strict=True)]
        returned = self.fwd(*self.given.merged(constants, leaves))
        rule = RuleName(f"the forward rule of {name}", self.fwd)
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise TypeError(f"custom_vjp: {rule} must return a pair (out, residuals), got {returned!r}")
        outs, out_tree = tree.flatten(returned[0])
        if self.out_tree is not None and out_tree != self.out_tree:
            tree.require_same_structure(
                f"custom_vjp: {rule} must return what {name} returns",
                self.out_tree,
                out_tree,
                f"the result of {name}",
                "the first result of the rule",
            )
        self.out_tree = out_tree
        residuals, self.residual_tree = tree.flatten(returned[1])
        if wrong := [shorten(x) for x in residuals if not core.valid_jaxtype(x)]:
            raise TypeError(f"custom_vjp: {rule} must return residuals that are arrays or numbers, got {wrong[0]}")
        return outs, [*constants, *residuals]

    def backward(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        """The user's backward rule: one cotangent or `Zero` for each operand of the call."""
        name = self.owner.name
        rule = RuleName(f"the backward rule of {name}", self.bwd)
        cts = [as_array(as_leaf(ct) if self.symbolic_zeros else ad.instantiate_zeros(ct)) for ct in cts]
        constants, residuals = self.given.parted(residuals)
        fixed = [x for _, x in sorted(self.given.fixed_with(constants).items())]
        ct = tree.unflatten(self.out_tree, cts)
        returned = self.bwd(*fixed, tree.unflatten(self.residual_tree, residuals), ct)
        returned = tuple(returned) if isinstance(returned, list) else returned
        in_tree = self.given.in_tree
        parts = tree.treedef_children(in_tree)
        if not isinstance(returned, tuple) or len(returned) != len(parts):
            raise TypeError(
                f"custom_vjp: {rule} must return a tuple of one cotangent per argument, {len(parts)} in all, "
                f"got {returned!r}"
            )
        leaves: list[Any] = []
        for i, (part, value) in enumerate(zip(parts, returned, strict=True)):
            leaves += _leaves(rule, i, part, value)
        cts = [_checked(rule, k, aval, ct) for k, (aval, ct) in enumerate(zip(self.avals, leaves, strict=True))]
        return [*(ad.Zero.from_primal_value(x) for x in constants), *cts]


def as_array(x: Any) -> Any:
    """A number of Python or NumPy as an array, for users' functions; other values unchanged."""
    return runtime.put_value(x, core.get_aval(x).weak_type) if isinstance(x, _NUMBERS) else x


def _leaves(rule: RuleName, i: int, structure: Any, value: Any) -> list[Any]:
    """The cotangents of the leaves of one argument: its structure, or a prefix of it; None means zero."""
    leaves: list[Any] = []
    waiting = [(structure, value)]
    while waiting:
        part, subtree = waiting.pop()
        if subtree is None or type(subtree) is ad.Zero or tree.treedef_is_leaf(tree.tree_structure(subtree)):
            leaves += [subtree] * part.num_leaves
        else:
            children, own = tree.tree_flatten(subtree, is_leaf=partial(operator.is_not, subtree))
            if part.node_data() != own.node_data() or len(part.children()) != len(own.children()):
                raise TypeError(
                    f"custom_vjp: {rule} must return, for argument {i}, a cotangent of its structure {structure}, "
                    f"got {tree.tree_structure(value)}"
                )
            waiting += reversed(list(zip(part.children(), children, strict=True)))
    return leaves


def _checked(rule: RuleName, k: int, aval: Any, ct: Any) -> Any:
    """A cotangent that a rule returned, after a check that its type fits the argument."""
    expected, ct = aval.to_tangent_aval(), from_leaf(ct)
    if ct is None or type(ct) is ad.Zero or is_void(expected):
        return ad.Zero(expected)
    if type(ct) is int and not expected.composite and dtypes.is_inexact(expected.dtype):
        ct = float(ct)  # such as 0
    actual = core.get_aval(ct)
    floating = not (actual.composite or expected.composite) and dtypes.is_floating(actual.dtype)
    if floating and actual.shape == expected.shape and dtypes.is_inexact(expected.dtype):
        return ct if actual.dtype == expected.dtype else convert(ct, expected.dtype, actual.weak_type)
    if not same_type(actual, expected, ALL_BUT_SHAPE_AND_DTYPE):
        raise core.TangentTypeError(
            f"custom_vjp: {rule} must return cotangents of the types of the arguments, but leaf {k} of the arguments "
            f"is {aval.str_short()}, and its cotangent is {actual.str_short()}"
        )
    return ct
