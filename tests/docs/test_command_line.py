"""What docs/command-line.md says that commands print is what they print."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from primax.__main__ import COMMANDS
from primax.extend.commands import main
from primax.extend.host.plugin_host import host
from primax.extend.options import compilation_cache_dir, compilation_cache_max_size

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def examples() -> list[tuple[str, str]]:
    """Commands with their output, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = example.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Where commands run; the names of plugins that an example has installed meanwhile."""
    monkeypatch.chdir(tmp_path)
    names: list[str] = []
    with compilation_cache_dir(tmp_path / "compiled"), compilation_cache_max_size(2**30):
        yield names
    for name in names:
        host.unregister(name)
        module = name.replace("-", "_")
        for loaded in [each for each in sys.modules if each.partition(".")[0] == module]:
            del sys.modules[loaded]


def test_the_page_shows_what_the_commands_print(
    installed: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    ran = 0
    for command, wanted in examples():
        program, *arguments = shlex.split(command)
        if program == "pip":
            name = arguments[-1]
            monkeypatch.syspath_prepend(Path(name, "src").resolve())
            host.register_module(importlib.import_module(name.replace("-", "_")), name=name)
            installed.append(name)
            continue
        with contextlib.suppress(SystemExit):
            main(arguments, further=COMMANDS)
        printed = capsys.readouterr().out
        example = doctest.Example(command, wanted)
        assert checker.check_output(wanted, printed, flags), checker.output_difference(example, printed, flags)
        ran += 1
    assert ran > 8


def test_the_page_names_every_command() -> None:
    assert {command.split()[1] for command, _ in examples() if command.startswith("primax")} == {
        "--help",
        "plugins",
        "cache",
        "rules",
        "why",
        "check",
        "devices",
        "draw",
        "new",
        "port",
        "as-jax",
    }
