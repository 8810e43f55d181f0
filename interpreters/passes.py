"""Passes: programs are rewritten before they are lowered."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from primax.core.jaxpr import ClosedJaxpr, cached


class Pass(NamedTuple):
    """A rewriting of programs.

    Attributes:
      name: its name.
      applies: whether a program, which has effects, is to be rewritten.
      rewrite: returns a program with the same inputs and outputs.
    """

    name: str
    applies: Callable[[ClosedJaxpr], bool]
    rewrite: Callable[[ClosedJaxpr], ClosedJaxpr]


_passes: list[Pass] = []


def register_program_pass(
    name: str, applies: Callable[[ClosedJaxpr], bool], rewrite: Callable[[ClosedJaxpr], ClosedJaxpr]
) -> None:
    """Add a pass over programs with effects, the last one; see `Pass`."""
    _passes.append(Pass(name, applies, rewrite))


def rewritten(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program after all passes that apply to it, kept with it."""
    if closed.effects:
        for each in _passes:
            if each.applies(closed):
                closed = cached(closed, ("pass", each.name), functools.partial(each.rewrite, closed))
    return closed
