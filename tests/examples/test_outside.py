"""Packages from `primax new`, outside of primax, pass the kit, their own tests, ruff and mypy."""

from __future__ import annotations

import pytest
from outside import COMPILER, PACKAGES, Package, Workshop


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    made = Workshop(tmp_path_factory.mktemp("outside"))
    made.build()
    return made


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_passes_the_kit_and_its_own_tests(package: Package, workshop: Workshop) -> None:
    if package.kind == "ffi" and COMPILER is None:
        pytest.skip("there is no C++ compiler on the path")
    assert ", 0 failed" in workshop.check(package)
    # The kit has run.
    assert " passed" in workshop.test(package, "-k", "not test_every_rule_holds")


def test_ruff_and_mypy_accept_the_packages(workshop: Workshop) -> None:
    workshop.lint()


def test_the_file_of_a_changed_package_is_up_to_date(workshop: Workshop) -> None:
    (package,) = (package for package in workshop.packages if package.name == "interval-rules")
    assert "is up to date" in workshop.run(workshop.python, "-m", "primax", "metadata", package.name)
