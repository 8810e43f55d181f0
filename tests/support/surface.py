"""The surface of primax.extend: every public name of every public module, its kind and its signature.

`make surface` records it in tests/extend/surface.txt; differences belong in the changelog.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import primax.extend

RECORD = Path(__file__).parents[1] / "extend" / "surface.txt"

# Their folders have parts, which are used through the package's names.
_PACKAGES = tuple(f"primax.extend.{name}" for name in ("commands", "core.", "derive.", "drawing.", "host", "testing."))
_PARTS = ("primax.extend.core.primitives",)


def public_modules() -> list[str]:
    """The modules of primax.extend that are part of the surface, by name."""
    found = pkgutil.walk_packages(primax.extend.__path__, "primax.extend.")
    names = [module.name for module in found]
    return ["primax.extend", *(name for name in names if name in _PARTS or not name.startswith(_PACKAGES))]


def surface() -> list[str]:
    """One line for each name, and for each public method of a class."""
    return sorted(line for name in public_modules() for line in _lines(importlib.import_module(name)))


def _lines(module: Any) -> Iterator[str]:
    yield f"{module.__name__}: module"
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        path = f"{module.__name__}.{name}"
        yield f"{path}: {_kind(value)}{_signature(value)}"
        if inspect.isclass(value) and value.__module__.startswith("primax."):
            for method, function in sorted(vars(value).items()):
                if not method.startswith("_"):
                    yield f"{path}.{method}: {_kind(function)}{_signature(function)}"


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return "class"
    if inspect.ismodule(value):
        return "module"
    if isinstance(value, property | cached_property):
        return "property"
    if isinstance(value, classmethod | staticmethod):
        return type(value).__name__
    if callable(value):
        return "function"
    if inspect.isdatadescriptor(value):
        return "attribute"
    return type(value).__name__


def _signature(value: Any) -> str:
    """The names of parameters, and which of them have defaults; types and default values may change."""
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if not callable(function) or not _is_ours(function):
        return ""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_mark(parameter.default))
        for parameter in signature.parameters.values()
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def _is_ours(function: Any) -> bool:
    """Whether primax defines the signature; those of enums, exceptions, jaxlib and typing are excluded."""
    if inspect.isclass(function) and issubclass(function, BaseException | enum.Enum):
        return False
    return str(getattr(function, "__module__", None)).startswith("primax.")


class _Mark:
    def __repr__(self) -> str:
        return "..."


def _mark(default: Any) -> Any:
    return default if default is inspect.Parameter.empty else _Mark()


if __name__ == "__main__":
    RECORD.write_text("\n".join(surface()) + "\n", encoding="utf-8")
    print(f"recorded {len(surface())} names in {RECORD}")
