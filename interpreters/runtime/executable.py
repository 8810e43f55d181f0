"""Executables: compiled programs, and the effects of those that run."""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core._jaxlib import DeviceList, array_result_handler
from primax.core.dtypes import float0
from primax.core.effects import no_effects
from primax.core.errors import XlaError
from primax.core.jaxpr import ClosedJaxpr
from primax.interpreters.runtime import device_put, fork_guard
from primax.interpreters.runtime import options as config
from primax.interpreters.runtime.array import Array, deleted_error, mark_shared
from primax.interpreters.runtime.devices.backends import joined
from primax.interpreters.runtime.extended_array import has_extended_dtype, logical, physical, physical_aval
from primax.interpreters.runtime.sharding.device_assignment import DeviceAssignment, one_device
from primax.interpreters.runtime.sharding.shardings import devices_of, named_from_hlo, placed, sharding_of
from primax.interpreters.runtime.stablehlo_module import StablehloModule


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
      most_pending: the number of such programs that may be pending; None if any number may.
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
        "most_pending",
        "ordered",
        "out_avals",
        "out_shardings",
        "plain",
        "site",
        "void",
        "xla",
    )

    def __init__(self, closed: ClosedJaxpr, module: StablehloModule, site: DeviceAssignment, xla: Any) -> None:
        self.xla = xla
        self.agree: Callable[[], None] | None = None
        self.keepalives = (module.host_callbacks, module.keepalives)
        self.failures = module.failures
        self.site = site
        self.kept = module.kept
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
        self.out_shardings = _out_shardings(self.out_avals, site, xla, len(module.ordered_effects))
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
        self.ordered = module.ordered_effects
        self.has_tokens = bool(closed.effects)
        is_unordered = len(self.ordered) < len(closed.effects)
        self.most_pending = _MOST_COMMUNICATING if _communicates(site, xla) else _MOST_PENDING if is_unordered else None
        on_device = not self.void and not any(map(_is_void, self.in_avals))
        silent = on_device and not closed.effects and not module.calls_foreign
        self.plain = silent and not module.host_callbacks
        self.calls_python = silent and bool(module.host_callbacks) and len(site.devices) == 1

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Run on flat arguments of the compiled types: arrays, NumPy arrays or scalars.

        Results are arrays; results of dtype float0 are NumPy arrays.

        Raises:
          RuntimeError: the option `no_execution` is on.
        """
        if fork_guard.forked.value:
            fork_guard.require_own_process()
        if config.no_execution.value:
            raise RuntimeError("no_execution is on, and this call would run a compiled program")
        if self.agree is not None:
            self.agree()
            self.agree = None
        committed = len(self.site.devices) > 1 or is_committed(args)
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
                    if self.keepalives[0] or self.site.devices[0].platform == "cpu":  # GPUs launch before the call ends
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
        return [Array(b) for b in self.execute_sharded(buffers).consume_with_handlers(handlers)]

    def execute_sharded(self, buffers: list[Any]) -> Any:
        """Start the program on buffers, and wait for the oldest if too many like it are pending; jaxlib's results."""
        most = self.most_pending
        results = self.xla.execute_sharded(buffers, with_tokens=most is not None)
        if most is not None:
            pending = runtime_tokens.unordered
            pending.append(results.consume_token())
            while len(pending) > most:
                pending.popleft().block_until_ready()
        return results


def _await(outs: list[Array]) -> None:
    """Wait for the results of a program that has just started, and for its effects."""
    for x in outs:
        x.block_until_ready()
    pending = runtime_tokens.unordered
    if pending:
        pending[-1].block_until_ready()


def const_shardings(closed: ClosedJaxpr, site: DeviceAssignment) -> list[Any]:
    """The sharding of each constant of a program: its own if it is on the program's devices, otherwise replicated."""
    shardings = []
    for x in map(physical, closed.consts):
        sharding = x._b._sharding if type(x) is Array else None
        shardings.append(sharding if sharding and devices_of(sharding) == site.devices else site.replicated)
    return shardings


def _out_shardings(avals: Sequence[Any], site: DeviceAssignment, xla: Any, tokens: int) -> list[Any]:
    """The sharding of each result.

    Raises:
      UnnameableSharding: XLA has chosen a sharding that the mesh's axis names cannot describe.
    """
    if site.mesh is None:
        return [site.replicated] * len(avals)
    prescribed = site.outs or (None,) * len(avals)
    if None not in prescribed:
        return list(prescribed)
    if site.mesh.size == 1:
        return [sharding or site.replicated for sharding in prescribed]
    shardings = []
    for aval, sharding, chosen in zip(avals, prescribed, xla.get_output_shardings()[tokens:], strict=True):
        if sharding is None:
            hlo = _jaxlib.xla_client.HloSharding.from_proto(chosen)
            sharding = named_from_hlo(hlo, site.mesh, len(aval.shape))
        shardings.append(sharding)
    unnameable = [i for i, sharding in enumerate(shardings) if sharding is None]
    if unnameable:
        raise UnnameableSharding(unnameable)
    return shardings


class UnnameableSharding(Exception):
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


_COLLECTIVES = ("all-gather", "all-reduce", "all-to-all", "collective-", "reduce-scatter")


def _communicates(site: DeviceAssignment, xla: Any) -> bool:
    """Whether devices of a program wait for each other, each on a thread of the pool of all CPUs of the process."""
    if len(site.devices) == 1 or site.devices[0].platform != "cpu" or len(xla.local_devices()) == 1:
        return False
    text = xla.hlo_modules()[0].to_string()
    return any(name in text for name in _COLLECTIVES)


_MOST_PENDING = 1024
_MOST_COMMUNICATING = 8  # more exhaust the pool: no program gets all of its threads, and XLA aborts the process


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
    outs = executable.execute_sharded([*tokens, *buffers]).consume_with_handlers(all_handlers)
    for effect, token in zip(executable.ordered, outs, strict=False):
        runtime_tokens.ordered[effect, device] = token
    return [Array(b) for b in outs[len(tokens) :]]


def _token(effect: Any, device: Any) -> Any:
    token = runtime_tokens.ordered.get((effect, device))
    return device_put.put_value(np.zeros(0, np.bool_), device=device)._b if token is None else token


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

    Examples:
      >>> import primax as px
      >>> def report(x):
      ...     px.jit(lambda x: px.debug.print("x is {}", x))(x)
      ...     px.effects_barrier()  # returns after x has been printed
      >>> report(3)
      x is 3
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
    nothing: dict[str, Any] = {"host_callbacks": (), "keepalives": (), "ordered_effects": (), "failures": None}
    module = SimpleNamespace(kept=kept, calls_foreign=True, **nothing)
    return Executable(program, module, site, xla)  # type: ignore[arg-type]
