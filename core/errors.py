"""The errors of primax, each a subclass of the corresponding builtin."""

from __future__ import annotations

from typing import Any

from primax.core._jaxlib import XlaRuntimeError


class JAXTypeError(TypeError):
    """JAX's name for the errors below that are TypeErrors."""


class JAXIndexError(IndexError):
    """JAX's name for the errors below that are IndexErrors."""


class InconclusiveDimensionOperation(Exception):
    """A comparison of sizes, or the value of a size, is not known before a program runs.

    Examples:
      >>> from primax import export
      >>> a, b = export.symbolic_shape("a, b")
      >>> a >= 1, a + b >= b
      (True, True)
      >>> a < b
      Traceback (most recent call last):
          ...
      primax.errors.InconclusiveDimensionOperation: Symbolic dimension comparison 'a' < 'b' is inconclusive. A
      constraint may decide it: symbolic_shape(..., constraints=['a >= b']).
    """


class TangentTypeError(JAXTypeError, ValueError):
    """A tangent or a cotangent does not have the type that its primal value requires; in JAX this is a ValueError.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> px.jvp(pnp.sin, (1.0,), (np.ones(2),))
      Traceback (most recent call last):
          ...
      primax.errors.TangentTypeError: jvp: tangents[0] must be of type f32[], the tangent type of f32[], got
      f32[2]
    """


class ShapeError(JAXTypeError, ValueError):
    """The shapes of operands do not fit together; in JAX this is a TypeError for equal ranks, else a ValueError.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.ones(2) + pnp.ones(3)
      Traceback (most recent call last):
          ...
      primax.errors.ShapeError: add got incompatible shapes for broadcasting: (2,), (3,). Counted from the last
      axis, sizes must be equal or 1, but axis -1 has 2 and 3
    """


class ArgumentError(JAXTypeError, ValueError):
    """An argument is none that a function accepts; in JAX this is a TypeError in some functions, else a ValueError."""


class ConcretizationTypeError(JAXTypeError):
    """The concrete value of a tracer was requested while its program is being traced.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.jit(pnp.zeros)(3)
      Traceback (most recent call last):
          ...
      primax.errors.TracerIntegerConversionError: zeros: an argument must be known before tracing. Abstract tracer
      value encountered where concrete value is expected: it is a value of type i32[] inside jit of zeros.
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """Python control flow used a tracer as a condition.

    Examples:
      >>> import primax as px
      >>> px.jit(lambda x: 1 if x > 0 else 2)(3)
      Traceback (most recent call last):
          ...
      primax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array: Python asks for its
      truth, but its value is not known: it is a value of type bool[] inside jit of <lambda>.
    """


class TracerIntegerConversionError(ConcretizationTypeError):
    """A tracer was used where Python needs an integer.

    Examples:
      >>> import primax as px
      >>> px.jit(lambda n: [0, 1, 2][n])(1)
      Traceback (most recent call last):
          ...
      primax.errors.TracerIntegerConversionError: The __index__() method was called on traced array: Python asks
      for it as a Python integer, but its value is not known: it is a value of type i32[] inside jit of <lambda>.
    """


class NonConcreteBooleanIndexError(JAXIndexError):
    """A tracer was used as a mask in an index, where its values determine a shape.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.jit(lambda x: x[x > 0])(np.ones(3))
      Traceback (most recent call last):
          ...
      primax.errors.NonConcreteBooleanIndexError: Array boolean indices must be concrete: a mask must have a known
      value, got a value of type bool[3]: the number of elements that it selects determines a shape. To choose
      between values use where(mask, x, y), or nonzero(mask, size=...)
    """


class TracerArrayConversionError(JAXTypeError):
    """NumPy tried to convert a tracer to an array.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.jit(np.sin)(1.0)
      Traceback (most recent call last):
          ...
      primax.errors.TracerArrayConversionError: The numpy.ndarray conversion method __array__() was called on
      traced array: Python asks for a NumPy array, but its value is not known: it is a value of type f32[] inside
      jit of sin.
    """


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after the transformation that made it had ended.

    Examples:
      >>> import primax as px
      >>> kept = []
      >>> _ = px.jit(lambda x: kept.append(x))(1.0)
      >>> kept[0] + 1
      Traceback (most recent call last):
          ...
      primax.errors.UnexpectedTracerError: Encountered an unexpected tracer: a value of type f32[] escaped from
      jit of <lambda> and was used after the end of that transformation. It is argument x of <lambda>.
    """


class MissingRuleError(NotImplementedError):
    """A primitive has no rule for a transformation that was applied to it.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import Primitive
      >>> px.make_jaxpr(Primitive("twice").bind)(1.0)
      Traceback (most recent call last):
          ...
      primax.errors.MissingRuleError: no abstract_eval rule for primitive 'twice' (from no plugin, made in
      __main__).
    """


