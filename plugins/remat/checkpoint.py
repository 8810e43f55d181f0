"""`checkpoint`: functions whose derivatives trade computing time for memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from primax.extend.api_util import StaticArguments, positions_and_names
from primax.extend.core import tree
from primax.extend.programs import stage
from primax.extend.provisional.arguments import STATIC, avals_of, name_of, wraps
from primax.plugins.remat.policies import Policy
from primax.plugins.remat.splitting import checkpoint_p

_P = ParamSpec("_P")
_R = TypeVar("_R")


def checkpoint(
    fun: Callable[_P, _R],
    *,
    prevent_cse: object = True,
    policy: Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    concrete: bool = False,
) -> Callable[_P, _R]:
    """A function whose reverse-mode derivative recomputes intermediate values instead of saving them.

    Without it, the backward pass needs memory for all residuals of the forward pass. With it, it needs memory for the
    arguments and the residuals that the policy saves, and the time of about one more evaluation.

    Args:
      fun: a function of pytrees of arrays; it is staged, so it must not depend on concrete values.
      prevent_cse: whether to keep the compiler from merging the recomputation with the original computation. Inside
        `scan`, where the compiler cannot merge them, False may be faster. Or a pytree of booleans for the arguments,
        which is true if one of them is.
      policy: selects the residuals to save: a function `(primitive, *avals, **params) -> bool`, such as those in
        `primax.checkpoint_policies`; None saves the arguments only.
      static_argnums: positions of arguments that are not arrays; unhashable values prevent caching.
      static_argnames: the names of static arguments.
      concrete: must be False; use `static_argnums` for concrete values.

    Returns:
      A function of the same arguments and results.

    Raises:
      TypeError: `fun` is not callable, `policy` is not a hashable function, or `prevent_cse` has no booleans.

    >>> import primax as px
    >>> f = px.checkpoint(lambda x: px.lax.sin(px.lax.sin(x)))
    >>> px.ad_checkpoint.print_saved_residuals(f, 1.0)
    f32[] from the argument x
    """
    if concrete:
        raise NotImplementedError("checkpoint: concrete must be False, got True; use static_argnums in its place")
    if not callable(fun):
        raise TypeError(f"checkpoint: fun must be callable, got {fun!r}")
    if policy is not None and (not callable(policy) or getattr(policy, "__hash__", None) is None):
        raise TypeError(f"checkpoint: policy must be a hashable function or None, got {policy!r}")
    flags = tree.tree_leaves(prevent_cse)
    if not flags or not all(isinstance(flag, bool) for flag in flags):
        raise TypeError(f"checkpoint: prevent_cse must be True or False, or a pytree of these, got {prevent_cse!r}")
    numbers, names = (None if isinstance(x, tuple) and not x else x for x in (static_argnums, static_argnames))
    static = StaticArguments(*positions_and_names(fun, numbers, names, "static", "checkpoint"))
    name = name_of(fun)

    @wraps(fun)
    def function(*args: Any, **kwargs: Any) -> Any:
        dynamic, keywords, record = static.split(args, kwargs, "checkpoint", any_value=True)
        leaves, in_tree = tree.flatten((dynamic, keywords), None, (args, kwargs))
        avals = avals_of(
            leaves, (dynamic, keywords), "checkpoint", call=True, fun=fun, static=static.positions, hint=STATIC
        )

        def call(positional: Any, named: Any) -> Any:
            own, named = StaticArguments.merge(positional, named, record)
            return fun(*own, **named)

        program = stage(fun, in_tree, avals, name, "checkpoint", call, (record, static.positions))
        outs = checkpoint_p.bind(
            *program.closed.consts,
            *leaves,
            jaxpr=program.open,
            prevent_cse=any(flags),
            differentiated=False,
            policy=policy,
        )
        return tree.unflatten(program.out_tree, outs)

    return function
