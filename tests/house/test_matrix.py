"""`make test-matrix` covers the range of jaxlib with the Pythons that there are, and says where it does not."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from checkout import ROOT
from matrix import ROWS, marks, plan, pythons

SCRIPT = ROOT / "tests" / "support" / "matrix.py"
ALL = list(ROWS)


@pytest.mark.parametrize(
    "minors, expected",
    [
        ((11,), {"oldest": 11, "middle": None, "newest": 11}),
        ((12,), {"oldest": 12, "middle": 12, "newest": 12}),
        ((11, 12, 13), {"oldest": 11, "middle": 12, "newest": 13}),
        ((11, 12, 13, 14), {"oldest": 11, "middle": 12, "newest": 14, "python3.13": 13}),
    ],
)
def test_ends_and_middle_are_run_and_each_python_once(minors, expected):
    found = {minor: str(minor) for minor in minors}
    planned = {name: python for name, python, _ in plan(ALL, found)}
    assert planned == {name: None if minor is None else str(minor) for name, minor in expected.items()}


def test_chosen_rows_are_run_alone():
    assert [name for name, _, _ in plan(["newest"], {11: "a", 12: "b"})] == ["newest"]


def test_rows_leave_out_what_other_runs_have():
    here = f"/bin/python3.{sys.version_info.minor}"
    assert marks("/bin/python3.9", short=False) == "not slow"
    assert marks("/bin/python3.9", short=True) == "not slow and not any_release"
    assert marks(here, short=False) == "not slow and not any_jaxlib"
    assert marks(here, short=True) == "not slow and not any_jaxlib and not any_release"


def test_the_oldest_row_installs_what_the_package_asks_for_at_least():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"jaxlib>=0.10", "numpy>=2.0"} <= set(config["dependencies"])
    assert "jaxlib==0.10.0" in ROWS["oldest"].requirements
    assert config["requires-python"] == f">=3.{ROWS['oldest'].minors[0]}"


def test_the_pythons_that_are_found_run():
    for minor, python in pythons().items():
        done = subprocess.run([python, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"Python 3.{minor}.")


def test_a_row_that_fails_fails_the_run_and_is_named(tmp_path):
    """The folder of the environments is a file, so none can be made."""
    folder = tmp_path / "file"
    folder.write_text("")
    command = [sys.executable, SCRIPT, "--folder", folder, "--rows", "newest", "--", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "newest FAILED: -m venv" in done.stdout
