"""What exported and pickled things say of primitives of plugins, of which several may have the same name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from distributions import Site

pytestmark = pytest.mark.any_word_size

SCALE = """
    from primax.extend import Definitions, define_primitive, derive, ffi, hookimpl
    from jaxlib import lapack
    handler = next(handler for _, handler, version in lapack.registrations()["cpu"] if version == 1)
    definitions = Definitions()
    scale_p = define_primitive(
        "scale", impl=lambda x: x * {factor}, abstract_eval=derive.from_impl, jvp=derive.from_impl,
        batch=derive.from_impl, lowering=derive.from_impl, registry=definitions,
    )
    abroad_p = define_primitive(
        "abroad", abstract_eval=lambda x: x, lowering=ffi.ffi_lowering("abroad_{name}"), registry=definitions
    )

    @hookimpl
    def primax_register(registry):
        {register}
        definitions.enter(registry)
"""
REGISTER = 'ffi.register_ffi_target("abroad_{name}", handler)'
KINDS = ["abstract_eval", "batch", "impl", "jvp", "lowering"]
SAID = {"primitives": {"scale": KINDS, "abroad": ["abstract_eval", "lowering"]}, "extends": [], "others": []}

WRITE = """
import pickle, sys
import numpy as np, primax as px
import alpha, beta
x = np.ones(3, np.float32)
both = px.jit(lambda x: px.vmap(alpha.scale_p.bind)(x) + px.jit(beta.scale_p.bind)(x))
exported = px.export.export(both)(x)
print(exported.primitives, both(x).tolist())
calls = px.export.export(px.jit(lambda x: alpha.abroad_p.bind(x) + beta.abroad_p.bind(x)))(x)
for name, data in {
    "both": exported.serialize(1), "calls": calls.serialize(), "pickled": pickle.dumps([alpha.scale_p, beta.scale_p])
}.items():
    with open(f"{sys.argv[1]}/{name}", "wb") as file:
        file.write(data)
"""
READ = """
import pickle, sys
import numpy as np, primax as px
def read(name):
    with open(f"{sys.argv[1]}/{name}", "rb") as file:
        return file.read()
both = px.export.deserialize(read("both"))
print(both.primitives, both.call(np.ones(3, np.float32)).tolist())
print({"alpha", "beta"} & {*sys.modules})
for load in (lambda: px.export.deserialize(read("calls")), lambda: pickle.loads(read("pickled"))):
    try:
        load()
        print("read", sorted({"alpha", "beta"} & {*sys.modules}))
    except Exception as error:
        print(type(error).__name__, error)
"""


def _run(program: str, folder: Path, site: Path | None, **environment: str) -> list[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PRIMAX_")}
    paths = {} if site is None else {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **paths, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _install(folder: Path, name: str, source: str) -> None:
    """A package that waits until something of it is used."""
    site = Site(folder)
    site.install(name, entry_points=f"[primax]\n{name} = {name}\n")
    (folder / name).mkdir()
    site.write(f"{name}/__init__", source)
    (folder / name / "primax.json").write_text(json.dumps(SAID), encoding="utf-8")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what two plugins that have primitives of the same name have written, and the plugins in `site`."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "site").mkdir()
    for name, factor in (("alpha", 2.0), ("beta", 3.0)):
        _install(folder / "site", name, SCALE.format(name=name, factor=factor, register=REGISTER.format(name=name)))
    assert _run(WRITE, folder, folder / "site") == ["('alpha::scale', 'beta::scale') [5.0, 5.0, 5.0]"]
    return folder


SAME = "('alpha::scale', 'beta::scale') [5.0, 5.0, 5.0]"


def test_what_is_read_finds_the_plugins_that_it_needs(written: Path) -> None:
    found = _run(READ, written, written / "site")
    assert found == [SAME, "set()", *["read ['alpha', 'beta']"] * 2]


def test_what_is_read_where_a_plugin_is_missing_says_which(written: Path, tmp_path: Path) -> None:
    found = _run(READ, written, None)
    assert found[:2] == [SAME, "set()"]
    assert found[2:] == [
        "PluginError deserialize: <lambda>: it calls the foreign function 'abroad_alpha' of plugin 'alpha', which is "
        "not installed here",
        "ModuleNotFoundError primitive 'alpha::scale' cannot be unpickled: its module 'alpha', of plugin "
        "'alpha', is not installed",
    ]
    found = _run(READ, written, written / "site", PRIMAX_DISABLE_PLUGINS="beta")
    assert "'abroad_beta' of plugin 'beta', which is not active: plugin 'beta' (beta 1.0, beta) is " in found[2]
    for name in ("alpha", "beta"):
        _install(tmp_path, name, SCALE.format(name=name, factor=1.0, register="pass"))
    found = _run(READ, written, tmp_path)
    assert "'abroad_alpha' of plugin 'alpha', which must register it in its primax_register (" in found[2]
