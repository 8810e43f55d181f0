"""PJRT plugins: how they are found, what is said of those that cannot be used, and a real one if one is named.

`PRIMAX_TEST_PJRT_LIBRARY` names the library of a plugin whose devices compute as CPUs do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from distributions import Site
from packages import clean_environment
from processes import HANG

import primax as px
from primax.core import _jaxlib
from primax.interpreters.runtime.devices import pjrt

pytestmark = pytest.mark.any_word_size

JAXLIB = _jaxlib.version.__version__
RAISES = "raise ImportError('a plugin was imported')"
REAL = os.environ.get("PRIMAX_TEST_PJRT_LIBRARY", "")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv(pjrt.VARIABLE, raising=False)
    return Site(tmp_path)


def offer(site: Site, module: str, *libraries: str, name: str = "", version: str = "1.0") -> None:
    """Install a distribution with a plugin, whose module cannot be imported."""
    folder = site.folder / module.replace(".", "/")
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(RAISES)
    for library in libraries:
        (folder / library).write_text("no library")
    if name:
        site.install(f"the-{name}", version, entry_points=f"[jax_plugins]\n{name} = {module}")


def found() -> dict[str, pjrt.Plugin]:
    return {plugin.name: plugin for plugin in reversed(pjrt.found_plugins())}


def test_a_plugin_is_found_by_its_entry_point_and_is_not_imported(site):
    offer(site, "jax_plugins.mine", "pjrt_plugin_mine.so", "libother.so", name="mine")
    plugin = found()["mine"]
    assert plugin.library == str(site.folder / "jax_plugins" / "mine" / "pjrt_plugin_mine.so")
    assert (plugin.source, plugin.problem) == ("jax_plugins.mine of the-mine 1.0", "")
    assert "jax_plugins.mine" not in sys.modules


def test_a_plugin_is_found_in_the_namespace_package_and_once_only(site):
    offer(site, "jax_plugins.mine", "mine.so", name="named")
    offer(site, "jax_plugins.other", "other.dylib")
    plugins = found()
    assert plugins["other"].source == "module jax_plugins.other"
    assert set(plugins) & {"mine", "named", "other"} == {"named", "other"}


def test_a_plugin_may_be_outside_of_the_namespace_package(site):
    offer(site, "maker.deep.plugin", "only.so", name="deep")
    (site.folder / "maker" / "__init__.py").write_text(RAISES)
    assert found()["deep"].library.endswith("only.so")
    assert "maker" not in sys.modules


@pytest.mark.parametrize(
    "libraries, told", [((), "there is no library in its folder"), (("a.so", "b.so"), "may be any of a.so, b.so")]
)
def test_a_plugin_without_one_library_is_told_to_be_named(site, libraries, told):
    offer(site, "jax_plugins.mine", *libraries, name="mine")
    problem = found()["mine"].problem
    assert told in problem
    assert problem.endswith("name the file in PJRT_NAMES_AND_LIBRARY_PATHS=mine:PATH")


def test_an_entry_point_without_a_module_is_told(site):
    site.install("the-mine", entry_points="[jax_plugins]\nmine = nowhere.at.all")
    assert found()["mine"].problem == "there is no module nowhere.at.all, which its entry point names"


def test_the_environment_names_libraries(site, monkeypatch):
    library = site.folder / "mine.so"
    library.write_text("no library")
    monkeypatch.setenv(pjrt.VARIABLE, f"mine:{library}, lost:/nowhere.so,half")
    plugins = found()
    assert (plugins["mine"].library, plugins["mine"].problem) == (str(library), "")
    assert "there is no file /nowhere.so" in plugins["lost"].problem
    assert "must be of the form name:path" in plugins["half"].problem
    with pytest.raises(px.XlaError, match=r"the plugin for 'mine' \(PJRT_NAMES_AND_LIBRARY_PATHS\) fails: .*mine\.so"):
        pjrt.make_client(plugins["mine"], None)
    with pytest.raises(px.XlaError, match=r"the plugin for 'lost' .* cannot be used: there is no file"):
        pjrt.make_client(plugins["lost"], None)


def cuda(site: Site, release: int, version: str, kernels: str | None) -> None:
    offer(site, f"jax_plugins.xla_cuda{release}", "xla_cuda_plugin.so", name=f"xla_cuda{release}", version=version)
    if kernels is not None:
        site.install(f"jax-cuda{release}-plugin", kernels, entry_points="")


def test_the_newest_of_the_plugins_for_cuda_is_taken(site):
    cuda(site, 12, JAXLIB, JAXLIB)
    cuda(site, 13, JAXLIB, JAXLIB)
    plugin = found()["cuda"]
    assert plugin.source == f"jax_plugins.xla_cuda13 of the-xla_cuda13 {JAXLIB}"
    (other,) = (each for each in pjrt.found_plugins() if each.name == "cuda" and each != plugin)
    assert other.problem == f"{plugin.source} already supplies platform 'cuda'"
    assert plugin.priority > pjrt.PRIORITY > 0


def test_a_plugin_that_cannot_be_used_gives_way_to_one_that_can(site):
    cuda(site, 12, JAXLIB, JAXLIB)
    cuda(site, 13, "0.1.2", "0.1.2")
    assert "xla_cuda12" in found()["cuda"].source


@pytest.mark.parametrize(
    "version, kernels, told",
    [
        ("0.1.2", JAXLIB, f"jax-cuda12-pjrt has version 0.1.2, but jaxlib has {JAXLIB}; they must be equal"),
        (JAXLIB, "0.1.2", f"jax-cuda12-plugin has version 0.1.2, but jaxlib has {JAXLIB}; they must be equal"),
        (JAXLIB, None, "the package of its kernels, jax-cuda12-plugin, is not installed"),
    ],
)
def test_versions_that_do_not_go_together_are_told_with_the_remedy(site, version, kernels, told):
    cuda(site, 12, version, kernels)
    problem = found()["cuda"].problem
    assert problem.startswith(told)
    assert problem.endswith(f"pip install 'jax-cuda12-plugin[with-cuda]=={JAXLIB}'")


def in_new_process(site: Site, program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "default", *(["-c", program] if program else ["-m", "primax"]), *arguments]
    environment = clean_environment(PYTHONPATH=str(site.folder), **variables)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=HANG)


def test_computations_run_on_the_cpu_with_a_warning_where_a_plugin_cannot_be_used(site):
    cuda(site, 12, "0.1.2", "0.1.2")
    program = "import sys, primax as px; print(px.devices()[0].platform, 'jax' in sys.modules)"
    done = in_new_process(site, program)
    assert done.stdout == "cpu False\n"
    assert done.stderr.count("UserWarning: platform 'cuda' cannot be used: ") == 1
    assert f"but jaxlib has {JAXLIB}; they must be equal" in done.stderr
    assert not in_new_process(site, program, PRIMAX_PLATFORMS="cpu").stderr
    for platform in ("cuda", "gpu"):
        done = in_new_process(site, program, JAX_PLATFORMS=platform)
        assert "the plugin for 'cuda' (jax_plugins.xla_cuda12 of the-xla_cuda12 0.1.2) cannot be used" in done.stderr


def test_the_command_shows_devices_and_why_others_are_not_there(site):
    cuda(site, 12, "0.1.2", "0.1.2")
    offer(site, "jax_plugins.mine", name="mine")
    done = in_new_process(site, "", "devices", PRIMAX_NUM_CPU_DEVICES="2")
    assert done.returncode == 0
    assert "cuda: cannot be used\n  why      jax-cuda12-pjrt has version 0.1.2" in done.stdout
    assert "cpu: 2 devices\n" in done.stdout
    assert "mine: cannot be used\n  why   there is no library in its folder" in done.stdout
    assert "The default platform is cpu." in done.stdout
    assert not done.stderr
    data = json.loads(in_new_process(site, "", "devices", "--json", "cuda").stdout)
    (platform,) = data["platforms"]
    assert (platform["platform"], platform["devices"]) == ("cuda", [])
    assert platform["problem"].startswith("jax-cuda12-pjrt has version 0.1.2")


def test_the_command_fails_for_a_platform_that_is_not_there(site):
    done = in_new_process(site, "", "devices", "gpu")
    assert done.returncode == 1
    assert f"no plugin for it is installed; pip install 'jax-cuda13-plugin[with-cuda]=={JAXLIB}'" in done.stdout
    assert in_new_process(site, "", "devices", "cpu", "--found").stdout.startswith("cpu: installed\n")


@pytest.mark.skipif(not REAL, reason="PRIMAX_TEST_PJRT_LIBRARY names no plugin")
def test_programs_run_on_the_devices_of_a_plugin(site):
    program = """
    import sys, numpy as np, primax as px, primax.numpy as pnp
    from primax.interpreters.runtime.devices import backends
    assert backends.default_platform() == "mine" and "jax" not in sys.modules
    f = px.jit(lambda x, w: pnp.tanh(x @ w).sum())
    x, w = np.ones((4, 3), np.float32), np.ones((3, 2), np.float32)
    for _ in range(3):
        np.testing.assert_allclose(f(x, w), np.tanh(3.0) * 8, rtol=1e-5)
    np.testing.assert_allclose(px.grad(f)(x, w), np.full((4, 3), 2 * (1 - np.tanh(3.0) ** 2)), rtol=1e-3)
    mesh = px.make_mesh((len(px.devices()),), ("i",))
    y = px.device_put(np.arange(8.0, dtype=np.float32), px.NamedSharding(mesh, px.P("i")))
    assert float(px.jit(pnp.sum)(y)) == 28
    total = px.shard_map(lambda x: px.lax.psum(x.sum(), "i"), mesh=mesh, in_specs=px.P("i"), out_specs=px.P())
    assert float(total(y)) == 28 and px.device_put(y, px.devices("cpu")[0]).sum() == 28
    """
    text = "\n".join(line.strip() if not line.startswith("        ") else line[4:] for line in program.splitlines())
    done = in_new_process(site, text, PJRT_NAMES_AND_LIBRARY_PATHS=f"mine:{REAL}")
    assert done.returncode == 0, done.stderr
