"""Functions of `jax.extend.core` that the kernel has as methods or under another name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from primax.core.avals import AbstractValue, aval_handlers, get_aval
from primax.core.dtypes import tangent_dtype as primal_dtype_to_tangent_dtype
from primax.core.errors import ABSTRACT, ConcretizationTypeError, tracer_message
from primax.core.jaxpr import Var
from primax.core.trace import Tracer, current_trace, escaped, set_current_trace
from primax.interpreters.runtime.eval import eval_trace

__all__ = [
    "TraceTag",
    "array_types",
    "concrete_or_error",
    "eval_context",
    "find_top_trace",
    "gensym",
    "mapped_aval",
    "primal_dtype_to_tangent_dtype",
    "take_current_trace",
    "unmapped_aval",
    "valid_jaxtype",
]


# Classes whose instances are arrays or scalars of a program without being made by primax.
array_types = frozenset(kind for kind in tuple(aval_handlers) if issubclass(kind, np.ndarray | np.generic))


class TraceTag:
    """A tag that identifies the tracers of one use of a transformation; it is equal only to itself.

    Examples:
      >>> from primax.extend.core import TraceTag
      >>> tag = TraceTag()
      >>> tag == tag, tag == TraceTag()
      (True, False)
    """

    __slots__ = ()


@contextmanager
def take_current_trace() -> Iterator[Any]:
    """Take the current trace, to make it the parent of a new one; binds in the block are evaluated.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import current_trace, set_current_trace, take_current_trace
      >>> def f(x):
      ...     with take_current_trace() as parent:
      ...         y = px.numpy.arange(3) + 1  # computed now, not an equation
      ...         with set_current_trace(parent):  # as the `process` of a trace does
      ...             return x * 2
      >>> px.make_jaxpr(f)(1)
      { lambda ; a:i32[]. let b:i32[] = mul a 2:i32[] in (b,) }
    """
    taken = current_trace()
    with set_current_trace(eval_trace):
        yield taken


def eval_context() -> AbstractContextManager[Any]:
    """Evaluate primitives that are bound within a `with` block, even inside a transformation.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend.core import eval_context
      >>> def f(x):
      ...     with eval_context():
      ...         table = pnp.arange(3) + 1  # computed now, not an equation
      ...     return x + table[2]
      >>> px.make_jaxpr(f)(1)
      { lambda a:i32[3]; b:i32[]. let
          c:i32[1] = slice[limit_indices=(3,) start_indices=(2,) strides=None] a
          d:i32[] = squeeze[dimensions=(0,)] c
          e:i32[] = add b d
        in (e,) }
    """
    return set_current_trace(eval_trace)


def find_top_trace(args: Any = ()) -> Any:
    """The current trace, which handles every bind; the arguments are ignored.

    Examples:
      >>> from primax.extend.core import current_trace, find_top_trace
      >>> find_top_trace([1.0]) is current_trace()
      True
    """
    return current_trace()


def mapped_aval(size: int, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """The type of an element of a value along an axis.

    Args:
      size: the length of the axis.
      axis: the position of the axis; None if there is none.
      aval: the type of the value.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core import ShapedArray, mapped_aval
      >>> mapped_aval(3, 1, ShapedArray((2, 3), np.float32))
      ShapedArray(float32[2])
      >>> mapped_aval(3, None, ShapedArray((2, 3), np.float32))
      ShapedArray(float32[2,3])
    """
    return aval if axis is None else aval.mapped(size, axis)


def unmapped_aval(size: int, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """The type of a value with one more axis; see `mapped_aval`.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core import ShapedArray, unmapped_aval
      >>> unmapped_aval(3, 1, ShapedArray((2,), np.float32))
      ShapedArray(float32[2,3])
    """
    return aval if axis is None else aval.unmapped(size, axis)


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` can be an argument of a program.

    Examples:
      >>> from primax.extend.core import valid_jaxtype
      >>> valid_jaxtype(1.0), valid_jaxtype([1.0]), valid_jaxtype("a"), valid_jaxtype(None)
      (True, False, False, False)
    """
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, value: Any, context: str = "", remedy: str = "") -> Any:
    """A value that must be known while the program is traced.

    Args:
      force: a conversion, such as `int`; None returns the value unchanged.
      value: a value, or a tracer that may have one.
      context: the sentence that the message begins with.
      remedy: the sentence that it ends with.

    Raises:
      ConcretizationTypeError: it is a tracer without a value.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import concrete_or_error
      >>> f = lambda x: x * concrete_or_error(int, x)  # under grad, unlike jit, x has a value
      >>> px.grad(f)(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    if isinstance(value, Tracer):
        if not value._trace.alive:
            raise escaped(value)
        if not value.is_concrete:
            raise ConcretizationTypeError(
                tracer_message(value, "value", f"{context}. {ABSTRACT}" if context else ABSTRACT, remedy)
            )
        value = value.concrete()
    return value if force is None else force(value)


def gensym(*_: Any) -> Callable[[Any], Var]:
    """A function that makes a new variable of a given type.

    Examples:
      >>> from primax.extend.core import gensym, get_aval
      >>> newvar = gensym()
      >>> x, y = newvar(get_aval(1.0)), newvar(get_aval(1.0))
      >>> x is y, x.aval
      (False, ShapedArray(float32[], weak_type=True))
    """
    return Var
