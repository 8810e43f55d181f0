"""The names of jax.experimental.sparse, which come later; using one raises an error that says so."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []

_LATER = frozenset(
    "BCOO BCSR COO CSC CSR CuSparseEfficiencyWarning JAXSparse empty eye grad jacfwd jacobian jacrev load_npz "
    "random_bcoo save_npz sparsify sparsify_raw todense todense_p value_and_grad".split()
)
_PREFIXES = ("bcoo", "bcsr", "coo", "csr")


def __getattr__(name: str) -> Any:
    """Say of JAX's names that they are not here yet.

    Raises:
      ImportError: the name is one of JAX's; `from ... import` would hide what an AttributeError says.
      AttributeError: it is none.
    """
    if name in _LATER or name.startswith(_PREFIXES):
        raise ImportError(
            f"primax.experimental.sparse.{name} is not there yet: sparse arrays come in a later release. Systems of "
            "operators are solved by primax.scipy.sparse.linalg, and sums by index are in primax.ops"
        )
    raise AttributeError(f"module 'primax.experimental.sparse' has no attribute {name!r}")
