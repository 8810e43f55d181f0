"""Python code for the page: definitions from modules, with colours."""

from __future__ import annotations

import ast
import inspect
import io
import keyword
import re
import tokenize
from html import escape
from types import ModuleType

__all__ = ["code", "definitions", "plain"]


def definitions(module: ModuleType, *names: str) -> str:
    """The code of a module that defines these names, in the module's order."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    found = [
        "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(source).body
        if (isinstance(node, ast.FunctionDef) and node.name in names)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names)
    ]
    return "\n\n".join(found)


def code(text: str) -> str:
    """Python code as a `<pre>`."""
    lines, parts, place = text.splitlines(keepends=True), [], (1, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
            continue
        parts += [escape(_between(lines, place, token.start)), _colored(token, _between(lines, token.start, token.end))]
        place = token.end
    return f"<pre>{''.join(parts)}</pre>"


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one place to another; places are pairs of a line, counted from 1, and a column."""
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    return "".join([lines[start[0] - 1][start[1] :], *lines[start[0] : end[0] - 1], lines[end[0] - 1][: end[1]]])


def _colored(token: tokenize.TokenInfo, text: str) -> str:
    kind = tokenize.tok_name[token.type].removeprefix("F").partition("_")[0].lower()  # FSTRING_START is a string
    if keyword.iskeyword(text):
        kind = "keyword"
    return f'<span class="{kind}">{escape(text)}</span>' if kind in ("keyword", "string", "comment") else escape(text)


def plain(text: str) -> str:
    """Text of a terminal as a `<pre>`, without the colours that FORCE_COLOR demands."""
    without_colours = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return f"<pre>{escape(without_colours.strip())}</pre>"
