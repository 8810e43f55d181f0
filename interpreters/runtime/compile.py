"""Compilation: from StableHLO modules to executables, with an optional cache on disk."""

from __future__ import annotations

import atexit
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import numpy as np

from primax.core import _jaxlib, config
from primax.core._jaxlib import DeviceList, array_result_handler
from primax.core.avals import abstract_token
from primax.core.cache import Cache
from primax.core.dce import dce_jaxpr
from primax.core.dimensions import has_dynamic
from primax.core.dtypes import float0
from primax.core.effects import no_effects
from primax.core.errors import UnsupportedError, XlaError
from primax.core.gc_pause import gc_paused
from primax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, cached
from primax.interpreters.runtime import device_put, fork_guard, log
from primax.interpreters.runtime.array import Array, deleted_error, mark_shared
from primax.interpreters.runtime.devices.backends import client, joined
from primax.interpreters.runtime.events import COMPILE, LOWER, record_event, timed
from primax.interpreters.runtime.extended_array import has_extended_dtype, logical, physical, physical_aval
from primax.interpreters.runtime.sharding.device_assignment import Site, one_device, site_of
from primax.interpreters.runtime.sharding.mesh import PartitionSpec
from primax.interpreters.runtime.sharding.shardings import devices_of, named_from_hlo, placed, sharding_of
from primax.interpreters.runtime.sharding.shardy import Explicit, SpmdShardings
from primax.interpreters.runtime.stablehlo_module import Lowered, lower_to_module

__all__ = ["Executable", "executable_for"]


class Executable:
    """A compiled program.

    Attributes:
      xla: the loaded XLA executable.
      site: the devices on which it runs.
      in_shardings: the sharding of each buffer that it takes; those of constants come first.
      out_shardings: the sharding of each result.
      keepalives: other objects that the program refers to.
      consts: the buffers of the program's constants, which precede its inputs.
      kept: for each input whether the program takes it.
      out_avals: the types of the buffers that it returns; for extended dtypes those of the elements.
      extended: the types of its results, if some have extended dtypes.
      agree: compares the program with those of the other processes before its first run; None for a single process.
      calls_python: whether it runs on one device and would be plain without its callbacks.
      plain: whether it has no effects, calls no other code, and takes and returns only values on the device.
    """

    __slots__ = (
        "__weakref__",
        "agree",
        "calls_python",
        "consts",
        "extended",
        "failures",
        "handlers",
        "has_tokens",
        "in_avals",
        "in_shardings",
        "keepalives",
        "kept",
        "ordered",
        "out_avals",
        "out_shardings",
        "plain",
        "site",
        "unordered",
        "void",
        "xla",
    )

    def __init__(self, closed: ClosedJaxpr, lowered: Lowered, site: Site, xla: Any) -> None:
        self.xla = xla
        self.agree: Callable[[], None] | None = None
        self.keepalives = (lowered.host_callbacks, lowered.keepalives)
        self.failures = lowered.failures if lowered.host_callbacks and len(site.devices) > 1 else None
        self.site = site
        self.kept = lowered.kept
        self.in_avals = closed.in_avals
        self.out_avals = [physical_aval(aval) for aval in closed.out_avals]
        self.extended = None
        if any(map(has_extended_dtype, closed.out_avals)):
            self.extended = closed.out_avals
        of_consts = const_shardings(closed, site)
        self.consts = [device_put.to_buffer(x, s) for x, s in zip(closed.consts, of_consts, strict=True)]
        for b in self.consts:
            mark_shared(b)
        ins = site.ins or (site.replicated,) * len(self.kept)
        self.in_shardings = [*of_consts, *(s for s, kept in zip(ins, self.kept, strict=True) if kept)]
        self.out_shardings = _out_shardings(self.out_avals, site, xla, len(lowered.ordered_effects))
        self.void = any(map(_is_void, self.out_avals))
        self.out_avals = list(map(placed, self.out_avals, self.out_shardings))
        of_buffers = [aval.update(dtype=np.dtype(np.bool_)) if _is_void(aval) else aval for aval in self.out_avals]
        self.handlers = {
            committed: [
                array_result_handler(aval, sharding, committed=committed)
                for aval, sharding in zip(of_buffers, self.out_shardings, strict=True)
            ]
            for committed in (False, True)
        }
        self.ordered = lowered.ordered_effects
        self.unordered = bool(closed.effects) and len(self.ordered) < len(closed.effects)
        self.has_tokens = bool(closed.effects)
        on_device = not self.void and not any(map(_is_void, self.in_avals))
        silent = on_device and not closed.effects and not lowered.calls_foreign
        self.plain = silent and not lowered.host_callbacks
        self.calls_python = silent and bool(lowered.host_callbacks) and self.failures is None

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Run on flat arguments of the compiled types: arrays, NumPy arrays or scalars.

        Results are arrays; results of dtype float0 are NumPy arrays.

        Raises:
          RuntimeError: the option `no_execution` is on.
        """
        fork_guard.require_own_process()
        if config.no_execution.value:
            raise RuntimeError("no_execution is on, and this call would run a compiled program")
        if self.agree is not None:
            self.agree()
            self.agree = None
        several = len(self.site.devices) > 1
        committed = several or is_committed(args)
        buffers = [*self.consts]
        for b in buffers:
            if b.is_deleted():
                raise deleted_error(b)
        shardings = iter(self.in_shardings[len(buffers) :])
        for x, kept in zip(args, self.kept, strict=True):
            if kept:
                buffers.append(device_put.to_buffer(x, next(shardings)))
        handlers = self.handlers[committed]
        try:
            if self.failures is not None:
                with self.failures.raised():
                    outs = self._run(buffers, handlers)
                    _await(outs)
            else:
                outs = self._run(buffers, handlers)
        except XlaError as error:
            if joined.runtime is not None:
                joined.runtime.explain(error)
            raise
        if self.extended:
            outs = list(map(logical, outs, self.extended))
        if not self.void:
            return outs
        pairs = zip(self.out_avals, outs, strict=True)
        return [np.zeros(aval.shape, float0) if _is_void(aval) else x for aval, x in pairs]

    def _run(self, buffers: list[Any], handlers: list[Any]) -> list[Array]:
        if self.has_tokens:
            return run_with_effects(self, buffers, handlers)
        return [Array(b) for b in self.xla.execute_sharded(buffers).consume_with_handlers(handlers)]


def _await(outs: list[Array]) -> None:
    """Wait for the results of a program that has just started, and for its effects."""
    for x in outs:
        x.block_until_ready()
    pending = runtime_tokens.unordered
    if pending:
        pending[-1].block_until_ready()


def const_shardings(closed: ClosedJaxpr, site: Site) -> list[Any]:
    """The sharding of each constant of a program: its own if it is on the program's devices, otherwise replicated."""
    found = []
    for x in map(physical, closed.consts):
        sharding = x._b._sharding if type(x) is Array else None
        found.append(sharding if sharding and devices_of(sharding) == site.devices else site.replicated)
    return found


