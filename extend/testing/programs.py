"""Programs that checks run: compiled once and called several times, or evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primax.core import _jaxlib, config
from primax.core.avals import get_aval
from primax.core.errors import XlaError
from primax.core.jaxpr import ClosedJaxpr
from primax.core.trace import set_current_trace
from primax.extend.testing.values import double, epsilon, is_inexact
from primax.interpreters import passes
from primax.interpreters.runtime.eval import eval_trace
from primax.interpreters.runtime.executable import Executable
from primax.interpreters.runtime.extended_array import physical
from primax.interpreters.runtime.pipeline import Lowered, Target, compile, lower
from primax.interpreters.runtime.sharding.device_assignment import DeviceAssignment, choose_devices
from primax.interpreters.staging import trace_to_jaxpr
from primax.interpreters.tangents import instantiate_zeros

__all__ = ["Parts", "Program", "rounding"]

Function = Callable[..., Sequence[Any]]


# These options make compilation ten times as fast. The programs run only once or twice, on a few elements.
QUICK_OPTIONS = _jaxlib.known_options(
    {
        "xla_backend_optimization_level": 0,
        "xla_cpu_parallel_codegen_split_count": 1,
        "xla_cpu_use_fusion_emitters": False,
        "xla_llvm_disable_expensive_passes": True,
    }
)


def quick_flags() -> str:
    """The text for XLA_FLAGS that makes compilation fast; set it before the first program is compiled."""
    return " ".join(f"--{name}={str(value).lower()}" for name, value in QUICK_OPTIONS.items())


def quickly_compiled(closed: ClosedJaxpr, site: DeviceAssignment) -> Executable:
    """A program that was compiled quickly and may run slowly."""
    return compiled_quickly(lower(on_arrays(closed), Target("conformance", site)))


def on_arrays(closed: ClosedJaxpr) -> ClosedJaxpr:
    """A program from arrays to arrays, without values of users' types inside."""
    parts = None if passes.splitter is None else passes.splitter(closed)
    return closed if parts is None else parts.closed


def compiled_quickly(lowered: Lowered) -> Executable:
    """A lowered program that was compiled quickly and may run slowly."""
    target = lowered.target
    assert not isinstance(target.site, str)
    if target.site.platform != "cpu":
        return compile(lowered)
    try:
        return compile(lowered._replace(target=target._replace(options=tuple(QUICK_OPTIONS.items()))))
    except XlaError:  # some operations, such as clamp of complex numbers, need the emitters
        emitters = _jaxlib.known_options({"xla_cpu_use_fusion_emitters": True})
        if not emitters:
            raise
        options = tuple({**QUICK_OPTIONS, **emitters}.items())
        return compile(lowered._replace(target=target._replace(options=options)))


class Program:
    """A function of flat arguments, for any values of the same types.

    Args:
      fun: takes values, returns a list of them; symbolic zeros among these become zeros.
      args: values of the types of the arguments.
      compiled: whether to compile it; if not, each call evaluates it.
      x64: the value of `enable_x64`.
    """

    def __init__(self, fun: Function, args: Sequence[Any], *, compiled: bool = True, x64: bool = False) -> None:
        self.fun = fun
        self.x64 = x64
        self.executable: Any = None
        with config.enable_x64(x64), set_current_trace(eval_trace):
            if compiled:
                self.closed = trace_to_jaxpr(self._values, [get_aval(x) for x in args], "conformance")
                self.executable = quickly_compiled(self.closed, choose_devices(self.closed, args))

    def _values(self, *args: Any) -> list[Any]:
        return [instantiate_zeros(x) for x in self.fun(*args)]

    def __call__(self, *args: Any) -> list[Any]:
        """The results as NumPy arrays; a result of an extended dtype as the array of its elements."""
        with config.enable_x64(self.x64), set_current_trace(eval_trace):
            outs = self._values(*args) if self.executable is None else self.executable(args)
            return [np.asarray(physical(x)) for x in outs]


# XLA takes longer for one program of many functions than for several of a few.
MOST_PARTS = 8


class Parts:
    """Several functions of the same arguments in few programs; each may fail without the others.

    Args:
      functions: functions as for `Program`, by a key.
      args: the arguments of all functions.
      compiled: whether to compile.
      x64: the value of `enable_x64`.
    """

    def __init__(
        self, functions: Mapping[Any, Function], args: Sequence[Any], *, compiled: bool = True, x64: bool = False
    ) -> None:
        self.errors: dict[Any, Exception] = {}
        self.results: dict[Any, list[Any]] = {}
        self.places: dict[Any, tuple[Program, slice]] = {}
        self.noises: dict[Any, list[Any]] = {}
        self.args = args
        keys = list(functions)
        try:
            for i in range(0, len(keys), MOST_PARTS):
                self._run({key: functions[key] for key in keys[i : i + MOST_PARTS]}, args, compiled, x64)
        except Exception:
            # The compiler's error does not say which function caused it.
            self.errors.clear()
            self.results.clear()
            for key, function in functions.items():
                try:
                    self._run({key: function}, args, compiled, x64)
                except Exception as error:
                    self.errors[key] = error

    def _run(self, functions: Mapping[Any, Function], args: Sequence[Any], compiled: bool, x64: bool) -> None:
        counts: dict[Any, int] = {}

        def run(*xs: Any) -> list[Any]:
            counts.clear()
            outs: list[Any] = []
            for key, function in functions.items():
                try:
                    values = [instantiate_zeros(x) for x in function(*xs)]
                    for x in values:
                        get_aval(x)
                except Exception as error:
                    self.errors[key] = error
                else:
                    counts[key] = len(values)
                    outs += values
            return outs

        program = Program(run, args, compiled=compiled, x64=x64)
        if compiled and not counts:
            return
        values, start = program(*args), 0
        for key, count in counts.items():
            place = slice(start, start + count)
            self.results[key], self.places[key], start = values[place], (program, place), place.stop

    def __getitem__(self, key: Any) -> list[Any]:
        """The results of the function.

        Raises:
          Exception: the error of the function.
        """
        if key in self.errors:
            raise self.errors[key]
        return self.results[key]

    def rounding(self, key: Any, n: int) -> Any:
        """The errors by rounding in the n-th result of the function; see `rounding`."""
        if key not in self.noises:
            program, place = self.places[key]
            self.noises[key] = rounding(lambda *xs: program(*xs)[place], self.args)
        return self.noises[key][n]


_NEIGHBORS = 12
_MORE = 8.0  # than the errors seen at so few neighbors


def rounding(program: Function, args: Sequence[Any]) -> list[Any]:
    """Bounds for the errors by rounding in the elements of a program's results, by their changes near the arguments.

    Terms that cancel leave errors of their own size. An element that changes in half of its digits jumps, as after
    another order in sorting: that is no rounding, and its bound is 0.
    """
    outs = program(*args)
    inexact = [x for x in (*args, *outs) if is_inexact(x)]
    eps = max(map(epsilon, inexact), default=0.0)
    sizes = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in map(double, inexact)]
    bounds = [np.zeros(np.shape(x)) for x in outs]
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for _ in range(_NEIGHBORS):
            near = [
                (double(x) * (1 + eps * random.uniform(-4, 4, np.shape(x)))).astype(x.dtype) if is_inexact(x) else x
                for x in args
            ]
            for bound, x, y in zip(bounds, outs, program(*near), strict=True):
                if is_inexact(x):
                    np.fmax(bound, np.abs(double(y) - double(x)), out=bound)
    return [_MORE * np.where(bound < eps**0.5 * max(sizes, default=0.0), bound, 0.0) for bound in bounds]
