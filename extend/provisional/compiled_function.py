"""Functions that are compiled once for each signature of their arguments: everything except the fast path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core.arguments import name_of, naming
from primax.core.cache import Cache
from primax.core.trace import thread
from primax.core.tree import flatten
from primax.interpreters import passes
from primax.interpreters.call_signature import Signature, StaticArguments
from primax.interpreters.runtime import options as config
from primax.interpreters.runtime.donation import Donation, copy_if_shared, mark_donated
from primax.interpreters.runtime.pipeline import (
    Program,
    Shardings,
    compile_and_run,
    new_programs,
    programs_of,
    trace_call,
)
from primax.interpreters.runtime.sharding.device_assignment import DeviceAssignment, choose_devices, one_device

__all__ = ["CompiledFunction"]


class CompiledFunction:
    """A function of pytrees of arrays as compiled programs. A subclass defines calls inside of transformations.

    Args:
      fun: the function.
      transformation: the name of the transformation that stages it.
      static: the static arguments.
      donate: the donated arguments.
      keep_unused: whether programs take arguments that they do not use.
      device: the device on which it runs; by default the arguments determine it.
      options: options of XLA.
      shardings: the prescribed shardings of the arguments and results.
    """

    __slots__ = (
        "_programs",
        "device",
        "donate",
        "fun",
        "keep_unused",
        "name",
        "options",
        "shardings",
        "static",
        "transformation",
    )

    def __init__(
        self,
        fun: Callable[..., Any],
        transformation: str,
        static: StaticArguments,
        donate: StaticArguments,
        keep_unused: bool = False,
        device: Any = None,
        options: tuple[tuple[str, Any], ...] = (),
        shardings: Shardings | None = None,
    ) -> None:
        self.fun = fun
        self.name = name_of(fun)
        self.transformation = transformation
        self.static = static
        self.donate = donate
        self.keep_unused = keep_unused
        self.device = device
        self.options = options
        self.shardings = shardings
        self._programs: Cache | None = None

    def bind(self, program: Program, leaves: list[Any], donated: tuple[bool, ...]) -> list[Any]:
        """The flat results of a call inside of transformations."""
        raise NotImplementedError

    def explain_miss(self, signature: Signature, programs: Cache) -> None:
        """Called before a call is traced, if the option `explain_cache_misses` is on."""

    @property
    def donation(self) -> Donation | None:
        """The donated arguments, if there are any."""
        donates = self.donate.positions or self.donate.names
        return Donation(self.name, self.donated, self.donated_leaves) if donates else None

    def programs(self) -> Cache:
        """The programs of this function, shared by all of its compiled forms, with the lifetime of the function."""
        if self._programs is None:
            shared = programs_of(self.fun)
            self._programs = new_programs() if shared is None else shared
        return self._programs

    def call(self, arguments: tuple[tuple[Any, ...], dict[str, Any]], statics: Any) -> Any:
        """Call the function itself."""
        args, kwargs = arguments if statics == () else StaticArguments.merge(*arguments, statics)
        return self.fun(*args, **kwargs)

    def donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, ...]:
        """For each flat argument whether its buffer may be reused."""
        if not self.donate.positions and not self.donate.names:
            return ()
        flags: list[bool] = []
        for i, x in enumerate(args):
            if i not in self.static.positions:
                flags += [i in self.donate.positions] * len(flatten(x, None, (args, kwargs))[0])
        for name in sorted(kwargs):
            if name not in self.static.names:
                flags += [name in self.donate.names] * len(flatten(kwargs[name])[0])
        return tuple(flags)

    def donated_leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of the donated arguments."""
        donated = [args[i] for i in self.donate.positions if i < len(args)]
        if kwargs:
            donated += [kwargs[name] for name in self.donate.names if name in kwargs]
        return flatten(donated, None, (args, kwargs))[0]

    def site(self, program: Program, leaves: list[Any]) -> DeviceAssignment:
        """The devices on which the program runs with these arguments."""
        if self.device is not None:
            return one_device(self.device)
        with naming(self.name):
            return choose_devices(program.closed, leaves, program.ins, program.outs)

    def miss(self, /, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Called by the dispatcher for new signatures, and under every transformation."""
        if config.disable_jit.value:
            return self.fun(*args, **kwargs), None, False
        program, leaves = trace_call(self, args, kwargs)
        donated = self.donated(args, kwargs)
        if thread.trace.tracing or program.tracers or program.mutable:
            return program.out_tree.unflatten(self.bind(program, leaves, donated)), None, False
        if passes.splitter is not None and program.parts is not None:
            return self._on_parts(program, leaves, donated), None, False
        results, fast = self._run_donating(program, leaves, donated) if any(donated) else self._run(program, leaves)
        return program.out_tree.unflatten(results), fast, False

    def _on_parts(self, program: Program, leaves: list[Any], donated: tuple[bool, ...]) -> Any:
        """The result of a program with values of users' types."""
        split, flags = program.on_parts(), program.parts.of_inputs(donated)
        arrays = program.parts.leaves(leaves)
        results, _ = self._run_donating(split, arrays, flags) if flags else self._run(split, arrays)
        return split.out_tree.unflatten(results)

    def _run(self, program: Program, leaves: list[Any], donated: tuple[bool, ...] = ()) -> tuple[list[Any], Any]:
        """Run a program outside of transformations; returns the results, and the data with which jaxlib can run it."""
        return compile_and_run(
            program.closed,
            f"{self.transformation}_{self.name}",
            leaves,
            program.fast_tree,
            None if self.device is None and self.shardings is None else self.site(program, leaves),
            donated,
            self.keep_unused,
            self.options,
        )

    def _run_donating(self, program: Program, leaves: list[Any], donated: tuple[bool, ...]) -> tuple[list[Any], Any]:
        """Run a program with donated arguments; constants of programs, this one included, are not donated."""
        constants = {id(x) for x in program.closed.consts}
        passed = [
            copy_if_shared(x, id(x) in constants) if is_donated else x
            for x, is_donated in zip(leaves, donated, strict=True)
        ]
        results, fast = self._run(program, passed, donated)
        copied = [i for i, x in enumerate(leaves) if passed[i] is not x]
        mark_donated([leaves[i] for i in copied], self.name, [passed[i] for i in copied])
        return results, None if copied else fast
