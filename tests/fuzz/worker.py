"""A child process that runs cases of one kind, and reports over a pipe each case that it begins, and its result."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import resource
import sys
import traceback
from dataclasses import asdict
from itertools import islice
from typing import Any

from fuzz.frame import Case, Finding, Kind
from fuzz.kinds import load


def run_case(kind: Kind, case: Case) -> Finding | None:
    """The finding of a case; an exception of the kind is a finding, too."""
    try:
        return kind.run(case)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        message = f"the run raised {type(error).__name__} at {where}: {str(error)[:500]}"
        return Finding(case.name, message, case.program, f"raised {type(error).__name__}")


def work(place: str, seed: str, only: str, count: int, pipe: int) -> None:
    """Run at most `count` cases of the kind at `place`; standard input has the counts of earlier workers."""
    with os.fdopen(pipe, "w", buffering=1) as out:

        def say(**message: Any) -> None:
            out.write(json.dumps(message) + "\n")

        kind = load(place)()
        kind.before.update(json.load(sys.stdin))
        done = 0
        for case in islice(kind.cases(random.Random(seed), only), count):
            done += 1
            say(start=case.name, program=case.program)
            finding = run_case(kind, case)
            say(done=True, finding=finding and asdict(finding), reached=kind.reached)
            kind.reached.clear()
        say(end=True, exhausted=done < count)


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the memory of a process that dies is large
    work(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
