"""Checks of composed transformations against a loop over simpler ones."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from primax.core.avals import get_aval
from primax.extend.host.plugin_host import host
from primax.extend.testing.case import Case, Setting, batched, is_array_type
from primax.extend.testing.derivatives import dot_products, require_derivatives
from primax.extend.testing.evaluation import require_lowering
from primax.extend.testing.invariants import change_of_invariants
from primax.extend.testing.programs import Parts, rounding
from primax.extend.testing.report import Failed, NotRun
from primax.extend.testing.values import difference
from primax.interpreters.batching import to_dim
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import linearize_flat
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import Zero, instantiate_zeros

__all__ = ["check_grad_of_jit", "check_grad_of_vmap", "check_jvp_of_vmap", "check_vmap_of_grad", "check_vmap_of_jvp"]

_SIZE = 2


def _times(x: Any, factor: int) -> Any:
    """A multiple of x in its dtype; NumPy 2.0 would multiply bfloat16 and a Python number in float32."""
    return np.multiply(x, x.dtype.type(factor)) if isinstance(x, np.ndarray | np.generic) else x * factor


class Compositions:
    """The compositions of a case in one program, and the inputs of the loop to compare with."""

    def __init__(self, case: Case) -> None:
        setting = self.setting = case.double
        self.undetermined = case.sample.invariants is not None
        self.dims: dict[str, list[Any]] = {}
        self.elements = [
            # Values that are not NumPy arrays are not mapped; they are the same in every element.
            [
                x if is_array_type(a) else same
                for x, same, a in zip(case.other_args(setting, k), setting.args, setting.avals, strict=True)
            ]
            for k in range(_SIZE)
        ]
        self.tangents = [
            [np.roll(t, k) if np.ndim(t) else _times(t, 1 + k) for t in setting.tangents] for k in range(_SIZE)
        ]
        self.cotangents = [[_times(ct, 1 + k) for ct in setting.cotangents] for k in range(_SIZE)]
        args = [_column(self.elements, i) if is_array_type(a) else setting.args[i] for i, a in enumerate(setting.avals)]
        tangents = [_column(self.tangents, j) for j in range(len(setting.active))]
        cotangents = [_column(self.cotangents, j) for j in range(len(setting.smooth))]
        self.counts = len(args), len(tangents), len(cotangents)
        self.arg_dims: list[int | None] = [0 if is_array_type(a) else None for a in setting.avals]
        functions: dict[str, Any] = {"jvp_of_vmap": self.jvp_of_vmap, "vmap_of_jvp": self.vmap_of_jvp}
        if not case.has("batch", "axis_batch"):
            functions = {}
        if setting.smooth and not case.has_unsupported_transpose:
            if functions:
                functions["vmap_of_grad"] = self.vmap_of_grad
                functions["grad_of_vmap"] = self.grad_of_vmap
            if "jit" in host.primitives and case.has_lowering:
                functions["grad_of_jit"] = self.grad_of_jit
        inputs = [*args, *tangents, *cotangents, *setting.args, *setting.cotangents]
        self.parts = Parts(functions, inputs, compiled=case.compiles, x64=setting.x64)

    def split(self, values: Any) -> tuple[Any, Any, Any, Any, Any]:
        """The inputs of the program: stacked arguments, tangents and cotangents; then arguments and cotangents."""
        n, m, k = self.counts
        bounds = [0, n, n + m, n + m + k, n + m + k + n, n + m + k + n + k]
        first, second, third, fourth, fifth = (values[a:b] for a, b in itertools.pairwise(bounds))
        return first, second, third, fourth, fifth

    def vmap_of_jvp(self, *values: Any) -> list[Any]:
        args, tangents, *_ = self.split(values)
        n = len(args)

        def pushed(*xs: Any) -> list[Any]:
            outs, out_tangents = self.setting.push(xs[:n], xs[n:], self.setting.active)
            return [*(outs if self.undetermined else []), *(instantiate_zeros(t) for t in out_tangents)]

        outs, self.dims["vmap_of_jvp"] = batched(
            pushed, _SIZE, [*args, *tangents], [*self.arg_dims, *[0] * len(tangents)]
        )
        return outs

    def jvp_of_vmap(self, *values: Any) -> list[Any]:
        args, tangents, *_ = self.split(values)
        setting = self.setting

        def mapped(*xs: Any) -> list[Any]:
            outs, dims = batched(setting.bind, _SIZE, xs, self.arg_dims)
            of_outs = dims if self.undetermined else []
            self.dims["jvp_of_vmap"] = [*of_outs, *(dims[i] for i in setting.smooth)]
            return outs

        directions: list[Any] = [Zero(get_aval(x).to_tangent_aval()) for x in args]
        for i, t in zip(setting.active, tangents, strict=True):
            directions[i] = t
        outs, out_tangents = jvp_flat(mapped, args, directions)
        return [*(outs if self.undetermined else []), *(out_tangents[i] for i in setting.smooth)]

    def vmap_of_grad(self, *values: Any) -> list[Any]:
        args, _, cotangents, *_ = self.split(values)
        n = len(args)

        def pulled(*xs: Any) -> list[Any]:
            pulled_cts = self.setting.pull(xs[:n], xs[n:], self.setting.active)
            return [instantiate_zeros(ct) for ct in pulled_cts]

        dims = [*self.arg_dims, *[0] * len(cotangents)]
        outs, self.dims["vmap_of_grad"] = batched(pulled, _SIZE, [*args, *cotangents], dims)
        return outs

    def grad_of_vmap(self, *values: Any) -> list[Any]:
        args, _, cotangents, *_ = self.split(values)
        setting = self.setting

        def mapped(*xs: Any) -> list[Any]:
            outs, dims = batched(setting.bind, _SIZE, xs, self.arg_dims)
            return [to_dim(x, _SIZE, dim, 0) for x, dim in zip(outs, dims, strict=True)]

        _, tape = linearize_flat(mapped, args, [i in setting.active for i in range(len(args))])
        all_cotangents: list[Any] = [Zero(aval.unmapped(_SIZE, 0).to_tangent_aval()) for aval in setting.out_avals]
        for i, ct in zip(setting.smooth, cotangents, strict=True):
            all_cotangents[i] = ct
        return tape.transpose(all_cotangents)

    def grad_of_jit(self, *values: Any) -> list[Any]:
        *_, args, cotangents = self.split(values)
        setting = self.setting
        closed = trace_to_jaxpr(setting.bind, setting.avals)
        jit_p = host.primitives["jit"]

        def called(*xs: Any) -> list[Any]:
            flags = (False,) * len(xs)
            return jit_p.bind(  # type: ignore[no-any-return]
                *xs, jaxpr=closed, name="conformance", donated_invars=flags, keep_unused=False, inline=False
            )

        _, tape = linearize_flat(called, args, [i in setting.active for i in range(len(args))])
        all_cotangents: list[Any] = [Zero(aval.to_tangent_aval()) for aval in setting.out_avals]
        for i, ct in zip(setting.smooth, cotangents, strict=True):
            all_cotangents[i] = ct
        return tape.transpose(all_cotangents)


def _column(rows: Any, j: int) -> Any:
    return np.stack([np.asarray(row[j]) for row in rows])


def _result(case: Case, name: str) -> tuple[Compositions, list[Any]]:
    """The program's results for one composition, with the mapped axis in front.

    Raises:
      Failed: the program could not be made or run.
    """
    compositions = case.memo.get("compositions")
    if compositions is None:
        compositions = case.memo["compositions"] = Compositions(case)
    try:
        outs = compositions.parts[name]
    except Exception as error:
        raise Failed(
            f"{type(error).__name__}: {error}", "batch" if "vmap" in name else "jvp", "jvp", "transpose"
        ) from error
    dims = compositions.dims.get(name)
    if dims is None:
        return compositions, outs
    return compositions, [
        np.broadcast_to(x, (_SIZE, *x.shape)) if dim is None else np.moveaxis(x, dim, 0)
        for x, dim in zip(outs, dims, strict=True)
    ]


def _slack(case: Case) -> float:
    return max(1e-9 if case.double.x64 else 1e-4, case.sample.rtol or 0.0)


def _compare(case: Case, gots: list[Any], wants: list[Any], what: str, *kinds: str, noise: Any = 0.0) -> None:
    for i, (got, want) in enumerate(zip(gots, wants, strict=True)):
        off = difference(got, want, _slack(case), noise and partial(noise, i))
        if off:
            raise Failed(f"{what} {i} differs from a loop over the elements: {off}", *kinds)


def _noise(program: Any, calls: list[list[Any]], j: int) -> Any:
    """The errors by rounding in a result of a loop over calls of a program."""
    return _column([rounding(program, call) for call in calls], j)


def _noise_of_cotangents(compositions: Compositions) -> Any:
    calls = [[*x, *ct] for x, ct in zip(compositions.elements, compositions.cotangents, strict=True)]
    return partial(_noise, compositions.setting.backward, calls)


def _require_batch(case: Case, *, reverse: bool = False) -> None:
    require_derivatives(case, reverse=reverse)
    case.require("batch", "axis_batch")


def _compare_tangents(case: Case, compositions: Compositions, gots: list[Any], *kinds: str) -> None:
    """The tangents equal those of a loop, or change the sample's invariants at the same rate."""
    setting = compositions.setting
    count = len(setting.out_avals)
    rows = [setting.forward(*x, *t) for x, t in zip(compositions.elements, compositions.tangents, strict=True)]
    if not compositions.undetermined:
        wants = [_column([row[count:] for row in rows], j) for j in range(len(setting.smooth))]
        calls = [[*x, *t] for x, t in zip(compositions.elements, compositions.tangents, strict=True)]
        _compare(case, gots, wants, "tangent", *kinds, noise=lambda j: _noise(setting.forward, calls, count + j))
        return
    for k, (args, directions, want) in enumerate(zip(compositions.elements, compositions.tangents, rows, strict=True)):
        got_rates, want_rates = (
            change_of_invariants(setting, values[:count], values[count:], args, directions, setting.active)
            for values in ([got[k] for got in gots], want)
        )
        _compare(case, got_rates, want_rates, "the tangent of invariant", *kinds)


