"""Memory spaces: names for where arrays lie. Here they lie in the memory of devices."""

from __future__ import annotations

from primax.core.layout import Space

__all__ = ["Space"]
