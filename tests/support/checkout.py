"""The source files, and the names under which they are installed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A folder imports only from those before it.
ROOMS = ("core", "interpreters", "extend", "plugins", "api")
# Installed beside primax, because pytest imports it in every environment.
PYTEST_PLUGIN = "extend/testing/primax_pytest/__init__.py"

_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["primax"]
# The plugins of primax, and those that define primitives.
PLUGINS = tuple(sorted(_POINTS))
FAMILIES = tuple(name for name in PLUGINS if _POINTS[name].startswith("primax.plugins."))


def relative(path: Path) -> str:
    """A path relative to the root of the checkout, with forward slashes."""
    return path.relative_to(ROOT).as_posix()


def source_files() -> list[Path]:
    """Every file of an installed primax, without files that Python has written beside it."""
    return sorted(
        path
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )


def project_files() -> list[Path]:
    """Every file of the checkout, without what .gitignore names and what git keeps."""
    ignored = {".git", *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())}

    def inside(folder: Path) -> Iterator[Path]:
        for path in folder.iterdir():
            if not any(path.match(pattern) for pattern in ignored):
                yield from inside(path) if path.is_dir() else [path]

    return sorted(inside(ROOT))


def python_files() -> list[Path]:
    return [path for path in source_files() if path.suffix == ".py"]


def installed_path(file: str) -> str:
    """`api/lax.py` becomes `primax/lax.py`, `core/tree/__init__.py` becomes `primax/core/tree.py`."""
    if file == PYTEST_PLUGIN:
        return "primax_pytest/__init__.py"
    room, _, rest = file.partition("/")
    return f"primax/{rest}" if room == "api" else f"primax/{file}"


def module_name(file: str) -> str:
    """`api/lax.py` becomes `primax.lax`, `core/__init__.py` becomes `primax.core`."""
    return installed_path(file).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
