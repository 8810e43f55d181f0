"""A higher-order primitive of somebody else: its package installs, passes its own tests, and needs no private name."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from packages import BOUNDED_WHILE, copy_of_example, install, run

PUBLIC = ("primax", "primax.lax", "primax.numpy", "primax.extend")


def imported(source: Path) -> list[str]:
    """What a file imports of primax: modules, and names of modules."""
    found = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in found if name.split(".")[0] == "primax"]


@pytest.mark.slow
def test_the_package_passes_its_own_tests(tmp_path: Path) -> None:
    package = copy_of_example(BOUNDED_WHILE, tmp_path)
    site = install(tmp_path / "site", package)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", package]
    assert " passed" in run(command, tmp_path, PYTHONPATH=str(site)).stdout


def test_the_package_uses_public_names_only() -> None:
    sources = sorted(BOUNDED_WHILE.rglob("*.py"))
    names = {name for source in sources for name in imported(source)}
    assert "primax.extend.programs.stage" in names
    private = [name for name in names if name not in PUBLIC and not name.startswith("primax.extend.")]
    assert not private
    for source in sources:
        text = source.read_text(encoding="utf-8")
        assert not [room for room in ("px.core", "px.interpreters", "px.plugins") if f"{room}." in text]
