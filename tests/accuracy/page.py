"""docs/reference/accuracy.md: the largest errors of all functions as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from accuracy.functions import ALL, REAL, Function
from accuracy.measure import FUNCTIONS, Row, Worst

HEADING = """\
# Accuracy

`make accuracy` writes this page. It computes each function, its first and its second derivative under `jit` on the CPU
and compares the results with those of [mpmath](https://mpmath.org), which has as many digits as needed. The points are
numbers of every binade from `2**-10` to `2**8` and of every eighth of the others (every sixteenth in double precision,
every 64th for special functions), of both signs, and neighbors of zeros, poles, branch points and thresholds.
`python -m accuracy --step 1` takes every binade; see `tests/accuracy/README.md`.

A cell has the largest error in units of the last place (ulp) of the exact result, where this is a normal number:
of primax, then of jax {jax}, and for values of NumPy {numpy} or SciPy {scipy}. `∞` means a NaN or an infinity in place
of a number, or the reverse; `-` means that a library doesn't have the function in this dtype, or does not compile its
derivatives in minutes. A dtype without a column was not measured. Derivatives are taken in forward and reverse mode.
Derivatives of complex functions are those with respect to the complex variable; an error of a complex number is that of
its parts, in units of the larger part. Points where the value itself leaves the range of the dtype are not judged for
derivatives.

Bounds: 4 ulp for arithmetic, exponential, trigonometric and activation functions, 64 for special functions, twice that
for derivatives. A number with a mark, as `3 [2]`, holds outside of the interval of that note. The notes give the
interval, the largest error in it and the reason.

XLA sets numbers below the smallest normal one to 0, in results and in arguments. Neither is counted as an error.
"""

ORDERS = {0: "Values", 1: "First derivatives", 2: "Second derivatives"}


def _ulp(worst: Worst) -> str:
    if math.isinf(worst.ulp):
        return "∞"
    return f"{worst.ulp:.1f}" if worst.ulp < 100 else f"{worst.ulp:.0f}" if worst.ulp < 1e5 else f"{worst.ulp:.0e}"


def _markdown(header: list[str], lines: Iterable[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *lines)) + "\n"


class _Notes:
    """The numbers of the limits, in the order in which cells refer to them."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, str, str], int] = {}
        self.worst: dict[tuple[str, str, str], dict[str, Worst]] = {}

    def mark(self, function: Function, order: int, row: Row) -> str:
        marks = []
        for limit in function.limits:
            if row.dtype in limit.dtypes and order in limit.orders:
                key = (function.label, limit.interval, limit.reason)
                number = self.numbers.setdefault(key, len(self.numbers) + 1)
                worst = row.within.get((limit.interval, order), Worst())
                dtypes = self.worst.setdefault(key, {})
                dtypes[row.dtype] = max(dtypes.get(row.dtype, Worst()), worst, key=lambda w: w.ulp)
                marks.append(f"[{number}]")
        return "".join(" " + m for m in marks)

    def lines(self) -> Iterable[str]:
        for (label, interval, reason), number in self.numbers.items():
            worst = self.worst[label, interval, reason]
            sizes = ", ".join(f"{dtype} {_ulp(w)}" for dtype, w in worst.items())
            plain = f"{interval}: {sizes}. {reason}".replace("*", "\\*")  # x**2, not emphasis
            yield f"{number}. `{label}`, {plain}"


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def page(rows: list[Row]) -> str:
    """The page, of the rows of all functions, dtypes and libraries."""
    found = {(r.label, r.dtype, r.library): r for r in rows}
    parts = [HEADING.format(jax=_installed("jax"), numpy=_installed("numpy"), scipy=_installed("scipy"))]
    notes, measured = _Notes(), {r.dtype for r in rows}
    for order, title in ORDERS.items():
        parts.append(f"## {title}\n")
        for special in (False, True):
            for dtypes, kind in (
                ([d for d in REAL if d in measured], "real"),
                ([d for d in ALL if d in measured - set(REAL)], "complex"),
            ):
                lines = []
                for label in dict.fromkeys(f.label for f in FUNCTIONS if f.special == special):
                    cells = [_cell(label, d, order, found, notes) for d in dtypes]
                    if any(cells):
                        lines.append([f"`{label}`", *(c or "-" for c in cells)])
                if lines:
                    parts.append(
                        _markdown([f"{'special functions' if special else 'functions'}, {kind}", *dtypes], lines)
                    )
    parts.append("## Notes\n")
    parts.append("\n".join(notes.lines()) + "\n")
    return "\n".join(parts)


def _cell(label: str, dtype: str, order: int, found: dict, notes: _Notes) -> str:
    row = found.get((label, dtype, "primax"))
    if row is None or order not in row.worst:
        return ""
    function = next(f for f in FUNCTIONS if f.label == label and dtype in f.dtypes)
    cells = [_ulp(row.worst[order]) + notes.mark(function, order, row)]
    for library in ("jax", "numpy") if order == 0 else ("jax",):
        other = found.get((label, dtype, library))
        cells.append(_ulp(other.worst[order]) if other and order in other.worst else "-")
    return " / ".join(cells)
