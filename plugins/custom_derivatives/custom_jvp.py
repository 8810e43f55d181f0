"""`custom_jvp`: functions with a rule for their derivative in forward mode, which reverse mode uses, too."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from primax.extend import core
from primax.extend.core import tree
from primax.extend.interpreters import ad
from primax.extend.provisional.arguments import RuleName, name_of, wraps
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
from primax.plugins.custom_derivatives.jvp_rules import custom_jvp_call_p

_P = ParamSpec("_P")
_R = TypeVar("_R")


class custom_jvp(Forwarding, Generic[_P, _R]):
    """A function with a custom JVP rule.

    All transformations use the rule, including `grad` and `vjp`, also inside `jit`, `vmap` and control flow. It must be
    linear in the tangents.

    Args:
      fun: a function of pytrees of arrays. It must not close over values that are being differentiated.
      nondiff_argnums: positions of arguments that are not differentiated; they need not be arrays. They are constants
        for every derivative.
      nondiff_argnames: the names of such arguments.

    >>> import primax as px
    >>> @px.custom_jvp
    ... def f(x, y):
    ...     return px.numpy.sin(x) * y
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     return f(x, y), px.numpy.cos(x) * dx * y + px.numpy.sin(x) * dy
    >>> float(px.grad(f)(0.0, 3.0))
    3.0
    """

    def __init__(
        self,
        fun: Callable[_P, _R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ) -> None:
        if not callable(fun):
            raise TypeError(f"custom_jvp: fun must be callable, got {fun!r}")
        wraps(fun)(self)
        self.fun = fun
        self.nondiff_argnums = without_positions(fun, nondiff_argnums, nondiff_argnames, "custom_jvp")
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __repr__(self) -> str:
        return f"<custom_jvp {self.name}>"

    @property
    def name(self) -> str:
        return name_of(self.fun)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule; usable as a decorator.

        Args:
          jvp: `(*nondiff, primals, tangents) -> (out, tangent_out)`, where primals and tangents are tuples with one
            element per differentiated argument.
          symbolic_zeros: whether the rule gets tangents that are known to be zero as `SymbolicZero`, and may return
            `SymbolicZero`s.
        """
        if not callable(jvp):
            raise TypeError(f"defjvp of {self.name}: jvp must be a function (primals, tangents), got {jvp!r}")
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set the rule as a sum, with one term for each argument.

        Args:
          jvps: for each argument `(tangent, out, *primals) -> tangent_out`, or None if the derivative is zero.
        """
        if self.nondiff_argnums:
            raise TypeError(f"defjvps of {self.name}: there must be no nondiff_argnums, got {self.nondiff_argnums}")

        self.defjvp(functools.partial(_sum_of_terms, self, jvps))

    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        if self.jvp is None:
            raise AttributeError(f"custom_jvp function {self.name} has no rule; give it one by {self.name}.defjvp")
        what = f"custom_jvp function {self.name}"
        arguments = split(resolve(self.fun, args, kwargs, what), self.nondiff_argnums, what)
        call = _Call(self, arguments)
        outs = custom_jvp_call_p.bind(
            *arguments.operands,
            name=self.name,
            call_jaxpr=call.function,
            jvp=call.rule,
            num_consts=0,
            symbolic_zeros=self.symbolic_zeros,
        )
        return tree.unflatten(call.out_tree, outs)


def _sum_of_terms(owner: custom_jvp[Any, Any], jvps: Sequence[Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The rule that `defjvps` makes of one rule for each argument."""
    if len(jvps) != len(primals):
        raise TypeError(
            f"defjvps of {owner.name}: there must be one rule per argument, "
            f"got {len(jvps)} rules for {len(primals)} arguments"
        )
    out = owner(*primals)
    terms = [rule(t, out, *primals) for rule, t in zip(jvps, tangents, strict=True) if rule is not None]
    if not terms:
        return out, tree.tree_map(lambda x: ad.zeros_like_aval(core.get_aval(x).to_tangent_aval()), out)
    return out, functools.reduce(lambda a, b: tree.tree_map(ad.add_tangents, a, b), terms)


class _Call(RulesOfOwner):
    """One call: the function and its rule on flat lists."""

    _RULES = ("jvp",)

    def __init__(self, owner: custom_jvp[Any, Any], arguments: Arguments) -> None:
        self.owner = owner
        self.given = arguments.skeleton()
        self.jvp = owner.jvp
        self.out_tree: Any = None

    def function(self, *operands: Any) -> list[Any]:
        outs, self.out_tree = tree.flatten(self.owner.fun(*self.given.merged(*self.given.parted(operands))))
        return outs

    def rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The user's rule; its arguments and results have symbolic zeros."""
        arguments, name = self.given, self.owner.name
        constants, primals = arguments.parted(primals)
        _, tangents = arguments.parted(tangents)
        if not self.owner.symbolic_zeros:
            tangents = [_instantiated(t) for t in tangents]
        tangents = list(map(as_leaf, tangents))
        fixed = [x for _, x in sorted(arguments.fixed_with(constants).items())]
        args = tree.unflatten(arguments.in_tree, typed(primals)), tree.unflatten(arguments.in_tree, tangents)
        returned = self.jvp(*fixed, *args)  # type: ignore[misc]
        rule = RuleName(f"the rule of {name}", self.jvp)
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise TypeError(f"custom_jvp: {rule} must return a pair (out, tangent_out), got {returned!r}")
        outs, out_tree = tree.flatten(returned[0])
        out_tangents, tangent_tree = tree.tree_flatten(returned[1], is_leaf=lambda x: type(x) is ad.Zero)
        if tangent_tree != out_tree:
            tree.require_same_structure(
                f"custom_jvp: {rule} must return a tangent of the structure of its primal output",
                out_tree,
                tangent_tree,
                "the primal output",
                "the tangent output",
            )
        if self.out_tree is not None and out_tree != self.out_tree:
            tree.require_same_structure(
                f"custom_jvp: {rule} must return what {name} returns",
                self.out_tree,
                out_tree,
                f"the result of {name}",
                "the primal output of the rule",
            )
        self.out_tree = out_tree
        checked = [_checked(rule, i, x, t) for i, (x, t) in enumerate(zip(outs, out_tangents, strict=True))]
        return outs, checked


def _instantiated(t: Any) -> Any:
    """A tangent for a rule that takes no symbolic zeros; for a reference, a reference to zeros."""
    if type(t) is ad.Zero and t.aval.mutable:
        return t.aval.make(ad.zeros_like_aval(t.aval.inner_aval))
    return ad.instantiate_zeros(t)


def _checked(rule: RuleName, i: int, primal: Any, tangent: Any) -> Any:
    """A tangent that a rule returned, after a check that its type fits its primal."""
    tangent = from_leaf(tangent)
    expected = core.get_aval(primal).to_tangent_aval()
    actual = tangent.aval if type(tangent) is ad.Zero else core.get_aval(tangent)
    if not same_type(actual, expected, ALL_BUT_SHAPE_AND_DTYPE):
        raise TypeError(
            f"custom_jvp: {rule} must return tangents of the types of its primal outputs, but output {i} is "
            f"{core.get_aval(primal).str_short()}, whose tangents are {expected.str_short()}, and its tangent is "
            f"{actual.str_short()}"
        )
    return ad.Zero(expected) if is_void(expected) else tangent
