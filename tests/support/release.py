"""Build a release, check it, and use its wheel in a fresh environment of each Python: `make release-check`."""

from __future__ import annotations

import argparse
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checkout import ROOT, project_files
from matrix import pythons
from packages import clean_environment

DOCTEST = ("-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "IGNORE_EXCEPTION_DETAIL")


def _run(*command: str | Path, cwd: Path) -> None:
    """Run a command that must succeed, without the variables of this process for Python and primax."""
    inherited = {"PRIMAX_REPOSITORY": os.environ.get("PRIMAX_REPOSITORY", "")}
    subprocess.run([str(part) for part in command], cwd=cwd, env=clean_environment(**inherited), check=True)


def obstacles(tag: str, version: str, changelog: str) -> list[str]:
    """What must change before a version can be released under a tag.

    Args:
      tag: the tag of the release, such as `v1.2.3`.
      version: the version of the sources.
      changelog: the contents of the changelog.
    """
    found = []
    if tag != f"v{version}":
        found.append(f"the tag must be v{version}, as __version__ in api/__init__.py says, got {tag}")
    if not re.search(rf"(?m)^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog):
        found.append(f"CHANGELOG.md must have the heading '## {version} (YEAR-MONTH-DAY)'")
    if not os.environ.get("PRIMAX_REPOSITORY"):
        found.append("PRIMAX_REPOSITORY must be the address of the repository, for the links of the release")
    return found


def build(dist: Path) -> Path:
    """Build an sdist from a copy of the checkout and a wheel from the sdist, check both, and return the wheel."""
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in project_files():
            copy = Path(folder, path.relative_to(ROOT))
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        _run(sys.executable, "-m", "build", "--quiet", "--outdir", dist, ".", cwd=Path(folder))
    _run(sys.executable, "-m", "twine", "check", "--strict", *sorted(dist.iterdir()), cwd=ROOT)
    (wheel,) = dist.glob("*.whl")
    return wheel


def use(wheel: Path, python: str, folder: Path) -> None:
    """Install a wheel into a new environment, run the samples of the README, and write and check a package there."""
    _run(python, "-m", "venv", "--without-pip", "environment", cwd=folder)
    inside = folder / "environment" / "bin"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", inside / "python")
    _run(*pip, "install", "-qq", wheel, cwd=folder)
    _run(*pip, "check", cwd=folder)
    _run(inside / "python", *DOCTEST, ROOT / "README.md", cwd=folder)
    _run(inside / "primax", "new", "my-plugin", cwd=folder)
    _run(*pip, "install", "-qq", folder / "my-plugin", cwd=folder)  # its requirement of primax must be met by the wheel
    _run(inside / "primax", "check", "my-plugin", cwd=folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the sdist and the wheel go")
    parser.add_argument("--tag", default="", help="refuse if the sources are not ready to be released under this tag")
    options = parser.parse_args()
    if options.tag:
        version = runpy.run_path(str(ROOT / "setup.py"))["version"]()
        found = obstacles(options.tag, version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
        if found:
            print("not ready to be released:", *found, sep="\n  ")
            return 1
    wheel = build(options.dist.resolve())
    outcomes = {}
    for minor, python in pythons().items():
        print(f"Python 3.{minor}: {python}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                use(wheel, python, Path(folder))
            except subprocess.CalledProcessError as error:
                outcomes[minor] = f"FAILED: {' '.join(error.cmd)}"
            else:
                outcomes[minor] = "passed"
    print(f"{wheel.name}:", "; ".join(f"Python 3.{minor} {outcome}" for minor, outcome in outcomes.items()))
    if not os.environ.get("PRIMAX_REPOSITORY"):
        print("PRIMAX_REPOSITORY is not set, so the page of this release would have no links into the repository.")
    return 0 if set(outcomes.values()) == {"passed"} else 1


if __name__ == "__main__":
    sys.exit(main())
