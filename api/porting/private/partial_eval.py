"""The names that packages use of `jax._src.interpreters.partial_eval`, beside the public ones."""

from __future__ import annotations

from collections.abc import Sequence

from primax.extend.core import JaxprEqn, trace_to_jaxpr

__all__ = ["trace_to_jaxpr"]


def _default_dce_rule(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    """Keep an equation as it is and all of its inputs, or remove it if no result is used and it has no effects."""
    kept = any(used_outs) or bool(eqn.effects)
    return [kept] * len(eqn.invars), eqn if kept else None
