"""The record of what tests cost, and the tables made of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from checkout import ROOT
from processes import HANG

from costs.record import FOLDER
from costs.tables import Run, tables

TESTS = """
import gc, subprocess, sys
import pytest

@pytest.fixture(scope="module")
def long_set_up():
    sum(i * i for i in range(10**6))

def test_computes(long_set_up):
    sum(i * i for i in range(2 * 10**6))

def test_collects():
    held = [[] for _ in range(10**6)]
    for _ in range(5):
        gc.collect()

def test_runs_a_child():
    subprocess.run([sys.executable, "-c", "sum(i * i for i in range(2 * 10**6))"], check=True)
"""


def recorded(folder: Path) -> Run:
    (folder / "test_some.py").write_text(TESTS)
    environment = {**os.environ, FOLDER: str(folder / "records"), "PYTHONPATH": str(ROOT / "tests")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "costs.record", "-p", "no:cacheprovider", str(folder)]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=HANG)
    return Run.read(folder / "records")


def test_a_run_is_divided_among_files_causes_and_fixtures(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    assert (run.name, run.tests, list(run.files)) == ("records", 3, ["test_some.py"])
    assert run.fixtures["long_set_up"] > 0
    assert run.causes["garbage collection"] > 0.02
    assert run.causes["subprocesses"] > 0.02
    assert run.own > run.files["test_some.py"] - run.children
    text = tables([run])
    for line in ("| records | 3 |", "| garbage collection |", "| test_some.py |", "| long_set_up |"):
        assert line in text
