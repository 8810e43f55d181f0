"""The plugin host, on distributions that are installed for one test and programs that find them."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import pytest
from checkout import PLUGINS
from distributions import PLUGIN, REPORT, Site, states

from primax.core import avals, effects, operand, rules
from primax.core.errors import PluginError
from primax.core.primitive import Primitive
from primax.extend.host import hookspec
from primax.extend.host.hookspec import hookimpl
from primax.extend.host.plugin_host import PluginHost
from primax.interpreters.runtime.devices import backends

pytestmark = [pytest.mark.any_jaxlib, pytest.mark.any_word_size]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> PluginHost:
    """A host of this process that no missing rule is asked of, and that has no plugins."""
    monkeypatch.setattr(rules, "loader", rules.NoPlugins())
    monkeypatch.delenv("PRIMAX_PLUGINS", raising=False)
    monkeypatch.delenv("PRIMAX_DISABLE_PLUGINS", raising=False)
    return PluginHost()


def _module(name: str, register: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.primax_register = hookimpl(register)  # type: ignore[attr-defined]
    return module


def test_the_first_missing_rule_activates_every_plugin(site: Site) -> None:
    site.plugin("alpha")
    site.plugin("beta")
    run = site.run(
        """
        print(sorted(name for name in sys.modules if name.endswith("_plugin")))
        import alpha_plugin
        print(alpha_plugin.alpha_p.bind(2))
        print(sorted(name for name in sys.modules if name.endswith("_plugin")))
        print([(r.name, r.source, r.distribution, r.version, r.entry_point, r.state) for r in host.records()])
        print(host.record("alpha").primitives, [(r.name, r.kind) for r in host.record("alpha").rules])
        print(host.activate())
        """
    )
    assert run.lines == [
        "[]",
        "3",
        "['alpha_plugin', 'beta_plugin']",
        "[('alpha', 'installed', 'alpha', '1.0', 'alpha_plugin', 'active'), "
        "('beta', 'installed', 'beta', '1.0', 'beta_plugin', 'active')]",
        "['alpha'] [('alpha', 'impl')]",
        "False",
    ]
    assert run.warned == []


def _package(site: Site, name: str, **replaced: Any) -> None:
    """A distribution with a package that says in its file what its plugin is."""
    site.install(name, entry_points=f"[primax]\n{name} = {name}\n")
    folder = site.folder / name
    folder.mkdir()
    (folder / "__init__.py").write_text(PLUGIN.format(name=f"{name}_op"))
    said = {"primitives": {f"{name}_op": ["impl"]}, "extends": [], "others": [], **replaced}
    (folder / "primax.json").write_text(json.dumps(said))


def test_of_fifty_plugins_a_program_imports_what_it_uses(site: Site) -> None:
    for i in range(50):
        _package(site, f"p{i:02}")
    run = site.run(
        """
        from primax.core import rules
        def imported():
            return [name for name in sys.modules if len(name) == 3 and name[0] == "p" and name[1:].isdigit()]
        rules.load_plugins()
        print(imported())
        import p07, p31
        print(p07.p07_op_p.bind(1), p31.p31_op_p.bind(2), imported())
        print([(name, host.record(name).state) for name in ("p06", "p07")])
        print(host.activate(), len(imported()))
        """
    )
    assert run.lines == [
        "[]",
        "2 3 ['p07', 'p31']",
        "[('p06', 'discovered'), ('p07', 'active')]",
        "True 50",
    ]


@pytest.mark.parametrize(
    "more",
    [{"others": ["generator wide"]}, {"deferred": False}, {"primitives": 3}],
)
def test_a_plugin_of_which_nobody_could_tell_that_it_is_asked_for_does_not_wait(site: Site, more: Any) -> None:
    _package(site, "wide", **more)
    assert site.run("from primax.core import rules; rules.load_plugins(); print('wide' in sys.modules)").lines == [
        "True"
    ]


EXTENSION = """
import alpha_plugin
from primax.extend.host.hookspec import hookimpl

@hookimpl
def primax_register(registry):
    registry.define(alpha_plugin.alpha_p, override=True, jvp=lambda p, t: (p[0], 10 * t[0]))
    registry.define(alpha_plugin.alpha_p, batch=lambda args, dims: (args[0], dims[0]))
    registry.operators(override=True, neg=lambda x: "negated")
"""
BASE = (
    PLUGIN.format(name="alpha")
    + """    registry.define(alpha_p, jvp=lambda p, t: (p[0], t[0]))
    registry.operators(neg=lambda x: "as ever", pos=lambda x: "plus")
"""
)
LOADED = """
    import alpha_plugin
    import primax as px
    from primax.core import operand, rules

    class Value(operand.Operand):
        pass

    loaded = lambda: "extra" in sys.modules
    print(+Value(), loaded())
