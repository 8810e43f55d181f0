"""Calls from programs back to Python: callbacks, and printing from them."""

from __future__ import annotations

__all__: list[str] = []
