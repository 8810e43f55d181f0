"""Checks in per-device programs: the error is that of the first device on which a check fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import get_aval
from primax.extend.interpreter import replay
from primax.extend.provisional.sharding import aval_sharding, manual_scope
from primax.extend.sharding import NamedSharding, PartitionSpec
from primax.plugins.checkify.check import first_of
from primax.plugins.checkify.checker import Checker
from primax.plugins.resharding import resharded
from primax.plugins.sharding import shard_map_p

p: Any = core.primitives


def check_devices(checker: Checker, eqn: core.JaxprEqn, *values: Any) -> list[Any]:
    """The rule of `shard_map`."""
    params = eqn.params
    closed, axes = params["jaxpr"], params["manual_axes"]
    with manual_scope(params["mesh"], axes, params["check_vma"]), checker.on_devices(axes, params["check_vma"]):
        if not checker.holds_sites(closed):
            program = None
        else:
            program = core.trace_to_jaxpr(_with_state(checker, closed), closed.in_avals, "checked", "checkify")
    if program is None:
        return replay(eqn, values)
    jaxpr = program.jaxpr.replace(constvars=[], invars=[*program.jaxpr.constvars, *program.jaxpr.invars])
    count = len(checker.state)
    outs = shard_map_p.bind(
        *program.consts,
        *values,
        **params
        | {
            "jaxpr": core.ClosedJaxpr(jaxpr),
            "in_specs": (PartitionSpec(),) * len(program.consts) + params["in_specs"],
            "out_specs": (PartitionSpec(axes),) * count + params["out_specs"],
        },
    )
    whole = NamedSharding(params["mesh"], PartitionSpec())
    state = [resharded("checkify", x, whole) if aval_sharding(get_aval(x)) is not None else x for x in outs[:count]]
    first = first_of(p.ne_p.bind(state[0], np.zeros(get_aval(state[0]).shape, np.int32)), state)
    fine = p.eq_p.bind(checker.state[0], np.int32(0))
    checker.state = [p.select_n_p.bind(fine, x, y) for x, y in zip(checker.state, first, strict=True)]
    return list(outs[count:])


def _with_state(checker: Checker, closed: core.ClosedJaxpr) -> Any:
    """A per-device program that returns its error before its results, with an axis for the devices."""

    def run(*parts: Any) -> list[Any]:
        state, outs = checker.run(closed, checker.fresh(), parts)
        return [*(p.reshape_p.bind(x, new_sizes=(1, *get_aval(x).shape), dimensions=None) for x in state), *outs]

    return run