"""


def _extension(site: Site, *, extends: list[str], others: list[str]) -> None:
    site.plugin("alpha", BASE)
    _package(site, "extra", primitives={}, extends=extends, others=others)
    site.write("extra/__init__", EXTENSION)


@pytest.mark.parametrize(
    ("asked", "result"),
    [
        ("rules.jvp_rules[alpha_plugin.alpha_p]([1], [1])[1]", "10"),
        ("rules.jvp_rules.find(alpha_plugin.alpha_p)([1], [1])[1]", "10"),
        ("alpha_plugin.alpha_p in rules.batch_rules", "True"),
        ("alpha_plugin.alpha_p.bind(1)", "2"),
        ("px.jvp(alpha_plugin.alpha_p.bind, (1.0,), (1.0,))[1]", "10.0"),
        ("-Value()", "negated"),
    ],
)
def test_a_plugin_that_gives_rules_and_operators_of_others_is_loaded_when_one_is_asked_for(
    site: Site, asked: str, result: str
) -> None:
    _extension(site, extends=["alpha batch", "alpha jvp"], others=["operator neg"])
    run = site.run(LOADED, f"print({asked}, loaded(), -Value())", PRIMAX_ALLOW_OVERRIDES="extra")
    assert run.lines == ["plus False", f"{result} True negated"]
    assert run.warned == []


def test_the_first_bind_of_a_primitive_loads_the_plugins_that_have_rules_for_it_and_later_ones_are_direct(
    site: Site,
) -> None:
    _extension(site, extends=["alpha batch", "alpha jvp", "alpha of_another_table"], others=["operator neg"])
    run = site.run(
        LOADED,
        """
        alpha_p = alpha_plugin.alpha_p
        print("bind" in vars(alpha_p), alpha_p.bind(1), loaded(), "bind" in vars(alpha_p))
        """,
        PRIMAX_ALLOW_OVERRIDES="extra",
    )
    assert run.lines == ["plus False", "True 2 True False"]
    assert run.warned == []


def test_a_kind_of_rule_without_a_table_loads_no_plugin(site: Site) -> None:
    _extension(site, extends=["alpha of_another_table"], others=[])
    later = """
        rules.new_rule_table("of_another_table", "(x) -> y", optional=True)
        print(rules.rule_tables["of_another_table"].get_or_load(alpha_plugin.alpha_p), loaded())
    """
    run = site.run(LOADED, "print(alpha_plugin.alpha_p.bind(1), loaded())", later, PRIMAX_ALLOW_OVERRIDES="extra")
    assert run.lines == ["plus False", "2 False", "None True"]


def test_a_method_that_was_taken_before_plugins_were_looked_at_loads_them_too(site: Site) -> None:
    _extension(site, extends=["alpha jvp"], others=[])
    site.write("alpha_plugin", BASE.replace("impl=", "abstract_eval=lambda x: x, impl="))
    run = site.run(
        "import alpha_plugin; bind = alpha_plugin.alpha_p.bind",
        LOADED,
        "print(px.eval_shape(bind, 1.0).shape, loaded())",
        PRIMAX_ALLOW_OVERRIDES="extra",
    )
    assert run.lines == ["plus False", "() True"]


def test_a_primitive_works_as_before_if_a_plugin_with_rules_for_it_fails(site: Site) -> None:
    _extension(site, extends=["alpha jvp"], others=[])
    site.write("extra/__init__", EXTENSION + "    1 / 0\n")
    program = "p = alpha_plugin.alpha_p; print(p.bind(1), rules.jvp_rules[p]([1], [1])[1], 'bind' in vars(p))"
    run = site.run(LOADED, program, PRIMAX_ALLOW_OVERRIDES="extra")
    assert run.lines == ["plus False", "2 1 False"]
    assert "ZeroDivisionError" in run.warned[0]


def test_what_a_plugin_that_is_refused_would_have_replaced_is_as_it_was(site: Site) -> None:
    _extension(site, extends=["alpha batch", "alpha jvp"], others=["operator neg"])
    asked = "print(rules.jvp_rules[alpha_plugin.alpha_p]([1], [1])[1], loaded(), -Value())"
    run = site.run(LOADED, asked)
    assert run.lines == ["plus False", "1 True as ever"]
    assert len(run.warned) == 1
    later = "host.allow_overrides('extra'); print(rules.jvp_rules[alpha_plugin.alpha_p]([1], [1])[1], -Value())"
    assert site.run(LOADED, asked, later).lines[2] == "10 negated"


def test_a_script_that_gives_such_a_rule_finds_the_rule_that_is_there(site: Site) -> None:
    _extension(site, extends=["alpha batch", "alpha jvp"], others=["operator neg"])
    program = "print(attempt(rules.jvp_rules.register, alpha_plugin.alpha_p, abs))"
    assert "alpha has a jvp rule already, given by alpha" in site.run(LOADED, program).lines[1]


def test_the_import_of_its_package_loads_it_too(site: Site) -> None:
    _extension(site, extends=["alpha batch", "alpha jvp"], others=["operator neg"])
    program = "import extra; rules.load_plugins(); print(host.record('extra').state)"
    assert site.run(LOADED, program, PRIMAX_ALLOW_OVERRIDES="extra").lines[1] == "active"


def test_a_plugin_with_types_of_its_own_waits_for_its_package(site: Site) -> None:
    _package(site, "typed", primitives={}, others=["aval typed.Quantity"])
    site.write(
        "typed/__init__",
        """
        from primax.core.avals import ShapedArray
        from primax.extend.host.hookspec import hookimpl
        class Quantity:
            pass
        @hookimpl
        def primax_register(registry):
            registry.aval(Quantity, lambda x: ShapedArray((), "float32"))
        """,
    )
    run = site.run(
        """
        from primax.core import avals, rules
        rules.load_plugins()
        print("typed" in sys.modules)
        import typed
        print(avals.get_aval(typed.Quantity()))
        """
    )
    assert run.lines == ["False", "float32[]"]
    assert run.warned == []


SHARED = """
    import numpy as np
    from primax.core.array_protocol import install_protocol, protocol_of
    from primax.core.avals import AbstractValue, ShapedArray, get_aval
    from primax.core.effects import Effect, kind_of
    from primax.core.lazy_tables import Table

    table = Table("solver", __name__)
    methods = Table("method", __name__)

    class Loud(Effect):
        pass

    class Noisy(Effect):
        pass

    class Noisier(Noisy):
        pass

    class Length:
        pass

    class Reading(np.ndarray):
        pass

    class Kind(AbstractValue):
        pass
"""
OF_OTHERS = """
    from primax.core.array_protocol import ArrayProtocol
    from primax.extend.host.hookspec import hookimpl
    from shared import *

    {before}

    names = "zeros add broadcast moveaxis convert index stack".split()

    @hookimpl
    def primax_register(registry):
        {entry}
