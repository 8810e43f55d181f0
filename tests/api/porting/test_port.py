"""`primax port`: files and folders, what is written, what is told, and that nothing is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from primax.__main__ import COMMANDS
from primax.extend.commands import main

SOURCE = "import jax\nimport jax.numpy as jnp\n\njax.jit(jnp.sin)\n"
PORTED = "import primax as jax\nimport primax.numpy as jnp\n\njax.jit(jnp.sin)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def port(*arguments: str) -> int:
    return main(["port", *arguments], further=COMMANDS)


def test_files_below_a_folder_are_rewritten_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.py", "inner/b.pyi", ".hidden/c.py", "env/d.py", "inner/e.txt"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(SOURCE, encoding="utf-8")
    Path("env/pyvenv.cfg").touch()
    Path("inner/around").symlink_to(folder, target_is_directory=True)
    assert port(".", "a.py", "inner") == 0
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        "a.py: rewritten",
        f"{Path('inner', 'b.pyi')}: rewritten",
        "2 files rewritten of 2, 0 names without counterpart in 0 places",
    ]
    assert [Path(name).read_text(encoding="utf-8") for name in ("a.py", "inner/b.pyi")] == [PORTED] * 2
    assert [Path(name).read_text(encoding="utf-8") for name in (".hidden/c.py", "env/d.py")] == [SOURCE] * 2
    assert port(".") == 0
    assert capsys.readouterr().out == "0 files rewritten of 2, 0 names without counterpart in 0 places\n"


@pytest.mark.parametrize(("option", "code"), [("--check", 1), ("--diff", 0)])
def test_nothing_is_written_where_that_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, code: int
) -> None:
    Path("a.py").write_text(SOURCE, encoding="utf-8")
    assert port(option, "a.py") == code
    printed = capsys.readouterr().out
    assert Path("a.py").read_text(encoding="utf-8") == SOURCE
    assert ("a.py: would be rewritten" in printed) is (option == "--check")
    assert ("+import primax as jax\n" in printed) is (option == "--diff")
    assert "1 file to rewrite of 1" in printed


def test_names_without_counterpart_are_listed_with_their_lines(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    Path("a.py").write_text("import jax\n\njax.curry\n'jax.numpy'\n", encoding="utf-8")
    assert port("a.py") == 1
    printed = capsys.readouterr().out.splitlines()
    assert "a.py:3: jax.curry is not in primax: removed in JAX 0.10; use `functools.partial`" in printed
    assert "a.py:4: note: a string is left as it is: jax.numpy" in printed
    assert port("--json", "a.py") == 1
    (file,) = json.loads(capsys.readouterr().out)
    assert (file["path"], file["changed"], file["error"]) == ("a.py", False, None)
    assert [(each["line"], each["name"]) for each in file["absent"]] == [(3, "jax.curry")]


def test_files_that_cannot_be_ported_are_named_and_others_go_on(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    Path("a.py").write_text("import jax\ndef f(:\n", encoding="utf-8")
    Path("b.py").write_bytes(b"import jax\n# \xff\n")
    Path("c.py").write_text(SOURCE, encoding="utf-8")
    Path("c.py").chmod(0o444)
    Path("d.py").write_text(SOURCE, encoding="utf-8")
    before = [Path(name).read_bytes() for name in ("a.py", "b.py", "c.py")]
    assert port(".") == 1
    printed = capsys.readouterr().out
    assert "a.py: left as it is: line 2: invalid syntax" in printed
    assert "b.py: left as it is: not in its declared encoding" in printed
    assert "c.py: left as it is: read-only" in printed
    assert "1 file rewritten of 4, 0 names without counterpart in 0 places, 3 files that could not be ported" in printed
    assert [Path(name).read_bytes() for name in ("a.py", "b.py", "c.py")] == before
    assert Path("d.py").read_text(encoding="utf-8") == PORTED
    assert sorted(os.listdir()) == ["a.py", "b.py", "c.py", "d.py"]


def test_files_and_folders_are_left_out_by_name_or_path(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.py", "src/b.py", "src/b_pb2.py", "src/old/c.py", "tests/d.py", "src/tests/e.py"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(SOURCE, encoding="utf-8")
    assert port("src", "tests", "a.py", "--exclude", "tests", "--exclude", "*_pb2.py", "--exclude", "src/old/") == 0
    assert capsys.readouterr().out.splitlines() == [
        "src/b.py: rewritten",
        "a.py: rewritten",
        "2 files rewritten of 2, 0 names without counterpart in 0 places",
    ]


def test_names_without_counterpart_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.py", "b.py"):
        Path(name).write_text("import jax\njax.xmap, jax.curry\njax.curry\n", encoding="utf-8")
    assert port("--check", ".") == 1
    assert capsys.readouterr().out.partition("\n\n")[2] == (
        "name without counterpart  places  first\n"
        "jax.curry                 4       a.py:2\n"
        "    removed in JAX 0.10; use `functools.partial`\n"
        "jax.xmap                  2       a.py:2\n"
        "    removed in JAX; use `primax.shard_map`\n\n"
        "2 files to rewrite of 2, 2 names without counterpart in 6 places\n"
    )


def test_encodings_modes_ends_of_lines_and_links_stay(folder: Path) -> None:
    text = "# -*- coding: latin-1 -*-\r\nimport jax  # größe\r\n"
    Path("a.py").write_bytes(text.encode("latin-1"))
    Path("a.py").chmod(0o750)
    Path("b.py").write_bytes(b"\xef\xbb\xbfimport jax")
    Path("c.py").symlink_to("b.py")
    assert port("a.py", "c.py") == 0
    assert Path("a.py").read_bytes() == text.replace("import jax", "import primax as jax").encode("latin-1")
    assert Path("a.py").stat().st_mode & 0o777 == 0o750
    assert Path("c.py").is_symlink()
    assert Path("b.py").read_bytes() == b"\xef\xbb\xbfimport primax as jax"


def test_a_path_that_is_not_there_makes_no_sense(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert port("nowhere") == 2
    assert "PATH must be a file or a folder, got 'nowhere'" in capsys.readouterr().err
