"""The command line, in this process and in others, with plugins that are well and plugins that are not."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import PLUGINS, ROOT
from distributions import Site
from packages import clean_environment, install
from processes import HANG

import primax as px
from primax.__main__ import COMMANDS
from primax.core.rules import new_rule_table, rule_tables
from primax.extend import core, define_primitive, derive, hookimpl, plugins
from primax.extend.commands import main
from primax.extend.commands.common import warn_of_inactive
from primax.extend.commands.dispatch import command_names
from primax.extend.commands.style import has_colours, short_paths
from primax.extend.commands.table import facts, render
from primax.extend.host.plugin_host import host
from primax.extend.interpreters import ad, mlir
from primax.extend.options import compilation_cache_dir
from primax.extend.testing import values

PROGRAM = [sys.executable, "-W", "error", "-m", "primax"]

# Plugins that go wrong, each in its own way, and the state in which each is found at last.
BROKEN = {
    "raises": ("raise OSError('caf\\u00e9')", "failed"),
    "exits": ("import sys; sys.exit(3)", "failed"),
    "does_not_parse": ("def f(:", "failed"),
    "half_done": (
        """
        from primax.extend import core, hookimpl
        p = core.Primitive("half_done")
        @hookimpl
        def primax_register(registry):
            registry.define(p, impl=abs)
            registry.define(p, batsch=abs)
        """,
        "failed",
    ),
    "misspelt": (
        """
        from primax.extend import hookimpl
        @hookimpl
        def primax_registre(registry):
            pass
        """,
        "refused",
    ),
    "unmarked": ("def primax_register(registry): pass", "refused"),
}
TALKATIVE = """
import sys
from primax.extend import core, hookimpl
print("imported")
p = core.Primitive("talk")
@hookimpl
def primax_register(registry):
    print("registered")
    registry.define(p, impl=abs)
