"""The runner: findings are reported with their programs, and a worker that dies or hangs is a finding."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

from fuzz.__main__ import rounds_of
from fuzz.frame import Kind
from fuzz.kinds import KINDS
from fuzz.runner import Job, Worker, environment, run

TOY = "fuzz.toys:Toy"


@pytest.fixture(scope="module")
def outcome():
    return run([Job(TOY, 32, "seed", cases=60)])


def test_what_a_case_finds_is_told_once(outcome):
    found = outcome.findings["1", "value"]
    assert found.message == "one is not two"
    assert found.program.startswith("print(1)\n# 0.")
    assert outcome.times["1", "value"] >= 2  # each worker starts with the same names


def test_a_case_that_raises_is_a_finding(outcome):
    assert "the run raised KeyError at toys.py:" in outcome.findings["2", "raised KeyError"].message


def test_a_case_that_kills_the_process_is_a_finding_with_the_last_lines(outcome):
    found = outcome.findings["3", "crash"]
    assert "the process died, SIGSEGV" in found.message
    assert "toys.py" in found.message
    assert found.program.startswith("print(3)")


def test_cases_and_what_they_reach_are_counted_over_all_workers(outcome):
    assert outcome.cases[TOY] == 60
    assert set(outcome.reached[TOY]) == {"0", "1", "2"}  # the fourth case kills each worker before it can report


def test_a_worker_gets_the_counts_of_earlier_workers():
    outcome = run([Job(TOY, 32, "seed", only="0", cases=60)])
    assert {"20 after 0", "20 after 1", "20 after 2"} <= set(outcome.reached[TOY])


def test_cases_are_counted_for_each_word_size():
    jobs = [Job(TOY, size, "seed", only="1", cases=3) for size in (32, 64)]
    outcome = run(jobs)
    assert [outcome.cases_of[job] for job in jobs] == [3, 3]
    assert (outcome.cases[TOY], outcome.reached[TOY].total()) == (6, 6)


_CASES = """
import random, sys
from itertools import islice
from fuzz.kinds import load
for place in sys.argv[1:]:
    cases = load(place)().cases(random.Random("seed"), "")
    print(*[(place, case.program) for case in islice(cases, 60)], sep="\\n")
"""


def test_a_seed_makes_the_same_cases_in_each_process():
    def cases(hash_seed):
        variables = environment(32) | {"PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", _CASES, *KINDS.values()]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout.splitlines()

    first, second = cases("1"), cases("2")
    assert len(first) == 60 * len(KINDS)
    assert first == second


def test_kinds_with_a_larger_share_have_more_time():
    jobs = [Job(place, size, "seed") for place in ("fuzz.functions:Functions", TOY) for size in (32, 64)]
    assert list(rounds_of(jobs, 2, 40.0)) == [(jobs[:2], 32.0), (jobs[2:], 8.0)]
    assert list(rounds_of(jobs, 3, 40.0)) == [(jobs[:3], 32.0), (jobs[3:], 8.0)]
    assert list(rounds_of(jobs, 16, 40.0)) == [(jobs, 40.0)]


def test_a_case_that_hangs_is_a_finding():
    outcome = run([Job(TOY, 32, "seed", only="4", cases=2)])
    message = outcome.findings["4", "hang"].message
    assert message.startswith("the case hangs")
    assert re.search(r"toys.py\", line \d+ in hang$", message, re.MULTILINE)
    assert outcome.cases[TOY] == 2


def test_a_case_that_hangs_in_what_is_compared_with_is_none():
    outcome = run([Job(TOY, 32, "seed", only="6", cases=2)])
    assert not outcome.findings
    assert outcome.cases[TOY] == 2


@pytest.mark.parametrize(
    "line, to_blame",
    [
        ('  File "/lib/python3.11/site-packages/jax/_src/pjit.py", line 139 in call', False),
        ('  File "/tests/fuzz/frame.py", line 20 in as_oracle', False),
        ('  File "/lib/python3.11/site-packages/jaxlib/mlir/ir.py", line 139 in parse', True),
        ('  File "/primax/numpy/divisors.py", line 12 in gcd', True),
        ("/lib/python3.11/site-packages/jax/_src/lax.py:12: UserWarning: as_oracle", True),
    ],
)
def test_primax_is_not_to_blame_where_jax_was_at_work(line, to_blame):
    trace = f"Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n{line}\n"
    assert Kind.is_to_blame(trace) == to_blame


def test_a_worker_that_got_no_processor_does_not_hang(monkeypatch):
    waits = iter([0.0, 1.5, 3.0])
    monkeypatch.setattr(Worker, "starved", lambda worker: next(waits, 3.0))
    began = time.monotonic()
    outcome = run([Job(TOY, 32, "seed", only="4", cases=1)])
    assert outcome.findings["4", "hang"]
    assert time.monotonic() - began > 2.0 + 1.5 + 1.5
    assert next(waits, None) is None


def test_the_same_seed_makes_the_same_cases():
    programs = [run([Job(TOY, 32, seed, only="1", cases=1)]).findings["1", "value"].program for seed in ("a", "a", "b")]
    assert programs[0] == programs[1] != programs[2]


def test_a_run_ends_when_time_is_over():
    outcome = run([Job(TOY, 32, "seed", only="5"), Job(TOY, 64, "seed", only="5")], seconds=1)
    assert outcome.cases[TOY] > 0


def test_a_run_without_an_end_is_refused():
    with pytest.raises(ValueError, match="seconds must be given"):
        run([Job(TOY, 32, "seed")])
