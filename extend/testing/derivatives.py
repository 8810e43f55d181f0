"""Checks of derivatives: tangents against differences, cotangents against tangents, and symbolic zeros."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from primax.core import config
from primax.core.dce import dce_jaxpr
from primax.extend.testing.case import Case, Setting
from primax.extend.testing.invariants import (
    STEP,
    change_of_invariants,
    invariants,
    require_same,
    rounding,
    second_change_of_invariants,
)
from primax.extend.testing.programs import Parts
from primax.extend.testing.programs import rounding as rounding_near
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import difference, direction, double, epsilon, is_inexact
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import linearize_flat
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import Zero, instantiate_zeros

__all__ = [
    "central_differences",
    "check_active_arguments",
    "check_complex_derivatives",
    "check_jvp",
    "check_linearity",
    "check_second_derivatives",
    "check_symbolic_zeros",
    "check_transpose",
    "dot_products",
    "rounding_of_terms",
]

Values = Sequence[Any]


def require_derivatives(case: Case, *, reverse: bool = False) -> None:
    """Continue only if there are derivatives to check.

    Raises:
      NotRun: there are none, or they are declared unsupported.
    """
    if not case.native.active:
        raise NotRun("no argument has an inexact type")
    case.require("jvp")
    if reverse:
        case.refuse_unsupported("transpose")
        if not case.double.smooth:
            raise NotRun("no result has an inexact type")


def where(setting: Setting) -> str:
    """The types of the arguments, for messages."""
    return f"at {', '.join(aval.str_short() for aval in setting.avals)}"


def _step(values: Values) -> tuple[float, float] | None:
    """The step and the tolerance of central differences; None if the precision is too low."""
    widths = [epsilon(x) for x in values if is_inexact(x)]
    eps = max(widths, default=2.3e-16)
    return None if eps > 1e-6 else (eps ** (1 / 3), max(300 * eps ** (2 / 3), 1e-6))


def central_differences(above: Values, below: Values, step: float) -> list[Any]:
    """Central differences from the values one step above and one step below."""
    return [(double(a) - double(b)) / (2 * step) for a, b in zip(above, below, strict=True)]


def _noise(x: Any, step: float) -> float:
    """The error of differences of values of this size that rounding causes."""
    size = np.abs(double(x)[np.isfinite(double(x))])
    return 100 * epsilon(x) * float(size.max()) / step if size.size else 0.0


def dot_products(
    tangents: Values, pulled: Values, cotangents: Values, directions: Values
) -> tuple[float, float, float]:
    """<cotangent, tangent> of results and of arguments, which are equal for a correct transpose, and their size.

    The products have no complex conjugation. Only real parts are compared, since derivatives of real functions of
    complex numbers are only linear over the reals.
    """
    forward = [double(t) * double(ct) for t, ct in zip(tangents, cotangents, strict=True)]
    backward = [double(ct) * double(t) for ct, t in zip(pulled, directions, strict=True)]
    sums = [float(sum(np.sum(x).real for x in terms)) for terms in (forward, backward)]
    return sums[0], sums[1], float(sum(np.sum(np.abs(x)) for x in (*forward, *backward)))


def _errors_of_differences(program: Any, at: Any, step: float) -> list[Any]:
    """Bounds for the errors of central differences: by rounding, and by the step where the function is smooth.

    Args:
      program: the function.
      at: its arguments, as a function of the step.
      step: the step of the differences.
    """
    one, two, four = (central_differences(program(*at(h)), program(*at(-h)), h) for h in (step, 2 * step, 4 * step))
    errors = []
    for noise, a, b, c in zip(rounding_near(program, at(0.0)), one, two, four, strict=True):
        error = np.abs(b - a)
        errors.append(noise / step + np.where(np.abs(c - b) > 1.5 * error, error, 0.0))  # a jump has smaller ones
    return errors


def _errors_of_slopes(setting: Setting, directions: Values, active: Sequence[int], step: float) -> list[Any]:
    """Bounds for the errors of central differences of the primitive."""
    results = partial(_smooth, setting)
    return _errors_of_differences(results, lambda h: setting.moved(directions, h, active), step)


def _smooth(setting: Setting, *args: Any) -> list[Any]:
    outs = setting.base(*args)
    return [outs[i] for i in setting.smooth]


def rounding_of_terms(setting: Setting, derivatives: Values) -> float:
    """A bound for the error of derivatives by rounding, if they consist of terms as large as results by operands."""
    outs = [np.abs(double(x)) for x in setting.base(*setting.args) if is_inexact(x)]
    operands = [np.abs(double(setting.args[i])) for i in setting.active]
    smallest = min((np.min(x, where=x > 0, initial=1.0) for x in operands), default=1.0)
    size = max((float(np.max(x, where=np.isfinite(x), initial=0.0)) for x in outs), default=0.0)
    return 16 * max((epsilon(x) for x in derivatives if is_inexact(x)), default=0.0) * size / smallest


def _products(noises: Values, directions: Values) -> float:
    """The error of dot products by errors of one factor."""
    return sum(float(np.sum(noise * np.abs(double(t)))) for noise, t in zip(noises, directions, strict=True))


def _compare_with_differences(
    setting: Setting, outs: Values, tangents: Values, directions: Values, active: Sequence[int], remark: str
) -> None:
    """Compare tangents with central differences of the primitive; `outs` are the results computed with the tangents."""
    chosen = _step([*(setting.args[i] for i in active), *(outs[i] for i in setting.smooth)])
    if chosen is None:
        return
    step, rtol = chosen
    rtol = max(rtol, setting.case.sample.rtol or 0.0)
    moved = [setting.moved(directions, h, active) for h in (step, -step)]
    above, below = (setting.base(*args) for args in moved)
    if setting.case.sample.invariants is None:
        which, noises = [f"result {i}" for i in setting.smooth], [_noise(outs[i], step) for i in setting.smooth]
        above, below = ([results[i] for i in setting.smooth] for results in (above, below))
    else:
        above, below = (invariants(setting.case, *pair) for pair in zip((above, below), moved, strict=True))
        tangents = change_of_invariants(setting, outs, tangents, setting.args, directions, active)
        which = [f"invariant {i}" for i in range(len(above))]
        noises = [rounding(setting) / step] * len(which)
    slopes = central_differences(above, below, step)
    determined = setting.case.sample.invariants is None
    errors = cache(lambda: _errors_of_slopes(setting, directions, active, step))
    for n, (what, noise, tangent, slope) in enumerate(zip(which, noises, tangents, slopes, strict=True)):
        more = partial(lambda n, noise: noise + errors()[n], n, noise) if determined else noise
        off = difference(tangent, slope.astype(np.asarray(tangent).dtype), rtol, more)
        if off:
            raise Failed(
                f"the tangent of {what}{remark}, {where(setting)}, differs from central differences: {off}", "jvp"
            )


def check_jvp(case: Case) -> None:
    """The JVP rule returns the primitive's results, and its tangents agree with central differences."""
    require_derivatives(case)
    _check_tangents(case.double)


