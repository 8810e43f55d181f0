"""Who owns a primitive or a class, and who may replace its entries: the same in every order of imports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from distributions import Site

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]

OWNER = """
from primax.core.avals import ShapedArray
from primax.core.primitive import Primitive
from primax.extend.host.hookspec import hookimpl

op_p = Primitive("op")

class Quantity:
    pass

@hookimpl
def primax_register(registry):
    registry.define(op_p, impl=lambda x: x + 1)
    registry.aval(Quantity, lambda x: ShapedArray((), "float32"))
"""
EXTENSION = """
from owner.ops import Quantity, op_p
from primax.extend.host.hookspec import hookimpl

@hookimpl
def primax_register(registry):
    registry.define(op_p, jvp=lambda primals, tangents: (primals[0], tangents[0]){more})
    {aval}
"""
REPORT = """
from owner.ops import op_p
from primax.core import rules
print(op_p.bind(1), rules.jvp_rules[op_p].__module__)
host.activate()
print(op_p.plugin, {record.name: record.state for record in host.records()})
print({kind: source.plugin for kind, source in rules.rules_of(op_p).items()})
print([name for record in host.records() for name in record.primitives])
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def _package(site: Site, name: str, source: str, *, extends: list[str] | None = None, own: bool = False) -> None:
    """A package with one plugin, and a file that lists its entries unless `extends` is None."""
    site.install(name, entry_points=f"[primax]\n{name} = {name}\n")
    folder = site.folder / name
    folder.mkdir()
    (folder / "__init__.py").write_text(f"from {name}.ops import primax_register\n")
    (folder / "ops.py").write_text(source)
    if extends is not None:
        primitives = {"op": ["impl"]} if own else {}
        others = [f"aval {name}.ops.Quantity"] if own else []
        (folder / "primax.json").write_text(
            json.dumps({"primitives": primitives, "extends": extends, "others": others})
        )


@pytest.mark.parametrize("files", [True, False])
@pytest.mark.parametrize("extension", ["aaa", "zzz"])
@pytest.mark.parametrize("first", ["import EXTENSION", "import owner", ""])
def test_the_module_that_makes_a_primitive_decides_who_owns_it(
    site: Site, extension: str, first: str, files: bool
) -> None:
    if files and first == "import owner":
        pytest.skip("as with the extension first")
    _package(site, "owner", OWNER, extends=[] if files else None, own=True)
    source = EXTENSION.format(more="", aval="")
    _package(site, extension, source, extends=["op jvp"] if files else None)
    run = site.run(first.replace("EXTENSION", extension), REPORT)
    states = dict.fromkeys(sorted(("owner", extension)), "active")
    assert run.lines == [
        f"2 {extension}.ops",
        f"owner {states}",
        f"{{'impl': 'owner', 'jvp': '{extension}'}}",
        "['op']",
    ]
    assert run.warned == []


@pytest.mark.parametrize(
    ("more", "aval", "refused"),
    [
        (", impl=abs", "", "the impl rule of op, given by owner"),
        (", impl=abs, override=True", "", "the impl rule of op, given by owner"),
        ("", "registry.aval(Quantity, abs)", "the aval 'Quantity', given by owner"),
        (
            "",
            "__import__('primax.core.avals').core.avals.register_aval(Quantity, abs)",
            "the aval 'Quantity', given by",
        ),
    ],
)
def test_an_extension_that_comes_first_in_the_alphabet_replaces_nothing(
    site: Site, more: str, aval: str, refused: str
) -> None:
    _package(site, "owner", OWNER)
    _package(site, "aaa", EXTENSION.format(more=more, aval=aval))
    run = site.run(
        "host.activate()",
        "from owner.ops import op_p; print(op_p.bind(1), op_p.plugin, host.record('owner').state)",
        "print(host.record('aaa').state, host.record('aaa').reason)",
    )
    assert run.lines[0] == "2 owner active"
    assert run.lines[1].startswith("refused plugin 'aaa'")
    assert f"may not replace {refused}" in run.lines[1]


def test_of_plugins_in_one_package_the_one_whose_file_lists_a_primitive_owns_it(site: Site) -> None:
    site.install("shared", entry_points="[primax]\naaa = shared.aaa\nowner = shared.owner\n")
    (site.folder / "shared").mkdir()
    both = {"aaa": {"primitives": {}, "extends": ["op jvp"]}, "owner": {"primitives": {"op": ["impl"]}, "extends": []}}
    for said in both.values():
        said["others"] = []
    (site.folder / "shared" / "primax.json").write_text(json.dumps({"plugins": both}))
    extension = EXTENSION.format(more="", aval="").replace("owner.ops", "shared.ops")
    owner = "from primax.extend.host.hookspec import hookimpl\nfrom shared.ops import op_p\n"
    owner += "@hookimpl\ndef primax_register(registry):\n    registry.define(op_p, impl=lambda x: x + 1)\n"
    sources = {"__init__": "", "ops": OWNER.partition("@hookimpl")[0], "aaa": extension, "owner": owner}
    for name, source in sources.items():
        (site.folder / "shared" / f"{name}.py").write_text(source)
    run = site.run(REPORT.replace("owner.ops", "shared.ops"))
    assert run.lines[1] == "owner {'aaa': 'active', 'owner': 'active'}"


