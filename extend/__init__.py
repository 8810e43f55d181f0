"""What the author of a primitive package or of an interpreter may rely on."""

from __future__ import annotations

from primax.core.hookspec import API_VERSION, hookimpl

__all__ = ["API_VERSION", "hookimpl"]
