"""Experimental features of the plugin API, which warn at their first use."""

from __future__ import annotations

import warnings

from primax.core.caller import author
from primax.core.errors import ExperimentalWarning
from primax.core.trusted_modules import belongs, built_in

_told: set[str] = set()


def experimental(what: str) -> None:
    """Warn the calling plugin, once in a process, that a feature may change; built-in families get no warning."""
    who = author()
    if what in _told or belongs(who.module, built_in):
        return
    warnings.warn(
        f"{what} are experimental: they may change in any release of primax without an earlier warning",
        ExperimentalWarning,
        stacklevel=who.level,
    )
    _told.add(what)