def _out_shardings(avals: Sequence[Any], site: Site, xla: Any, tokens: int) -> list[Any]:
    """The sharding of each result.

    Raises:
      Unnamed: XLA has chosen a sharding that the mesh's axis names cannot describe.
    """
    if site.mesh is None:
        return [site.replicated] * len(avals)
    wanted = site.outs or (None,) * len(avals)
    if None not in wanted:
        return list(wanted)
    if site.mesh.size == 1:
        return [sharding or site.replicated for sharding in wanted]
    chosen = xla.get_output_shardings()[tokens:]
    found = []
    for i, (aval, sharding) in enumerate(zip(avals, wanted, strict=True)):
        if sharding is None:
            hlo = _jaxlib.xla_client.HloSharding.from_proto(chosen[i])
            sharding = named_from_hlo(hlo, site.mesh, len(aval.shape))
        found.append(sharding)
    unnamed = [i for i, sharding in enumerate(found) if sharding is None]
    if unnamed:
        raise Unnamed(unnamed)
    return found


class Unnamed(Exception):
    """XLA has chosen shardings of results that the mesh's axis names cannot describe."""

    def __init__(self, results: list[int]) -> None:
        super().__init__(results)
        self.results = results


def is_committed(args: Sequence[Any]) -> bool:
    """Whether some of the arguments are committed arrays, which determine the device."""
    return any(type(x) is Array and x._b._committed for x in map(physical, args))


def _is_void(aval: Any) -> bool:
    """Whether values of this type are tangents of integers, which have no data and stay on the host."""
    return getattr(aval, "dtype", None) == float0


_MOST_PENDING = 1024


class RuntimeTokens(threading.local):
    """The effects of this thread's programs that have not finished."""

    def __init__(self) -> None:
        self.ordered: dict[Any, Any] = {}
        self.unordered: deque[Any] = deque()


runtime_tokens = RuntimeTokens()


