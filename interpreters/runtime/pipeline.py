"""From a function to an executable: tracing, lowering and compilation, each once for each signature."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol

import numpy as np

from primax.core.avals import abstract_token, get_aval
from primax.core.cache import Cache, epoch
from primax.core.dce import dce_jaxpr
from primax.core.dimensions import dimension_kinds, has_dynamic
from primax.core.effects import no_effects
from primax.core.errors import UnsupportedError
from primax.core.gc_pause import gc_paused
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, cached
from primax.core.text.debug_info import program_info
from primax.core.trace import Tracer, escaped
from primax.core.tree import flatten, result_registry
from primax.interpreters import passes
from primax.interpreters.call_signature import Signature, StaticArguments, check_outputs, read_call
from primax.interpreters.events import LOWER, timed
from primax.interpreters.passes import rewritten
from primax.interpreters.runtime import device_put
from primax.interpreters.runtime import options as config
from primax.interpreters.runtime.array import Array
from primax.interpreters.runtime.compile import compile_module, module_text, spans_processes
from primax.interpreters.runtime.devices.backends import joined
from primax.interpreters.runtime.dispatch import fast_path
from primax.interpreters.runtime.executable import Executable, UnnameableSharding, const_shardings
from primax.interpreters.runtime.sharding.device_assignment import DeviceAssignment, choose_devices
from primax.interpreters.runtime.sharding.mesh import PartitionSpec
from primax.interpreters.runtime.sharding.shardings import devices_of
from primax.interpreters.runtime.sharding.shardy import Explicit, SpmdShardings
from primax.interpreters.runtime.stablehlo_module import StablehloModule, lower_to_module
from primax.interpreters.runtime.watches import start_watches
from primax.interpreters.staging import trace_to_jaxpr


class Program:
    """The result of tracing one signature of a function.

    Attributes:
      closed: the program; its constants are the values that the function closed over.
      out_tree: the structure of its results.
      in_tree: the structure of its dynamic arguments.
      ins: for each input its sharding, or None; None if no sharding is prescribed.
      outs: the same for its results.
      mutable: whether it takes references.
      tracers: the constants that belong to enclosing transformations.
      unpacks: whether its trees have containers of the parts of values of users' types.
    """

    __slots__ = ("_fast_tree", "_open", "closed", "in_tree", "ins", "mutable", "out_tree", "outs", "tracers", "unpacks")

    def __init__(self, closed: ClosedJaxpr, in_tree: Any, out_tree: Any, ins: Any = None, outs: Any = None) -> None:
        self.closed = closed
        self.ins = ins
        self.outs = outs
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.unpacks = False
        self.tracers = [x for x in closed.consts if isinstance(x, Tracer)]
        self.mutable = any(v.aval.mutable for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars))
        self._fast_tree: Any = None
        self._open: ClosedJaxpr | None = None

    def fast_tree(self, outs: Sequence[Any]) -> Any:
        """`out_tree` for jaxlib's dispatcher, which makes an `Array` of each buffer; `outs` are results of a call."""
        if self._fast_tree is None:
            self._fast_tree = result_registry.flatten(self.out_tree.unflatten(outs))[1]
        return self._fast_tree

    @property
    def open(self) -> ClosedJaxpr:
        """The program with its constants as leading arguments."""
        if self._open is None:
            jaxpr = self.closed.jaxpr
            invars = [*jaxpr.constvars, *jaxpr.invars]
            self._open = ClosedJaxpr(jaxpr.replace(constvars=[], invars=invars)) if jaxpr.constvars else self.closed
        return self._open

    @property
    def parts(self) -> Any:
        """The program on the parts of values of users' types; None if it has no such values."""
        return None if passes.splitter is None else passes.splitter(self.closed)

    def on_parts(self) -> Program:
        """The program on the parts of values of users' types; itself if it has no such values."""
        if self.parts is None:
            return self
        parts = self.parts
        in_tree, out_tree = parts.trees(self.in_tree, self.out_tree)
        program = Program(parts.closed, in_tree, out_tree, parts.of_inputs(self.ins), parts.of_outputs(self.outs))
        program.unpacks = True
        return program

    def alive(self) -> bool:
        """Whether the enclosing transformations whose values the function closed over are still active."""
        return all(x._trace.alive for x in self.tracers)


