"""The check that rules depend on their arguments alone, not on what ran before or on the state of a module."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from primax.core import config
from primax.core.avals import get_aval
from primax.extend.testing.case import Case, is_array_type
from primax.extend.testing.evaluation import eager, tolerance
from primax.extend.testing.invariants import require_same
from primax.extend.testing.programs import on_arrays
from primax.extend.testing.report import Failed
from primax.extend.testing.values import difference
from primax.interpreters.batching import AxisData, batch_flat
from primax.interpreters.runtime.compile import module_text
from primax.interpreters.runtime.extended_array import physical
from primax.interpreters.runtime.pipeline import Target, lower
from primax.interpreters.runtime.sharding.device_assignment import choose_devices
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import instantiate_zeros

__all__ = ["check_global_state"]


class _Staged(NamedTuple):
    """The result of a rule: the text of a program, and its constants."""

    text: str
    consts: Sequence[Any]


def check_global_state(case: Case) -> None:
    """Rules do the same after other samples have run, and after other random numbers of Python and NumPy were drawn."""
    native = case.native
    evaluated = case.has("impl")
    programs = _programs(case)
    with config.enable_x64(native.x64), _random_states(0):
        results = eager(native) if evaluated else []
        before = {kind: _attempted(make) for kind, make in programs.items()}
    with config.enable_x64(native.x64), _random_states(1):
        _run_others(case)
        again = eager(native) if evaluated else []
        for i, (got, want) in enumerate(zip(again, results, strict=True)):
            off = difference(physical(got), physical(want), 0.0)
            if off:
                raise Failed(f"result {i} of the impl rule differs {_WHEN}: {off}", "impl")
        for kind, make in programs.items():
            _require_same(kind, before[kind], _attempted(make))
        if evaluated and case.has_lowering and not case.sample.axes:
            args = case.other_args(native, 1)
            with np.errstate(all="ignore"):
                gots, wants = eager(native, args), native.base(*args)
            message = "{what} of the impl rule for other arguments of these types differs from that of the lowering"
            require_same(case, gots, wants, args, partial(tolerance, case), message, "impl", "lowering")


_WHEN = "after other samples have run and other random numbers were drawn, so it reads a state besides its arguments"


def _require_same(kind: str, want: _Staged | None, got: _Staged | None) -> None:
    if want is None or got is None:
        return
    if got.text != want.text:
        lines = zip(want.text.splitlines(), got.text.splitlines(), strict=False)
        one, two = next(((a, b) for a, b in lines if a != b), (want.text, got.text))
        raise Failed(f"the program of the {kind} rule differs {_WHEN}: first {one.strip()}, then {two.strip()}", kind)
    for x, y in zip(want.consts, got.consts, strict=True):
        off = difference(np.asarray(physical(y)), np.asarray(physical(x)), 0.0)
        if off:
            raise Failed(f"a constant in the program of the {kind} rule differs {_WHEN}: {off}", kind)


def _programs(case: Case) -> dict[str, Callable[[], _Staged]]:
    """For each kind of rule that makes programs, a function that makes the program of the sample anew."""
    native = case.native
    made: dict[str, Callable[[], _Staged]] = {}
    if case.has_lowering and not case.sample.axes:
        made["lowering"] = lambda: _lowered(case)
    if case.has("jvp") and native.active and not case.reverse_only:
        avals = [*native.avals, *(get_aval(t) for t in native.tangents)]
        made["jvp"] = lambda: _staged(lambda *xs: [instantiate_zeros(x) for x in native.run_forward(*xs)], avals)
    mapped = [is_array_type(aval) for aval in native.avals]
    if case.has("batch") and any(mapped) and not case.sample.axes:
        dims = [0 if is_array else None for is_array in mapped]
        stacks = [
            aval.unmapped(2, 0) if is_array else aval for aval, is_array in zip(native.avals, mapped, strict=True)
        ]
        made["batch"] = lambda: _staged(lambda *xs: batch_flat(native.bind, AxisData(None, 2), xs, dims)[0], stacks)
    return made


def _attempted(make: Callable[[], _Staged]) -> _Staged | None:
    """The program of a rule; None if the rule raises, which other checks report."""
    try:
        return make()
    except Exception:
        return None


def _staged(fun: Callable[..., Any], avals: Sequence[Any]) -> _Staged:
    closed = trace_to_jaxpr(fun, avals)
    return _Staged(str(closed), [x for x in closed.consts if is_array_type(get_aval(x))])


def _lowered(case: Case) -> _Staged:
    """The module of the primitive, without the addresses of Python functions that it calls."""
    native = case.native
    closed = on_arrays(trace_to_jaxpr(native.bind, native.avals))
    module = lower(closed, Target("conformance", choose_devices(closed, native.args))).module
    return _Staged("" if module.host_callbacks else re.sub(r'"[^"]*"|\d{9,}', "", module_text(module)), [])


def _run_others(case: Case) -> None:
    """Evaluate and stage the primitive with other arguments and with its other samples."""
    native = case.native
    for setting, args in (
        (native, case.other_args(native, 1)),
        *((Case(case.primitive, s, "", case.siblings).native, None) for s in case.siblings if s is not case.sample),
    ):
        with suppress(Exception), np.errstate(all="ignore"):  # other checks report what other samples raise
            if case.has("impl"):
                eager(setting, args)
            with config.enable_x64(setting.x64):
                trace_to_jaxpr(setting.bind, setting.avals)


@contextmanager
def _random_states(seed: int) -> Iterator[None]:
    """A `with` block in which the random generators of Python and NumPy start from a seed; then they continue."""
    python, numpy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)  # the state that np.random.uniform and others share
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