"""
# For each sort of table: what a file says, how it is entered, and how it is asked for.
SORTS = {
    "length": ("aval shared.Length", "registry.aval(Length, lambda x: {value!r}{more})", "get_aval(Length())"),
    "reading": (
        "aval shared.Reading",
        "registry.aval(Reading, lambda x: {value!r}{more})",
        "get_aval(np.zeros(2).view(Reading))",
    ),
    "loud": ("effect shared.Loud", "registry.effect(Loud, ordered={value!r}{more})", "kind_of(Loud()).ordered"),
    "noisy": ("effect shared.Noisy", "registry.effect(Noisy, ordered={value!r}{more})", "kind_of(Noisier()).ordered"),
    "kind": (
        "protocol shared.Kind",
        "registry.array_protocol(Kind, **dict.fromkeys(names, lambda *args: {value!r}){more})",
        "protocol_of(Kind()).zeros(3)",
    ),
    "cg": ("solver cg in shared", "registry.enter('solver', table, 'cg', {value!r}{more})", "table['cg']"),
    "lu": ("solver lu in shared", "registry.enter('solver', table, 'lu', {value!r}{more})", "table.get('lu')"),
    "all": ("method qr in shared", "registry.enter('method', methods, 'qr', {value!r}{more})", "dict(methods)['qr']"),
}
ASK = f"""
    from shared import *
    from primax.core import rules
    import alpha
    asked = {{ {", ".join(f"{name!r}: lambda: {ask}" for name, (_, _, ask) in SORTS.items())} }}
    for name, ask in asked.items():
        rules.load_plugins()
        before = name in sys.modules
        print(name, before, ask(), name in sys.modules)
"""


def _of_others(site: Site, more: str = "", before: str = "") -> None:
    """For each sort a plugin that waits."""
    site.write("shared", SHARED)
    site.write("alpha", "")
    for name, (said, entry, _) in SORTS.items():
        _package(site, name, primitives={}, others=[said])
        source = OF_OTHERS.format(entry=entry.format(value=7, more=more), before=before)
        site.write(f"{name}/__init__", source)


def _that_is_there(site: Site) -> None:
    """A plugin that has entered something in each table before."""
    entries = "\n        ".join(entry.format(value=3, more="") for _, entry, _ in SORTS.values())
    _package(site, "alpha", primitives={}, others=[])
    (site.folder / "alpha" / "primax.json").unlink()
    site.write("alpha/__init__", OF_OTHERS.format(entry=entries, before=""))


def test_a_plugin_that_enters_something_in_tables_of_others_waits_until_it_is_asked_for(site: Site) -> None:
    _of_others(site)
    run = site.run(ASK)
    assert run.lines == [f"{name} False 7 True" for name in SORTS]
    assert run.warned == []


@pytest.mark.parametrize("consent", [True, False])
def test_a_plugin_that_replaces_something_in_tables_of_others_waits_until_it_is_asked_for(
    site: Site, consent: bool
) -> None:
    _of_others(site, ", override=True")
    _that_is_there(site)
    run = site.run(ASK, PRIMAX_ALLOW_OVERRIDES=",".join(SORTS) if consent else "")
    assert run.lines == [f"{name} False {7 if consent else 3} True" for name in SORTS]
    assert len(run.warned) == (0 if consent else len(SORTS))


def test_what_is_entered_by_hand_after_plugins_were_looked_at_is_replaced_too(site: Site) -> None:
    _of_others(site, ", override=True")
    by_hand = """
        from primax.core import avals, effects, rules
        rules.load_plugins()
        from shared import *
        avals.register_aval(Length, lambda x: "by hand")
        effects.register_effect(Loud)
        table["cg"] = "by hand"
    """
    run = site.run(by_hand, ASK)
    assert run.lines == [f"{name} False 7 True" for name in SORTS]


def test_what_a_plugin_that_fails_would_have_replaced_is_as_it_was(site: Site) -> None:
    _of_others(site, ", override=True", before="1 / 0")
    _that_is_there(site)
    run = site.run(ASK)
    assert [line.split()[:3] for line in run.lines] == [[name, "False", "3"] for name in SORTS]
    assert len(run.warned) == len(SORTS)


def test_a_file_that_leaves_out_what_others_meet_is_told_of(site: Site) -> None:
    _extension(site, extends=["alpha jvp"], others=[])
    run = site.run("host.activate()", PRIMAX_ALLOW_OVERRIDES="extra")
    (said,) = run.warned
    assert "does not list 'alpha batch', 'operator neg'" in said
    assert "primax check extra" in said


OPERATORS = """
    from primax.core.effects import Effect
    from primax.extend.host.hookspec import hookimpl
    from shared import Loud

    table = Loud.table

    @hookimpl
    def primax_register(registry):
        registry.operators({flag}ptp=lambda x: "{name}")
        registry.effect(Loud, {flag}ordered={ordered})
        registry.aval(Loud, lambda x: "{name}"{more})
        registry.enter("setting", table, "depth", "{name}"{more})
