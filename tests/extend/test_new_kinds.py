"""The primitive of each kind of package that `primax new` writes passes the kit and the tests of the package."""

from __future__ import annotations

import ast
import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import primax as px
from primax.extend import commands, ffi
from primax.extend.testing import check_plugin

KINDS = {
    "elementwise": "damp",
    "higher-order": "iterate",
    "linear": "axpy",
    "reduction": "energy",
    "random": "jitter",
    "ffi": "boost",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_of_each_kind_passes_the_kit_and_its_own_tests(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"sample-{kind}"
    module_name = name.replace("-", "_")
    assert commands.main(["new", name, "--kind", kind, "--into", str(tmp_path)], version=px.__version__) == 0
    assert f"{module_name}/{KINDS[kind]}.py" in capsys.readouterr().out
    folder = tmp_path / name
    for path in folder.rglob("*"):
        assert not path.is_file() or "$" not in path.read_text()
    if kind == "ffi":
        compiled(folder / "src" / module_name / "boost.cc")
    monkeypatch.syspath_prepend(folder / "src")
    module = importlib.import_module(module_name)
    px.plugins.register(module, name=name)
    try:
        report = check_plugin(name)
        assert report.ok, str(report)
        assert len(report.passed) > 10
        assert "metadata" in {outcome.check for outcome in report.passed}
        for test in own_tests(folder / "tests" / f"test_{KINDS[kind]}.py"):
            test()
    finally:
        px.plugins.unregister(name)
        for each in [each for each in sys.modules if each.partition(".")[0] == module_name]:
            del sys.modules[each]


def test_the_file_of_a_package_is_held_to_what_its_plugin_enters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main(["new", "sample-told", "--into", str(tmp_path)], version=px.__version__) == 0
    capsys.readouterr()
    file = tmp_path / "sample-told" / "src" / "sample_told" / "primax.json"
    text = file.read_text()
    monkeypatch.syspath_prepend(tmp_path / "sample-told" / "src")
    px.plugins.register(importlib.import_module("sample_told"), name="sample-told")
    try:
        for written, status, said in (
            (text, "passed", ""),
            (
                text.replace('"impl", ', ""),
                "failed",
                'sample-told: primax.json must be {"primitives": {"sample_told_axpy"',
            ),
            (text.replace("extends", "extend"), "failed", "must have primitives, each with a list of kinds of rules"),
            ("{", "failed", "cannot be read"),
        ):
            file.write_text(written)
            (outcome,) = check_plugin("sample-told", only=["metadata"]).outcomes
            assert outcome.status == status
            assert said in outcome.message
        file.unlink()
        (outcome,) = check_plugin("sample-told", only=["metadata"]).outcomes
        assert outcome.status == "not run"
        assert outcome.message.startswith("there is no primax.json in its package, so every program imports the plugin")
    finally:
        px.plugins.unregister("sample-told")


def compiled(source: Path) -> None:
    """What `pip install` makes of a C++ file."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    target = source.with_name("_boost.so")
    subprocess.run(
        [compiler, "-std=c++17", "-shared", "-fPIC", f"-I{ffi.include_dir()}", str(source), "-o", str(target)],
        check=True,
    )


def own_tests(path: Path) -> list[Any]:
    """The functions of a test file, the one that runs the kit aside."""
    source = path.read_text()
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    functions = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert len(functions) >= 2
    return [names[name] for name in functions]
