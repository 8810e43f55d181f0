"""Programs of primax computed in the real jax, equation by equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.core import config, dtypes, tree
from primax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, last_uses
from primax.core.primitive import Primitive
from primax.core.recursion import raised_recursion_limit
from primax.core.rules import interpret_rules
from primax.core.trace import Tracer
from primax.extend.host.plugin_host import host
from primax.extend.provisional.computations import Interpreted
from primax.interpreters.grad import vjp
from primax.interpreters.jvp import jvp_jaxpr
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["Replay", "varying"]


class Replay:
    """Computes programs of primax on values of jax, under all active transformations of jax.

    Args:
      jax: the package.
      counterpart: returns the primitive of jax for a primitive of primax.
      aval: returns the type in primax of a value of jax.
    """

    def __init__(self, jax: Any, counterpart: Callable[[Primitive], Any], aval: Callable[[Any], Any]) -> None:
        self.jax = jax
        self.counterpart = counterpart
        self.aval = aval
        self._handlers: dict[str, Callable[[JaxprEqn, list[Any]], Sequence[Any]]] = {
            "checkpoint": self._checkpoint,
            "cond": self._cond,
            "custom_jvp_call": self._custom_jvp,
            "custom_vjp_call": self._custom_vjp,
            "pure_callback": self._pure_callback,
            "scan": self._scan,
            "while": self._while,
            **dict.fromkeys(("closed_call", "composite", "core_call", "jit"), self._call),
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

    def keeps_programs(self, primitive: Primitive) -> bool:
        """Whether the rules of a primitive keep the programs in its parameters unchanged."""
        return isinstance(interpret_rules.get_or_load(primitive), Interpreted)

    def _equation(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        primitive = eqn.primitive
        handler = self._handlers.get(primitive.name)
        if handler is not None and host.primitives.get(primitive.name) is primitive:
            return handler(eqn, values)
        if eqn.effects:
            text = ", ".join(sorted(map(str, eqn.effects)))
            raise NotImplementedError(f"to_jax: {primitive} must have no effects, got {text}")
        out = self.counterpart(primitive).bind(*self._varying(values), **eqn.params)
        return out if primitive.multiple_results else [out]

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

        def goes_on(carry: list[Any]) -> Any:
            return self(params["cond_jaxpr"], [*cond_consts, *carry])[0]

        def body(carry: list[Any]) -> list[Any]:
            return self(params["body_jaxpr"], [*body_consts, *carry])

        return self.jax.lax.while_loop(goes_on, body, start)  # type: ignore[no-any-return]

    def _pure_callback(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params

        def callback(*args: Any) -> list[Any]:
            return list(map(np.asarray, params["callback"](*map(np.asarray, args))))

        results = [self.jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.outvars]
        return self.jax.pure_callback(callback, results, *values, vmap_method=params["vmap_method"])  # type: ignore[no-any-return]

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
        return trace_to_jaxpr(
            lambda *args: list(eqn.primitive.bind(*args, **eqn.params)),
            [v.aval for v in eqn.invars],
            eqn.primitive.name,
        )

    def _custom_jvp(self, eqn: JaxprEqn, values: list[Any]) -> Sequence[Any]:
        params = eqn.params
        call = self.jax.custom_jvp(self._function(params["call_jaxpr"], params["name"]))
        inputs = [_has_tangent(v.aval) for v in eqn.invars]
        outputs = [_has_tangent(v.aval) for v in eqn.outvars]

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            program, _ = jvp_jaxpr(self._alone(eqn), inputs, outputs)
            results = self(program, [*primals, *(t for t, has in zip(tangents, inputs, strict=True) if has)])
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


def _has_tangent(aval: Any) -> bool:
    return aval.to_tangent_aval().dtype != dtypes.float0  # type: ignore[no-any-return]


def varying(aval: Any) -> frozenset[Any]:
    """The axes of meshes along which values of a type of jax vary, within its `shard_map`."""
    return getattr(getattr(aval, "mat", None), "varying", frozenset())
