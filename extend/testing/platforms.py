"""The check of lowerings for absent platforms: they are built, and run here if nothing in them is foreign."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from primax.core import _jaxlib, config
from primax.core.rules import rule_tables
from primax.core.trace import set_current_trace
from primax.extend.testing.case import Case
from primax.extend.testing.evaluation import tolerance
from primax.extend.testing.invariants import require_same
from primax.extend.testing.programs import compiled_quickly, on_arrays
from primax.extend.testing.report import Failed, NotRun
from primax.interpreters.runtime.devices.backends import names_of
from primax.interpreters.runtime.eval import eval_trace
from primax.interpreters.runtime.extended_array import physical
from primax.interpreters.runtime.pipeline import Lowered, Target, lower
from primax.interpreters.runtime.sharding.device_assignment import choose_devices
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["check_platforms"]

_MEMBERS = {"gpu": "cuda"}  # a platform for each name of several
_OTHER = "tpu"  # a platform for which default lowerings are, where there is one for the platform of this process


def check_platforms(case: Case) -> None:
    """Lowerings for absent platforms can be built; those of StableHLO alone give the same results on this platform."""
    native = case.native
    with config.enable_x64(native.x64):
        here = choose_devices(None, native.args).platform
    absent = _absent(case, here)
    if not absent:
        raise NotRun("there are no lowerings for other platforms")
    if case.sample.axes:
        raise NotRun("it needs the axes that its sample names")
    with config.enable_x64(native.x64):
        closed = on_arrays(trace_to_jaxpr(native.bind, native.avals, "conformance"))
    foreign = []
    for name, platform in absent.items():
        shown = f"lowering[{name}]" if name else "lowering"
        with config.enable_x64(native.x64), set_current_trace(eval_trace):
            try:
                lowered = lower(closed, Target("conformance", choose_devices(closed, native.args)), platform=platform)
            except Exception as error:
                raise Failed(f"the rule {shown} fails: {type(error).__name__}: {error}", "lowering") from error
            call = _foreign_call(lowered)
            if call:
                foreign.append(f"{shown} calls {call}")
                continue
            outs = [np.asarray(physical(x)) for x in compiled_quickly(lowered)(native.args)]
        wants = native.base(*native.args)
        message = f"{{what}} of the rule {shown}, which was built for {platform} and run on {here}, differs"
        require_same(case, outs, wants, native.args, partial(tolerance, case), message, "lowering")
    if foreign:
        raise NotRun(
            f"{'; '.join(foreign)}: they were built as valid modules; run the kit on such a platform to see results"
        )


def _absent(case: Case, here: str) -> dict[str, str]:
    """The names under which the primitive has lowerings that do not run here, each with a platform of that name."""
    present = names_of(here)
    functions = rule_tables["lowering"].functions
    names = [key[1] for key in functions if isinstance(key, tuple) and key[0] is case.primitive]
    absent = {name: _MEMBERS.get(name, name) for name in names if name not in present}
    if case.primitive in functions and any(name in present for name in names):
        absent[""] = _OTHER
    return absent


def _foreign_call(lowered: Lowered) -> str:
    """The target of the first call of a foreign function in a module; empty if there is none."""
    target = ""

    def visit(operation: Any) -> Any:
        nonlocal target
        if operation.name == "stablehlo.custom_call":
            target = str(operation.attributes["call_target_name"]).strip('"')
            return _jaxlib.ir.WalkResult.INTERRUPT
        return _jaxlib.ir.WalkResult.ADVANCE

    with lowered.module.shared:
        lowered.module.module.operation.walk(visit, _jaxlib.ir.WalkOrder.PRE_ORDER)
    return target
