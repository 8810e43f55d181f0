"""`jit_p`: calling a program that is compiled as one, with its rules."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from primax.extend import backend, core
from primax.extend.core import dtypes
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters import partial_eval as pe

__all__ = ["call_params", "check_results", "evaluate", "forward", "jit_p", "run_program"]

_HOST_VALUES = (bool, int, float, complex, np.ndarray, np.generic)

jit_p = core.Primitive("jit", multiple_results=True)


def call_params(jaxpr: core.ClosedJaxpr, name: str, inline: bool = False) -> dict[str, Any]:
    """The parameters of a call that was derived from another: nothing is donated, all inputs are used."""
    count = len(jaxpr.jaxpr.invars)
    return {
        "jaxpr": jaxpr,
        "name": name,
        "donated_invars": (False,) * count,
        "keep_unused": False,
        "inline": inline,
    }


def printed(params: dict[str, Any]) -> core.PrintedCall:
    """The name first, then whatever was asked for beyond the defaults."""
    shown = {"name": params["name"]}
    for name in sorted(params.keys() - {"name"}):
        value = params[name]
        if name == "jaxpr" or (any(value) if type(value) is tuple else value):
            shown[name] = value
    return core.PrintedCall(shown, params["jaxpr"])


def check_results(name: str, closed: core.ClosedJaxpr, args: Any, outs: Any) -> None:
    """Look for what `debug_nans` or `debug_infs` refuses in the results of a program."""
    # Imported when it is needed, which for most users it never is.
    import_module("primax.extend.debugging").check_results(name, closed, args, outs)


def run_program(closed: core.ClosedJaxpr, name: str, args: Any, keep_unused: bool = False) -> list[Any]:
    """Compile a program, once, and run it."""
    if not closed.eqns:
        return evaluate(closed, args)

    def miss(*args: Any) -> Any:
        def look(outs: Any) -> None:
            check_results(name, closed, args, outs)

        # Nothing is donated: the program around may still need what it passed.
        first = backend.first_call(closed, f"jit_{name}", args, look, backend.leaves_tree, keep_unused=keep_unused)
        return *first, False

    def make() -> Any:
        return backend.fast_function(name, None, miss, key=name)

    return core.cached(closed, ("fast", keep_unused), make)(*args)  # type: ignore[no-any-return]


def _jit_impl(*args: Any, jaxpr: core.ClosedJaxpr, name: str, keep_unused: bool, **params: Any) -> Any:
    return run_program(jaxpr, name, args, keep_unused)


def _jit_abstract_eval(*avals: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    return jaxpr.out_avals, jaxpr.effects


def _jit_check(context: Any, *atoms: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> Any:
    context.check_operands(jaxpr, atoms)
    return jaxpr.out_avals, jaxpr.effects


def _jit_jvp(primals: Any, tangents: Any, *, jaxpr: core.ClosedJaxpr, name: str, inline: bool, **params: Any) -> Any:
    nonzeros = [type(t) is not ad.Zero for t in tangents]
    jvp_jaxpr, nonzero_out = ad.jvp_jaxpr(jaxpr, nonzeros)
    given = [t for t in tangents if type(t) is not ad.Zero]
    outs = jit_p.bind(*primals, *given, **call_params(jvp_jaxpr, name, inline))
    count = len(jaxpr.jaxpr.outvars)
    found = iter(outs[count:])
    primals_out = outs[:count]
    tangents_out = [
        next(found) if nonzero else ad.Zero.from_primal_value(p)
        for p, nonzero in zip(primals_out, nonzero_out, strict=True)
    ]
    return primals_out, tangents_out


def _jit_batch(
    axis: batching.AxisData,
    args: Any,
    dims: Any,
    *,
    jaxpr: core.ClosedJaxpr,
    name: str,
    inline: bool,
    **params: Any,
) -> Any:
    if all(d is None for d in dims) and axis.name not in core.named_axes(jaxpr):
        outs = jit_p.bind(*args, jaxpr=jaxpr, name=name, inline=inline, **params)
        return outs, [None] * len(outs)
    batched, out_dims = batching.batch_jaxpr(jaxpr, axis, dims)
    return jit_p.bind(*args, **call_params(batched, name, inline)), out_dims


def forward(closed: core.ClosedJaxpr, args: Any) -> list[Any]:
    """The outputs of a program without equations."""
    env = dict(zip((*closed.jaxpr.constvars, *closed.jaxpr.invars), (*closed.consts, *args), strict=True))
    return [v.val if isinstance(v, core.Literal) else env[v] for v in closed.jaxpr.outvars]


def evaluate(closed: core.ClosedJaxpr, args: Any) -> list[Any]:
    """The outputs of a program, run one equation after the other; those that are constants on the host, as arrays."""
    outs = core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
    return [
        backend.put_value(x, aval.weak_type) if isinstance(x, _HOST_VALUES) and aval.dtype != dtypes.float0 else x
        for x, aval in zip(outs, closed.out_avals, strict=True)
    ]


def _jit_partial_eval_jaxpr(unknown_in: Any, eqn: core.JaxprEqn) -> Any:
    params = eqn.params
    split = pe.partial_eval_jaxpr(params["jaxpr"], unknown_in)
    if split.unknown is params["jaxpr"]:
        return None, eqn, split.unknown_out
    known_in = [v for v, u in zip(eqn.invars, unknown_in, strict=True) if not u]
    rest_in = [v for v, u in zip(eqn.invars, unknown_in, strict=True) if u]
    known_out = [v for v, u in zip(eqn.outvars, split.unknown_out, strict=True) if not u]
    unknown_out = [v for v, u in zip(eqn.outvars, split.unknown_out, strict=True) if u]
    extra = [core.Var(v.aval) for v in split.known.jaxpr.outvars[len(known_out) :]]
    known_out = [core.Var(v.aval) if type(v) is core.DropVar else v for v in known_out]  # the rest may read it
    known = [*known_in, *known_out, *extra]
    residuals = [known[i] for i in split.residuals]
    known_eqn = unknown_eqn = None
    if known_out or extra or split.known.effects:
        known_eqn = eqn.replace(
            invars=known_in,
            outvars=[*known_out, *extra],
            params=call_params(split.known, params["name"], params["inline"]),
            effects=split.known.effects,
        )
    if unknown_out or split.unknown.effects:
        unknown_eqn = eqn.replace(
            invars=[*residuals, *rest_in],
            outvars=unknown_out,
            params=call_params(split.unknown, params["name"], params["inline"]),
            effects=split.unknown.effects,
        )
    return known_eqn, unknown_eqn, split.unknown_out


def _jit_transpose(cts: Any, *args: Any, jaxpr: core.ClosedJaxpr, name: str, inline: bool, **params: Any) -> Any:
    linear = tuple(type(x) is ad.UndefinedPrimal for x in args)
    nonzero = tuple(type(ct) is not ad.Zero for ct in cts)
    transposed, nonzero_in = ad.transpose_jaxpr(jaxpr, linear, nonzero)
    residuals = [x for x in args if type(x) is not ad.UndefinedPrimal]
    given = [ct for ct in cts if type(ct) is not ad.Zero]
    outs = iter(jit_p.bind(*residuals, *given, **call_params(transposed, name, inline)))
    flags = iter(nonzero_in)
    results: list[Any] = []
    for x in args:
        if type(x) is not ad.UndefinedPrimal:
            results.append(None)
        else:
            results.append(next(outs) if next(flags) else ad.Zero(x.aval))
    return results


def _jit_dce(used_outputs: Any, eqn: core.JaxprEqn) -> Any:
    closed = eqn.params["jaxpr"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    if eqn.params["keep_unused"]:
        return [True] * len(eqn.invars), eqn
    trimmed, used_inputs = core.dce_jaxpr(closed.jaxpr, used_outputs)
    if all(used_outputs) and all(used_inputs) and len(trimmed.eqns) == len(closed.jaxpr.eqns):
        return used_inputs, eqn
    new = core.cached(closed, ("trimmed", tuple(used_outputs)), lambda: core.ClosedJaxpr(trimmed, closed.consts))
    params = call_params(new, eqn.params["name"], eqn.params["inline"])
    invars = [v for v, used in zip(eqn.invars, used_inputs, strict=True) if used]
    outvars = [v for v, used in zip(eqn.outvars, used_outputs, strict=True) if used]
    return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=params, effects=trimmed.effects)


def _jit_lowering(ctx: mlir.LoweringRuleContext, *args: Any, jaxpr: core.ClosedJaxpr, name: str, **params: Any) -> Any:
    return mlir.call_jaxpr(ctx, name, jaxpr, args)


def _jit_interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    params = eqn.params

    def bind(closed: core.ClosedJaxpr, args: Any) -> Any:
        return jit_p.bind(*args, **call_params(closed, params["name"], params["inline"]))

    return interpreter.call(params["jaxpr"], values, bind)


def _samples() -> list[core.Sample]:
    """Results that are computed, constant or arguments; and a call in a call that does not use an argument."""
    x, y, n = np.array([0.3, -1.2, 2.6]), np.array([1.7, 0.8, -0.6]), np.int32([7, -3])
    mul, add = core.primitives.mul_p.bind, core.primitives.add_p.bind

    def staged(fun: Any, *args: Any) -> core.ClosedJaxpr:
        return core.trace_to_jaxpr(fun, [core.get_aval(x) for x in args])

    with core.config.enable_x64(True):
        several = staged(lambda x, y, n: [mul(x, mul(x, y)), add(n, n), y, np.arange(2)], x, y, n)
        inner = call_params(staged(lambda x, y: [mul(x, x)], x, y), "inner", inline=True)
        outer = staged(lambda x, y: jit_p.bind(x, y, **inner), x, y)
    return [
        core.Sample([x, y, n], call_params(several, "several"), "several results"),
        core.Sample([x, y], {**call_params(outer, "outer"), "keep_unused": True}, "a call in a call"),
    ]


rules = {
    "impl": _jit_impl,
    "effectful_abstract_eval": _jit_abstract_eval,
    "jvp": _jit_jvp,
    "transpose": _jit_transpose,
    "axis_batch": _jit_batch,
    "lowering": _jit_lowering,
    "partial_eval_jaxpr": _jit_partial_eval_jaxpr,
    "dce": _jit_dce,
    "check": _jit_check,
    "print": printed,
    "interpret": _jit_interpret,
    "samples": [_samples],
}
