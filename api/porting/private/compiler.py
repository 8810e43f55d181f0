"""`jax._src.compiler`: packages import the module to test which functions they may replace; it has none."""

from __future__ import annotations

__all__: list[str] = []
