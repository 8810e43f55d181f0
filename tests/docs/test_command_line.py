"""What the documents say that commands print is what they print."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOT, python_files

from primax.__main__ import COMMANDS
from primax.extend.commands import main
from primax.extend.commands.dispatch import command_names
from primax.extend.host.plugin_host import host
from primax.extend.options import compilation_cache_dir, compilation_cache_max_size

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("**/README.md"))]
BLOCK = re.compile(r'^```(?:console|\w+ title="([^"]+)")\n(.*?)^```', re.DOTALL | re.MULTILINE)
NAMES = {*command_names(), *COMMANDS}


def examples(page: Path) -> list[tuple[str, str]]:
    """Commands with their output, in order. A block with a title is a file of that name, as after `cat`."""
    found = []
    for title, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            found.append((f"cat {title}", block))
            continue
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Where commands run; the names of plugins that an example has installed meanwhile."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    names: list[str] = []
    with compilation_cache_dir(tmp_path / "compiled"), compilation_cache_max_size(2**30):
        yield names
    for name in names:
        host.unregister(name)
    written = {path.stem for path in tmp_path.glob("*.py")} | {name.replace("-", "_") for name in names}
    for loaded in [each for each in sys.modules.keys() - before if each.partition(".")[0] in written]:
        del sys.modules[loaded]


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.stem)
def test_a_page_shows_what_commands_print(
    page: Path, installed: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`cat` shows a file that the following commands read, and `...` stands for any text.

    `pip install` takes a folder whose module is in `src`, or `.`, whose one plugin is a module beside `pyproject.toml`.
    """
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command, wanted in examples(page):
        program, *arguments = shlex.split(command)
        if program == "cat":
            Path(arguments[0]).write_text(wanted, encoding="utf-8")
            continue
        if program == "pip":
            name = arguments[-1]
            source, module = Path(name, "src"), name.replace("-", "_")
            if name == ".":
                source, written = Path(), tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
                ((name, module),) = written["project"]["entry-points"]["primax"].items()
            monkeypatch.syspath_prepend(source.resolve())
            host.register_module(importlib.import_module(module), name=name)
            installed.append(name)
            continue
        if program == "python":
            runpy.run_path(*arguments, run_name="__main__")
        else:
            assert program == "primax", f"{command}: a test must know how to run it"
            with contextlib.suppress(SystemExit):
                main(arguments, further=COMMANDS)
        captured = capfd.readouterr()
        printed = captured.out or captured.err
        example = doctest.Example(command, wanted)
        assert checker.check_output(wanted, printed, flags), checker.output_difference(example, printed, flags)


def test_the_page_shows_every_command() -> None:
    shown = {
        command.split()[1]
        for command, _ in examples(ROOT / "docs" / "reference" / "command-line.md")
        if "primax" in command
    }
    assert shown == {"--help", *NAMES}


def test_commands_that_pages_and_messages_name_exist() -> None:
    unknown = []
    for page in (*PAGES, ROOT / "CHANGELOG.md", *python_files()):
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"(?:`|^    |^\$ )primax ([a-z][a-z-]*)", text, re.MULTILINE)
        unknown += [f"{page.name}: primax {name}" for name in found if name not in NAMES]
    assert unknown == []
