"""The texts of the errors that a tracer raises where Python, NumPy or a function needs its value."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from inspect import CO_VARARGS
from itertools import islice
from types import FrameType
from typing import Any

from primax.core import errors, trace
from primax.core.errors import ABSTRACT
from primax.core.source_info import called, is_internal

__all__ = ["called_with", "explain"]

# By the method that was called: JAX's words, and the request.
_REQUESTS = {
    "bool": ("Attempted boolean conversion of traced array", "asks for its truth"),
    "index": ("The __index__() method was called on traced array", "asks for it as a Python integer"),
    "array": ("The numpy.ndarray conversion method __array__() was called on traced array", "asks for a NumPy array"),
    "format": (ABSTRACT, "asks for its digits"),
    **{kind: (ABSTRACT, f"asks for it as a Python {kind}") for kind in ("int", "float", "complex")},
}
_OUTSIDE = "Read values outside of transformed functions, or in a function called by debug.callback or pure_callback."
_LOGICAL = (
    "`and`, `or` and `not` need known values: use & | ~ with parentheses around comparisons, as in (a > 0) & (b > 0), "
    "or numpy.logical_and, logical_or, logical_not."
)
_WHILE = "Use lax.while_loop(cond_fun, body_fun, init_val), or lax.fori_loop, for a loop that depends on traced values."
_COND = (
    "Use lax.cond(pred, true_fun, false_fun, *operands), or numpy.where(pred, x, y) if both may be computed, to choose "
    "by value."
)
_STATEMENTS = {
    "if": _COND,
    "elif": _COND,
    "while": _WHILE,
    "assert": "Check traced values with checkify.check, or print them with debug.print.",
}
# By the function of Python that was called: the remedy.
_CALLS = {
    "bool": "Keep it an array: x.astype(bool), or x != 0.",
    "any": "Use numpy.any(x) or x.any() instead of Python's any.",
    "all": "Use numpy.all(x) or x.all() instead of Python's all.",
    "min": "Use numpy.minimum, or numpy.min of an array, instead of Python's min.",
    "max": "Use numpy.maximum, or numpy.max of an array, instead of Python's max.",
    "sorted": "Use numpy.sort instead of Python's sorted.",
    "float": "To convert the dtype use x.astype(float), or numpy.asarray(x, float).",
    "int": "To convert the dtype use x.astype(int), or numpy.asarray(x, int).",
    "complex": "To convert the dtype use x.astype(complex), or numpy.asarray(x, complex).",
    "range": "Use lax.fori_loop(lower, upper, body_fun, init_val), or lax.scan, instead of a loop over range.",
    "round": "Use numpy.round instead of Python's round.",
}
_ARRAY = "Use the functions of primax.numpy instead of numpy's inside transformed functions."
_PLACE = "Make the sequence an array, as in numpy.asarray(values)[i], or choose a function by lax.switch."
_MASK = " A size that depends on values must be replaced by the largest one, with a mask, as in arange(most) < n."
# By a function of primax and its argument: the remedy.
_INSTEAD = {
    ("scan", "length"): "Use lax.while_loop, or lax.fori_loop, for a number of steps that depends on values.",
    ("repeat", "repeats"): "Pass a static total_repeat_length.",
    ("delete", "obj"): "Pass assume_unique_indices=True if the positions are distinct.",
    ("slice", "start_indices"): "Use lax.dynamic_slice, whose start may be traced.",
    ("histogram", "bins"): "Pass the edges of the bins, which may be traced.",
}
_SIZES = frozenset(
    "shape N M n num stop length size num_classes reps repeats total_repeat_length dimensions num_segments "
    "slice_sizes new_sizes indices_or_sections start limit_indices bins".split()
)


def explain(tracer: Any, asked: str) -> tuple[str, str]:
    """The request for the value of a tracer in words, and a remedy.

    Args:
      tracer: the tracer.
      asked: `bool`, `int`, `float`, `complex`, `index`, `array`, or the name of an attribute that only arrays have;
        `truth` for the remedy alone, where an array of several elements is a condition.
    """
    frame: FrameType | None = sys._getframe(2)  # without the function that imports this one
    while frame is not None and (frame.f_code.co_filename in _BETWEEN or frame.f_code.co_name == "__bool__"):
        frame = frame.f_back
    if asked == "truth":  # of an array with several elements
        place = ("", "", "") if frame is None or is_internal(frame.f_code.co_filename) else _source(frame)
        hint = _logical(*place) if place[1] else ""
        return "", f". {hint}" if hint else ""
    if frame is not None and is_internal(frame.f_code.co_filename):
        function = called()
        outside, argument = _argument(frame, tracer)
        # NumPy's own function, such as that of jit(np.sin), names no parameter of primax.
        if function and function not in ("contains", "item") and (argument or asked != "array"):
            return _asked_by(function, argument, tracer._trace.transformation)
        frame = outside
    words, request = _REQUESTS.get(asked, (ABSTRACT, f"asks for its {asked}"))
    text, remedy = _expression(frame, asked)
    return f"{words}: {text} {request}, but its value is not known", remedy + _static(tracer._trace.transformation)


def called_with(x: Any, function: str, argument: str) -> tuple[str, str]:
    """The function of primax that the user called, and its parameter that holds a value; by default those given."""
    return called() or function, _argument(sys._getframe(1), x)[1] or argument


_BETWEEN = frozenset((errors.__file__, trace.__file__))


def _argument(frame: FrameType | None, tracer: Any) -> tuple[FrameType | None, str]:
    """The innermost line outside of primax, and the parameter of the function called there that holds a tracer."""
    inside = []
    while frame is not None and is_internal(frame.f_code.co_filename):
        inside.append(frame)
        frame = frame.f_back
    for callee in reversed(inside):
        code = callee.f_code
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if _holds(callee.f_locals.get(name), tracer, 2):
                return frame, name
        if not code.co_flags & CO_VARARGS:  # else it may pass its arguments on
            break
    return frame, ""


def _holds(value: Any, tracer: Any, depth: int) -> bool:
    if isinstance(value, list | tuple) and depth:
        return any(_holds(x, tracer, depth - 1) for x in value[:100])
    return value is tracer


def _asked_by(function: str, argument: str, transformation: str) -> tuple[str, str]:
    """The request of a function of primax."""
    asked = f"{function}: {argument or 'an argument'} must be known before tracing. {ABSTRACT}"
    remedy = _INSTEAD.get((function, argument), "Compute it from shapes, which are known.")
    remedy += _static(transformation)
    return asked, remedy + _MASK if argument in _SIZES else remedy


def _static(transformation: str) -> str:
    """How a value is known inside a transformation."""
    if transformation.startswith(("jit", "make_jaxpr", "pmap")):
        return " If it is known before tracing, make the argument static (static_argnums or static_argnames of jit)."
    if transformation.startswith("vmap"):
        return " If it is the same for all elements, do not map over it (in_axes=None of vmap)."
    return ""


def _expression(frame: FrameType | None, asked: str) -> tuple[str, str]:
    """The expression of the user that asks for the value, for messages, and the remedy for it."""
    default = {"bool": _COND, "index": _PLACE, "array": _ARRAY}.get(asked, _CALLS.get(asked, _OUTSIDE))
    before, text, after = ("", "", "") if frame is None else _source(frame)
    if not text:  # it may be a list that is indexed, or a range
        return "Python", f"{default} {_CALLS['range']}" if asked == "index" else default
    shown = " ".join(text.split())
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    if asked == "bool":
        keyword, remedy = _condition(before, text, after)
        return f"`{keyword}{shown}`", remedy
    tree = _parsed(text)
    if isinstance(tree, ast.Call):
        function = ast.unparse(tree.func)
        if function.startswith("math."):
            return f"`{shown}`", f"Use numpy.{function[5:]} of primax instead of {function}."
        if asked != "array":
            default = _CALLS.get(function, default if asked in _CALLS else _OUTSIDE)
    if asked == "format":
        default = 'Print values with debug.print, as in debug.print("{x:.2f}", x=x).'
    return f"`{shown}`", default


def _source(frame: FrameType) -> tuple[str, str, str]:
    """The text of the current expression, of two lines before it, and of the rest of its line; empty if unknown."""
    code = frame.f_code
    place = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    if None in place or place[1] > len(lines):  # type: ignore[operator]
        return "", "", ""
    first, last, column, end = place
    before = "".join(lines[max(first - 3, 0) : first - 1]).encode() + lines[first - 1].encode()[:column]  # type: ignore
    encoded = [line.encode() for line in lines[first - 1 : last]]  # type: ignore[operator]
    after = encoded[-1][end:]
    encoded[-1] = encoded[-1][:end]
    encoded[0] = encoded[0][column:]
    return before.decode(errors="replace"), b"".join(encoded).decode(errors="replace"), after.decode(errors="replace")


def _condition(before: str, text: str, after: str) -> tuple[str, str]:
    """The keyword before an expression whose truth is asked for, and the remedies for it and its statement."""
    keyword = re.search(r"\b(if|elif|while|assert|not|and|or)[\s(]*$", before)
    word = keyword[1] if keyword else ""
    statement = re.match(r"while\b", text) or re.search(r"^\s*(if|elif|while|assert)\b[^\n]*\Z", before, re.MULTILINE)
    head = (statement[1] if statement.lastindex else "while") if statement else word if word in _STATEMENTS else ""
    tree = _parsed(text)
    if isinstance(tree, ast.IfExp):
        head = "if"
    if isinstance(tree, ast.Call) and not word and ast.unparse(tree.func) in _CALLS:
        return "", _CALLS[ast.unparse(tree.func)]
    logical = _logical(before, text, after)
    remedies = [logical] if logical else []
    if head or not logical:
        remedies.append(_STATEMENTS.get(head, _COND))
    return f"{word} " if word else "", " ".join(remedies)


def _logical(before: str, text: str, after: str) -> str:
    """The remedy for `and`, `or`, `not`, `in` and chains of comparisons; empty for other expressions."""
    tree = _parsed(text)
    if isinstance(tree, ast.BoolOp | ast.UnaryOp) or re.search(r"\b(not|and|or)[\s(]*$", before):
        return _LOGICAL
    if re.match(r"[)\s]*(and|or)\b", after):
        return _LOGICAL
    if isinstance(tree, ast.Compare) and len(tree.ops) > 1:
        a, b = ast.unparse(tree.left), [ast.unparse(x) for x in tree.comparators]
        pairs = [f"({x} {_OPERATORS[type(op)]} {y})" for x, op, y in zip([a, *b], tree.ops, b, strict=False)]
        return f"A chain of comparisons needs known values: write {' & '.join(pairs)}."
    if isinstance(tree, ast.Compare) and isinstance(tree.ops[0], ast.In | ast.NotIn):
        return f"Write ({ast.unparse(tree.comparators[0])} == {ast.unparse(tree.left)}).any()."
    return ""


def _parsed(text: str) -> ast.AST | None:
    try:
        return ast.parse(f"({text})", mode="eval").body
    except SyntaxError:
        return None


_OPERATORS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