def _check_tangents(setting: Setting) -> None:
    results = setting.forward(*setting.args, *setting.tangents)
    count = len(setting.out_avals)
    wants = setting.base(*setting.args)
    message = "the primal {what} of the jvp rule differs from that of the primitive"
    require_same(setting.case, results[:count], wants, setting.args, partial(_primal_slack, setting), message, "jvp")
    remark = " with all inexact arguments active" if len(setting.active) > 1 else ""
    _compare_with_differences(setting, results[:count], results[count:], setting.tangents, setting.active, remark)


def _primal_slack(setting: Setting, dtype: Any) -> float:
    return max(_slack(np.zeros((), dtype)), setting.case.sample.rtol or 0.0)


def _slack(x: Any) -> float:
    """The tolerance for rounding in a dtype: much less than a wrong rule would cause."""
    return 1e4 * epsilon(x) if is_inexact(x) else 0.0


def check_linearity(case: Case) -> None:
    """The tangents of the results are linear in the tangents of the arguments, over the reals."""
    require_derivatives(case)
    _check_linear(case.double)


def _check_linear(setting: Setting) -> None:
    one, two = setting.tangents, [direction(setting.args[i], ("other", i)) for i in setting.active]
    mixed = [(2 * double(s) - 3 * double(t)).astype(np.asarray(s).dtype) for s, t in zip(one, two, strict=True)]
    of_one, of_two, of_mixed = (setting.forward_tangents(setting.args, t) for t in (one, two, mixed))
    noises = cache(lambda: rounding_near(setting.forward, [*setting.args, *mixed])[len(setting.out_avals) :])
    for n, (i, a, b, got) in enumerate(zip(setting.smooth, of_one, of_two, of_mixed, strict=True)):
        a, b, slack = 2 * double(a), 3 * double(b), 10 * _slack(got)
        noise = partial(lambda n, of_terms: of_terms + 4 * noises()[n], n, slack * (np.abs(a) + np.abs(b)))
        off = difference(got, (a - b).astype(got.dtype), slack, noise)
        if off:
            raise Failed(
                f"the tangent of result {i}, {where(setting)}, is not linear: J(2s - 3t) must equal 2 J(s) - 3 J(t): "
                f"{off}",
                "jvp",
            )


