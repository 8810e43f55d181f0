"""Rewrite programs for JAX into programs for primax: imports, and attributes of imported modules.

Names without a counterpart stay; the command prints each with its line and a remedy.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from primax.extend.commands.common import UsageError, add_examples, add_json, show_json
from primax.extend.commands.style import paint
from primax.extend.commands.table import render, terminal_width
from primax.porting import sources
from primax.porting.notebooks import rewrite_notebook
from primax.porting.rewrite import Remark, Rewritten, rewrite


@dataclass(slots=True)
class _File:
    """The result for one file."""

    path: Path
    changed: bool = False
    error: str | None = None
    absent: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    diff: str = ""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a .py file, a notebook, or a folder with such files")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    parser.add_argument("--diff", action="store_true", help="write nothing; print the changes as a diff")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out files and folders of this name or path, such as tests or '*_pb2.py'; may be repeated",
    )
    add_json(parser)
    add_examples(
        parser,
        {
            "primax port train.py": "rewrite a file",
            "primax port --diff src": "what would change",
            "primax port --check . --exclude tests --exclude '*_pb2.py'": "what would change, without tests",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Rewrite files. The exit code is 1 if a name is absent or a file could not be ported."""
    writes = not (arguments.check or arguments.diff)
    try:
        files = [_port(path, writes) for path in sources.python_files(arguments.paths, arguments.exclude)]
    except FileNotFoundError as error:
        raise UsageError(f"PATH must be a file or a folder, got {str(error)!r}, which does not exist") from error
    if arguments.json:
        show_json([_plain(file) for file in files])
    else:
        for line in _report(files, writes=writes, diff=arguments.diff):
            sys.stdout.write(line)
    left = any(file.error or file.absent or (arguments.check and file.changed) for file in files)
    return int(left)


def _port(path: Path, writes: bool) -> _File:
    """Rewrite a file, or record why it is left unchanged."""
    file = _File(path)
    try:
        source = sources.read(path)
        done: Rewritten = (rewrite_notebook if path.suffix == ".ipynb" else rewrite)(source.text)
        file.absent, file.notes, file.changed = done.absent, done.notes, done.text != source.text
        file.diff = _diff(path, source.text, done.text) if file.changed and not writes else ""
        if file.changed and writes:
            sources.write(source, done.text)
    except sources.SourceError as error:
        file.error, file.changed = str(error), False
    except SyntaxError as error:
        file.error = f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    return file


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), str(path), f"{path} (primax)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    """The lines of a text with their ends; a form feed does not end a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _report(files: list[_File], *, writes: bool, diff: bool) -> Iterator[str]:
    for file in files:
        if diff:
            yield from map(_coloured, file.diff.splitlines(keepends=True))
        if file.error is not None:
            yield f"{file.path}: {paint('left as it is', 'red')}: {file.error}\n"
        elif file.changed and not diff:
            yield f"{file.path}: {'rewritten' if writes else 'would be rewritten'}\n"
        for remark in file.absent:
            yield f"{file.path}:{remark.line}: {paint(remark.name, 'bold')} is not in primax: {remark.text}\n"
        for remark in file.notes:
            yield f"{file.path}:{remark.line}: note: {remark.text}: {remark.name}\n"
    changed = sum(file.changed for file in files)
    names = [remark.name for file in files for remark in file.absent]
    if len(set(names)) < len(names):
        yield f"\n{_by_name(files)}\n\n"
    errors = sum(file.error is not None for file in files)
    yield (
        f"{_count(changed, 'file')} {'rewritten' if writes else 'to rewrite'} of {len(files)}, "
        f"{_count(len(set(names)), 'name')} without counterpart in {_count(len(names), 'place')}"
        + (f", {_count(errors, 'file')} that could not be ported" if errors else "")
        + "\n"
    )


def _coloured(line: str) -> str:
    """A line of a diff."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    text = line.rstrip("\n")
    if line.startswith(("--- ", "+++ ")):
        return paint(text, "bold") + line[len(text) :]
    return paint(text, styles[line[0]]) + line[len(text) :] if line[:1] in styles else line


def _by_name(files: list[_File]) -> str:
    """A table of the names without a counterpart, the most frequent first."""
    places: dict[str, list[tuple[str, Remark]]] = {}
    for file in files:
        for remark in file.absent:
            places.setdefault(remark.name, []).append((f"{file.path}:{remark.line}", remark))
    rows = sorted(places.items(), key=lambda row: (-len(row[1]), row[0]))
    cells = [[name, str(len(found)), found[0][0]] for name, found in rows]
    notes = [found[0][1].text for _, found in rows]
    return render(["name without counterpart", "places", "first"], cells, terminal_width(), notes)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _plain(file: _File) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "changed": file.changed,
        "error": file.error,
        "absent": [{"line": remark.line, "name": remark.name, "what": remark.text} for remark in file.absent],
        "notes": [{"line": remark.line, "name": remark.name, "what": remark.text} for remark in file.notes],
        "diff": file.diff,
    }
