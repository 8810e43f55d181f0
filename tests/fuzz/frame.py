"""What a kind of fuzzing is: it makes cases out of a random generator, and a case that goes wrong is a finding."""

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
    """One thing to try.

    Args:
      name: what is tried, such as the name of a function; `--only` chooses by it.
      program: at most 8 lines of Python that repeat the case when pasted into an interpreter. A crash or a hang of the
        process is reported with this program, so it is made before the case runs.
    """

    name: str
    program: str


@dataclass(frozen=True)
class Finding:
    """A case that went wrong.

    Args:
      name: what was tried.
      message: what differs from what, in one or two lines.
      program: the program that repeats it, of at most 8 lines.
      sort: a word that tells defects of one name apart ("value", "dtype", "crash"); only the first of the findings with
        equal name and sort is printed.
    """

    name: str
    message: str
    program: str
    sort: str = "finding"


def as_oracle(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with which primax is compared: a process that dies or hangs in here tells nothing of primax."""
    return function(*args)


class Kind:
    """A kind of fuzzing. A worker process makes one object of it, iterates over `cases` and gives each to `run`.

    A worker ends after `lifetime` cases, so that what it compiled is freed, and a new one continues with another seed.
    `run` may count what it reached in `reached`; the counts of all workers come together in `report`.
    """

    name: ClassVar[str]
    word_sizes: ClassVar[tuple[int, ...]] = (32, 64)
    seconds_per_case: ClassVar[float] = 120.0  # a case that takes longer hangs
    lifetime: ClassVar[int] = 3000
    share: ClassVar[float] = 1.0  # of the time, as a multiple of what most kinds have

    def __init__(self) -> None:
        self.reached: Counter[str] = Counter()

    def cases(self, rng: random.Random, only: str) -> Iterator[Case]:
        """Make cases of names that contain `only` (all do where it is empty); a job ends where there are no more."""
        raise NotImplementedError

    def run(self, case: Case) -> Finding | None:
        """Run a case. An exception out of this method is a finding too."""
        raise NotImplementedError

    @classmethod
    def is_to_blame(cls, trace: str) -> bool:
        """Whether a process that died or hung with these frames, as faulthandler prints them, did so in primax.

        It did not where jax was at work.
        """
        return _OF_ORACLE.search(trace) is None

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        """What to print at the end of a run, given all counts of all workers."""
        return []