def run_with_effects(executable: Executable, buffers: list[Any], handlers: list[Any]) -> list[Array]:
    """Run a program after the earlier effects that it must follow, and record its own."""
    device = executable.site.devices[0]
    tokens = [_token(effect, device) for effect in executable.ordered]
    all_handlers = [*(_token_handler(device) for _ in tokens), *handlers]
    results = executable.xla.execute_sharded([*tokens, *buffers], with_tokens=executable.unordered)
    outs = results.consume_with_handlers(all_handlers)
    if executable.unordered:
        pending = runtime_tokens.unordered
        pending.append(results.consume_token())
        if len(pending) > _MOST_PENDING:
            pending.popleft().block_until_ready()
    for effect, token in zip(executable.ordered, outs, strict=False):
        runtime_tokens.ordered[effect, device] = token
    return [Array(b) for b in outs[len(tokens) :]]


def _token(effect: Any, device: Any) -> Any:
    found = runtime_tokens.ordered.get((effect, device))
    if found is None:
        found = device_put.put_value(np.zeros(0, np.bool_), device=device)._b
    return found


def _token_handler(device: Any) -> Any:
    aval = device_put.put_value(np.zeros(0, np.bool_), device=device).aval
    return array_result_handler(aval, sharding_of(device), committed=True)


def wait_for_effect(effect: Any) -> None:
    """Wait until an ordered effect of this thread's programs is complete.

    Raises:
      XlaError: one of the programs failed.
    """
    ordered = runtime_tokens.ordered
    if ordered:
        for token in [ordered.pop(key) for key in list(ordered) if key[0] == effect]:
            token.block_until_ready()


def effects_barrier() -> None:
    """Wait until all effects of the programs that this thread has started are complete.

    Raises:
      XlaError: one of the programs failed. The next call starts without the failed ones.
    """
    pending = [*runtime_tokens.ordered.values(), *runtime_tokens.unordered]
    runtime_tokens.ordered.clear()
    runtime_tokens.unordered.clear()
    if fork_guard.is_forked():
        return  # they belong to the parent process
    failed = None
    for token in pending:
        try:
            token.block_until_ready()
        except XlaError as error:
            failed = failed or error
    if failed is not None:
        raise failed


atexit.register(effects_barrier)


def used_inputs(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[bool]]:
    """The program without unused equations, and a mask of the inputs that it still reads."""
    jaxpr = closed.jaxpr
    trimmed, kept = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), False)
    needed = {v for eqn in trimmed.eqns for v in eqn.invars if type(v) is not Literal}
    needed.update(v for v in trimmed.outvars if type(v) is not Literal)
    pairs = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if v in needed]
    full = trimmed.replace(constvars=[v for v, _ in pairs], invars=jaxpr.invars)
    return ClosedJaxpr(full, [c for _, c in pairs]), kept


def lower(
    closed: ClosedJaxpr,
    name: str,
    site: Site | str,
    donated: Sequence[bool] = (),
    keep_unused: bool = False,
    embed: bool = False,
    platform: str | None = None,
) -> tuple[ClosedJaxpr, Lowered]:
    """The trimmed program and its module, for a site or for one device of a platform.

    With `embed`, the constants are part of the module. With `platform`, it is for the same number of devices there.
    """
    with timed(LOWER, name):
        return _lower(closed, name, site_of(site), donated, keep_unused, embed, platform)


def _told(sharding: Any, aval: Any, mesh: Any) -> Any:
    """The sharding of a result; if there is none, what the type tells of it on a mesh with axes of both kinds."""
    if sharding is not None or not mesh.explicit_axes or mesh.are_all_axes_explicit:
        return sharding
    recorded = None if getattr(aval, "placement", None) is None else aval.placement.sharding
    if recorded is not None and recorded.mesh.shape_tuple != mesh.shape_tuple:
        return None
    return Explicit(mesh, PartitionSpec() if recorded is None else recorded.spec)


def _lower(
    closed: ClosedJaxpr,
    name: str,
    site: Any,
    donated: Sequence[bool],
    keep_unused: bool,
    embed: bool,
    platform: str | None,
) -> tuple[ClosedJaxpr, Lowered]:
    trimmed, kept = used_inputs(closed)
    if keep_unused or has_dynamic(closed.in_avals):  # a size may be that of an argument that is not used otherwise
        kept = [True] * len(kept)
    if isinstance(site, str):
        return trimmed, lower_to_module(trimmed, name, site, donated, kept, embed)
    spread = None
    if site.mesh is not None:
        ins = site.ins or (site.replicated,) * len(kept)
        outs = list(map(_told, site.outs or (None,) * len(trimmed.out_avals), trimmed.out_avals, repeat(site.mesh)))
        spread = SpmdShardings(site.mesh, () if embed else const_shardings(trimmed, site), ins, outs)
    return trimmed, lower_to_module(trimmed, name, platform or site.platform, donated, kept, embed, spread=spread)