"""


def primax(*arguments: str, site: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the program does in a process of its own."""
    path = {} if site is None else {"PYTHONPATH": str(site)}
    return subprocess.run(
        [*PROGRAM, *arguments],
        env=clean_environment(**path, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with fifty plugins installed, some of which are broken."""
    site = Site(tmp_path_factory.mktemp("crowd"))
    for name, (source, _) in BROKEN.items():
        site.plugin(name, source)
    site.plugin("talkative", TALKATIVE)
    site.plugin("future", "print('imported')", api="v7")
    site.plugin("twin", distribution="twin-one")
    site.plugin("twin", distribution="twin-two")
    site.install("malformed", entry_points="[primax]\nno equals sign\n")
    for number in range(50 - len(BROKEN) - 5):
        site.plugin(f"plain{number:02}", api="v1_0")
    return site.folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process: the exit code and both outputs."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments, version="1.2.3")
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def _sine_jvp(primals: Any, tangents: Any) -> Any:
    """Another derivative of the sine.

    It is wrong.
    """
    raise AssertionError("nobody differentiates in these tests")


def _count_lowering(ctx: Any, *, size: int) -> Any:
    return mlir.ir_constant(np.zeros(size, np.int32))


def _double_lowering(ctx: Any, x: Any) -> Any:
    return [mlir.hlo.add(x, x)]


@pytest.fixture
def guest() -> Iterator[types.ModuleType]:
    """An active plugin with rules of every origin."""
    module = types.ModuleType("guest")

    @hookimpl
    def primax_register(registry: core.Registry) -> None:
        define_primitive(
            "guest_double",
            impl=derive.from_lowering,
            abstract_eval=lambda x: x,
            jvp=derive.linear,
            lowering={None: _double_lowering, "cuda": _double_lowering},
            unsupported={"batch": "its hands are full"},
            samples=[core.Sample([np.float32(1.5)])],
            doc="Twice its argument.",
            registry=registry,
        )
        define_primitive(
            "guest_count",
            abstract_eval=lambda *, size: core.ShapedArray((size,), np.dtype(np.int32)),
            lowering=_count_lowering,
            samples=[core.Sample([], {"size": 3})],
            registry=registry,
        )
        registry.define(px.lax.sin_p, jvp=_sine_jvp, override=True)

    module.primax_register = primax_register  # type: ignore[attr-defined]
    host.register_module(module)
    yield module
    host.unregister("guest")


def test_fifty_plugins_are_listed_and_none_is_imported(crowd: Path) -> None:
    done = primax("plugins", site=crowd)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["plugin", "source", "distribution", "state"]
    assert lines[-1].startswith(f"{50 + len(PLUGINS)} plugins, not imported.")
    found = {line.split()[0]: line.split()[-1] for line in lines[1:-2] if not line.startswith(" ")}
    assert {name for name, state in found.items() if state == "refused"} == {"future", "twin", "malformed"}
    assert {found[name] for name in (*BROKEN, "talkative", "plain00", "structural")} == {"discovered"}
    reasons = [line for line in lines if line.startswith(" ")]
    assert len(reasons) == 3
    assert any("it needs plugin API >=7.0,<8.0" in line for line in reasons)
    assert any("its name is taken by plugin 'twin' (twin-one 1.0, twin_plugin)" in line for line in reasons)


def test_loading_shows_what_each_plugin_gives_or_how_it_fails(crowd: Path) -> None:
    done = primax("plugins", "--load", "--json", site=crowd)
    assert done.returncode == 0
    assert done.stderr.split() == ["imported", "registered"]
    records = json.loads(done.stdout)
    states = {record["name"]: record["state"] for record in records if record["distribution"] != "twin-two"}
    assert {name: states[name] for name in BROKEN} == {name: state for name, (_, state) in BROKEN.items()}
    assert {states[name] for name in ("talkative", "plain00", "twin", "structural")} == {"active"}
    (talkative,) = (record for record in records if record["name"] == "talkative")
    assert talkative["primitives"] == ["talk"]
    (raises,) = (record for record in records if record["name"] == "raises")
    assert "OSError: café" in raises["reason"]
    assert "raises_plugin.py" in raises["traceback"]


def test_a_broken_plugin_is_shown_with_its_traceback(crowd: Path) -> None:
    done = primax("plugins", "raises", site=crowd, PRIMAX_STRICT_PLUGINS="1", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert done.stdout.startswith("raises: failed\n")
    assert done.stdout.rstrip().endswith("OSError: caf\\xe9")


def test_an_unknown_plugin_in_the_environment_is_an_error_of_usage(crowd: Path) -> None:
    done = primax("plugins", site=crowd, PRIMAX_DISABLE_PLUGINS="talkativ")
    assert (done.returncode, done.stdout) == (2, "")
    assert "PRIMAX_DISABLE_PLUGINS names 'talkativ', which is not a plugin; did you mean 'talkative'?" in done.stderr


def test_nobody_listening_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*PROGRAM, "plugins"], stdout=writer, stderr=subprocess.PIPE, env=clean_environment())
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


GUESTS = {
    "tastes": """
        from primax.extend import core, hookimpl
        core.new_rule_table("taste", "(values, **params) -> values")
        @hookimpl
        def primax_register(registry): ...
        """,
    "eater": """
        from primax.extend import define_primitive, derive, hookimpl
        @hookimpl
        def primax_register(registry):
            define_primitive("eat", impl=lambda x: x + x, elementwise=True, linear=[0], lowering=derive.from_impl,
                             registry=registry)
        """,
    "stranger": """
        import warnings
        from primax.extend import define_primitive, derive, hookimpl
        warnings.warn("a dependency is old", DeprecationWarning)
        @hookimpl
        def primax_register(registry):
            warnings.warn("so is this", DeprecationWarning)
            define_primitive("stray", impl=lambda x: x + x, elementwise=True, linear=[0], lowering=derive.from_impl,
                             partial_eval=lambda trace, args, params: [], registry=registry)
        """,
}


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What commands print where a package has a kind of rule, another requires it, and a third knows nothing of it."""
    site = Site(tmp_path_factory.mktemp("guests"))
    for name, source in GUESTS.items():
        entry, requires = f"[primax]\n{name} = {name}_plugin\n", "Tastes[all] >=1; python_version>'3'"
        site.install(name, entry_points=entry, requires=requires * (name == "eater"), **{f"{name}_plugin": source})
    program = """
import sys
from primax.__main__ import main
for command in sys.argv[1:]:
    sys.argv = ["primax", *command.split()]
    print("===", command)
    print("exit", main())
"""
    commands = [f"rules --plugin {name} --missing" for name in ("trigonometry", "eater", "stranger")]
    commands += ["plugins stranger", "plugins --load", "check stranger -k batch"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *commands],
        env=clean_environment(PYTHONPATH=str(site.folder)),
        capture_output=True,
        text=True,
        check=True,
    )
    parts = [part.partition("\n") for part in done.stdout.split("=== ")[1:]]
    return {command: text for command, _, text in parts}


def test_authors_answer_for_kinds_of_packages_that_they_require(guests: dict[str, str]) -> None:
    assert "exit 0" in guests["rules --plugin trigonometry --missing"]
    assert "exit 0" in guests["rules --plugin stranger --missing"]
    text = guests["rules --plugin eater --missing"]
    assert "taste" in text.splitlines()[0]
    assert "missing rules: 1" in text
    assert "exit 1" in text


def test_warnings_never_make_a_plugin_fail_and_authors_learn_what_is_experimental(guests: dict[str, str]) -> None:
    assert "stranger: active" in guests["plugins stranger"]
    for text in (guests["plugins stranger"], guests["plugins --load"], guests["check stranger -k batch"]):
        assert "partial_eval rules are experimental" in " ".join(text.split())
    assert "0 failed" in guests["check stranger -k batch"]


@pytest.mark.slow
def test_fifty_plugins_are_listed_in_two_fifths_of_the_time_of_importing_jax(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for number in range(50):
        site.plugin(f"plain{number:02}", api="v1_0")
    environment = clean_environment(PYTHONPATH=str(tmp_path))
    commands = {"plugins": [*PROGRAM, "plugins"], "jax": [sys.executable, "-c", "import jax"]}
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(10):
        for name, command in commands.items():
            start = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            end = resource.getrusage(resource.RUSAGE_CHILDREN)
            best[name] = min(best[name], end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    assert best["plugins"] < 0.4 * best["jax"]


COLOURS = [  # the environment, whether there is a terminal, and whether there are colours
    ({}, True, True),
    ({}, False, False),
    ({"TERM": "dumb"}, True, False),
    ({"TERM": "dumb", "FORCE_COLOR": "1"}, False, True),
    ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ({"NO_COLOR": ""}, True, True),
]


@pytest.mark.parametrize(("variables", "terminal", "coloured"), COLOURS)
def test_colours_follow_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], terminal: bool, coloured: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert has_colours(stream) is coloured


def test_colours_change_nothing_else(call: Any, guest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = ["--help", "rules --help", "rules guest_double sin", "plugins guest", "why sin", "why sin jvp", "env"]
    plain = [call(*command.split())[1] for command in commands]
    monkeypatch.setenv("FORCE_COLOR", "1")
    for command, text in zip(commands, plain, strict=True):
        coloured = call(*command.split())[1]
        assert "\x1b[1m" in coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text.replace("variables: none", "variables:")
    assert call("why", "sinn")[2].startswith("\x1b[1mprimax:\x1b[0m \x1b[1;31mwhy:\x1b[0m there is no primitive")


def test_paths_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, home, source = tmp_path / "here", tmp_path / "home", Path(px.__file__).parent
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    text = f"given ({source}/plugins/dot.py:3), {here}/a.py:2; {home}/b.py, /x{here}/c.py, {np.__file__}:1"
    short = f"given (primax/plugins/dot.py:3), a.py:2; ~/b.py, /x{here}/c.py, numpy/__init__.py:1"
    assert short_paths(text) == short


@pytest.mark.parametrize(
    "command", ["", "plugins", "rules", "why", "check", "env", "devices", "cache", "draw", "new", "metadata"]
)
def test_help_fits_its_terminal(call: Any, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    for columns in (60, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = call(*command.split(), "--help")[1].splitlines()
        assert max(map(len, lines)) < columns
    assert max(map(len, lines)) > 60
    assert "examples:" in lines


@pytest.mark.parametrize("command", [*command_names(), *COMMANDS])
def test_the_examples_of_help_are_command_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main([command, "--help"], further=COMMANDS)
    text = capsys.readouterr().out.partition("examples:\n")[2].replace("\\\n", " ")
    lines = [line.partition(">")[0] for line in text.splitlines() if line.startswith("  primax ")]
    assert lines
    module = import_command(command)
    for line in lines:
        parser = argparse.ArgumentParser()
        module.configure(parser)
        program, name, *arguments = shlex.split(line)
        assert (program, name) == ("primax", command)
        parser.parse_args(arguments)


def import_command(name: str) -> Any:
    return importlib.import_module(COMMANDS[name][1] if name in COMMANDS else f"primax.extend.commands.{name}")


def test_env_shows_what_a_bug_report_needs(call: Any, guest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMAX_SOMETHING", "7")
    monkeypatch.setenv("JAX_ACCESS_TOKEN", "hush")
    monkeypatch.setenv("UNRELATED", "8")
    with px.enable_x64(not px.config.enable_x64):
        text = call("env")[1]
        found = json.loads(call("env", "--json")[1])
    assert [line[:-1] for line in text.splitlines() if line.endswith(":")] == [
        "versions",
        "system",
        "devices",
        "options that are set",
        "variables",
        "plugins",
    ]
    assert found["versions"]["primax"] == px.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert found["options"]["enable_x64"] is not px.config.enable_x64
    assert found["variables"]["PRIMAX_SOMETHING"] == "7"
    assert "hush" not in text
    assert "UNRELATED" not in text
    assert re.search(r"^  guest +active", text, re.MULTILINE)
    assert {each["platform"] for each in found["platforms"]} >= {"cpu"}


def test_warnings_of_many_inactive_plugins_are_folded(capsys: pytest.CaptureFixture[str]) -> None:
    records: list[Any] = [types.SimpleNamespace(state="failed", reason=f"reason {number}") for number in range(9)]
    warn_of_inactive(records[:4])
    assert len(capsys.readouterr().err.splitlines()) == 4
    warn_of_inactive(records)
    *first, last = capsys.readouterr().err.splitlines()
    assert first == [f"primax: warning: reason {number}" for number in range(3)]
    assert last == "primax: warning: 6 more plugins failed or were refused; `primax plugins --load` shows them"


def test_the_version_is_shown(call: Any) -> None:
    assert call("--version")[:2] == (0, "primax 1.2.3 (plugin API 1.0)\n")


def test_the_program_that_is_installed_is_the_module(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = config["project"]["scripts"]["primax"].partition(":")
    assert module == "primax.__main__"
    monkeypatch.setattr("sys.argv", ["primax", "--version"])
    with pytest.raises(SystemExit) as ended:
        getattr(importlib.import_module(module), name)()
    assert (ended.value.code, capsys.readouterr().out.split()[:2]) == (0, ["primax", px.__version__])


def test_help_names_the_commands_and_exit_codes(call: Any) -> None:
    code, out, _ = call("--help")
    assert code == 0
    for word in ("plugins", "rules", "why", "check", "draw", "new", "exit codes", "a check failed"):
        assert word in " ".join(out.split())
    code, out, _ = call("rules", "--help")
    assert code == 0
    assert "--missing" in out


def test_no_command_is_an_error_and_shows_them(call: Any) -> None:
    code, out, err = call()
    assert (code, out) == (2, "")
    assert "plugins" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("plugin", "there is no command 'plugin'; did you mean 'plugins'?"),
        ("plugins trigonometri", "there is no plugin 'trigonometri'; did you mean 'trigonometry'?"),
        ("rules sine", "there is no primitive 'sine'; did you mean 'sin'?"),
        ("rules --plugin dott", "there is no plugin 'dott'; did you mean 'dot'?"),
        ("why sinnh jvp", "there is no primitive 'sinnh'; did you mean 'sinh'?"),
        ("why sin lowring", "there is no kind of rule 'lowring'; did you mean 'lowering'?"),
        ("check xyz", "there is no plugin 'xyz'; `primax plugins` lists them"),
        ("check trig", "there is no plugin 'trig'; did you mean 'trigonometry'?"),
        (
            "check sin",
            "there is no plugin 'sin'; the primitive is of another: primax check trigonometry --primitive sin",
        ),
        ("check dot --primitive sin", "there is no primitive of this plugin 'sin'"),
        ("check dot -k transpos", "there is no check 'transpos'; did you mean 'transpose'?"),
        ("why", "the following arguments are required: PRIMITIVE"),
    ],
)
def test_what_is_not_there_is_an_error_of_usage_that_names_the_nearest(call: Any, arguments: str, message: str) -> None:
    code, out, err = call(*arguments.split())
    assert (code, out) == (2, "")
    assert message in err


def test_a_plugin_is_shown_with_all_that_it_has_entered(call: Any, guest: Any) -> None:
    code, out, err = call("plugins", "guest")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[:2] == ["guest: active", "source explicit"]
    assert "primitives guest_double, guest_count" in lines
    assert any(
        line.startswith("guest_double impl derived from lowering tests/extend/test_commands.py:") for line in lines
    )
    assert "guest_double batch unsupported its hands are full" in lines
    override = next(
        i for i, line in enumerate(lines) if line.startswith("sin jvp overridden tests/extend/test_commands.py:")
    )
    assert lines[override + 1].startswith("in place of the one given by trigonometry (primax/plugins/trigonometry.py:")
    (record,) = json.loads(call("plugins", "guest", "--json")[1])
    assert [rule["kind"] for rule in record["rules"] if "replaced" in rule] == ["jvp"]


def test_records_are_public() -> None:
    records = {record.name: record for record in plugins(load=True)}
    assert list(records)[: len(PLUGINS)] == list(PLUGINS)
    trigonometry = records["trigonometry"]
    assert (trigonometry.source, trigonometry.state, trigonometry.version) == ("built-in", "active", px.__version__)
    assert "sin" in trigonometry.primitives


def test_the_matrix_has_a_mark_for_each_origin(call: Any, guest: Any) -> None:
    code, out, _ = call("rules", "guest_double", "guest_count", "sin", "cumsum")
    header, *rows = [line.split() for line in out.splitlines()]
    assert code == 0
    assert header[:8] == "primitive plugin impl abstract_eval jvp transpose batch lowering".split()
    marks = {row[0]: "".join(row[2:8]) for row in rows if len(row) == len(header)}
    assert marks == {"cumsum": ".+++++", "guest_count": ".+...+", "guest_double": "d+d!x+", "sin": ".+o.++"}
    assert "batch: its hands are full" in out
    assert "lowering[cuda]: given by guest" in out
    assert "+ given   d derived   o overridden   x unsupported   ! missing   . not needed" in out
    assert out.endswith("primitives: 4, missing rules: 1\n")


def test_the_matrix_is_narrowed_to_a_plugin_and_to_what_is_missing(call: Any, guest: Any) -> None:
    code, out, _ = call("rules", "--plugin", "guest", "--missing", "--json")
    found = json.loads(out)
    assert code == 1
    assert list(found) == ["guest_double"]
    assert found["guest_double"]["rules"]["transpose"] == {"status": "missing"}
    assert found["guest_double"]["rules"]["batch"] == {"status": "unsupported", "reason": "its hands are full"}
    source = found["guest_double"]["rules"]["lowering"]["sources"]["lowering[cuda]"]
    assert (source["plugin"], source["file"]) == ("guest", __file__)
    assert call("rules", "--plugin", "trigonometry", "--missing")[0] == 0


def test_every_primitive_is_in_the_matrix(call: Any) -> None:
    found = json.loads(call("rules", "--json")[1])
    assert {"sin", "jit", "dot_general"} <= found.keys()
    assert list(found) == sorted(found)
    assert found["jit"]["rules"]["batch"]["sources"].keys() == {"axis_batch"}


def test_the_matrix_shows_the_rules_of_transformations_from_outside(call: Any) -> None:
    new_rule_table("taste", "(values, **params) -> values")
    try:
        assert json.loads(call("rules", "sin", "--json")[1])["sin"]["rules"]["taste"] == {"status": "missing"}
        assert "taste" in call("rules", "sin")[1].splitlines()[0]
        assert call("why", "sin", "taste")[0] == 1
    finally:
        del rule_tables["taste"]


def test_a_matrix_fits_its_terminal_and_loses_nothing(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = call("rules")[1]
    monkeypatch.setattr("primax.extend.commands.rules.terminal_width", lambda: 80)
    narrow = call("rules")[1]
    assert max(map(len, narrow.splitlines())) <= 80
    kinds = wide.splitlines()[0].split()
    assert set(kinds) <= set(narrow.split())
    assert wide.count("!") == narrow.count("!")


def test_names_without_an_encoding_are_shown_with_backslashes(call: Any) -> None:
    define_primitive("odd\ud800", impl=lambda x: x)
    assert "odd\\ud800" in call("rules")[1]
    assert sys.stdout.errors == "strict"


def test_why_names_plugin_distribution_file_and_line(call: Any) -> None:
    code, out, _ = call("why", "sin", "jvp")
    assert code == 0
    assert out.startswith("jvp of sin: given\n")
    assert "trigonometry (built-in)" in out
    assert f"primax-core {px.__version__}" in out
    assert "trigonometry.py:" in out


def test_why_without_a_kind_lists_all_rules(call: Any, guest: Any) -> None:
    code, out, _ = call("why", "guest_double")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 1  # its transpose rule is missing
    assert lines[:3] == ["guest_double", "plugin guest (explicit)", "does Twice its argument."]
    assert any(line.startswith("impl derived from lowering tests/extend/test_commands.py:") for line in lines)
    assert lines[lines.index("batch unsupported") + 1] == "its hands are full"
    assert "transpose missing" in lines
    assert any(line.startswith("not needed: partial_eval, ") for line in lines)
    out = call("why", "sin")[1]
    assert re.search(r"^jvp +overridden +guest +tests/", out, re.MULTILINE)
    assert "in place of the one given by trigonometry (primax/plugins/trigonometry.py:" in out
    found = json.loads(call("why", "sin", "--json")[1])
    assert (found["primitive"], found["rules"]["jvp"]["status"]) == ("sin", "overridden")


def test_why_names_the_place_of_the_code_of_a_rule_that_a_factory_made(call: Any) -> None:
    assert "code at" not in call("why", "gather", "batch")[1]  # the rule is a function, defined there
    out = call("why", "add", "batch")[1]
    defined, code = (next(line for line in out.splitlines() if text in line) for text in ("defined at", "code at"))
    assert "arithmetic" in defined
    assert re.search(r"code at +.*batching\.py:[1-9]\d*$", code)


def test_why_tells_an_override_from_what_it_replaced(call: Any, guest: Any) -> None:
    code, out, _ = call("why", "sin", "jvp")
    assert code == 0
    assert out.startswith("jvp of sin: overridden\n")
    assert f"tests/extend/test_commands.py:{_sine_jvp.__code__.co_firstlineno}" in out
    assert "Another derivative of the sine." in out
    assert "the one given by trigonometry (" in out
    found = json.loads(call("why", "sin", "jvp", "--json")[1])
    assert found["status"] == "overridden"
    assert found["sources"]["jvp"]["replaced"]["plugin"] == "trigonometry"


def test_why_tells_what_a_rule_is_derived_from(call: Any, guest: Any) -> None:
    code, out, _ = call("why", "guest_double", "impl")
    assert code == 0
    assert out.startswith("impl of guest_double: derived from lowering\n")
    assert "Twice its argument." in out


def test_why_shows_the_lowering_of_each_platform(call: Any, guest: Any) -> None:
    out = call("why", "guest_double", "lowering")[1]
    assert "lowering of guest_double: given" in out
    assert "lowering[cuda] of guest_double: given" in out


@pytest.mark.parametrize(
    ("kind", "code", "text"),
    [
        ("transpose", 1, "no transpose rule for primitive 'guest_double'"),
        ("batch", 1, "does not support batch: its hands are full"),
        ("dce", 0, "guest_double has no dce rule and needs none: it is removed"),
    ],
)
def test_why_explains_what_is_not_there(call: Any, guest: Any, kind: str, code: int, text: str) -> None:
    found, out, _ = call("why", "guest_double", kind)
    assert found == code
    assert text in out
    assert text in json.loads(call("why", "guest_double", kind, "--json")[1])["explanation"]


def test_check_says_what_holds(call: Any, guest: Any) -> None:
    code, out, err = call("check", "guest", "--primitive", "guest_double", "-k", "lowering", "-k", "samples")
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split() == ["guest_double", "2", "0", "0"]
    assert re.search(r"\n2 passed, 0 failed, 0 not run, \d+\.\d s, seed 0\n$", out)


def test_check_folds_what_was_not_run_and_draws_other_directions_from_a_seed(call: Any, guest: Any) -> None:
    arguments = ("check", "guest", "--primitive", "guest_double", "-k", "parameters", "-k", "jvp")
    code, out, _ = call(*arguments)
    assert code == 0
    assert "1 passed, 0 failed, 1 not run for 1 reason, which -v lists, " in out
    verbose = call(*arguments, "-v", "--seed", "7")[1]
    assert "not run  parameters: there are no other samples" in verbose or "not run  parameters: no other" in verbose
    assert verbose.endswith("s, seed 7\n")
    x = np.ones(8, np.float32)
    first = values.direction(x, 0)
    with values.directions_of_seed(7):
        assert not np.array_equal(values.direction(x, 0), first)
    assert np.array_equal(values.direction(x, 0), first)


def test_check_says_what_does_not_hold_and_where_to_look(
    call: Any, guest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: Any = ad.zero_jvp(host.primitives["guest_double"])
    monkeypatch.setitem(rule_tables["jvp"].functions, host.primitives["guest_double"], wrong)
    code, out, _ = call("check", "guest", "--primitive", "guest_double", "-k", "jvp")
    assert code == 1
    assert "failed   guest_double[0]::jvp" in out
    assert "look at its jvp rule" in out
    report = json.loads(call("check", "guest", "-k", "jvp", "--json")[1])
    assert not report["ok"]
    failed = {each["primitive"] for each in report["outcomes"] if each["status"] == "failed"}
    assert failed == {"guest_double", "sin"}  # it also gives a wrong rule to another plugin's primitive


def test_a_new_package_is_discovered_and_passes_its_own_tests(call: Any, tmp_path: Path) -> None:
    code, out, err = call("new", "My_Plugin", "--into", str(tmp_path), "--json")
    assert (code, err) == (0, "")
    written = json.loads(out)
    assert (written["distribution"], written["module"]) == ("my-plugin", "my_plugin")
    folder = tmp_path / "my-plugin"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == set(written["files"])
    assert not [path for path in folder.rglob("*") if path.is_file() and re.search(r"\$\w", path.read_text())]
    site = install(tmp_path / "site", folder)
    done = primax("plugins", "my-plugin", "--json", site=site)
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    assert (record["state"], record["api"], record["primitives"]) == ("active", "v1_0", ["my_plugin_axpy"])
    kinds = [rule["kind"] for rule in record["rules"]]
    assert kinds == ["impl", "abstract_eval", "jvp", "transpose", "batch", "lowering"]
    file = site / "my_plugin" / "primax.json"
    right = file.read_text()
    file.write_text('{"primitives": {}, "extends": [], "others": ["effect my_plugin.Gone"], "proven": true}')
    done = primax("metadata", "my-plugin", site=site)
    assert (done.returncode, f"{file} has other contents" in done.stdout) == (1, True), done.stderr
    done = primax("metadata", "my-plugin", "--write", site=site)
    assert (done.returncode, done.stdout) == (0, f"{file} has been written\n"), done.stderr
    assert json.loads(file.read_text()) == {"proven": True, **json.loads(right)}
    file.unlink()
    assert primax("metadata", "my-plugin", "--write", site=site).returncode == 0
    assert file.read_text() == right
    tests = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "primax_pytest", folder],
        env=clean_environment(PYTHONPATH=str(site), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout
    assert "failed" not in tests.stdout


def test_plugins_of_one_package_share_a_file(call: Any, tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.install("pair", entry_points="[primax]\none = pair\ntwo = pair.two\nalone = lonely\n")
    home = tmp_path / "pair"
    home.mkdir()
    source = (
        "from primax.extend import hookimpl\n@hookimpl\ndef primax_register(registry):\n    registry.functions(f=abs)\n"
    )
    for path in (home / "__init__.py", home / "two.py", tmp_path / "lonely.py"):
        path.write_text(source)
    file = home / "primax.json"
    assert primax("metadata", "two", "--write", site=tmp_path).returncode == 0
    described = {"primitives": {}, "extends": [], "others": ["function f"]}
    assert json.loads(file.read_text()) == {"plugins": {"one": described, "two": described}}
    done = primax("metadata", "alone", "--write", site=tmp_path)
    assert (done.returncode, "alone must be in a package, which has a folder for the file" in done.stderr) == (2, True)
    code, _, err = call("metadata", "dot", "--write")
    assert (code, "dot must be the plugin of an installed package, and it is built-in" in err) == (2, True)


def test_a_kind_that_there_is_none_of_is_refused(call: Any, tmp_path: Path) -> None:
    code, _, err = call("new", "mine", "--kind", "elementwize", "--into", str(tmp_path))
    assert code == 2
    assert "elementwise" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["2fast", "a/b", "..", "", "my plugin", "class", "json", "numpy", "sorting", "-x", "ä"]
)
def test_names_that_cannot_be_packages_are_refused(call: Any, tmp_path: Path, name: str) -> None:
    code, _, err = call("new", "--into", str(tmp_path), "--", name)
    assert code == 2
    assert "NAME must" in err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(call: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert call("new", "mine", "--into", str(tmp_path))[0] == 2
    assert list((tmp_path / "mine").iterdir()) == []
    code, _, err = call("new", "mine", "--into", str(tmp_path / "nowhere"))
    assert code == 2
    assert "there is no folder" in err


def test_nothing_half_written_remains(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skeleton = tmp_path / "skeleton"
    shutil.copytree(Path(px.extend.__file__).parent / "commands" / "skeleton", skeleton)
    (skeleton / "test_linear.py.in").unlink()
    monkeypatch.setattr("primax.extend.commands.new._SKELETON", skeleton)
    (tmp_path / "here").mkdir()
    code, _, err = call("new", "mine", "--into", str(tmp_path / "here"))
    assert code == 2
    assert "cannot be written" in err
    assert list((tmp_path / "here").iterdir()) == []


def test_a_table_that_is_too_wide_is_split_after_its_first_column() -> None:
    text = render(["name", "first", "second"], [["a", "1", "2"], ["longer", "3", "4"]], 14)
    assert text.splitlines() == [
        "name    first",
        "a       1",
        "longer  3",
        "",
        "name    second",
        "a       2",
        "longer  4",
    ]


def test_notes_are_wrapped_beneath_their_rows_and_never_cut() -> None:
    path = "/a/path/that/is/longer/than/the/line.py"
    text = render(["name"], [["a"], ["b"]], 24, ["", f"some words at {path}"])
    assert text.splitlines() == ["name", "a", "b", "    some words at", f"    {path}"]
    assert facts([("one", "1"), ("three", ""), ("four", "2\n3")]) == "  one   1\n  four  2 3"


def test_draw_prints_the_text_of_a_picture(call: Any) -> None:
    code, out, err = call("draw", "primax.numpy:hypot", "f32[3]", "float32[1]")
    assert (code, err) == (0, "")
    assert out.startswith('digraph "hypot" {')
    assert "f32[3]" in out
    assert out.endswith("}\n")


def test_draw_writes_files_and_plain_data(call: Any, tmp_path: Path) -> None:
    target = tmp_path / "relu.dot"
    code, out, _ = call("draw", "primax.nn:relu", "bf16", "--out", str(target))
    assert code == 0
    assert out.startswith(f"{target} has been written: 5 equations (calls 1, ")
    code, out, _ = call("draw", "primax.nn:relu", "bfloat16[]", "--json")
    assert code == 0
    assert json.loads(out)["dot"] == target.read_text(encoding="utf-8")
    assert json.loads(out)["plugins"] == {"calls": 1, "comparison": 1, "arithmetic": 1, "structural": 2}


def test_draw_says_in_three_lines_why_a_module_cannot_be_imported(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_module.py").write_text("def f():\n    return undefined\n\nx = f()\n")
    (tmp_path / "misspelt_module.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert call("draw", "failing_module:f") == (
        2,
        "",
        "primax: draw: module 'failing_module' cannot be imported:\n"
        "  NameError: name 'undefined' is not defined\n  at failing_module.py:2, in f\n",
    )
    lines = call("draw", "misspelt_module:f")[2].splitlines()
    assert lines[1].startswith("  SyntaxError: ")
    assert lines[2:] == ["  at misspelt_module.py:1"]


def test_draw_finds_modules_where_it_is_run(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drawn_module.py").write_text("class Layer:\n    def double(x):\n        return 2 * x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    code, out, _ = call("draw", "drawn_module:Layer.double", "i32[2]")
    assert code == 0
    assert "<B>mul</B>" in out


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (
            ["primax.numpy"],
            2,
            "a function is written as MODULE:FUNCTION, such as primax.numpy:hypot, got",
        ),
        (["primax.nump:hypot"], 2, "module 'primax.nump' cannot be imported"),
        (["primax.numpy:hypo"], 2, "'primax.numpy' has no 'hypo'; did you mean 'hypot'?"),
        (["primax.numpy:pi"], 2, "'primax.numpy:pi' must be a function, got float"),
        (["primax.numpy:sin", "q3"], 2, "there is no dtype 'q3'"),
        (
            ["primax.numpy:sin", "f32[n]"],
            2,
            "a type is written as in 'f32[3,4]', 'int32[5]' or 'float32', got",
        ),
        (["primax.numpy:sin", "f32", "--out", "sin.jpg"], 2, "path must end in one of .dot, "),
        (["primax.numpy:sin", "f32", "--depth", "-1"], 2, "depth must be 0 or more, got -1"),
        (["primax.numpy:hypot", "f32[3]", "f32[4]"], 1, "primax.numpy:hypot raised ShapeError: hypot"),
    ],
)
def test_draw_says_what_is_wrong(call: Any, arguments: list[str], code: int, message: str) -> None:
    found, out, err = call("draw", *arguments)
    assert (found, out) == (code, "")
    assert err.startswith("primax: draw: ")
    assert message in err


def test_cache_shows_and_clears_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with compilation_cache_dir(tmp_path / "cache"):
        assert main(["cache", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["programs"] == 0
        px.jit(lambda x: x * 3.0 + 1.0)(np.ones(3, np.float32))
        assert main(["cache", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["folder"] == str(tmp_path / "cache")
        assert told["programs"] == 1
        assert 0 < told["bytes"] < told["most_bytes"]
        assert main(["cache"]) == 0
        assert "programs   1" in capsys.readouterr().out
        (tmp_path / "cache" / "notes.txt").write_text("mine")
        assert main(["cache", "--clear"]) == 0
        assert capsys.readouterr().out == f"Removed 1 program from {tmp_path / 'cache'}.\n"
        assert [path.name for path in (tmp_path / "cache").iterdir()] == ["notes.txt"]


def test_cache_says_when_nothing_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with compilation_cache_dir(None):
        assert main(["cache"]) == 1
        assert "PRIMAX_COMPILATION_CACHE_DIR" in capsys.readouterr().out
        assert main(["cache", "--json"]) == 1
        assert json.loads(capsys.readouterr().out) == {"folder": None}


def test_cache_that_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("no directory")
    with compilation_cache_dir(tmp_path / "file"):
        assert main(["cache"]) == 2
    assert "primax: cache:" in capsys.readouterr().err
