"""The command `python -m mutants`, run with tests/ on the path."""

from __future__ import annotations

import argparse
from typing import Any

from mutants.runner import every_mutant, run, run_tests
from primax.core.rules import load_plugins

WANTED = 0.98


def main() -> int:
    """Judge a sample of mutants; 1 if more than one in fifty survives, else 0."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600, help="how long to run (3600)")
    parser.add_argument("--seed", default="0", help="any text; the same seed makes the same sample (0)")
    parser.add_argument("--only", default="", help="only mutants with this text in their description")
    parser.add_argument("--test", metavar="MUTANT", help="run the tests of the family with this mutant in place")
    options = parser.parse_args()
    load_plugins(everything=True)
    mutants = every_mutant(options.test or options.only)
    if options.test:
        return run_tests(mutants[0])

    def tell(mutant: Any, killed: bool) -> None:
        if not killed:
            print(f"survived: {mutant}", flush=True)

    tally = run(mutants, options.seconds, options.seed, tell)
    judged = len(tally.killed) + len(tally.survived)
    print(f"{len(mutants)} mutants, {judged} judged, {len(tally.idle)} changed nothing at the samples")
    print(f"{len(tally.killed)} found, {tally.share:.1%}; {WANTED:.0%} are wanted")
    return int(tally.share < WANTED)


if __name__ == "__main__":
    raise SystemExit(main())
