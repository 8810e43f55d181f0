"""Checks of the process: a jitted function is correct and on its fast path, and no state has changed."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

import primax as px
from primax.extend.provisional import tracing
from primax.plugins.calls.jit import Jitted

_SPEED = 20


class Canary:
    """Checks the state of the process, now and after each case."""

    def __init__(self) -> None:
        self.misses = 0
        plain = Jitted.miss

        def counted(jitted: Any, *args: Any, **kwargs: Any) -> Any:
            self.misses += 1
            return plain(jitted, *args, **kwargs)

        Jitted.miss = counted  # type: ignore[method-assign]
        try:
            self.function = px.jit(lambda x, tree: 2.0 * x + tree["a"])
        finally:
            Jitted.miss = plain  # type: ignore[method-assign]
        self.argument = np.arange(3.0, dtype=np.float32)
        self._call()
        self.state = self._state()

    def _call(self) -> list[float]:
        found: list[float] = self.function(self.argument, {"a": 1.0}).tolist()
        return found

    def _state(self) -> dict[str, Any]:
        thread = tracing.thread
        return {
            "options": px.config.values,
            "the trace": thread.trace,
            "the source of equations": thread.source,
            "the depth of traces": thread.depth,
            "the named axes": dict(thread.axes),
            "the recursion limit": sys.getrecursionlimit(),
            "numpy.seterr": np.geterr(),
            "sys.stdout": sys.stdout,
        }

    def sings(self) -> str:
        """A short description of the fault; empty if nothing has changed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = self.misses
            try:
                found = self._call()
            except BaseException as error:
                return f"the next call of a jitted function raises {type(error).__name__}: {str(error)[:200]}"
            slow = self.misses - before
            changed = [name for name, value in self._state().items() if value != self.state[name]]
        if found != [1.0, 3.0, 5.0]:
            return f"the next call of a jitted function is wrong: {found}"
        if changed:
            self.restore()
            return f"it changed {', '.join(changed)}"
        if slow:
            return "the next call of a jitted function leaves the fast path"
        return ""

    def restore(self) -> None:
        """Restore the options, as far as possible."""
        for name, value in self.state["options"].items():
            if getattr(px.config, name) != value:
                px.config.update(name, value)
        tracing.thread.trace, tracing.thread.source = self.state["the trace"], self.state["the source of equations"]
        tracing.thread.depth, tracing.thread.axes = self.state["the depth of traces"], self.state["the named axes"]
        sys.setrecursionlimit(self.state["the recursion limit"])
        np.seterr(**self.state["numpy.seterr"])
        sys.stdout = self.state["sys.stdout"]
