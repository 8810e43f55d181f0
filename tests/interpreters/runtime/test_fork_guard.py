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
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
try:
    {inside}
except RuntimeError as error:
    os._exit(3 if "this process was forked (os.fork)" in str(error) else 4)
os._exit(5 if fork_guard.is_forked() else 0)
"""


def exit_code(before: str, inside: str) -> int:
    program = FORKED.format(before=before, inside=inside)
    return subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=HANG, check=False).returncode


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
WARM = "f = px.jit(lambda x: x + 1); x = f(np.ones(3, np.float32)); f(x)"


@pytest.mark.parametrize("inside", ["f(x)", "f(np.ones(3, np.float32))", "px.numpy.ones(2)", "px.jit(abs)(x)"])
def test_computations_in_a_fork_are_refused(inside: str) -> None:
    assert exit_code(WARM, inside) == 3


def test_values_that_are_computed_can_be_read_in_a_fork() -> None:
    assert exit_code(f"{WARM}; x.tolist()", "assert x.tolist() == [2, 2, 2]") == 5


def test_a_fork_before_the_first_computation_may_compute() -> None:
    assert exit_code("", "assert px.jit(lambda x: x + 1)(1.0) == 2.0") == 0
