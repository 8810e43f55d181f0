"""A jaxpr as a graph: values flow from inputs through equations to outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from textwrap import wrap
from typing import Any

import numpy as np

from primax.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal, Var, holds_program, jaxprs_in_params
from primax.core.text.printer import PrintedCall, atom_to_text, eqn_to_text, name_vars, shown_params

__all__ = ["Box", "Edge", "Graph", "Node", "build", "programs_of", "purpose"]

# Loops run their programs many times, so values do not flow straight through these programs.
_LOOPS = frozenset(("scan", "while"))
# The purposes of the programs of loops, by the parameters that hold them.
_PURPOSES = {
    ("while", "cond_jaxpr"): "repeat while this is True",
    ("while", "body_jaxpr"): "each step",
    ("scan", "jaxpr"): "each step",
}
# Parameters that the type of the result contains already.
_TOLD_BY_TYPES = frozenset(("dtype", "name", "new_dtype", "new_sizes", "shape"))
_MOST_LITERALS = 6
_WIDTH = 40


@dataclass(frozen=True, slots=True)
class Node:
    """Something with a place in the picture.

    Attributes:
      id: the name for edges.
      kind: "input", "constant", "equation", "result", "output" or "more".
      title: the first line of its text.
      lines: the lines below the title.
      plugin: the plugin of its primitive, if it is an equation.
      note: the text that is shown beside the pointer.
    """

    id: str
    kind: str
    title: str
    lines: tuple[str, ...] = ()
    plugin: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow from one node to another; faint if it represents a call instead of a value."""

    source: str
    target: str
    label: str = ""
    faint: bool = False


@dataclass(slots=True)
class Box:
    """A frame around the nodes of a program within the program."""

    id: str
    title: str
    plugin: str = ""
    parts: list[Node | Box] = field(default_factory=list)


@dataclass(slots=True)
class Graph:
    """A picture, before it is laid out."""

    root: Box
    edges: list[Edge]
    plugins: Counter[str]
    equations: int


def build(jaxpr: Jaxpr, *, names: Sequence[str] = (), depth: int | None = None, limit: int = 250) -> Graph:
    """The graph of a program.

    Args:
      jaxpr: the program.
      names: the names of its inputs, if they are known.
      depth: the nesting depth to which inner programs are drawn; None draws as much as `limit` allows.
      limit: the maximal number of equations. Inner programs are left out first, the deepest ones before others; then
        the last equations of the program, which one node represents.

    Raises:
      TypeError: `names` is not a sequence of strings.
    """
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"build: names must be a sequence of strings, got {names!r}")
    if depth is None:
        depth = 0
        while _size(jaxpr, depth) < _size(jaxpr, depth + 1) <= limit:
            depth += 1
    return _Builder(jaxpr, depth, limit).build(jaxpr, names)


def _size(jaxpr: Jaxpr, depth: int) -> int:
    """The number of equations down to a depth."""
    size = len(jaxpr.eqns)
    if depth > 0:
        size += sum(_size(inner, depth - 1) for eqn in jaxpr.eqns for _, inner in programs_of(eqn))
    return size


def programs_of(eqn: JaxprEqn) -> Iterator[tuple[str, Jaxpr]]:
    """The inner programs of an equation, with the names of their parameters."""
    for name, value in eqn.params.items():
        inner = list(jaxprs_in_params({name: value}))
        for i, jaxpr in enumerate(inner):
            yield (f"{name}[{i}]" if len(inner) > 1 else name), jaxpr


