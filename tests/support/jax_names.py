"""As a program, this writes the public names of the installed jax to api/porting/names.json."""

from __future__ import annotations

import importlib
import json
import pkgutil
import types
import warnings
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "api" / "porting" / "names.json"
# Modules that the table treats as a whole, or that belong to jaxlib.
WHOLE = (
    "jax.experimental.array_serialization",
    "jax.experimental.colocated_python",
    "jax.experimental.jax2tf",
    "jax.experimental.mosaic",
    "jax.experimental.pallas",
    "jax.experimental.source_mapper",
    "jax.experimental.sparse.test_util",
    "jax.experimental.thunky",
    "jax.extend.mlir.dialects",
    "jax.extend.mlir.ir",
    "jax.extend.mlir.passmanager",
    "jax.lib",
    "jax.tools",
)


def _modules(package: types.ModuleType) -> dict[str, types.ModuleType]:
    found = {package.__name__: package}
    for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if each.name.rpartition(".")[2].startswith("_") or each.name in WHOLE:
            continue
        try:
            module = importlib.import_module(each.name)
        except ImportError:
            continue
        found |= _modules(module) if each.ispkg else {each.name: module}
    return found


def _is_own(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a module defines a name itself, instead of importing it."""
    if name.startswith("_") or name == "annotations" or isinstance(value, types.ModuleType):
        return False
    if name in getattr(module, "__all__", ()):
        return True
    home = getattr(value, "__module__", None)
    # A module with definitions offers those; a module without offers its imports from jax.
    defines = any(getattr(each, "__module__", None) == module.__name__ for each in vars(module).values())
    if module.__name__.startswith(("jax.experimental.", "jax.example_libraries.")) and defines:
        return home == module.__name__
    if not isinstance(home, str) or not home.startswith("jax"):
        return home in ("numpy", "ml_dtypes") or not callable(value)
    return True


def public_names() -> dict[str, str]:
    """The names of each module, in one string."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = _modules(importlib.import_module("jax"))
        found = {}
        for path, module in sorted(modules.items()):
            names = {name for name in dir(module) if _is_own(module, name, getattr(module, name, None))}
            names |= {other.rpartition(".")[2] for other in [*modules, *WHOLE] if other.rpartition(".")[0] == path}
            if names:
                found[path] = " ".join(sorted(names))
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(public_names(), indent=1) + "\n", encoding="utf-8")
