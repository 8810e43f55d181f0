"""Checks of the rules on which checks of programs rely: which operations make NaN, and which use random keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primax.core import config
from primax.core.rules import rule_tables
from primax.extend.options import debug_key_reuse
from primax.extend.testing.case import Case, is_array_type
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import is_inexact
from primax.interpreters.runtime.extended_array import ExtendedArray, has_extended_dtype, physical
from primax.interpreters.runtime.watches import start_watches
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_key_use", "check_makes_nan"]


def check_makes_nan(case: Case) -> None:
    """If the makes_nan rule returns False, finite operands give no NaN: of the other sign, zero or large ones."""
    if not case.has("makes_nan"):
        raise NotRun("there is no makes_nan rule, which is optional: checkify does not look for NaN among its results")
    native = case.native
    with config.enable_x64(native.x64):
        closed = trace_to_jaxpr(native.bind, native.avals)
    eqns = [eqn for eqn in closed.eqns if eqn.primitive is case.primitive]
    if not eqns:
        raise NotRun("its program has no equation of it")
    makes = [rule_tables["makes_nan"][case.primitive](eqn) for eqn in eqns]
    for made in makes:
        if not isinstance(made, bool | np.bool_):
            raise Failed(f"expected True or False, got {made!r}", "makes_nan")
    if any(makes):
        return
    for description, args in _hard_operands(case):
        for i, x in enumerate(native.base(*args)):
            if is_inexact(x) and np.isnan(np.asarray(x)).any():
                raise Failed(f"it returns False, but result {i} has NaN for {description}", "makes_nan")


def _hard_operands(case: Case) -> Iterator[tuple[str, list[Any]]]:
    """Operands of the sample's types without NaN, for which functions often have no value."""
    native = case.native
    changes: dict[str, Callable[[Any], Any]] = {
        "the operands of the sample": lambda x: x,
        "operands of the other sign": lambda x: -x,
        "zeros": lambda x: 0 * x,
        "operands that are 1e6 times as large": lambda x: 1e6 * x,
        "operands of the other sign that are 1e6 times as large": lambda x: -1e6 * x,
    }
    for description, change in changes.items():
        with np.errstate(all="ignore"):
            yield (
                description,
                [
                    change(np.asarray(x)).astype(np.asarray(x).dtype) if is_array_type(a) and is_inexact(x) else x
                    for x, a in zip(native.args, native.avals, strict=True)
                ],
            )


def check_key_use(case: Case) -> None:
    """The key_use rule finds a second use of a key from which the primitive draws numbers, and finds no others."""
    if not case.has("key_use"):
        raise NotRun("there is no key_use rule, which is optional: results are parts of the key among the operands")
    native = case.native
    if not any(has_extended_dtype(aval) for aval in native.avals):
        raise NotRun("the sample has no random key; a sample with one shows how it is used")
    _watched(case, native.bind, "for one use of each key")
    draws = not any(has_extended_dtype(aval) for aval in native.out_avals)
    if case.programs or not draws:
        return
    try:
        _watched(case, lambda *xs: [*native.bind(*xs), *native.bind(*xs)], "")
    except Failed:
        return
    raise Failed("two uses of one key, which give the same numbers, are not reported", "key_use")


def _watched(case: Case, fun: Any, when: str) -> None:
    """Examine a program as the option `debug_key_reuse` does, with keys that no other program has used."""
    native = case.native
    args = [ExtendedArray(physical(x), x.dtype) if type(x) is ExtendedArray else x for x in native.args]
    with config.enable_x64(native.x64):
        closed = trace_to_jaxpr(fun, native.avals)
        with debug_key_reuse(True):
            try:
                start_watches("conformance", closed, args)
            except Exception as error:
                raise Failed(f"{when}: {type(error).__name__}: {error}", "key_use") from error
