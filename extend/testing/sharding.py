"""The check of sharding rules: a primitive gives the same results on several devices as on one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from primax.core import config
from primax.core.rules import rule_tables
from primax.extend.provisional.sharding_rule import WHOLE, Factors, apply_sharding_rule, as_sharding_rule
from primax.extend.testing.case import Case
from primax.extend.testing.devices import eight_devices
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import require_same
from primax.extend.testing.programs import compiled_quickly, quickly_compiled
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters.runtime.compile import optimized_text
from primax.interpreters.runtime.extended_array import has_extended_dtype
from primax.interpreters.runtime.pipeline import Target, lower
from primax.interpreters.runtime.sharding.device_assignment import DeviceAssignment
from primax.interpreters.runtime.sharding.mesh import Mesh, PartitionSpec
from primax.interpreters.runtime.sharding.shardings import NamedSharding
from primax.interpreters.runtime.sharding.spmd import all_divided
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_sharding"]


def check_sharding(case: Case) -> None:
    """The results are the same on up to 8 devices, divided along one or several dimensions by the sharding rule."""
    if not case.has("sharding"):
        raise NotRun("there is no sharding rule, which is optional")
    native = case.native
    if case.sample.axes or not case.compiles or case.abstract_eval(native.avals)[1]:
        raise NotRun("it has effects, named axes, or no lowering")
    if any(map(has_extended_dtype, (*native.avals, *native.out_avals))):
        raise NotRun("arrays of extended dtypes are divided like arrays of their elements")
    if as_sharding_rule(rule_tables["sharding"].functions.get(case.primitive)).types_only:
        raise NotRun("its sharding rule determines only types, because its parameters contain sizes")
    params = dict(case.sample.params)
    with config.enable_x64(native.x64):
        closed = trace_to_jaxpr(native.bind, native.avals)
        try:
            factors = apply_sharding_rule(case.primitive, native.avals, native.out_avals, params)
        except ValueError as error:
            raise Failed(str(error), "sharding") from error
        if not isinstance(factors, Factors):
            raise NotRun("its sharding rule names no dimensions for this sample")
        available = eight_devices()
        wants = native.base(*native.args)
        divisions = list(_divisions(factors, len(available)))
        if not divisions:
            raise NotRun("its sharding rule divides no dimension of this sample; one whose sizes are even shows it")
        for parts in divisions:
            named = ", ".join(f"{factors.names[i]!r} of size {factors.sizes[i]} in {n}" for i, n in parts.items())
            site = _assignment(factors, parts, available)
            with all_divided():
                ran = quickly_compiled(closed, site)(native.args)
            message = f"{{what}} differs if these dimensions are divided: {named}"
            close = partial(tolerance, case)
            require_same(case, list(map(np.asarray, ran)), wants, native.args, close, message, "sharding")
        _require_no_gathering(case, closed, site, named)


def _require_no_gathering(case: Case, closed: Any, site: DeviceAssignment, named: str) -> None:
    """XLA keeps operands divided that are divided along dimensions of the rule."""
    remedy = f"registry.define({case.primitive.name}_p, sharding=divided_by_rule(rule)) divides it by the rule"
    try:
        lowered = lower(closed, Target("conformance", site))
        if lowered.module.parts:  # the rule has divided it
            return
        text = optimized_text(compiled_quickly(lowered))
    except Exception as error:
        without = f"without the rule XLA cannot divide it along {named}; {remedy}"
        raise Failed(f"{without}: {type(error).__name__}: {error}", "lowering", "sharding") from error
    moved = re.search(r"\b(all-gather|all-to-all|collective-permute)\b", text)
    if moved:
        raise Failed(
            f"XLA does not use the rule: a program whose operands are divided along {named} moves them between "
            f"devices ({moved[1]}); {remedy} (from primax.extend.provisional.sharding_rule)",
            "sharding",
        )


def _divisions(factors: Factors, count: int) -> Iterator[dict[int, int]]:
    """The numbers of parts for each dimension: first one divided dimension, then as many together as possible."""
    together: dict[int, int] = {}
    for i, size in enumerate(factors.sizes):
        if factors.mark(i) == WHOLE or size < 2:
            continue
        parts = next((n for n in range(2, count + 1) if size % n == 0), 0)
        if not parts:
            continue
        if not together:
            yield {i: parts}
        if parts <= count:
            together[i] = parts
            count //= parts
    if len(together) > 1:
        yield together


def _assignment(factors: Factors, parts: dict[int, int], available: Any) -> DeviceAssignment:
    """A mesh with one axis for each divided dimension, and the shardings of the operands and results."""
    names = {i: f"axis{i}" for i in parts}
    grid = np.empty(int(np.prod(list(parts.values()))), object)
    grid[:] = available[: grid.size]
    mesh = Mesh(grid.reshape(tuple(parts.values())), tuple(names.values()))

    def lying(dims: Any) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*map(names.get, dims)))

    ins, outs = (tuple(map(lying, values)) for values in (factors.operands, factors.results))
    return DeviceAssignment(tuple(grid), mesh, ins, outs)
