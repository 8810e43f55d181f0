"""Packages installed by pip: the example is used like a built-in family, and broken ones do no harm."""

from __future__ import annotations

import json
import re
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from packages import copy_of_checkout, copy_of_kepler, install, require, run, run_beside, write_package

# One worker runs all of these, so that the packages are built once.
pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]

USE = """
    import json, sys
    import primax as px

    assert not [name for name in sys.modules if "kepler" in name]  # importing primax imports no plugin

    import numpy as np
    import primax.numpy as pnp
    from primax_kepler import kepler

    M, e = np.linspace(-5.0, 5.0, 6).astype(np.float32), np.linspace(0.1, 0.9, 6).astype(np.float32)
    m, c, one = M[1], e[1], np.float32(1)
    loss = lambda M, e: pnp.sum(kepler(M, e))
    out, pullback = px.vjp(kepler, M, e)
    linear_out, linear = px.linearize(kepler, M, e)
    traced = px.make_jaxpr(px.jit(px.vmap(px.grad(kepler))))(M, e)
    print(json.dumps(
        {
            "eager": kepler(M, e).tolist(),
            "jit": px.jit(kepler)(M, e).tolist(),
            "vmap": px.vmap(kepler)(M, e).tolist(),
            "vmap of jit": px.vmap(px.jit(kepler))(M, e).tolist(),
            "vjp, value": out.tolist(),
            "linearize, value": linear_out.tolist(),
            "grad": px.grad(loss)(M, e).tolist(),
            "vmap of grad": px.vmap(px.grad(kepler))(M, e).tolist(),
            "jit of vmap of grad": px.jit(px.vmap(px.grad(kepler)))(M, e).tolist(),
            "jit of grad of vmap": px.jit(px.grad(lambda M: pnp.sum(px.vmap(kepler)(M, e))))(M).tolist(),
            "grad of jit": px.grad(px.jit(loss))(M, e).tolist(),
            "jvp": px.jvp(lambda M: kepler(M, e), (M,), (np.ones_like(M),))[1].tolist(),
            "linearize": linear(np.ones_like(M), np.zeros_like(e)).tolist(),
            "vjp": pullback(np.ones_like(M))[0].tolist(),
            "jacfwd": np.diag(px.jacfwd(kepler)(M, e)).tolist(),
            "jacrev": np.diag(px.jacrev(kepler)(M, e)).tolist(),
            "grad by e": px.grad(loss, argnums=1)(M, e).tolist(),
            "vmap of hessian": px.vmap(px.hessian(kepler))(M, e).tolist(),
            "vmap of jvp of grad": px.vmap(
                lambda m, c: px.jvp(lambda x: px.grad(kepler)(x, c), (m,), (one,))[1]
            )(M, e).tolist(),
            "names": str(traced).count("kepler"),
            "state": px.extend.host.plugin_host.host.record("kepler").state,
        }
    ))
"""


@pytest.fixture(scope="module")
def kepler_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the example package installed."""
    folder = tmp_path_factory.mktemp("kepler")
    return install(folder / "site", copy_of_kepler(folder))


@pytest.fixture(scope="module")
def used(kepler_site: Path) -> dict[str, Any]:
    """What the example gave under every transformation."""
    return json.loads(run_beside(kepler_site, USE))


def truth() -> dict[str, np.ndarray]:
    """E and its derivatives in double precision."""
    M, e = np.linspace(-5.0, 5.0, 6).astype(np.float32), np.linspace(0.1, 0.9, 6).astype(np.float32)
    M, e = M.astype(np.float64), e.astype(np.float64)
    E = M + 0.85 * e * np.sign(np.sin(M))
    for _ in range(30):
        E -= (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    slope = 1 / (1 - e * np.cos(E))
    return {"value": E, "by M": slope, "by e": np.sin(E) * slope, "twice by M": -e * np.sin(E) * slope**3}


@pytest.mark.parametrize(
    ("wanted", "way"),
    [
        *(("value", way) for way in ("eager", "jit", "vmap", "vmap of jit")),
        *(("value", way) for way in ("vjp, value", "linearize, value")),
        *(("by M", way) for way in ("jvp", "linearize", "vjp", "jacfwd", "jacrev", "grad", "grad of jit")),
        *(("by M", way) for way in ("vmap of grad", "jit of vmap of grad", "jit of grad of vmap")),
        ("by e", "grad by e"),
        ("twice by M", "vmap of hessian"),
        ("twice by M", "vmap of jvp of grad"),
    ],
)
def test_an_installed_package_works_under_every_transformation(wanted: str, way: str, used: dict[str, Any]) -> None:
    np.testing.assert_allclose(used[way], truth()[wanted], rtol=1e-5, atol=1e-5)


def test_an_installed_package_is_activated_by_using_it(used: dict[str, Any]) -> None:
    assert used["state"] == "active"
    assert used["names"] >= 1


def test_an_installed_package_can_be_blocked_and_is_then_named(kepler_site: Path) -> None:
    program = """
        import primax as px
        from primax_kepler import kepler
        try:
            kepler(1.0, 0.5)
        except NotImplementedError as error:
            print(error)
        print(px.grad(lambda x: x * x)(3.0))
    """
    for variable, value in (("PRIMAX_DISABLE_PLUGINS", "kepler"), ("PRIMAX_PLUGINS", "")):
        printed = run_beside(kepler_site, program, **{variable: value})
        assert "'kepler'" in printed
        assert f"(primax-kepler 1.0.0, primax_kepler) is blocked: {variable}" in printed
        assert printed.endswith("6.0\n")


@dataclass(frozen=True, slots=True)
class Broken:
    """A package without which primax continues.

    Attributes:
      distribution, version, plugin, api, source: what it is made of; its module is its distribution's name.
      complaint: what the warning says after the plugin's name and before primax's advice.
    """

    distribution: str
    version: str
    plugin: str
    source: str
    complaint: str
    api: str = ""

    @property
    def module(self) -> str:
        return self.distribution.replace("-", "_")

    def write(self, folder: Path) -> Path:
        return write_package(
            folder,
            self.distribution,
            self.version,
            {self.plugin: self.module},
            api={self.plugin: self.api} if self.api else None,
            **{self.module: self.source},
        )


_WORKING = """
    from primax.extend import core, hookimpl

    thing_p = core.Primitive("{name}")

    @hookimpl
    def primax_register(registry):
        registry.define(thing_p, impl=lambda x: x)
