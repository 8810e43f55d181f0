"""Outcomes of checks, one for each check of each sample, and reports of many outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ConformanceError", "Failed", "NotRun", "Outcome", "Report", "reasons"]


class Failed(Exception):
    """Raised by a check that fails.

    Args:
      text: the expected result, and that of the rule.
      kinds: the kinds of rules to look at, the likeliest first.
      parts: the failures that it consists of, if there are several.
    """

    def __init__(self, text: str, *kinds: str, parts: Sequence[Failed] = ()) -> None:
        super().__init__(text)
        self.text = text
        self.kinds = kinds
        self.parts = tuple(parts) or (self,)


class NotRun(Exception):
    """Raised by a check that does not apply, with the reason."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one check of one sample.

    Attributes:
      primitive: the primitive's name.
      plugin: its plugin's name; empty if it has none.
      sample: the sample's name or number; empty for checks of the primitive as a whole.
      check: the name of the check.
      status: `"passed"`, `"failed"` or `"not run"`.
      message: the reason, unless the check passed.
      seconds: the time that the check took.
      rules: for a failed check, the kinds of rules that may be wrong, the likeliest first.
      cause: for a failed check, the label of the earlier failure that it is a consequence of; empty if there is none.

    Examples:
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.testing import iter_checks
      >>> outcome = next(iter_checks(neg_p, only=["jvp"])).run()
      >>> outcome.status, outcome.message
      ('passed', '')
    """

    primitive: str
    plugin: str
    sample: str
    check: str
    status: str
    message: str = ""
    seconds: float = 0.0
    rules: tuple[str, ...] = ()
    cause: str = ""

    @property
    def label(self) -> str:
        """The primitive, the sample and the check, such as `kepler[0]::jvp`."""
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
        """Whether something was checked, and nothing failed."""
        return not self.failed and bool(self.passed)

    @property
    def causes(self) -> list[tuple[Outcome, list[Outcome]]]:
        """The failures to look at first, each with its consequences, by the causes that the checks found."""
        causes: dict[str, tuple[Outcome, list[Outcome]]] = {}
        for outcome in self.failed:
            if outcome.cause in causes:
                causes[outcome.cause][1].append(outcome)
            else:
                causes.setdefault(outcome.label, (outcome, []))
        return list(causes.values())

    def explained(self) -> str:
        """The full text of each cause, and one line with its consequences."""
        lines = []
        for cause, followers in self.causes:
            lines.append(str(cause))
            if followers:
                lines.append(f"    probable consequences: {', '.join(follower.label for follower in followers)}")
        return "\n".join(lines)

    def _of(self, status: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status == status]

    def __str__(self) -> str:
        """The full text of each cause, one line for each check that did not run, and the counts."""
        lines = [self.explained()] if self.failed else []
        lines += reasons(self.not_run)
        lines.append(f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.not_run)} not run")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Report: {len(self.passed)} passed, {len(self.failed)} failed, {len(self.not_run)} not run>"

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON."""
        return {
            "ok": self.ok,
            "passed": len(self.passed),
            "failed": len(self.failed),
            "not_run": len(self.not_run),
            "outcomes": [asdict(outcome) for outcome in self.outcomes],
        }

    def require(self) -> Report:
        """This report, if something was checked and nothing failed.

        Raises:
          ConformanceError: a check failed, or none was run.
        """
        if not self.ok:
            raise ConformanceError(self)
        return self


class ConformanceError(AssertionError):
    """Checks of a primitive failed; the attribute `report` lists them.

    Examples:
      >>> import numpy as np
      >>> from primax.extend import define_primitive
      >>> from primax.extend.testing import ConformanceError, check_primitive
      >>> bad_p = define_primitive("bad", impl=lambda x: 3 * x, abstract_eval=lambda x: x.update(shape=(1,)))
      >>> try:
      ...     check_primitive(bad_p, np.float32(0.7))
      ... except ConformanceError as error:
      ...     print(error.report.failed[0].check)
      registration
    """

    def __init__(self, report: Report) -> None:
        super().__init__("\n" + (report.explained() or f"nothing was checked: {report}"))
        self.report = report


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


Progress = Callable[[Outcome], None]


def reasons(not_run: Iterable[Outcome]) -> list[str]:
    """One line for each reason for which checks did not run."""
    lines = []
    for (check, message), count in Counter((outcome.check, outcome.message) for outcome in not_run).items():
        times = f" ({count} samples)" if count > 1 else ""
        lines.append(f"not run  {check}{times}: {message}")
    return lines
