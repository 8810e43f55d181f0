"""The tests in fresh environments over the range of Python and jaxlib releases: `make test-matrix`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from checkout import ROOT
from packages import copy_of_checkout

MINORS = range(11, 20)  # of Python 3: from the oldest supported version to possible future ones


class Row(NamedTuple):
    """An environment: its possible Pythons, the preferred one first, and its requirements."""

    minors: tuple[int, ...]
    requirements: tuple[str, ...]


ROWS = {
    "oldest": Row(
        (*MINORS,),
        (
            "jaxlib==0.10.0",  # without jax, since the tests compare only with jax for jaxlib 0.10.2 or later
            "numpy==2.0.*; python_version < '3.13'",
            "numpy==2.1.*; python_version == '3.13'",
            "scipy==1.14.*; python_version < '3.14'",
            "ml_dtypes==0.5.0; python_version < '3.14'",
        ),
    ),
    "middle": Row((12, 13, 14), ("jaxlib==0.11.*", "jax==0.11.*")),
    "newest": Row((*reversed(MINORS),), ("jaxlib", "jax")),
}


def pythons() -> dict[int, str]:
    """The interpreters of this machine by minor version: those on the path, otherwise those of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for minor in MINORS:
        name = f"python3.{minor}"
        for candidate in (shutil.which(name), *sorted(pyenv.glob(f"3.{minor}.*/bin/{name}"), reverse=True)):
            if candidate is not None and _runs(str(candidate), minor):
                found[minor] = str(candidate)
                break
    return found


def _runs(python: str, minor: int) -> bool:
    """Whether an interpreter has its stated version, and is no shim of a version manager and no free-threaded build."""
    program = (
        "import sys, sysconfig, venv; "
        f"sys.exit(sys.version_info[:2] != (3, {minor}) or bool(sysconfig.get_config_var('Py_GIL_DISABLED')))"
    )
    return subprocess.run([python, "-c", program], capture_output=True, check=False).returncode == 0


def plan(names: list[str], found: dict[int, str]) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    """The name, the interpreter and the requirements of each run; a Python without a row gets the newest releases.

    The interpreter is None if the machine has none for the row.
    """
    taken = set()
    for name in names:
        minor = next((minor for minor in ROWS[name].minors if minor in found), None)
        taken.add(minor)
        yield name, None if minor is None else found[minor], ROWS[name].requirements
    if names == list(ROWS):
        for minor in sorted(found.keys() - taken):
            yield f"python3.{minor}", found[minor], ROWS["newest"].requirements


def _make(folder: Path, python: str, requirements: tuple[str, ...]) -> Path:
    """Make an environment with primax, installed by `pip install .`; returns its Python.

    An environment that was made of the same things gets the new sources only.
    """
    inside, made_of = folder / "bin" / "python", folder / "made-of.txt"
    wanted = "\n".join([python, *requirements, (ROOT / "pyproject.toml").read_text(encoding="utf-8")])
    made = made_of.exists() and made_of.read_text(encoding="utf-8") == wanted
    if not made:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    pip = (inside, "-m", "pip", "--disable-pip-version-check", "-qq", "install")
    with tempfile.TemporaryDirectory() as sources:
        copy = copy_of_checkout(Path(sources))
        if made:
            subprocess.run([*pip, "--no-deps", "--force-reinstall", copy], check=True)
        else:
            subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)  # the oldest that knows groups
            subprocess.run([*pip, copy, "--group", f"{copy / 'pyproject.toml'}:test", *requirements], check=True)
    made_of.write_text(wanted, encoding="utf-8")
    return inside


def marks(python: str, short: bool) -> str:
    """Which tests a row runs, as pytest's `-m` takes it; the Python of this process runs all tests elsewhere."""
    repeats = Path(python).name == f"python3.{sys.version_info.minor}"
    return " and not ".join(["not slow", *["any_jaxlib"] * repeats, *["any_release"] * short])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS), help="which environments")
    parser.add_argument("--folder", type=Path, required=True, help="where environments are made")
    parser.add_argument("--short", action="store_true", help="leave out the tests with the mark any_release")
    parser.add_argument("pytest", nargs="+", help="the arguments of pytest, after --")
    options = parser.parse_args()
    outcomes = {}
    found = pythons()
    for name, python, requirements in plan(options.rows or list(ROWS), found):
        if python is None:
            outcomes[name] = "not run: this machine has none of its Pythons"
            continue
        print(f"{name}: {python}, {', '.join(requirements)}", flush=True)
        try:
            inside = _make(options.folder / name, python, requirements)
            left_out = marks(python, options.short)
            subprocess.run([inside, "-m", "pytest", "-m", left_out, *options.pytest], cwd=ROOT, check=True)
        except subprocess.CalledProcessError as error:
            outcomes[name] = f"FAILED: {' '.join(map(str, error.cmd[1:4]))}"
        else:
            outcomes[name] = "passed"
    print(f"Python 3.{', 3.'.join(map(str, found))}:", "; ".join(f"{name} {what}" for name, what in outcomes.items()))
    failed = [name for name, what in outcomes.items() if what.startswith("FAILED")]
    return 0 if not failed and "passed" in outcomes.values() else 1


if __name__ == "__main__":
    sys.exit(main())
