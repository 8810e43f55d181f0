"""A generator of somebody else: its package installs, is found by name, and passes its own tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from packages import PHILOX, copy_of_example, install, run, run_beside


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("philox")
    return install(folder / "site", copy_of_example(PHILOX, folder))


def test_the_generator_is_found_by_its_name(site: Path) -> None:
    program = """
        import primax as px
        key = px.random.key(0, impl="philox")
        print(key.dtype, px.random.normal(key, (3,)).shape)
    """
    assert run_beside(site, program) == "key<phi> (3,)\n"


def test_what_is_not_installed_is_not_found() -> None:
    program = 'import primax as px\ntry:\n    px.random.key(0, impl="philox")\nexcept ValueError as e:\n    print(e)'
    printed = run([sys.executable, "-c", program], Path.cwd(), PRIMAX_PLUGINS="").stdout
    assert "impl must be a generator of an active plugin" in printed


@pytest.mark.slow
def test_the_package_passes_its_own_tests(site: Path, tmp_path: Path) -> None:
    tests = copy_of_example(PHILOX, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    assert " passed" in run(command, tmp_path, PYTHONPATH=str(site)).stdout


def test_the_package_uses_public_names_only() -> None:
    for source in PHILOX.rglob("*.py"):
        for line in source.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import primax", "from primax")):
                public = ("primax as px", "primax.numpy", "primax.extend", "primax_philox")
                assert any(name in line for name in public), f"{source.name}: {line}"
