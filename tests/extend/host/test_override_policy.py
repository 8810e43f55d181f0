"""Installed plugins that replace what others have given: when they are loaded, who lets them, what commands show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from distributions import Site
from processes import HANG

pytestmark = pytest.mark.usefixtures("in_32_bits")

SOURCE = """
from primax.extend import hookimpl
from primax.extend.core.primitives import sin_p


@hookimpl
def primax_register(registry):
    registry.define(sin_p, override=True, jvp=_sin_jvp)
    registry.operators(override=True, invert=lambda x: "NAME")


def _sin_jvp(primals, tangents, **params):
    return sin_p.bind(*primals, **params), FACTOR * tangents[0]
"""

PROGRAM = """
import sys
import primax as px, primax.numpy as pnp

def loaded():
    return [name for name in ("beta", "gamma") if name in sys.modules]

print(px.jit(pnp.tanh)(0.0), px.vmap(pnp.exp)(pnp.zeros(1)), px.grad(pnp.exp)(0.0), loaded())
print(px.jit(px.grad(pnp.sin))(0.0), ~pnp.asarray(True), loaded())
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Two plugins that replace the derivative of sin, and an operator."""
    site = Site(tmp_path)
    for name, factor in (("beta", "100"), ("gamma", "1000")):
        site.install(name, entry_points=f"[primax]\n{name} = {name}\n")
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text(SOURCE.replace("NAME", name).replace("FACTOR", factor))
        said = {"primitives": {}, "extends": ["sin jvp"], "others": ["operator invert"]}
        (folder / "primax.json").write_text(json.dumps(said))
    return site


def _run(site: Site, *arguments: str, order: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(site.folder), "PRIMAX_ALLOW_OVERRIDES": order, "COLUMNS": "400"}
    env.pop("PRIMAX_PLUGINS", None)
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=env, timeout=HANG)


@pytest.mark.parametrize(
    ("order", "result"),
    [
        ("", "1.0 False ['beta', 'gamma']"),
        ("beta", "100.0 beta ['beta', 'gamma']"),
        ("beta,gamma", "1000.0 gamma ['beta', 'gamma']"),
        ("gamma,beta", "100.0 beta ['beta', 'gamma']"),
    ],
)
def test_what_replaces_a_derivative_is_loaded_when_its_primitive_is_used(site: Site, order: str, result: str) -> None:
    done = _run(site, "-c", PROGRAM, order=order)
    assert done.stdout.splitlines() == ["0.0 [1.] 1.0 []", result]
    assert done.stderr.count("PluginWarning") == 2 - len([name for name in order.split(",") if name])


def test_why_and_plugins_show_consent_and_order(site: Site) -> None:
    why = _run(site, "-m", "primax", "why", "sin", "jvp", order="gamma,beta").stdout
    assert "jvp of sin: overridden" in why
    assert "in place of   the one given by trigonometry" in why
    assert "consent       the user allows it; of 'gamma', 'beta' the last has priority" in why
    assert "The jvp rule of plugin 'gamma' has no effect: plugin 'beta' has priority, since the user allows it" in why
    shown = _run(site, "-m", "primax", "plugins", "gamma", order="gamma,beta").stdout
    assert "imported      by programs that import gamma or use operator invert, primitive sin" in shown
    assert re.search(r"no effect +the one overridden by beta \(.*\) has priority", shown)
    data = json.loads(_run(site, "-m", "primax", "plugins", "gamma", "--json", order="gamma,beta").stdout)
    assert data[0]["outranked"] == [
        {"what": "rule", "name": "sin", "kind": "jvp", "by": "beta"},
        {"what": "operator", "name": "invert", "kind": "", "by": "beta"},
    ]
    shown = _run(site, "-m", "primax", "plugins", "beta", order="gamma,beta").stdout
    assert "in place of the one given by trigonometry" in shown
    assert "in place of the one given by numpy" in shown
    refused = _run(site, "-m", "primax", "plugins", "beta")
    assert refused.returncode == 1
    assert "beta: refused" in refused.stdout
    assert "the user may call primax.plugins.allow_overrides('beta') or set PRIMAX_ALLOW_OVERRIDES=" in refused.stdout


def test_check_compares_the_file_with_what_is_entered(site: Site) -> None:
    right = _run(site, "-m", "primax", "check", "beta", "-k", "metadata", order="beta")
    assert right.returncode == 0, right.stdout
    (site.folder / "beta" / "primax.json").write_text(json.dumps({"primitives": {}, "extends": [], "others": []}))
    wrong = _run(site, "-m", "primax", "check", "beta", "-k", "metadata", order="beta")
    assert wrong.returncode == 1
    want = '{"primitives": {}, "extends": ["sin jvp"], "others": ["operator invert"]}'
    assert f"primax.json must be {want}" in wrong.stdout


MANY = """
from primax.extend import Definitions, define_primitive, derive, hookimpl

