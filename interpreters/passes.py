"""Passes: programs are rewritten before they are lowered."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from primax.core.jaxpr import ClosedJaxpr, cached

# Splits the values of users' types in programs into their parts; set with the first such type. It takes a program, and
# returns None if it has no such values.
splitter: Callable[[ClosedJaxpr], Any] | None = None

_passes: dict[str, tuple[Callable[[ClosedJaxpr], bool], Callable[[ClosedJaxpr], ClosedJaxpr]]] = {}


def register_program_pass(
    name: str, applies: Callable[[ClosedJaxpr], bool], rewrite: Callable[[ClosedJaxpr], ClosedJaxpr]
) -> None:
    """Add a pass over programs with effects to which it applies, after the others; it keeps inputs and outputs."""
    _passes[name] = applies, rewrite


def install_splitter(function: Callable[[ClosedJaxpr], Any]) -> None:
    """Let a function split the values of users' types."""
    global splitter
    splitter = function


def rewritten(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program after all passes that apply to it, kept with it."""
    if closed.effects:
        for name, (applies, rewrite) in _passes.items():
            if applies(closed):
                closed = cached(closed, ("pass", name), functools.partial(rewrite, closed))
    return closed
