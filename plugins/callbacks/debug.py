"""`debug.callback` and `debug.print`: inspection of values while a program runs."""

from __future__ import annotations

import logging
import string
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import tree
from primax.extend.interpreters import mlir
from primax.extend.provisional import runtime
from primax.extend.provisional.user_types import has_user_types, unpacked
from primax.extend.rule_types import Table
from primax.plugins.callbacks.flat import FlatCallback, flat_call, one_by_one, require_callable

debug_callback_p = core.Primitive("debug_callback", multiple_results=True)


@dataclass(frozen=True, slots=True, repr=False)
class DebugEffect(core.Effect):
    """The effect of a program that shows values."""

    def __repr__(self) -> str:
        return "Debug"


@dataclass(frozen=True, slots=True, repr=False)
class OrderedDebugEffect(core.Effect):
    """The effect of a program that shows values in order."""

    def __repr__(self) -> str:
        return "OrderedDebug"


@dataclass(frozen=True, slots=True, repr=False)
class ProgressEffect(DebugEffect):
    """The effect of a program that shows its progress, of all elements of a batch at once."""

    whole_batch = True

    def __repr__(self) -> str:
        return "Progress"


def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: object,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: object,
) -> Any:
    """Call a Python function with values of the program, for inspection.

    Under `grad` and `jvp` it gets the primals, and under `vmap` one element after the other. A transposed or recomputed
    program may call it less often or more often.

    Args:
      callback: receives `args` and `kwargs` with arrays for tracers; its result is ignored.
      args: any values; arrays are passed with their values at run time.
      ordered: whether these calls happen in the order of the program.
      partitioned: whether each device of a divided program calls the function with its own parts of the values,
        instead of one device with the whole values.
      kwargs: like `args`.

    Returns:
      None. Without a callback, a function `(callback, *args, **kwargs)` that calls one.

    Raises:
      TypeError: `callback` is not callable.
      XlaError: in a compiled program, the callback failed; the call or `effects_barrier` raises it.

    >>> import primax as px
    >>> seen = []
    >>> px.grad(lambda x: px.debug.callback(lambda y: seen.append(float(y)), x * x) or x**3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    >>> seen
    [4.0]
    """
    if callback is None:
        _refuse_arguments("debug.callback", args, kwargs)
        return lambda callback, *args, **kwargs: _bind("debug.callback", callback, args, kwargs, ordered, partitioned)
    return _bind("debug.callback", callback, args, kwargs, ordered, partitioned)


def debug_print(
    fmt: str | None = None,
    *args: object,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: object,
) -> Any:
    """Print values of the program while it runs.

    Args:
      fmt: as for `str.format`; an f-string would be formatted too early.
      args: the values that `fmt` refers to by position.
      ordered: whether lines appear in the order of the program.
      partitioned: whether each device of a divided program prints its own parts of the values.
      skip_format_check: whether to skip the check that `fmt` refers to exactly these values.
      kwargs: the values that `fmt` refers to by name.

    Returns:
      None. Without `fmt`, a function `(fmt, *args, **kwargs)` that prints.

    Raises:
      TypeError: `fmt` is not a string.
      KeyError, IndexError: `fmt` refers to a missing value.
      ValueError: `fmt` does not refer to one of the values.

    >>> import primax as px
    >>> f = px.jit(lambda x: px.debug.print("x = {x:.2f}", x=x))
    >>> f(2.0); px.effects_barrier()
    x = 2.00
    """
    if fmt is None:
        _refuse_arguments("debug.print", args, kwargs)
        return lambda fmt, *args, **kwargs: _print(fmt, args, kwargs, (ordered, partitioned), skip_format_check)
    return _print(fmt, args, kwargs, (ordered, partitioned), skip_format_check)


def _refuse_arguments(user: str, args: Any, kwargs: Any) -> None:
    if args or kwargs:
        raise TypeError(f"{user}: values must come with a format or a callback, got only {(*args, *kwargs)}")


def _bind(user: str, callback: Any, args: Any, kwargs: Any, ordered: bool, partitioned: bool = False) -> None:
    require_callable(user, callback)
    if has_user_types():
        args, kwargs = unpacked((args, kwargs))
    leaves, in_tree = tree.flatten((args, kwargs))
    static = tuple((i, leaf) for i, leaf in enumerate(leaves) if not _is_value(leaf))
    apart = {i for i, _ in static}
    values = [leaf for i, leaf in enumerate(leaves) if i not in apart]
    flat = FlatCallback(callback, user, in_tree, None, static)
    params: dict[str, Any] = {"partitioned": True} if partitioned else {}
    debug_callback_p.bind(*values, callback=flat, effect=OrderedDebugEffect() if ordered else DebugEffect(), **params)


def _is_value(leaf: Any) -> bool:
    try:
        core.get_aval(leaf)
    except TypeError:
        return False
    return True


