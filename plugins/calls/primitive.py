"""`jit_p`: the call of a program that is compiled as a whole, with its rules."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, PrintedCall, named_axes
from primax.extend.held_programs import (
    SplitEquation,
    checked_types,
    cotangents,
    cut,
    given,
    held_types,
    lifted,
    linear_flags,
    nonzero_flags,
    sections,
    tangents_of,
    trimmed,
)
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters import partial_eval as pe
from primax.extend.provisional import runtime
from primax.extend.provisional.references import Outcome, Refs, discharge, split_outcome
from primax.extend.rule_types import Table

_HOST_VALUES = (bool, int, float, complex, np.ndarray, np.generic)

jit_p = core.Primitive("jit", multiple_results=True)


def call_params(jaxpr: core.ClosedJaxpr, name: str, inline: bool = False) -> dict[str, Any]:
    """The parameters of a call derived from another: without donation and unused inputs."""
    count = len(jaxpr.jaxpr.invars)
    return {"jaxpr": jaxpr, "name": name, "donated_invars": (False,) * count, "keep_unused": False, "inline": inline}


def printed(params: dict[str, Any]) -> PrintedCall:
    """The name first, then the parameters that differ from their defaults."""
    shown = {"name": params["name"]}
    for name in sorted(params.keys() - {"name"}):
        value = params[name]
        if name == "jaxpr" or (any(value) if type(value) is tuple else value):
            shown[name] = value
    return PrintedCall(shown, params["jaxpr"])


def run_program(closed: core.ClosedJaxpr, name: str, args: Any, keep_unused: bool = False) -> list[Any]:
    """Compile a program, once, and run it."""
    if not closed.eqns:
        return evaluate(closed, args)

    return core.cached(closed, ("fast", keep_unused), lambda: _compiled(closed, name, keep_unused))(*args)


def _compiled(closed: core.ClosedJaxpr, name: str, keep_unused: bool) -> Any:
    """A function that runs a program, which must outlive it: the function is cached on the program."""
    reference = weakref.ref(closed)

    def miss(*args: Any) -> tuple[Any, ...]:
        program = reference()
        assert program is not None
        # Nothing is donated: the program around the call may still need the arguments.
        outcome = runtime.compile_and_run(program, f"jit_{name}", args, runtime.leaves_tree, keep_unused=keep_unused)
        return *outcome, False

    return runtime.fast_function(name, None, miss, key=name)


def _jit_impl(*args: Any, jaxpr: core.ClosedJaxpr, name: str, keep_unused: bool, **params: Any) -> list[Any]:
    return run_program(jaxpr, name, args, keep_unused)


def _jit_jvp(
    primals: Any, tangents: Any, *, jaxpr: core.ClosedJaxpr, name: str, inline: bool, **params: Any
) -> tuple[Any, Any]:
    program, nonzero_out = ad.jvp_jaxpr(jaxpr, nonzero_flags(tangents))
    outs = jit_p.bind(*primals, *given(tangents), **call_params(program, name, inline))
    primals_out, out_tangents = sections(outs, len(nonzero_out))
    return primals_out, tangents_of(primals_out, nonzero_out, out_tangents)


def _jit_batch(
    axis: batching.AxisData, args: Any, dims: Any, *, jaxpr: core.ClosedJaxpr, name: str, inline: bool, **params: Any
) -> tuple[Any, Any]:
    if all(d is None for d in dims) and axis.name not in named_axes(jaxpr):
        outs = jit_p.bind(*args, jaxpr=jaxpr, name=name, inline=inline, **params)
        return outs, [None] * len(outs)
    batched, out_dims = batching.batch_jaxpr(jaxpr, axis, dims)
    return jit_p.bind(*args, **call_params(batched, name, inline)), out_dims


def forward(closed: core.ClosedJaxpr, args: Any) -> list[Any]:
    """The outputs of a program without equations."""
    env = dict(zip((*closed.jaxpr.constvars, *closed.jaxpr.invars), (*closed.consts, *args), strict=True))
    return [v.val if isinstance(v, core.Literal) else env[v] for v in closed.jaxpr.outvars]


def evaluate(closed: core.ClosedJaxpr, args: Any) -> list[Any]:
    """The outputs of a program, run one equation after the other; host constants among them become arrays."""
    outs = core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return [
        runtime.put_value(x, aval.weak_type) if isinstance(x, _HOST_VALUES) and aval.dtype != dtypes.float0 else x
        for x, aval in zip(outs, closed.out_avals, strict=True)
    ]


def _jit_partial_eval_jaxpr(unknown_in: Any, eqn: core.JaxprEqn) -> tuple[Any, Any, Any]:
    params = eqn.params
    split = pe.partial_eval_jaxpr(params["jaxpr"], unknown_in)
    if split.unknown is params["jaxpr"]:
        return None, eqn, split.unknown_out
    halves = SplitEquation(eqn, unknown_in, split.unknown_out, split.known.out_avals[split.unknown_out.count(False) :])
    operands = [*(halves.available[i] for i in split.residuals), *halves.unknown_in]
    known = halves.known(call_params(split.known, params["name"], params["inline"]), split.known.effects)
    rest = halves.rest(operands, call_params(split.unknown, params["name"], params["inline"]), split.unknown.effects)
    return known, rest, split.unknown_out


def _jit_transpose(cts: Any, *args: Any, jaxpr: core.ClosedJaxpr, name: str, inline: bool, **params: Any) -> list[Any]:
    transposed, nonzero_in = ad.transpose_jaxpr(jaxpr, linear_flags(args), nonzero_flags(cts))
    in_cts = jit_p.bind(*given(args), *given(cts), **call_params(transposed, name, inline))
    return cotangents(args, nonzero_in, in_cts)


def _jit_dce(used_outputs: Any, eqn: core.JaxprEqn) -> tuple[Any, Any]:
    closed = eqn.params["jaxpr"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    if eqn.params["keep_unused"]:
        return [True] * len(eqn.invars), eqn
    program, used_inputs = trimmed(closed, used_outputs)
    if program is closed:
        return used_inputs, eqn
    params = call_params(program, eqn.params["name"], eqn.params["inline"])
    return used_inputs, cut(eqn, used_inputs, used_outputs, params, program.effects)


def _jit_lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, jaxpr: core.ClosedJaxpr, name: str, **params: Any
) -> list[Any]:
    return mlir.call_jaxpr(ctx, name, jaxpr, args)


def _jit_interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    params = eqn.params

    def bind(closed: core.ClosedJaxpr, args: Any) -> list[Array]:
        return jit_p.bind(*args, **call_params(closed, params["name"], params["inline"]))

    return interpreter.call(params["jaxpr"], values, bind)


def _jit_close_over(args: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    program, values = lifted(params["jaxpr"])
    donated = (*[False] * len(values), *params["donated_invars"])
    return [*values, *args], {**params, "jaxpr": program, "donated_invars": donated}


def _jit_discharge(refs: Refs, *args: Any, jaxpr: core.ClosedJaxpr, name: str, inline: bool, **params: Any) -> Outcome:
    program, written = discharge(jaxpr)
    return split_outcome(jit_p.bind(*args, **call_params(program, name, inline)), written)


RULES: Table = {
    jit_p: {
        "impl": _jit_impl,
        "effectful_abstract_eval": held_types("jaxpr"),
        "jvp": _jit_jvp,
        "transpose": _jit_transpose,
        "axis_batch": _jit_batch,
        "lowering": _jit_lowering,
        "partial_eval_jaxpr": _jit_partial_eval_jaxpr,
        "dce": _jit_dce,
        "check": checked_types("jaxpr"),
        "close_over": _jit_close_over,
        "print": printed,
        "interpret": _jit_interpret,
        "discharge": _jit_discharge,
    }
}
