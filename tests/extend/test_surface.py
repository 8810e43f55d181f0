"""The surface of primax.extend is what has been recorded: a change of it is made on purpose."""

from __future__ import annotations

import difflib
import inspect
import re
import sys

import pytest
from checkout import ROOT
from surface import PROVISIONAL, RECORD, REFERENCE, names_of, public_modules, reference, surface

import primax.extend
from primax.extend.host import hookspec

SOURCES = (".py", ".in", ".md")


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


def test_the_reference_lists_the_promised_names():
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run `make surface`"


def test_few_names_are_promised_and_none_is_in_both_tiers():
    promised, provisional = names_of(provisional=False), names_of(provisional=True)
    assert len(promised) <= 355, f"promise less: what only the families of primax use belongs in {PROVISIONAL}"
    assert provisional
    objects = [[getattr(sys.modules[module], name) for module, name in tier] for tier in (promised, provisional)]
    in_both = set(map(id, objects[0])) & set(map(id, objects[1]))
    assert not [each for each in objects[0] if id(each) in in_both]


@pytest.mark.parametrize("folder", ["examples", "extend/commands/skeleton", "docs"])
def test_what_authors_copy_uses_promised_names(folder):
    paths = [path for path in (ROOT / folder).rglob("*.*") if path.suffix in SOURCES]
    # docs/kernel is for those who change primax: families share provisional names.
    texts = [path.read_text(encoding="utf-8") for path in paths if path.parent != ROOT / "docs" / "kernel"]
    assert texts
    imports = re.compile(rf"^(?:>>> )?(?:from|import) {re.escape(PROVISIONAL)}", re.MULTILINE)
    assert not [text for text in texts if imports.search(text)]


def test_the_package_of_provisional_modules_names_them_all():
    modules = [name for name in public_modules() if name.startswith(f"{PROVISIONAL}.")]
    assert [f"{PROVISIONAL}.{name}" for name in sys.modules[PROVISIONAL].__all__] == sorted(modules)


def test_every_name_of_the_kernel_that_is_provisional_has_a_user():
    paths = [path for room in ("extend", "plugins", "api") for path in (ROOT / room).rglob("*.py")]
    users = [path for path in paths if "extend/provisional" not in path.as_posix()]
    words = set(re.findall(r"\w+", "".join(path.read_text(encoding="utf-8") for path in users)))
    unused = [(module, name) for module, name in names_of(provisional=True) if name not in words]
    objects = [(module, name, getattr(sys.modules[module], name)) for module, name in unused]
    assert not [name for module, name, value in objects if getattr(value, "__module__", module) != module]


def test_the_layout_is_that_of_jax_extend():
    wanted = (
        "core core.primitives interpreters.ad interpreters.batching interpreters.partial_eval interpreters.mlir "
        "linear_util sharding backend ffi source_info_util testing"
    ).split()
    assert {f"primax.extend.{name}" for name in wanted} <= set(public_modules())


def test_the_version_of_the_surface_is_the_one_that_plugins_are_held_to():
    assert primax.extend.API_VERSION is hookspec.API_VERSION
    assert all(inspect.isclass(type(part)) and part >= 0 for part in primax.extend.API_VERSION)
