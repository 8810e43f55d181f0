"""What packages import of `jax._src.compiler`: the module, to ask which functions they may replace. None, here."""

from __future__ import annotations

__all__: list[str] = []
