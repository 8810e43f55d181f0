"""`visualize`: the program of a function as a picture."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from primax.core.arguments import name_of
from primax.core.jaxpr import ClosedJaxpr, Jaxpr
from primax.core.source_info import is_internal
from primax.extend.api_util import debug_info
from primax.extend.drawing.dot import themed, to_dot
from primax.extend.drawing.graph import build
from primax.extend.drawing.graphviz import FORMATS, HINT, installed, render
from primax.extend.drawing.html import program_html
from primax.extend.provisional.arguments import integer
from primax.interpreters.make_jaxpr import make_jaxpr

__all__ = ["Picture", "visualize"]


_TRANSFORMATIONS = frozenset(
    ("checkpoint", "grad", "hessian", "jacfwd", "jacrev", "make_jaxpr", "shard_map", "value_and_grad", "vmap")
)


class Picture:
    """A program as a graph. Notebooks draw it where Graphviz is installed, and else show its text.

    Attributes:
      dot: the graph as text in Graphviz's language.
      name: the title.
      plugins: the number of equations drawn for each plugin's primitives, in the order of the program.
      jaxpr: the program.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> picture = px.visualize(lambda x: pnp.sin(x) + pnp.cos(x), 1.0)
      >>> picture.plugins
      {'trigonometry': 2, 'arithmetic': 1}
    """

    def __init__(self, dot: str, name: str, plugins: dict[str, int], jaxpr: Jaxpr) -> None:
        self.dot = dot
        self.name = name
        self.plugins = plugins
        self.jaxpr = jaxpr

    def __repr__(self) -> str:
        equations = sum(self.plugins.values())
        return f"<Picture of {self.name}: {equations} equations, plugins {', '.join(self.plugins) or 'none'}>"

    @cached_property
    def svg(self) -> str:
        """The picture as SVG, which has dark colours on dark pages.

        Raises:
          RuntimeError: Graphviz is not installed.
        """
        return themed(render(self.dot, "svg").decode(), self.plugins)

    def _repr_html_(self) -> str:
        """The picture, in the page itself so that it has the colours of the notebook; or the text of the program."""
        if installed():
            return f'<div style="overflow-x: auto">{self.svg[self.svg.index("<svg") :]}</div>'
        return program_html(self.jaxpr, self.name, "Not drawn, since Graphviz is not installed: " + HINT)

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file.

        Args:
          path: the file; it ends in .dot or .gv for text, or in .svg, .png or .pdf for an image by Graphviz.

        Returns:
          The path.

        Raises:
          RuntimeError: the file is an image, and Graphviz is not installed.
          ValueError: the path has another ending.
        """
        path = Path(path)
        form = path.suffix.removeprefix(".").lower()
        if form in ("dot", "gv"):
            path.write_text(self.dot, encoding="utf-8")
        elif form in FORMATS:
            path.write_bytes(self.svg.encode() if form == "svg" else render(self.dot, form))
        else:
            suffixes = ", ".join(f".{name}" for name in ("dot", "gv", *FORMATS))
            raise ValueError(f"save: path must end in one of {suffixes}, got {str(path)!r}")
        return path


def visualize(fun: Any, *args: object, depth: int | None = None, limit: int = 250, name: str | None = None) -> Picture:
    """A picture of the program of a function: equations in the colours of the plugins that their primitives come from.

    Values flow along arrows, from inputs to outputs. Each inner program has a frame.

    Args:
      fun: a function of pytrees of arrays; or a jaxpr, and then there are no arguments.
      args: its arguments, or `ShapeDtypeStruct`s like them.
      depth: the nesting depth to which inner programs are drawn; None draws as much as `limit` allows.
      limit: the maximal number of equations.
      name: the title of the picture; None means the function's name, with the transformations: `grad(f)`.

    Raises:
      TypeError: `fun` is neither a function nor a jaxpr, or `name` is not a text.
      ValueError: `depth` is negative, or `limit` not positive.

    >>> import primax as px
    >>> picture = px.visualize(lambda x: px.numpy.sin(x) * 2.0, 1.0, name="wave")
    >>> picture
    <Picture of wave: 2 equations, plugins trigonometry, arithmetic>
    >>> picture.dot.startswith('digraph "wave" {')
    True
    """
    depth = None if depth is None else integer("visualize", "depth", depth)
    limit = integer("visualize", "limit", limit)
    if depth is not None and depth < 0:
        raise ValueError(f"visualize: depth must be 0 or more, got {depth}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"visualize: name must be a str or None, got {name!r}")
    if limit < 1:
        raise ValueError(f"visualize: limit must be 1 or more, got {limit}")
    names: list[str] = []
    if isinstance(fun, Jaxpr | ClosedJaxpr):
        if args:
            raise TypeError(f"visualize: a jaxpr must come without arguments, got {len(args)}")
        program = fun
    elif callable(fun):
        program = make_jaxpr(fun)(*args)
        names = [name or "" for name in debug_info("visualize", fun, args, {}).arg_names or ()]
        name = name or _title(fun)
    else:
        raise TypeError(f"visualize: fun must be a function or a jaxpr, got {type(fun).__name__}")
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    graph = build(jaxpr, names=names, depth=depth, limit=limit)
    title = name or "jaxpr"
    return Picture(to_dot(graph, title), title, dict(graph.plugins), jaxpr)


def _title(fun: Any) -> str:
    """The name of a function, with the transformations around it, such as `jit(grad(f))`."""
    transformations: list[str] = []
    inner = fun
    while True:
        if hasattr(inner, "_dispatch") and hasattr(inner, "lower"):
            transformations.append("jit")
        code = getattr(inner, "__code__", None)
        if code is not None and is_internal(code.co_filename):
            parts = code.co_qualname.split(".<locals>.")
            transformations += [part for part in parts if part in _TRANSFORMATIONS][:1]
        if not callable(getattr(inner, "__wrapped__", None)):
            break
        inner = inner.__wrapped__
    return "(".join([*transformations, name_of(fun)]) + ")" * len(transformations)
