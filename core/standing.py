"""The modules of built-in plugins, and of plugins whose rules are proven."""

from __future__ import annotations

from collections.abc import Container

from primax.core.author import is_surface

__all__ = ["belongs", "built_in", "is_proven", "proven"]

built_in: set[str] = set()
proven: set[str] = set()


def belongs(module: str, homes: Container[str]) -> bool:
    """Whether a module is one of these, or is in one of them."""
    while module:
        if module in homes:
            return True
        module = module.rpartition(".")[0]
    return False


def is_proven(module: str) -> bool:
    """Whether rules of primitives that a module has made need not be held to their type rule: the kit has done so."""
    return is_surface(module) or belongs(module, proven)
