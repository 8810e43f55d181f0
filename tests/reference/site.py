"""All pages of the site, and its configuration."""

from __future__ import annotations

from pathlib import Path

from checkout import ROOT

from reference.staging import DOCS, Files


def write(folder: Path) -> Path:
    """Write the pages to `folder/docs`, where they changed, and return the configuration for them."""
    files = Files()
    pages: dict[str, str | bytes] = {}
    for path in sorted(DOCS.rglob("*")):
        name = path.relative_to(DOCS).as_posix()
        if path.suffix == ".md":
            pages[name] = files.mended(path.read_text(encoding="utf-8"), path, name)
        elif path.is_file():
            pages[name] = path.read_bytes()
    pages.update(files.pages())
    _replace(folder / "docs", pages)
    config = folder / "mkdocs.yml"
    config.write_text((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), encoding="utf-8")
    return config


def _replace(folder: Path, pages: dict[str, str | bytes]) -> None:
    """Make a folder hold these files and no others; files that are the same are not touched."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in pages:
            path.unlink()
    for name, content in pages.items():
        path = folder / name
        data = content.encode() if isinstance(content, str) else content
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
