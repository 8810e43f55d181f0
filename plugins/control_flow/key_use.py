"""The `key_use` rules of branches and loops, by which `debug_key_reuse` follows random keys through them."""

from __future__ import annotations

from typing import Any

from primax.extend import core


def scan_key_use(uses: list[Any], eqn: core.JaxprEqn, walk: Any) -> list[Any]:
    """Walk two steps: a key that both of them use is used twice."""
    params = eqn.params
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]
    carried, rows = uses[first:second], uses[second:]
    steps = [("step", i) for i in range(min(params["length"], 2))]
    stacked: list[Any] = []
    for step in steps:
        outs = walk(params["jaxpr"], [*uses[:first], *carried, *(row.part(step) for row in rows)])
        carried, stacked = outs[: params["num_carry"]], outs[params["num_carry"] :]
    for row in rows:  # all rows are used if the first one is
        row.merge(steps)
    return [*(x.kept() for x in carried), *(x.new() for x in stacked)] if steps else walk.new()


def while_key_use(uses: list[Any], eqn: core.JaxprEqn, walk: Any) -> list[Any]:
    """Walk two steps: a key that both of them use is used twice."""
    params = eqn.params
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    carried = uses[second:]
    for _ in range(2):
        walk(params["cond_jaxpr"], [*uses[:first], *carried])
        carried = walk(params["body_jaxpr"], [*uses[first:second], *carried])
    return [x.kept() for x in carried]


def cond_key_use(uses: list[Any], eqn: core.JaxprEqn, walk: Any) -> list[Any]:
    """Walk all branches; only one of them runs."""
    return walk.branches(eqn.params["branches"], uses[1:])
