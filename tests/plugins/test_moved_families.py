"""Families that move out of the tree, renamed and with the imports of a third party, pass the kit."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from distributions import Site

import primax as px

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_release]  # the kit checks both word sizes

PROGRAM = """
import json, sys
import primax as px
from primax.extend.testing import check_plugin

report = check_plugin("outside")
print(json.dumps({
    "ok": report.ok, "passed": len(report.passed), "failed": [str(each) for each in report.failed][:5],
    "primitives": px.extend.plugins()[-1].primitives, "source": px.extend.plugins()[-1].source,
}))
"""


def _as_others_import(source: str, family: str) -> str:
    """A module of a family with the imports of a third party: primitives by name, functions from `primax.lax`."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("primax.plugins."):
            if node.module.split(".")[2] == family:
                continue
            homes: dict[str, list[str]] = {}
            for each in node.names:
                home = "extend.core.primitives" if each.name.endswith("_p") else "lax"
                assert home != "lax" or each.name in px.lax.__all__, f"{each.name} of {node.module} is not public"
                homes.setdefault(home, []).append(each.name)
            lines[node.lineno - 1 : node.end_lineno] = [
                f"from primax.{home} import {', '.join(names)}" for home, names in homes.items()
            ]
    text = "\n".join(lines) + "\n"
    text = text.replace(f"primax.plugins.samples.{family}", "outside.samples")
    text = re.sub(rf"primax\.plugins\.{family}\b", "outside", text)
    return re.sub(r'Primitive\("(\w+)"\)', r'Primitive("outer_\1")', text)


@pytest.mark.parametrize(
    "family, names",
    [
        ("convolution", 1),
        ("rounding", 6),
        pytest.param("trigonometry", 13, marks=pytest.mark.slow),
    ],
)
def test_a_family_that_moves_out_passes_the_kit(family: str, names: int, tmp_path: Path) -> None:
    folder = tmp_path / "outside"
    folder.mkdir()
    home = ROOT / "plugins" / family
    sources = {path: path.name for path in home.glob("*.py")} or {home.with_suffix(".py"): "__init__.py"}
    samples = ROOT / "plugins" / "samples" / f"{family}.py"
    for path, name in (*sources.items(), *([(samples, "samples.py")] if samples.exists() else [])):
        text = _as_others_import(path.read_text(encoding="utf-8"), family)
        assert "primax.plugins" not in text
        assert "primax.core" not in text
        (folder / name).write_text(text, encoding="utf-8")
    Site(tmp_path).install("outside", entry_points="[primax]\noutside = outside\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PRIMAX_PLUGINS": "outside"}
    run = subprocess.run(
        [sys.executable, "-W", "error::primax.errors.PluginWarning", "-c", PROGRAM],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    # Tests of primax compare its lowerings, which the kit wants an impl or a reference for.
    assert [each for each in found["failed"] if "nothing to compare with" not in each] == []
    assert (found["source"], len(found["primitives"])) == ("installed", names)
    assert found["passed"] > 10 * names