def _subsets(active: Sequence[int]) -> list[tuple[int, ...]]:
    """Proper subsets of the active arguments: all subsets of up to three arguments, else each alone and all but one."""
    n = len(active)
    sizes = range(1, n) if n <= 3 else (1, n - 1)
    return [subset for size in sizes for subset in itertools.combinations(active, size)]


def check_active_arguments(case: Case) -> None:
    """Tangents are right if only some arguments have tangents and the others have symbolic zeros."""
    require_derivatives(case)
    setting = case.double
    subsets = _subsets(setting.active)
    if not subsets:
        raise NotRun("only one argument can have a tangent")
    count = len(setting.args)
    directions = dict(zip(setting.active, setting.tangents, strict=True))

    def pushed(subset: tuple[int, ...]) -> Any:
        def run(*values: Any) -> list[Any]:
            by_position = dict(zip(setting.active, values[count:], strict=True))
            outs, tangents = setting.push(values[:count], [by_position[i] for i in subset], subset)
            return [*outs, *tangents]

        return run

    args = [*setting.args, *setting.tangents]
    parts = Parts({subset: pushed(subset) for subset in subsets}, args, compiled=case.compiles, x64=setting.x64)
    for subset in subsets:
        remark = f" with argument{'s' if len(subset) > 1 else ''} {', '.join(map(str, subset))} alone active"
        try:
            results = parts[subset]
        except Exception as error:
            raise Failed(f"the jvp rule fails{remark}: {type(error).__name__}: {error}", "jvp") from error
        outs, tangents = results[: len(setting.out_avals)], results[len(setting.out_avals) :]
        _compare_with_differences(setting, outs, tangents, [directions[i] for i in subset], subset, remark)


