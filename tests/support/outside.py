"""Packages outside of primax, from `primax new` and the sources in tests/examples/outside, installed and checked.

`python tests/support/outside.py` does it in a temporary folder, and `--into DIR` in another, which stays.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

from checkout import ROOT
from packages import clean_environment, require
from processes import HANG

SOURCES = ROOT / "tests" / "examples" / "outside"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")


@dataclass(frozen=True, slots=True)
class Package:
    """A package: its name, the template and the name in it, and the packages that it requires."""

    name: str
    kind: str
    primitive: str = ""
    requires: tuple[str, ...] = ()

    @property
    def has_sources(self) -> bool:
        """Whether it has others than those of the template."""
        return (SOURCES / self.name).is_dir()


PACKAGES = [
    Package("lambert-w", "elementwise", "lambertw"),
    Package("toeplitz", "linear", "solve_toeplitz"),
    Package("fixed-point", "higher-order", "find_fixed_point"),
    Package("stencil", "ffi", "blur"),
    Package("interval", "interpreter", "enclose"),
    Package("interval-rules", "extension", requires=("interval", "lambert-w")),
    Package("exact-rsqrt", "override"),
    Package("straight", "extension"),
]


class Workshop:
    """An environment that has primax and the packages, and the folders of their sources.

    It takes numpy, jaxlib, primax and pytest from the environment of this process.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "environment" / "bin" / "python"
        self.packages = [package for package in PACKAGES if COMPILER or package.kind != "ffi"]

    def run(self, *command: str | Path, package: Package | None = None) -> str:
        """The output of a command that must succeed, run by the environment in the folder of a package.

        Raises:
          RuntimeError: it fails; the message has its output.
        """
        consent = {"PRIMAX_ALLOW_OVERRIDES": package.name} if package and package.kind == "override" else {}
        done = subprocess.run(
            [str(part) for part in command],
            cwd=self.folder / package.name if package else self.folder,
            env=clean_environment(**consent),
            capture_output=True,
            text=True,
            timeout=HANG,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def build(self) -> None:
        """Write the packages, install them into a new environment, and write their `primax.json`."""
        venv.EnvBuilder(symlinks=True).create(self.python.parents[1])
        base = str(self.python.parents[1])
        site = sysconfig.get_path("purelib", vars={"base": base, "platbase": base})
        outer = sysconfig.get_path("purelib")
        Path(site, "outer.pth").write_text(f"import site; site.addsitedir({outer!r})\n", encoding="utf-8")
        for package in self.packages:
            name = ["--primitive", package.primitive] if package.primitive else []
            self.run(self.python, "-m", "primax", "new", package.name, "--kind", package.kind, *name)
            if package.has_sources:
                shutil.copytree(SOURCES / package.name, self.folder / package.name, dirs_exist_ok=True)
            if package.requires:
                self._require(package)
        require(pip=22, setuptools=77)
        options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        editable = [part for package in self.packages for part in ("--editable", f"./{package.name}")]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python]
        self.run(*pip, "install", *options, *editable)
        for package in self.packages:
            if package.has_sources:
                self.run(self.python, "-m", "primax", "metadata", package.name, "--write", package=package)

    def _require(self, package: Package) -> None:
        """Write the requirements of a package into its configuration."""
        path = self.folder / package.name / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        head, start, tail = text.partition("dependencies = [")
        path.write_text(f"{head}{start}{', '.join(map(repr, package.requires))}, {tail}", encoding="utf-8")

    def check(self, package: Package) -> str:
        """The report of `primax check` on a package."""
        return self.run(self.python, "-m", "primax", "check", package.name, package=package)

    def test(self, package: Package, *options: str) -> str:
        """The output of pytest on a package."""
        return self.run(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, package=package)

    def lint(self) -> None:
        """Run ruff and mypy on all packages, if they are installed here."""
        ruff, mypy = (Path(sys.executable).with_name(tool) for tool in ("ruff", "mypy"))
        if ruff.exists():
            self.run(ruff, "check", *(package.name for package in self.packages))
        if mypy.exists():
            options = [f"--python-executable={self.python}", f"--cache-dir={self.folder / 'mypy'}"]
            for package in self.packages:
                self.run(mypy, *options, package=package)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, help="an empty folder for the packages and the environment")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        workshop = Workshop(options.into.resolve() if options.into else Path(temporary))
        workshop.build()
        for package in workshop.packages:
            print(f"{package.name}:", workshop.check(package).splitlines()[-1], flush=True)
            print(f"{package.name}:", workshop.test(package).splitlines()[-1], flush=True)
        workshop.lint()
    return 0


if __name__ == "__main__":
    sys.exit(main())
