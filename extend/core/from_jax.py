"""`Primitive` and `Trace`, with the methods that traces written for JAX define and call."""

from __future__ import annotations

from typing import Any

from primax.core import primitive as kernel
from primax.core import trace
from primax.core.primitive import Result
from primax.interpreters.runtime.eval import eval_trace

__all__ = ["Primitive", "Trace"]


class Primitive(kernel.Primitive[Result]):  # noqa: D101 (the docstring is that of the kernel)
    __doc__ = kernel.Primitive.__doc__

    def bind_with_trace(self, trace: Any, args: Any, *rest: Any) -> Any:
        """Apply the primitive under a given trace.

        Args:
          trace: the trace.
          args: the operands.
          rest: the parameters, as a dictionary; JAX's types of the operands may precede it.
        """
        return trace.process(self, args, rest[-1])


class _AnyTrace(type):
    """The type of `Trace`; every trace is an instance of `Trace`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, trace.Trace) if cls is Trace else super().__instancecheck__(instance)


class Trace(trace.Trace, metaclass=_AnyTrace):
    """An active transformation.

    A subclass defines `process(primitive, args, params)`, which returns one value, or a list if the primitive has
    multiple results. Rules run with `parent` as the current trace; see `set_current_trace`. A trace written for JAX
    defines `process_primitive` instead, which runs under the evaluating trace unless it sets another; its `__init__`
    need not call that of this class.

    Args:
      parent: the next outer trace; by default the current one.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.extend.core import Trace, set_current_trace
      >>> class Names(Trace):
      ...     def process(self, primitive, args, params):
      ...         print(primitive.name)
      ...         with set_current_trace(self.parent):
      ...             return primitive.bind(*args, **params)
      >>> with set_current_trace(Names()):
      ...     _ = pnp.add(pnp.sin(1.0), 2.0)
      sin
      add
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        trace.Trace.__init__(self)
        return self

    def process(self, primitive: Any, args: Any, params: dict[str, Any]) -> Any:
        """Apply `primitive` to arguments, which may be tracers of this trace or any other values."""
        if not hasattr(self, "process_primitive"):
            return super().process(primitive, args, params)
        with trace.set_current_trace(eval_trace):
            # A primitive that JAX does not have, or has in another form, has a method for such traces.
            own_form = getattr(primitive, "process_for_jax_trace", None)
            return self.process_primitive(primitive, args, params) if own_form is None else own_form(self, args, params)