"""

BROKEN = [
    Broken(
        "fails-on-import",
        "0.3",
        "divides",
        "WIDTH = 0\nHEIGHT = 1 / WIDTH\n",
        r"failed while it was imported: ZeroDivisionError: division by zero, at .*/fails_on_import\.py:2",
    ),
    Broken(
        "fails-halfway",
        "1.4",
        "halfway",
        """\
        from primax import lax
        from primax.extend import core, hookimpl

        half_p = core.Primitive("half")
        whole_p = core.Primitive("whole")

        @hookimpl
        def primax_register(registry):
            registry.define(half_p, impl=lambda x: x / 2, batch=lambda args, dims: (args[0] / 2, dims[0]))
            registry.define(half_p, jvp=lambda primals, tangents: (lax.sin_p, 0.0))
            registry.define(whole_p, impl=TABLES["whole"])
        """,
        r"failed while it registered: NameError: name 'TABLES' is not defined, at .*/fails_halfway\.py:11",
    ),
    Broken(
        "takes-a-rule",
        "2.1",
        "cosines",
        """\
        from primax import lax
        from primax.extend import hookimpl

        @hookimpl
        def primax_register(registry):
            registry.define(lax.cos_p, jvp=lambda primals, tangents: (0.0, 0.0))
        """,
        r"is refused: plugin 'cosines' may not replace the jvp rule of cos, "
        r"given by trigonometry \(.*\.py:\d+\), unless it passes override=True, at .*/takes_a_rule\.py:6",
    ),
    Broken(
        "rival-kepler",
        "7.7",
        "kepler",
        _WORKING.format(name="rival"),
        r"is refused: its name is taken by plugin "
        r"'kepler' \(primax-kepler 1\.0\.0, primax_kepler\), installed",
    ),
    Broken(
        "from-the-future",
        "9.9",
        "future",
        "raise SystemExit('it was imported')",
        r"is refused: it needs plugin API >=99\.0,<100\.0, but this primax has plugin API 1\.\d+",
        api="v99",
    ),
    Broken(
        "misspells-a-hook",
        "0.1",
        "misspelt",
        _WORKING.format(name="misspelt").replace("primax_register", "primax_registr"),
        r"is refused: 'primax_registr' is not a hook of primax; did you mean 'primax_register'\? "
        r"\(there is primax_register\)",
    ),
    Broken(
        "forgets-the-mark",
        "0.2",
        "unmarked",
        _WORKING.format(name="unmarked").replace("@hookimpl", ""),
        r"is refused: its primax_register is not marked with @hookimpl",
    ),
]

LIVE = """
    import json, sys, warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import numpy as np
        import primax as px
        import primax.numpy as pnp
        from primax import lax

        values = [float(px.jit(px.grad(pnp.sin))(0.5)), float(px.grad(pnp.cos)(0.5)), float(pnp.sin(0.5))]
        import primax_kepler
        values.append(float(px.grad(primax_kepler.kepler)(0.5, 0.5)))

    from primax.extend.host.plugin_host import host
    from primax.core.errors import PluginWarning
    from primax.core.rules import rule_tables

    records = host.records()
    active = {each.name for each in records if each.state == "active"}
    print(json.dumps(
        {
            "values": values,
            "warnings": [str(each.message) for each in caught if each.category is PluginWarning],
            "other warnings": [str(each) for each in caught if each.category is not PluginWarning],
            "states": {each.distribution: each.state for each in records if each.source == "installed"},
            "tracebacks": {each.distribution: each.traceback for each in records if each.traceback},
            "primitives": sorted(host.primitives),
            "leftovers": [
                (table.kind, str(key))
                for table in rule_tables.values()
                for key, provenance in table.provenance.items()
                if provenance.plugin not in active
            ],
            "imported": sorted(sys.modules),
        }
    ))