def check_symbolic_zeros(case: Case) -> None:
    """The tangent of a result that depends on no given tangent, and of every integer result, is a `Zero`."""
    require_derivatives(case)
    setting = case.double
    for subset in [tuple(setting.active), *_subsets(setting.active)]:
        kept: list[int] = []

        def run(*values: Any, subset: tuple[int, ...] = subset, kept: list[int] = kept) -> list[Any]:
            args, directions = values[: len(setting.args)], values[len(setting.args) :]
            tangents: list[Any] = [Zero(aval.to_tangent_aval()) for aval in setting.avals]
            for i, t in zip(subset, directions, strict=True):
                tangents[i] = t
            _, out_tangents = jvp_flat(setting.bind, args, tangents)
            kept[:] = [i for i, t in enumerate(out_tangents) if type(t) is not Zero]
            return [out_tangents[i] for i in kept]

        with config.enable_x64(setting.x64):
            tangent_avals = [setting.avals[i].to_tangent_aval() for i in subset]
            jaxpr = trace_to_jaxpr(run, [*setting.avals, *tangent_avals]).jaxpr
        for n, i in enumerate(kept):
            if i not in setting.smooth:
                continue
            _, used = dce_jaxpr(jaxpr, [m == n for m in range(len(kept))])
            if not any(used[len(setting.args) :]):
                raise Failed(
                    f"the tangent of result {i} does not depend on the tangents of arguments {list(subset)}; "
                    "expected a symbolic Zero(aval), got an array",
                    "jvp",
                )


def _kinds_of_transpose(setting: Setting) -> tuple[str, ...]:
    """The kinds of rules that reverse mode uses: also the transpose rule if the JVP rule binds the primitive."""
    with config.enable_x64(setting.x64):
        primitives: list[Any] = []

        def run(*values: Any) -> list[Any]:
            _, tape = linearize_flat(setting.bind, values, [i in setting.active for i in range(len(values))])
            primitives.extend(eqn.primitive for eqn in tape.eqns)
            return []

        trace_to_jaxpr(run, setting.avals)
    return ("transpose", "jvp") if setting.case.primitive in primitives else ("jvp",)


def check_transpose(case: Case) -> None:
    """Cotangents and tangents satisfy <J'ct, t> = <ct, J t>, for all arguments together and for each alone.

    Each result is also checked alone; the other results then have symbolic zeros as cotangents.
    """
    require_derivatives(case, reverse=True)
    _check_cotangents(case.double)
    _check_parts_of_transpose(case.double)


def _check_cotangents(setting: Setting) -> None:
    pulled = setting.backward(*setting.args, *setting.cotangents)
    _require_types(setting, pulled)
    _require_dot_product(setting, pulled, setting.cotangents, setting.tangents, setting.tangents, "")


def _tangents(setting: Setting, directions: Values) -> tuple[list[Any], float, Any]:
    """Tangents, their tolerance, and a function that returns bounds for their errors by rounding.

    If the sample skips the check of the JVP rule, they are central differences.

    Raises:
      NotRun: differences are too coarse in this precision.
    """
    if "jvp" not in setting.case.sample.skip and not setting.case.reverse_only:
        tangents = setting.forward_tangents(setting.args, directions)
        count = len(setting.out_avals)
        noises = partial(lambda: rounding_near(setting.forward, [*setting.args, *directions])[count:])
        return tangents, max(map(_slack, tangents), default=0.0), noises
    chosen = _step(setting.args)
    if chosen is None:
        raise NotRun("there are no tangents, and central differences are too inaccurate in this precision")
    step, rtol = chosen
    above, below = (setting.base(*setting.moved(directions, h)) for h in (step, -step))
    slopes = central_differences([above[i] for i in setting.smooth], [below[i] for i in setting.smooth], step)
    return slopes, rtol, lambda: _errors_of_slopes(setting, directions, setting.active, step)


def check_complex_derivatives(case: Case) -> None:
    """If the primitive accepts complex arguments instead of real ones, their tangents and cotangents are right."""
    require_derivatives(case)
    setting = case.complexified
    if setting is None:
        raise NotRun("there is a complex sample, or the primitive refuses complex arguments")
    try:
        _ = setting.forward
    except (TypeError, ValueError, NotImplementedError) as error:
        raise NotRun(f"the derivative refuses complex arguments: {error}") from None
    _check_tangents(setting)
    _check_linear(setting)
    if setting.smooth and not case.has_unsupported_transpose:
        _check_cotangents(setting)


