"""Looking at values while a program runs."""

from __future__ import annotations

from primax.plugins.callbacks import debug_callback as callback
from primax.plugins.callbacks import debug_print as print

__all__ = ["callback", "print"]
