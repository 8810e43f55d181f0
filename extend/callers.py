"""The modules that are responsible for a write to a shared table, from the running functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator

__all__ = ["modules_being_imported", "responsible_modules"]

_HELPERS = frozenset(("_collections_abc", "collections.abc", "contextlib", "functools"))


def responsible_modules() -> Iterator[tuple[str, bool]]:
    """The module of the calling line, and outward from it those that are being imported.

    Yields:
      The name of each module, and whether it is being imported. Nothing if the caller is a family of primax, or a
      module of primax that is being imported.
    """
    frame = sys._getframe(1)
    outside = False
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        being_imported = frame.f_code.co_name == "<module>"
        if f"{module}.".startswith("primax."):
            if not outside and (being_imported or module.startswith("primax.plugins.")):
                return
        elif being_imported or not (outside or module in _HELPERS):
            outside = True
            yield module, being_imported
        frame = frame.f_back  # type: ignore[assignment]


def modules_being_imported(until: str = "") -> list[str]:
    """The names of the modules that this thread is importing, innermost first.

    Args:
      until: the name of a module: only the imports since its innermost running function was called.
    """
    frame, names = sys._getframe(2), []
    while frame is not None and frame.f_globals.get("__name__") != until:
        if frame.f_code.co_name == "<module>":
            names.append(frame.f_globals.get("__name__") or "")
        frame = frame.f_back  # type: ignore[assignment]
    return names
