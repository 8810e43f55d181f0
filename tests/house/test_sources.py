"""What every file of the project must look like, whatever it says."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from checkout import ROOMS, ROOT, python_files, relative

FOLDERS = (*ROOMS, ".ci", "benchmarks", "docs", "examples", "tests")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:root|work|home/\w+|Users/\w+|tmp/w)/|\.\./shared")


def _literal_all(path: Path) -> list[str] | None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and ast.unparse(target) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def test_every_all_is_sorted_and_without_repeats() -> None:
    unsorted = []
    for path in python_files():
        names = _literal_all(path)
        if names is not None and names != sorted(set(names)):
            unsorted.append(relative(path))
    assert unsorted == []


def _shown_modules() -> dict[str, ModuleType]:
    """Every module that `dir` leads to from `primax`, by its name; without the families, which offer nothing."""
    shown: dict[str, ModuleType] = {}
    waiting = [importlib.import_module("primax")]
    while waiting:
        module = waiting.pop()
        if module.__name__ not in shown:
            shown[module.__name__] = module
            found = [getattr(module, name) for name in dir(module)]
            waiting += [
                part
                for part in found
                if isinstance(part, ModuleType)
                and part.__name__.startswith("primax")
                and not part.__name__.startswith("primax.plugins.")
            ]
    return shown


def test_every_public_module_says_what_it_offers_and_has_it() -> None:
    wrong = []
    for name, module in _shown_modules().items():
        if "__all__" not in vars(module):
            wrong.append(f"{name} has no __all__")
            continue
        names = module.__all__  # of a package, what its modules offer, too
        if len(names) != len(set(names)):
            wrong.append(f"{name} offers a name twice")
        wrong += [f"{name}.{each} is missing" for each in names if not hasattr(module, each)]
    assert wrong == []


def test_dir_of_a_module_shows_what_it_offers_and_its_submodules_only() -> None:
    shown = _shown_modules()
    helpers = [
        f"{module.__name__}.{name}"
        for module in shown.values()
        if module.__name__ != "primax.extend.core.primitives"  # it shows the primitives that plugins registered
        for name in dir(module)
        if not name.startswith("_")
        and name not in module.__all__
        and getattr(getattr(module, name), "__name__", None) != f"{module.__name__}.{name}"
    ]
    assert helpers == []
    assert {"primax.scipy.ndimage", "primax.numpy.fft", "primax.lax.linalg", "primax.extend.mlir"} <= shown.keys()


def test_every_source_file_opens_with_a_docstring() -> None:
    bare = []
    for path in python_files():
        text = path.read_text(encoding="utf-8")
        if text.strip() and not ast.get_docstring(ast.parse(text)):
            bare.append(relative(path))
    assert bare == []


# Files without behavior of their own: names, classes of errors, markers, and specifications.
UNTESTED = {"_jaxlib", "contributions", "errors", "experimental", "hookspec"}


@pytest.mark.parametrize("room", ["core", "interpreters", "extend/derive", "extend/host"])
def test_every_file_of_the_kernel_has_a_test_file_of_its_name(room: str) -> None:
    files = {path.relative_to(ROOT) for path in (ROOT / room).rglob("*.py") if path.stem not in {"__init__", *UNTESTED}}
    assert len(files) >= 3
    missing = [str(path) for path in files if not (ROOT / "tests" / path.parent / f"test_{path.name}").exists()]
    assert missing == []


def test_no_file_names_a_path_of_one_machine() -> None:
    files = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    for folder in FOLDERS:
        for parent, folders, names in os.walk(ROOT / folder):
            folders[:] = [name for name in folders if name != "__pycache__" and not name.endswith(".egg-info")]
            files += [Path(parent, name) for name in names]
    found = []
    for path in files:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{relative(path)}:{number}: {line.strip()}"
            for number, line in enumerate(lines, 1)
            if MACHINE_PATH.search(line)
        ]
    assert found == []


def test_nothing_at_the_root_shadows_a_real_module() -> None:
    names = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names <= {*ROOMS, "setup"}  # no package of this name exists


def test_importing_primax_does_not_import_jax() -> None:
    program = "import sys, primax; print([name for name in sys.modules if name.split('.')[0] == 'jax'])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
