"""Programs and tables as HTML for notebooks: inner programs fold, and pointing at an equation shows its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

from primax.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, holds_program, opened
from primax.core.recursion import raised_recursion_limit
from primax.core.source_info import scope_of, user_frames
from primax.core.text.printer import PrintedCall, atom_to_text, name_vars, shown_params
from primax.extend.drawing.colors import color_of, in_dark_mode
from primax.extend.drawing.graph import programs_of, purpose

__all__ = ["program_html", "table_html"]

_MOST_EQUATIONS = 4000
_MOST_OPEN = 12  # equations of an inner program that is not folded
_MOST_FRAMES = 4


def _dark(before: str) -> str:
    return f"{before}.primax b {{color: var(--dark)}}"


_STYLE = (
    "<style>.primax {font-family: monospace; line-height: 1.45; white-space: nowrap; overflow-x: auto} "
    ".primax .in {margin-left: 1.5em; border-left: 1px solid #8886; padding-left: .6em} "
    ".primax i {font-style: normal; opacity: .62} .primax b {color: var(--light)} "
    ".primax summary {cursor: pointer} .primax [title]:hover {background: #8882} "
    ".primax table {border-collapse: collapse} .primax td, .primax th {text-align: left; padding: .1em .7em .1em 0} "
    ".primax .note {font-family: sans-serif; white-space: normal; opacity: .75; margin-bottom: .4em} "
    f"{in_dark_mode(_dark)}</style>"
)


def program_html(program: Jaxpr, title: str = "", note: str = "") -> str:
    """A program as HTML.

    Args:
      program: the program.
      title: a title above it.
      note: a sentence above it.
    """
    jaxpr = opened(program)
    parts = [f'<div class="note">{escape(text)}</div>' for text in (note, title) if text]
    with raised_recursion_limit():
        parts += _Writer(name_vars(jaxpr)).program(jaxpr)
    return f'<div class="primax">{_STYLE}{"".join(parts)}</div>'


def table_html(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
    *,
    families: Sequence[str],
    below: str = "",
) -> str:
    """A table as HTML.

    Args:
      headers: the names of the columns.
      rows: the cells of each row.
      notes: for each row the text that pointing at it shows, or "".
      families: for each row the family whose colour its first cell has.
      below: a text below the table.
    """
    lines = ["<tr>" + "".join(f"<th>{escape(header)}</th>" for header in headers) + "</tr>"]
    for (first, *others), note, family in zip(rows, notes, families, strict=True):
        cells = [_colored(first, family), *map(escape, others)]
        lines.append(f"<tr{_title(note)}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    foot = f'<div class="note">{escape(below)}</div>' if below else ""
    return f'<div class="primax">{_STYLE}<table>{"".join(lines)}</table>{foot}</div>'


def _colored(text: str, family: str) -> str:
    color = color_of(family)
    return f'<b style="--light: {color.line}; --dark: {color.dark_line}">{escape(text)}</b>'


def _title(text: str) -> str:
    return f' title="{escape(text)}"' if text else ""


class _Writer:
    """Writes a program with the names that its variables have in its text."""

    def __init__(self, names: Mapping[Var, str]) -> None:
        self.names = names
        self.shown: dict[Jaxpr, str] = {}  # the inner programs, each with the equation that shows it
        self.left = _MOST_EQUATIONS
        self.makers: dict[Var, JaxprEqn] = {}

    def program(self, jaxpr: Jaxpr) -> list[str]:
        consts = " ".join(map(self.binder, jaxpr.constvars))
        inputs = " ".join(map(self.binder, jaxpr.invars))
        results = ", ".join(map(self.atom, jaxpr.outvars))
        lines = [f"<div>{{ <i>lambda</i> {consts}; {inputs} <i>. let</i></div>", '<div class="in">']
        for i, eqn in enumerate(jaxpr.eqns):
            if not self.left:
                lines.append(f"<div><i>… {len(jaxpr.eqns) - i:,} more equations</i></div>")
                break
            self.left -= 1
            lines += self.equation(eqn, len(jaxpr.eqns) == 1)
        end = "," if len(jaxpr.outvars) == 1 else ""
        return [*lines, "</div>", f"<div><i>in</i> ({results}{end}) }}</div>"]

    def equation(self, eqn: JaxprEqn, alone: bool) -> list[str]:
        self.makers.update(dict.fromkeys(eqn.outvars, eqn))
        family = eqn.primitive.plugin or eqn.primitive.module
        results = " ".join(map(self.binder, eqn.outvars))
        operands = " ".join(map(self.atom, eqn.invars))
        head = f"{results}{' = ' if results else ''}{_colored(str(eqn.primitive), family)}{self.params(eqn)} {operands}"
        hint = _title(f"{eqn.primitive}, of {family}{_lines(eqn.source_info)}")
        programs = list(programs_of(eqn))
        if not programs:
            return [f"<div{hint}>{head}</div>"]
        few = alone or sum(len(inner.eqns) for _, inner in programs) <= _MOST_OPEN
        lines = [f"<details{' open' if few else ''}><summary{hint}>{head}</summary>", '<div class="in">']
        for name, inner in programs:
            lines.append(f"<div><i>{escape(purpose(eqn, name, self.makers, self.names))}</i></div>")
            where = self.shown.get(inner)
            if where is not None:
                lines.append(f"<div><i>the program that is shown for {escape(where)}</i></div>")
                continue
            self.shown[inner] = f"{' '.join(self.names.get(v, '_') for v in eqn.outvars)} = {eqn.primitive}"
            lines += self.program(inner)
        return [*lines, "</div></details>"]

    def params(self, eqn: JaxprEqn) -> str:
        """The parameters that are not programs."""
        printed = shown_params(eqn)
        params = printed.params if isinstance(printed, PrintedCall) else printed
        shown = [f"{name}={value}" for name, value in params.items() if not holds_program(value)]
        return f"<i>[{escape(' '.join(shown))}]</i>" if shown else ""

    def binder(self, var: Var) -> str:
        return f"{self.names.get(var, '_')}<i>:{escape(var.aval.str_short())}</i>"

    def atom(self, atom: Any) -> str:
        if not isinstance(atom, Literal):
            return self.names.get(atom, "_")
        value, _, kind = atom_to_text(atom, self.names).rpartition(":")
        return f"{escape(value)}<i>:{escape(kind)}</i>" if value else escape(kind)


def _lines(source: Any) -> str:
    """The user's lines that made an equation, innermost first, with their text, and its named scopes."""
    read: Any = import_module("linecache").getline
    lines = []
    for frame in user_frames(source)[:_MOST_FRAMES]:
        text = read(frame.file, frame.line).strip()
        lines.append(f"\n{frame}" + (f"\n    {text}" if text else ""))
    scope = scope_of(source)
    return "".join([*lines, f"\nin the scope {scope}" if scope else ""])
