"""The primitive of each kind of package that `primax new` writes passes the kit and the tests of the package."""

from __future__ import annotations

import ast
import ctypes
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT

import primax as px
from primax.extend import commands, ffi
from primax.extend.commands import new
from primax.extend.testing import check_plugin

KINDS = {
    "elementwise": "damp",
    "higher-order": "iterate",
    "linear": "axpy",
    "reduction": "energy",
    "random": "jitter",
    "ffi": "boost",
    "ffi-gpu": "boost",
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
        assert not path.is_file() or not re.search(r"\$\w|\$\{\w", path.read_text())
    if kind.startswith("ffi"):
        compiled(folder / "src" / module_name / "boost.cc")
    monkeypatch.syspath_prepend(folder / "src")
    module = importlib.import_module(module_name)
    px.plugins.register(module, name=name)
    try:
        # The rules of ffi-gpu on a CPU are those of ffi.
        report = check_plugin(name, only=["metadata", "lowering", "jvp"] if kind == "ffi-gpu" else None)
        assert report.ok, str(report)
        assert len(report.passed) > (2 if kind == "ffi-gpu" else 10)
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


def test_names_and_legal_facts_are_those_that_the_user_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def files(name: str, *options: str) -> dict[str, str]:
        """The files of a package by their paths."""
        assert commands.main(["new", name, "--into", str(tmp_path), *options], version=px.__version__) == 0
        folder = tmp_path / name
        return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}

    plain = files("sample-plain")
    project = tomllib.loads(plain["pyproject.toml"])["project"]
    assert not project.keys() & {"license", "authors", "urls"}
    assert "LICENSE" not in plain
    assert ".github/workflows/test.yml" in plain
    full = files(
        "sample-full",
        *("--kind", "elementwise", "--primitive", "thud", "--license", "MIT", "--url", "https://a.org/full"),
        *("--author", 'Ada "Countess" Lovelace <ada@a.org>', "--author", "Émilie"),
    )
    project = tomllib.loads(full["pyproject.toml"])["project"]
    assert project["authors"] == [{"name": 'Ada "Countess" Lovelace', "email": "ada@a.org"}, {"name": "Émilie"}]
    assert (project["license"], project["license-files"]) == ("MIT", ["LICENSE"])
    assert project["urls"] == {"Repository": "https://a.org/full"}
    assert re.search(r'Copyright \(c\) \d{4} Ada "Countess" Lovelace and Émilie\n', full["LICENSE"])
    apache = files("sample-apache", "--license", "Apache-2.0")
    assert apache["LICENSE"] == (ROOT / "LICENSE").read_text()
    monkeypatch.syspath_prepend(tmp_path / "sample-full" / "src")
    module = importlib.import_module("sample_full")
    px.plugins.register(module, name="sample-full")
    try:
        assert float(px.contrib.sample_full.thud(3.0)) == 0.75
        assert "thud" in str(px.make_jaxpr(module.thud)(1.0))
        assert check_plugin("sample-full", only=["metadata"]).passed
    finally:
        px.plugins.unregister("sample-full")


@pytest.mark.parametrize(
    "options, message",
    [
        (["--primitive", "Zeta"], "--primitive must be an identifier in lower case, such as lambertw, got 'Zeta'"),
        (["--primitive", "class"], "must be an identifier in lower case"),
        (["--primitive", "pnp"], "the template uses 'pnp' for something else"),
        (["--primitive", "sin"], "must not be the name of a primitive of plugin 'trigonometry', got 'sin'"),
        (["--kind", "extension", "--primitive", "f"], "must be left out for this kind"),
        (["--kind", "interpreter", "--primitive", "jvp"], "must not be an existing kind of rules, got 'jvp'"),
        (["--license", "GPL"], "there is no licence 'GPL'"),
        (["--author", "<ada@a.org>"], "--author must be a name, or a name and an address"),
        (["--author", "Ada <ada>"], "--author must be a name, or a name and an address"),
        (["--url", "a.org"], "--url must begin with https:// or http://, got 'a.org'"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main(["new", "sample-wrong", "--into", str(tmp_path), *options], version=px.__version__) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_ruff_accepts_every_kind_with_any_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed here")
    for kind in new._KINDS:
        for name, function in (("default", None), ("a", "a_long_name_of_a_function"), ("zz", "zz")):
            if function is None or new._KINDS[kind].function:
                chosen = ["--primitive", function] if function else []
                command = ["new", f"{name}-{kind}", "--kind", kind, "--into", str(tmp_path), *chosen]
                assert commands.main(command, version=px.__version__) == 0
    for command in (["check", tmp_path], ["format", "--check", *tmp_path.glob("default-*")]):
        done = subprocess.run([ruff, *map(str, command)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no compiler of CUDA on the path")
def test_the_cuda_source_is_compiled_by_the_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["new", "sample-cuda", "--kind", "ffi-gpu", "--into", str(tmp_path)], version="0.1") == 0
    build = [sys.executable, "setup.py", "build_ext", "--inplace"]
    done = subprocess.run(build, cwd=tmp_path / "sample-cuda", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = (tmp_path / "sample-cuda" / "src").rglob("_boost_cuda.*.so")
    assert ctypes.CDLL(str(built)).BoostOnGpu  # it needs a GPU to run, not to be loaded


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