"""


@pytest.mark.parametrize(
    ("order", "winner"),
    [("beta,gamma", "gamma"), ("gamma,beta", "beta"), ("gamma", "gamma"), ("", "alpha")],
)
def test_operators_effects_and_types_are_replaced_with_consent_alone(site: Site, order: str, winner: str) -> None:
    site.write("shared", "from primax.core.effects import Effect\nclass Loud(Effect):\n    table = {}\n")
    for name in ("alpha", "beta", "gamma"):
        override = name != "alpha"
        flag, more = ("override=True, ", ", override=True") if override else ("", "")
        site.plugin(name, OPERATORS.format(name=name, flag=flag, more=more, ordered=override))
    run = site.run(
        """
        host.activate()
        from primax.core import avals, operand
        import shared
        class Value(operand.Operand):
            pass
        print(Value().ptp(), avals.aval_handlers[shared.Loud](0), shared.Loud.table)
        """,
        REPORT,
        PRIMAX_ALLOW_OVERRIDES=order,
    )
    assert run.lines[0] == f"{winner} {winner} {{'depth': '{winner}'}}"
    for refused in {"beta", "gamma"} - set(order.split(",")):
        (line,) = [line for line in run.lines if line.startswith(f"{refused}|refused")]
        assert f"plugin '{refused}' may not replace the operator 'ptp', " in line
        assert f"allow_overrides('{refused}')" in line


def test_importing_primax_reads_no_metadata_and_imports_no_plugin(site: Site) -> None:
    site.plugin("alpha", "raise SystemExit('imported')")
    run = site.run("print(host, [name for name in sys.modules if name.endswith('_plugin')])")
    assert run.lines == ["<PluginHost: 0 of 0 plugins active> []"]


def test_listing_plugins_imports_none(site: Site) -> None:
    site.plugin("alpha", "raise SystemExit('imported')")
    run = site.run(REPORT + "print('alpha_plugin' in sys.modules)")
    assert run.lines == ["alpha|discovered|", "False"]


def test_a_plugin_that_cannot_be_imported_is_left_out_with_one_warning(site: Site) -> None:
    site.plugin("alpha")
    site.plugin("broken", "x = 1\ny = 1 / 0\n")
    run = site.run(
        """
        import alpha_plugin
        print(alpha_plugin.alpha_p.bind(2), alpha_plugin.alpha_p.bind(3), host.activate())
        record = host.record("broken")
        print(record.state, "Traceback" in record.traceback, record.distribution, record.version)
        print(record.reason.replace(sys.path[1], "SITE"))
        """
    )
    assert run.lines == [
        "3 4 False",
        "failed True broken 1.0",
        "plugin 'broken' (broken 1.0, broken_plugin) failed while it was imported: "
        "ZeroDivisionError: division by zero, at SITE/broken_plugin.py:2",
    ]
    (message,) = run.warned
    assert message.startswith("plugin 'broken' (broken 1.0, broken_plugin) failed while it was imported")
    assert "primax continues without it" in message
    assert "PRIMAX_DISABLE_PLUGINS=broken silences this" in message


@pytest.mark.parametrize(
    "source, told",
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module', at "),
        ("raise SystemExit(3)", "SystemExit: 3, at "),
        ("x = 1\n)", "SyntaxError: unmatched ')'"),
        ("from helper_of_all import f\nf()", "KeyError: 'k', at "),
    ],
    ids=["missing import", "exit", "syntax", "elsewhere"],
)
def test_whatever_an_import_raises_is_isolated_and_placed_in_the_plugin(site: Site, source: str, told: str) -> None:
    site.plugin("broken", source)
    site.write("helper_of_all", "def f():\n    return {}['k']\n")
    line = site.run("host.activate()" + REPORT).lines[0]
    assert line.startswith("broken|failed|")
    assert told in line
    assert f"SITE/broken_plugin.py:{source.count(chr(10)) + 1}" in line


HOOK = "from primax.extend.host.hookspec import hookimpl\n@hookimpl\ndef primax_register(registry):\n"
HOSTILE = {
    "abrupt": "class Stop(BaseException):\n    pass\nraise Stop('now')\n",
    "deep": "def f():\n    f()\nf()\n",
    "exits": "import sys\nsys.exit()\n",
    "late": f"{HOOK}    exit(1)\n",
    "loops": "import alpha_plugin, primax.core.rules as r\nr.load_plugins(True)\nalpha_plugin.alpha_p.bind(1)\n1 / 0\n",
    "takes": f"from alpha_plugin import alpha_p\n{HOOK}    registry.define(alpha_p, impl=abs)\n",
}
FILES = {
    "claims": {"primitives": {"alpha": ["impl"]}, "extends": [], "others": []},
    "nested": "[" * 100_000,
    "untyped": {"primitives": {"alpha": [1]}, "extends": [2], "others": [3]},
}


def test_hostile_plugins_harm_nobody_else(site: Site) -> None:
    for name, source in HOSTILE.items():
        site.plugin(name, source)
    for name, file in FILES.items():
        _package(site, name)
        text = file if isinstance(file, str) else json.dumps(file)
        (site.folder / name / "primax.json").write_text(text)
    site.install("absent", entry_points="[primax]\nabsent = alpha_plugin:nothing.here\n")
    site.plugin("alpha")
    site.plugin("zeta")
    run = site.run(
        """
        import alpha_plugin, zeta_plugin
        print(alpha_plugin.alpha_p.bind(1), zeta_plugin.zeta_p.bind(1), alpha_plugin.alpha_p.plugin)
        host.activate()
        """,
        REPORT,
    )
    assert run.lines[0] == "2 2 alpha"
    broken = {*HOSTILE, "absent"}
    for line in run.lines[1:]:
        name, state, reason = line.split("|")
        assert state == ("active" if name not in broken else "refused" if name == "takes" else "failed"), line
        if name in HOSTILE:
            assert f"'{name}' ({name} 1.0, {name}_plugin)" in reason
            assert f"SITE/{name}_plugin.py:" in reason
    assert len(run.warned) == len(broken)


def test_a_module_that_is_not_there_is_a_failure(site: Site) -> None:
    site.install("ghost", entry_points="[primax]\nghost = ghost_plugin:plugin")
    assert "No module named 'ghost_plugin'" in site.run("host.activate()" + REPORT).lines[0]


def test_an_interrupt_is_not_swallowed_and_the_plugin_is_tried_again(site: Site) -> None:
    site.plugin(
        "slow",
        """
        import sys
        from primax.extend.host.hookspec import hookimpl
        sys.tries = getattr(sys, "tries", 0) + 1
        if sys.tries == 1:
            raise KeyboardInterrupt
        @hookimpl
        def primax_register(registry):
            sys.tries += 1
            if sys.tries == 3:
                raise KeyboardInterrupt
        """,
    )
    run = site.run(
        """
        for _ in range(2):
            try:
                host.activate()
            except KeyboardInterrupt:
                print("interrupted", host.record("slow").state)
        host.activate()
        print(host.record("slow").state)
        """
    )
    assert run.lines == ["interrupted discovered", "interrupted discovered", "active"]


def test_a_plugin_that_registers_half_its_rules_leaves_nothing(site: Site) -> None:
    site.plugin("base")
    site.plugin(
        "half",
        """
        from primax.core.effects import Effect
        from primax.extend.host.hookspec import hookimpl
        from primax.core.primitive import Primitive
        import base_plugin
        half_p = Primitive("half")
        class Spell(Effect): pass
        class Value: pass
        @hookimpl
        def primax_register(registry):
            registry.define(half_p, impl=lambda x: x, lowering={"cuda": lambda ctx, x: [x]})
            registry.define(base_plugin.base_p, impl=lambda x: 99, override=True)
            registry.operators(ptp=lambda x: x)
            registry.effect(Spell)
            registry.aval(Value, lambda x: x)
            registry.define(half_p, jpv=lambda primals, tangents: None)
        """,
    )
    run = site.run(
        """
        from primax.core import avals, effects, operand, rules
        import base_plugin, half_plugin
        print(base_plugin.base_p.bind(1))
        print(any(half_plugin.half_p in table for table in rules.rule_tables.values()))
        print((half_plugin.half_p, "cuda") in rules.lowering_rules)
        print(host.primitives, half_plugin.half_p.plugin)
        print("ptp" in dict(operand._implementations), half_plugin.Spell in effects.effect_kinds)
        print(half_plugin.Value in avals.aval_handlers)
        print(rules.impl_rules.provenance[base_plugin.base_p].plugin)
        """,
        REPORT,
        PRIMAX_ALLOW_OVERRIDES="half",
    )
    assert run.lines[:-2] == ["2", "False", "False", "{'base': base} None", "False False", "False", "base"]
    assert run.lines[-1].startswith("half|failed|plugin 'half' (half 1.0, half_plugin) failed while it registered: ")
    assert "got 'jpv'; did you mean 'jvp'?, at SITE/half_plugin.py:16" in run.lines[-1]


def test_strict_plugins_raise_instead_of_warning(site: Site) -> None:
    site.plugin("broken", "1 / 0")
    program = "print(attempt(host.activate)); print(attempt(host.activate))"
    run = site.run(program, PRIMAX_STRICT_PLUGINS="1")
    assert "PluginError: plugin 'broken' (broken 1.0, broken_plugin) failed while it was imported" in run.lines[0]
    assert run.lines[1] == "True"
    assert run.warned == []
    run = site.run("from primax.core import config; config.config.update('strict_plugins', True)\n" + program)
    assert run.lines[0].startswith("PluginError: plugin 'broken'")


def test_a_warning_made_an_error_leaves_the_other_plugins_active(site: Site) -> None:
    site.plugin("bad", "1 / 0")
    site.plugin("worse", "1 / 0")
    site.plugin("xyz")
    run = site.run(
        """
        warnings.simplefilter("error")
        for _ in range(3):
            try:
                print(host.activate())
            except PluginWarning as error:
                print(str(error).split()[1], host.record("xyz").state)
        """
    )
    assert run.lines == ["'bad' active", "'worse' active", "True"]


def test_the_warning_points_at_the_line_that_met_the_missing_rule(site: Site) -> None:
    site.plugin("broken", "1 / 0")
    run = site.run(
        """
        import primax.interpreters.staging
        from primax.core.avals import get_aval
        print(attempt(Primitive("p").bind, 1))
        """
    )
    assert "<string>:" in run.err


def test_a_primitive_of_a_plugin_that_failed_says_which_and_why(site: Site) -> None:
    site.install("broken", entry_points="[primax]\nbroken = broken_plugin")
    package = site.folder / "broken_plugin"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from primax.extend.host.hookspec import hookimpl\n"
        "from broken_plugin.ops import late_p\n"
        "@hookimpl\n"
        "def primax_register(registry):\n"
        "    registry.define(late_p, impl=lambda x: x)\n"
        "    raise OSError('no licence\\nfor you')\n"
    )
    (package / "ops.py").write_text("from primax.core.primitive import Primitive\nlate_p = Primitive('late')\n")
    run = site.run("from broken_plugin.ops import late_p; print(attempt(late_p.bind, 1))")
    assert run.lines[0].startswith("MissingRuleError: no ")
    assert "Its plugin 'broken' is not active" in run.out
    assert "failed while it registered: OSError: no licence, at" in run.out


def test_plugins_are_activated_by_name_whatever_the_order_of_installation(site: Site) -> None:
    source = """
        from primax.extend.host.hookspec import hookimpl
        @hookimpl
        def primax_register(registry):
            print(registry.plugin)
    """
    for name in ("mid", "zeta", "alpha"):
        site.plugin(name, source, distribution=f"dist-{'zma'['amz'.index(name[0])]}")
    assert site.run("host.activate()").lines == ["alpha", "mid", "zeta"]


def test_naming_a_plugin_does_not_change_the_order(site: Site) -> None:
    site.plugin("alpha")
    site.plugin("zeta", (site.folder / "alpha_plugin.py").read_text())
    run = site.run("print(attempt(host.activate_plugin, 'zeta'))" + REPORT)
    assert run.lines[0] == "True"
    assert states(run.lines[1:]) == {"alpha": "active", "zeta": "active"}


def test_of_two_plugins_of_one_name_the_one_of_the_later_distribution_is_refused(site: Site) -> None:
    site.plugin("twin", distribution="dist-b")
    site.install("dist-a", "2.0", entry_points="[primax]\ntwin = other_plugin", other_plugin="1 / 0")
    run = site.run("host.activate()" + REPORT)
    assert run.lines[0].startswith("twin|failed|plugin 'twin' (dist-a 2.0, other_plugin) failed")
    assert run.lines[1] == (
        "twin|refused|plugin 'twin' (dist-b 1.0, twin_plugin) is refused: "
        "its name is taken by plugin 'twin' (dist-a 2.0, other_plugin), installed"
    )
    assert len(run.warned) == 2


def test_an_installed_plugin_may_not_take_the_name_of_a_built_in_one(site: Site) -> None:
    site.plugin("first")
    run = site.run(_house(site, first=FAMILY) + "host.activate()" + REPORT)
    assert run.lines[0] == "first|active|"
    assert "its name is taken by plugin 'first' (primax, house.first), built-in" in run.lines[1]


def test_two_plugins_with_primitives_of_one_name_both_work(site: Site) -> None:
    site.plugin("alpha")
    site.plugin("beta", (site.folder / "alpha_plugin.py").read_text().replace("x + 1", "x + 10"))
    run = site.run(
        REPORT,
        """
        host.activate()
        import alpha_plugin, beta_plugin
        print(alpha_plugin.alpha_p.bind(1), beta_plugin.alpha_p.bind(1), alpha_plugin.alpha_p, beta_plugin.alpha_p)
        print(host.record("alpha").primitives, host.record("beta").primitives)
        host.unregister("alpha")
        print(beta_plugin.alpha_p.bind(1), beta_plugin.alpha_p, host.record("beta").primitives)
        """,
    )
    assert run.lines[2:] == [
        "2 11 alpha::alpha beta::alpha",
        "['alpha'] ['beta::alpha']",
        "11 alpha ['alpha']",
    ]
    assert run.warned == []


def test_a_misspelt_hook_is_refused_with_the_right_name(site: Site) -> None:
    site.plugin(
        "typo",
        """
        from primax.extend.host.hookspec import hookimpl
        @hookimpl
        def primax_regster(registry):
            pass
        """,
    )
    site.plugin("after")
    site.plugin("zeta")
    run = site.run("host.activate()" + REPORT)
    assert "'primax_regster' is not a hook of primax; did you mean 'primax_register'?" in run.lines[1]
    assert states(run.lines) == {"after": "active", "typo": "refused", "zeta": "active"}


def test_a_hook_with_an_argument_that_it_does_not_have_is_refused(site: Site) -> None:
    site.plugin(
        "typo",
        """
        from primax.extend.host.hookspec import hookimpl
        @hookimpl
        def primax_register(reg):
            pass
        """,
    )
    line = site.run("host.activate()" + REPORT).lines[0]
    assert line.startswith("typo|refused|")
    assert "'reg'" in line


def test_a_plugin_without_a_hook_is_refused(site: Site) -> None:
    site.plugin("empty", "x = 1")
    site.plugin("unmarked", "def primax_register(registry):\n    pass\n")
    lines = site.run("host.activate()" + REPORT).lines
    assert lines[0].endswith("is refused: it has no function that is marked with @hookimpl")
    assert lines[1].endswith("is refused: its primax_register is not marked with @hookimpl")


def test_one_module_is_not_two_plugins(site: Site) -> None:
    site.plugin("alpha")
    site.install("other", entry_points="[primax]\nother = alpha_plugin")
    run = site.run("host.activate()" + REPORT)
    assert run.lines == ["alpha|active|", run.lines[1]]
    assert run.lines[1].endswith("is refused: the same object is already plugin 'alpha'")


@pytest.mark.parametrize(
    "allowed, expected",
    [
        (None, {"alpha": "active", "beta": "active"}),
        ("", {"alpha": "blocked", "beta": "blocked"}),
        ("beta", {"alpha": "blocked", "beta": "active"}),
        (" alpha , beta,", {"alpha": "active", "beta": "active"}),
    ],
)
def test_the_allow_list_blocks_every_installed_plugin_that_it_does_not_name(
    site: Site, allowed: str | None, expected: dict[str, str]
) -> None:
    site.plugin("alpha")
    site.plugin("beta")
    environment = {} if allowed is None else {"PRIMAX_PLUGINS": allowed}
    run = site.run("host.activate()" + REPORT, **environment)
    assert states(run.lines) == expected
    assert run.warned == []


def test_blocking_removes_rules_but_not_names_and_says_who_would_supply_them(site: Site) -> None:
    site.plugin("alpha")
    program = "import alpha_plugin; print(attempt(alpha_plugin.alpha_p.bind, 2))"
    for environment in ({"PRIMAX_DISABLE_PLUGINS": "alpha"}, {"PRIMAX_PLUGINS": ""}):
        out = site.run(program, **environment).out
        assert out.startswith("MissingRuleError: no ")
        (variable,) = environment
        assert "Its plugin 'alpha' is not active" in out
        assert f"plugin 'alpha' (alpha 1.0, alpha_plugin) is blocked: {variable}" in out


def test_a_missing_rule_of_an_active_plugin_mentions_the_plugins_whose_files_list_it(site: Site) -> None:
    site.plugin("alpha", PLUGIN_WITHOUT_RULES)
    site.plugin("broken", "1 / 0")
    for name, extends in (("other", ["p jvp", "q abstract_eval"]), ("wanted", ["p abstract_eval"])):
        _package(site, name, primitives={}, extends=extends)
        site.write(f"{name}/__init__", "1 / 0")
    out = site.run("import alpha_plugin; print(attempt(alpha_plugin.p.bind, 2))").out
    assert "(from alpha)" in out
    assert "This plugin is not active and would supply it: plugin 'wanted'" in out
    assert "'other'" not in out
    assert "'broken'" not in out


PLUGIN_WITHOUT_RULES = """
    from primax.extend.host.hookspec import hookimpl
    from primax.core.primitive import Primitive
    p = Primitive("p")
    @hookimpl
    def primax_register(registry):
        registry.define(p)
