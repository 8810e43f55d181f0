"""Watches: functions that examine programs before and after they run, while an option is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core import undo_log
from primax.core.arguments import check_function
from primax.core.jaxpr import ClosedJaxpr
from primax.core.option import Option

Check = Callable[[Sequence[Any]], None]
Watch = Callable[[str, ClosedJaxpr, Sequence[Any]], Check | None]
watches: list[tuple[Option, Watch]] = []


def register_watch(option: Option, watch: Watch) -> None:
    """Register a function that examines programs before and after they run, while an option is on.

    Args:
      option: the option, one that examines calls of compiled programs.
      watch: `(name, closed, args) -> check`, called before a program runs, with its arguments. `check(results)` is
        called after it; None if there is nothing to check.
    """
    check_function("register_watch", "watch", watch)
    watches.append((option, watch))
    undo_log.note(lambda: watches.remove((option, watch)))


def start_watches(name: str, closed: ClosedJaxpr, args: Sequence[Any]) -> list[Check] | None:
    """Examine a program before it runs; returns the checks of its results, or None if no watch is on."""
    active = dict.fromkeys([watch for option, watch in watches if option.value])
    if not active:
        return None
    return [check for watch in active if (check := watch(name, closed, args)) is not None]
