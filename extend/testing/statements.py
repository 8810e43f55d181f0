"""Statements about failures: the same for the same fault with other operands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from primax.extend.testing.report import Failed

__all__ = ["aspect_of", "raise_together", "statement_of"]


def aspect_of(text: str) -> str:
    """The wrong aspect in a text: `"weak"`, `"zeros"`, `"shape"`, `"dtype"` or `"values"`."""
    if "weak_type" in text or "weakly typed" in text or " of weak type" in text:
        return "weak"
    if "symbolic Zero" in text:
        return "zeros"
    types = _types_in(text)
    if types:
        return "dtype" if types[1] == types[3] else "shape"
    return "shape" if "expected shape" in text else "dtype" if "expected dtype" in text else "values"


# Two types, each as its dtype and its shape.
_TYPES_DIFFER = {
    r"by abstract_eval it must be (\w+)(\[.*?\]), got (\w+)(\[.*?\])": (1, 2, 3, 4),
    r"returned ([a-z]+\d*)(\[.*?\]).*? it is ([a-z]+\d*)(\[.*?\])": (3, 4, 1, 2),
}
_SHORT = re.compile(r"^(b|f|c|i|u)(?:float|loat|omplex|nt|int|fl?)?(?=\d|$)")
_EMPTY = re.compile(r"[\[,] ?0[\],]|size 0\b")
_NUMBERS = re.compile(r"\b[a-z]+\d+\b(?:\[[^\]]*\])?|[-+]?\b\d[\w.]*(?:[-+]\d[\w.]*)?|\b[-+]?(?:nan|inf)j?\b")
_OPERANDS = re.compile(
    r"\bfor (?:size|one|scalars|argument|shapes|\w+\d)\b[^:\n]*: ?"
)  # which operands a failure is about
_LISTS = re.compile(r"[\[(]?#(?:,? ?#)*[\])]?")


def _types_in(text: str) -> list[str]:
    """Two types in the text of a failure, each as its dtype and its shape, the wrong one last; else empty."""
    for pattern, order in _TYPES_DIFFER.items():
        types = re.search(pattern, text)
        if types:
            parts = [types[i].replace(" ", "") for i in order]
            return [_SHORT.sub(r"\1", part) for part in parts]
    return []


def _disagreement(text: str) -> str:
    """The difference of two types, in words: the same for all operands that are not empty."""
    types = _types_in(text)
    if not types:
        return ""
    if types[1] == types[3]:
        return f"a result is of dtype {types[2]}"
    return "a result of empty operands is of another shape" if _EMPTY.search(text) else "a result is of another shape"


def statement_of(error: BaseException) -> str:
    """An error's class and text without numbers and types; of a failure with an exception, those of the exception."""
    if isinstance(error, Failed) and error.__cause__ is not None:
        error = error.__cause__
    disagreement = _disagreement(str(error))
    if disagreement:
        return disagreement
    text = _OPERANDS.sub("", str(error).partition("\n  Bound at ")[0])
    text = _NUMBERS.sub("#", text)
    return f"{type(error).__name__}: {_LISTS.sub('#', text)}"


def raise_together(failures: Sequence[Failed]) -> None:
    """Raise one failure for several with different statements.

    Raises:
      Failed: there are some.
    """
    distinct: dict[tuple[str, tuple[str, ...]], Failed] = {}
    for failure in failures:
        distinct.setdefault((statement_of(failure), failure.kinds), failure)
    parts = list(distinct.values())
    if len(parts) == 1:
        raise parts[0]
    if parts:
        text = "\nand ".join(part.text for part in parts)
        kinds = dict.fromkeys(kind for part in parts for kind in part.kinds)
        raise Failed(text, *kinds, parts=parts) from parts[0].__cause__
