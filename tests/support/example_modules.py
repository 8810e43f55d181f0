"""The modules of the examples, loaded as by a script in their folder."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from checkout import ROOT


@cache
def example(path: str) -> ModuleType:
    """The module `examples/<path>.py`."""
    name = path.rpartition("/")[2]
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{path}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
