"""Calls of compiled programs with references outside of transformations: written contents are donated."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.backend import Target
from primax.extend.core import Array, ClosedJaxpr
from primax.extend.provisional import runtime
from primax.plugins.state.discharge import discharge
from primax.plugins.state.ref import Ref, contents


def run_with_refs(closed: ClosedJaxpr, name: str, args: Sequence[Any], keep_unused: bool = False) -> list[Any]:
    """Run a program that takes references.

    The buffers of written references are donated, so that a program which changes a part of the contents does not copy
    the rest. A value that the caller has read from such a reference stays valid: its contents are then copied first.
    """
    program, written = discharge(closed, True)
    values = list(args)
    for i, x in enumerate(args):
        if type(x) is Ref:
            was_shared = x._shared
            values[i] = contents(x, None)
            x._shared = was_shared
    donates = all(type(values[i]) is Array for i in written)
    if donates:
        for i in written:
            if args[i]._shared:
                values[i] = values[i].copy()
    call = core.cached(
        program,
        ("with references", donates, keep_unused),
        lambda: _compiled(program, name, written if donates else (), keep_unused),
    )
    outs = call(*values)
    count = len(outs) - len(written)
    for i, value in zip(written, outs[count:], strict=True):
        args[i]._value = value
        args[i]._shared = False
    return list(outs[:count])


def lowerable(closed: ClosedJaxpr, target: Target) -> tuple[ClosedJaxpr, Target]:
    """The program whose module shows what XLA does: it returns the new contents of written references, and takes their
    buffers."""
    program, written = discharge(closed, True)
    donated = target.donated or (False,) * len(closed.jaxpr.invars)
    return program, target._replace(donated=tuple([d or i in written for i, d in enumerate(donated)]))


def _compiled(program: ClosedJaxpr, name: str, donated: Sequence[int], keep_unused: bool) -> Any:
    """A function that runs a program, which must outlive it, and donates some of its arguments."""
    reference = weakref.ref(program)
    flags = tuple([i in donated for i in range(len(program.jaxpr.invars))])

    def miss(*args: Any) -> tuple[Any, ...]:
        closed = reference()
        assert closed is not None
        outcome = runtime.compile_and_run(
            closed, f"jit_{name}", args, runtime.leaves_tree, donated=flags, keep_unused=keep_unused
        )
        return *outcome, False

    return runtime.fast_function(name, None, miss, key=(name, tuple(donated), keep_unused))
