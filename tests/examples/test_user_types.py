"""Types of somebody else: their packages install, are found by name, pass their own tests, and run with the demo."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from packages import LAZY, QUANTIZED, SWISH, UNITS, copy_of_example, install, run, run_beside

PACKAGES = (QUANTIZED, UNITS, LAZY)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("user_types")
    return install(folder / "site", *[copy_of_example(package, folder) for package in (*PACKAGES, SWISH)])


def test_values_of_three_packages_are_in_one_program(site: Path) -> None:
    program = """
        import primax as px
        import primax.numpy as pnp
        from primax_lazy import kron
        from primax_quantized import quantize
        from primax_units import m, quantity

        @px.jit
        def f(q, k, length):
            return quantity((q @ (k @ pnp.ones(4)))[0], m) + length

        args = quantize(pnp.ones((2, 4))), kron(pnp.eye(2), pnp.ones((2, 2))), quantity(1.0, m)
        print(f(*args))
        print(px.make_jaxpr(f)(*args).jaxpr.invars[0].aval.str_short())
        print(px.grad(lambda k: f(args[0], k, args[2]).magnitude)(args[1]).da)
        try:
            pnp.sin(args[0])
        except TypeError as error:
            print(error)
    """
    assert run_beside(site, program).splitlines() == [
        "Quantity(9.0, m)",
        "q8<4>[2,4]",
        "[[4. 4.]",
        " [4. 4.]]",
        "sin: its argument must be an array or a number, got a value of type q8<4>[2,4]; the package of QuantizedType, "
        "primax_quantized.array, has functions for it",
    ]


def test_the_kit_checks_a_package_by_its_entry_point(site: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "primax", "check", "units"]
    assert ", 0 failed," in run(command, tmp_path, PYTHONPATH=str(site)).stdout


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_passes_its_own_tests(site: Path, tmp_path: Path, package: Path) -> None:
    tests = copy_of_example(package, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    assert " passed" in run(command, tmp_path, PYTHONPATH=str(site)).stdout


@pytest.mark.slow
def test_the_network_reads_digits_with_weights_of_eight_bits(site: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    command = [sys.executable, "-W", "error", "-m", "digits.int8", "--epochs", "5"]
    printed = run(command, tmp_path, PYTHONPATH=f"{site}:{ROOT / 'examples'}").stdout
    (size, right), (small, still) = re.findall(r"([\d,]+) bytes of kernels, ([\d.]+)%", printed)
    assert int(small.replace(",", "")) < 0.3 * int(size.replace(",", ""))
    assert float(right) > 96
    assert float(still) > float(right) - 1


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_uses_public_names_only(package: Path) -> None:
    for source in package.rglob("*.py"):
        for line in source.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import primax", "from primax")):
                public = ("primax as px", "primax.numpy", "primax.extend", "from primax import lax", "primax_")
                assert any(name in line for name in public), f"{source.name}: {line}"
