"""`debug.progress`: a bar that shows how far a loop of a compiled program is."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import tree
from primax.extend.provisional.arguments import integer, wraps
from primax.plugins import control_flow
from primax.plugins.arithmetic import add, div, max, rem, sub
from primax.plugins.bitwise import bitwise_or
from primax.plugins.callbacks.debug import ProgressEffect, debug_callback_p
from primax.plugins.callbacks.flat import FlatCallback
from primax.plugins.comparison import eq, ge
from primax.plugins.custom_batching import custom_vmap
from primax.plugins.reductions import reduce_max_p
from primax.plugins.structural import convert_element_type

_UNKNOWN = np.iinfo(np.int32).max
_PAIR = tree.tree_structure(((0, 0), {}))
_UPDATES = 100  # of a bar whose length is known
_EVERY = 100  # steps from one update to the next, if it is not
_SECONDS = 0.1  # from one update of a line to the next


def progress(loop: Any, total: Any = None, *, label: str = "", every: int | None = None) -> Any:
    """Show on stderr how far a loop is, while the compiled program runs: by tqdm if it is installed, or as a line.

    Under `vmap` there is one bar for all elements, which shows the one that is ahead. Under `grad` the forward pass has
    the bar.

    Args:
      loop: `scan`, `fori_loop`, `map` or `while_loop`; or, in the body of any loop, the number of the step, an integer
        of rank 0 that counts from 0.
      total: the number of steps, an integer of rank 0; by default that of the loop, or unknown for a `while_loop`.
      label: a text beside the bar.
      every: the number of steps from one update to the next; by default a hundredth of all steps, or 100 steps if
        their number is unknown. Updates leave the program for Python, which takes about 50 µs.

    Returns:
      For a loop, a function with the same arguments that shows a bar; for a step, None.

    Raises:
      TypeError: `loop` is something else, or `label` is not a string.
      ValueError: `every` is less than 1.

    >>> import primax as px
    >>> run = px.jit(lambda x: px.debug.progress(px.lax.fori_loop)(0, 1000, lambda i, x: x + 1.0, x))
    >>> float(run(0.0))
    1000.0
    """
    if not isinstance(label, str):
        raise TypeError(f"debug.progress: label must be a string, got {label!r}")
    if every is not None:
        every = integer("debug.progress", "every", every)
        if every < 1:
            raise ValueError(f"debug.progress: every must be 1 or more, got {every}")
    report = _Report(label, every)
    shown = _LOOPS.get(loop) if callable(loop) else None
    if shown is not None:
        return functools.wraps(loop)(functools.partial(shown, report, total))
    aval = None if callable(loop) else _aval(loop)
    if aval is None or aval.shape or not np.issubdtype(aval.dtype, np.integer):
        raise TypeError(
            "debug.progress: loop must be scan, fori_loop, map or while_loop of primax.lax, or the number of a step, "
            f"got {loop!r}"
        )
    report(add(_int32(loop), np.int32(1)), total)
    return None


def _aval(x: Any) -> Any:
    try:
        aval = core.get_aval(x)
    except TypeError:
        return None
    return aval if hasattr(aval, "dtype") else None


class _Report:
    """Updates a bar from a program, at some of the steps."""

    def __init__(self, label: str, every: int | None) -> None:
        self.every = every
        self.bar = Bar(label)

    def __call__(self, count: Any, total: Any) -> None:
        """Report that `count` steps of `total` are done; the total may be None."""
        every: Any = self.every
        if every is None:
            every = _EVERY if total is None else max(div(_int32(total), _int32(_UPDATES)), _int32(1))
        report = custom_vmap(self.at_some_steps)

        def of_all(size: int, mapped: Any, *operands: Any) -> tuple[None, None]:
            return report(*map(_furthest, operands, mapped)), None

        report.def_vmap(of_all)
        report(*map(_int32, (count, _UNKNOWN if total is None else total, every)))

    def at_some_steps(self, count: Any, total: Any, every: Any) -> None:
        due = bitwise_or(eq(rem(count, every), _int32(0)), ge(count, total))
        control_flow.cond(due, self.update, lambda *_: None, count, total)

    def update(self, count: Any, total: Any) -> None:
        callback = FlatCallback(self.bar, "debug.progress", _PAIR)
        debug_callback_p.bind(count, total, callback=callback, effect=ProgressEffect())


def _int32(x: Any) -> Any:
    return np.int32(x) if isinstance(x, int | np.integer) else convert_element_type(x, np.int32)


def _furthest(x: Any, mapped: bool) -> Any:
    """The number of the element that is ahead: a mapped loop ends with the last one."""
    return reduce_max_p.bind(x, axes=(0,)) if mapped else x


def _numbered(xs: Any, length: Any = None, reverse: bool = False) -> Any:
    """The numbers of steps in the order of the elements of `xs`; None if there are no steps to count."""
    leaves = tree.tree_leaves(xs)
    shape = np.shape(leaves[0]) if leaves else (length,)
    if not shape or not isinstance(shape[0], int | np.integer) or shape[0] < 0:
        return None  # of symbolic size, or refused by the loop
    steps = np.arange(1, shape[0] + 1, dtype=np.int32)
    return steps[::-1] if reverse else steps


def _scan(
    report: _Report,
    total: Any,
    f: Any,
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: Any = False,
    *args: Any,
    **options: Any,
) -> Any:
    steps = _numbered(xs, length, reverse)
    if steps is None or not callable(f):
        return control_flow.scan(f, init, xs, length, reverse, *args, **options)

    @wraps(f)
    def step(carry: Any, numbered: Any) -> Any:
        count, x = numbered
        report(count, len(steps) if total is None else total)
        return f(carry, x)

    return control_flow.scan(step, init, (steps, xs), length, reverse, *args, **options)


def _map(report: _Report, total: Any, f: Any, xs: Any, **options: Any) -> Any:
    steps = _numbered(xs)
    if steps is None or not callable(f):
        return control_flow.map(f, xs, **options)

    @wraps(f)
    def step(numbered: Any) -> Any:
        count, x = numbered
        report(count, len(steps) if total is None else total)
        return f(x)

    return control_flow.map(step, (steps, xs), **options)


def _fori_loop(
    report: _Report, total: Any, lower: Any, upper: Any, body_fun: Any, init_val: Any, **options: Any
) -> Any:
    def step(i: Any, value: Any) -> Any:
        first = _int32(lower)
        report(add(sub(_int32(i), first), np.int32(1)), sub(_int32(upper), first) if total is None else total)
        return body_fun(i, value)

    return control_flow.fori_loop(lower, upper, step if callable(body_fun) else body_fun, init_val, **options)


def _while_loop(report: _Report, total: Any, cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
    if not (callable(cond_fun) and callable(body_fun)):
        return control_flow.while_loop(cond_fun, body_fun, init_val)

    def step(state: Any) -> Any:
        count, value = state
        count = add(count, np.int32(1))
        report(count, total)
        return count, body_fun(value)

    count, value = control_flow.while_loop(lambda state: cond_fun(state[1]), step, (np.int32(0), init_val))
    report(count, count)
    return value


_LOOPS: dict[Any, Callable[..., Any]] = {
    control_flow.scan: _scan,
    control_flow.map: _map,
    control_flow.fori_loop: _fori_loop,
    control_flow.while_loop: _while_loop,
}


class Bar:
    """A bar on stderr for the runs of one loop, one after the other."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.lock = threading.Lock()
        self.shown: Any = None
        self.count = 0

    def __reduce__(self) -> Any:
        return Bar, (self.label,)

    def __repr__(self) -> str:
        return f"progress({self.label!r})"

    def __call__(self, count: Any, total: Any) -> None:
        done, goal = int(count), int(total)
        with self.lock:
            if self.shown is not None and done < self.count:
                self.shown.close()  # of a run that ended early
                self.shown = None
            if self.shown is None:
                if done <= 0:
                    return
                self.count = 0
                self.shown = _new_bar(self.label, None if goal == _UNKNOWN else goal)
            self.shown.update(done - self.count)
            self.count = done
            if done >= goal:
                self.shown.close()
                self.shown = None


