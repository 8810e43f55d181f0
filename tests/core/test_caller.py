"""The innermost line outside primax."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import Any

import pytest

from primax.core.caller import Author, author, is_surface, warn_caller

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_jaxlib]


def inside(module: str, call: str, **names: Any) -> Any:
    """The result of a call in a function of a module of this name."""
    names["__name__"] = module
    exec(compile(f"def function():\n    return {call}", "<inside>", "exec"), names)
    return names["function"]


def test_lines_of_the_interface_and_of_helpers_are_passed_over() -> None:
    inner = inside("primax.extend.made_up", "author()", author=author)
    outer = inside("functools", "inner()", inner=inner)
    found, line = outer(), sys._getframe().f_lineno
    assert (found.module, found.file, found.line, found.top) == (__name__, __file__, line, False)
    assert found.level == 3


def test_a_plugin_is_an_author_unless_it_is_among_the_modules_that_are_inside() -> None:
    plugin = inside("primax.plugins.made_up", "author(*inside)", author=author, inside=())
    assert (plugin().module, plugin().file, plugin().line) == ("primax.plugins.made_up", "<inside>", 2)
    plugin.__globals__["inside"] = (("primax.",),)
    assert plugin().module == __name__


def test_a_line_of_a_module_is_in_no_function() -> None:
    names: dict[str, Any] = {"__name__": "made_up", "author": author}
    exec(compile("\n\nfound = author()", "<cell>", "exec"), names)
    found: Author = names["found"]
    assert (found.top, found.module, found.file, found.line) == (True, "made_up", "<cell>", 3)


def test_a_warning_points_at_the_line_outside_primax() -> None:
    warn = inside("primax.numpy.made_up", "warn_caller('careful', FutureWarning)", warn_caller=warn_caller)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        functools.partial(inside("primax.core.made_up", "warn()", warn=warn))()
    ((message, category, file),) = [(str(each.message), each.category, each.filename) for each in caught]
    assert (message, category, file) == ("careful", FutureWarning, __file__)


def test_the_surface_is_what_plugins_and_users_call() -> None:
    names = ("primax.core.trace", "primax.extend.core", "primax.interpreters.jvp", "primax.plugins.dot", "kepler")
    assert [is_surface(name) for name in names] == [True, True, True, False, False]
