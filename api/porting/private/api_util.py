"""The names that packages use of `jax._src.api_util`, beside the names of `primax.extend.api_util`."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from primax.extend.api_util import one_or_several

__all__ = ["infer_argnums_and_argnames"]

_BY_NAME = Parameter.POSITIONAL_OR_KEYWORD


def infer_argnums_and_argnames(sig: Signature, argnums: Any, argnames: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and the names of arguments; if only one of them is given, the signature gives the other."""
    numbers = None if argnums is None else one_or_several("infer_argnums_and_argnames", "argnums", argnums, int)
    names = None if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    parameters = list(sig.parameters.values())
    if numbers is None:
        wanted = names or ()
        numbers = tuple(i for i, each in enumerate(parameters) if each.kind is _BY_NAME and each.name in wanted)
    if names is None:
        chosen = [parameters[i] for i in numbers if -len(parameters) <= i < len(parameters)]
        names = tuple(each.name for each in chosen if each.kind is _BY_NAME)
    return numbers, names