def _require_types(setting: Setting, pulled: Values) -> None:
    for i, ct in zip(setting.active, pulled, strict=True):
        off = difference(np.zeros_like(ct), np.zeros_like(setting.args[i]))
        if off:
            raise Failed(f"the cotangent of argument {i}: {off}", *_kinds_of_transpose(setting))


def _require_dot_product(
    setting: Setting, pulled: Values, cotangents: Values, directions: Values, kept: Values, remark: str
) -> None:
    """Check cotangents against the tangents along `directions`; `kept` are those of the arguments with cotangents."""
    tangents, off, noises = _tangents(setting, directions)
    forward, backward, size = dot_products(tangents, pulled, cotangents, kept)
    slack = max(off, *map(_slack, pulled))

    def noise() -> float:
        of_pulled = rounding_near(setting.backward, [*setting.args, *cotangents])
        terms = rounding_of_terms(setting, pulled)
        return _products([noise + terms for noise in noises()], cotangents) + _products(of_pulled, directions)

    if not abs(forward - backward) <= slack * size and not abs(forward - backward) <= slack * size + noise():
        raise Failed(
            f"{where(setting)}{remark}: the transpose does not match the derivative: <J'ct, t> must equal <ct, J t> "
            f"(without complex conjugation): expected {forward:.8g}, got {backward:.8g}",
            *_kinds_of_transpose(setting),
        )


def _check_parts_of_transpose(setting: Setting) -> None:
    """Check the cotangents for each active argument alone, and for each result alone, in one program."""
    n = len(setting.args)
    choices: list[tuple[tuple[int, ...], list[int]]] = [
        ((i,), setting.smooth) for i in setting.active if len(setting.active) > 1
    ]
    choices += [(tuple(setting.active), [i]) for i in setting.smooth if len(setting.smooth) > 1]
    del choices[6:]
    if not choices:
        return

    def pulled(active: Sequence[int], results: Sequence[int]) -> Any:
        def run(*values: Any) -> list[Any]:
            _, tape = linearize_flat(setting.bind, values[:n], [i in active for i in range(n)])
            cotangents: list[Any] = [Zero(aval.to_tangent_aval()) for aval in setting.out_avals]
            for i, ct in zip(setting.smooth, values[n:], strict=True):
                if i in results:
                    cotangents[i] = ct
            return tape.transpose(cotangents)

        return run

    functions = {k: pulled(*choice) for k, choice in enumerate(choices)}
    args = [*setting.args, *setting.cotangents]
    parts = Parts(functions, args, compiled=setting.case.compiles, x64=setting.x64)
    for k, (active, results) in enumerate(choices):
        remark = (
            f", active argument {active[0]} alone" if len(active) == 1 else f", cotangent of result {results[0]} alone"
        )
        try:
            pulled_cts = parts[k]
        except Exception as error:
            kinds = _kinds_of_transpose(setting)
            raise Failed(f"reverse mode fails{remark}: {type(error).__name__}: {error}", *kinds) from error
        directions = [
            t if i in active else np.zeros_like(t) for i, t in zip(setting.active, setting.tangents, strict=True)
        ]
        cts = [
            ct if i in results else np.zeros_like(ct) for i, ct in zip(setting.smooth, setting.cotangents, strict=True)
        ]
        kept = [t for i, t in zip(setting.active, setting.tangents, strict=True) if i in active]
        _require_dot_product(setting, pulled_cts, cts, directions, kept, remark)


