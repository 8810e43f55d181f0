"""Fifty plugins that pip has installed, each with a primitive of its own: a program imports those that it uses."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest
from packages import require, run, run_beside

SOURCE = """
from primax.extend import Definitions, define_primitive, derive, hookimpl
from primax.extend.effects import Effect
from primax.extend.random import define_prng_impl, register_prng_impl
import primax.numpy as pnp

definitions = Definitions()
op_p = define_primitive(
    "op",
    impl=lambda x: NUMBER * x,
    elementwise=True,
    jvp=derive.linear,
    lowering=derive.from_impl,
    registry=definitions,
)


def seed(value):
    return pnp.full((1,), NUMBER, "uint32")


def split(key, shape):
    return pnp.broadcast_to(key, (*shape, 1))


def bits(key, width, shape):
    return pnp.broadcast_to(key[0], shape).astype(f"uint{width}")


@hookimpl
def primax_register(registry):
    definitions.enter(registry)
    ENTER
"""
KINDS = ["abstract_eval", "batch", "impl", "jvp", "lowering", "sharding"]
# What a plugin enters besides its primitive, which the file says so.
SORTS = {
    "operator invert": "registry.operators(override=True, invert=lambda x: 'inverted by NUMBER')",
    "aval fractions.Fraction": "import fractions; registry.aval(fractions.Fraction, lambda x: NUMBER)",
    "generator squares in primax.extend.random": (
        "register_prng_impl(define_prng_impl(key_shape=(1,), seed=seed, split=split, random_bits=bits, "
        "fold_in=lambda key, data: key, name='squares'), registry)"
    ),
    "function orbit": "registry.functions(orbit=lambda: NUMBER)",
}
PROGRAM = """
import sys
import primax as px, primax.numpy as pnp
from primax.extend import core

def imported():
    return sorted(name for name in sys.modules if name.startswith("many"))

print(px.jit(px.vmap(px.grad(lambda x: pnp.sin(x) * x)))(pnp.zeros(1)), px.random.key(0).shape, imported())
import fractions
import many07, many31
print(px.jit(px.vmap(lambda x: many07.op_p.bind(many31.op_p.bind(x))))(pnp.ones(1)))
print(px.make_jaxpr(many31.op_p.bind)(1.0).eqns[0], imported())
print(core.get_aval(fractions.Fraction(1, 2)), imported())
print(~pnp.ones(1, bool), imported())
print(px.random.key_data(px.random.key(3, impl="squares")), imported())
print(px.contrib.many40.orbit(), imported())
"""


def _wheel(folder: Path, number: int, enter: str, said: list[str]) -> Path:
    name = f"many{number:02}"
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": SOURCE.replace("ENTER", enter or "pass").replace("NUMBER", str(number)),
        f"{name}/primax.json": json.dumps({"primitives": {"op": KINDS}, "extends": [], "others": said}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[primax]\n{name} = {name}\n",
    }
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD")))
    return wheel


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where pip has installed fifty plugins, each with a primitive `op`, some with other things."""
    require(pip=22)
    folder = tmp_path_factory.mktemp("wheels")
    sorts = dict(zip(range(10, 50, 10), SORTS.items(), strict=True))
    wheels = []
    for number in range(50):
        said, enter = sorts.get(number, ("", ""))
        wheels.append(_wheel(folder, number, enter, [said] if said else []))
    options = ("--quiet", "--no-deps", "--no-index", "--no-compile", "--target", folder / "site")
    run([sys.executable, "-m", "pip", "install", *options, *wheels], cwd=folder)
    return folder / "site"


def test_of_fifty_plugins_that_pip_has_installed_a_program_imports_what_it_uses(site: Path) -> None:
    printed = run_beside(site, PROGRAM, PRIMAX_ALLOW_OVERRIDES="many10").splitlines()
    used = ["many07", "many31"]
    assert printed == [
        "[0.] () []",
        "[217.]",
        f"a:f32[] = many31::op b {used}",
        f"20 {['many07', 'many20', 'many31']}",
        f"inverted by 10 {['many07', 'many10', 'many20', 'many31']}",
        f"[30] {['many07', 'many10', 'many20', 'many30', 'many31']}",
        f"40 {['many07', 'many10', 'many20', 'many30', 'many31', 'many40']}",
    ]
