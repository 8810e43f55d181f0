"""The surface of primax.extend: every public name of every public module, its kind and its signature.

Names of `primax.extend.provisional` are recorded too, and may change in a minor release; the others are promised.
`make surface` records both in tests/extend/surface.txt; differences belong in the changelog.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import primax.extend

RECORD = Path(__file__).parents[1] / "extend" / "surface.txt"
REFERENCE = Path(__file__).parents[2] / "docs" / "authors" / "extend.md"

# Their contents are used through the names of `primax.extend` and of the packages.
_PARTS = (
    "axis_names callers clients debugging declarations decomposition definition dtypes errors given_rules "
    "interpreter lazy_names leaks linearity loading manifests meshes_in_jax options records promotion replay_in_jax "
    "sharding_in_jax transfer"
).split()
_PACKAGES = tuple(
    f"primax.extend.{name}"
    for name in ("commands", "core.", "derive.", "drawing.", "examples", "host", "mlir.", "stablehlo", "testing.")
)
_PUBLIC_PARTS = ("primax.extend.core.primitives", "primax.extend.mlir.dialects")
_HIDDEN = frozenset(f"primax.extend.{name}" for name in _PARTS)

PROVISIONAL = "primax.extend.provisional"


def public_modules() -> list[str]:
    """The modules of primax.extend that are part of the surface, by name."""
    names = [module.name for module in pkgutil.walk_packages(primax.extend.__path__, "primax.extend.")]
    public = [name for name in names if name in _PUBLIC_PARTS or not name.startswith(_PACKAGES)]
    return ["primax.extend", *(name for name in public if name not in _HIDDEN)]


def names_of(*, provisional: bool) -> list[tuple[str, str]]:
    """The modules and names of one tier."""
    modules = [name for name in public_modules() if name.startswith(PROVISIONAL) is provisional]
    return [(name, each) for name in modules for each in getattr(importlib.import_module(name), "__all__", ())]


def surface() -> list[str]:
    """One line for each name, and for each public method of a class."""
    return sorted(line for name in public_modules() for line in _lines(importlib.import_module(name)))


def reference() -> str:
    """The text of docs/authors/extend.md: the promised names, with the first sentences of their documentation."""
    lines = [_INTRODUCTION]
    for name in public_modules():
        module = importlib.import_module(name)
        if not name.startswith(PROVISIONAL):
            lines += [f"## {name}", "", _sentence(module), ""]
            rows = [f"| `{each}` | {_meaning(getattr(module, each))} |" for each in getattr(module, "__all__", ())]
            lines += ["| name | meaning |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([*lines, "Next: [interpreters and transformations](../interpreters/index.md).", ""])


_INTRODUCTION = """# The names of primax.extend

These names are promised: [the API policy](compatibility.md) says for how long. `make surface` writes this page from the
documentation strings; `help(name)` shows the whole of them.
"""


def _meaning(value: Any) -> str:
    documented = inspect.isclass(value) or inspect.ismodule(value) or inspect.isroutine(value)
    if not documented:
        return f"a value of type `{type(value).__name__}`"
    from_jaxlib = str(getattr(value, "__module__", "")).startswith("jax")  # jax writes their documentation
    return "a class of jaxlib" if from_jaxlib else _sentence(value)


def _sentence(value: Any) -> str:
    """The first sentence of an object's documentation, for a cell of a table."""
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", text)[0].replace("|", "\\|")


def _lines(module: Any) -> Iterator[str]:
    yield f"{module.__name__}: module"
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        path = f"{module.__name__}.{name}"
        yield f"{path}: {_kind(value)}{_signature(value)}"
        if inspect.isclass(value) and value.__module__.startswith("primax."):
            forms = [base for base in reversed(value.__mro__) if base.__name__ == value.__name__]
            for method, function in sorted({k: v for form in forms for k, v in vars(form).items()}.items()):
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
    if type(function).__module__ == "nanobind":
        return False
    return str(getattr(function, "__module__", None)).startswith("primax.")


class _Mark:
    def __repr__(self) -> str:
        return "..."


def _mark(default: Any) -> Any:
    return default if default is inspect.Parameter.empty else _Mark()


if __name__ == "__main__":
    RECORD.write_text("\n".join(surface()) + "\n", encoding="utf-8")
    REFERENCE.write_text(reference(), encoding="utf-8")
    print(f"recorded {len(surface())} names in {RECORD}")
