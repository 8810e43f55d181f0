"""A graph as text in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from primax.core.diagnostics import encodable
from primax.extend.drawing.colors import LIGHT_TO_DARK, Color, color_of, in_dark_mode
from primax.extend.drawing.graph import Box, Edge, Graph, Node

__all__ = ["themed", "to_dot"]

_FONT = "Helvetica,Arial,sans-serif"
_INK, _FAINT, _LINE = "#22304a", "#6b7690", "#9aa5b8"


def to_dot(graph: Graph, title: str) -> str:
    """The text that Graphviz lays out.

    Args:
      graph: the graph.
      title: the title above it.
    """
    colors = {plugin: color_of(plugin) for plugin in graph.plugins}
    lines = [
        f"digraph {_quoted(title)} {{",
        f'  graph [rankdir=TB, fontname="{_FONT}", fontsize=14, fontcolor="{_INK}", labelloc=t, labeljust=l,'
        f" label=<<B>{_html(title)}</B>>, bgcolor=white, pad=0.3, nodesep=0.25, ranksep=0.35, newrank=true];",
        f'  node [fontname="{_FONT}", fontsize=10, fontcolor="{_INK}", shape=box, style="filled,rounded",'
        f' color="{_LINE}", fillcolor=white, penwidth=1, margin="0.10,0.05", height=0.3];',
        f'  edge [fontname="{_FONT}", fontsize=9, color="{_LINE}", arrowsize=0.6, penwidth=1];',
        *_legend(graph, colors),
        *_parts(graph.root, colors, "  "),
    ]
    straight = _longest_ways(graph.edges)
    for edge in graph.edges:
        attributes = ["style=dashed", "arrowsize=0.4"] if edge.faint else []
        attributes += ["weight=12"] if straight[edge.target] == edge.source else []
        lines.append(f"  {edge.source} -> {edge.target}{_bracketed(attributes)};")
    return encodable("\n".join([*lines, "}"]) + "\n")


def themed(svg: str, plugins: Iterable[str]) -> str:
    """An image by Graphviz with a style sheet for dark pages.

    Args:
      svg: the image.
      plugins: the plugins whose colours are in it.
    """
    changes = dict(LIGHT_TO_DARK)
    for fill, line, dark_fill, dark_line in map(color_of, plugins):
        changes |= {fill: dark_fill, line: dark_line}

    def rules(before: str) -> str:
        return " ".join(
            f'{before}.primax-picture [{attribute}="{light}"] {{{attribute}: {dark}}}'
            for light, dark in changes.items()
            for attribute in ("fill", "stroke")
        )

    beginning, graph, rest = svg.partition('class="graph"')
    style = f"<style>{in_dark_mode(rules)}</style>"
    first, opening, others = beginning.rpartition("<g ")
    return f'{first}{style}{opening}{others}class="graph primax-picture"{rest}' if graph else svg


def _longest_ways(edges: Sequence[Edge]) -> dict[str, str]:
    """For each node the previous node on the longest path to it; these paths are drawn as straight as possible."""
    length: dict[str, int] = {}
    before: dict[str, str] = {}
    for edge in edges:
        steps = length.get(edge.source, 0) + 1
        if steps > length.get(edge.target, 0):
            length[edge.target] = steps
            before[edge.target] = edge.source
    return before


def _bracketed(attributes: list[str]) -> str:
    return f" [{', '.join(attributes)}]" if attributes else ""


def _legend(graph: Graph, colors: Mapping[str, Color]) -> list[str]:
    """The legend: the colour of each plugin, and the number of its equations."""
    if not colors:
        return []
    rows = "".join(
        f'<TR><TD BGCOLOR="{fill}" COLOR="{line}" BORDER="1" WIDTH="14"> </TD>'
        f'<TD ALIGN="LEFT">{_html(plugin)}</TD>'
        f'<TD ALIGN="RIGHT"><FONT COLOR="{_FAINT}">{graph.plugins[plugin]}</FONT></TD></TR>'
        for plugin, (fill, line, *_) in colors.items()
    )
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="2">{rows}</TABLE>'
    return [f'  legend [shape=plain, style="", fillcolor=none, label=<{table}>];']


def _parts(box: Box, colors: Mapping[str, Color], indent: str) -> list[str]:
    lines = []
    for part in box.parts:
        if isinstance(part, Node):
            lines.append(f"{indent}{_node(part, colors)}")
            continue
        line = colors[part.plugin].line if part.plugin else _LINE
        lines += [
            f"{indent}subgraph {part.id} {{",
            f'{indent}  graph [label=<{_html(part.title)}>, style=rounded, color="{line}", bgcolor="#f6f7fa",'
            f' fontcolor="{line if part.plugin else _FAINT}", fontsize=10, margin=10];',
            *_parts(part, colors, f"{indent}  "),
            f"{indent}}}",
        ]
    return lines


def _node(node: Node, colors: Mapping[str, Color]) -> str:
    shown = [f"<B>{_html(node.title)}</B>" if node.kind in ("equation", "input", "more") else _html(node.title)]
    if not node.title:
        shown = []
    shown += [f'<FONT POINT-SIZE="8.5" COLOR="{_FAINT}">{_html(line)}</FONT>' for line in node.lines]
    attributes = [f"label=<{'<BR/>'.join(shown)}>"]
    if node.plugin:
        color = colors[node.plugin]
        attributes += [f'fillcolor="{color.fill}"', f'color="{color.line}"']
    if node.kind == "result":
        attributes += ['style="filled,rounded,dashed"']
    if node.kind in ("input", "output"):
        attributes += ["shape=ellipse", "style=filled", f'color="{_INK}"', 'margin="0.05,0.03"']
    if node.kind == "output":
        attributes += ["penwidth=2"]
    if node.kind == "constant":
        attributes += ["shape=note", "style=filled", 'fillcolor="#f3f4f6"']
    attributes.append(f"tooltip={_quoted(node.note or node.title)}")
    return f"{node.id}{_bracketed(attributes)};"


def _html(text: str) -> str:
    return escape(text, quote=True)


def _quoted(text: str) -> str:
    """A string in Graphviz's language, in which two backslashes stand for one."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
