"""Examples of the kernel's names, which authors import from `primax.extend`; they join the docstrings there."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Any

from primax.extend.examples import core, interpreters

__all__: list[str] = []

_waiting = core.EXAMPLES | interpreters.EXAMPLES


def attach() -> None:
    """Move the examples of the modules that were imported to the docstrings there."""
    for place in [place for place in _waiting if place.partition(":")[0] in sys.modules]:
        module, _, name = place.partition(":")
        value: Any = sys.modules[module]
        for part in name.split("."):
            value = vars(value)[part]
        value = getattr(value, "__func__", value)
        doc, text = inspect.cleandoc(value.__doc__ or ""), textwrap.indent(_waiting.pop(place).strip(), "  ")
        value.__doc__ = f"{doc.rstrip()}\n\nExamples:\n{text}\n"


attach()  # before others copy a docstring
