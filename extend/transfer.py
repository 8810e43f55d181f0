"""Primitives and functions of primax in the real jax: one definition works in both."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from primax.core import _jaxlib, tree
from primax.core.arguments import name_of
from primax.core.avals import ShapedArray
from primax.core.cache import Cache
from primax.core.cache_keys import is_hashable, params_key
from primax.core.config import enable_x64
from primax.core.jaxpr import ClosedJaxpr, Jaxpr
from primax.core.primitive import Primitive
from primax.core.rules import load_plugins, lowering_rules, sharding_rules
from primax.core.trace import thread
from primax.extend.meshes_in_jax import axes_of_jax
from primax.extend.replay_in_jax import Replay, compiles, refusal, varying
from primax.extend.sharding_in_jax import calls_foreign, factors_of, is_divided, partitioned, tell_devices
from primax.interpreters.batching import AxisData, batch_jaxpr
from primax.interpreters.call_signature import Signature, StaticArguments, check_outputs, positions_and_names, read_call
from primax.interpreters.jvp import jvp_jaxpr
from primax.interpreters.linearize import transpose_jaxpr
from primax.interpreters.runtime.extended_array import has_extended_dtype
from primax.interpreters.runtime.lowering import LoweringRuleContext, ModuleContext, lower_eqn
from primax.interpreters.runtime.sharding.spmd import divides_all
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["to_jax"]


def to_jax(
    what: Any, *, static_argnums: int | Sequence[int] | None = None, static_argnames: str | Sequence[str] | None = None
) -> Any:
    """A primitive or a function of primax for use in the real jax, if that is installed.

    This is the only function of primax that imports jax. jax's transformations apply the rules of primax: primax traces
    each rule, and the primitives in the rule become primitives of jax in the same way. Values are jax's.

    `jit`, `checkpoint`, `cond`, `while`, `scan`, custom derivatives, callbacks and prints become those of jax. Other
    primitives that hold programs keep their rules. A primitive whose program has effects is replaced by what its
    `interpret` rule computes. If a primitive has a `sharding` rule and its lowering calls foreign functions, jax's
    `custom_partitioning` divides the call by this rule.

    Args:
      what: a primitive, or a function of pytrees of arrays that is written with primax. primax traces the function once
        for each signature; it must not depend on the values of its arguments.
      static_argnums: positions of arguments of a function that are not arrays, but part of its program; hashable. They
        must be static in `jax.jit`, too. By default those that are static in `primax.jit`, if that made `what`.
      static_argnames: the names of such arguments.

    Returns:
      For a primitive a `jax.extend.core.Primitive` of the same name and parameters, always the same one. Its `bind`
      takes and returns arrays of jax. For a function, a function of jax arrays.

    Raises:
      TypeError: `what` is neither, or it is a primitive and has static arguments.
      ValueError: the function has no such position or name.
      ImportError: jax is not installed, or `import jax` means primax in this process.

    A call of the result raises NotImplementedError, before anything runs, for what jax cannot have: arrays of extended
    dtypes such as keys, and effects for which neither jax nor an `interpret` rule has an equivalent. The message names
    the primitive and the remedy.

        from primax.extend import to_jax
        from primax_kepler import kepler, kepler_p

        solve = to_jax(kepler)
        jax.jit(jax.vmap(jax.grad(solve)))(Ms, es)
        to_jax(kepler_p).bind(Ms, es)

    Examples:
      >>> from importlib.util import find_spec
      >>> import primax as px
      >>> from primax.extend import to_jax
      >>> f = to_jax(px.lax.sin) if find_spec("jax") else px.lax.sin  # f can be passed to jax.grad and jax.vmap
      >>> float(f(0.0))
      0.0
    """
    if isinstance(what, Primitive):
        if static_argnums is not None or static_argnames is not None:
            raise TypeError(
                f"to_jax: static_argnums and static_argnames must be None for a primitive, {what}, whose parameters "
                f"are static; got {static_argnums!r} and {static_argnames!r}"
            )
        return _bridge().primitive(what)
    if callable(what):
        if static_argnums is None and static_argnames is None:
            static_argnums, static_argnames = _static_arguments_of(what)
        positions = positions_and_names(what, static_argnums, static_argnames, "static", "to_jax")
        return _bridge().function(what, StaticArguments(*positions))
    raise TypeError(f"to_jax: what must be a primitive or a function of primax, got {what!r}")


def _static_arguments_of(fun: Any) -> tuple[Any, Any]:
    """The static arguments of a jitted function."""
    arguments: dict[str, Any] = {}
    if hasattr(fun, "_again"):
        _, (_, arguments) = fun._again
    return arguments.get("static_argnums"), arguments.get("static_argnames")


# Parameters of functions of jax that pass on a primitive's parameters by keyword, in jax 0.10 to 0.12, and names that
# its printer reads. In jax, a parameter of such a name has a prime at its end: `dims'`.
_TAKEN = frozenset(
    "args avals avals_in avals_out axis_data call_jaxpr closed_jaxpr ct ctx cts description dims effects eqn "
    "eqn_ctx fun inline jaxpr name params platform platforms prim primals primitive rule self tangents tokens_in "
    "trace vals".split()
)


# The last is private: it says which primitives need the devices of a program where they are lowered.
_MODULES = (
    *(f"interpreters.{name}" for name in ("ad", "batching", "mlir")),
    "experimental",
    "experimental.custom_partitioning",
    "_src.dispatch",
)


@functools.cache
def _bridge() -> Bridge:
    try:
        jax = import_module("jax")
        core = import_module("jax.extend.core")
    except ImportError as error:
        raise ImportError(
            f"to_jax: jax must be installed, got {error}; no other function of primax needs jax"
        ) from error
    if issubclass(core.Primitive, Primitive):
        raise ImportError(
            "to_jax: the real jax must be imported, but `import jax` imports primax in this process; there, use "
            "primitives of primax directly"
        )
    modules = {name.rpartition(".")[2]: import_module(f"jax.{name}") for name in _MODULES}
    return Bridge(SimpleNamespace(jax=jax, core=core, **modules))


class Bridge:
    """The primitives of jax that represent those of primax.

    Args:
      modules: the modules of jax, by the last part of the name.
    """

    def __init__(self, modules: Any) -> None:
        self.modules = modules
        self.replay = Replay(modules, self.primitive, self.aval)
        self.programs = Cache(8192)  # of one equation each

    def primitive(self, primitive: Primitive) -> Any:
        """The primitive of jax that represents one of primax."""
        stand_in = vars(primitive).get("_in_jax")
        if stand_in is None:
            load_plugins()
            stand_in = _InJax(self, primitive).stands_for
            vars(primitive)["_in_jax"] = stand_in
        return stand_in

    def function(self, fun: Callable[..., Any], static: StaticArguments) -> Callable[..., Any]:
        """A function of jax arrays that computes a function of primax."""
        programs = Cache(1024)
        name = name_of(fun, "a function")

        def run(*args: Any, **kwargs: Any) -> Any:
            with self.options():
                signature, leaves = read_call("to_jax", static, args, kwargs, name, None, self.aval, fun)
                closed, out_tree = programs.get_or_make(signature, lambda: self.staged(fun, name, static, signature))
                return tree.unflatten(out_tree, self.replay(closed, leaves))

        functools.update_wrapper(run, fun)
        return run

    def staged(
        self, fun: Callable[..., Any], name: str, static: StaticArguments, signature: Signature
    ) -> tuple[ClosedJaxpr, Any]:
        """The program of a function, and the structure of its result.

        Raises:
          NotImplementedError: jax cannot have the program.
        """
        out_trees: list[Any] = []

        def run(*leaves: Any) -> Any:
            dynamic, keywords = tree.unflatten(signature.in_tree, leaves)
            args, kwargs = static.merge(dynamic, keywords, signature.statics)
            outs, out_tree = tree.flatten(fun(*args, **kwargs))
            out_trees.append(out_tree)
            check_outputs(outs, out_tree, name)
            return outs

        closed = trace_to_jaxpr(run, signature.avals, name, "to_jax")
        self.replay.check(closed.jaxpr)
        return closed, out_trees[0]

    @contextmanager
    def options(self) -> Iterator[None]:
        """A `with` block in which `enable_x64` and the named axes are the same in primax as in jax."""
        jax = self.modules.jax
        with enable_x64(bool(jax.dtypes.canonicalize_dtype("float64") == "float64")), axes_of_jax(self.modules):
            yield

    def aval(self, x: Any) -> ShapedArray:
        """The type in primax of a value of jax."""
        return self.aval_of(self.modules.jax.typeof(x))

    def aval_of(self, aval: Any) -> ShapedArray:
        """The type in primax of a type of jax."""
        jax = self.modules.jax
        if not hasattr(aval, "dtype") or jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended):
            raise NotImplementedError(f"to_jax: values must be arrays of numbers, got {aval}; pass the data of keys")
        return ShapedArray(tuple(aval.shape), aval.dtype, bool(aval.weak_type))

    def aval_in_jax(self, primitive: Primitive, aval: Any, like: Any) -> Any:
        """The type in jax for a type of primax, varying along the same axes as `like`."""
        if not isinstance(aval, ShapedArray) or has_extended_dtype(aval):
            raise NotImplementedError(
                f"to_jax: results of {primitive} must be arrays of numbers, got {aval.str_short()}"
            )
        if varying(like):
            return like.update(shape=aval.shape, dtype=aval.dtype, weak_type=aval.weak_type)
        return self.modules.jax.core.ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)

    def program(self, primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
        """The program of one application of a primitive."""

        def run(*args: Any) -> Sequence[Any]:
            out = primitive.bind(*args, **params)
            return list(out) if primitive.multiple_results else [out]

        def make() -> ClosedJaxpr:
            return trace_to_jaxpr(run, avals, primitive.name)

        axes = tuple(thread.axes.items()) if thread.axes else ()
        key = (primitive, tuple(avals), params_key(params), thread.config, axes)
        return self.programs.get_or_make(key, make) if is_hashable(key) else make()


class _InJax:
    """A primitive of primax, with its rules in the form that jax calls."""

    def __init__(self, bridge: Bridge, primitive: Primitive) -> None:
        self.bridge = bridge
        self.given = primitive
        modules = bridge.modules
        self.stands_for = new = _primitive_class(modules.core.Primitive)(primitive.name)
        new.multiple_results = primitive.multiple_results
        new.def_impl(_with_given_names(self.impl))
        new.def_abstract_eval(_with_given_names(self.abstract_eval))
        modules.ad.primitive_jvps[new] = _with_given_names(self.jvp)
        modules.ad.primitive_transposes[new] = _with_given_names(self.transpose)
        modules.batching.primitive_batchers[new] = _with_given_names(self.batch)
        lowering = _with_given_names(self.lowering)
        modules.mlir.register_lowering(new, lowering)
        self.compiles = compiles(primitive)
        if primitive in sharding_rules:
            tell_devices(modules, new)
        self._foreign: dict[str, bool] = {}  # whether the lowering for a platform calls foreign functions
        for key in [key for key in lowering_rules if isinstance(key, tuple) and key[0] is primitive]:
            # A new function for each platform, since jax treats the platforms of one function as one.
            modules.mlir.register_lowering(new, functools.partial(lowering), platform=key[1])
        self._apply = modules.jax.jit(_named(self._bind, primitive.name), static_argnums=0)

    def _bind(self, params: tuple[tuple[str, Any], ...], *args: Any) -> Any:
        return self.stands_for.bind(*args, **dict(params))

    def _results(self, outs: Sequence[Any]) -> Any:
        return list(outs) if self.given.multiple_results else outs[0]

    def impl(self, /, *args: Any, **params: Any) -> Any:
        """Compile the primitive with jax, or evaluate it with primax if it cannot be compiled."""
        if not self.compiles:
            with self.bridge.options():
                out = self.given.bind(*map(np.asarray, args), **params)
            outs = out if self.given.multiple_results else [out]
            return self._results([self.bridge.modules.jax.numpy.asarray(np.asarray(x)) for x in outs])
        static = tuple(sorted(params.items()))
        if is_hashable(static):
            return self._apply(static, *args)
        return self.bridge.modules.jax.jit(functools.partial(self._bind, static))(*args)

    def abstract_eval(self, /, *avals: Any, **params: Any) -> Any:
        """The types of its results in jax.

        Raises:
          NotImplementedError: it has effects.
        """
        with self.bridge.options():
            outs, effects = self.given.result_types(tuple(map(self.bridge.aval_of, avals)), params)
        if effects:
            text = ", ".join(sorted(map(str, effects)))
            raise refusal(
                self.given, f"must have no effects, got {text}", "call to_jax with a function that applies it"
            )
        like = max(avals, key=lambda aval: len(varying(aval)), default=None)
        return self._results([self.bridge.aval_in_jax(self.given, aval, like) for aval in outs])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], /, **params: Any) -> Any:
        """Results and tangents, by the program that primax's differentiation makes of one application."""
        bridge = self.bridge
        jax, zero = bridge.modules.jax, bridge.modules.ad.Zero
        nonzero = [type(t) is not zero and jax.typeof(t).dtype != jax.dtypes.float0 for t in tangents]
        with bridge.options():
            closed = bridge.program(self.given, list(map(bridge.aval, primals)), params)
            program, has_tangent = jvp_jaxpr(closed, nonzero)
            nonzeros = [t for t, nz in zip(tangents, nonzero, strict=True) if nz]
            results = bridge.replay.jvp(program, primals, nonzeros, len(has_tangent))
        outs, rest = results[: len(has_tangent)], iter(results[len(has_tangent) :])
        out_tangents = [
            next(rest) if has else zero(jax.typeof(out).to_tangent_aval())
            for has, out in zip(has_tangent, outs, strict=True)
        ]
        return self._results(outs), self._results(out_tangents)

    def batch(self, args: Sequence[Any], dims: Sequence[Any], /, **params: Any) -> Any:
        """Results and their batch axes, by the program that primax's `vmap` makes of one application."""
        bridge = self.bridge
        for dim in dims:
            if dim is not None and not isinstance(dim, int):
                raise NotImplementedError(f"to_jax: {self.given}: batch dims must be integers or None, got {dim!r}")
        (size,) = {x.shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None}
        with bridge.options():
            avals = [
                aval if dim is None else aval.mapped(size, dim)
                for aval, dim in zip(map(bridge.aval, args), dims, strict=True)
            ]
            program, dims_out = batch_jaxpr(bridge.program(self.given, avals, params), AxisData(None, size), dims)
            outs = bridge.replay(program, args)
        return self._results(outs), self._results(dims_out)

    def transpose(self, cotangents: Any, /, *args: Any, **params: Any) -> list[Any]:
        """Cotangents of the undefined arguments, by the transposed program of one application."""
        bridge = self.bridge
        ad = bridge.modules.ad
        cts = list(cotangents) if self.given.multiple_results else [cotangents]
        linear = [ad.is_undefined_primal(x) for x in args]
        nonzero = [type(ct) is not ad.Zero for ct in cts]
        with bridge.options():
            avals = [
                bridge.aval_of(x.aval) if is_linear else bridge.aval(x)
                for x, is_linear in zip(args, linear, strict=True)
            ]
            program, has = transpose_jaxpr(bridge.program(self.given, avals, params), linear, nonzero)
            known = [x for x, is_linear in zip(args, linear, strict=True) if not is_linear]
            computed = iter(bridge.replay(program, [*known, *(ct for ct, nz in zip(cts, nonzero, strict=True) if nz)]))
        linear_cts = iter([next(computed) if there else None for there in has])
        return [next(linear_cts) if is_linear else None for is_linear in linear]

    def lowering(self, ctx: Any, /, *values: Any, **params: Any) -> Any:
        """The StableHLO that primax's rule builds, in the module that jax builds.

        If that calls foreign functions and the primitive has a sharding rule, jax's custom partitioning divides it.
        """
        bridge = self.bridge
        with bridge.options():
            avals_in, avals_out = (list(map(bridge.aval_of, avals)) for avals in (ctx.avals_in, ctx.avals_out))
            factors = factors_of(self.given, avals_in, avals_out, params) if is_divided(ctx.module_context) else None
            if factors is None or not (divides_all() or self._is_foreign(ctx, values, params)):
                return self.lowered(ctx, *values, **params)

            def apply(*args: Any) -> Any:
                out = self.part.bind(*args, **params)
                return out if self.given.multiple_results else [out]

            divided = partitioned(bridge.modules, apply, factors)
            return bridge.modules.mlir.lower_fun(divided, multiple_results=True)(ctx, *values)

    def lowered(self, ctx: Any, /, *values: Any, **params: Any) -> list[Any]:
        """The StableHLO that primax's rule builds, undivided."""
        bridge = self.bridge
        with bridge.options():
            avals_in = list(map(bridge.aval_of, ctx.avals_in))
            module = _module_of(ctx, bridge.program(self.given, avals_in, params))
            inner = LoweringRuleContext(module, self.given, avals_in, list(map(bridge.aval_of, ctx.avals_out)))
            return lower_eqn(inner, values, params)

    def _is_foreign(self, ctx: Any, values: Sequence[Any], params: dict[str, Any]) -> bool:
        """Whether the lowering calls foreign functions; the first lowering for a platform decides."""
        platform = (ctx.platforms or ctx.module_context.platforms)[0]
        if platform not in self._foreign:
            module = _module_of(ctx, ClosedJaxpr(Jaxpr([], [], [], []), []))
            types = [x.type for x in values]
            self._foreign[platform] = calls_foreign(module, types, lambda xs: self.lowered(ctx, *xs, **params))
        return self._foreign[platform]

    @functools.cached_property
    def part(self) -> Any:
        """The primitive of jax for what one device computes; it is only lowered."""
        modules = self.bridge.modules
        part = _primitive_class(modules.core.Primitive)(self.given.name)
        part.multiple_results = self.given.multiple_results
        part.def_abstract_eval(_with_given_names(self.abstract_eval))
        modules.mlir.register_lowering(part, _with_given_names(self.lowered))
        return part