def compile_lowered(
    closed: ClosedJaxpr, lowered: Lowered, site: Site, name: str, overrides: Sequence[tuple[str, Any]] = ()
) -> Executable:
    """Compile a module for the site of its lowering, with options of XLA if there are any.

    Raises:
      TypeError: a token is among the arguments or the results.
      UnsupportedError: an argument has a dynamic size.
    """
    if has_dynamic(closed.in_avals):
        types = ", ".join(aval.str_short() for aval in closed.in_avals)
        raise UnsupportedError(
            f"{name}: a program with unknown sizes cannot be compiled before they are known, got {types}; export "
            "it with primax.export, and call the result with arrays"
        )
    if abstract_token in closed.in_avals or abstract_token in closed.out_avals:
        raise TypeError(f"{name}: arguments and results of a compiled program must be arrays, got a token")
    site = site_of(site)
    executable = Executable(closed, lowered, site, compile_module(lowered, site, name, overrides))
    if _is_shared(site) and joined.runtime is not None:
        executable.agree = joined.runtime.program(module_text(lowered), site.devices, name)
    return executable


def load_executable(
    stored: bytes, device: Any, in_avals: Sequence[Any], out_avals: Sequence[Any], consts: Sequence[Any], kept: Any
) -> Executable:
    """The executable that a client has serialized, for a program without effects on one device.

    Args:
      stored: the bytes.
      device: the device on which it runs.
      in_avals: the types of its arguments.
      out_avals: the types of its results.
      consts: the constants of its program.
      kept: for each argument whether it is used.

    Raises:
      XlaError: XLA cannot load them.
    """
    site = one_device(device)
    xla = device.client.deserialize_executable(
        stored, DeviceList(site.devices), device_put.compile_options(site.devices)
    )
    program = SimpleNamespace(in_avals=in_avals, out_avals=out_avals, consts=consts, effects=no_effects)
    lowered = SimpleNamespace(
        host_callbacks=(), keepalives=(), kept=kept, ordered_effects=(), calls_foreign=True, result_count=len(out_avals)
    )
    return Executable(program, lowered, site, xla)  # type: ignore[arg-type]


def _is_shared(site: Site) -> bool:
    """Whether some of the devices belong to other processes."""
    return site.mesh is not None and not site.mesh.device_list.is_fully_addressable


def executable_for(
    closed: ClosedJaxpr,
    name: str,
    site: Site,
    donated: tuple[bool, ...] = (),
    keep_unused: bool = False,
    overrides: tuple[tuple[str, Any], ...] = (),
) -> Executable:
    """The compiled form of a program for a site or a device, kept with it."""
    site = site_of(site)

    def make() -> Executable:
        where = site
        while True:
            with gc_paused():
                trimmed, lowered = lower(closed, name, where, donated, keep_unused)
            try:
                return compile_lowered(trimmed, lowered, where, name, overrides)
            except Unnamed as unnamed:
                outs = list(where.outs or (None,) * len(closed.out_avals))
                for i in unnamed.results:
                    outs[i] = where.replicated
                where = where._replace(outs=tuple(outs))

    return cached(closed, ("executable", site, donated, keep_unused, overrides), make)  # type: ignore[no-any-return]


def _reshard(aval: Any, source: Any, target: Any, b: Any) -> Any:
    """A buffer's value in another sharding over the same devices."""
    var = Var(aval)
    identity = _identities.get_or_make(
        aval, lambda: ClosedJaxpr(Jaxpr([], [var], [var], [], no_effects, "reshard", config.enable_x64.value), [])
    )
    mesh = next(s.mesh for s in (source, target) if hasattr(s, "mesh"))
    site = Site(devices_of(source), mesh, (source,), (target,))
    return executable_for(identity, "reshard", site)([Array(b)])[0]._b


_identities = Cache(1024)
device_put.resharding.program = _reshard


def compile_module(lowered: Lowered, site: Site, name: str, overrides: Sequence[tuple[str, Any]] = ()) -> Any:
    """The XLA executable of a module: from the directory `compilation_cache_dir`, or newly compiled.

    Raises:
      XlaError: XLA cannot compile the program.
    """
    with timed(COMPILE, name):
        return _compile_module(lowered, site, name, overrides)


