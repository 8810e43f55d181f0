"""Which rules a primitive has, which it lacks, and which it does not need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from primax.core.errors import PluginError
from primax.core.primitive import Primitive
from primax.core.rules import Provenance, rule_tables
from primax.extend.commands.common import UsageError, look_up
from primax.extend.core.samples import samples_of
from primax.extend.host.plugin_host import host
from primax.extend.host.registry import find_primitive
from primax.interpreters.runtime.distributions import normalized

__all__ = [
    "Coverage",
    "KINDS",
    "NOT_NEEDED",
    "VARIANTS",
    "all_primitives",
    "coverage",
    "kinds_of_rules",
    "owed",
    "primitive_of",
]

KINDS = ("impl", "abstract_eval", "jvp", "transpose", "batch", "lowering")
"""The kinds of rules that most primitives have, in the order in which they are shown."""

VARIANTS = {"abstract_eval": "effectful_abstract_eval", "batch": "axis_batch"}
"""Kinds of rules by the simpler kind that they extend."""

NOT_NEEDED = {
    "impl": "it is evaluated by compiling its lowering",
    "jvp": "it takes no arrays",
    "batch": "it takes no arrays",
    "transpose": "its jvp rule applies other primitives to tangents, and those are transposed",
    "effectful_abstract_eval": "it has no effects, so its abstract_eval rule is enough",
    "axis_batch": "only a rule that needs the size or the name of the mapped axis is of this kind",
    "partial_eval": "it is computed when all its arguments are known, and recorded otherwise",
    "partial_eval_jaxpr": "it is computed when all its arguments are known, and kept whole otherwise",
    "dce": "it is removed when none of its results is used, and kept whole otherwise",
    "staging": "it is staged as one equation",
    "check": "its abstract_eval rule checks its equations",
    "print": "all its parameters are printed",
    "named_axes": "it refers to no axes by name, except in its inner programs",
    "close_over": "it has no inner programs, or user's rules in them use no values of enclosing transformations",
    "interpret": "interpreters bind it again, or have a method for it",
}
"""By kind, what happens to a primitive that has no rule and needs none."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The state of one kind of rule for one primitive.

    Attributes:
      status: `"given"`, `"derived"`, `"overridden"`, `"unsupported"`, `"missing"` or `"not needed"`.
      sources: where the rules come from, by the name of each: its kind, or `lowering[cpu]` for a platform.
      reason: why the rule is unsupported.
    """

    status: str
    sources: dict[str, Provenance]
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """This object as plain data for JSON."""
        data: dict[str, Any] = {"status": self.status}
        if self.reason:
            data["reason"] = self.reason
        if self.sources:
            data["sources"] = {name: source.as_dict() for name, source in self.sources.items()}
        return data


def all_primitives() -> dict[str, Primitive]:
    """The primitives of all active plugins, and unregistered ones that have rules, by name."""
    by_name = {primitive.full_name or name: primitive for name, primitive in host.primitives.items()}
    listed = set(host.primitives.values())
    for table in rule_tables.values():
        for key in table:
            primitive = key[0] if isinstance(key, tuple) else key
            if primitive not in listed:
                by_name.setdefault(primitive.name, primitive)
    return dict(sorted(by_name.items()))


def primitive_of(name: str, known: Mapping[str, Primitive]) -> Primitive:
    """The primitive of a short or full name.

    Raises:
      UsageError: there is none, or there are several; the message names them.
    """
    if name not in known:
        try:
            primitive = find_primitive(host.primitives, name)
        except PluginError as error:
            raise UsageError(str(error)) from None
        if primitive is not None:
            return primitive
    return look_up("primitive", name, known)


def kinds_of_rules() -> list[str]:
    """The kinds of rules, including those of third-party transformations; a variant is shown with its main kind."""
    return [kind for kind in rule_tables if kind not in VARIANTS.values()]


def coverage(primitive: Primitive, kind: str) -> Coverage:
    """The state of one kind of rule; a variant of the kind counts too."""
    kinds = [kind, VARIANTS[kind]] if kind in VARIANTS else [kind]
    sources = {}
    for one in kinds:
        table = rule_tables[one]
        if primitive in table.functions:
            sources[one] = table.provenance[primitive]
    if kind == "lowering":
        for key, provenance in sorted(rule_tables[kind].provenance.items(), key=str):
            if isinstance(key, tuple) and key[0] is primitive:
                sources[f"lowering[{key[1]}]"] = provenance
    if sources:
        return Coverage(_status(next(iter(sources.values()))), sources)
    for one in kinds:
        reason = rule_tables[one].unsupported.get(primitive)
        if reason is not None:
            return Coverage("unsupported", {}, reason)
    return Coverage("missing" if _is_needed(primitive, kind) else "not needed", {})


def owed(package: str, plugin: str | None, kind: str) -> bool:
    """Whether the author of primitives answers for rules of a kind.

    These are primax's kinds, those that the author's package defines, and those of packages that it requires. A package
    that is not installed answers for the kinds of which its primitives have rules.

    Args:
      package: the package of the primitives, or a module of it.
      plugin: their plugin.
      kind: the kind of rule.
    """
    author = rule_tables[kind].module
    if not author or _package(author) == _package(package):
        return True
    own = _distributions(package, plugin)
    if own:
        return not _required_by(own).isdisjoint(_distributions(author, None))
    return any(_package(getattr(key, "module", "")) == _package(package) for key in rule_tables[kind].functions)


def _package(module: str) -> str:
    return module.partition(".")[0]


def _distributions(module: str, plugin: str | None) -> set[str]:
    """The names of the distributions that a module, or the plugin of this name, belongs to."""
    records = [record for record in host.records() if record.name == plugin or record.home == _package(module)]
    names = {record.distribution for record in records if record.distribution}
    return {normalized(name) for name in names or metadata.packages_distributions().get(_package(module), [])}


def _required_by(names: set[str]) -> set[str]:
    """Distributions with all that they require, except for extras."""
    seen: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            try:
                required = metadata.requires(name) or ()
            except metadata.PackageNotFoundError:
                continue
            left += [normalized(re.split(r"[\s;<>=!~\[(@]", text)[0]) for text in required if "extra ==" not in text]
    return seen


def _status(provenance: Provenance) -> str:
    if provenance.replaced is not None or provenance.origin == "overridden":
        return "overridden"
    return "derived" if provenance.origin.startswith("derived") else "given"


def _is_needed(primitive: Primitive, kind: str) -> bool:
    """Whether something fails without this rule. Transformations of third parties need their rules."""
    if kind == "transpose":
        return _is_linear(rule_tables["jvp"].functions.get(primitive))
    if kind in ("jvp", "batch"):
        return _takes_arrays(primitive)
    return kind not in NOT_NEEDED and not (rule_tables[kind].optional and kind not in KINDS)


def _is_linear(jvp: Any) -> bool:
    """Whether a rule binds its own primitive to tangents, as `linear_jvp` does."""
    return getattr(jvp, "__qualname__", "").startswith("linear_jvp.")


def _takes_arrays(primitive: Primitive) -> bool:
    """Whether one of its samples has arguments; True if there are no samples."""
    try:
        samples = samples_of(primitive)
    except Exception:  # of any kind, from a plugin's function; the conformance kit reports it
        return True
    return not samples or any(len(sample.args) for sample in samples)