def _new_bar(label: str, total: int | None) -> Any:
    try:
        tqdm = import_module("tqdm.auto").tqdm
    except ImportError:
        return Line(label, total)
    return tqdm(total=total, desc=label or None)


class Line:
    """A line on stderr that is written again at each update; in a file, only the last state is written."""

    def __init__(self, label: str, total: int | None) -> None:
        self.label = f"{label}: " if label else ""
        self.total = total
        self.count = 0
        self.start = time.perf_counter()
        self.written = 0.0
        self.width = 0

    def update(self, steps: int) -> None:
        self.count += steps
        now = time.perf_counter()
        if sys.stderr.isatty() and now - self.written >= _SECONDS:
            self.written = now
            self._write("\r", "")

    def close(self) -> None:
        self._write("\r" if sys.stderr.isatty() else "", "\n")

    def _write(self, before: str, after: str) -> None:
        seconds = time.perf_counter() - self.start
        rate = self.count / seconds if seconds else 0.0
        part = f"{self.count:,} steps"
        if self.total:
            part = f"{100 * self.count // self.total:3d} % {self.count:,}/{self.total:,}"
        left = f", {(self.total - self.count) / rate:.0f} s left" if self.total and rate and not after else ""
        text = f"{self.label}{part}, {seconds:.1f} s{left}, {rate:,.0f} steps/s"
        sys.stderr.write(f"{before}{text.ljust(self.width)}{after}")
        sys.stderr.flush()
        self.width = len(text)
