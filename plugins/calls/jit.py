"""`jit`: a Python function as a compiled program."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, overload

import numpy as np

from primax.extend import core, dtypes
from primax.extend.api_util import StaticArguments, positions_and_names, shaped_abstractify
from primax.extend.backend import Target, clear_in_memory_compilation_cache
from primax.extend.programs import Program
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import among, check_function, wraps
from primax.extend.provisional.avals import array_of
from primax.extend.provisional.programs import Signature
from primax.extend.provisional.references import refuse_aliases
from primax.extend.provisional.sharding import canonical_sharding, devices_of
from primax.extend.provisional.tracing import Cache, thread
from primax.extend.provisional.typing import DeviceLike
from primax.plugins.calls.jitted import JittedFunction, SeemingPjitFunction
from primax.plugins.calls.primitive import jit_p
from primax.plugins.calls.shardings import JitShardings
from primax.plugins.calls.stages import CompilerOptions, Lowered, Traced, Wrapped, read_options, structs_of


def clear_caches() -> None:
    """Clear the caches of traced and compiled programs; the next call of each function traces it again.

    Examples:
      >>> import primax as px
      >>> f = px.jit(lambda x: print("traced") or x)
      >>> _ = f(1.0), f(2.0)
      traced
      >>> px.clear_caches()
      >>> _ = f(3.0)
      traced
    """
    clear_in_memory_compilation_cache()


_P = ParamSpec("_P")
_R = TypeVar("_R")


class Inline(enum.Enum):
    """When a call of a jitted function is inlined; the names are JAX's.

    Here a call remains a call, whose program XLA may inline. With JAX_EARLY, programs contain the equations instead.

    Examples:
      >>> import primax as px
      >>> px.make_jaxpr(px.jit(lambda x: 2 * x, inline=px.Inline.JAX_EARLY))(1.0)
      { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
    """

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def _as_array(x: Any, aval: Any) -> Any:
    """A value of a program as an array; tracers, and values that are not arrays, unchanged."""
    hosted = isinstance(x, bool | int | float | complex | np.ndarray | np.generic)
    return array_of(x, aval) if hosted and aval.dtype != dtypes.float0 else x


def _is_inlined(inline: bool | Inline | None) -> bool:
    if isinstance(inline, Inline):
        return inline is Inline.JAX_EARLY
    if not among(inline, _OPTIONAL_BOOLS):
        raise TypeError(f"jit: inline must be a bool or an Inline, got {inline!r}")
    return bool(inline)


_OPTIONAL_BOOLS = (False, True, None)


class Jitted(runtime.CompiledFunction):
    """The Python side of one jitted function: everything except the fast path."""

    __slots__ = ("inline",)
    inline: bool

    def bind(self, program: Program, leaves: list[Any], donated: tuple[bool, ...]) -> list[Any]:
        """The flat results of a call inside of transformations."""
        trace, jaxpr, consts = thread.trace, program.closed.jaxpr, program.closed.consts
        if program.mutable:
            refuse_aliases(self.name, consts, leaves)
        if self.options and runtime.is_staged(trace):
            raise ValueError(
                f"jit: compiler_options must not be given to a function that is called inside another program, "
                f"got {dict(self.options)} for {self.name}; give them to the outermost jit"
            )
        if self.inline and trace.tracing:
            outs = core.eval_jaxpr(jaxpr, consts, *leaves)
            if runtime.is_staged(trace):
                return outs
            # Results are arrays, as those of a call.
            return [_as_array(x, v.aval) for x, v in zip(outs, jaxpr.outvars, strict=True)]
        return jit_p.bind(
            *consts,
            *leaves,
            jaxpr=program.open,
            name=self.name,
            donated_invars=(False,) * len(consts) + (donated or (False,) * len(leaves)),
            keep_unused=self.keep_unused,
            inline=self.inline,
        )

    def explain_miss(self, signature: Signature, programs: Cache) -> None:
        """Log how a call that will be traced differs from earlier calls."""
        import_module("primax.plugins.calls.explain").explain_miss(self.name, signature, programs)  # few users need it

    def staged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        """The first stage at which a program can be inspected."""
        program, leaves = runtime.trace_call(self, args, kwargs, shaped_abstractify)
        if program.tracers:
            raise core.UnexpectedTracerError(
                f"{self.name} closes over values of an enclosing transformation; pass them as arguments to inspect it"
            )
        if program.mutable:
            refuse_aliases(self.name, program.closed.consts, leaves)
        donated = self.donated(args, kwargs)
        arrays = leaves if program.parts is None else program.parts.leaves(leaves)
        site = self.site(program.on_parts(), arrays)
        return Traced(program, self.name, Target(f"jit_{self.name}", site, donated, self.keep_unused, self.options))


class JitOptions(TypedDict, total=False):
    """The options of `jit`."""

    in_shardings: object
    out_shardings: object
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Sequence[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Sequence[str] | None
    keep_unused: bool
    inline: bool | Inline
    device: DeviceLike | None
    backend: str | None
    compiler_options: CompilerOptions | None


@overload
def jit(fun: Callable[_P, _R], **options: Unpack[JitOptions]) -> Wrapped[_P, _R]: ...
@overload
def jit(fun: None = None, **options: Unpack[JitOptions]) -> Callable[[Callable[_P, _R]], Wrapped[_P, _R]]: ...
def jit(
    fun: Callable[_P, _R] | None = None,
    *,
    in_shardings: object = None,
    out_shardings: object = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    inline: bool | Inline = False,
    device: DeviceLike | None = None,
    backend: str | None = None,
    compiler_options: CompilerOptions | None = None,
) -> Any:
    """Compile a function with XLA, once for each signature of its arguments.

    Args:
      fun: a function of pytrees of arrays; usable as a decorator, with or without options.
      in_shardings: the shardings of arguments: a sharding, a `PartitionSpec` over the mesh in scope, or None for any
        sharding; or a tuple of these in the structure of the non-static positional arguments, or a prefix of it.
        Arguments that are committed to another sharding raise an error.
      out_shardings: the shardings of results, in the same form; None leaves them to XLA.
      static_argnums: positions of arguments that are part of the program; hashable, compared by value.
      static_argnames: the names of static arguments.
      donate_argnums: positions of arguments whose buffers results may reuse; reading such an argument afterwards raises
        an error.
      donate_argnames: the names of donated arguments.
      keep_unused: whether to pass arguments that the program does not use.
      inline: whether programs that call it contain its equations instead of a call; or an `Inline`.
      device: the device to run on; by default that of committed arguments.
      backend: the name of a platform, on whose first device the function runs.
      compiler_options: options of XLA by name, such as `{"xla_backend_optimization_level": 0}`; the effort of the
        compiler is `optimization_level` and `memory_fitting_level`, each from "O0" to "O3".

    Returns:
      A function of the same arguments, with methods `trace`, `lower` and `eval_shape`.

    Raises:
      TypeError: `fun` is not callable, an argument is neither static nor an array, `device` is not a device, or
        `keep_unused` or `inline` is not a bool.
      ValueError: a static position or name is not an argument of `fun`, both `device` and `backend` are given, a
        sharding does not fit an argument, or a call inside another program has `compiler_options`.
      XlaError: there is no such platform, or XLA does not have an option.

    >>> import primax as px
    >>> f = px.jit(lambda x: 2.0 * x + 1.0)
    >>> float(f(3.0))
    7.0
    """
    arguments = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "inline": inline,
        "device": device,
        "backend": backend,
        "compiler_options": compiler_options,
    }
    if fun is None:
        return functools.partial(jit, **arguments)
    check_function("jit", "fun", fun)
    inlined = _is_inlined(inline)
    if not among(keep_unused, _OPTIONAL_BOOLS):
        raise TypeError(f"jit: keep_unused must be a bool, got {keep_unused!r}")
    static = StaticArguments((), ())
    donate = StaticArguments((), ())
    if static_argnums is not None or static_argnames is not None:
        static = StaticArguments(*positions_and_names(fun, static_argnums, static_argnames, "static", "jit"))
    if donate_argnums is not None or donate_argnames is not None:
        donate = StaticArguments(*positions_and_names(fun, donate_argnums, donate_argnames, "donate", "jit"))
        both = set(static.positions) & set(donate.positions)
        if both:
            raise ValueError(f"jit: an argument cannot be both static and donated, got {sorted(both)}")
    if backend is not None:
        if device is not None:
            raise ValueError(f"jit: device must be None where backend is given, got {device!r} and {backend!r}")
        device = runtime.local_devices(backend=backend)[0]
    shardings = None
    if in_shardings is not None or out_shardings is not None:
        shardings = JitShardings(in_shardings, out_shardings)
    if device is not None:
        if shardings is not None:
            raise ValueError("jit: device and backend must be None where in_shardings or out_shardings are given")
        device = devices_of(canonical_sharding("jit", "device", device))[0]
    options = read_options("jit", compiler_options)
    jitted = Jitted(fun, "jit", static, donate, bool(keep_unused), device, options, shardings)
    jitted.inline = inlined
    static_names, donate_names = tuple(sorted(static.names)), tuple(sorted(donate.names))
    settings = (keep_unused, inlined, device, options, shardings and shardings.key)
    key = (static.positions, static_names, donate.positions, donate_names, *settings)
    fast = runtime.fast_function(jitted.name, fun, jitted.miss, static.positions, static_names, key, jitted.donation)
    dispatch = fast._dispatch
    # Packages written for JAX recognize jitted functions by the type of jaxlib's.
    kind = SeemingPjitFunction if SeemingPjitFunction.enabled else JittedFunction
    function: Any = wraps(fun)(kind(fast))

    def trace(*args: Any, **kwargs: Any) -> Traced:
        """The program for these arguments (or `ShapeDtypeStruct`s), before lowering."""
        return jitted.staged(args, kwargs)

    def lower(*args: Any, **kwargs: Any) -> Lowered:
        """The StableHLO module for these arguments (or `ShapeDtypeStruct`s)."""
        return jitted.staged(args, kwargs).lower()

    def shapes(*args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the results for these arguments."""
        program, _ = runtime.trace_call(jitted, args, kwargs, shaped_abstractify)
        return structs_of(program)

    def clear_cache() -> None:
        """Drop the programs of this function."""
        jitted.programs().clear()
        dispatch.forget()

    function.trace = trace
    function.lower = lower
    function.eval_shape = shapes
    function.clear_cache = clear_cache
    function._clear_cache = dispatch.forget
    function._cache_size = dispatch.size
    function._dispatch = dispatch
    function._again = _jit_again, (fun, arguments)
    return function


def _jit_again(fun: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The jitted function of a pickle."""
    return jit(fun, **arguments)


def eval_shape(fun: Callable[..., Any], *args: object, **kwargs: object) -> Any:
    """The shapes and dtypes of the results of a function, without computing them.

    Args:
      fun: the function; a jitted one may have static arguments.
      args: its arguments: arrays, or anything with a shape and a dtype.
      kwargs: its keyword arguments.

    Returns:
      The structure of the result, with `ShapeDtypeStruct`s for arrays.

    >>> import primax as px
    >>> px.eval_shape(lambda x: x + 1.0, px.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    check_function("eval_shape", "fun", fun)
    if hasattr(fun, "_dispatch") and hasattr(fun, "eval_shape"):
        return fun.eval_shape(*args, **kwargs)
    nothing = StaticArguments((), ())
    program, _ = runtime.trace_call(Jitted(fun, "jit", nothing, nothing), args, kwargs, shaped_abstractify)
    return structs_of(program)
