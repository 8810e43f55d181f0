"""`jit`: a Python function as a compiled program."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.api_util import StaticArguments, positions_and_names, shaped_abstractify
from primax.extend.backend import clear_in_memory_compilation_cache
from primax.extend.core import dtypes, tree
from primax.extend.programs import Program
from primax.extend.provisional import runtime
from primax.extend.provisional.arguments import among, avals_of, check_function, name_of, naming, wraps
from primax.extend.provisional.avals import array_of
from primax.extend.provisional.programs import (
    check_outputs,
    new_programs,
    program_info,
    programs_of,
    remember,
    surroundings,
)
from primax.extend.provisional.sharding import canonical_sharding, devices_of
from primax.extend.provisional.tracing import Cache, thread
from primax.plugins.calls.primitive import jit_p
from primax.plugins.calls.spread import JitShardings
from primax.plugins.calls.stages import CompilerOptions, Lowered, Traced, read_options, structs_of
from primax.plugins.devices import constrain_all

__all__ = ["Inline", "clear_caches", "eval_shape", "jit"]


def clear_caches() -> None:
    """Clear the caches of traced and compiled programs; the next call of each function traces it again."""
    clear_in_memory_compilation_cache()


class Inline(enum.Enum):
    """When a call of a jitted function is inlined; the names are JAX's.

    Here a call remains a call, whose program XLA may inline. With JAX_EARLY, programs contain the equations instead.
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


