"""Explanations of why a jitted function is traced again: one line with the differences from earlier calls."""

from __future__ import annotations

import logging
from typing import Any

from primax.extend.core import tree
from primax.extend.provisional.arguments import shorten
from primax.extend.provisional.programs import changed_option
from primax.extend.provisional.tracing import Cache, user_line

__all__ = ["explain_miss"]

_log = logging.getLogger("primax")


def explain_miss(name: str, key: Any, programs: Cache) -> None:
    """Log the differences between a call and the most similar earlier call.

    Args:
      name: the name of the function.
      key: the key of the call: its structure, types, static arguments, their positions, and the context.
      programs: the programs of the function, by the keys of earlier calls, or with other keys.
    """
    line = user_line()
    calls = [
        other for other in (*programs, *programs.older) if len(other) == len(key) and type(other[0]) is type(key[0])
    ]
    differences = [_differences(key, other) for other in calls]
    if differences:
        _log.warning("%s is traced again at %s: %s", name, line, min(differences, key=len)[0])
    else:
        _log.warning("%s is traced at %s: it is called for the first time", name, line)


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
        found.append(changed_option(options, old_options))
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
