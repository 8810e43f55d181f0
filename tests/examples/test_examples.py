"""The examples run, from any folder, with the example package installed as a user would install it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from checkout import ROOT
from packages import KEPLER, copy_of_kepler, install, run


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    return install(folder / "site", copy_of_kepler(folder))


def test_the_orbits_are_found_and_their_checks_hold(site: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", ROOT / "examples" / "orbits.py"]
    printed = run(command, tmp_path, PYTHONPATH=str(site)).stdout
    assert "BAD" not in printed
    assert printed.count("\nok ") >= 20
    for part in (
        "primax-kepler 1.0.0",
        "kepler: lowering",
        "{ lambda ;",
        "stablehlo.atan2",
        "closest on 27 August 2003",
    ):
        assert part in printed


def test_the_orbits_say_how_to_install_what_they_lack(tmp_path: Path) -> None:
    program = """
import importlib.metadata, runpy, sys
importlib.metadata.entry_points = lambda **select: ()
try:
    runpy.run_path(sys.argv[1])
except SystemExit as end:
    print(end)
"""
    printed = run([sys.executable, "-c", program, ROOT / "examples" / "orbits.py"], tmp_path).stdout
    assert "pip install examples/primax-kepler" in printed


def test_the_example_package_passes_its_own_tests(site: Path, tmp_path: Path) -> None:
    tests = copy_of_kepler(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    printed = run(command, tmp_path, PYTHONPATH=str(site)).stdout
    assert " passed" in printed


def test_the_example_package_uses_public_names_only() -> None:
    for source in KEPLER.rglob("*.py"):
        for line in source.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import primax", "from primax")):
                public = ("primax as px", "primax.numpy", "primax.extend", "primax_kepler")
                assert any(name in line for name in public), f"{source.name}: {line}"
