"""Findings have a severity, which decides with the seed whether a run fails."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from fuzz import __main__ as command
from fuzz.frame import BLOCKING, SEVERITIES, Finding, is_extreme
from fuzz.runner import Outcome

CRASH, ORDINARY, EXTREME, DTYPE, MESSAGE = SEVERITIES
HEADER = (
    "import numpy as np, jax, primax; from numpy import array, inf, nan\n"
    'jax.config.update("jax_enable_x64", True); primax.config.update("enable_x64", True)\n'
    "def call(m, A): return {}\n"
)


def finding(sort, text="m.numpy.sin(A([1.5], 'float32'))", message="primax: 1, jax: 2"):
    return Finding("numpy.sin", message, HEADER.format(text), sort)


@pytest.mark.parametrize(
    "text",
    [
        "m.numpy.sin(A([1.5, -3.0, 0.0], 'float32'))",
        "m.numpy.nan_to_num(A([1e-14, 2147483647], 'float64'), nan=0.0, posinf=1.0)",
        "m.numpy.sum(A([[1e+14]], 'bfloat16'), axis=(0, 1), where=A([[True]], 'bool'))",
        "m.numpy.zeros((10, 20)) + 0.001",
        "m.numpy.nanmean(A([3, 4], 'int16'))  # 1e+30, nan",
    ],
)
def test_ordinary_programs_are_not_extreme(text):
    assert not is_extreme(HEADER.format(text))
    assert finding("value", text).severity == ORDINARY


@pytest.mark.parametrize(
    "text",
    [
        "m.numpy.sin(A([1.5, inf], 'float32'))",
        "m.numpy.sin(A([complex(1.0, nan)], 'complex64'))",
        "m.numpy.equal(nan, nan)",
        "m.numpy.sin(A([-1e+30], 'float32'))",
        "m.numpy.sin(A([1e-30], 'float32'))",
        "m.numpy.sin(9223372036854775807)",
        "m.numpy.sum(A(np.zeros((2, 0)), 'float32'))",
        "m.numpy.sum(A([], 'float32'))",
        "m.numpy.sum(A([[], []], 'float32'))",
        "m.numpy.full((0,), 3)",
        "m.numpy.sin(A([1], 'int8'))",
        "m.numpy.sin(A([1], dtype=m.numpy.uint4))",
        "m.numpy.sin(A([1.5], 'float8_e4m3fn'))",
    ],
)
def test_infinities_nan_far_numbers_empty_arrays_and_narrow_dtypes_are_extreme(text):
    assert is_extreme(HEADER.format(text))
    assert finding("nan", text).severity == EXTREME
    assert finding("dtype", text).severity == DTYPE


@pytest.mark.parametrize(
    "sort, severity",
    [
        *(
            (sort, CRASH)
            for sort in ("crash", "hang", "harm", "executed", "internal KeyError", "raised AttributeError")
        ),
        *((sort, CRASH) for sort in ("internal TypeError at api/numpy/sorting.py:12", "jit raised AssertionError")),
        *((sort, ORDINARY) for sort in ("value", "nan", "jit value", "replicas", "finding")),
        *((sort, DTYPE) for sort in ("dtype", "weak type", "shape", "structure", "type", "tree", "sharding")),
        *((sort, MESSAGE) for sort in ("primax raises", "jax raises", "raised TypeError", "jit raised ValueError")),
        *((sort, MESSAGE) for sort in ("raw ValueError at api/lax/slices.py:3", "primax.errors.XlaError", "OSError")),
    ],
)
def test_the_sort_of_a_finding_gives_its_severity(sort, severity):
    assert finding(sort).severity == severity


def test_a_kind_that_fails_is_a_crash():
    assert finding("raised ValueError", message="the run raised ValueError at kind.py:1: no").severity == CRASH


def test_a_worse_finding_replaces_one_of_its_name_and_sort():
    outcome = Outcome()
    extreme, ordinary = finding("value", "m.numpy.sin(inf)"), finding("value")
    assert [outcome.add(x) for x in (extreme, extreme, ordinary, ordinary, extreme)] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert outcome.findings == {("numpy.sin", "value"): ordinary}
    assert outcome.times["numpy.sin", "value"] == 5


@pytest.mark.parametrize("severity", SEVERITIES)
def test_every_finding_fails_a_run_with_the_default_seed_and_some_do_with_others(severity):
    assert command.status({severity: 1}, "0") == 1
    assert command.status({severity: 1}, "7") == int(severity in BLOCKING)
    assert command.status({}, "0") == command.status({}, "7") == 0


@pytest.mark.parametrize("seed, expected", [("0", 1), ("7", 0)])
def test_a_run_counts_findings_by_severity_and_ends_with_the_status(seed, expected, monkeypatch, capsys):
    def run(jobs, seconds, tell):
        outcome = Outcome()
        for found in (finding("value", "m.numpy.sin(inf)"), finding("dtype"), finding("weak type")):
            outcome.add(found)
            tell(found)
        return outcome

    monkeypatch.setattr(sys, "argv", ["fuzz", "--kind", "files", "--seed", seed])
    monkeypatch.setattr(command, "run", run)
    assert command.main() == expected
    said = capsys.readouterr().out
    assert "--- numpy.sin: dtype (dtype)\n" in said
    assert said.endswith(
        "3 findings\n  crash: 0\n  wrong value at ordinary inputs: 0\n  wrong value at extreme inputs: 1\n"
        "  dtype: 2\n  message: 0\n"
    )


def test_a_run_without_options_takes_twenty_minutes_with_the_default_seed(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fuzz"])
    options = command.arguments()
    assert (options.seconds, options.seed) == (1200, "0")


def test_severities_are_counted_in_their_order():
    assert command.counted(Counter({MESSAGE: 2, CRASH: 1}))[:2] == ["3 findings", "  crash: 1"]
