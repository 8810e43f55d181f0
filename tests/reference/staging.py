"""The pages of docs/ as the site has them: links to files outside docs/ become links to pages that show these files.

`path.py#name` leads to the line that defines a name.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from checkout import ROOT

DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(?: *)(```+|~~~+).*?^(?: *)\1 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_CODE = re.compile(r"(`+)(?:.*?)(?<!`)\1(?!`)", re.DOTALL)
_LINE = re.compile(r"L(\d+)")
_OPTION = re.compile(r" *# doctest: \+.*")  # for the tests alone
_PLACE = re.compile(r"<doctest\s[\w.-]+\[\.\.\.\]>")  # in messages
_SESSION = re.compile(r"^( *`{3,})python\n(?= *>>> )", re.MULTILINE)  # code with its output
_LANGUAGES = {".py": "python", ".pyi": "python", ".toml": "toml", ".yml": "yaml", ".json": "json", ".cc": "cpp"}


def prose(text: str, change: Callable[[str], str]) -> str:
    """A page after a change of everything outside its blocks of code."""
    parts = []
    end = 0
    for block in _FENCE.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Prose after a change of everything outside its inline code."""
    parts = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def line_of(file: Path, name: str) -> int:
    """The number of the line of a module that defines a name.

    Raises:
      LookupError: no line defines the name.
    """
    defined = re.compile(rf"^\s*(?:def|class) {name}\b|^{name}\b.* = ", re.MULTILINE)
    text = file.read_text(encoding="utf-8")
    if found := defined.search(text):
        return text.count("\n", 0, found.end()) + 1
    raise LookupError(f"{file.relative_to(ROOT).as_posix()} defines no {name}, which a page links to")


class Files:
    """The files outside docs/ that pages link to; each becomes a page."""

    def __init__(self) -> None:
        self.found: dict[Path, set[int]] = {}  # with the lines that are linked to

    def mended(self, text: str, source: Path, page: str) -> str:
        """The text of a page with links that stay on the site.

        Args:
          text: the page as it is written.
          source: the file that it comes from.
          page: its path on the site, relative to the root of the pages.

        Raises:
          LookupError: a link leads to a name that its module does not define.
        """

        def link(match: re.Match[str]) -> str:
            mark, label, target = match.groups()
            path, hash_, anchor = target.partition("#")
            if not path or ":" in path or path.startswith("/"):
                return match[0]
            file = Path(os.path.normpath(source.parent / path))
            inside = source.is_relative_to(DOCS) and file.is_relative_to(DOCS)
            if inside or not file.exists() or not file.is_relative_to(ROOT):
                return match[0]
            new = os.path.relpath(self.page_of(file), Path(page).parent)
            if file.suffix == ".py" and anchor.isidentifier() and not _LINE.fullmatch(anchor):
                anchor = f"L{line_of(file, anchor)}"
            if line := _LINE.fullmatch(anchor):
                self.found[file].add(int(line[1]))
            return f"{mark}[{label}]({new}{hash_}{anchor})"

        text = _PLACE.sub("<stdin>", _OPTION.sub("", text))
        return prose(_SESSION.sub(r"\1pycon\n", text), lambda part: LINK.sub(link, part))

    def page_of(self, file: Path) -> str:
        """The page, or the picture, that shows a file."""
        if file.is_relative_to(DOCS):
            return file.relative_to(DOCS).as_posix()
        if file == ROOT / "README.md":
            return "index.md"
        if file.is_dir() and (file / "README.md").exists():
            file = file / "README.md"
        self.found.setdefault(file, set())
        return _page_of(file)

    def pages(self) -> Iterator[tuple[str, str]]:
        """The paths and texts of the pages that show files; they may link to more files."""
        done: set[Path] = set()
        while todo := [file for file in self.found if file.suffix == ".md" and file not in done]:
            for file in todo:
                done.add(file)
                yield _page_of(file), self.mended(file.read_text(encoding="utf-8"), file, _page_of(file))
        for file in self.found.keys() - done:
            yield _page_of(file), _listing(file) if file.is_dir() else _source(file, self.found[file])


def _page_of(file: Path) -> str:
    name = file.relative_to(ROOT).as_posix()
    return f"files/{name}" if name.endswith(".md") else f"files/{name}.md"


def _listing(folder: Path) -> str:
    inside = sorted(
        path.name + "/" * path.is_dir() for path in folder.iterdir() if not path.name.startswith(("_", "."))
    )
    return "\n".join([f"# {folder.relative_to(ROOT).as_posix()}/", "", *(f"- `{each}`" for each in inside), ""])


def _source(file: Path, anchors: set[int]) -> str:
    """A page with a source, whose blocks begin at lines that are linked to."""
    lines = file.read_text(encoding="utf-8").splitlines()
    cuts = sorted({1, len(lines) + 1, *anchors})
    fence = "`" * 5
    page = ["---", "search:", "  exclude: true", "---", "", f"# {file.relative_to(ROOT).as_posix()}", ""]
    for start, end in itertools.pairwise(cuts):
        page += [f'<span id="L{start}"></span>', ""] if start in anchors else []
        page += [f"{fence}{_LANGUAGES.get(file.suffix, 'text')}", *lines[start - 1 : end - 1], fence, ""]
    return "\n".join(page)
