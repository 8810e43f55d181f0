"""Names of a module that are imported when they are first used, and errors with advice for absent ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from types import FrameType, MappingProxyType
from typing import Any

__all__ = ["advise", "explain_absent", "lazy_names", "missing_name", "supplied"]

_advisers: list[str] = []


def advise(module: str) -> None:
    """Let a module supply and explain absent names.

    Args:
      module: one with functions `supply(module, name) -> object`, which raises a LookupError for other names, and
        `remedy(module, name) -> str`. It is imported when a name is first absent.
    """
    _advisers.append(module)


def lazy_names(
    module: str,
    public: Collection[str],
    submodules: Collection[str] = (),
    functions: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module that imports names when they are first used.

    Args:
      module: the name of the module.
      public: the other names that `dir` lists.
      submodules: the names of submodules.
      functions: for names of other modules, these modules.
    """

    def load(name: str) -> Any:
        if name in functions:
            value = vars(sys.modules[module])[name] = getattr(import_module(functions[name]), name)
            return value
        if name in submodules:
            return import_module(f"{module}.{name}")
        return supplied(module, name)

    return load, lambda: sorted({*public, *submodules})


def explain_absent(module: str) -> None:
    """Give a module a `__getattr__` that calls `supplied`. Type checkers do not see it."""

    def absent(name: str) -> Any:
        return supplied(module, name)

    vars(sys.modules[module]).setdefault("__getattr__", absent)


def supplied(module: str, name: str, text: str = "") -> Any:
    """The object that an adviser has for an absent name of a module, such as one for packages written for JAX.

    Args:
      module, name, text: as for `missing_name`.

    Raises:
      AttributeError or ImportError: there is none; see `missing_name`.
    """
    for each in () if name.startswith("_") else _advisers:
        try:
            return import_module(each).supply(module, name)
        except LookupError:
            continue
    raise missing_name(module, name, text)


def missing_name(module: str, name: str, text: str = "") -> AttributeError | ImportError:
    """The error for an absent name of a module, for its `__getattr__` to raise.

    Args:
      module: the name of the module.
      name: the absent name.
      text: the text of the error if there is no advice; by default only that the module has no such attribute.

    Returns:
      An AttributeError; for `from module import name`, where Python would hide its text, an ImportError if there is
      advice.
    """
    absent = f"module {module!r} has no attribute {name!r}"
    advice = [] if name.startswith("_") else [import_module(each).remedy(module, name) for each in _advisers]
    if not any(advice):
        return AttributeError(text or absent, name=name, obj=sys.modules.get(module))  # Python suggests another
    remedy = "; ".join(filter(None, advice))
    if _imports(sys._getframe(1)):
        return ImportError(f"cannot import name {name!r} from {module!r}: {remedy}", name=module)
    return AttributeError(f"{absent}: {remedy}")


_WRAPPERS = (__name__, "primax.extend.provisional.boundaries")  # modules whose functions may be a `__getattr__`


def _imports(frame: FrameType) -> bool:
    """Whether the frame that called `__getattr__` is about to bind a name by `from module import name`."""
    while frame.f_back and (frame.f_globals.get("__name__") in _WRAPPERS or frame.f_code.co_name == "__getattr__"):
        frame = frame.f_back
    code: int = import_module("opcode").opmap["IMPORT_FROM"]
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == code