definitions = Definitions()
op_p = define_primitive(
    "op",
    impl=lambda x: NUMBER * x,
    elementwise=True,
    jvp=derive.linear,
    lowering=derive.from_impl,
    registry=definitions,
)


@hookimpl
def primax_register(registry):
    definitions.enter(registry)
"""

OVERRIDING = """
    from primax.extend.core.primitives import tan_p

    def jvp(primals, tangents, **params):
        return tan_p.bind(*primals, **params), NUMBER * tangents[0]

    registry.define(tan_p, override=True, jvp=jvp)
"""


def test_of_fifty_installed_plugins_a_program_imports_what_it_uses(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for i in range(50):
        name, overrides = f"many{i:02}", i % 10 == 0
        site.install(name, entry_points=f"[primax]\n{name} = {name}\n")
        folder = tmp_path / name
        folder.mkdir()
        source = MANY + (OVERRIDING if overrides else "")
        (folder / "__init__.py").write_text(source.replace("NUMBER", f"{i}.0"))
        kinds = ["abstract_eval", "batch", "impl", "jvp", "lowering", "sharding"]
        said = {"primitives": {"op": kinds}, "extends": ["tan jvp"] if overrides else [], "others": []}
        (folder / "primax.json").write_text(json.dumps(said))
    done = _run(
        site,
        "-c",
        """
import sys
import primax as px, primax.numpy as pnp

def imported():
    return sorted(name for name in sys.modules if name.startswith("many"))

print(px.jit(px.vmap(px.grad(lambda x: pnp.sin(x) * x)))(pnp.zeros(1)), px.jit(pnp.tanh)(0.0), imported())
import many07, many31
print(px.make_jaxpr(lambda x: many07.op_p.bind(many31.op_p.bind(x)))(1.0).eqns[0], imported())
print(px.grad(pnp.tan)(0.0), imported())
""",
        order="many00,many10,many20,many30,many40",
    )
    overriding = [f"many{i}" for i in ("00", "07", "10", "20", "30", "31", "40")]
    assert done.stdout.splitlines() == [
        "[0.] 0.0 []",
        "a:f32[] = many31::op b ['many07', 'many31']",
        f"40.0 {overriding}",
    ], done.stderr
    assert done.stderr == ""


DIRECT = """
from primax.extend import core, hookimpl
from primax.extend.core.primitives import sin_p

calls = []


def check(context, x, **params):
    calls.append("check")
    return [x.aval], core.no_effects


def dce(used, eqn):
    calls.append("dce")
    return [True], eqn


def staging(trace, args, params):
    calls.append("staging")
    return trace.add_eqn(sin_p, args, [core.get_aval(args[0])], params, core.no_effects)[0]


def partial_eval_jaxpr(unknown_in, eqn):
    calls.append("partial_eval_jaxpr")
    return None, eqn, [True]


RULES = {"check": check, "dce": dce, "staging": staging, "partial_eval_jaxpr": partial_eval_jaxpr}


@hookimpl
def primax_register(registry):
    registry.define(sin_p, **{"KIND": RULES["KIND"]})
"""


@pytest.mark.parametrize("kind", ["check", "dce", "staging", "partial_eval_jaxpr"])
def test_a_rule_that_most_primitives_lack_is_loaded_when_the_primitive_is_used(tmp_path: Path, kind: str) -> None:
    site = Site(tmp_path)
    site.install("delta", entry_points="[primax]\ndelta = delta\n")
    (tmp_path / "delta").mkdir()
    (tmp_path / "delta" / "__init__.py").write_text(DIRECT.replace("KIND", kind))
    said = {"primitives": {}, "extends": [f"sin {kind}"], "others": []}
    (tmp_path / "delta" / "primax.json").write_text(json.dumps(said))
    done = _run(
        site,
        "-c",
        """
import sys
import primax as px
from primax import lax
from primax.extend import core
from primax.extend.interpreters import partial_eval as pe

def through(f):
    closed = px.make_jaxpr(f)(0.5)
    core.check_jaxpr(closed)
    core.dce_jaxpr(closed.jaxpr, [True])
    pe.partial_eval_jaxpr(closed, [True])
    return float(px.jit(px.grad(f))(0.0)), str(closed)

print(through(lax.tanh)[0], "delta" in sys.modules)
print(through(lax.sin)[0], "delta" in sys.modules)
print(sorted(set(sys.modules["delta"].calls)))
""",
    )
    assert done.stdout.splitlines() == ["1.0 False", "1.0 True", f"['{kind}']"], done.stderr
    assert "PluginWarning" not in done.stderr
