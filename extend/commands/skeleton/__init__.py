"""The files of a new package, in which `$distribution` and the like are filled in."""

from __future__ import annotations

__all__: list[str] = []
