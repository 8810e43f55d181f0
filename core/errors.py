"""The errors of primax, each a subclass of the corresponding builtin."""

from __future__ import annotations

from typing import Any

from primax.core._jaxlib import XlaRuntimeError


class JAXTypeError(TypeError):
    """JAX's name for the errors below that are TypeErrors."""


class JAXIndexError(IndexError):
    """JAX's name for the errors below that are IndexErrors."""


class InconclusiveDimensionOperation(Exception):
    """A comparison of sizes, or the value of a size, is not known before a program runs."""


class TangentTypeError(JAXTypeError, ValueError):
    """A tangent or a cotangent does not have the type that its primal value requires; in JAX this is a ValueError."""


class ShapeError(JAXTypeError, ValueError):
    """The shapes of operands do not fit together; in JAX this is a TypeError for equal ranks, else a ValueError."""


class ArgumentError(JAXTypeError, ValueError):
    """A function does not accept an argument; in JAX this is a TypeError in some functions, else a ValueError."""


class ConcretizationTypeError(JAXTypeError):
    """The concrete value of a tracer was requested while its program is being traced."""


class TracerBoolConversionError(ConcretizationTypeError):
    """Python control flow used a tracer as a condition."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """A tracer was used where Python needs an integer."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A tracer was used as a mask in an index, where its values determine a shape."""


class TracerArrayConversionError(JAXTypeError):
    """NumPy tried to convert a tracer to an array."""


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after the transformation that made it had ended."""


class MissingRuleError(NotImplementedError):
    """A primitive has no rule for a transformation that was applied to it."""


class UnsupportedError(MissingRuleError, ValueError):
    """A primitive is declared not to support a transformation; in JAX this is a ValueError."""


class RuleError(TypeError, ValueError):
    """A rule returned an invalid value; in JAX this is a ValueError if a list was returned for a single result."""


class JaxprTypeError(TypeError):
    """A jaxpr is not well-formed or not well-typed."""


class PluginError(RuntimeError):
    """A plugin could not be loaded, or the host refused it."""


class PluginWarning(UserWarning):
    """A plugin was not loaded; the program continues without it."""


class ExperimentalWarning(UserWarning):
    """A plugin uses an experimental feature, which may change in any release."""


class DeletedArrayError(RuntimeError):
    """An array was read after its buffer had been donated or deleted."""


class CallbackError(RuntimeError):
    """A callback has failed; the caller gets this error inside an `XlaError`."""


# XLA did not compile a program, or a compiled program failed. It is the class that the runtime itself raises, so one
# `except` catches both.
XlaError = XlaRuntimeError


for _class in [value for value in vars().values() if isinstance(value, type) and value.__module__ == __name__]:
    _class.__module__ = "primax.errors"  # where users find it

ABSTRACT = "Abstract tracer value encountered where concrete value is expected"


def explain(tracer: Any, asked: str) -> tuple[str, str]:
    """The request for a value in words, and the remedy; `import primax` replaces it to read the user's line."""
    return f"{ABSTRACT}: Python asked for its {asked}", ""


def ambiguous_truth(x: Any) -> ValueError:
    """The error for an array as a condition in Python, if it does not have exactly one element."""
    count = "more than one element" if x.aval.size else "no elements"
    return ValueError(
        f"The truth value of an array with {count} is ambiguous: only an array of one element is true or false, "
        f"got {x.aval.str_short()}; use .any() or .all(){explain(x, 'truth')[1]}"
    )


def tracer_message(tracer: Any, asked: str, context: str = "", remedy: str = "") -> str:
    """The common text of the concretization errors: the request, the tracer, and the remedy.

    Args:
      tracer: the tracer.
      asked: the purpose for which Python needs its value: `bool`, `int`, `index` or another name.
      context, remedy: the request in words and the last sentence; by default made from `asked`.
    """
    trace = tracer._trace
    context, remedy = (context, remedy) if context else explain(tracer, asked)
    known = f"{context}: it is {tracer.describe()} inside {trace.transformation}."
    return "\n".join(filter(None, [known, trace.provenance(tracer), remedy]))
