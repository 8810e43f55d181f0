"""The page about packages is made from a table, so what is added to the page must be in the table."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ecosystem.md").read_text(encoding="utf-8")
TABLE = tomllib.loads((ROOT / "tests" / "ecosystem" / "packages.toml").read_text(encoding="utf-8"))
ROW = re.compile(r"^\| (?P<name>[\w-]+) [\d.]\S* \|[^|]*\|[^|]*\| (?P<why>.*) \|$", re.MULTILINE)


def test_the_text_after_the_table_is_that_of_the_template() -> None:
    heading = "## Other packages"
    assert PAGE[PAGE.index(heading) :] == TABLE["text"][TABLE["text"].index(heading) :]


def test_each_reason_is_that_of_the_package() -> None:
    rows = list(ROW.finditer(PAGE))
    assert len(rows) > 30
    for row in rows:
        package = TABLE["package"][row["name"]]
        reasons = {package.get("why", package.get("note", ""))}
        if "(100.0 %)" in row[0]:  # a reason for what does not pass is left out if all passes
            reasons.add(package.get("note", ""))
        assert row["why"].strip() in reasons, row["name"]
