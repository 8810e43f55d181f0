"""What pyproject.toml cannot say: the packages, the version, and a README whose links work outside the repository."""

from __future__ import annotations

import os
import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
# The folders of the sources, and the packages that their contents are installed as.
PACKAGES = {
    "api": "primax",
    "core": "primax.core",
    "interpreters": "primax.interpreters",
    "extend": "primax.extend",
    "plugins": "primax.plugins",
    "extend/testing/primax_pytest": "primax_pytest",  # on its own, so that an empty test does not import primax
}


def version() -> str:
    """The value of `primax.__version__`, the only place of the version."""
    (found,) = re.findall(r'(?m)^__version__ = "(.+)"$', (ROOT / "api" / "__init__.py").read_text(encoding="utf-8"))
    return str(found)


def repository() -> str:
    """The address of the repository, from the environment or the metadata of an sdist; empty if it is unknown."""
    given = os.environ.get("PRIMAX_REPOSITORY", "").rstrip("/")
    metadata = ROOT / "PKG-INFO"
    if given or not metadata.exists():
        return given
    found = re.search(r"(?m)^Project-URL: Source, (.+)$", metadata.read_text(encoding="utf-8"))
    return found[1] if found else ""


def packages() -> list[str]:
    """The packages of the table, and those inside their folders."""
    found = []
    for folder, package in PACKAGES.items():
        inside = find_packages(str(ROOT / folder), exclude=["testing.primax_pytest"])
        found += [package, *(f"{package}.{name}" for name in inside)]
    return found


def urls(address: str, release: str) -> dict[str, str]:
    """The links beside the description on the page of a release; none if the repository has no address."""
    if not address:
        return {}
    return {
        "Source": address,
        "Documentation": f"{address}/tree/v{release}/docs",
        "Changelog": f"{address}/blob/v{release}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


def description(text: str, address: str, release: str) -> str:
    """The text of the README with links to the files of a release.

    Links to files become absolute. If the repository has no address, only their texts remain, and no picture.
    """

    def absolute(target: str, view: str) -> str | None:
        """The new target; None if the old one is no file here."""
        if not target or target[0] in "#/" or ":" in target or not (ROOT / target.partition("#")[0]).exists():
            return None
        return f"{address}/{view}/v{release}/{target}" if address else ""

    def markdown(match: re.Match[str]) -> str:
        mark, label, target = match.groups()
        new = absolute(target, "raw" if mark else "blob")
        if new is None:
            return match[0]
        return f"{mark}[{label}]({new})" if new else "" if mark else label

    def html(match: re.Match[str]) -> str:
        tag, attributes = match.groups()
        view = "blob" if tag == "a" else "raw"
        found = {name: absolute(target, view) for name, target in re.findall(r'(href|src|srcset)="(.*?)"', attributes)}
        if tag != "a" and "" in found.values():
            return ""
        for name, new in found.items():
            if new is not None:
                attributes = re.sub(rf'\s*\b{name}=".*?"', f' {name}="{new}"' if new else "", attributes)
        return f"<{tag}{attributes}>"

    text = re.sub(r"(!)\[([^\[\]]*)\]\(([^()\s]+)\)", markdown, text)
    text = re.sub(r"(?<!!)()\[((?:[^\[\]]|!\[[^\[\]]*\])*)\]\(([^()\s]+)\)", markdown, text)
    return re.sub(r"<(a|img|source)\b([^<>]*)>", html, text)


if __name__ == "__main__":
    setup(
        version=version(),
        packages=packages(),
        package_dir={package: folder for folder, package in PACKAGES.items()},
        project_urls=urls(repository(), version()),
        long_description=description((ROOT / "README.md").read_text(encoding="utf-8"), repository(), version()),
        long_description_content_type="text/markdown",
        # A tree of links rather than an import hook, so that type checkers see what Python sees. A new file needs a new
        # install.
        options={"editable_wheel": {"mode": "strict"}},
    )