def test_an_owner_that_is_known_later_than_an_extension_owns_its_primitive(site: Site) -> None:
    _package(site, "owner", OWNER)
    (site.folder / "owner-1.0.dist-info" / "entry_points.txt").write_text("")
    _package(site, "aaa", EXTENSION.format(more="", aval=""))
    run = site.run(
        """
        host.activate()
        from owner.ops import op_p
        import owner
        print(op_p.plugin)
        host.register_module(owner, name="late")
        print(op_p.plugin, op_p.bind(1), [(record.name, record.primitives) for record in host._active])
        """
    )
    assert run.lines == ["aaa", "late 2 [('late', ['op']), ('aaa', [])]"]


def test_two_plugins_that_extend_each_other_say_who_must_do_what(site: Site) -> None:
    for name, other in (("aaa", "bbb"), ("bbb", "aaa")):
        define = "    registry.define(op_p"
        extend = f"    from {other}.ops import op_p as theirs\n    registry.define(theirs, jvp=abs)\n"
        source = OWNER.replace(define, extend + define)
        _package(site, name, source)
    run = site.run("host.activate()", "print(*((r.name, r.state, r.reason) for r in host.records()), sep='\\n')")
    assert "'aaa', 'active'" in run.lines[0]
    assert "'aaa' must enter its own entries first" in run.lines[1]


WRITES = {
    "register": ("jvp", "ad.primitive_jvps.register(cos_p, jvp, override=True)"),
    "item": ("jvp", "ad.primitive_jvps[cos_p] = jvp"),
    "update": ("jvp", "ad.primitive_jvps.update({cos_p: jvp})"),
    "factory": ("jvp", "ad.defjvp(cos_p, lambda t, x, **params: t)"),
    "remove": ("jvp", "ad.primitive_jvps.remove(cos_p, override=True)"),
    "delete": ("jvp", "del ad.primitive_jvps[cos_p]"),
    "named": ("jvp", "ad.primitive_jvps.register(cos_p, jvp, plugin='trigonometry', override=True)"),
    "function": ("jvp", "(lambda: ad.primitive_jvps.register(cos_p, jvp, override=True))()"),
    "batching": ("batch", "batching.primitive_batchers[cos_p] = jvp"),
    "lower": ("lowering", "mlir.register_lowering(cos_p, jvp)"),
    "platform": ("lowering", "mlir.register_lowering(cos_p, jvp, platform='tpu')"),
    "impls": ("lowering", "cos_p.def_impl(jvp)"),
    "types": ("abstract_eval", "cos_p.def_abstract_eval(jvp)"),
    "operators": ("operator", "from primax.core.operand import install_operators; install_operators({'neg': jvp})"),
    "avals": ("aval", "core.register_aval(float, jvp)"),
    "table": ("generator", "extend.random._named['threefry2x32'] = jvp"),
}
WRITER = """
from primax import extend
from primax.extend import core, hookimpl, random
from primax.extend.core.primitives import cos_p
from primax.extend.interpreters import ad, batching, mlir

def jvp(primals, tangents, **params):
    return cos_p.bind(*primals, **params), 100.0 * tangents[0]

WRITE

@hookimpl
def primax_register(registry):
    pass
"""
WRITERS = """
import importlib, sys, warnings
from primax.errors import PluginError
warnings.simplefilter("ignore")
for name in NAMES:
    try:
        importlib.import_module(f"w_{name}")
    except PluginError as error:
        print(name, error)
import primax as px
from primax.extend import core, plugins
for record in plugins(load=True):
    if record.source == "installed":
        print(record.name, record.state, record.reason)
print(float(px.grad(px.lax.cos)(0.0)), core.rule_tables["jvp"].sources[px.extend.core.primitives.cos_p].plugin)
"""


def _writers(site: Site, names: list[str]) -> None:
    for name in names:
        source = WRITER.replace("WRITE", WRITES[name][1])
        site.install(f"w-{name}", entry_points=f"[primax]\nw_{name} = w_{name}\n", **{f"w_{name}": source})


def test_what_a_module_of_a_plugin_writes_needs_consent_whoever_imports_it(site: Site) -> None:
    _writers(site, list(WRITES))
    discovered = site.program(WRITERS.replace("NAMES", "[]"))
    imported = site.program(WRITERS.replace("NAMES", str(list(WRITES))))
    for name, (kind, _) in WRITES.items():
        (line,) = [line for line in discovered.lines if line.startswith(f"w_{name} refused")]
        (again,) = [line for line in imported.lines if line.startswith(f"w_{name} refused")]
        (error,) = [line for line in imported.lines if line.startswith(f"{name} plugin")]
        for text in (line, again, error):
            assert f"plugin 'w_{name}' may not replace the {kind}" in text
            assert "given by " in text
            assert f"w_{name}.py:" in text
            assert f"without consent: the user may call primax.plugins.allow_overrides('w_{name}')" in text
    assert discovered.lines[-1] == imported.lines[-1] == "-0.0 trigonometry"


@pytest.mark.parametrize("first", [True, False])
def test_with_consent_the_last_that_the_user_names_has_priority_whoever_imports_it(site: Site, first: bool) -> None:
    names = ["update", "item", "register"]
    _writers(site, names)
    order = ",".join(f"w_{name}" for name in names)
    run = site.program(WRITERS.replace("NAMES", str(names if first else [])), PRIMAX_ALLOW_OVERRIDES=order)
    assert run.lines == [*(f"w_{name} active " for name in sorted(names)), "100.0 w_register"]


def test_the_users_own_code_replaces_rules_with_override(site: Site) -> None:
    site.write("mine", WRITER.replace("WRITE", WRITES["register"][1]))
    assert site.program("import mine", WRITERS.replace("NAMES", "[]")).lines == ["100.0 mine"]
