"""Explanations of why a jitted function is traced again: one line with the differences from earlier calls."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from primax.core import tree
from primax.core.diagnostics import shorten
from primax.core.option import Settings, options_of_traces
from primax.core.source_info import running_frames, user_lines
from primax.core.tree.registry import PyTreeDef

__all__ = ["explain"]

_log = logging.getLogger("primax")


def explain(name: str, key: Any, others: Iterable[Any]) -> None:
    """Log the differences between a call and the most similar earlier call.

    Args:
      name: the name of the function.
      key: the key of the call: its structure, types, static arguments, their positions, and the context.
      others: the keys of earlier calls, and of other programs of the same function.
    """
    line = user_lines(running_frames())
    differences = [_differences(key, other) for other in others if len(other) == len(key) and _is_call(other)]
    if differences:
        _log.warning("%s is traced again at %s: %s", name, line, min(differences, key=len)[0])
    else:
        _log.warning("%s is traced at %s: it is called for the first time", name, line)


def _is_call(key: tuple[Any, ...]) -> bool:
    return type(key[0]) is PyTreeDef


def _differences(key: tuple[Any, ...], other: tuple[Any, ...]) -> list[str]:
    """The differences between two keys, in words."""
    (in_tree, avals, record, positions, (options, axes)) = key
    (old_tree, old_avals, old_record, old_positions, (old_options, old_axes)) = other
    found = []
    if in_tree != old_tree:
        found.append(f"the arguments have the structure {in_tree}, earlier {old_tree}")
    else:
        for path, new, old in zip(_paths(in_tree), avals, old_avals, strict=True):
            if new != old:
                weakness = ""
                if new.str_short() == old.str_short():
                    weakness = " (weakly typed)" if new.weak_type else " (not weakly typed)"
                found.append(f"argument{path} is {new.str_short()}{weakness}, earlier {old.str_short()}")
    if record != old_record or positions != old_positions:
        found.append(f"the static arguments are {_static(record)}, earlier {_static(old_record)}")
    if options is not old_options:
        found.append(_changed_option(options, old_options))
    if axes != old_axes:
        found.append(f"the mapped axes are {dict(axes)}, earlier {dict(old_axes)}")
    return found or ["its program was removed from the cache"]


def _paths(in_tree: Any) -> list[str]:
    marked = tree.tree_unflatten(in_tree, range(in_tree.num_leaves))
    return [tree.keystr(path[1:]) for path, _ in tree.tree_leaves_with_path(marked)]


def _static(record: Any) -> str:
    if record == ():
        return "none"
    return ", ".join(f"{where}={shorten(value)}" for where, value in (*record.positional, *record.keywords)) or "none"


def _changed_option(new: Settings, old: Settings) -> str:
    *values, contexts = new.values
    *old_values, old_contexts = old.values
    for option, now, before in zip(options_of_traces, values, old_values, strict=True):
        if now != before:
            return f"the option {option.short_name} is {now!r}, earlier {before!r}"
    if contexts != old_contexts:
        told, old_told = ({c.short_name: value for c, value in pairs} for pairs in (contexts, old_contexts))
        return f"the user contexts are {told}, earlier {old_told}"
    return "the options were set again"
