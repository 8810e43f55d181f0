"""`check_p`: a condition that `checkify` verifies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import get_aval, tree
from primax.extend.interpreters import batching
from primax.extend.provisional.arguments import avals_of
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.checkify.errors import Error, FailedCheckError, JaxRuntimeError

check_p = core.Primitive("check", multiple_results=True)


class CheckEffect(core.Effect):
    """A program has checks that may fail."""

    def __repr__(self) -> str:
        return "Check"

    def __eq__(self, other: object) -> bool:
        return type(other) is CheckEffect

    def __hash__(self) -> int:
        return hash(CheckEffect)


_effects = frozenset((CheckEffect(),))


class Message:
    """The message of a failed check, from the leaves of its formatting arguments."""

    __slots__ = ("kind", "structure", "text")

    def __init__(self, text: str, structure: Any) -> None:
        self.text = text
        self.structure = structure
        self.kind = FailedCheckError

    def __call__(self, *leaves: Any) -> str:
        args, kwargs = tree.tree_unflatten(self.structure, leaves)
        return f"{self.text.format(*args, **kwargs)} (`check` failed)"


def check(pred: ArrayLike, msg: str, *fmt_args: object, debug: bool = False, **fmt_kwargs: object) -> None:
    """Check that a condition is true.

    A function with checks is called through `checkify`, which returns failures as a value. Outside of programs a failed
    check raises an error at once. A program with checks can be compiled only if `checkify` has transformed it.

    Args:
      pred: a boolean of rank 0.
      msg: the message if it is False, with fields as for `str.format`.
      fmt_args: arrays and numbers for the fields, in any containers.
      debug: whether the check has an effect only if `checkify` has transformed the program.
      fmt_kwargs: arrays and numbers for named fields.

    Raises:
      TypeError: an argument has the wrong type.
      JaxRuntimeError: outside of programs, `pred` is False.

    >>> from primax.experimental import checkify
    >>> import primax.numpy as pnp
    >>> def f(x):
    ...     checkify.check(x > 0, "x must be positive, got {}", x)
    ...     return pnp.log(x)
    >>> error, out = checkify.checkify(f)(-1.0)
    >>> error.get()
    'x must be positive, got -1.0 (`check` failed)'
    """
    if not isinstance(msg, str):
        raise TypeError(f"check: msg must be a str, got {msg!r}")
    aval = avals_of([pred], (pred,), "check", argument="pred", hint="")[0]
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError(f"check: pred must be a boolean of rank 0, got {aval.str_short()}")
    leaves, structure = tree.flatten((fmt_args, fmt_kwargs))
    avals_of(leaves, (fmt_args, fmt_kwargs), "check", call=True, hint="; formatting arguments are arrays and numbers")
    _require_fields(msg, leaves, structure)
    check_p.bind(pred, *leaves, message=Message(msg, structure), debug=bool(debug))


def _require_fields(msg: str, leaves: list[Any], structure: Any) -> None:
    """Raise an error for a message whose fields do not match the arguments, before the check fails."""
    args, kwargs = tree.tree_unflatten(structure, [_Blank()] * len(leaves))
    try:
        msg.format(*args, **kwargs)
    except (IndexError, KeyError, ValueError, AttributeError) as error:
        raise ValueError(f"check: msg must have the fields of its arguments, got {msg!r}: {error!r}") from None


class _Blank:
    def __format__(self, spec: str) -> str:
        return ""


def debug_check(pred: ArrayLike, msg: str, *fmt_args: object, **fmt_kwargs: object) -> None:
    """`check` that has an effect only if `checkify` has transformed the program."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Check that an error from `checkify` has not occurred; if it has, this check fails with it.

    Args:
      error: the error that `checkify` returned.

    Raises:
      TypeError: `error` is not an `Error`.
      JaxRuntimeError: outside of programs, a check has failed.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error: error must be an Error, got {error!r}")
    (code, *payload), structure = tree.flatten(error)

    def text(*leaves: Any) -> str:
        return tree.tree_unflatten(structure, leaves).first() or ""

    fine = core.primitives.eq_p.bind(code, np.zeros((), np.int32))
    if get_aval(fine).shape:
        fine = core.primitives.reduce_and_p.bind(fine, axes=tuple(range(len(get_aval(fine).shape))))
    check_p.bind(fine, code, *payload, message=_ErrorText(text), debug=False)


class _ErrorText:
    __slots__ = ("_text", "kind")

    def __init__(self, text: Callable[..., str]) -> None:
        self._text = text
        self.kind = FailedCheckError

    def __call__(self, *leaves: Any) -> str:
        return self._text(*leaves)


def first_of(failed: Any, payload: list[Any]) -> list[Any]:
    """The values for the first failure of a mapped check; `failed` has only the mapped axes."""
    p = core.primitives
    shape = get_aval(failed).shape
    if not shape:
        return payload
    rank, size = len(shape), int(np.prod(shape))
    flat = p.reshape_p.bind(failed, new_sizes=(size,), dimensions=None)
    index = p.argmax_p.bind(flat, axes=(0,), index_dtype=np.dtype(np.int32))
    outs = []
    for x in payload:
        rest = get_aval(x).shape[rank:]
        x = p.reshape_p.bind(x, new_sizes=(size, *rest), dimensions=None)
        zeros = [np.int32(0)] * len(rest)
        part = p.dynamic_slice_p.bind(x, index, *zeros, slice_sizes=(1, *rest))
        outs.append(p.squeeze_p.bind(part, dimensions=(0,)))
    return outs


def _impl(pred: Any, *payload: Any, message: Any, debug: bool) -> list[Any]:
    holds = np.asarray(pred)
    if not debug and not holds.all():
        index = tuple(np.argwhere(~holds)[0])
        raise JaxRuntimeError(message(*(x[index] if index else x for x in payload)))
    return []


def _abstract_eval(pred: Any, *payload: Any, message: Any, debug: bool) -> tuple[Any, Any]:
    return [], _effects


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    return check_p.bind(*primals, **params), []


def _batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
    """Put the mapped axis first in all arguments, so that the values of a failure can be found."""
    moved = [
        batching.broadcast(x, axis.size, 0) if d is None else batching.moveaxis(x, d, 0)
        for x, d in zip(args, dims, strict=True)
    ]
    return check_p.bind(*moved, **params), []


def _lowering(ctx: Any, pred: Any, *payload: Any, message: Any, debug: bool) -> list[Any]:
    if debug:
        return []
    raise ValueError(
        "check: a program with checks must be transformed by checkify before it is compiled; call "
        "checkify.checkify(f)(...) and look at the error it returns, or use debug_check"
    )


RULES: Table = {
    check_p: {
        "impl": _impl,
        "effectful_abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "axis_batch": _batch,
        "lowering": _lowering,
        "sharding": lambda *avals, **params: [],
    },
}
