"""Policies: the selection of residuals of a checkpointed function to save for the backward pass; others are recomputed.

A policy is a hashable function `(primitive, *avals, **params)`. It is called for an operation with the types of its
operands, and returns whether the results may be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from primax.extend import core
from primax.extend.provisional.arguments import check_hashable
from primax.plugins.dot import dot_general_p
from primax.plugins.remat.names import name_p

Policy = Callable[..., bool]

Saveable = True
Recompute = False


def everything_saveable(primitive: core.Primitive, *avals: object, **params: object) -> bool:
    """All residuals are saved, as without checkpoint."""
    return Saveable


def nothing_saveable(primitive: core.Primitive, *avals: object, **params: object) -> bool:
    """All residuals are recomputed from the arguments, as without a policy."""
    return Recompute


def dots_saveable(primitive: core.Primitive, *avals: object, **params: object) -> bool:
    """Products of matrices are saved."""
    return primitive is dot_general_p


def dots_with_no_batch_dims_saveable(primitive: core.Primitive, *avals: object, **params: object) -> bool:
    """Products of matrices without batch dimensions are saved."""
    numbers: Any = params.get("dimension_numbers")
    return primitive is dot_general_p and numbers[1] == ((), ())


checkpoint_dots = dots_saveable
checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


@dataclass(frozen=True, slots=True)
class _ByName:
    """Decides by a set of names; `others` is the result for names outside of it, `unnamed` for values without names."""

    names: frozenset[str]
    others: bool
    unnamed: bool

    def __call__(self, primitive: core.Primitive, *avals: Any, **params: Any) -> bool:
        if primitive is not name_p:
            return self.unnamed
        return self.others is not (params["name"] in self.names)


def _checked(function: str, names: tuple[Any, ...]) -> frozenset[str]:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{function}: names must be strings, got {name!r}")
        check_hashable(function, "names", name)
    return frozenset(names)


def save_only_these_names(*names: str) -> Policy:
    """Values with one of these names are saved; see `primax.ad_checkpoint.checkpoint_name`.

    >>> import primax as px
    >>> from primax.ad_checkpoint import checkpoint_name, print_saved_residuals
    >>> policy = px.checkpoint_policies.save_only_these_names("hidden")
    >>> f = px.checkpoint(lambda x: px.lax.cos(checkpoint_name(px.lax.sin(x), "hidden")), policy=policy)
    >>> print_saved_residuals(f, 1.0)  # doctest: +ELLIPSIS
    f32[] from the argument x
    f32[] named 'hidden' from ...
    """
    return _ByName(_checked("save_only_these_names", names), others=False, unnamed=False)


def save_any_names_but_these(*names: str) -> Policy:
    """Values with names are saved, except for values with these names."""
    return _ByName(_checked("save_any_names_but_these", names), others=True, unnamed=False)


def save_anything_except_these_names(*names: str) -> Policy:
    """Everything is saved, except for results of `checkpoint_name` with these names.

    The operation that computed a named value has no name, so its result may be saved.
    """
    return _ByName(_checked("save_anything_except_these_names", names), others=True, unnamed=True)


@dataclass(frozen=True, slots=True)
class _Either:
    first: Policy
    second: Policy

    def __call__(self, primitive: core.Primitive, *avals: Any, **params: Any) -> bool:
        return self.first(primitive, *avals, **params) or self.second(primitive, *avals, **params)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Values are saved if either of two policies saves them."""
    return _Either(policy_1, policy_2)
