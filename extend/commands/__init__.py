"""The commands of `python -m primax`."""

from __future__ import annotations

__all__: list[str] = []
