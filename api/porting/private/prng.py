"""The names of `jax._src.random.prng` with which JAX pickles keys; they are read as keys of primax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from primax.extend.provisional.avals import ExtendedArray
from primax.extend.random import KeyDType, find_prng_impl

__all__ = ["KeyTy", "PRNGImpl", "PRNGKeyArray"]


class PRNGImpl:
    """A generator in a pickle of JAX: its functions, and its name, by which primax finds its own."""

    def __new__(cls, *parts: Any) -> Any:
        *_, name, _ = parts
        return find_prng_impl(name, "pickle.loads")


class KeyTy(KeyDType):
    """The dtype of keys in a pickle of JAX, which becomes a `KeyDType`."""

    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(vars(state["_impl"].dtype))
        self.__class__ = KeyDType  # type: ignore[assignment]


class PRNGKeyArray(ExtendedArray):
    """Keys in a pickle of JAX, which become an array of primax."""

    __slots__ = ()

    def __new__(cls) -> Any:
        return object.__new__(cls)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        ExtendedArray.__init__(self, state["_base_array"], state["_impl"].dtype)
        self.__class__ = ExtendedArray  # type: ignore[assignment]