class Jitted:
    """The Python side of one jitted function: everything but the fast path."""

    __slots__ = (
        "device",
        "donate",
        "fun",
        "inline",
        "keep_unused",
        "name",
        "overrides",
        "own_programs",
        "spread",
        "static",
    )

    def __init__(
        self,
        fun: Callable[..., Any],
        static: StaticArguments,
        donate: StaticArguments,
        keep_unused: bool,
        inline: bool,
        device: Any = None,
        overrides: tuple[tuple[str, Any], ...] = (),
        spread: JitShardings | None = None,
    ) -> None:
        self.fun = fun
        self.name = name_of(fun)
        self.static = static
        self.donate = donate
        self.keep_unused = keep_unused
        self.inline = inline
        self.device = device
        self.overrides = overrides
        self.spread = spread
        self.own_programs: Cache | None = None

    def programs(self) -> Cache:
        """The programs of this function, shared by all of its jitted forms, with the lifetime of the function."""
        found = programs_of(self.fun)
        if found is None:
            found = self.own_programs
            if found is None:
                found = self.own_programs = new_programs()
        return found

    def program(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], type_of: Callable[[Any], Any] = core.get_aval
    ) -> tuple[Program, list[Any]]:
        """The traced program for a call, and the flat arguments of the call."""
        dynamic, keywords, record = self.static.split(args, kwargs, self.name)
        leaves, in_tree = tree.flatten((dynamic, keywords))
        avals = avals_of(leaves, (dynamic, keywords), self.name, call=True, type_of=type_of)
        key = (in_tree, tuple(avals), record, (self.static.positions, self.spread and self.spread.key), surroundings())
        programs = self.programs()

        def make() -> Program:
            if core.config.explain_cache_misses.value:
                explain = import_module("primax.plugins.calls.explain")  # few users need it
                explain.explain_miss(self.name, key, programs)
            return self.trace(in_tree, avals, record)

        return remember(programs, key, make), leaves

    def trace(self, in_tree: Any, avals: list[Any], record: Any) -> Program:
        """Stage the function for one signature."""
        out_trees: list[Any] = []
        fun = self.fun
        ins: list[Any] | None = None
        outs: list[Any] | None = None
        if self.spread is not None:
            ins = self.spread.of_inputs(in_tree, avals, self.name)

        def run(*flat: Any) -> list[Any]:
            nonlocal outs
            if ins is not None:
                flat = tuple(constrain_all(flat, ins))
            dynamic, keywords = tree.unflatten(in_tree, flat)
            args, keywords = StaticArguments.merge(dynamic, keywords, record)
            leaves, out_tree = tree.flatten(fun(*args, **keywords))
            out_trees.append(out_tree)
            check_outputs(leaves, out_tree, self.name)
            if self.spread is not None:
                outs = self.spread.of_outputs(out_tree, leaves, self.name)
                leaves = constrain_all(leaves, outs)
            return leaves

        closed = core.trace_to_jaxpr(run, avals, self.name, "jit")
        closed.jaxpr.debug_info = program_info("jit", fun, in_tree, out_trees[0], self.static.positions)
        return Program(closed, in_tree, out_trees[0], ins, outs)

    def donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, ...]:
        """For each flat argument whether its buffer may be reused."""
        if not self.donate.positions and not self.donate.names:
            return ()
        flags: list[bool] = []
        for i, x in enumerate(args):
            if i not in self.static.positions:
                flags += [i in self.donate.positions] * len(tree.flatten(x)[0])
        for name in sorted(kwargs):
            if name not in self.static.names:
                flags += [name in self.donate.names] * len(tree.flatten(kwargs[name])[0])
        return tuple(flags)

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Called by the dispatcher for new signatures, and under every transformation."""
        if core.config.disable_jit.value:
            return self.fun(*args, **kwargs), None, False
        program, leaves = self.program(args, kwargs)
        donated = self.donated(args, kwargs)
        if not thread.trace.tracing and not program.tracers:
            if any(donated):
                results, fast = self.donating(program, leaves, donated)
            else:
                results, fast = self.first_call(program, leaves)
            return tree.unflatten(program.out_tree, results), fast, False
        consts = program.closed.consts
        if self.overrides and runtime.is_staged(thread.trace):
            raise ValueError(
                f"jit: compiler_options must not be given to a function that is called inside another program, "
                f"got {dict(self.overrides)} for {self.name}; give them to the outermost jit"
            )
        if self.inline and thread.trace.tracing:
            flat = core.eval_jaxpr(program.closed.jaxpr, consts, *leaves)
            if not runtime.is_staged(thread.trace):  # results are arrays, as those of a call
                flat = [_as_array(x, v.aval) for x, v in zip(flat, program.closed.jaxpr.outvars, strict=True)]
        else:
            flat = jit_p.bind(
                *consts,
                *leaves,
                jaxpr=program.open,
                name=self.name,
                donated_invars=(False,) * len(consts) + (donated or (False,) * len(leaves)),
                keep_unused=self.keep_unused,
                inline=self.inline,
            )
        return tree.unflatten(program.out_tree, flat), None, False

    def first_call(self, program: Program, leaves: list[Any], donated: tuple[bool, ...] = ()) -> tuple[list[Any], Any]:
        """Run a program outside of transformations; returns the results, and the data with which jaxlib can run it."""
        return runtime.first_call(
            program.closed,
            f"jit_{self.name}",
            leaves,
            program.fast_tree,
            self.site(program, leaves) if self.device or self.spread else None,
            donated,
            self.keep_unused,
            self.overrides,
        )

    def site(self, program: Program, leaves: list[Any]) -> runtime.Site:
        """The site on which the program runs with these arguments."""
        if self.device is not None:
            return runtime.one_device(self.device)
        with naming(self.name):
            return runtime.choose_site(program.closed, leaves, program.ins, program.outs)

    def donating(self, program: Program, leaves: list[Any], donated: tuple[bool, ...]) -> tuple[Any, Any]:
        """`first_call` for donated arguments; constants of programs, this one included, are not donated."""
        held = {id(x) for x in program.closed.consts}
        passed = [
            runtime.copy_if_shared(x, id(x) in held) if gives else x for x, gives in zip(leaves, donated, strict=True)
        ]
        results, fast = self.first_call(program, passed, donated)
        copied = [i for i, x in enumerate(leaves) if passed[i] is not x]
        runtime.mark_donated([leaves[i] for i in copied], self.name, [passed[i] for i in copied])
        return results, None if copied else fast

    def staged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        """The first stage at which a program can be inspected."""
        program, leaves = self.program(args, kwargs, shaped_abstractify)
        if program.tracers:
            raise core.UnexpectedTracerError(
                f"{self.name} closes over values of an enclosing transformation; pass them as arguments to inspect it"
            )
        site = self.site(program, leaves)
        return Traced(program, self.name, self.donated(args, kwargs), self.keep_unused, site, self.overrides)

    def donated_leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of the donated arguments."""
        donated = [args[i] for i in self.donate.positions if i < len(args)]
        if kwargs:
            donated += [kwargs[name] for name in self.donate.names if name in kwargs]
        return donated if all(type(x) is core.Array for x in donated) else tree.tree_leaves(donated)


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: Any = None,
    static_argnames: Any = None,
    donate_argnums: Any = None,
    donate_argnames: Any = None,
    keep_unused: bool = False,
    inline: bool | Inline = False,
    device: Any = None,
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
    if fun is None:
        return functools.partial(
            jit,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            inline=inline,
            device=device,
            backend=backend,
            compiler_options=compiler_options,
        )
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
    spread = (
        JitShardings(in_shardings, out_shardings) if in_shardings is not None or out_shardings is not None else None
    )
    if device is not None:
        if spread:
            raise ValueError("jit: device and backend must be None where in_shardings or out_shardings are given")
        device = devices_of(canonical_sharding("jit", "device", device))[0]
    overrides = read_options("jit", compiler_options)
    jitted = Jitted(fun, static, donate, keep_unused, inlined, device, overrides, spread)
    static_names, donate_names = tuple(sorted(static.names)), tuple(sorted(donate.names))
    how = (keep_unused, inlined, device, overrides, spread and spread.key)
    key = (static.positions, static_names, donate.positions, donate_names, *how)
    donates = donate.positions or donate.names
    donation = runtime.Donation(jitted.name, jitted.donated, jitted.donated_leaves) if donates else None
    function = runtime.fast_function(jitted.name, fun, jitted.miss, static.positions, static_names, key, donation)
    dispatch = function._dispatch
    wraps(fun)(function)

    def trace(*args: Any, **kwargs: Any) -> Traced:
        """The program for these arguments (or `ShapeDtypeStruct`s), before lowering."""
        return jitted.staged(args, kwargs)

    def lower(*args: Any, **kwargs: Any) -> Lowered:
        """The StableHLO module for these arguments (or `ShapeDtypeStruct`s)."""
        return jitted.staged(args, kwargs).lower()

    def shapes(*args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the results for these arguments."""
        program, _ = jitted.program(args, kwargs, shaped_abstractify)
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
    # Packages written for JAX recognize jitted functions by the type of jaxlib's.
    return runtime.SeemingPjitFunction(function) if runtime.SeemingPjitFunction.wanted else function


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
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
    program, _ = Jitted(fun, nothing, nothing, False, False).program(args, kwargs, shaped_abstractify)
    return structs_of(program)
