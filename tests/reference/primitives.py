"""The pages on primitives, one for each family: what the tables of rules and the samples say."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from pathlib import Path
from typing import Any

from checkout import ROOT

import primax as px
from primax.core.primitive import Primitive
from primax.extend.commands.common import load_plugins
from primax.extend.commands.coverage import all_primitives, coverage, kinds_of_rules
from primax.extend.core.samples import samples_of
from primax.extend.host.plugin_host import host
from reference import docstrings
from reference.formulas import derivative
from reference.linking import Links, relative
from reference.names import Entry, entries
from reference.objects import heading
from reference.programs import shown
from reference.staging import Files

FOLDER = "reference/primitives"
_ABOUT = """# Primitives

primax has {count} primitives in {families} families. Each section shows the parameters, the rules and where each is
written, the derivative where a formula says it, and a program with its StableHLO. `primax rules` and `primax why` show
the same in a terminal, with the rules of the plugins that you have installed."""


def families() -> dict[str, list[Primitive]]:
    """The primitives of each plugin of primax, sorted by name."""
    load_plugins()
    found: dict[str, list[Primitive]] = defaultdict(list)
    for primitive in all_primitives().values():
        if primitive.plugin is not None and primitive.module.startswith("primax."):
            found[primitive.plugin].append(primitive)
    return {name: sorted(found[name], key=lambda p: p.name) for name in sorted(found)}


def places() -> dict[Primitive, str]:
    """The page and the anchor of each primitive."""
    return {p: f"{FOLDER}/{family}.md#{p.name}" for family, members in families().items() for p in members}


def pages(links: Links, files: Files) -> dict[str, str]:
    """The texts of the pages by path, the first of them an index."""
    found = families()
    named: dict[int, Entry] = {id(entry.value): entry for entry in entries().values()}
    result = {f"{FOLDER}/index.md": "\n".join(_index(found))}
    for family, members in found.items():
        page = f"{FOLDER}/{family}.md"
        lines = [f"# Primitives: {family.replace('_', ' ')}", ""]
        home = {record.name: record for record in host.records()}[family]
        module = importlib.import_module(f"primax.plugins.{family}")
        lines += [*docstrings.markdown(docstrings.parsed(docstrings.docstring(module)).text).splitlines(), ""]
        lines += [f"They belong to the plugin `{home.name}`.", ""]
        for primitive in members:
            lines += _section(primitive, page, named.get(id(primitive)), links, files)
        result[page] = "\n".join(lines)
    return result


def _index(found: dict[str, list[Primitive]]) -> list[str]:
    count = sum(map(len, found.values()))
    lines = [
        *_ABOUT.format(count=count, families=len(found)).splitlines(),
        "",
        "| family | primitives |",
        "|---|---|",
    ]
    for family, members in found.items():
        shown = ", ".join(f"[`{p.name}`]({family}.md#{p.name})" for p in members)
        lines.append(f"| [{family.replace('_', ' ')}]({family}.md) | {shown} |")
    return [*lines, ""]


def _section(primitive: Primitive, page: str, entry: Entry | None, links: Links, files: Files) -> list[str]:
    lines = heading("##", primitive.name, primitive.name)
    own = vars(primitive).get("__doc__") or ""
    lines += [*docstrings.markdown(own, links.linker(page)).splitlines(), ""] if own else []
    facts = []
    function = links.entry(f"lax.{primitive.name}") or links.entry(f"lax.linalg.{primitive.name}")
    if function is not None and not isinstance(function.value, Primitive):
        place = relative(f"{function.page}#{function.path}", page)
        facts.append(f"- Function: [`{function.path}`]({place})")
        sentence = docstrings.parsed(docstrings.docstring(function.value)).text.partition("\n\n")[0]
        lines += (
            [*docstrings.markdown(sentence, links.linker(page, function.module)).splitlines(), ""] if not own else []
        )
    if entry is not None:
        facts.append(f"- Name: `{entry.path}`" + (f"; in JAX `{min(entry.jax, key=len)}`" if entry.jax else ""))
    facts.append(f"- Parameters: {_parameters(primitive)}")
    if operands := _operands(primitive):
        facts.append(f"- Operands in its samples: {operands}")
    if primitive.multiple_results:
        facts.append("- `bind` returns a list of results.")
    samples = [sample for sample in samples_of(primitive) if not sample.axes]
    formula = next(filter(None, (derivative(primitive, sample) for sample in samples[:3])), "")
    if formula:
        facts.append(f"- Derivative: `{formula}`")
    elif why := _about_derivative(primitive):
        facts.append(f"- Derivative: {why}")
    lines += [*facts, "", *_rules(primitive, page, files)]
    return [*lines, *shown(primitive)]


def _parameters(primitive: Primitive) -> str:
    declared = primitive._parameters
    if declared is None:
        used = sorted({name for sample in samples_of(primitive) for name in sample.params})
        return (", ".join(f"`{name}`" for name in used) + " in its samples") if used else "none in its samples"
    if not declared:
        return "none"
    return ", ".join(f"`{name}`{_type(kind)}" for name, kind in declared.items())


def _operands(primitive: Primitive) -> str:
    """The types of the operands of its samples, at most four."""
    found: dict[str, None] = {}
    for sample in samples_of(primitive):
        try:
            found[", ".join(str(px.typeof(arg)) for arg in sample.args)] = None
        except TypeError:  # an operand without a type outside of programs
            continue
    texts = [f"`({text})`" for text in found if text]
    return ", ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")


def _type(kind: Any) -> str:
    if kind is None:
        return ""
    if inspect.isclass(kind):
        return f" ({kind.__name__})"
    name = getattr(kind, "__name__", str(kind))
    return f" ({name.strip('_').replace('_', ' ')})" if name != "<lambda>" else ""


def _about_derivative(primitive: Primitive) -> str:
    jvp = coverage(primitive, "jvp")
    if jvp.status == "unsupported":
        return f"none: {jvp.reason}"
    return (
        "the primitive itself, since it is linear"
        if coverage(primitive, "transpose").sources and not jvp.sources
        else ""
    )


def _rules(primitive: Primitive, page: str, files: Files) -> list[str]:
    lines = ["| rule | origin | written in |", "|---|---|---|"]
    absent = []
    for kind in kinds_of_rules():
        cell = coverage(primitive, kind)
        for name, source in cell.sources.items():
            by = "" if source.plugin == primitive.plugin else f" by {source.plugin}"
            lines.append(f"| {name} | {source.origin}{by} | {_written(source.file, source.line, page, files)} |")
        if cell.status == "unsupported":
            lines.append(f"| {kind} | none: {docstrings.escaped(cell.reason).replace('|', chr(92) + '|')} | |")
        elif cell.status == "missing":
            lines.append(f"| {kind} | missing | |")
        elif not cell.sources:
            absent.append(kind)
    kinds = ", ".join(f"[{kind}]({relative(f'reference/rules.md#{kind}', page)})" for kind in absent)
    return [*lines, "", f"It needs no rule of these kinds: {kinds}.", ""] if absent else [*lines, ""]


def _written(file: str, line: int, page: str, files: Files) -> str:
    path = Path(file).resolve()
    if not path.is_relative_to(ROOT):
        return f"`{path.name}:{line}`"
    target = files.page_of(path)
    files.found[path].add(line)
    return f"[`{path.relative_to(ROOT).as_posix()}:{line}`]({relative(f'{target}#L{line}', page)})"
