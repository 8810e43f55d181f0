"""Installation of the stand-in for `import jax`, in this process and in its child processes."""

from __future__ import annotations

import functools
import sys
from typing import Any

from primax.core.operand import Operand
from primax.extend.core import Array, Tracer
from primax.extend.interpreters import ad, batching, partial_eval
from primax.extend.provisional.avals import ExtendedArray
from primax.extend.provisional.derivatives import LinearTracer
from primax.extend.source_info_util import current
from primax.plugins.calls.jitted import SeemingPjitFunction
from primax.porting.modules import JaxFinder, JaxModule, stand_in
from primax.porting.spellings import attach


def install() -> None:
    """Make `import jax` import primax from now on. A second call has no effect.

    Raises:
      ImportError: the process has imported the real jax.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "jax" and not isinstance(module, JaxModule):
            where = getattr(module, "__file__", None) or "a module without a file"
            raise ImportError(
                f"primax.as_jax: it must be imported before jax, got a process that has imported {name} from {where}; "
                "import primax.as_jax first, or run the program by `primax as-jax`",
                name="primax.as_jax",
            )
    if not any(isinstance(finder, JaxFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, JaxFinder())
        SeemingPjitFunction.enabled = True
        attach()
        _add_source_parts()
        _name_arrays()
        _name_namespace()


def _add_source_parts() -> None:
    """Give sources of equations the parts that JAX's sources have: `traceback` and `name_stack`.

    A source outside of scopes is a traceback object of jaxlib; its class gets both attributes.
    """
    kind: Any = type(current())
    kind.traceback = property(lambda self: self)
    kind.name_stack = property(lambda self: "")


def _name_arrays() -> None:
    """Set the module of the types of arrays and tracers to a module of JAX.

    Packages for several libraries of arrays, such as autoray and eagerpy, recognize the library by its first part.
    """
    Array.__module__ = ExtendedArray.__module__ = "jax"
    for kind in (Tracer, ad.JVPTracer, LinearTracer, batching.BatchTracer, partial_eval.StagingTracer):
        kind.__module__ = "jax.core"


def _name_namespace() -> None:
    """Make `jax.numpy` the namespace of arrays: packages compare it with the module, or read its name."""
    plain = Operand.__array_namespace__

    @functools.wraps(plain)
    def __array_namespace__(self: Any, /, *, api_version: str | None = None) -> Any:
        plain(self, api_version=api_version)  # refuses other versions
        return stand_in("jax.numpy")

    Operand.__array_namespace__ = __array_namespace__  # type: ignore[method-assign]
