"""Which dotted names, each in a process that has imported nothing but primax, are not there.

A program: reads names from standard input, one a line, and writes those that do not resolve, each with the error. The
names are looked up in one process, which imports more and more. So a submodule counts if its package offers it without
its having been imported, by `__getattr__`; for all others a fresh process is forked.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from types import ModuleType
from typing import Any


def unresolved(names: Collection[str]) -> list[str]:
    """The names that do not resolve after `import primax`, each with the error."""
    done = subprocess.run(
        [sys.executable, __file__],
        input="\n".join(sorted(set(names))),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def _find(name: str) -> str:
    """The error of looking a name up, or ""."""
    root, *rest = name.split(".")
    value: Any = importlib.import_module(root)
    for part in rest:
        try:
            value = getattr(value, part)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def _modules_of(name: str) -> Iterator[tuple[ModuleType, str]]:
    """The submodules that a name goes through, as packages and names."""
    root, *rest = name.split(".")
    value: Any = importlib.import_module(root)
    for part in rest:
        inner = getattr(value, part)
        if isinstance(value, ModuleType) and inner is sys.modules.get(f"{value.__name__}.{part}"):
            yield value, part
        value = inner


def _is_offered(package: ModuleType, name: str) -> bool:
    """Whether a package finds a submodule by itself."""
    module = vars(package).pop(name)
    try:
        return getattr(package, name, None) is module
    finally:
        setattr(package, name, module)


def _forked(work: Callable[[], list[str]]) -> list[str]:
    """What a function returns in a copy of this process."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writer, "\n".join(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        text = file.read()
    os.waitpid(process, 0)
    return text.splitlines()


def _look_up(names: list[str], imported: frozenset[str]) -> list[str]:
    """What is not there, and paths of submodules that must be looked up in a fresh process."""
    found: dict[str, None] = {}
    for name in names:
        error = _find(name)
        if error:
            found[f"{name}: {error}"] = None
            continue
        for package, part in _modules_of(name):
            path = f"{package.__name__}.{part}"
            if path not in imported and not _is_offered(package, part):
                found[path] = None
    return list(found)


def main() -> None:
    """Write what does not resolve."""
    importlib.import_module("primax")
    imported = frozenset(sys.modules)
    for line in _forked(lambda: _look_up(sys.stdin.read().split(), imported)):
        if ": " in line:
            print(line)
        else:
            for error in _forked(lambda path=line: [_find(path)]):
                print(f"{line}: {error}")


if __name__ == "__main__":
    main()
