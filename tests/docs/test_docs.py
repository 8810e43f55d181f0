"""The code in the documents runs."""

from __future__ import annotations

import doctest
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import primax as px
import primax.numpy as pnp
from primax import config
from primax.core import experimental
from primax.extend.commands.coverage import coverage
from primax.extend.core import primitives, rule_tables

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
@pytest.mark.skipif(config.enable_x64, reason="the documents show 32-bit results")
def test_the_examples_of_a_document_run(path, monkeypatch):
    monkeypatch.setattr(experimental, "_warned", set())  # documents show a warning that is given once in a process
    # Pages in folders, and the page on errors, show whole messages.
    whole = path.name == "errors.md" or path.parent not in (ROOT, ROOT / "docs")
    more = doctest.ELLIPSIS if whole else doctest.IGNORE_EXCEPTION_DETAIL
    flags = doctest.NORMALIZE_WHITESPACE | more
    kinds = set(rule_tables)
    try:
        failed, tried = doctest.testfile(str(path), module_relative=False, optionflags=flags)
    finally:
        for kind in rule_tables.keys() - kinds:  # of rules that a document has introduced
            del rule_tables[kind]
    assert not failed
    assert tried or "```python" not in path.read_text()


def test_the_page_on_errors_has_a_section_for_each_class():
    sections = re.findall(
        "^## (.*)$", (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(sections) == sorted(px.errors.__all__)
    classes = [getattr(px.errors, name) for name in sections]
    assert {kind.__module__ for kind in classes} <= {"primax.errors", px.errors.XlaError.__module__}


def test_the_picture_of_the_readme_shows_the_rules_that_there_are():
    cells = re.findall(r"<title>(\w+): (\w+), ([\w ]+)</title>", (ROOT / "docs" / "images" / "rules.svg").read_text())
    assert len(cells) == 25
    for name, kind, status in cells:
        if name != "gauss":  # it is defined in the README
            assert coverage(getattr(primitives, f"{name}_p"), kind).status == status


def test_every_page_is_on_the_site_and_every_entry_leads_to_one():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r": ([\w/-]+\.md)$", site, re.MULTILINE))
    assert listed == {str(path.relative_to(ROOT / "docs")) for path in DOCUMENTS[1:]}


def test_the_picture_of_the_page_on_drawings_is_that_of_its_example():
    drawn = ElementTree.parse(ROOT / "docs" / "images" / "layer.svg").iter("{http://www.w3.org/2000/svg}text")
    bold = {node.text for node in drawn if node.get("font-weight") == "bold"}

    def layer(w, x):
        return px.lax.cond(pnp.sum(x) > 0, pnp.tanh, pnp.negative, x @ w)

    picture = px.visualize(layer, pnp.ones((3, 2)), pnp.ones(3))
    assert bold == set(re.findall(r"<B>(.*?)</B>", picture.dot))
