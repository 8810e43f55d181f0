"""What a kind of fuzzing is: it makes cases out of a random generator, and a case that goes wrong is a finding."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar


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
        """Whether a process that died with this trace of Python's frames died of what is looked for."""
        return True

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        """What to print at the end of a run, given all counts of all workers."""
        return []
