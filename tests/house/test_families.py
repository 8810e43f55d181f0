"""Families are spelt alike: a table of rules, and one loop that enters it."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from checkout import FAMILIES, ROOT

from primax.extend import core
from primax.extend.core import primitives
from primax.extend.testing import samples_of

WITHOUT_PRIMITIVES = ("arrays",)
# These stand inside of shard_map alone, where types tell along which axes values vary.
OF_MESHES = """all_gather_invariant all_gather_reduced preduced pscatter psum_invariant pvary reduced_vary_cast
unreduced_psum unreduced_reduce_scatter vary_unreduced_cast"""
WITHOUT_SAMPLES = {*OF_MESHES.split()} | {
    *("add_of_type", "by_parts", "pack", "select_of_type", "unpack", "zeros_of_type"),  # of values that are no arrays
    *("from_spectrum", "singular_spectrum", "spectral_changes", "spectral_turns", "spectrum"),  # not linear
}


def _home(family: str) -> Path:
    folder = ROOT / "plugins" / family
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


@pytest.mark.parametrize("family", sorted({*FAMILIES} - {*WITHOUT_PRIMITIVES}))
def test_a_family_ends_with_a_table_and_the_loop_that_enters_it(family: str) -> None:
    table = importlib.import_module(f"primax.plugins.{family}").RULES
    assert table
    assert all(isinstance(p, core.Primitive) and rules for p, rules in table.items())
    last = ast.parse(_home(family).read_text(encoding="utf-8")).body[-1]
    assert isinstance(last, ast.FunctionDef)
    assert (last.name, ast.unparse(last.args)) == ("primax_register", "registry: core.Registry")
    entered = [node for node in ast.walk(last) if isinstance(node, ast.For) and "registry.define(" in ast.unparse(node)]
    assert [ast.unparse(loop.iter) for loop in entered] == ["RULES.items()"]
    assert ast.unparse(last).count("registry.define(") == 1


def test_every_primitive_of_the_families_has_samples() -> None:
    own = [name for name in primitives if primitives[name].plugin in FAMILIES]
    assert {name for name in own if not samples_of(primitives[name])} == WITHOUT_SAMPLES


def test_samples_are_called_after_a_family() -> None:
    names = {path.stem.partition("_invariants")[0] for path in (ROOT / "plugins" / "samples").glob("*.py")}
    assert names - {"__init__"} <= set(FAMILIES)
