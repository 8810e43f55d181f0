"""The names of `jax.experimental.ode` that packages use, besides those of `primax.ode`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.extend import api_util
from primax.flatten_util import ravel_pytree

__all__ = ["api_util", "ravel_first_arg"]


def ravel_first_arg(f: Callable[..., Any], unravel: Callable[[Any], Any], debug_info: Any = None) -> Callable[..., Any]:
    """A function whose first argument and result are vectors, from a function of the tree that `unravel` makes."""

    def raveled(flat: Any, *args: Any) -> Any:
        return ravel_pytree(f(unravel(flat), *args))[0]

    return raveled
