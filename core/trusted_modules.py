"""The modules of built-in plugins, and of plugins whose rules are proven."""

from __future__ import annotations

from collections.abc import Container

from primax.core.caller import is_surface

built_in: set[str] = set()
proven: set[str] = set()


def belongs(module: str, homes: Container[str]) -> bool:
    """Whether a module is one of `homes`, or is inside one of them."""
    while module:
        if module in homes:
            return True
        module = module.rpartition(".")[0]
    return False


def is_proven(module: str) -> bool:
    """Whether the rules of a module's primitives need no check: the kit has checked them against their type rule."""
    return is_surface(module) or belongs(module, proven)