def _require_pairing(case: Case, pulled: Any, cotangents: Any, tangents: Any, directions: Any, *kinds: str) -> None:
    """For results that are not determined, cotangents and tangents satisfy the dot-product identity."""
    forward, backward, size = dot_products(tangents, pulled, cotangents, directions)
    if not abs(forward - backward) <= _slack(case) * size:
        raise Failed(f"<J'ct, t> must equal <ct, J t>: expected {forward:.8g}, got {backward:.8g}", *kinds)


def check_vmap_of_jvp(case: Case) -> None:
    """Tangents by vmap of jvp are those of each element."""
    _require_batch(case)
    compositions, outs = _result(case, "vmap_of_jvp")
    _compare_tangents(case, compositions, outs, "jvp", "batch")


def check_jvp_of_vmap(case: Case) -> None:
    """Tangents by jvp of vmap are those of each element."""
    _require_batch(case)
    compositions, outs = _result(case, "jvp_of_vmap")
    _compare_tangents(case, compositions, outs, "batch", "jvp")


def check_vmap_of_grad(case: Case) -> None:
    """Cotangents by vmap of grad are those of each element."""
    _require_batch(case, reverse=True)
    compositions, outs = _result(case, "vmap_of_grad")
    setting = compositions.setting
    if compositions.undetermined:
        tangents = _result(case, "vmap_of_jvp")[1][len(setting.out_avals) :]
        for k, (cotangents, directions) in enumerate(zip(compositions.cotangents, compositions.tangents, strict=True)):
            pulled, pushed = ([x[k] for x in values] for values in (outs, tangents))
            _require_pairing(case, pulled, cotangents, pushed, directions, "jvp", "transpose", "batch")
        return
    rows = [setting.backward(*x, *ct) for x, ct in zip(compositions.elements, compositions.cotangents, strict=True)]
    wants = [_column(rows, j) for j in range(len(setting.active))]
    noise = _noise_of_cotangents(compositions)
    _compare(case, outs, wants, "cotangent", "jvp", "transpose", "batch", noise=noise)