class Shardings(Protocol):
    """The prescribed shardings of the arguments and results of a function.

    Attributes:
      key: a hashable value; equal ones prescribe the same.
    """

    key: Any

    def of_inputs(self, in_tree: Any, avals: Sequence[Any], name: str) -> list[Any]:
        """For each flat argument its sharding, or None."""

    def of_outputs(self, out_tree: Any, outs: Sequence[Any], name: str) -> list[Any]:
        """For each flat result its sharding, or None."""

    def constrain(self, values: Sequence[Any], shardings: Sequence[Any]) -> list[Any]:
        """The values with these shardings."""


_programs: weakref.WeakKeyDictionary[Any, Cache] = weakref.WeakKeyDictionary()


def programs_of(fun: Callable[..., Any]) -> Cache | None:
    """The programs of a function, shared by all its users; None if the function is not hashable."""
    try:
        programs = _programs.get(fun)
        if programs is None:
            programs = _programs[fun] = new_programs()
        return programs
    except TypeError:
        return None


def new_programs() -> Cache:
    """A cache for the programs of one function."""
    return Cache(1024)


def remember(programs: Cache, key: Any, make: Callable[[], Program]) -> Program:
    """The cached program of a signature, or a new one.

    A program that closes over values of a transformation is forgotten when the transformation ends.
    """
    program: Program | None = programs.find(key)
    if program is not None:
        if not program.tracers or program.alive():
            return program
        programs.drop(key)
    epoch_before = epoch.value
    program = make()
    programs.put(key, program, epoch_before)
    if program.tracers:
        for trace in {x._trace for x in program.tracers}:
            trace.at_end(programs, key)
    return program


def trace(
    fun: Callable[..., Any],
    signature: Signature,
    name: str,
    call: Callable[[Any, Any], Any],
    shardings: Shardings | None = None,
    programs: Cache | None = None,
    explain_miss: Callable[[Signature, Cache], None] | None = None,
) -> Program:
    """The program of a function for one signature, kept as long as the function lives.

    Args:
      fun: the function.
      signature: the structure and types of its arguments, and whatever else the program depends on.
      name: the name of the function in messages.
      call: calls the function: `call(arguments, statics)`, with arguments of the structure of the signature.
      shardings: the prescribed shardings.
      programs: the programs of the function, if it cannot have some itself.
      explain_miss: called with a new signature and the programs, if the option `explain_cache_misses` is on.

    Raises:
      TypeError: a leaf of the result is not an array; the message names its path.
    """
    out_trees: list[Any] = []
    in_tree, avals = signature.in_tree, signature.avals
    ins: list[Any] | None = None
    outs: list[Any] | None = None

    def run(*leaves: Any) -> list[Any]:
        nonlocal outs
        if shardings is not None and ins is not None:
            leaves = tuple(shardings.constrain(leaves, ins))
        results, out_tree = flatten(call(in_tree.unflatten(leaves), signature.statics))
        out_trees.append(out_tree)
        check_outputs(results, out_tree, fun, name)
        if shardings is not None:
            outs = shardings.of_outputs(out_tree, results, name)
            results = shardings.constrain(results, outs)
        return results

    def make() -> Program:
        nonlocal ins
        if config.explain_cache_misses.value and explain_miss is not None and programs is not None:
            explain_miss(signature, programs)
        if shardings is not None:
            ins = shardings.of_inputs(in_tree, avals, name)
        positions, what = signature.static_positions, signature.transformation
        info = name if positions is None else program_info(what, fun, in_tree, out_trees, positions, name)
        closed = trace_to_jaxpr(run, avals, info, what)
        return Program(closed, in_tree, out_trees[0], ins, outs)

    if programs is None:
        programs = programs_of(fun)
        if programs is None:
            return make()
    program: Program | None = programs.get(signature)
    return program if program is not None and not program.tracers else remember(programs, signature, make)


class CalledFunction(Protocol):
    """A function that is called with arguments; see `trace` for its attributes."""

    fun: Callable[..., Any]
    name: str
    transformation: str
    static: StaticArguments
    shardings: Shardings | None

    def programs(self) -> Cache:
        """The programs of the function."""

    def call(self, arguments: Any, statics: Any) -> Any:
        """Call the function itself."""

    def explain_miss(self, signature: Signature, programs: Cache) -> None:
        """Called before the function is traced, if the option `explain_cache_misses` is on."""