def _compile_module(lowered: Lowered, site: Site, name: str, overrides: Sequence[tuple[str, Any]]) -> Any:
    devices = site.devices
    options = device_put.compile_options(devices, overrides)
    if site.mesh is not None:
        options.executable_build_options.allow_spmd_sharding_propagation_to_output = [
            *[False] * len(lowered.ordered_effects),
            *(s is None for s in site.outs or (None,) * lowered.result_count),
        ]
    for prepare in lowered.before_compile:
        prepare(devices)
    folder = config.compilation_cache_dir.value
    if not folder or lowered.host_callbacks or lowered.parts or _is_shared(site):
        return _compile(lowered, options, site, name)
    disk_cache = import_module("primax.interpreters.runtime.compilation_cache")  # `import primax` saves 8 ms
    key = disk_cache.key_of(lowered, options, devices[0])
    record_event("/jax/compilation_cache/compile_requests_use_cache")
    stored = disk_cache.read(folder, key)
    if stored is not None:
        try:
            xla = devices[0].client.deserialize_executable(stored, DeviceList(devices), options)
        except (XlaError, TypeError, ValueError, RuntimeError) as error:
            disk_cache.discard(folder, key, f"XLA cannot load it: {error}")
        else:
            record_event("/jax/compilation_cache/cache_hits")
            _report("loaded %s for %s from the compilation cache", name, site)
            return xla
    record_event("/jax/compilation_cache/cache_misses")
    start = time.perf_counter()
    xla = _compile(lowered, options, site, name)
    if time.perf_counter() - start >= config.persistent_cache_min_compile_time_secs.value:
        disk_cache.write(folder, key, devices[0].client.serialize_executable(xla))
    return xla


def _compile(lowered: Lowered, options: Any, site: Site, name: str) -> Any:
    start = time.perf_counter()
    try:
        with lowered.shared:
            xla = site.devices[0].client.compile_and_load(
                lowered.module, DeviceList(site.devices), options, host_callbacks=lowered.host_callbacks
            )
    except XlaError as error:
        for part in lowered.parts:
            if part.error is not None:
                raise part.error from None
        line = _suspect(lowered, str(error))
        raise XlaError(f"XLA could not compile {name} for {site}: {error}{line}") from None
    _report("compiled %s for %s in %.3f s", name, site, time.perf_counter() - start)
    return xla


def _report(text: str, *values: Any) -> None:
    (log.warning if config.log_compiles.value else log.debug)(text, *values)


_LINE = r'"([^"]+)":(\d+):'


def _suspect(lowered: Lowered, message: str) -> str:
    """The user's line that made the operation named by XLA's error, or else the first operation of the program."""
    first = ""
    named = ""

    def visit(operation: Any) -> Any:
        nonlocal first, named
        found = re.search(_LINE, str(operation.location))
        if found is not None:
            line = f"{found[1]}:{found[2]}"
            first = first or f"\nThe program begins at {line}."
            if operation.name == "stablehlo.custom_call":
                target = _jaxlib.ir.StringAttr(operation.attributes["call_target_name"]).value
                if target in message:
                    named = f"\nThe call of {target} was made at {line}."
                    return _jaxlib.ir.WalkResult.INTERRUPT
        return _jaxlib.ir.WalkResult.ADVANCE

    with lowered.shared:
        lowered.module.operation.walk(visit, _jaxlib.ir.WalkOrder.PRE_ORDER)
    return named or first


def module_text(lowered: Lowered, debug_info: bool = False) -> str:
    """The text of a module in StableHLO's notation."""
    with lowered.shared:
        return str(lowered.module.operation.get_asm(enable_debug_info=bool(debug_info)))


def _hlo(lowered: Lowered) -> Any:
    return _jaxlib.mlir.mlir_module_to_xla_computation(module_text(lowered), False, False)


def hlo_text(lowered: Lowered) -> str:
    """The text of a module in XLA's notation, not optimized."""
    return str(_hlo(lowered).as_hlo_text())


def hlo_computation(lowered: Lowered) -> Any:
    """A module as a computation of XLA."""
    return _hlo(lowered)


def hlo_cost_analysis(lowered: Lowered) -> dict[str, float]:
    """XLA's estimate of the cost of a module that is not optimized."""
    return dict(_jaxlib.hlo_module_cost_analysis(client(lowered.platform), _hlo(lowered).as_hlo_module()))


def optimized_text(executable: Executable) -> str:
    """The text of a compiled program in XLA's notation."""
    return "\n".join(module.to_string() for module in executable.xla.hlo_modules())
