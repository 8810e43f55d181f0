"""The kernel runs alone: core/ and the files of interpreters/, without runtime, extend, plugins and api."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from processes import HANG
from rooms import without_examples

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package `primax` that has the files of the kernel."""
    folder = tmp_path_factory.mktemp("kernel")
    package = folder / "primax"
    (package / "interpreters").mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copytree(ROOT / "core", package / "core", ignore=shutil.ignore_patterns("__pycache__"))
    for file in (ROOT / "interpreters").glob("*.py"):
        shutil.copy(file, package / "interpreters")
    return folder


@pytest.mark.parametrize("order", [0, 1, 2])
def test_programs_of_four_primitives_run_under_all_transformations(kernel: Path, order: int) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "house" / "kernel.py"), str(kernel), str(order)],
        env=os.environ | {"PYTHONPATH": str(kernel)},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "the kernel runs alone\n"), done.stderr


def test_no_file_of_the_kernel_or_the_runtime_names_symbolic_shapes() -> None:
    names = re.compile(r"symbolic[ _](dim|scope|shape|size)", re.IGNORECASE)
    files = [file for room in ("core", "interpreters") for file in (ROOT / room).rglob("*.py")]
    assert len(files) > 80
    assert [file.name for file in files if names.search(without_examples(file))] == []