def trace_call(
    function: CalledFunction, args: tuple[Any, ...], kwargs: dict[str, Any], type_of: Callable[[Any], Any] = get_aval
) -> tuple[Program, list[Any]]:
    """The program of a function for a call, and the flat arguments of the call.

    Args:
      function: the function.
      args: the positional arguments.
      kwargs: the keyword arguments.
      type_of: returns the type of a leaf.
    """
    name, shardings = function.name, function.shardings
    variant = None if shardings is None else shardings.key
    signature, leaves = read_call(
        function.transformation, function.static, args, kwargs, name, variant, type_of, function.fun
    )
    programs = function.programs()
    return trace(function.fun, signature, name, function.call, shardings, programs, function.explain_miss), leaves


class Target(NamedTuple):
    """The devices, donated inputs and options for which a program is compiled.

    Attributes:
      name: the name of the compiled program.
      site: the devices, with the shardings of arguments and results; or the name of a platform, for one device of it.
      donated: for each input whether the program may reuse its buffer; empty if it may reuse none.
      keep_unused: whether the program takes arguments that it does not use.
      options: options of XLA.
    """

    name: str
    site: DeviceAssignment | str
    donated: tuple[bool, ...] = ()
    keep_unused: bool = False
    options: tuple[tuple[str, Any], ...] = ()


class Lowered(NamedTuple):
    """A lowered program.

    Attributes:
      program: the program without unused equations.
      module: its module.
      target: its target.
    """

    program: ClosedJaxpr
    module: StablehloModule
    target: Target


def used_inputs(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[bool]]:
    """The program without unused equations, and a mask of the inputs that it still reads."""
    jaxpr = closed.jaxpr
    trimmed, kept = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), False)
    used = {v for eqn in trimmed.eqns for v in eqn.invars if type(v) is not Literal}
    used.update(v for v in trimmed.outvars if type(v) is not Literal)
    constants = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if v in used]
    full = trimmed.replace(constvars=[v for v, _ in constants], invars=jaxpr.invars)
    return ClosedJaxpr(full, [c for _, c in constants]), kept


def lower(closed: ClosedJaxpr, target: Target, platform: str | None = None, embed: bool = False) -> Lowered:
    """The StableHLO module of a program.

    Args:
      closed: the program.
      target: the target of the compilation.
      platform: lower it for as many devices of this platform instead.
      embed: whether the constants are part of the module.
    """
    name, site, donated, keep_unused, _ = target
    with timed(LOWER, name), gc_paused():
        trimmed, kept = used_inputs(rewritten(closed) if closed.effects else closed)
        # A dynamic size may be that of an argument that is not used otherwise.
        if keep_unused or (dimension_kinds and has_dynamic(closed.in_avals)):
            kept = [True] * len(kept)
        if isinstance(site, str):
            return Lowered(trimmed, lower_to_module(trimmed, name, site, donated, kept, embed), target)
        spread = None
        if site.mesh is not None:
            ins = site.ins or (site.replicated,) * len(kept)
            avals = trimmed.out_avals
            outs = list(map(_result_sharding, site.outs or (None,) * len(avals), avals, repeat(site.mesh)))
            spread = SpmdShardings(site.mesh, () if embed else const_shardings(trimmed, site), ins, outs)
        module = lower_to_module(trimmed, name, platform or site.platform, donated, kept, embed, spread=spread)
        return Lowered(trimmed, module, target)


def _result_sharding(sharding: Any, aval: Any, mesh: Any) -> Any:
    """The sharding of a result; if none is given, that of its type on a mesh with explicit and other axes."""
    if sharding is not None or not mesh.explicit_axes or mesh.are_all_axes_explicit:
        return sharding
    recorded = None if getattr(aval, "placement", None) is None else aval.placement.sharding
    if recorded is not None and recorded.mesh.shape_tuple != mesh.shape_tuple:
        return None
    return Explicit(mesh, PartitionSpec() if recorded is None else recorded.spec)


