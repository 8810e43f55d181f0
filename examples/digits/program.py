"""Programs for the page: a jaxpr as chips in the order of its equations, or as a chain of boxes."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

import primax as px

__all__ = ["chain", "chips"]

# By plugin, the class of an equation in the style of the page, and what the equations are.
KINDS = {
    "swish": ("third", "swish and its tangents, by primax-swish"),
    "convolution": ("heavy", "convolutions"),
    "dot": ("heavy", "products of matrices"),
    "calls": ("inner", "programs within the program"),
}


def chips(jaxpr: Any) -> str:
    """All equations of a program in their order, each with its name, below a legend."""
    counts = Counter(eqn.primitive.plugin for eqn in jaxpr.eqns)
    legend = [_chip(kind, f"{counts.pop(plugin)} {what}") for plugin, (kind, what) in KINDS.items() if plugin in counts]
    others = ", ".join(f"{plugin} {number}" for plugin, number in counts.most_common())
    legend.append(_chip("", f"{counts.total()} others", others))
    return _chips(legend) + _chips([_chip(_kind(eqn), _name(eqn), _results(eqn)) for eqn in jaxpr.eqns])


def _chips(texts: list[str]) -> str:
    return f'<div class="chips">{" ".join(texts)}</div>'


def _chip(kind: str, text: str, title: str = "") -> str:
    return f'<span class="{kind}" title="{escape(title)}">{escape(text)}</span>'


def _kind(eqn: Any) -> str:
    return KINDS.get(eqn.primitive.plugin, ("", ""))[0]


def _name(eqn: Any) -> str:
    return f"{eqn.primitive} {eqn.params['name']}" if eqn.primitive.plugin == "calls" else str(eqn.primitive)


def _results(eqn: Any) -> str:
    return ", ".join(v.aval.str_short() for v in eqn.outvars)


def chain(jaxpr: Any, parameters: Any) -> str:
    """A program that changes its last argument step by step: a box for each step, with the parameters that it uses.

    Args:
      jaxpr: the program; its other arguments are the parameters.
      parameters: these parameters, whose places are shown.
    """
    *given, changed = jaxpr.invars
    paths = [path for path, _ in px.tree.leaves_with_path(parameters)]
    names = {v: " ".join(str(part.key) for part in path) for v, path in zip(given, paths, strict=True)}
    steps = [_step("inner", "an image", changed.aval.str_short(), [])]
    current = {changed}
    for eqn in jaxpr.eqns:
        inputs = [v for v in eqn.invars if type(v) is type(changed)]
        used = [names[v] for v in inputs if v in names]
        if current.isdisjoint(inputs):  # a parameter gets the shape of what it is added to
            names.update(dict.fromkeys(eqn.outvars, ", ".join(used)))
        else:
            current.update(eqn.outvars)
            steps.append(_step(_kind(eqn), _name(eqn), _results(eqn), used))
    return f'<ol class="chain">{"".join(steps)}</ol>'


def _step(kind: str, name: str, result: str, used: list[str]) -> str:
    side = f"<i>{escape(', '.join(used))}</i>" if used else ""
    return f'<li><span class="{kind}"><b>{escape(name)}</b> {escape(result)}</span>{side}</li>'
