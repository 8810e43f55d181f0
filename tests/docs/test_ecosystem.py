"""The page about packages is made from a table, so what is added to the page must be in the table."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "ecosystem.md").read_text(encoding="utf-8")
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


@pytest.fixture(scope="module")
def runner() -> Any:
    """The program that runs the packages."""
    spec = importlib.util.spec_from_file_location("ecosystem_run", ROOT / "tests" / "ecosystem" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_checkout_has_a_package_and_tests(runner: Any, tmp_path: Path) -> None:
    with pytest.raises(runner.CheckoutError, match=r"must be a folder with the sources of a package, got '.*absent'"):
        runner.Checkout.of(tmp_path / "absent")
    with pytest.raises(runner.CheckoutError, match=r"has no package: none of pyproject.toml"):
        runner.Checkout.of(tmp_path)
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(version='1', name='Some.Package')\n")
    with pytest.raises(runner.CheckoutError, match="has no tests of some-package; sought tests/"):
        runner.Checkout.of(tmp_path)
    for name in ("some/inner_test.py", "docs/test_page.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    assert runner.Checkout.of(tmp_path) == runner.Checkout(tmp_path.resolve(), "some-package", ("some",))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert runner.Checkout.of(tmp_path) == runner.Checkout(tmp_path.resolve(), "other", ("tests",))


def test_a_run_of_some_packages_keeps_the_rows_of_the_others(runner: Any) -> None:
    assert runner.page({}, PAGE) == PAGE
    tests = {"passed on jax": 9, "reached": 8, "failed": {"a": "why"}, "collected": 20}
    entry = {
        "version": "1.0",
        "jax": "jax 1",
        "primax": "",
        "seed": 7,
        "seconds": 5,
        "program": "equal",
        "tests": tests,
    }
    row = runner.row_of("lineax", {**entry, "tests": {}, "checkout": entry})
    assert row.startswith("| lineax 1.0 | equal | 7 of 8 (87.5 %) of the repository's 20, in 5 s |")
    page = runner.page({"lineax": {**entry, "tests": {}, "checkout": entry}}, PAGE)
    assert row in page
    assert next(line for line in page.splitlines() if "| optax" in line) in PAGE
