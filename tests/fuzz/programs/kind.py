"""The kind of fuzzing that compares random programs with jax."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import primax as px
from fuzz.frame import Case, Finding, Kind
from fuzz.programs.generate import random_program
from fuzz.programs.judge import Difference, judge
from fuzz.programs.shrinker import shrink
from fuzz.programs.text import Block, source

HEADER = "import numpy as np; import primax as px, primax.numpy as pnp  # or jax as px, jax.numpy as pnp"


def depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def compact(lines: list[str]) -> list[str]:
    """The same lines of Python, with functions of simple statements on one line each."""
    packed: list[str] = []
    for line in lines:
        body = line.lstrip()
        if body.startswith("return "):
            start = max(k for k, other in enumerate(packed) if depth(other) == depth(line) - 4)
            inside = packed[start + 1 :]
            if all(depth(other) == depth(line) and not other.lstrip().startswith("def ") for other in inside):
                statements = "; ".join(other.strip() for other in [*inside, line])
                packed[start:] = [f"{packed[start]} {statements}"]
                continue
        packed.append(line)
    return packed


def repeated(block: Block) -> str:
    """A program that repeats a case when pasted into an interpreter."""
    return "\n".join([HEADER, *compact([*source(block).splitlines(), "print(result)"])])


@dataclass(frozen=True)
class ProgramCase(Case):
    """A random program: its block and its seed."""

    block: Block


class Programs(Kind):
    """Nested transformations, control flow and custom rules: value, dtype, weak type, and whether both raise errors.

    If jax raises an error, primax must only raise no internal error: primax has derivatives of collectives
    and of custom batch rules that jax lacks.
    """

    name = "programs"
    lifetime = 400
    seconds_per_case = 300.0  # many processes may share a core, and jax takes long for derivatives of derivatives

    def cases(self, rng: random.Random, only: str) -> Iterator[ProgramCase]:
        while True:
            seed = rng.getrandbits(32)
            program = random_program(seed, px.config.enable_x64)
            name = f"programs.{program.name}"
            if only in name:
                yield ProgramCase(name, f"# seed {seed}\n{repeated(program.block)}", program.block)

    def run(self, case: ProgramCase) -> Finding | None:
        how, difference = judge(case.block)
        self.reached[how] += 1
        for step in case.block.all_steps():
            self.reached.update(dict.fromkeys(step.tags, 1))
        if difference is None:
            return None
        block = shrink(case.block, functools.partial(same, difference))
        difference = judge(block, difference.sort.startswith("jit"))[1] or difference
        return Finding(case.name, difference.message, repeated(block), difference.sort)

    @classmethod
    def report(cls, reached: Counter[str]) -> list[str]:
        return [f"programs: {reached['compared']} compared with jax, {reached['refused']} that jax refuses"]


def same(difference: Difference, block: Block) -> bool:
    """Whether a program has the same difference as another."""
    found = judge(block, difference.sort.startswith("jit"))[1]
    return found is not None and found.sort == difference.sort
