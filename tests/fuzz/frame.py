"""The base of all kinds of fuzzing: a kind makes cases from a random generator, and a failed case is a finding."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

# A frame of jax, or of a call by `as_oracle`, as faulthandler prints it.
_OF_ORACLE = re.compile(
    r'^  File "[^"]*site-packages.jax[/\\][^"]*", line \d+ in |^  File "[^"]*", line \d+ in as_oracle$', re.MULTILINE
)


@dataclass(frozen=True)
class Case:
    """One test case.

    Args:
      name: the subject of the case, such as the name of a function; `--only` selects by it.
      program: at most 8 lines of Python that repeat the case when pasted into an interpreter. A crash or a hang of the
        process is reported with this program, so it is made before the case runs.
    """

    name: str
    program: str


@dataclass(frozen=True)
class Finding:
    """A failed case.

    Args:
      name: the subject of the case.
      message: the difference, in one or two lines.
      program: the program that repeats it, of at most 8 lines.
      sort: a word that distinguishes defects of one name ("value", "dtype", "crash"); only the first finding with
        a name and sort is printed.
    """

    name: str
    message: str
    program: str
    sort: str = "finding"


def as_oracle(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of a reference; if the process dies or hangs in this call, that is no finding."""
    return function(*args)


class Kind:
    """A kind of fuzzing. A worker process makes one object of it, iterates over `cases` and passes each to `run`.

    A worker ends after `lifetime` cases, which frees its compiled programs, and a new one continues with another seed.
    `run` may count events in `reached`; `report` gets the counts of all workers. A worker finds in `before` what was
    reached until it began, in both word sizes.
    """

    name: ClassVar[str]
    word_sizes: ClassVar[tuple[int, ...]] = (32, 64)
    seconds_per_case: ClassVar[float] = 120.0  # a case that takes longer counts as hanging
    lifetime: ClassVar[int] = 3000
    share: ClassVar[float] = 1.0  # the fraction of the time, as a multiple of that of most kinds

    def __init__(self) -> None:
        self.reached: Counter[str] = Counter()
        self.before: Counter[str] = Counter()

    def cases(self, rng: random.Random, only: str) -> Iterator[Case]:
        """Make cases whose names contain `only` (all if it is empty); a job ends after the last one."""
        raise NotImplementedError

    def run(self, case: Case) -> Finding | None:
        """Run a case. An exception from this method is a finding, too."""
        raise NotImplementedError

    @classmethod
    def is_to_blame(cls, trace: str) -> bool:
        """Whether a process that died or hung with these frames, as faulthandler prints them, did so in primax.

        It did not where jax was at work.
        """
        return _OF_ORACLE.search(trace) is None

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        """The lines to print at the end of a run, from all counts of all workers."""
        return []
