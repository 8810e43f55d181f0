"""Packages that pip installs into separate folders, and programs that run with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest
from checkout import ROOMS, ROOT
from processes import HANG

KEPLER = ROOT / "examples" / "primax-kepler"
PHILOX = ROOT / "examples" / "primax-philox"
BOUNDED_WHILE = ROOT / "examples" / "primax-bounded-while"
LAZY = ROOT / "examples" / "primax-lazy"
QUANTIZED = ROOT / "examples" / "primax-quantized"
UNITS = ROOT / "examples" / "primax-units"
SWISH = ROOT / "examples" / "primax-swish"
_LEFT_BEHIND = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist", ".*")


def write_package(
    folder: Path,
    distribution: str,
    version: str,
    plugins: dict[str, str],
    *,
    api: dict[str, str] | None = None,
    **modules: str,
) -> Path:
    """Write the sources of a distribution.

    Args:
      folder: the parent of its folder.
      distribution: its name.
      version: its version.
      plugins: the entry points in group `primax`.
      api: the entry points in group `primax.api`.
      modules: the source of each of its modules.

    Returns:
      The folder of the distribution.
    """
    home = folder / distribution
    home.mkdir(parents=True)
    for name, source in modules.items():
        (home / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
    groups = {"primax": plugins, "primax.api": api or {}}
    tables = ""
    for group, points in groups.items():
        lines = [f"{name} = {value!r}" for name, value in points.items()]
        tables += "\n".join(["", f'[project.entry-points."{group}"]', *lines, ""]) if points else ""
    (home / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n\n'
        f'[project]\nname = "{distribution}"\nversion = "{version}"\n{tables}\n'
        f"[tool.setuptools]\npy-modules = {sorted(modules)!r}\n",
        encoding="utf-8",
    )
    return home


def clean_environment(**variables: str) -> dict[str, str]:
    """This process's environment without variables for Python or primax, and with the given variables.

    Compiled programs come from the cache of the tests.
    """
    foreign = ("PYTHON", "PRIMAX_", "JAX_", "PYTEST")
    kept = {"PRIMAX_COMPILATION_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"}
    inherited = {name: x for name, x in os.environ.items() if name in kept or not name.startswith(foreign)}
    return {**inherited, "TF_CPP_MIN_LOG_LEVEL": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}


def run(command: Sequence[str | Path], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done


def require(**versions: int) -> None:
    """Skip the test if a distribution is missing, or older than a major version: `require(setuptools=77)`."""
    for name, oldest in versions.items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = None
        if installed is None or int(installed.split(".")[0]) < oldest:
            pytest.skip(f"this test builds packages, with {name} {oldest} or later; {installed or 'none'} is installed")


def copy_of_checkout(folder: Path) -> Path:
    """A copy of the files from which primax is built."""
    copy = folder / "checkout"
    copy.mkdir()
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=_LEFT_BEHIND)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


def copy_of_example(package: Path, folder: Path) -> Path:
    """A copy of an example package, so that its build leaves the checkout unchanged."""
    return Path(shutil.copytree(package, folder / package.name, ignore=_LEFT_BEHIND))


def copy_of_kepler(folder: Path) -> Path:
    return copy_of_example(KEPLER, folder)


def install(target: Path, *sources: Path) -> Path:
    """Build distributions from their sources with pip, and install only those into a folder."""
    require(pip=22, setuptools=77)
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", target)
    run([sys.executable, "-m", "pip", "install", *options, *sources], cwd=sources[0].parent)
    return target


def run_beside(target: Path, program: str, *arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """The output of a program in a new process with the folder on its path."""
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    return run(command, cwd or target.parent, PYTHONPATH=str(target), **variables).stdout
