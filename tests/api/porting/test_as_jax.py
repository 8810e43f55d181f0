"""`import jax` that means primax: modules, names that are absent, children of a process, and reports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(
    *arguments: str, folder: Path | None = None, code: int = 0, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, whose exit code is as expected."""
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", **(env or {})}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done


PROGRAM = """
import primax.as_jax
import importlib.metadata
import pickle
import jax
import jax.numpy as jnp
import jax.scipy.stats.norm as normal
from jax import lax, random, tree_util
from jax.core import Tracer
from jax.experimental import hijax, pallas as pl
from jax.experimental.hijax import HiType
from jax.interpreters import ad, batching, mlir
import primax

assert jax is not primax and "primax" in repr(jax)
assert jax.jit is primax.jit and jnp.sin is primax.numpy.sin and jnp is jax.numpy
assert Tracer is primax.extend.core.Tracer and ad.JVPTrace.__module__.startswith("primax")
assert jax.__version__ == importlib.metadata.version("jax") == "0.10.2" and jax.__version_info__ == (0, 10, 2)
assert importlib.metadata.metadata("jax")["Name"] == "jax"
assert importlib.metadata.version("jaxlib") == __import__("jaxlib").__version__
assert abs(float(normal.pdf(0.0)) - 0.3989423) < 1e-6
assert pickle.loads(pickle.dumps(jnp.sin)) is primax.numpy.sin

# An absent name raises where it is used, and says what it is.
assert not hasattr(jax, "nonsense") and getattr(jax.lax, "nonsense", 3) == 3
def message(program, kind):
    try:
        exec(program, globals())
    except kind as error:
        return str(error)
    raise AssertionError(program)
assert "jax.tree_map is not in primax: gone from JAX" in message("jax.tree_map", AttributeError)
assert "JAX 0.12 does not have it either" in message("jax.nonsense", AttributeError)
assert "Pallas" in message("from jax.extend import pallas", ImportError)
assert "Pallas" in message("import jax.extend.pallas", ModuleNotFoundError)
assert "jax.lax.nonsense is not in primax" in message("from jax.lax import nonsense", ImportError)

# Names that packages import and seldom use are there, and raise when they are used.
assert not isinstance(3, HiType) and HiType | None and "primax does not have" in repr(HiType)
assert "is a subclass" in message("HiType()", AttributeError) or "subclasses of" in message("HiType()", AttributeError)
assert "primax.ffi" in message("pl.pallas_call(None)", AttributeError)

# Private names are there where packages use them.
from jax._src import core as private
from jax._src.tree_util import _registry, prefix_errors
assert private.trace_state_clean() and jax.jit(lambda x: x if private.trace_state_clean() else x + 1)(1.0) == 2.0
assert private.Primitive is primax.extend.core.Primitive
assert dict in _registry and int not in _registry
children, aux = _registry[dict].to_iter({"a": 1, "b": 2})
assert _registry[dict].from_iter(aux, children) == {"a": 1, "b": 2}
(error,) = prefix_errors((1, 2), (1, 2, 3))
assert str(error("in_axes")).startswith("in_axes:"), error("in_axes")

# Options as JAX spells them.
jax.config.update("jax_enable_x64", True)
assert jnp.ones(3).dtype == "float64" and jax.config.jax_enable_x64 and jax.config.read("jax_enable_x64")
with jax.experimental.enable_x64(False) if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(False):
    assert jnp.ones(3).dtype == "float32"

names = {}
exec("from jax.numpy import *", names)
assert names["sin"] is primax.numpy.sin
assert {"jit", "numpy", "Array"} <= set(dir(jax))
print("all is well")
"""


def test_a_program_for_jax_finds_primax(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    assert run("program.py", folder=tmp_path).stdout == "all is well\n"