"""


@pytest.mark.parametrize("variable", ["PRIMAX_PLUGINS", "PRIMAX_DISABLE_PLUGINS"])
def test_an_unknown_name_in_a_list_raises_with_the_nearest_and_the_known(site: Site, variable: str) -> None:
    site.plugin("kepler")
    site.plugin("orbit")
    run = site.run("print(attempt(host.activate)); print(attempt(host.records))", **{variable: "keppler"})
    message = (
        f"PluginError: {variable} names 'keppler', which is not a plugin; "
        "did you mean 'kepler'? (there are kepler, orbit)"
    )
    assert run.lines == [message, message]


def _house(site: Site, **families: str) -> str:
    """Write a package of built-in families; the program that names them to the host."""
    (site.folder / "house").mkdir()
    for name, source in families.items():
        site.write(name, source)
        (site.folder / f"{name}.py").rename(site.folder / "house" / f"{name}.py")
    return f"""
from primax.extend.host.plugin_host import PluginRecord
for name in {list(families)}:
    record = PluginRecord(name, "built-in", "primax", entry_point=f"house.{{name}}")
    record.manifest = {{"primitives": {{}}, "extends": [], "others": [], "essential": name == "root"}}
    host.catalog.builtins.append(record)
"""


FAMILY = """
from primax.extend.host.hookspec import hookimpl
from primax.core.primitive import Primitive
p = Primitive(__name__)
@hookimpl
def primax_register(registry):
    registry.define(p, impl=lambda x: int(x) + 1)
