"""Passes: programs are rewritten before they are lowered."""

from __future__ import annotations

import functools
from collections.abc import Callable

from primax.core.jaxpr import ClosedJaxpr, cached

_passes: dict[str, tuple[Callable[[ClosedJaxpr], bool], Callable[[ClosedJaxpr], ClosedJaxpr]]] = {}


def register_program_pass(
    name: str, applies: Callable[[ClosedJaxpr], bool], rewrite: Callable[[ClosedJaxpr], ClosedJaxpr]
) -> None:
    """Add a pass, the last one, over programs with effects to which it applies; inputs and outputs stay the same."""
    _passes[name] = applies, rewrite


def rewritten(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program after all passes that apply to it, kept with it."""
    if closed.effects:
        for name, (applies, rewrite) in _passes.items():
            if applies(closed):
                closed = cached(closed, ("pass", name), functools.partial(rewrite, closed))
    return closed
