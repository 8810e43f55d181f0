"""Pages that are tables: kinds of rules, options, commands, and the names of JAX."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections import Counter
from pathlib import Path

import primax
from primax.__main__ import COMMANDS
from primax.core.option import options
from primax.core.rules import rule_tables
from primax.extend.commands import dispatch
from primax.extend.commands.coverage import NOT_NEEDED, VARIANTS, all_primitives, coverage, kinds_of_rules
from primax.porting.lookup import ported_path
from primax.porting.table import public_names
from reference.docstrings import escaped
from reference.linking import Links, relative

FOLDER = "reference"
_PAGES = {
    "Kinds of rules": "rules",
    "Options": "options",
    "Commands": "commands",
    "JAX's names": "jax-names",
    "JAX's names, further modules": "jax-names-further",
}
_ABOUT_RULES = """# Kinds of rules

Transformations find the rules of a primitive in tables, one for each kind. The pages for
authors on [rules](../authors/rules.md) and [other kinds of rules](../authors/kinds.md) say what uses each kind, and
each [primitive](primitives/index.md) has a table of its rules. A kind that is experimental may change in a minor
release."""

_ABOUT_OPTIONS = """# Options

`px.config.update(name, value)` sets an option for the process, and its environment variable sets it before primax is
imported. Most options are also names of `primax`: `with px.debug_nans(True):` sets one for a block, in the current
thread. If a variable is not set, primax reads the one that begins with `JAX_` instead. The [plugin
reference](../authors/plugins.md#the-environment) lists the other variables."""

_ABOUT_NAMES = """What primax has for each public name of JAX. A name without an arrow is the same except for the first
word: `jax.jit` is `primax.jit`. {other} have a page of their own. [Porting from JAX](porting.md) says how programs are
rewritten, or run as they are."""


def nav() -> list[str]:
    """The lines of the navigation."""
    return [f'    - "{title}": {FOLDER}/{name}.md' for title, name in _PAGES.items()]


def pages(links: Links) -> dict[str, str]:
    """The texts of the pages by path."""
    made = {"rules": _rules(), "options": _options(), "commands": _commands(), "jax-names": _jax_names(links, False)}
    made["jax-names-further"] = _jax_names(links, True)
    return {f"{FOLDER}/{name}.md": "\n".join(lines) for name, lines in made.items()}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _rules() -> list[str]:
    lines = [
        *_ABOUT_RULES.splitlines(),
        "",
    ]
    counts: Counter[str] = Counter()
    for primitive in all_primitives().values():
        if primitive.module.startswith("primax."):
            counts.update(name for kind in kinds_of_rules() for name in coverage(primitive, kind).sources)
    for kind, table in rule_tables.items():
        if not table.module or table.module.startswith("primax"):
            lines += [f"## {kind} {{ #{kind} }}", "", "```text", table.signature, "```", ""]
            lines += ["It is experimental.", ""] if table.experimental else []
            lines += [f"{counts[kind]} primitives of primax have one. {_without(kind)}", ""]
    return [*lines, ""]


def _without(kind: str) -> str:
    """What happens to a primitive without a rule of this kind."""
    for one, other in [*VARIANTS.items(), *(pair[::-1] for pair in VARIANTS.items())]:
        if kind == one:
            return f"A rule of the kind [{other}](#{other}) may take its place."
    if kind in NOT_NEEDED:
        return f"A primitive without one: {escaped(NOT_NEEDED[kind])}."
    return "Without one a default is used." if rule_tables[kind].optional else "Without one the transformation raises."


def _options() -> list[str]:
    lines = [
        *_ABOUT_OPTIONS.splitlines(),
        "",
    ]
    for name, option in sorted(options.items()):
        lines += [f"## {name} {{ #{name} }}", "", escaped(option.doc), ""]
        lines += [f"- Default: `{repr(option.default).replace(str(Path.home()), '~')}`"]
        lines += [f"- Variable: `{option.env}`"] if option.env else []
        lines += [f"- Values: {escaped(str(option.kind.text))}"] if getattr(option.kind, "text", "") else []
        lines += ["- Programs are compiled again for another value."] if option.tracing else []
        lines.append("")
    return lines


def _commands() -> list[str]:
    lines = [
        "# Commands",
        "",
        "The help of each command. [The command line](command-line.md) shows them at work.",
        "",
    ]
    for name in (*dispatch.command_names(), *COMMANDS):
        lines += [f"## primax {name} {{ #{name} }}", "", "```text", *_help(name).splitlines(), "```", ""]
    return lines


def _help(command: str) -> str:
    """What `primax COMMAND --help` writes to a file."""
    written = io.StringIO()
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        with contextlib.redirect_stdout(written), contextlib.suppress(SystemExit):
            dispatch.main([command, "--help"], version=primax.__version__, further=COMMANDS)
    finally:
        del os.environ["COLUMNS"]
        os.environ |= {} if columns is None else {"COLUMNS": columns}
    return written.getvalue().rstrip()


_FURTHER = re.compile(
    r"jax\.(?:experimental|scipy|extend|example_libraries|interpreters|_src|core|lib|api_util|tree_util)\b"
)


def _jax_names(links: Links, further: bool) -> list[str]:
    page = f"{FOLDER}/{'jax-names-further' if further else 'jax-names'}.md"
    other = "[The other modules](jax-names.md)" if further else "[Its further modules](jax-names-further.md)"
    lines = [
        f"# JAX's names{', further modules' if further else ''}",
        "",
        *_ABOUT_NAMES.format(other=other).splitlines(),
        "",
    ]
    for module, names in public_names().items():
        if bool(_FURTHER.match(module)) is further:
            lines += _module_of_jax(module, names, links, page)
    return lines


def _module_of_jax(module: str, names: tuple[str, ...], links: Links, page: str) -> list[str]:
    same, other, absent = [], [], []
    for name in names:
        path = ported_path(f"{module}.{name}") or ""
        place = links.place(path) if path else ""
        if not path or not path.startswith("primax"):
            absent.append(f"`{name}`" + (f" → `{path}`" if path else ""))
        elif path == re.sub("^jax", "primax", f"{module}.{name}"):
            same.append(f"[`{name}`]({relative(place, page)})" if place else f"`{name}`")
        else:
            target = f"[`{path}`]({relative(place, page)})" if place else f"`{path}`"
            other.append(f"`{name}` → {target}")
    lines = [f"## {module}", ""]
    lines += [", ".join(same) + ".", ""] if same else []
    lines += [", ".join(other) + ".", ""] if other else []
    lines += [f"Of other packages, or absent: {', '.join(absent)}.", ""] if absent else []
    return lines