def _primitive_class(base: Any) -> Any:
    """A class of jax primitives whose parameters may have any name."""

    class Primitive(base):  # type: ignore[misc]
        def bind(self, /, *args: Any, **params: Any) -> Any:
            return super().bind(*args, **{f"{name}'" if name in _TAKEN else name: x for name, x in params.items()})

    return Primitive


def _with_given_names(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that jax calls, with the parameters under the names that the caller of `bind` gave."""

    def call(*args: Any, **params: Any) -> Any:
        return rule(*args, **{name.removesuffix("'"): x for name, x in params.items()})

    return call


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return function(*args)

    call.__name__ = name
    return call


class _ContextOfJax:
    """jax's MLIR context, with the attributes that rules of primax use."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.types: dict[Any, Any] = {}
        self.locations = _jaxlib.mlir_ext.TracebackToLocationCache(code_to_filename=_file_of, frame_limit=10)
        self.unknown = _jaxlib.ir.Location.unknown()


def _file_of(code: Any) -> str:
    return str(code.co_filename)


def _module_of(ctx: Any, closed: ClosedJaxpr) -> ModuleContext:
    """The module that jax is building, with the attributes that rules of primax use."""
    theirs = ctx.module_context
    platform = (ctx.platforms or theirs.platforms)[0]
    module: Any = ModuleContext(_ContextOfJax(theirs.context), theirs.module, platform, closed.jaxpr)  # type: ignore[arg-type]
    module.symbols = theirs.symbol_table
    module.host_callbacks = theirs.host_callbacks
    module.keepalives = theirs.keepalives
    module.checked = True
    return module  # type: ignore[no-any-return]
