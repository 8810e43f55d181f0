"""Mutable operands: the table of discharge rules, and passes over programs before they are lowered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from primax.core.avals import get_aval
from primax.core.jaxpr import ClosedJaxpr
from primax.core.rules import discharge_rules
from primax.core.text.printer import PrintedEquation
from primax.interpreters.passes import register_program_pass, rewritten

__all__ = [
    "Discharged",
    "Outcome",
    "PrintedEquation",
    "Refs",
    "discharge",
    "discharge_rules",
    "refuse_aliases",
    "register_program_pass",
    "rewritten",
    "split_outcome",
]

Refs = Sequence[int | None]  # for each operand None, or the position of the first operand that is the same reference
Outcome = tuple[list[Any], dict[int, Any]]  # results, and the new contents of written references by position


class Discharged(NamedTuple):
    """A program without references.

    Attributes:
      program: takes the contents of the references, and returns the new contents of those that are written after its
        results.
      written: the positions of the written references among its inputs.
    """

    program: ClosedJaxpr
    written: tuple[int, ...]


def discharge(closed: ClosedJaxpr) -> Discharged:
    """The program without references, kept with it; for discharge rules of primitives that hold programs.

    Args:
      closed: the program; its constants are not references.
    """
    assert discharge_rules.discharge is not None  # the plugin that made the reference has set it
    return discharge_rules.discharge(closed)  # type: ignore[no-any-return]


def split_outcome(outs: Sequence[Any], written: Sequence[int]) -> Outcome:
    """The return value of a discharge rule, from the results of a discharged program.

    Args:
      outs: the results.
      written: the positions of the operands whose new contents are the last of them.

    Raises:
      ValueError: there are fewer results than such operands.
    """
    count = len(outs) - len(written)
    if count < 0:
        raise ValueError(
            f"split_outcome: outs must end with the new contents of the operands {list(written)}, "
            f"got {len(outs)} results"
        )
    return list(outs[:count]), dict(zip(written, outs[count:], strict=True))


def refuse_aliases(name: str, consts: Sequence[Any], args: Sequence[Any]) -> None:
    """Raise an error if a function takes the same reference twice, or takes one that it closes over.

    Args:
      name: the name of the function.
      consts: the values that it closes over.
      args: its flat arguments.

    Raises:
      ValueError: there is such a reference.
    """
    seen: dict[int, str] = {}
    named = [("a value that it closes over", x) for x in consts] + [(f"argument {i}", x) for i, x in enumerate(args)]
    for what, x in named:
        if get_aval(x).mutable:
            other = seen.setdefault(id(x), what)
            if other is not what:
                raise ValueError(
                    f"{name}: a function must not have two names for one reference, got one of type "
                    f"{get_aval(x).str_short()} as {other} and as {what} (counted flat); pass it once"
                )
