"""The page on programs as data names every public attribute of programs, equations, variables and types."""

from __future__ import annotations

import re

import pytest
from checkout import ROOT

from primax.extend import core

PAGE = (ROOT / "docs" / "interpreters" / "programs-as-data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("cls", [core.Jaxpr, core.ClosedJaxpr, core.JaxprEqn, core.Var, core.Literal, core.ShapedArray])
def test_the_page_names_every_attribute(cls: type) -> None:
    named = {
        name
        for code in re.findall(r"`([^`]+)`", re.sub(r"(?s)```.*?```", "", PAGE))
        for name in re.findall(r"\w+", code)
    }
    public = {name for name in dir(cls) if not name.startswith("_")}
    assert len(public) > 0
    assert public <= named
