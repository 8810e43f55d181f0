"""What the annotations of primax's public functions leave open: parameters that are `Any`, and results.

As a program, this prints them with a count: `python tests/support/untyped.py`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import types
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import primax

# Modules of authors of plugins and tools, and names that ported packages only use.
_OTHERS = tuple(
    f"primax.{name}" for name in "core interpreters extend plugins porting as_jax __main__ test_util contrib".split()
)
# Aliases that are Any, with another name.
_OPEN = frozenset(("Any", "PyTree", "typing.Any", "_empty"))


class Open(NamedTuple):
    """A parameter of a public function, or its result (`return`), that may be anything."""

    module: str
    function: str
    parameter: str

    def __str__(self) -> str:
        return f"{self.module}.{self.function}: {self.parameter}"


def modules() -> Iterator[types.ModuleType]:
    """The modules of users: those that `dir` of their package lists, or whose package lists no names."""
    pending = [primax]
    seen = set()
    while pending:
        module = pending.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        yield module
        if hasattr(module, "__path__"):
            below = {each.name for each in pkgutil.iter_modules(module.__path__) if not each.name.startswith("_")}
            listed = set(dir(module))
            for name in sorted(below & listed, reverse=True):
                path = f"{module.__name__}.{name}"
                if not path.startswith(_OTHERS):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = importlib.import_module(path)
                    pending.append(found)


def is_open(annotation: Any) -> bool:
    """Whether an annotation says nothing: Any, alone or in a union."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return any(part in _OPEN for part in _parts(ast.parse(text, mode="eval").body))


def _parts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.BinOp):
        yield from _parts(node.left)
        yield from _parts(node.right)
    else:
        yield ast.unparse(node)


def functions() -> Iterator[tuple[str, str, Any]]:
    """Each public function once, and each public method of a public class, with its module and its name."""
    seen = set()
    for module in modules():
        for name in getattr(module, "__all__", None) or dir(module):
            value = getattr(module, name)
            home = str(getattr(value, "__module__", ""))
            if not callable(value) or id(value) in seen or not home.startswith("primax"):
                continue
            seen.add(id(value))
            if not inspect.isclass(value):
                yield module.__name__, name, value


def open_ends() -> list[Open]:
    """The parameters and the results of public functions that may be anything."""
    found = []
    for module, name, function in functions():
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            continue
        found += [Open(module, name, p.name) for p in signature.parameters.values() if is_open(p.annotation)]
        if is_open(signature.return_annotation):
            found.append(Open(module, name, "return"))
    return found


if __name__ == "__main__":
    ends = open_ends()
    for end in ends:
        print(end)
    results = sum(end.parameter == "return" for end in ends)
    print(
        f"{sum(1 for _ in functions())} functions: "
        f"{len(ends) - results} parameters and {results} results may be anything"
    )
