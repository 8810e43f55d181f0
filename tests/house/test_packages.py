"""What is in the checkout is what gets installed, in a wheel, from an sdist and as an editable install."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

import pytest
from checkout import ROOT, installed_path, module_name, project_files, relative, source_files
from packages import require
from release import use

import primax

SETUP = runpy.run_path(str(ROOT / "setup.py"))
LINK = re.compile(r"""(?<=\]\()[^()\s]+(?=\))|(?<=(?:href|.src)=")[^"]+""")
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


def _run(*command: str | Path, cwd: Path, at: str = "") -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "TF_CPP_MIN_LOG_LEVEL": "1", "PRIMAX_REPOSITORY": at}
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


ADDRESS = "https://git.example/primax"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    require(pip=23, setuptools=77, build=1)
    checkout = tmp_path_factory.mktemp("packages") / "checkout"
    for path in project_files():
        copy = checkout / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    dist = checkout.parent / "dist"
    _run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", dist, ".", cwd=checkout, at=ADDRESS)
    (sdist,) = dist.iterdir()
    with tarfile.open(sdist) as archive:
        archive.extractall(dist / "unpacked", filter="data")
    (source,) = (dist / "unpacked").iterdir()
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", dist, ".", cwd=source)
    return Built(checkout, next(dist.glob("*.whl")), sdist)


def _environment(folder: Path) -> Path:
    """A fresh environment that sees this one's dependencies, but none of its editable installs."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = _run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def test_every_source_folder_is_a_package_and_is_found() -> None:
    folders = {path.parent for path in source_files()}
    assert [relative(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
    found = sorted(SETUP["packages"]())
    assert found == sorted(module_name(relative(folder / "__init__.py")) for folder in folders)


def test_the_wheel_holds_exactly_the_source_files(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {installed_path(relative(path)) for path in source_files()}


def test_the_wheel_installs_two_names_and_its_license(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        tops = {name.split("/")[0] for name in wheel.namelist()}
        licenses = [name for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
    assert tops == {"primax", "primax_pytest", f"primax_core-{primax.__version__}.dist-info"}
    assert len(licenses) == 1


def test_the_metadata_say_what_the_page_of_a_release_shows(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(wheel.read(name))
    assert (metadata["Name"], metadata["Version"]) == ("primax-core", primax.__version__)
    assert metadata.get_all("Provides-Extra") == ["oracle"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = dict(link.split(", ") for link in metadata.get_all("Project-URL", []))
    assert links.keys() == {"Source", "Documentation", "Changelog", "Issues"}
    assert all(link.startswith(ADDRESS) for link in links.values())
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert LINK.findall(text)
    assert [link for link in LINK.findall(text) if "://" not in link] == []


def test_every_link_of_the_readme_leads_somewhere_and_without_an_address_to_no_file() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if "://" not in link and not (ROOT / link.split("#")[0]).exists()]
    assert missing == []
    assert [link for link in LINK.findall(SETUP["description"](text, "", "1")) if "://" not in link] == []


@pytest.mark.parametrize(
    "text, wanted, alone",
    [
        ("[a `b`](docs/guide/random.md#x)", "[a `b`](A/blob/v1/docs/guide/random.md#x)", "a `b`"),
        ("![rooms](docs/images/rooms.svg)", "![rooms](A/raw/v1/docs/images/rooms.svg)", ""),
        (
            "[![rooms](docs/images/rooms.svg)](docs/kernel/how-it-works.md)",
            "[![rooms](A/raw/v1/docs/images/rooms.svg)](A/blob/v1/docs/kernel/how-it-works.md)",
            "",
        ),
        ('<img alt="rooms" src="docs/images/rooms.svg">', '<img alt="rooms" src="A/raw/v1/docs/images/rooms.svg">', ""),
        ('<a href="docs/guide/random.md">b</a>', '<a href="A/blob/v1/docs/guide/random.md">b</a>', "<a>b</a>"),
        ("`f[0](x)` [b](https://b.example) [c](#c)", None, None),
    ],
)
def test_links_to_files_become_links_into_the_repository_or_texts(text: str, wanted: str, alone: str) -> None:
    assert SETUP["description"](text, "A", "1") == (text if wanted is None else wanted)
    assert SETUP["description"](text, "", "1") == (text if alone is None else alone)


def test_the_sdist_holds_every_file_of_the_project(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {relative(path) for path in project_files()} <= names
    assert {"PKG-INFO", "CHANGELOG.md", "docs/authors/plugins.md", "tests/conftest.py"} <= names


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
    use(built.wheel, sys.executable, tmp_path)
    python = tmp_path / "environment" / "bin" / "python"
    assert Path(_run(python, "-c", PROGRAM, cwd=tmp_path).strip()).is_relative_to(tmp_path / "environment")


def test_pytest_imports_primax_only_for_a_test_that_needs_it(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\n"
        "def test_nothing():\n"
        "    assert 'primax_pytest' in sys.modules\n"
        "    assert {'primax', 'jaxlib', 'numpy'} & sys.modules.keys() == set()\n"
    )
    _run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", cwd=tmp_path)