class _Builder:
    def __init__(self, jaxpr: Jaxpr, depth: int, limit: int) -> None:
        self.depth = depth
        self.limit = limit
        self.texts = name_vars(jaxpr)
        self.ids = map("n{}".format, count())
        self.edges: list[Edge] = []
        self.plugins: Counter[str] = Counter()
        self.equations = 0
        self.makers: dict[Var, JaxprEqn] = {}  # the equation of each result

    def build(self, jaxpr: Jaxpr, names: Sequence[str]) -> Graph:
        root = Box("root", "")
        sources: dict[Var, str] = {}
        for i, v in enumerate(jaxpr.invars):
            name = names[i] if i < len(names) else ""
            sources[v] = self.node(root, "input", name or self.text(v), [self.text(v)] if name else [])
        for v in jaxpr.constvars:
            sources[v] = self.node(root, "constant", self.text(v), ("constant",))
        self.program(root, jaxpr, sources, self.depth, self.limit)
        for atom in jaxpr.outvars:
            self.connect(root, atom, self.node(root, "output", self.text(atom)), sources)
        return Graph(root, self.edges, self.plugins, self.equations)

    def node(self, box: Box, kind: str, title: str, lines: Sequence[str] = (), plugin: str = "", note: str = "") -> str:
        node = Node(next(self.ids), kind, title, tuple(filter(None, lines)), plugin, note)
        box.parts.append(node)
        return node.id

    def text(self, atom: Any) -> str:
        """A variable with its type, or a literal."""
        if isinstance(atom, Literal):
            return atom_to_text(atom, self.texts)
        return f"{self.texts.get(atom, '_')}:{atom.aval.str_short()}"

    def connect(self, box: Box, atom: Any, target: str, sources: Mapping[Var, str], label: str = "") -> None:
        if isinstance(atom, Literal):
            source = self.node(box, "constant", self.text(atom))
        else:
            source = sources[atom]
        self.edges.append(Edge(source, target, label))

    def program(self, box: Box, jaxpr: Jaxpr, sources: dict[Var, str], depth: int, limit: int) -> None:
        """Draw the equations of a program whose inputs come from known nodes."""
        eqns = jaxpr.eqns
        for eqn in eqns[:limit] if len(eqns) > limit else eqns:
            self.equation(box, eqn, sources, depth)
        if len(eqns) > limit:
            self.rest(box, eqns[limit:], sources)

    def rest(self, box: Box, eqns: Sequence[JaxprEqn], sources: dict[Var, str]) -> None:
        """One node for many equations."""
        node = self.node(box, "more", f"{len(eqns):,} more equations")
        read = dict.fromkeys(sources[v] for eqn in eqns for v in eqn.invars if v in sources)
        self.edges += [Edge(source, node) for source in read]
        for eqn in eqns:
            sources.update(dict.fromkeys(eqn.outvars, node))

    def equation(self, box: Box, eqn: JaxprEqn, sources: dict[Var, str], depth: int) -> None:
        plugin = eqn.primitive.plugin or eqn.primitive.module
        self.plugins[plugin] += 1
        self.equations += 1
        self.makers.update(dict.fromkeys(eqn.outvars, eqn))
        programs = list(programs_of(eqn)) if depth > 0 else []
        if not programs:
            node = self.alone(box, eqn, sources, plugin, eqn.outvars)
            sources.update(dict.fromkeys(eqn.outvars, node))
            return
        title = " ".join([str(eqn.primitive), *filter(None, [_own_name(eqn)])])
        frame = Box(f"cluster_{next(self.ids)}", title, plugin)
        box.parts.append(frame)
        inner = programs[0][1]
        if len(programs) == 1 and eqn.primitive.name not in _LOOPS and _flows_through(eqn, inner):
            self.call(frame, eqn, inner, sources, depth)
        else:
            self.control(frame, eqn, programs, sources, depth)

    def alone(self, box: Box, eqn: JaxprEqn, sources: dict[Var, str], plugin: str, outs: Sequence[Any]) -> str:
        """An equation as one node."""
        lines = [*_operands(eqn, self.texts), *_parameters(eqn), *map(self.text, outs)]
        title = " ".join([str(eqn.primitive), *filter(None, [_own_name(eqn)])])
        node = self.node(box, "equation", title, lines, plugin, eqn_to_text(eqn, self.texts))
        for v in dict.fromkeys(v for v in eqn.invars if not isinstance(v, Literal)):
            self.edges.append(Edge(sources[v], node))
        return node

    def call(self, frame: Box, eqn: JaxprEqn, inner: Jaxpr, sources: dict[Var, str], depth: int) -> None:
        """A program that is run once: values flow into its box and out of it."""
        own: dict[Var, str] = {}
        for v in inner.constvars:
            own[v] = self.node(frame, "constant", self.text(v), ("constant",))
        for v, atom in zip(inner.invars, eqn.invars, strict=True):
            own[v] = self.node(frame, "constant", self.text(atom)) if isinstance(atom, Literal) else sources[atom]
        self.program(frame, inner, own, depth - 1, self.limit)
        for outer, atom in zip(eqn.outvars, inner.outvars, strict=True):
            if isinstance(atom, Literal):
                sources[outer] = self.node(frame, "constant", self.text(atom))
            else:
                sources[outer] = own[atom]

    def control(self, frame: Box, eqn: JaxprEqn, programs: Any, sources: dict[Var, str], depth: int) -> None:
        """Programs of branches and loops, each in a box, between the node that decides and the one with results."""
        enter = self.alone(frame, eqn, sources, frame.plugin, ())
        leave = self.node(frame, "result", "", [self.text(v) for v in eqn.outvars], frame.plugin)
        for name, inner in programs:
            box = Box(f"cluster_{next(self.ids)}", purpose(eqn, name, self.makers, self.texts))
            frame.parts.append(box)
            own: dict[Var, str] = {}
            for v in [*inner.constvars, *inner.invars]:
                own[v] = self.node(box, "input", self.text(v))
                self.edges.append(Edge(enter, own[v], faint=True))
            self.program(box, inner, own, depth - 1, self.limit)
            if not inner.invars and not inner.eqns:
                self.edges.append(Edge(enter, leave, faint=True))
            for atom in inner.outvars:
                if isinstance(atom, Literal):
                    self.connect(box, atom, leave, own)
                else:
                    self.edges.append(Edge(own[atom], leave, faint=True))
        sources.update(dict.fromkeys((v for v in eqn.outvars if not isinstance(v, DropVar)), leave))


