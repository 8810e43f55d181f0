"""A forked process computes nothing, and says so."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from processes import HANG

FORKED = """
import os, sys
import numpy as np
import primax as px
from primax.interpreters.runtime import fork_guard

{before}
codes = []
for inside in {insides!r}:
    child = os.fork()
    if not child:
        break
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    print(*codes)
    sys.exit()
try:
    exec(inside)
except RuntimeError as error:
    os._exit(3 if "this process was forked (os.fork)" in str(error) else 4)
os._exit(5 if fork_guard.is_forked() else 0)
"""


def exit_codes(before: str, *insides: str) -> list[int]:
    """The exit code of a fork for each of several programs."""
    program = FORKED.format(before=before, insides=insides)
    command = [sys.executable, "-W", "ignore", "-c", program]
    out = subprocess.run(command, timeout=HANG, check=True, capture_output=True, text=True).stdout
    return [int(code) for code in out.split()]


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def test_a_fork_reads_values_that_are_computed_and_computes_none() -> None:
    warm = "f = px.jit(lambda x: x + 1); x = f(np.ones(3, np.float32)); f(x); x.tolist()"
    refused = "f(x)", "f(np.ones(3, np.float32))", "px.numpy.ones(2)", "px.jit(abs)(x)"
    assert exit_codes(warm, *refused, "assert x.tolist() == [2, 2, 2]") == [3, 3, 3, 3, 5]


def test_a_fork_before_the_first_computation_may_compute() -> None:
    assert exit_codes("", "assert px.jit(lambda x: x + 1)(1.0) == 2.0") == [0]
