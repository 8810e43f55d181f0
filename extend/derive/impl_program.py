"""The program of an impl in primax operations, from which other rules are derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from primax.core.avals import get_aval
from primax.core.dtypes import float0
from primax.core.rules import impl_rules
from primax.interpreters.rule_calls import require_list, type_of
from primax.interpreters.runtime.device_put import put_value

__all__ = ["ImplProgram", "typed"]

Rule = Callable[..., Any]


class ImplProgram:
    """An impl that other rules run on tracers, as a function that returns a list."""

    def __init__(self, primitive: Any, impl: Rule) -> None:
        self.primitive = primitive
        self.impl = impl

    def on(self, params: Mapping[str, Any]) -> Callable[..., list[Any]]:
        """The function for these parameters."""

        def run(*args: Any) -> list[Any]:
            out = self.impl(*map(typed, args), **params)
            return self.outputs(out)

        run.__name__ = self.primitive.name
        return run

    def outputs(self, out: Any) -> list[Any]:
        """The results of the impl, as a list of arrays."""
        if self.primitive.multiple_results:
            require_list(impl_rules, self.primitive, out)
        outs = list(out) if self.primitive.multiple_results else [out]
        for x in outs:
            type_of(impl_rules, self.primitive, x)
        return outs

    def returned(self, outs: Sequence[Any]) -> Any:
        """Outputs in the form that a rule returns."""
        return list(outs) if self.primitive.multiple_results else outs[0]

    @contextmanager
    def explained(self, kind: str, must: str = "be written in primax operations") -> Iterator[None]:
        """Add a note to errors, with the kind of the derived rule and the requirement on the impl."""
        try:
            yield
        except Exception as error:
            code = getattr(self.impl, "__code__", None)
            place = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
            note = f"The {kind} rule of {self.primitive} is derived from its impl{place}, so the impl must {must}."
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise


def typed(x: Any) -> Any:
    """A host value as an array of its type in programs; NumPy would compute in another type."""
    if not isinstance(x, np.ndarray | np.generic | bool | int | float | complex):
        return x
    aval = get_aval(x)
    return x if aval.dtype == float0 else put_value(x, aval.weak_type)