@dataclass(frozen=True, slots=True, repr=False)
class Printer:
    """Prints by a format, with the print options of NumPy at the user's call."""

    fmt: str
    options: tuple[tuple[str, Any], ...]

    def __call__(self, /, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**dict(self.options)):
            if args and all(field is None for _, field, _, _ in string.Formatter().parse(self.fmt)):
                text = " ".join((self.fmt, *map(str, args)))  # not checked, since it has no field for its values
            else:
                text = self.fmt.format(*args, **kwargs)
        self.write(text)

    def write(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")

    def __repr__(self) -> str:
        return f"print({self.fmt!r})"


class Logger(Printer):
    """Writes to the log `primax.debug` instead of printing."""

    def write(self, text: str) -> None:
        logging.getLogger("primax.debug").info("%s", text)

    def __repr__(self) -> str:
        return f"log({self.fmt!r})"


def debug_log(
    fmt: str | None = None,
    *args: object,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: object,
) -> Any:
    """`debug.print` that writes to the log `primax.debug`, at the level INFO.

    Args:
      fmt: as for `debug.print`.
      args: the same.
      ordered: the same.
      partitioned: the same.
      skip_format_check: the same.
      kwargs: the same.

    Raises:
      TypeError, KeyError, IndexError, ValueError: as for `debug.print`.

    >>> import primax as px
    >>> px.debug.log("step {}", 3)  # nothing is shown unless the log is listened to
    """
    if fmt is None:
        _refuse_arguments("debug.log", args, kwargs)
        return lambda fmt, *args, **kwargs: _print(
            fmt, args, kwargs, (ordered, partitioned), skip_format_check, "debug.log"
        )
    return _print(fmt, args, kwargs, (ordered, partitioned), skip_format_check, "debug.log")


def _print(
    fmt: Any, args: Any, kwargs: Any, how: tuple[bool, bool], unchecked: bool, user: str = "debug.print"
) -> None:
    if not isinstance(fmt, str):
        raise TypeError(f"{user}: fmt must be a string, got {fmt!r}")
    if not unchecked:
        try:
            _Checker().format(fmt, *args, **kwargs)
        except (KeyError, IndexError) as error:
            raise type(error)(
                f"{user}: fmt must refer to values that are given, got {fmt!r} for {len(args)} values and "
                f"the names {sorted(kwargs)}"
            ) from None
    kind = Printer if user == "debug.print" else Logger
    _bind(user, kind(fmt, tuple(np.get_printoptions().items())), args, kwargs, *how)


class _Checker(string.Formatter):
    """Formats nothing, but looks up every value, and raises an error for unused values."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        positions = [i for i in range(len(args)) if i not in used_args]
        names = [name for name in kwargs if name not in used_args]
        if positions:
            raise ValueError(f"debug.print: fmt must refer to every value, but leaves out those at {positions}")
        if names:
            raise ValueError(
                f"debug.print: fmt must refer to every value, but leaves out {names}; "
                "is it an f-string? Those are formatted before the values are known"
            )


def _debug_callback_impl(*args: Any, callback: Any, effect: core.Effect, partitioned: bool = False) -> list[Any]:
    runtime.wait_for_effect(effect)
    flat_call(callback, args)
    return []


def _debug_callback_abstract_eval(
    *avals: Any, callback: Any, effect: core.Effect, partitioned: bool = False
) -> tuple[Any, Any]:
    return [], {effect}


def _debug_callback_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    debug_callback_p.bind(*primals, **params)
    return [], []


def _debug_callback_transpose(cts: Any, *args: Any, **params: Any) -> list[Any]:
    return [None] * len(args)


def _debug_callback_batch(args: Any, dims: Any, *, callback: Any, **params: Any) -> tuple[Any, Any]:
    callback, moved, _ = one_by_one(callback, args, dims, ())
    debug_callback_p.bind(*moved, callback=callback, **params)
    return [], []


@mlir.physical_lowering
def _debug_callback_lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, callback: Any, effect: core.Effect, partitioned: bool = False
) -> list[Any]:
    token = ctx.tokens_in[effect] if ctx.tokens_in else None
    _, after, _ = mlir.emit_python_callback(
        ctx, callback, token, args, ctx.avals_in, ctx.avals_out, has_side_effect=True, partitioned=partitioned
    )
    if token is not None:
        ctx.set_tokens_out({effect: after})
    return []


RULES: Table = {
    debug_callback_p: {
        "impl": _debug_callback_impl,
        "effectful_abstract_eval": _debug_callback_abstract_eval,
        "jvp": _debug_callback_jvp,
        "transpose": _debug_callback_transpose,
        "batch": _debug_callback_batch,
        "lowering": _debug_callback_lowering,
        "sharding": lambda *avals, **params: [],
    },
}
