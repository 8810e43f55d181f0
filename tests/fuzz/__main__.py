"""The command `python -m fuzz`, run with tests/ on the path."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from fuzz.frame import BLOCKING, SEVERITIES, Finding
from fuzz.kinds import KINDS, load
from fuzz.runner import Job, run

SECONDS = 1200.0
SEED = "0"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Look for wrong answers and crashes at random.")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long to run (1200)")
    parser.add_argument("--seed", default=SEED, help="any text; the same seed makes the same cases (0)")
    parser.add_argument(
        "--kind", action="append", choices=sorted(KINDS), help="a kind to run, more than once for more (all)"
    )
    parser.add_argument("--only", default="", help="only what has this text in its name")
    parser.add_argument("--word-size", type=int, choices=(32, 64), help="one word size only (both)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes at a time (one a core)")
    return parser.parse_args()


def jobs(options: argparse.Namespace) -> list[Job]:
    """A job for each kind and word size."""
    sizes = (options.word_size,) if options.word_size else (32, 64)
    return [
        Job(KINDS[name], size, f"{options.seed}/{name}/{size}", options.only)
        for name in options.kind or KINDS
        for size in sizes
        if size in load(KINDS[name]).word_sizes
    ]


def tell(finding: Finding) -> None:
    """Print a finding and the program that repeats it."""
    print(
        f"\n--- {finding.name}: {finding.sort} ({finding.severity})\n{finding.message}\n\n{finding.program}\n",
        flush=True,
    )


def rounds_of(work: list[Job], width: int, seconds: float) -> Iterator[tuple[list[Job], float]]:
    """As many jobs as run side by side, with the time that they have: more where a kind has a larger share."""
    rounds = [work[start : start + width] for start in range(0, len(work), width)]
    shares = [max(load(job.place).share for job in jobs) for jobs in rounds]
    for jobs, share in zip(rounds, shares, strict=True):
        yield jobs, seconds * share / sum(shares)


def counted(severities: Mapping[str, int]) -> list[str]:
    """The number of findings, and a line for each severity."""
    lines = [f"  {severity}: {severities.get(severity, 0)}" for severity in SEVERITIES]
    return [f"{sum(severities.values())} findings", *lines]


def status(severities: Mapping[str, int], seed: str) -> int:
    """The exit status: with the default seed every finding fails a run, with others a crash or an ordinary value."""
    failing = SEVERITIES if seed == SEED else BLOCKING
    return int(any(severities.get(severity, 0) for severity in failing))


def main() -> int:
    """Run what the command line asks for; the exit status."""
    options = arguments()
    severities: Counter[str] = Counter()
    reached: dict[str, Counter[str]] = {}  # with the calls of all word sizes
    for part, seconds in rounds_of(jobs(options), options.jobs, options.seconds):
        outcome = run(part, seconds=seconds, tell=tell)
        severities.update(finding.severity for finding in outcome.findings.values())
        for job in part:
            print(f"{job.place} in {job.word_size} bits: {outcome.cases_of[job]} cases")
        for place, counts in outcome.reached.items():
            reached.setdefault(place, Counter()).update(counts)
    for place, counts in reached.items():
        print(*load(place).report(counts), sep="\n")
    print(*counted(severities), sep="\n")
    return status(severities, options.seed)


if __name__ == "__main__":
    sys.exit(main())
