"""Kinds of fuzzing with deliberate faults, for the tests of the runner."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

from fuzz.frame import Case, Finding, Kind, as_oracle


class Toy(Kind):
    """Cases with numbers as names, of which every tenth fails in one of several ways."""

    seconds_per_case = 2.0
    lifetime = 25

    def cases(self, rng, only):
        return (
            Case(str(number), f"print({number})\n# {rng.random()}") for number in range(1000) if only in str(number)
        )

    def run(self, case):
        self.reached[f"20 after {self.before['10']}" if case.name == "20" else case.name] += 1
        runs = {"1": self.find, "2": self.fail, "3": self.die, "4": self.hang, "6": self.hang_elsewhere}
        return runs.get(case.name, lambda case: None)(case)

    def find(self, case):
        return Finding(case.name, "one is not two", case.program, "value")

    def fail(self, case):
        raise KeyError(case.name)

    def die(self, case):
        os.kill(os.getpid(), signal.SIGSEGV)

    def hang(self, case):
        time.sleep(1000)

    def hang_elsewhere(self, case):
        as_oracle(self.hang, case)

    @classmethod
    def report(cls, reached: Counter[str]):
        return [f"{reached.total()} reached"]
