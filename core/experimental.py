"""Experimental features of the plugin API: who accepts them, and a warning for authors of scripts."""

from __future__ import annotations

import warnings
from contextlib import suppress

from primax.core.caller import author
from primax.core.errors import ExperimentalWarning

accepted_by: set[tuple[str, str]] = set()  # plugins or modules, each with a feature
_warned: set[str] = set()


def experimental(what: str, plugin: str | None, accepted: bool) -> None:
    """Record that an author accepts changes of a feature; if not, warn a script or notebook once that it may change."""
    who = author()
    if accepted:
        accepted_by.add((plugin or who.module, what))
    elif who.module == "__main__" and what not in _warned:
        _warned.add(what)
        with suppress(ExperimentalWarning):  # with `-W error`
            text = f"{what} are experimental: they may change in any release of primax without an earlier warning"
            warnings.warn(f"{text}; experimental=True accepts this", ExperimentalWarning, stacklevel=who.level)