def check_grad_of_vmap(case: Case) -> None:
    """Cotangents by grad of vmap are those of each element."""
    _require_batch(case, reverse=True)
    if case.sample.axes:
        raise NotRun("it has named axes: each element has its own cotangent, but a collective may assume a common one")
    compositions, outs = _result(case, "grad_of_vmap")
    if compositions.undetermined:
        raise NotRun("the arguments do not determine the results")
    setting: Setting = compositions.setting
    rows = [setting.backward(*x, *ct) for x, ct in zip(compositions.elements, compositions.cotangents, strict=True)]
    wants = [_column(rows, j) for j in range(len(setting.active))]
    noise = _noise_of_cotangents(compositions)
    _compare(case, outs, wants, "cotangent", "batch", "jvp", "transpose", noise=noise)


def check_grad_of_jit(case: Case) -> None:
    """Cotangents by grad of jit are those of the primitive."""
    require_derivatives(case, reverse=True)
    require_lowering(case)
    if "jit" not in host.primitives:
        raise NotRun("no active plugin has a primitive called jit")
    compositions, outs = _result(case, "grad_of_jit")
    setting: Setting = compositions.setting
    if compositions.undetermined:
        tangents = setting.forward_tangents(setting.args, setting.tangents)
        _require_pairing(case, outs, setting.cotangents, tangents, setting.tangents, "jvp", "transpose")
        return
    args = [*setting.args, *setting.cotangents]
    noise = lambda j: rounding(setting.backward, args)[j]  # noqa: E731
    _compare(case, outs, setting.backward(*args), "cotangent", "jvp", "transpose", noise=noise)