def purpose(eqn: JaxprEqn, name: str, makers: Mapping[Var, JaxprEqn], texts: Mapping[Var, str]) -> str:
    """When a program of branches or a loop runs, or else the name of the parameter that holds it.

    Args:
      eqn: the equation.
      name: the parameter, with an index if it holds several programs.
      makers: the equation of each variable.
      texts: the names of variables.
    """
    if eqn.primitive.name == "cond" and name.startswith("branches["):
        return _condition(eqn, int(name[9:-1]), makers, texts)
    return _PURPOSES.get((eqn.primitive.name, name), name)


def _condition(eqn: JaxprEqn, i: int, makers: Mapping[Var, JaxprEqn], texts: Mapping[Var, str]) -> str:
    """The condition under which a `cond` runs branch `i`, such as `if c is True` or `if c is 2`."""
    index = eqn.invars[0]
    count = len(eqn.params["branches"])
    if isinstance(index, Literal):
        return f"if {atom_to_text(index, texts)} is {i}"
    maker = makers.get(index)
    if count == 2 and maker is not None and maker.primitive.name == "convert_element_type":
        (source,) = maker.invars
        if isinstance(source, Var) and getattr(source.aval, "dtype", None) == np.bool_:
            return f"if {texts.get(source, '_')} is {bool(i)}"
    return f"if {texts.get(index, '_')} is {i}"


def _flows_through(eqn: JaxprEqn, inner: Jaxpr) -> bool:
    """Whether the types of a program are those of the equation that holds it."""
    passed, taken = [v.aval for v in eqn.invars], [v.aval for v in inner.invars]
    return len(eqn.outvars) == len(inner.outvars) and [a.str_short() for a in passed] == [a.str_short() for a in taken]


def _own_name(eqn: JaxprEqn) -> str:
    """The name of the function that an equation calls."""
    name = eqn.params.get("name")
    return name if isinstance(name, str) else ""


def _operands(eqn: JaxprEqn, texts: Mapping[Var, str]) -> list[str]:
    """Literals among the operands, with a dot for each value that comes by an arrow."""
    if not any(isinstance(v, Literal) for v in eqn.invars) or len(eqn.invars) > _MOST_LITERALS:
        return []
    shown = [atom_to_text(v, texts).partition(":")[0] if isinstance(v, Literal) else "·" for v in eqn.invars]
    return _wrapped(", ".join(shown))


def _parameters(eqn: JaxprEqn) -> list[str]:
    """The parameters that differ from their defaults, without programs, functions, and the contents of types."""
    printed = shown_params(eqn)
    params = printed.params if isinstance(printed, PrintedCall) else printed
    return [
        line
        for name, value in params.items()
        if name not in _TOLD_BY_TYPES and not holds_program(value, or_function=True)
        if value is not None and value is not False and not (isinstance(value, tuple | list | str) and not value)
        for line in _wrapped(f"{name}={value}")
    ]


def _wrapped(text: str) -> list[str]:
    """A text as lines; the later ones are indented."""
    return wrap(text, _WIDTH, subsequent_indent="\u00a0\u00a0", break_on_hyphens=False)