class UnsupportedError(MissingRuleError, ValueError):
    """A primitive is declared not to support a transformation; in JAX this is a ValueError.

    Examples:
      >>> import primax as px
      >>> import numpy as np
      >>> px.grad(lambda x: px.pure_callback(np.sin, x, x))(1.0)
      Traceback (most recent call last):
          ...
      primax.errors.UnsupportedError: pure_callback (callbacks) does not support jvp: the derivative of a Python
      function is unknown; call it in a function with custom derivatives, primax.custom_jvp or primax.custom_vjp,
      or as the lowering of a primitive that has a jvp rule
    """


class RuleError(TypeError, ValueError):
    """A rule returned a value that its transformation cannot accept; in JAX a ValueError for a list from one result.

    Examples:
      >>> import primax as px
      >>> from primax.extend.core import Primitive
      >>> pair_p = Primitive("pair")
      >>> _ = pair_p.def_abstract_eval(lambda x: [x, x])
      >>> px.make_jaxpr(pair_p.bind)(1.0)
      Traceback (most recent call last):
          ...
      primax.errors.RuleError: the abstract_eval rule of pair must return an aval, got [ShapedArray(float32[],
      weak_type=True), ShapedArray(float32[], weak_type=True)] for (ShapedArray(float32[], weak_type=True),);
      several results need Primitive('pair', multiple_results=True).
    """


class JaxprTypeError(TypeError):
    """A jaxpr is not well-formed or not well-typed.

    Examples:
      >>> from primax.extend.core import Jaxpr, Var, check_jaxpr, get_aval
      >>> x, y = Var(get_aval(1.0)), Var(get_aval(1.0))
      >>> check_jaxpr(Jaxpr([], [x], [y], []))
      Traceback (most recent call last):
          ...
      primax.errors.JaxprTypeError: check_jaxpr: variable b is read, but nothing before binds it, among the
      outputs
    """


class PluginError(RuntimeError):
    """A plugin could not be loaded, or the host refused it.

    Examples:
      >>> from primax.extend.testing import check_plugin
      >>> check_plugin("no-such-plugin")
      Traceback (most recent call last):
          ...
      primax.errors.PluginError: there is no plugin 'no-such-plugin' (there are arithmetic, arrays, bitwise,
      callbacks, calls, checkify, collectives, comparison, composite, control_flow, convolution, cumulative,
      custom_batching, custom_derivatives, devices, dot, exponential, export, fft, indexing, linalg, ...
    """


class PluginWarning(UserWarning):
    """A plugin was not loaded; the program continues without it."""


class ExperimentalWarning(UserWarning):
    """A plugin uses an experimental feature, which may change in any release."""


class DeletedArrayError(RuntimeError):
    """An array was read after its buffer had been donated or deleted.

    Examples:
      >>> import primax.numpy as pnp
      >>> x = pnp.ones(2)
      >>> x.delete()
      >>> x + 1
      Traceback (most recent call last):
          ...
      primax.errors.DeletedArrayError: the array of type f32[2] was deleted (delete()) and has no value any more;
      use the results of the computation, or keep a copy
    """


class CallbackError(RuntimeError):
    """A callback has failed; the caller gets this error inside an `XlaError`."""


# XLA did not compile a program, or a compiled program failed. It is the class that the runtime itself raises, so one
# `except` catches both.
XlaError = XlaRuntimeError


for _class in [value for value in vars().values() if isinstance(value, type) and value.__module__ == __name__]:
    _class.__module__ = "primax.errors"  # where users find it

ABSTRACT = "Abstract tracer value encountered where concrete value is expected"


def explain(tracer: Any, asked: str) -> tuple[str, str]:
    """The request for a value in words, and the remedy; primax installs one that reads the line that asked."""
    return f"{ABSTRACT}: Python asked for its {asked}", ""


def ambiguous_truth(x: Any) -> ValueError:
    """The error for an array that Python takes as a condition, and which does not have one element."""
    count = "more than one element" if x.aval.size else "no elements"
    return ValueError(
        f"The truth value of an array with {count} is ambiguous: only an array of one element is true or false, "
        f"got {x.aval.str_short()}; use .any() or .all(){explain(x, 'truth')[1]}"
    )


def tracer_message(tracer: Any, asked: str, context: str = "", remedy: str = "") -> str:
    """The common text of the concretization errors: the request, the tracer, and the remedy.

    Args:
      tracer: the tracer.
      asked: what its value was asked for: `bool`, `int`, `index` or another name.
      context, remedy: the request in words and the last sentence; by default made from `asked`.
    """
    trace = tracer._trace
    context, remedy = (context, remedy) if context else explain(tracer, asked)
    known = f"{context}: it is {tracer.describe()} inside {trace.transformation}."
    return "\n".join(filter(None, [known, trace.provenance(tracer), remedy]))
