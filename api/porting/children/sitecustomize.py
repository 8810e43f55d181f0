"""Python runs this module at startup in child processes of `primax as-jax`.

It imports only the standard library until the program imports jax, which most programs never do.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _OnDemand(MetaPathFinder):
    """Imports `primax.as_jax` at the first import of jax, which then finds primax."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] == "jax" and self._install():
            return importlib.util.find_spec(fullname)
        return None

    def find_distributions(self, context: Any = None) -> Any:
        if getattr(context, "name", None) == "jax" and self._install():
            finder: Any = sys.meta_path[0]
            return finder.find_distributions(context)  # the finder of primax
        return []

    def _install(self) -> bool:
        """Install the stand-in; False if this Python does not have primax, as a child process may be another Python."""
        if self not in sys.meta_path or importlib.util.find_spec("primax") is None:
            return False
        sys.meta_path.remove(self)
        importlib.import_module("primax.as_jax")
        return True


def _run_next() -> None:
    """Run the sitecustomize that this module hides."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [p for p in sys.path if p != _FOLDER])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def install() -> None:
    """Make `import jax` import primax in this process, at the first import."""
    sys.meta_path.insert(0, _OnDemand())


if os.environ.get("PRIMAX_AS_JAX") == "1" and __name__ == "sitecustomize":
    install()
    _run_next()