def compile(lowered: Lowered) -> Executable:
    """Compile a program for the devices for which it was lowered.

    Raises:
      TypeError: a token is among the arguments or the results.
      UnsupportedError: an argument has a dynamic size.
      XlaError: XLA cannot compile the program.
    """
    program, module, target = lowered
    name, site = target.name, target.site
    if module.dynamic:
        types = ", ".join(aval.str_short() for aval in program.in_avals)
        raise UnsupportedError(
            f"{name}: a program with unknown sizes cannot be compiled before they are known, got {types}; export "
            "it with primax.export, and call the result with arrays"
        )
    if abstract_token in program.in_avals or abstract_token in program.out_avals:
        raise TypeError(f"{name}: arguments and results of a compiled program must be arrays, got a token")
    assert not isinstance(site, str)
    try:
        executable = Executable(program, module, site, compile_module(module, site, name, target.options))
    except UnnameableSharding as error:
        outs = list(site.outs or (None,) * len(program.out_avals))
        for i in error.results:
            outs[i] = site.replicated
        return compile(lower(program, target._replace(site=site._replace(outs=tuple(outs)))))
    if joined.runtime is not None and spans_processes(site):
        executable.agree = joined.runtime.program(module_text(module), site.devices, name)
    return executable


def executable_for(closed: ClosedJaxpr, target: Target) -> Executable:
    """The compiled form of a program, kept with it."""
    return cached(closed, ("executable", target), lambda: compile(lower(closed, target)))  # type: ignore[no-any-return]


def _no_tree(outs: Sequence[Any]) -> Any:
    """A structure of results for which jaxlib never runs a program without Python."""
    return result_registry.flatten(())[1]


def compile_and_run(
    closed: ClosedJaxpr,
    name: str,
    args: Sequence[Any],
    out_tree: Callable[[Sequence[Any]], Any],
    site: DeviceAssignment | None = None,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    options: tuple[tuple[str, Any], ...] = (),
) -> tuple[list[Any], Any]:
    """Compute a program for arguments with a new signature.

    Args:
      closed: the program.
      name: the name of the compiled program.
      args: its arguments, flat.
      out_tree: the structure of the dispatched function's result.
      site: the devices; by default determined by the program and its arguments.
      donated: for each argument whether the program may reuse its buffer.
      keep_unused: whether the program takes arguments that it does not use.
      options: options of XLA.

    Returns:
      The results, and the data with which jaxlib can run the program by itself, or None.

    Raises:
      UnexpectedTracerError: an argument is a tracer whose transformation has ended.
    """
    parts = None if passes.splitter is None else passes.splitter(closed)
    if parts is not None:
        flags = parts.of_inputs(donated)
        arrays = compile_and_run(parts.closed, name, parts.leaves(args), _no_tree, site, flags, keep_unused, options)[0]
        return parts.values(arrays), None
    for x in args:
        if isinstance(x, Tracer):
            raise escaped(x)
    # A named device takes arrays of other devices, which jaxlib would not move.
    is_device_named = site is not None and site.mesh is None
    if site is None:
        site = choose_devices(closed, args)
    checks = start_watches(name, closed, args)
    # A program whose results are checked may run again, so its arguments must stay.
    target = Target(name, site, () if checks else donated, keep_unused, options)
    operands = _put_large_operands(closed, args, site)
    executable = executable_for(closed, target)
    outs = executable(operands)
    for check in checks or ():
        check(outs)
    return outs, None if is_device_named or checks is not None else fast_path(executable, out_tree(outs), args)


_LARGE = 2**32


def _put_large_operands(closed: ClosedJaxpr, args: Sequence[Any], site: DeviceAssignment) -> Sequence[Any]:
    """Arguments, with large ones that the program uses placed on its device.

    Values that exceed the memory then raise an error before XLA compiles the program; some releases of XLA crash then.
    """
    large = [type(x) is np.ndarray and x.nbytes > _LARGE for x in args]
    if site.mesh is not None or not any(large):
        return args
    _, used = used_inputs(closed)
    return [
        Array(device_put.put_host(x, get_aval(x), site.replicated)) if is_large and is_used else x
        for x, is_large, is_used in zip(args, large, used, strict=True)
    ]


_identities = Cache(1024)


def _reshard(aval: Any, source: Any, target: Any, b: Any) -> Any:
    """A buffer's value in another sharding over the same devices."""
    var = Var(aval)
    identity = _identities.get_or_make(
        aval, lambda: ClosedJaxpr(Jaxpr([], [var], [var], [], no_effects, "reshard", config.enable_x64.value), [])
    )
    mesh = next(sharding.mesh for sharding in (source, target) if hasattr(sharding, "mesh"))
    site = DeviceAssignment(devices_of(source), mesh, (source,), (target,))
    return executable_for(identity, Target("reshard", site))([Array(b)])[0]._b


device_put.resharding.program = _reshard