"""


@pytest.fixture(scope="module")
def crowded_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example package and all broken ones."""
    folder = tmp_path_factory.mktemp("crowded")
    return install(folder / "site", copy_of_kepler(folder), *(each.write(folder) for each in BROKEN))


@pytest.fixture(scope="module")
def crowded(crowded_site: Path) -> dict[str, Any]:
    """What happened when primax was used amidst broken packages."""
    return json.loads(run_beside(crowded_site, LIVE))


def test_primax_and_good_plugins_work_amidst_broken_ones(crowded: dict[str, Any]) -> None:
    E = 0.5
    for _ in range(50):
        E = 0.5 + 0.5 * np.sin(E)
    np.testing.assert_allclose(
        crowded["values"], [np.cos(0.5), -np.sin(0.5), np.sin(0.5), 1 / (1 - 0.5 * np.cos(E))], rtol=1e-6
    )
    assert crowded["states"]["primax-kepler"] == "active"


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: each.distribution)
def test_a_broken_package_is_warned_of_once_and_precisely(broken: Broken, crowded: dict[str, Any]) -> None:
    who = f"plugin {broken.plugin!r} ({broken.distribution} "
    about = [message for message in crowded["warnings"] if message.startswith(who)]
    who = re.escape(f"{who}{broken.version}, {broken.module}) ")
    assert len(about) == 1
    shared = broken.plugin == "kepler"
    silence = "uninstalling rival-kepler" if shared else f"PRIMAX_DISABLE_PLUGINS={broken.plugin}"
    after = f"\\. primax continues without it; .*, and {silence} silences this"
    assert re.fullmatch(f"{who}{broken.complaint}{after}", about[0])
    assert crowded["states"][broken.distribution] in ("failed", "refused")


def test_there_are_no_other_warnings(crowded: dict[str, Any]) -> None:
    assert len(crowded["warnings"]) == len(BROKEN)
    assert crowded["other warnings"] == []


def test_nothing_of_a_broken_package_remains(crowded: dict[str, Any]) -> None:
    assert crowded["leftovers"] == []
    assert {"half", "whole", "rival", "misspelt", "unmarked"}.isdisjoint(crowded["primitives"])
    assert {"sin", "cos", "kepler"} <= set(crowded["primitives"])


def test_what_is_refused_by_its_metadata_is_not_imported(crowded: dict[str, Any]) -> None:
    assert "from_the_future" not in crowded["imported"]
    assert "rival_kepler" not in crowded["imported"]


def test_tracebacks_are_kept(crowded: dict[str, Any]) -> None:
    assert "HEIGHT = 1 / WIDTH" in crowded["tracebacks"]["fails-on-import"]
    assert 'impl=TABLES["whole"]' in crowded["tracebacks"]["fails-halfway"]


def test_a_broken_package_raises_if_that_is_asked_for(crowded_site: Path) -> None:
    program = """
        import primax as px, primax.numpy as pnp
        from primax.core.errors import PluginError
        try:
            pnp.sin(0.5)
        except PluginError as error:
            print(error, repr(error.__cause__), sep="\\n")
    """
    first, cause = run_beside(crowded_site, program, PRIMAX_STRICT_PLUGINS="1").splitlines()
    assert first.startswith("plugin 'cosines' (takes-a-rule 2.1, takes_a_rule) is refused: ")
    assert "RefusedError" in cause


@pytest.mark.slow
def test_wheels_of_primax_and_of_the_example_work_in_a_fresh_environment(tmp_path: Path) -> None:
    require(pip=22, setuptools=77, build=1)
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "wheels"]
    run([*build, copy_of_checkout(tmp_path)], cwd=tmp_path)
    run([*build, copy_of_kepler(tmp_path)], cwd=tmp_path)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run([python, "-m", "pip", "install", "pytest", *(tmp_path / "wheels").glob("*.whl")], cwd=tmp_path)
    run([python, "-m", "pip", "check"], cwd=tmp_path)
    tests = tmp_path / "primax-kepler"
    run([python, "-m", "pytest", "-q"], cwd=tests)
    installed = run([python, "-m", "pip", "list", "--format=freeze"], cwd=tmp_path).stdout.splitlines()
    assert not [line for line in installed if line.startswith("jax==")]
    run([python, ROOT / "examples" / "inverse.py"], cwd=tmp_path)
