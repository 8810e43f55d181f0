"""The conformance kit: checks of every rule of a primitive against what does not use that rule."""

from __future__ import annotations

__all__: list[str] = []
