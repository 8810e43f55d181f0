"""The surface of primax.extend is what has been recorded: a change of it is made on purpose."""

from __future__ import annotations

import difflib
import inspect

from surface import RECORD, public_modules, surface

import primax.extend
from primax.extend.host import hookspec


def difference(recorded, found):
    lines = difflib.unified_diff(recorded, found, "recorded", "found", lineterm="", n=0)
    return [line for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))]


def test_the_surface_is_the_recorded_one():
    changed = difference(RECORD.read_text(encoding="utf-8").splitlines(), surface())
    assert not changed, (
        "the surface of primax.extend has changed; enter it in CHANGELOG.md, and record it by "
        "`make surface`:\n" + "\n".join(changed)
    )


def test_a_change_of_a_name_or_of_a_signature_is_noticed():
    lines = surface()
    changed = [
        line.replace("core.get_aval: function(x)", "core.get_aval: function(value)")
        for line in lines
        if ".core.TraceTag" not in line
    ]
    assert difference(lines, changed) == [
        "-primax.extend.core.TraceTag: class()",
        "-primax.extend.core.get_aval: function(x)",
        "+primax.extend.core.get_aval: function(value)",
    ]


def test_the_layout_is_that_of_jax_extend():
    wanted = (
        "core core.primitives interpreters.ad interpreters.batching interpreters.partial_eval interpreters.mlir "
        "linear_util sharding backend ffi source_info_util testing"
    ).split()
    assert {f"primax.extend.{name}" for name in wanted} <= set(public_modules())


def test_the_version_of_the_surface_is_the_one_that_plugins_are_held_to():
    assert primax.extend.API_VERSION is hookspec.API_VERSION
    assert all(inspect.isclass(type(part)) and part >= 0 for part in primax.extend.API_VERSION)
