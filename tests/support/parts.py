"""Many functions, compiled a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import primax as px

__all__ = ["computed"]

MOST = 8  # functions in a program: XLA takes twice as long for one of 80 functions as for ten programs


def computed(calls: Mapping[Any, Callable[[], Any]]) -> dict[Any, Any]:
    """The results of functions without arguments, by their keys."""
    results: dict[Any, Any] = {}
    keys = list(calls)
    for i in range(0, len(keys), MOST):
        part = keys[i : i + MOST]
        found = px.jit(lambda part=part: [calls[key]() for key in part])()
        results.update(zip(part, found, strict=True))
    return results
