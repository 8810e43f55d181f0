"""The batched form of a primitive: each rule applies the primitive's own rule to one element of a batch.

`vmap` binds this form if the batch rule is derived from the impl. Programs show it under the primitive's name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from primax.core import rules
from primax.core.avals import get_aval
from primax.core.effects import Effects
from primax.core.jaxpr import jaxprs_in_params, named_axes
from primax.core.primitive import Primitive
from primax.core.text.printer import PrintedCall
from primax.core.trace_state import thread
from primax.extend.derive.element_loop import loop_of
from primax.extend.derive.impl_program import ImplProgram
from primax.extend.stablehlo.element_lowering import physical_lowering
from primax.extend.stablehlo.rules import lower_fun
from primax.interpreters.batching import AxisData, batch_flat, bdim_at_front, broadcast, to_dim
from primax.interpreters.jvp import jvp_flat
from primax.interpreters.linearize import linear_tape
from primax.interpreters.runtime.lowering import find_lowering
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import UndefinedPrimal, Zero
from primax.interpreters.vmap import sum_over_axis

__all__ = ["LOST", "Level", "bind_batched"]

Rule = Callable[..., Any]

LOST = {
    "partial_eval": "the batched form is split by its jvp and transpose rules",
    "partial_eval_jaxpr": "the batched form is split by its jvp and transpose rules",
    "dce": "the batched form is kept or dropped as a whole",
    "staging": "the batched form is staged as one equation",
}
"""Kinds of rules that a batched form cannot have, each with the reason."""


class Level(NamedTuple):
    """One use of `vmap`: the number of elements, the batch axis of each operand (or None), and the name of the axis."""

    size: int
    dims: tuple[int | None, ...]
    name: Any = None
    spmd: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        name = "" if self.name is None else f" as {self.name!r}"
        return f"{self.size} at {self.dims}{name}"

    @property
    def axis(self) -> AxisData:
        return AxisData(self.name, self.size, self.spmd)


class BatchedPrimitive(Primitive):
    """A primitive under one or more uses of `vmap`, which the parameter `vmapped` lists, the outermost first.

    All results have batch axis 0 for each use.

    Args:
      impl: its impl, written in primax operations.
      by_axis: whether its batch rule takes the name of the axis.
    """

    __slots__ = ("by_axis", "element_impl", "form_of")

    form_of: Primitive

    def __init__(self, impl: ImplProgram, by_axis: bool) -> None:
        of = impl.primitive
        super().__init__(of.name, multiple_results=of.multiple_results)
        self.form_of = of
        self.element_impl = impl
        self.by_axis = by_axis
        self.module = of.module
        self.plugin = of.plugin
        self.__doc__ = of.__doc__

    def __repr__(self) -> str:
        return repr(self.form_of)

    def __reduce__(self) -> Any:
        return _form_by_rule, (self.form_of, self.by_axis)

    def _abstract_eval(self, avals: tuple[Any, ...], params: dict[str, Any]) -> tuple[list[Any], Effects]:
        level, inner, own = self.peel(params)
        elements = tuple([a if d is None else a.mapped(level.size, d) for a, d in zip(avals, level.dims, strict=True)])
        with _named(level):
            outs, effects = inner.result_types(elements, own)
        self.used = self.form_of.used = True
        return [a.unmapped(level.size, 0) for a in outs], effects

    def has_type_rule(self) -> bool:
        return self.form_of.has_type_rule()

    def peel(self, params: dict[str, Any]) -> tuple[Level, Primitive, dict[str, Any]]:
        """The outermost level, and the primitive and parameters that are bound for each of its elements."""
        level, *rest = params["vmapped"]
        own = {name: value for name, value in params.items() if name != "vmapped"}
        return (level, self, {**own, "vmapped": tuple(rest)}) if rest else (level, self.form_of, own)

    def program(self, params: dict[str, Any]) -> Callable[..., list[Any]]:
        """The impl, mapped over all levels, as a function that returns a list."""
        level, inner, own = self.peel(params)
        one = inner.program(own) if isinstance(inner, BatchedPrimitive) else self.element_impl.on(own)

        def run(*args: Any) -> list[Any]:
            with self.element_impl.explained("batch"):
                return _in_front(level, *batch_flat(one, level.axis, args, level.dims))

        run.__name__ = self.name
        return run


_lock = threading.RLock()


def _form_of(impl: ImplProgram, by_axis: bool) -> BatchedPrimitive:
    """The batched form of a primitive, made at its first use."""
    attribute = f"_batched_{by_axis}"
    form: BatchedPrimitive | None = vars(impl.primitive).get(attribute)
    if form is None or form.element_impl.impl is not impl.impl:
        with _lock:
            form = BatchedPrimitive(impl, by_axis)
            _enter_rules(form)
            vars(impl.primitive)[attribute] = form
    return form


def _form_by_rule(primitive: Primitive, by_axis: bool) -> BatchedPrimitive:
    """The batched form of a primitive, found by its name in a pickle."""
    return _form_of(ImplProgram(primitive, rules.impl_rules.find(primitive)), by_axis)


def bind_batched(
    impl: ImplProgram, axis: AxisData, by_axis: bool, args: Any, dims: Any, params: dict[str, Any]
) -> tuple[Any, Any]:
    """The result of a batch rule that binds the batched form of a primitive.

    Args:
      impl: the primitive's impl.
      axis: the mapped axis.
      by_axis: whether the primitive's batch rule takes the name of the axis.
      args: the operands of the batch rule.
      dims: their batch axes.
      params: the parameters of the primitive.

    Raises:
      TypeError: the primitive has a parameter `vmapped` already.
    """
    if "vmapped" in params:
        reason = "since derive.from_impl as the batch rule uses this name"
        raise TypeError(f"{impl.primitive}: parameters must have other names than 'vmapped', {reason}")
    return _bind(_form_of(impl, by_axis), axis, args, dims, {**params, "vmapped": ()})


def _bind(form: BatchedPrimitive, axis: AxisData, args: Any, dims: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    level = Level(axis.size, tuple(dims), axis.name, axis.spmd)
    out = form.bind(*args, **{**params, "vmapped": (level, *params["vmapped"])})
    return out, [0] * len(out) if form.multiple_results else 0


def _in_front(level: Level, outs: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    return [bdim_at_front(x, d, level.size) for x, d in zip(outs, dims, strict=True)]


@contextmanager
def _named(level: Level) -> Iterator[None]:
    """A `with` block with the name of an axis in scope."""
    axes = thread.axes
    if level.name is not None:
        thread.axes = {**axes, level.name: level.size}
    try:
        yield
    finally:
        thread.axes = axes


def _enter_rules(form: BatchedPrimitive) -> None:
    """Define the rules of a batched form. When applied, they call those of the primitive, with the same errors."""
    of = form.form_of
    kind = "axis_batch" if form.by_axis else "batch"
    rules_by_kind = {
        "impl": _impl(form),
        "jvp": _jvp(form),
        "transpose": _transpose(form),
        kind: _axis_batch(form) if form.by_axis else _batch(form),
        "lowering": _lowering(form),
        "interpret": _interpret(form),
        "print": _print(form),
        "named_axes": _named_axes(form),
    }
    provenance = rules.rule_tables[kind].provenance.get(of)
    if provenance is None:
        provenance = rules.Provenance(of.module, "<derived>", 0, "derived from impl")
    for one, rule in rules_by_kind.items():
        rules.rule_tables[one].register_private(form, rule, provenance)
    if getattr(rules.lowering_rules.functions.get(of), "func", None) is form.element_impl.impl:
        rules_by_kind["lowering"].func = rules_by_kind["impl"]  # type: ignore[attr-defined]  # one program


def _impl(form: BatchedPrimitive) -> Rule:
    def rule(*args: Any, **params: Any) -> Any:
        return form.element_impl.returned(form.program(params)(*args))

    return rule


def _jvp(form: BatchedPrimitive) -> Rule:
    def rule(primals: Any, tangents: Any, /, **params: Any) -> Any:
        level, inner, own = form.peel(params)
        count = len(primals)
        active = [type(t) is not Zero for t in tangents]
        nonzero: list[bool] = []

        def one(*xs: Any) -> list[Any]:
            remaining = iter(xs[count:])
            ts = [
                next(remaining) if is_active else Zero.from_primal_value(p)
                for p, is_active in zip(xs[:count], active, strict=True)
            ]
            outs, out_tangents = jvp_flat(_bind_list(inner, own), xs[:count], ts)
            nonzero[:] = [type(t) is not Zero for t in out_tangents]
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        values = [*primals, *(t for t in tangents if type(t) is not Zero)]
        dims = [*level.dims, *(d for d, is_active in zip(level.dims, active, strict=True) if is_active)]
        results = _in_front(level, *batch_flat(one, level.axis, values, dims))
        outs = results[: len(nonzero)]
        remaining = iter(results[len(nonzero) :])
        ts = [next(remaining) if nz else Zero.from_primal_value(x) for x, nz in zip(outs, nonzero, strict=True)]
        return form.element_impl.returned(outs), form.element_impl.returned(ts)

    return rule


def _transpose(form: BatchedPrimitive) -> Rule:
    def rule(ct: Any, /, *args: Any, **params: Any) -> list[Any]:
        level, inner, own = form.peel(params)
        cts = list(ct) if form.multiple_results else [ct]
        linear = [type(x) is UndefinedPrimal for x in args]
        known = [(x, d) for x, d, is_linear in zip(args, level.dims, linear, strict=True) if not is_linear]
        live = [(c, 0) for c in cts if type(c) is not Zero]
        places = [i for i, is_linear in enumerate(linear) if is_linear]
        avals = [_element(args[i].aval, level.size, level.dims[i]) for i in places]
        nonzero: list[int] = []

        def one(*xs: Any) -> list[Any]:
            live_cts = iter(xs[len(known) :])
            own_cts = [Zero(c.aval.mapped(level.size, 0)) if type(c) is Zero else next(live_cts) for c in cts]

            def linear_part(*ts: Any) -> list[Any]:
                unknowns, others = iter(ts), iter(xs)
                return _bind_list(inner, own)(*(next(unknowns if is_linear else others) for is_linear in linear))

            pulled = linear_tape(linear_part, avals).transpose(own_cts)
            nonzero[:] = [i for i, c in zip(places, pulled, strict=True) if type(c) is not Zero]
            return [c for c in pulled if type(c) is not Zero]

        values, dims = zip(*known, *live, strict=True) if known or live else ((), ())
        results, out_dims = batch_flat(one, level.axis, values, dims)
        out: list[Any] = [Zero(x.aval) if is_linear else None for x, is_linear in zip(args, linear, strict=True)]
        for i, x, d in zip(nonzero, results, out_dims, strict=True):
            dim = level.dims[i]
            out[i] = to_dim(x, level.size, d, dim) if dim is not None else sum_over_axis(x, level.size, d)
        return out

    return rule


def _element(aval: Any, size: int, dim: int | None) -> Any:
    return aval if dim is None else aval.mapped(size, dim)


def _bind_list(primitive: Primitive, params: dict[str, Any]) -> Callable[..., list[Any]]:
    def bind(*xs: Any) -> list[Any]:
        out = primitive.bind(*xs, **params)
        return list(out) if primitive.multiple_results else [out]

    return bind


def _axis_batch(form: BatchedPrimitive) -> Rule:
    def rule(axis: AxisData, args: Any, dims: Any, /, **params: Any) -> Any:
        return _bind(form, axis, args, dims, params)

    return rule


def _batch(form: BatchedPrimitive) -> Rule:
    def rule(args: Any, dims: Any, /, **params: Any) -> Any:
        size = next(get_aval(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        return _bind(form, AxisData(None, int(size)), args, dims, params)

    return rule


def _lowering(form: BatchedPrimitive) -> Rule:
    def rule(ctx: Any, /, *args: Any, **params: Any) -> Any:
        _, own = find_lowering(ctx.replace(primitive=form.form_of))
        if getattr(own, "func", None) is form.element_impl.impl:
            return lower_fun(form.program(params))(ctx, *args)
        level, inner, inner_params = form.peel(params)
        loop = loop_of(inner)

        def one_by_one(*xs: Any) -> list[Any]:
            if all(d is None for d in level.dims):
                outs = _bind_list(inner, inner_params)(*xs)
                return [broadcast(x, level.size, 0) for x in outs]
            outs, dims = loop(xs, level.dims, **inner_params)
            return _in_front(level, outs, dims) if form.multiple_results else _in_front(level, [outs], [dims])

        one_by_one.__name__ = form.name
        return lower_fun(one_by_one)(ctx, *args)

    return physical_lowering(rule)


def _interpret(form: BatchedPrimitive) -> Rule:
    def rule(interpreter: Any, eqn: Any, *values: Any) -> Any:
        closed = trace_to_jaxpr(form.program(eqn.params), [v.aval for v in eqn.invars])
        return form.element_impl.returned(interpreter.interpret(closed, *values))

    return rule


def _print(form: BatchedPrimitive) -> Rule:
    def rule(params: dict[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in params.items() if name != "vmapped"}
        table = rules.print_rules.functions
        shown = table[form.form_of](own) if form.form_of in table else dict(sorted(own.items()))
        shown = shown.params if isinstance(shown, PrintedCall) else shown
        return {**shown, "vmapped": params["vmapped"]}

    return rule


def _named_axes(form: BatchedPrimitive) -> Rule:
    def rule(**params: Any) -> frozenset[Any]:
        own = {name: value for name, value in params.items() if name != "vmapped"}
        table = rules.named_axes_rules.functions
        effects = (
            frozenset(table[form.form_of](**own))
            if form.form_of in table
            else frozenset().union(*map(named_axes, jaxprs_in_params(own)))
        )
        return effects - {level.name for level in params["vmapped"]}

    return rule
