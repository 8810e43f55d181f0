"""`custom_vmap`: functions with a rule for mapping them over an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, Generic, ParamSpec, TypeVar

from primax.extend import core
from primax.extend.core import get_aval, tree
from primax.extend.programs import stage
from primax.extend.provisional.arguments import RuleName, avals_of, name_of, wraps
from primax.plugins.control_flow import map as map_one_by_one
from primax.plugins.custom_batching.rules import custom_vmap_call_p
from primax.plugins.custom_derivatives import Forwarding, resolve, typed

_P = ParamSpec("_P")
_R = TypeVar("_R")


class custom_vmap(Forwarding, Generic[_P, _R]):
    """A function with a custom `vmap` rule.

    It can be differentiated in both modes: `vmap` of a derivative uses the derivative of the rule.

    Args:
      fun: a function of pytrees of arrays.

    >>> import primax as px
    >>> @px.custom_batching.custom_vmap
    ... def f(x, y):
    ...     return x * y
    >>> @f.def_vmap
    ... def f_vmap(axis_size, in_batched, x, y):
    ...     return x * y * 100, in_batched[0] or in_batched[1]
    >>> px.vmap(f, (0, None))(px.numpy.arange(3.0), 1.0).tolist()
    [0.0, 100.0, 200.0]
    """

    def __init__(self, fun: Callable[_P, _R]) -> None:
        if not callable(fun):
            raise TypeError(f"custom_vmap: fun must be callable, got {fun!r}")
        wraps(fun)(self)
        self.fun = fun
        self.vmap_rule: Callable[..., Any] | None = None

    def __repr__(self) -> str:
        return f"<custom_vmap {self.name}>"

    @property
    def name(self) -> str:
        return name_of(self.fun)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; usable as a decorator.

        Args:
          vmap_rule: `(axis_size, in_batched, *args) -> (out, out_batched)`. `in_batched` is a list with, for each
            argument, its structure filled with booleans; mapped arrays have the axis first. `out_batched` has the
            structure of `out`, or is one boolean for all of it.
        """
        if not callable(vmap_rule):
            raise TypeError(f"def_vmap of {self.name}: vmap_rule must be a function, got {vmap_rule!r}")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        what = f"custom_vmap function {self.name}"
        arguments = resolve(self.fun, args, kwargs, what)
        leaves, in_tree = tree.flatten(arguments)
        program = stage(self.fun, in_tree, avals_of(leaves, arguments, what), self.name, "custom_vmap")
        consts = program.closed.consts
        rule = _FlatRule(self, in_tree, program.out_tree, len(consts))
        outs = custom_vmap_call_p.bind(*consts, *leaves, call=program.open, rule=rule, name=self.name)
        return tree.unflatten(program.out_tree, outs)


class _FlatRule:
    """The user's rule on flat lists. Rules of the same function and structure are equal."""

    def __init__(self, owner: custom_vmap[Any, Any], in_tree: Any, out_tree: Any, num_consts: int) -> None:
        self.owner = owner
        self.rule = owner.vmap_rule
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.num_consts = num_consts

    def _key(self) -> tuple[Any, ...]:
        return self.rule, self.owner.fun, self.in_tree, self.out_tree, self.num_consts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FlatRule) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, size: int, batched: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        name = self.owner.name
        if self.rule is None:
            raise AttributeError(f"custom_vmap function {name} has no rule; give it one by {name}.def_vmap")
        if any(batched[: self.num_consts]):
            raise core.UnexpectedTracerError(
                f"custom_vmap function {name} closes over a mapped value, but its rule gets only arguments; pass the "
                "value as an argument"
            )
        flags = list(tree.unflatten(self.in_tree, batched[self.num_consts :]))
        args = tree.unflatten(self.in_tree, typed(values[self.num_consts :]))
        returned = self.rule(size, flags, *args)
        where = RuleName(f"custom_vmap: the rule of {name}", self.rule)
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise TypeError(f"{where} must return a pair (out, out_batched), got {returned!r}")
        out, out_batched = returned
        outs, out_tree = tree.flatten(out)
        if out_tree != self.out_tree:
            tree.require_same_structure(
                f"{where} must return the structure that {name} returns",
                self.out_tree,
                out_tree,
                f"the result of {name}",
                "that of its rule",
                ValueError,
            )
        try:
            out_flags = tree.broadcast_prefix(out_batched, out)
        except ValueError as error:
            raise ValueError(f"{where} must return out_batched of the structure of out: {error}") from None
        for i, (x, b) in enumerate(zip(outs, out_flags, strict=True)):
            shape = get_aval(x).shape
            if not isinstance(b, bool):
                raise TypeError(f"{where} must return booleans as out_batched, got {b!r}")
            if b and (not shape or shape[0] != size):
                raise TypeError(
                    f"{where} must return mapped results with an axis of size {size} in front, but output {i}, "
                    f"which out_batched says is mapped, is of shape {shape}"
                )
        return outs, out_flags


def sequential_vmap(f: Callable[_P, _R]) -> custom_vmap[_P, _R]:
    """A function that `vmap` computes by a loop, one element after the other.

    >>> import primax as px
    >>> f = px.custom_batching.sequential_vmap(lambda x: x + 1)
    >>> px.vmap(f)(px.numpy.arange(3)).tolist()
    [1, 2, 3]
    """
    function = custom_vmap(f)

    @function.def_vmap
    def one_by_one(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        flags = tree.tree_leaves(tuple(in_batched))
        leaves, in_tree = tree.flatten(args)

        def element(mapped: Any) -> Any:
            elements = iter(mapped)
            plain: Callable[..., Any] = f
            return plain(
                *tree.unflatten(in_tree, [next(elements) if b else x for x, b in zip(leaves, flags, strict=True)])
            )

        out = map_one_by_one(element, list(compress(leaves, flags)))
        return out, tree.tree_map(lambda _: True, out)

    return function
