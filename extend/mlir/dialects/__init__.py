"""The dialects of MLIR that jaxlib has, such as `stablehlo` and `func`; each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__: list[str] = []
__dir__ = __all__.copy

_DIALECTS = frozenset(
    (
        "arith",
        "builtin",
        "cf",
        "chlo",
        "func",
        "math",
        "memref",
        "mpmd",
        "scf",
        "sdy",
        "sparse_tensor",
        "stablehlo",
        "vector",
    )
)


if TYPE_CHECKING:
    arith: Any
    builtin: Any
    cf: Any
    chlo: Any
    func: Any
    hlo: Any
    math: Any
    memref: Any
    mpmd: Any
    scf: Any
    sdy: Any
    sparse_tensor: Any
    stablehlo: Any
    vector: Any
else:

    def __getattr__(name: str) -> Any:
        """A dialect of jaxlib."""
        if name in _DIALECTS:
            return import_module(f"jaxlib.mlir.dialects.{name}")
        if name == "hlo":
            return import_module("jaxlib.mlir.dialects.stablehlo")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
