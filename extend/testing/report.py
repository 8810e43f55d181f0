"""What checks found: outcomes, one for each check of each sample, and reports of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ConformanceError", "Failed", "NotRun", "Outcome", "Report"]


class Failed(Exception):
    """Raised by a check that does not hold.

    Args:
      text: what was expected and what was found.
      kinds: the kinds of rules to look at, the likeliest first.
    """

    def __init__(self, text: str, *kinds: str) -> None:
        super().__init__(text)
        self.text = text
        self.kinds = kinds


class NotRun(Exception):
    """Raised by a check that does not apply, with the reason."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one check of one sample gave.

    Attributes:
      primitive: the primitive's name.
      plugin: its plugin's name; empty if it has none.
      sample: the sample's name or number; empty for checks of the primitive as a whole.
      check: the name of the check.
      status: `"passed"`, `"failed"` or `"not run"`.
      message: why, unless it has passed.
      seconds: how long it took.
    """

    primitive: str
    plugin: str
    sample: str
    check: str
    status: str
    message: str = ""
    seconds: float = 0.0

    @property
    def label(self) -> str:
        """`kepler[0]::jvp`."""
        sample = f"[{self.sample}]" if self.sample else ""
        return f"{self.primitive}{sample}::{self.check}"

    def __str__(self) -> str:
        head = f"{self.status:<8} {self.label}"
        return f"{head}\n{_indented(self.message)}" if self.message else head


class Report:
    """The outcomes of checks, in the order in which they ran.

    >>> report = Report([Outcome("kepler", "orbits", "0", "jvp", "passed")])
    >>> report.ok, len(report.passed), len(report.failed), len(report.not_run)
    (True, 1, 0, 0)
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        self.outcomes = list(outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def passed(self) -> list[Outcome]:
        return self._of("passed")

    @property
    def failed(self) -> list[Outcome]:
        return self._of("failed")

    @property
    def not_run(self) -> list[Outcome]:
        return self._of("not run")

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    def _of(self, status: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status == status]

    def __str__(self) -> str:
        """Every failure in full, what was not run in a line each, and the count."""
        lines = [str(outcome) for outcome in self.failed]
        for (check, message), count in Counter((each.check, each.message) for each in self.not_run).items():
            times = f" ({count} samples)" if count > 1 else ""
            lines.append(f"not run  {check}{times}: {message}")
        lines.append(f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.not_run)} not run")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Report: {len(self.passed)} passed, {len(self.failed)} failed, {len(self.not_run)} not run>"

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, fit for JSON."""
        return {
            "ok": self.ok,
            "passed": len(self.passed),
            "failed": len(self.failed),
            "not_run": len(self.not_run),
            "outcomes": [asdict(outcome) for outcome in self.outcomes],
        }

    def require(self) -> Report:
        """This report, if nothing in it failed.

        Raises:
          ConformanceError: a check failed.
        """
        if not self.ok:
            raise ConformanceError(self)
        return self


class ConformanceError(AssertionError):
    """Checks of a primitive failed; `report` says which."""

    def __init__(self, report: Report) -> None:
        super().__init__("\n" + "\n".join(map(str, report.failed)))
        self.report = report


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


Progress = Callable[[Outcome], None]
