"""The user's lines among those of a program."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from primax.core import source_info
from primax.core.source_info import (
    Frame,
    ScopedSource,
    scope_of,
    scoped,
    summarize,
    transposed,
    user_frames,
    user_lines,
)
from primax.core.trace_state import thread

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]

INSIDE = source_info.__file__
PROCESS = Frame(INSIDE, 1, "JVPTrace.process")
BIND = Frame(INSIDE, 2, "Primitive.bind")


def traceback(*frames: Frame) -> Any:
    return SimpleNamespace(
        frames=[SimpleNamespace(file_name=f.file, line_num=f.line, function_name=f.function) for f in frames]
    )


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Frame:
    """A line of an installed plugin."""
    monkeypatch.setattr(source_info, "_plugin_files", set())
    source_info.register_plugin_files("/site/kepler/")
    return Frame("/site/kepler/rules.py", 7, "rule")


USER = Frame("/mine/program.py", 3, "main")
OUTER = Frame("/mine/program.py", 9, "<module>")


def test_lines_of_primax_and_of_plugins_are_left_out_unless_there_are_no_others(plugin: Frame) -> None:
    assert user_frames(traceback(BIND, plugin, USER, OUTER)) == [USER, OUTER]
    assert user_frames(traceback(BIND, plugin)) == [plugin]
    assert user_frames(traceback(BIND)) == []
    assert user_frames(None) == []
    assert summarize(traceback(BIND, USER)) == "/mine/program.py:3 (main)"
    assert summarize(traceback(BIND)) == "an unknown line"


def test_a_line_in_a_rule_is_shown_with_the_line_for_which_the_rule_is_applied(plugin: Frame) -> None:
    assert user_lines([BIND, USER, OUTER]) == str(USER)
    assert user_lines([BIND, USER, PROCESS, BIND, OUTER]) == f"{USER}, for {OUTER}"
    assert user_lines([BIND, plugin, PROCESS, USER]) == f"{plugin}, for {USER}"
    assert user_lines([BIND, plugin, USER]) == str(USER)
    assert user_lines([BIND, plugin]) == str(plugin)
    assert user_lines([BIND]) == ""


def test_what_is_registered_for_exclusion_is_internal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_info, "_excluded", {})
    assert not source_info.is_internal("/mine/library/transforms.py")
    source_info.register_exclusion("/mine/library/")
    assert source_info.is_internal("/mine/library/transforms.py")
    assert not source_info.is_internal("/mine/library.py")
    assert source_info.is_internal("<frozen runpy>")
    with pytest.raises(TypeError, match=r"^register_exclusion: path must be a str, got 3$"):
        source_info.register_exclusion(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^register_exclusion: path must not be empty, got ''$"):
        source_info.register_exclusion("")


def test_a_source_has_the_scopes_in_which_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scoped("a line") == "a line"
    monkeypatch.setattr(thread, "scope", "outer/inner")
    source = scoped("a line")
    assert source == ScopedSource("outer/inner", "a line")
    assert (scope_of(source), scope_of("a line"), source_info.attributes_of(source)) == ("outer/inner", "", ())
    monkeypatch.setattr(thread, "scope", "other")
    assert scoped(source) is source
    assert str(source) == "a line\nin the scope outer/inner"


@pytest.mark.parametrize(
    "scope, name",
    [
        ("layer", "transpose(layer)"),
        ("jvp(layer)", "transpose(jvp(layer))"),
        ("outer/jvp(layer)/inner", "outer/transpose(jvp(layer))/inner"),
        ("transpose(jvp(layer))", "transpose(jvp(layer))"),
    ],
)
def test_a_transposed_operation_is_named_as_such(scope: str, name: str) -> None:
    assert transposed(ScopedSource(scope, "a line", (("a", "b"),))) == ScopedSource(name, "a line", (("a", "b"),))
    assert transposed("a line") == "a line"


def test_the_function_that_the_user_calls_is_known_by_its_name() -> None:
    names: dict[str, Any] = {"called": source_info.called}
    program = """
def _reshape_(x):
    return called()

class Made:
    def __init__(self):
        self.by = called()
"""
    exec(compile(program, INSIDE, "exec"), names)
    assert names["_reshape_"](3) == "reshape"
    assert names["Made"]().by == "Made"
