"""Programs of primax computed in the real jax, equation by equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primax.core import config, dtypes, tree
from primax.core.cache import Cache
from primax.core.cache_keys import is_hashable, params_key
from primax.core.errors import MissingRuleError
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxprs_in_params, last_uses
from primax.core.primitive import Primitive
from primax.core.recursion import raised_recursion_limit
from primax.core.rules import impl_rules, jvp_rules, lowering_rules, partial_eval_jaxpr_rules
from primax.core.source_info import summarize
from primax.core.trace import Tracer, thread
from primax.extend.axis_names import axes_used
from primax.extend.decomposition import decompose
from primax.extend.derive.impl_program import ImplProgram
from primax.extend.host.plugin_host import host
from primax.extend.interpreter import replay
from primax.extend.meshes_in_jax import mesh_handlers
from primax.extend.stablehlo.rules import operations_of
from primax.interpreters.grad import vjp
from primax.interpreters.jvp import jvp_jaxpr
from primax.interpreters.partial_eval import partial_eval_jaxpr
from primax.interpreters.runtime.extended_array import has_extended_dtype
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["Replay", "compiles", "refusal", "varying"]

_REMEDIES = {
    "check": "apply primax.experimental.checkify.checkify to the function, which then returns the error as a value",
    "ffi_call": "call jax.ffi.ffi_call in jax, between functions that to_jax carries",
}


def refusal(primitive: Primitive, missing: str, remedy: str, eqn: JaxprEqn | None = None) -> NotImplementedError:
    """The error for a primitive that jax cannot have.

    Args:
      primitive: the primitive.
      missing: the feature that jax lacks, as `it must ..., got ...`.
      remedy: the remedy, unless there is a better one for this primitive.
      eqn: its equation, if it is used in a program.
    """
    line = "" if eqn is None else f", used at {summarize(eqn.source_info)}"
    return NotImplementedError(f"to_jax: {primitive} {missing}{line}; {_REMEDIES.get(primitive.name, remedy)}")


@dataclass(frozen=True, slots=True)
class _HostFunction:
    """A callback of primax for jax: equal for equal callbacks, so that jax compiles a program once.

    Attributes:
      callback: the function of flat arrays.
      ignores_result: whether it returns None to jax.
    """

    callback: Callable[..., Any]
    ignores_result: bool = False

    def __call__(self, *args: Any) -> list[Any] | None:
        outs = self.callback(*map(np.asarray, args))
        return None if self.ignores_result else list(map(np.asarray, outs))


class Replay:
    """Computes programs of primax on values of jax, under all active transformations of jax.

    Args:
      modules: the modules of jax.
      counterpart: returns the primitive of jax for a primitive of primax.
      aval: returns the type in primax of a value of jax.
    """

    def __init__(self, modules: Any, counterpart: Callable[[Primitive], Any], aval: Callable[[Any], Any]) -> None:
        self.modules = modules
        self.jax = modules.jax
        self.counterpart = counterpart
        self.aval = aval
        self._smaller = Cache(1024)  # equations that jax cannot have, in smaller primitives
        self._handlers: dict[str, Callable[[JaxprEqn, list[Any]], Sequence[Any]]] = {
            "checkpoint": self._checkpoint,
            "cond": self._cond,
            "custom_jvp_call": self._custom_jvp,
            "custom_vjp_call": self._custom_vjp,
            "debug_callback": self._debug_callback,
            "io_callback": self._io_callback,
            "pure_callback": self._pure_callback,
            "scan": self._scan,
            "while": self._while,
            **dict.fromkeys(("closed_call", "composite", "core_call", "jit"), self._call),
            **mesh_handlers(modules, self._function),
        }

    def __call__(self, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
        """The results of a program for values of jax."""
        jaxpr = closed.jaxpr
        if jaxpr.x64 is not config.enable_x64.value:
            with config.enable_x64(jaxpr.x64), self.jax.enable_x64(jaxpr.x64):
                return self(closed, args)
        env: dict[Any, Any] = {
            v: self._constant(x, v.aval) for v, x in zip(jaxpr.constvars, closed.consts, strict=True)
        }
        env.update(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> Any:
            return self._constant(atom.val, atom.aval) if type(atom) is Literal else env[atom]

        with raised_recursion_limit():
            for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
                outs = self._equation(eqn, list(map(read, eqn.invars)))
                env.update(zip(eqn.outvars, outs, strict=True))
                for var in dead:
                    env.pop(var, None)
        return list(map(read, jaxpr.outvars))

    def jvp(self, program: ClosedJaxpr, primals: Sequence[Any], tangents: Sequence[Any], count: int) -> list[Any]:
        """The values of a JVP program of `count` results.

        If it applies primitives with rules for partial evaluation, such as loops, the tangents come from a second
        program, linear in the tangents of the operands. So jax can compute the results before it knows tangents, as
        reverse mode does.
        """
        if not any(eqn.primitive in partial_eval_jaxpr_rules.functions for eqn in program.eqns):
            return self(program, [*primals, *tangents])
        split = partial_eval_jaxpr(program, [False] * len(primals) + [True] * len(tangents))
        if any(split.unknown_out[:count]):
            return self(program, [*primals, *tangents])
        known = self(split.known, primals)
        available = [*primals, *known]
        residuals = [available[i] for i in split.residuals]
        unknown = iter(self(split.unknown, [*residuals, *tangents]))
        outs = iter(known)
        return [next(unknown if waits else outs) for waits in split.unknown_out]

    def check(self, jaxpr: Jaxpr) -> None:
        """Refuse a program, before any of it runs, that jax cannot have.

        Raises:
          NotImplementedError: the message names the primitive, what is missing and the remedy.
        """
        for v in (*jaxpr.constvars, *jaxpr.invars):
            if has_extended_dtype(v.aval):
                raise _no_number(v.aval)
        for eqn in jaxpr.eqns:
            if self._handler(eqn) is not None:
                for inner in jaxprs_in_params(eqn.params):
                    self.check(inner)
            elif self._needs_parts(eqn):
                self.check(self._parts(eqn).jaxpr)
            else:
                for v in eqn.outvars:
                    if has_extended_dtype(v.aval):
                        raise refusal(
                            eqn.primitive,
                            f"must return arrays of numbers, got {v.aval.str_short()}",
                            "pass the data of keys, and call it outside",
                            eqn,
                        )

    def _handler(self, eqn: JaxprEqn) -> Callable[[JaxprEqn, list[Any]], Sequence[Any]] | None:
        """The function that translates an equation, if its primitive is one that jax has in another form."""
        handler = self._handlers.get(eqn.primitive.name)
        return handler if handler is not None and host.primitives.get(eqn.primitive.name) is eqn.primitive else None

    def _needs_parts(self, eqn: JaxprEqn) -> bool:
        """Whether jax can have an equation only by its decomposition, since it has effects or communicates."""
        if eqn.effects or (any(jaxprs_in_params(eqn.params)) and not compiles(eqn.primitive)):
            return True
        if not thread.axes:
            return False
        avals = [v.aval for v in eqn.invars]
        return bool(axes_used(eqn.primitive, operations_of(eqn.primitive), avals, eqn.params))

    def _parts(self, eqn: JaxprEqn) -> ClosedJaxpr:
        """The program of one equation in smaller primitives.

        Raises:
          NotImplementedError: the primitive has no decomposition.
        """
        primitive = eqn.primitive

        def make() -> ClosedJaxpr:
            try:
                return decompose(self._alone(eqn), away=[primitive])
            except MissingRuleError as error:
                closed = self._by_impl(eqn, error)
                if closed is not None:
                    return closed
                text = ", ".join(sorted(map(str, eqn.effects)))
                missing = f"must have no effects, got {text}" if text else "must have a lowering"
                remedy = (
                    f"say in other primitives what {primitive} does, by interpret=derive.from_impl or "
                    "lowering=mlir.lower_fun(function), or remove what has the effect"
                )
                raise refusal(primitive, missing, remedy, eqn) from error

        axes = tuple(thread.axes.items()) if thread.axes else ()
        key = (primitive, tuple([v.aval for v in eqn.invars]), params_key(eqn.params), thread.config, axes)
        return self._smaller.get_or_make(key, make) if is_hashable(key) else make()

    def _by_impl(self, eqn: JaxprEqn, missing: MissingRuleError) -> ClosedJaxpr | None:
        """The program of an equation's impl; None if there is none, or if it does not consist of primax operations."""
        impl = impl_rules.get_or_load(eqn.primitive)
        if impl is None:
            return None
        try:
            return trace_to_jaxpr(ImplProgram(eqn.primitive, impl).on(eqn.params), [v.aval for v in eqn.invars])
        except Exception as error:  # such as that an array of NumPy cannot be made of a tracer
            missing.add_note(f"The impl of {eqn.primitive} cannot be traced: {error}")
            return None

    def _equation(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        handler = self._handler(eqn)
        if handler is not None:
            return handler(eqn, values)
        if self._needs_parts(eqn):
            parts = self._parts(eqn)
            if jvp_rules.get_or_load(eqn.primitive) is None:
                return self(parts, values)
            return self._with_jvp(self._function(parts), eqn, values)
        out = self.counterpart(eqn.primitive).bind(*self._varying(values), **eqn.params)
        return out if eqn.primitive.multiple_results else [out]

    def _varying(self, values: list[Any]) -> list[Any]:
        """Values that vary along the same axes of meshes, as operands must in jax's `shard_map`."""
        of = [varying(self.jax.typeof(x)) for x in values]
        axes = frozenset().union(*of)
        return [
            self.jax.lax.pcast(x, tuple(axes - own), to="varying") if axes - own else x
            for x, own in zip(values, of, strict=True)
        ]

    def _constant(self, x: Any, aval: Any) -> Any:
        """A literal or constant of a program, as a value of jax."""
        if isinstance(x, Tracer):
            raise TypeError(f"to_jax: functions must not close over values that primax is tracing, got {x!r}")
        array = np.asarray(x, aval.dtype)
        if not aval.weak_type:
            return self.jax.numpy.asarray(array)
        if not aval.shape:
            return array.item()
        weak = self.counterpart(host.primitives["convert_element_type"])
        return weak.bind(array, new_dtype=aval.dtype, weak_type=True)

    def _function(self, closed: ClosedJaxpr, name: str = "") -> Callable[..., list[Any]]:
        """A program as a function of values of jax."""

        def run(*args: Any) -> list[Any]:
            return self(closed, args)

        run.__name__ = name or closed.jaxpr.debug_info or "program"
        return run

    def _call(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        (closed,) = (value for value in eqn.params.values() if isinstance(value, ClosedJaxpr))
        return self(closed, values)

    def _checkpoint(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        """Values that a policy would save are recomputed, since policies are for primitives of primax."""
        run = self.jax.checkpoint(self._function(eqn.params["jaxpr"]), prevent_cse=eqn.params["prevent_cse"])
        return run(*values)  # type: ignore[no-any-return]

    def _cond(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        index, *operands = values
        branches = [self._function(branch) for branch in eqn.params["branches"]]
        return self.jax.lax.switch(self.jax.numpy.asarray(index, "int32"), branches, *operands)  # type: ignore[no-any-return]

    def _while(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        ends = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        cond_consts, body_consts, start = values[: ends[0]], values[ends[0] : ends[1]], values[ends[1] :]

        def condition(carry: list[Any]) -> Any:
            return self(params["cond_jaxpr"], [*cond_consts, *carry])[0]

        def body(carry: list[Any]) -> list[Any]:
            return self(params["body_jaxpr"], [*body_consts, *carry])

        return self.jax.lax.while_loop(condition, body, start)  # type: ignore[no-any-return]

    def _debug_callback(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        self.jax.debug.callback(
            _HostFunction(params["callback"], ignores_result=True),
            *values,
            ordered=str(params["effect"]).startswith("Ordered"),
            **({"partitioned": True} if params.get("partitioned") else {}),
        )
        return []

    def _io_callback(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        call = self.modules.experimental.io_callback
        function = _HostFunction(eqn.params["callback"])
        return call(function, self._results(eqn), *values, ordered=eqn.params["ordered"])  # type: ignore[no-any-return]

    def _pure_callback(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        function = _HostFunction(params["callback"])
        return self.jax.pure_callback(function, self._results(eqn), *values, vmap_method=params["vmap_method"])  # type: ignore[no-any-return]

    def _results(self, eqn: JaxprEqn) -> list[Any]:
        """The types of an equation's results in jax."""
        return [self.jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.outvars]

    def _scan(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
        consts, start, stacked = values[:first], values[first:last], values[last:]

        def body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
            outs = self(params["jaxpr"], [*consts, *carry, *x])
            return outs[: params["num_carry"]], outs[params["num_carry"] :]

        options = {name: params[name] for name in ("length", "reverse", "unroll")}
        carry, results = self.jax.lax.scan(body, start, stacked, **options)
        return [*carry, *results]

    def _alone(self, eqn: JaxprEqn) -> ClosedJaxpr:
        """The program of one equation."""
        avals = [v.aval for v in eqn.invars]
        return trace_to_jaxpr(lambda *args: replay(eqn, args), avals, eqn.primitive.name)

    def _custom_jvp(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        return self._with_jvp(self._function(eqn.params["call_jaxpr"], eqn.params["name"]), eqn, values)

    def _with_jvp(self, function: Callable[..., list[Any]], eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        """The results of a function of jax that computes an equation, with the derivatives that primax has for it."""
        call = self.jax.custom_jvp(function)
        inputs = [_has_tangent(v.aval) for v in eqn.invars]
        outputs = [_has_tangent(v.aval) for v in eqn.outvars]

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            program, _ = jvp_jaxpr(self._alone(eqn), inputs, outputs)
            nonzeros = [t for t, has in zip(tangents, inputs, strict=True) if has]
            results = self.jvp(program, primals, nonzeros, len(outputs))
            outs, rest = results[: len(outputs)], iter(results[len(outputs) :])
            return outs, [
                next(rest) if has else np.zeros(out.shape, self.jax.dtypes.float0)
                for out, has in zip(outs, outputs, strict=True)
            ]

        call.defjvp(jvp)
        return call(*values)  # type: ignore[no-any-return]

    def _custom_vjp(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        call = self.jax.custom_vjp(self._function(params["call_jaxpr"], params["name"]))
        inputs = [_has_tangent(v.aval) for v in eqn.invars]
        outputs = [_has_tangent(v.aval) for v in eqn.outvars]
        structures: list[Any] = []

        def both(*args: Any) -> list[Any]:
            outs, pullback = vjp(lambda *xs: list(eqn.primitive.bind(*xs, **params)), *args)
            leaves, structure = tree.flatten(pullback)
            structures.append(structure)
            return [*outs, *leaves]

        def forward(*args: Any) -> tuple[list[Any], Any]:
            results = self(trace_to_jaxpr(both, [v.aval for v in eqn.invars], params["name"]), args)
            return results[: len(outputs)], results[len(outputs) :]

        def backward(residuals: list[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
            def pull(*args: Any) -> list[Any]:
                pullback = tree.unflatten(structures[-1], args[: len(residuals)])
                cts = iter(args[len(residuals) :])
                zeros = [np.zeros(v.aval.shape, dtypes.float0) for v in eqn.outvars]
                pulled = pullback([next(cts) if has else z for z, has in zip(zeros, outputs, strict=True)])
                return [ct for ct, has in zip(pulled, inputs, strict=True) if has]

            avals = [self.aval(x) for x in residuals] + [
                v.aval for v, has in zip(eqn.outvars, outputs, strict=True) if has
            ]
            nonzero = [ct for ct, has in zip(cotangents, outputs, strict=True) if has]
            pulled = iter(self(trace_to_jaxpr(pull, avals, params["name"]), [*residuals, *nonzero]))
            return tuple(next(pulled) if has else None for has in inputs)

        call.defvjp(forward, backward)
        return call(*values)  # type: ignore[no-any-return]


def compiles(primitive: Primitive) -> bool:
    """Whether a primitive has a lowering, for any platform."""
    return primitive in lowering_rules or any(key[0] is primitive for key in lowering_rules if isinstance(key, tuple))


def _no_number(aval: Any) -> NotImplementedError:
    return NotImplementedError(
        f"to_jax: values must be arrays of numbers, got {aval.str_short()}; pass the data of keys"
    )


def _has_tangent(aval: Any) -> bool:
    return aval.to_tangent_aval().dtype != dtypes.float0  # type: ignore[no-any-return]


def varying(aval: Any) -> frozenset[Any]:
    """The axes of meshes along which values of a type of jax vary, within its `shard_map`."""
    return getattr(getattr(aval, "mat", None), "varying", frozenset())
