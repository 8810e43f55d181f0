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


# How bad a finding is, the worst first. With other seeds than the default one, the first `BLOCKING` fail a run.
SEVERITIES = ("crash", "wrong value at ordinary inputs", "wrong value at extreme inputs", "dtype", "message")
BLOCKING = SEVERITIES[:2]
# By the sorts of findings: what ends or breaks the process, or fails inside.
_CRASH = re.compile(
    r"(crash|hang|harm|executed|internal)\b|.*\b(Assertion|Attribute|Key|Name|Recursion|System|UnboundLocal)Error\b"
)
_DTYPE = re.compile(r"dtype|weak type|shape|structure|tree|type|sharding")
_MESSAGE = re.compile(
    r"(primax|jax) raises|(jit )?raised \w+|(raw|unnamed) .*|\w+(\.\w+)*(Error|Exception|Warning|Exit)"
)
# What is extreme in the text of a program.
_NOT_FINITE = re.compile(r"\b(inf|nan)\b(?!\s*=(?!=))")
_EMPTY = re.compile(r"\b(zeros|ones|full|empty)\(\(?(\d+, )*0\b|\[\]")
_NARROW = re.compile(r"\b(u?int[248]|float[468]_\w+)\b")
_NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\b")


def is_extreme(program: str) -> bool:
    """Whether a program has arguments with infinities, NaN, or numbers beyond 1e15 or, but for 0, below 1e-15 in size.

    Empty arrays and dtypes of at most 8 bits, except booleans, are extreme, too.
    """
    lines = [re.sub(r"(^|\s)#.*", "", line) for line in program.splitlines()]
    text = "\n".join(re.sub(r"\bfrom \S+ import [^;]*|\bimport [^;]*", "", line) for line in lines)
    sizes = [float(match[0]) for match in _NUMBER.finditer(text)]
    return any(pattern.search(text) for pattern in (_NOT_FINITE, _EMPTY, _NARROW)) or any(
        size > 1e15 or 0 < size < 1e-15 for size in sizes
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
      sort: a word that distinguishes defects of the same name ("value", "dtype", "crash"); only the first finding with
        a name and sort is printed.
    """

    name: str
    message: str
    program: str
    sort: str = "finding"

    @property
    def severity(self) -> str:
        """One of `SEVERITIES`. A finding of a sort that says nothing else is a wrong value."""
        crash, ordinary, extreme, dtype, message = SEVERITIES
        if self.message.startswith("the run raised ") or _CRASH.match(self.sort):
            return crash
        for pattern, severity in ((_DTYPE, dtype), (_MESSAGE, message)):
            if pattern.fullmatch(self.sort):
                return severity
        return extreme if is_extreme(self.program) else ordinary


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
