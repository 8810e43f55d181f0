"""Explanations of why a jitted function is traced again: one line with the differences from earlier calls."""

from __future__ import annotations

import logging
from typing import Any

from primax.extend.core import tree
from primax.extend.provisional.arguments import shorten
from primax.extend.provisional.programs import Signature, changed_option
from primax.extend.provisional.tracing import Cache, user_line

_log = logging.getLogger("primax")


def explain_miss(name: str, signature: Signature, programs: Cache) -> None:
    """Log the differences between a call and the most similar earlier call.

    Args:
      name: the name of the function.
      signature: the signature of the call.
      programs: the programs of the function, by their signatures or other keys.
    """
    line = user_line()
    calls = [
        key
        for key in (*programs.older, *programs)
        if isinstance(key, Signature) and key.transformation == signature.transformation
    ]
    if not calls:
        _log.warning("%s is traced at %s: it is called for the first time", name, line)
        return
    nearest = min(reversed(calls), key=lambda earlier: _distance(signature, earlier))  # of equals the latest
    first, *others = _differences(signature, nearest)
    more = f"; and {len(others)} more differences" if others[1:] else "".join(f"; {other}" for other in others)
    _log.warning("%s is traced again at %s: %s%s", name, line, first, more)


def _distance(now: Signature, earlier: Signature) -> int:
    """How unlike two calls are: the number of differences, where a leaf that only one has counts as four."""
    new, old = (dict(zip(_paths(call.in_tree), call.avals, strict=True)) for call in (now, earlier))
    count = 4 * len(new.keys() ^ old.keys()) + (now.in_tree != earlier.in_tree)
    for path in new.keys() & old.keys():
        a, b = new[path], old[path]
        count += (a != b) + sum(getattr(a, part, 0) != getattr(b, part, 0) for part in ("shape", "ndim", "dtype"))
    return count + sum(a != b for a, b in zip(now[3:], earlier[3:], strict=True))


def _differences(now: Signature, earlier: Signature) -> list[str]:
    """The differences between two signatures, in words."""
    differences = []
    if now.in_tree != earlier.in_tree:
        differences.append(f"the arguments have the structure {now.in_tree}, earlier {earlier.in_tree}")
    else:
        for path, new, old in zip(_paths(now.in_tree), now.avals, earlier.avals, strict=True):
            if new != old:
                weakness = ""
                if new.str_short() == old.str_short():
                    weakness = " (weakly typed)" if new.weak_type else " (not weakly typed)"
                differences.append(f"argument{path} is {new.str_short()}{weakness}, earlier {old.str_short()}")
    if now.statics != earlier.statics or now[4:6] != earlier[4:6]:  # the static positions, and the prescribed shardings
        statics = _static(now.statics), _static(earlier.statics)
        differences.append("the static arguments are {}, earlier {}".format(*statics))
    if now.config is not earlier.config:
        differences.append(changed_option(now.config, earlier.config))
    if now.axes != earlier.axes:
        differences.append(f"the mapped axes are {dict(now.axes)}, earlier {dict(earlier.axes)}")
    return differences or ["its program was removed from the cache"]


def _paths(in_tree: Any) -> list[str]:
    marked = tree.tree_unflatten(in_tree, range(in_tree.num_leaves))
    return [tree.keystr(path[1:]) for path, _ in tree.tree_leaves_with_path(marked)]


def _static(record: Any) -> str:
    if record == ():
        return "none"
    return ", ".join(f"{where}={shorten(value)}" for where, value in (*record.positional, *record.keywords)) or "none"
