"""Rules of the package `interval` for the primitive of `lambert-w`, neither of which knows the other."""

from __future__ import annotations

from typing import Any

import interval
from lambert_w.lambertw import lambertw_p
from primax.extend import core, hookimpl, replay

__all__ = ["primax_register"]


def _lambertw_range(eqn: core.JaxprEqn, x: Any) -> Any:
    """The function increases."""
    (low,), (high,) = replay(eqn, [x.low]), replay(eqn, [x.high])
    return interval.Range(low, high)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    """Enter the rule. The import of `interval` has made the kind of rules."""
    registry.define(lambertw_p, enclose=_lambertw_range)
