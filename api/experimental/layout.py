"""How arrays lie in memory, as far as there is a choice: XLA chooses for all of them here."""

from __future__ import annotations

from primax.core.layout import Format, Layout

__all__ = ["Format", "Layout"]