"""


def test_built_in_families_are_active_in_their_order_before_anything_else_is_imported(site: Site) -> None:
    house = _house(site, root=FAMILY, leaf=FAMILY)
    site.plugin("alpha", "import house.leaf, house.root\nprint(house.root.p.bind(house.leaf.p.bind(1)))\n1 / 0")
    run = site.run(house + "host.activate()" + REPORT)
    assert run.lines[0] == "3"
    assert run.lines[1:3] == ["root|active|", "leaf|active|"]


def test_naming_a_built_in_family_imports_no_installed_plugin(site: Site) -> None:
    house = _house(site, root=FAMILY, leaf=FAMILY)
    site.plugin("alpha")
    run = site.run(house + "print(host.activate_plugin('leaf'), host.activate_plugin('leaf'))" + REPORT)
    assert run.lines[0] == "True False"
    assert states(run.lines[1:]) == {"root": "active", "leaf": "active", "alpha": "discovered"}


def test_naming_an_unknown_plugin_raises_with_the_nearest(site: Site) -> None:
    site.plugin("kepler")
    run = site.run("print(attempt(host.activate_plugin, 'keplr'))")
    assert run.lines == ["PluginError: there is no plugin 'keplr'; did you mean 'kepler'? (there are kepler)"]


def test_a_family_can_be_disabled_unless_it_is_essential(site: Site) -> None:
    house = _house(site, root=FAMILY, leaf=FAMILY)
    program = house + "print(attempt(host.activate)); import house.leaf; print(attempt(house.leaf.p.bind, 1))"
    run = site.run(program, PRIMAX_DISABLE_PLUGINS="leaf")
    assert run.lines[0] == "True"
    assert "Its plugin 'leaf' is not active: plugin 'leaf' (primax, house.leaf) is blocked" in run.out
    run = site.run(program, PRIMAX_DISABLE_PLUGINS="root")
    assert run.lines[0].startswith("PluginError: PRIMAX_DISABLE_PLUGINS names 'root', which cannot be disabled")


def test_the_allow_list_does_not_touch_built_in_families(site: Site) -> None:
    house = _house(site, root=FAMILY, leaf=FAMILY)
    run = site.run(house + "host.activate()" + REPORT, PRIMAX_PLUGINS="leaf")
    assert states(run.lines) == {"root": "active", "leaf": "active"}


def test_a_family_that_fails_is_isolated_unless_it_is_essential(site: Site) -> None:
    house = _house(site, root=FAMILY, leaf="1 / 0")
    run = site.run(house + "print(attempt(host.activate))" + REPORT)
    assert states(run.lines[1:]) == {"root": "active", "leaf": "failed"}
    assert len(run.warned) == 1
    (site.folder / "house" / "root.py").write_text("1 / 0")
    run = site.run(house + "print(attempt(host.activate))")
    assert run.lines[0].startswith("PluginError: plugin 'root' (primax, house.root) failed while it was imported")


def test_a_plugin_may_bind_while_it_is_imported_and_while_it_registers(site: Site) -> None:
    house = _house(site, root=FAMILY)
    site.plugin(
        "eager",
        """
        from house.root import p
        from primax.extend.host.hookspec import hookimpl
        three = p.bind(2)
        @hookimpl
        def primax_register(registry):
            print(three, p.bind(3))
        """,
    )
    run = site.run(house + "host.activate()" + REPORT)
    assert run.lines == ["3 4", "root|active|", "eager|active|"]


def test_a_plugin_that_binds_its_own_primitive_while_it_is_imported_is_told_so(site: Site) -> None:
    site.plugin(
        "eager",
        """
        from primax.core.primitive import Primitive
        Primitive("own").bind(1)
        """,
    )
    run = site.run("host.activate(); print(host.record('eager').state, host.record('eager').traceback)")
    assert run.lines[0].startswith("failed")
    assert "Plugin 'eager' is still being imported" in run.out


def test_a_plugin_imported_by_the_user_that_binds_meanwhile_is_activated_later(site: Site) -> None:
    house = _house(site, root=FAMILY)
    site.plugin(
        "eager",
        """
        from house.root import p as root_p
        from primax.extend.host.hookspec import hookimpl
        from primax.core.primitive import Primitive
        print(root_p.bind(2))
        p = Primitive("own")
        @hookimpl
        def primax_register(registry):
            registry.define(p, impl=lambda x: x * 7)
        """,
    )
    site.plugin("zeta")
    run = site.run(
        house
        + "import eager_plugin\n"
        + "print(host.record('eager').state, host.record('zeta').state)\n"
        + "print(eager_plugin.p.bind(1), host.record('eager').state, host.record('zeta').state)\n"
    )
    assert run.lines == ["3", "discovered active", "7 active active"]
    assert run.warned == []


PAUSE = "import time; time.sleep(0.05)\n"


def test_threads_that_meet_the_first_missing_rule_together_all_get_it(site: Site) -> None:
    house = _house(site, root=PAUSE + FAMILY)
    site.plugin("alpha", PAUSE + PLUGIN.format(name="alpha"))
    site.plugin("broken", PAUSE + "1 / 0")
    run = site.run(
        house
        + """