def _compare_with_differences_of_tangents(setting: Setting, seconds: Values, again: Values) -> None:
    """Compare second derivatives, along the tangents and `again`, with central differences of first derivatives."""
    chosen = _step([*setting.args, *seconds])
    if chosen is None:
        return
    step, rtol = chosen
    undetermined = setting.case.sample.invariants is not None
    step = max(step, 1e-4) if undetermined else step  # rounding is divided by another step too
    count, active = len(setting.out_avals), setting.active
    moved = [setting.moved(again, h) for h in (step, -step)]
    both_sides = [setting.forward(*args, *setting.tangents) for args in moved]
    firsts = [values[count:] for values in both_sides]
    which = [f"result {i}" for i in setting.smooth]
    noises = [_noise(first, step) for first in firsts[0]]
    if undetermined:
        firsts = [
            change_of_invariants(setting, values[:count], values[count:], args, setting.tangents, active)
            for values, args in zip(both_sides, moved, strict=True)
        ]
        which = [f"invariant {i}" for i in range(len(firsts[0]))]
        seconds = second_change_of_invariants(setting, seconds, setting.tangents, again)
        noises = [rounding(setting) / (STEP * step)] * len(which)
    slopes = central_differences(firsts[0], firsts[1], step)

    def at(h: float) -> list[Any]:
        return [*setting.moved(again, h), *setting.tangents]

    errors = cache(lambda: _errors_of_differences(lambda *xs: setting.forward(*xs)[count:], at, step))
    terms = partial(rounding_of_terms, setting, seconds)
    for n, (what, noise, got, slope) in enumerate(zip(which, noises, seconds, slopes, strict=True)):
        slack = max(rtol, setting.case.sample.rtol or 0.0)
        more = noise if undetermined else partial(lambda n, noise: noise + errors()[n] + terms() / step, n, noise)
        off = difference(got, slope.astype(np.asarray(got).dtype), slack, more)
        if off:
            raise Failed(f"the second derivative of {what} differs from central differences of tangents: {off}", "jvp")


def check_second_derivatives(case: Case) -> None:
    """Second derivatives agree with central differences of tangents, in forward and in reverse mode."""
    require_derivatives(case)
    setting = case.double
    if not setting.smooth:
        raise NotRun("no result has an inexact type")
    n, m = len(setting.args), len(setting.active)
    again = [direction(setting.args[i], ("again", i)) for i in setting.active]

    def split(values: Values) -> tuple[Values, Values, Values]:
        return values[:n], values[n : n + m], values[n + m :]

    def derivative(tangents: Values) -> Any:
        return lambda *args: [instantiate_zeros(t) for t in setting.push(args, tangents, setting.active)[1]]

    def forward(*values: Any) -> list[Any]:
        args, tangents, more = split(values)
        directions: list[Any] = [Zero(aval.to_tangent_aval()) for aval in setting.avals]
        for i, t in zip(setting.active, more[:m], strict=True):
            directions[i] = t
        return jvp_flat(derivative(tangents), args, directions)[1]

    def reverse(*values: Any) -> list[Any]:
        args, tangents, more = split(values)
        active = [i in setting.active for i in range(n)]
        _, tape = linearize_flat(derivative(tangents), args, active)
        return tape.transpose(more[m:])

    functions = {"forward": forward}
    if not case.has_unsupported_transpose:
        functions["reverse"] = reverse
    args = [*setting.args, *setting.tangents, *again, *setting.cotangents]
    parts = Parts(functions, args, compiled=case.compiles, x64=setting.x64)
    seconds = parts["forward"]
    _compare_with_differences_of_tangents(setting, seconds, again)
    if "reverse" in functions:
        pushed, pulled, size = dot_products(seconds, parts["reverse"], setting.cotangents, again)
        slack = max(map(_slack, [*seconds, *setting.cotangents]))
        off = abs(pushed - pulled)
        if not off <= slack * size and not off <= slack * size + sum(
            float(np.sum(parts.rounding(way, j) * np.abs(double(t))))
            for way, directions in (("forward", setting.cotangents), ("reverse", again))
            for j, t in enumerate(directions)
        ):
            raise Failed(
                f"the second derivative in reverse mode: <H'ct, t> must equal <ct, H t>: expected {pushed:.8g}, got "
                f"{pulled:.8g}",
                "jvp",
                "transpose",
            )
