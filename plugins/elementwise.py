"""What elementwise families share: their rules follow from a row that says dtypes, operation and derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, dtypes
from primax.extend.interpreters import ad, batching, mlir

__all__ = [
    "ANY",
    "BOOL_OR_INT",
    "COMPLEX",
    "FLOATING",
    "INEXACT",
    "INTEGER",
    "NUMERIC",
    "ORDERED",
    "Accepts",
    "elementwise_abstract_eval",
    "match_scalars",
    "row",
    "unbroadcast",
]

Rule = Callable[..., Any]


class Accepts:
    """A set of dtypes with its name in messages."""

    __slots__ = ("_cache", "_test", "name")

    def __init__(self, name: str, test: Callable[[Any], bool]) -> None:
        self.name = name
        self._test = test
        self._cache: dict[Any, bool] = {}

    def __contains__(self, dtype: Any) -> bool:
        found = self._cache.get(dtype)
        if found is None:
            found = self._cache[dtype] = isinstance(dtype, np.dtype) and self._test(dtype)
        return found


ANY = Accepts("of any dtype", lambda d: True)
FLOATING = Accepts("floating", dtypes.is_floating)
COMPLEX = Accepts("complex", dtypes.is_complex)
INEXACT = Accepts("floating or complex", dtypes.is_inexact)
INTEGER = Accepts("integer", dtypes.is_integer)
BOOL_OR_INT = Accepts("boolean or integer", lambda d: dtypes.is_bool(d) or dtypes.is_integer(d))
NUMERIC = Accepts("a number", lambda d: dtypes.is_integer(d) or dtypes.is_inexact(d))
ORDERED = Accepts("real", lambda d: not dtypes.is_complex(d))


def elementwise_abstract_eval(
    name: str, accepts: Sequence[Accepts], out_dtype: Callable[[Any], Any] | None = None, same_dtype: bool = True
) -> Rule:
    """The abstract evaluation rule of an elementwise primitive.

    Args:
      name: what messages call it.
      accepts: the dtypes of each argument.
      out_dtype: the dtype of the result from that of the first argument; the same if None.
      same_dtype: whether all arguments must have one dtype.
    """

    def abstract_eval(*avals: ShapedArray, **params: Any) -> ShapedArray:
        for i, (aval, accept) in enumerate(zip(avals, accepts, strict=True)):
            if aval.dtype not in accept:
                which = "its argument" if len(avals) == 1 else f"argument {i}"
                raise TypeError(f"{name}: {which} must be {accept.name}, got {aval.str_short()}")
        first = avals[0]
        shape = first.shape
        for aval in avals[1:]:
            if same_dtype and aval.dtype != first.dtype:
                raise TypeError(
                    f"{name}: arguments must have one dtype, got {first.str_short()} and {aval.str_short()}; "
                    "convert one of them, or use primax.numpy, which promotes"
                )
            if aval.shape != shape:
                if not shape:
                    shape = aval.shape
                elif aval.shape:
                    raise TypeError(
                        f"{name}: arguments must have one shape, or none, got shapes {shape} and {aval.shape}; "
                        "primax.numpy broadcasts"
                    )
        weak = all(aval.weak_type for aval in avals)
        dtype = first.dtype if out_dtype is None else out_dtype(first.dtype)
        return ShapedArray(shape, dtype, weak and (out_dtype is None or dtype != np.bool_))

    abstract_eval.__name__ = f"abstract_eval({name})"
    return abstract_eval


def row(
    primitive: core.Primitive,
    accepts: Accepts | Sequence[Accepts],
    lowering: str | Rule,
    jvp: Sequence[Rule | None] | Rule | None = None,
    *,
    out: Callable[[Any], Any] | None = None,
    uses_result: bool = False,
    same_dtype: bool = True,
    **rules: Any,
) -> tuple[core.Primitive, dict[str, Any]]:
    """One elementwise primitive with its rules.

    Args:
      primitive: what the row defines.
      accepts: dtypes of its arguments: one for a primitive of one argument, else a sequence.
      lowering: a StableHLO or CHLO operation, or a rule.
      jvp: for each argument `(tangent, *primals)` to its term of the derivative, or None for none; a single function
        for a primitive of one argument; None if the derivative is zero wherever it exists.
      out: the dtype of the result from that of the first argument.
      uses_result: whether the functions in `jvp` get the result after the tangent.
      same_dtype: whether all arguments must have one dtype.
      rules: further rules, or replacements.
    """
    kinds = [accepts] if isinstance(accepts, Accepts) else list(accepts)
    if jvp is None:
        derivative = ad.zero_jvp(primitive)
    else:
        terms = [jvp] if callable(jvp) else list(jvp)
        derivative = (ad.standard_jvp2 if uses_result else ad.standard_jvp)(primitive, *terms)
    found = {
        "abstract_eval": elementwise_abstract_eval(primitive.name, kinds, out, same_dtype),
        "jvp": derivative,
        "batch": batching.vectorized(primitive) if len(kinds) == 1 else batching.broadcasting(primitive),
        "lowering": mlir.nary(lowering) if isinstance(lowering, str) else lowering,
    }
    return primitive, {**found, **rules}


_PYTHON_SCALARS = (float, int, complex, bool)


def match_scalars(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands; a Python scalar takes the dtype of the other where that can hold it."""
    if type(x) in _PYTHON_SCALARS:
        if type(y) not in _PYTHON_SCALARS:
            return _scalar_like(x, core.get_aval(y)), y
    elif type(y) in _PYTHON_SCALARS:
        return x, _scalar_like(y, core.get_aval(x))
    return x, y


def _scalar_like(scalar: Any, aval: Any) -> Any:
    own = core.get_aval(scalar)
    if own.dtype == aval.dtype and aval.weak_type:
        return scalar
    if dtypes.result_type(aval, scalar) != aval.dtype:
        return scalar
    return aval.dtype.type(scalar)
