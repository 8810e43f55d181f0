"""Checks of the rules about axes in scope: the names that a primitive needs, and the axes along which values vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.core import config
from primax.core.check import check_jaxpr
from primax.core.rules import rule_tables
from primax.extend.provisional.mesh_context import manual_scope
from primax.extend.testing.case import Case, is_array_type, over_axis
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters.batching import AxisData
from primax.interpreters.runtime.sharding.mesh import AbstractMesh
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_named_axes", "check_variance"]


def check_named_axes(case: Case) -> None:
    """The named_axes rule names the axes in scope that the primitive needs, and no others."""
    if not case.has("named_axes"):
        if case.sample.axes and not case.programs:
            raise NotRun(
                "there is no named_axes rule, so programs around it may leave an axis out that it needs; "
                f"registry.define({case.primitive.name}_p, named_axes=rule) adds one"
            )
        raise NotRun("there is no named_axes rule, which is optional")
    names = rule_tables["named_axes"][case.primitive](**case.sample.params)
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise Failed(f"expected a collection of names of axes, got {names!r}", "named_axes")
    named = frozenset(names)
    for name in named - case.sample.axes.keys():
        raise Failed(f"it names the axis {name!r}, which the sample does not need", "named_axes")
    for name in case.sample.axes:
        needed = _needs(case, name)
        if needed and name not in named:
            raise Failed(f"it does not name the axis {name!r}, on which the primitive depends", "named_axes")
        if not needed and name in named:
            raise Failed(f"it names the axis {name!r}, on which the primitive does not depend", "named_axes")


def _needs(case: Case, name: Any) -> bool:
    """Whether a primitive means something else, or nothing, where an axis of its sample has no name."""
    native = case.native

    def text(axes: Mapping[Any, int], hidden: Any) -> str:
        fun = case.bind_element
        for axis, size in reversed(list(axes.items())):
            fun = over_axis(fun, AxisData(None if axis == hidden else axis, size))
        return str(trace_to_jaxpr(fun, native.avals))

    with config.enable_x64(native.x64):
        named = text(case.sample.axes, _NOTHING)
        try:
            return text(case.sample.axes, name) != named
        except (NameError, KeyError):
            return True


_NOTHING = object()


def _listed(case: Case, out: Any) -> list[Any]:
    return list(out) if case.primitive.multiple_results else [out]


def check_variance(case: Case) -> None:
    """By the variance rule a per-device program is well-typed, and results vary only along axes of their types."""
    if not case.has("variance"):
        raise NotRun("there is no variance rule, which is optional: operands and results vary along the same axes")
    native = case.native
    axes = dict(case.sample.axes) or {"i": 2}
    avals = [case.element(aval) for aval in native.avals]
    every: frozenset[Any] = frozenset(axes)
    for varying in [frozenset(), every][: 1 if case.programs else 2]:  # programs take operands of their types
        operands = [aval.update(vma=varying) if is_array_type(aval) else aval for aval in avals]
        with config.enable_x64(native.x64), _per_device(axes):
            _require_axes(case, operands, axes)
            try:
                closed = trace_to_jaxpr(
                    lambda *xs: _listed(case, case.primitive.bind(*xs, **case.sample.params)), operands
                )
                check_jaxpr(closed)
            except Exception as error:
                along = f"along {sorted(map(str, varying))}" if varying else "along no axis"
                text = f"in a per-device program, for operands that vary {along}: {type(error).__name__}: {error}"
                raise Failed(text, "variance", "abstract_eval") from error
        if case.sample.axes and (varying or not case.sample.args):
            _require_constant(case, closed.out_avals)


@contextmanager
def _per_device(axes: Mapping[Any, int]) -> Iterator[None]:
    """A `with` block in a per-device program along axes, with types that record the axes along which values vary."""
    with manual_scope(AbstractMesh(tuple(axes.values()), tuple(axes)), tuple(axes), True):  # type: ignore[arg-type]
        yield


def _require_axes(case: Case, avals: list[Any], axes: Mapping[Any, int]) -> None:
    """The rule returns a set of axes in scope for each operand."""
    found = rule_tables["variance"][case.primitive](*avals, **case.sample.params)
    if not isinstance(found, list | tuple) or len(found) != len(avals):
        raise Failed(f"expected a list of {len(avals)} sets of axes, one for each operand, got {found!r}", "variance")
    for i, names in enumerate(found):
        if not isinstance(names, frozenset):
            raise Failed(f"expected a frozenset of axes for operand {i}, got {names!r}", "variance")
        for name in names - axes.keys():
            raise Failed(f"operand {i} must vary along {name!r}, which is no axis in scope", "variance")


def _require_constant(case: Case, out_avals: list[Any]) -> None:
    """A result is the same along the axes along which its type does not vary."""
    results = case.native.base(*case.native.args)
    for i, (x, aval) in enumerate(zip(results, out_avals, strict=True)):
        for k, name in enumerate(case.sample.axes):
            if name in getattr(aval, "vma", ()) or not is_array_type(aval):
                continue
            values = np.moveaxis(np.asarray(x), k, 0)
            if any(not np.array_equal(values[0], value, equal_nan=True) for value in values[1:]):
                raise Failed(
                    f"by its type result {i} is the same along the axis {name!r}, but it is not",
                    "variance",
                    "abstract_eval",
                )
