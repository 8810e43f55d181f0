"""What is in the checkout is what gets installed, in a wheel, from an sdist and as an editable install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkout import ROOMS, ROOT, installed_path, module_name, relative, source_files
from packages import require

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROGRAM = """
import contextlib, pathlib, sys, primax
from primax.extend import commands
with contextlib.redirect_stdout(sys.stderr):
    assert commands.main(["new", "a-package"], version=primax.__version__) == 0  # its templates are there
home = pathlib.Path(primax.__file__)
assert float(primax.jit(lambda x: x + 1)(1.)) == 2.0
assert "jax" not in sys.modules
print(home.resolve())
"""


def _run(*command: str | Path, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "TF_CPP_MIN_LOG_LEVEL": "1"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True, slots=True)
class Built:
    """A copy of the checkout and what was built from it: an sdist, and from the sdist a wheel."""

    checkout: Path
    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    require(pip=23, setuptools=77, build=1)
    checkout = tmp_path_factory.mktemp("packages") / "checkout"
    checkout.mkdir()
    for room in ROOMS:
        shutil.copytree(ROOT / room, checkout / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    dist = checkout.parent / "dist"
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ".", cwd=checkout)
    return Built(checkout, next(dist.glob("*.whl")), next(dist.glob("*.tar.gz")))


def _environment(folder: Path) -> Path:
    """A fresh environment that sees this one's dependencies, but none of its editable installs."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def test_every_source_folder_is_a_listed_package() -> None:
    setuptools = CONFIG["tool"]["setuptools"]
    folders = {path.parent for path in source_files()}
    assert [relative(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
    assert sorted(module_name(relative(folder / "__init__.py")) for folder in folders) == sorted(setuptools["packages"])


def test_the_wheel_holds_exactly_the_source_files(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {installed_path(relative(path)) for path in source_files()}


def test_the_wheel_installs_two_names_and_its_license(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
        licenses = [name for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
    version = CONFIG["project"]["version"]
    assert tops == {"primax", "primax_pytest", f"primax-{version}.dist-info"}
    assert len(licenses) == 1


def test_the_sdist_holds_every_source_file(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {relative(path) for path in source_files()}
    assert wanted | {"pyproject.toml", "README.md", "LICENSE"} <= names


@pytest.mark.parametrize("form", ["wheel", "editable", pytest.param("sdist", marks=pytest.mark.slow)])
def test_an_installed_primax_runs_from_anywhere(form: str, built: Built, tmp_path: Path) -> None:
    source = {"wheel": [built.wheel], "sdist": [built.sdist], "editable": ["--editable", built.checkout]}[form]
    python = _environment(tmp_path / "venv")
    install = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--force-reinstall",  # also where this environment, which the fresh one sees, has this release
        "--no-deps",
        "--no-build-isolation",
    )
    _run(*install, *source, cwd=tmp_path)
    home = Path(_run(python, "-W", "error", "-c", PROGRAM, cwd=tmp_path).strip())
    assert home.is_relative_to(built.checkout if form == "editable" else tmp_path / "venv")


@pytest.mark.slow
def test_a_wheel_brings_all_that_it_needs(built: Built, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    _run(python, "-m", "pip", "install", built.wheel, cwd=tmp_path)
    assert Path(_run(python, "-c", PROGRAM, cwd=tmp_path).strip()).is_relative_to(tmp_path / "venv")
    _run(python, "-m", "pip", "check", cwd=tmp_path)


def test_pytest_imports_primax_only_for_a_test_that_needs_it(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\n"
        "def test_nothing():\n"
        "    assert 'primax_pytest' in sys.modules\n"
        "    assert {'primax', 'jaxlib', 'numpy'} & sys.modules.keys() == set()\n"
    )
    _run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", cwd=tmp_path)