import threading
p, got = Primitive("late"), []
start = threading.Barrier(8)
def work():
    start.wait()
    import alpha_plugin
    got.append(int(alpha_plugin.alpha_p.bind(1)))
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join(600)
print(got)
"""
        + REPORT
    )
    assert run.lines[0] == str([2] * 8)
    assert states(run.lines[1:]) == {"root": "active", "alpha": "active", "broken": "failed"}
    assert len(run.warned) == 1


def test_a_thread_that_imports_a_plugin_which_binds_does_not_wait_for_one_that_activates(site: Site) -> None:
    house = _house(site, root=FAMILY)
    site.plugin(
        "slow",
        """
        import sys, time
        sys.entered.set()
        sys.go.wait(600)
        from house.root import p
        print(p.bind(1))
        from primax.extend.host.hookspec import hookimpl
        @hookimpl
        def primax_register(registry):
            pass
        """,
    )
    run = site.run(
        house
        + """
import threading, time
sys.entered, sys.go = threading.Event(), threading.Event()
importer = threading.Thread(target=lambda: __import__("slow_plugin"))
importer.start()
sys.entered.wait(600)
activator = threading.Thread(target=host.activate)
activator.start()
time.sleep(0.2)
sys.go.set()
importer.join(600); activator.join(600)
print(importer.is_alive(), activator.is_alive())
host.activate()
"""
        + REPORT
    )
    assert run.lines == ["2", "False False", "root|active|", "slow|active|"]


def test_records_are_plain_data_on_request(site: Site) -> None:
    site.plugin("alpha", api="v1")
    run = site.run("import json; host.activate(); print(json.dumps(host.record('alpha').as_dict()))")
    assert '"name": "alpha", "source": "installed", "distribution": "alpha", "version": "1.0"' in run.out
    assert '"api": "v1", "state": "active"' in run.out
    assert (
        '"primitives": ["alpha"], "rules": [{"primitive": "alpha", "kind": "impl", "provenance": "given by' in run.out
    )


def test_the_host_of_primax_itself_has_its_families(site: Site) -> None:
    run = site.run(
        """
        import primax
        from primax.extend.host.plugin_host import host
        print([record.name for record in host.records()])
        print({record.source for record in host.records()})
        """,
        PRIMAX_PLUGINS="",
    )
    assert run.lines[0] == str(list(PLUGINS))
    assert "'built-in'" in run.lines[1]


def test_a_module_at_hand_is_registered_and_withdrawn(local: PluginHost) -> None:
    p = Primitive("p")
    record = local.register_module(_module("at_hand", lambda registry: registry.define(p, impl=abs)), name="mine")
    assert (record.name, record.source, record.state, record.primitives) == (
        "mine",
        "explicit",
        "active",
        ["p"],
    )
    assert p.bind(-2).item() == 2
    assert rules.impl_rules.provenance[p].plugin == "mine"
    local.unregister("mine")
    assert p not in rules.impl_rules
    assert [each.name for each in local.records() if each.source == "explicit"] == []
    with pytest.raises(PluginError, match="no plugin 'mine' is active"):
        local.unregister("mine")


def test_a_module_at_hand_that_fails_raises_and_leaves_nothing(local: PluginHost) -> None:
    p = Primitive("p")

    def register(registry: Any) -> None:
        registry.define(p, impl=abs)
        raise OSError("no licence")

    with pytest.raises(
        PluginError, match=r"failed while it registered: OSError: no licence, at .*test_plugin_host\.py:"
    ):
        local.register_module(_module("at_hand", register))
    assert p not in rules.impl_rules
    assert local.primitives == {}
    assert "at_hand" not in [record.name for record in local.records()]


def test_a_hook_that_fails_leaves_nothing_of_what_it_wrote_in_any_way(local: PluginHost) -> None:
    p, q = Primitive("p"), Primitive("q")

    class Mine(effects.Effect):
        """Only this test knows it."""

    class Value:
        """Likewise."""

    def tables() -> Any:
        each = {
            kind: (dict(t.functions), dict(t.provenance), dict(t.unsupported)) for kind, t in rules.rule_tables.items()
        }
        return each, dict(effects.effect_kinds), dict(avals.aval_handlers), dict(operand._implementations), p.plugin

    def jvp(primals: Any, tangents: Any) -> Any:
        return primals[0], tangents[0]

    rules.jvp_rules[q] = jvp
    before = tables()

    def register(registry: Any) -> None:
        registry.define(p, impl=abs)
        rules.new_rule_table("of_this_test", "(x) -> y")
        rules.rule_tables["of_this_test"][p] = abs
        rules.jvp_rules.register(q, lambda primals, tangents: (primals[0], primals[0]), override=True)
        rules.transpose_rules[q] = abs
        del rules.impl_rules[p]
        effects.register_effect(Mine, ordered=True)
        avals.register_aval(Value, lambda value: value)
        operand.install_operators({"add": abs})
        backends.register_platform("mine", abs)
        raise OSError("no licence")

    with pytest.raises(PluginError, match="failed while it registered: OSError: no licence"):
        local.register_module(_module("at_hand", register))
    assert tables() == before
    assert rules.jvp_rules[q] is jvp
    assert "mine" not in backends.platforms


def test_two_modules_at_hand_may_not_have_one_name(local: PluginHost) -> None:
    local.register_module(_module("at_hand", lambda registry: None))
    with pytest.raises(PluginError, match=r"plugin 'at_hand' \(.*\) has that name already"):
        local.register_module(_module("at_hand", lambda registry: None))


def test_withdrawing_a_plugin_leaves_the_later_ones_as_if_it_had_never_been(local: PluginHost) -> None:
    p, q = Primitive("p"), Primitive("q")

    def first(registry: Any) -> None:
        registry.define(p, impl=lambda x: 1)

    def second(registry: Any) -> None:
        registry.define(p, impl=lambda x: 2, override=True)

    def third(registry: Any) -> None:
        registry.define(p, impl=lambda x: 3, override=True)
        registry.define(q, impl=lambda x: 4)

    for name, register in (("first", first), ("second", second), ("third", third)):
        local.register_module(_module(name, register))
    local.unregister("second")
    assert (p.bind(0).item(), q.bind(0).item()) == (3, 4)
    local.unregister("third")
    assert p.bind(0).item() == 1
    assert rules.impl_rules.provenance[p].plugin == "first"
    local.unregister("first")
    assert p not in rules.impl_rules
    assert local.primitives == {}


def test_the_surface_has_the_marker_and_the_version_of_the_host() -> None:
    import primax.extend

    assert primax.extend.hookimpl is hookimpl
    assert primax.extend.API_VERSION is hookspec.API_VERSION
