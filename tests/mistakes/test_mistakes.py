"""The tracebacks of the mistakes are as short as the documents say."""

from __future__ import annotations

from statistics import median

import pytest

from mistakes.programs import mistakes, reports

# For each run in the suite, some of the kinds.
QUICK = (
    "branch: if on a tracer",
    "shape: shapes that do not broadcast",
    "shape: error inside jit of value_and_grad of vmap of scan",
    "callback: an error on the host",
    "primitive: a rule that fails",
    "names: a misspelt function",
)


def check(programs: dict[str, str]) -> list[int]:
    found = reports("primax", programs)
    assert not [name for name, report in found.items() if not report.lines], "these raise no error"
    assert not [name for name, report in found.items() if "/primax/" in report.text], "these show lines of primax"
    return [report.lines for report in found.values()]


@pytest.mark.any_word_size
def test_some_mistakes_have_short_tracebacks_without_lines_of_primax() -> None:
    programs = mistakes()
    lines = check({name: programs[name] for name in QUICK})
    assert max(lines) <= 19


@pytest.mark.slow
def test_all_mistakes_have_short_tracebacks_without_lines_of_primax() -> None:
    lines = check(mistakes())
    assert len(lines) == 150
    assert median(lines) <= 7
    assert max(lines) <= 19
