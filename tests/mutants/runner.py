"""Running the conformance kit, and the tests of a family, on one mutant after another."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mutants.mutations import MUTATIONS, Mutant
from primax.core.cache import epoch
from primax.extend import core
from primax.extend.testing import ConformanceError, check_primitive

__all__ = ["Tally", "every_mutant", "judge", "run", "run_tests"]

TESTS = Path(__file__).resolve().parents[1]
OPTIONS = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]

# Wrong rules that are not wrong: operands of these may be exchanged.
COMMUTATIVE = frozenset({"add", "add_any", "and", "eq", "eq_to", "max", "min", "mul", "mulhi", "ne", "or", "xor"})
# The same for tangents alone.
SYMMETRIC_TANGENTS = frozenset({"add", "add_any"})


@dataclass
class Tally:
    """What became of mutants: those that were found, those that were not, and those that changed nothing."""

    killed: list[Mutant] = field(default_factory=list)
    survived: list[Mutant] = field(default_factory=list)
    idle: list[Mutant] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The part of those that changed something which were found."""
        count = len(self.killed) + len(self.survived)
        return len(self.killed) / count if count else 1.0


def every_mutant(only: str = "") -> list[Mutant]:
    """A mutant of each rule and mutation.

    Args:
      only: text that the mutant's description must have.
    """
    found = []
    for name in core.primitives:
        primitive = core.primitives[name]
        for kind, mutations in MUTATIONS.items():
            if primitive in core.rule_tables[kind].functions:
                found += [Mutant(kind, primitive, mutation) for mutation in mutations]
    return [mutant for mutant in found if only in str(mutant) and not _right_anyway(mutant)]


def _right_anyway(mutant: Mutant) -> bool:
    name = mutant.primitive.name
    if mutant.mutation != "exchanged":
        return False
    return name in (SYMMETRIC_TANGENTS if mutant.kind == "jvp" else COMMUTATIVE)


@contextlib.contextmanager
def in_place(mutant: Mutant) -> Iterator[None]:
    """Put the wrong rule in place of the right one for a while."""
    functions = core.rule_tables[mutant.kind].functions
    right = functions[mutant.primitive]
    functions[mutant.primitive] = mutant.rule(right)
    epoch.bump()
    try:
        yield
    finally:
        functions[mutant.primitive] = right
        epoch.bump()


def judge(mutant: Mutant) -> bool:
    """Whether the kit, or else the tests of the family, find that the rule is wrong."""
    with in_place(mutant):
        try:
            check_primitive(mutant.primitive)
        except ConformanceError:
            return True
    return bool(mutant.applied) and _found_by_tests(mutant)


def _found_by_tests(mutant: Mutant) -> bool:
    """Whether a test of the family fails, in a process of its own."""
    command = [sys.executable, "-m", "mutants", "--test", str(mutant)]
    return subprocess.run(command, capture_output=True, check=False).returncode == pytest.ExitCode.TESTS_FAILED


def run_tests(mutant: Mutant) -> int:
    """Run the tests of the family with the wrong rule in place; returns what pytest does."""
    plugin = mutant.primitive.plugin
    files = [path for path in (TESTS / "plugins" / f"test_{plugin}.py", TESTS / "plugins" / plugin) if path.exists()]
    if not files:
        return pytest.ExitCode.OK
    with in_place(mutant):
        return pytest.main([*OPTIONS, *map(str, files)])


def run(mutants: list[Mutant], seconds: float, seed: str, tell: Callable[[Mutant, bool], Any]) -> Tally:
    """Judge mutants in random order until the time is over."""
    tally = Tally()
    end = time.monotonic() + seconds
    for mutant in random.Random(seed).sample(mutants, len(mutants)):
        if time.monotonic() > end:
            break
        mutant.applied = 0
        killed = judge(mutant)
        if not killed and not mutant.applied:
            tally.idle.append(mutant)
            continue
        (tally.killed if killed else tally.survived).append(mutant)
        tell(mutant, killed)
    return tally
