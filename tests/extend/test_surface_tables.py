"""The rule tables are live mappings: they show every rule, and nobody's rule is replaced in silence."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy as np
import pytest

import primax as px
from primax.errors import PluginError
from primax.extend import core
from primax.extend.host.registry import Registry
from primax.extend.interpreters import ad, batching, mlir

X = np.float32(2.0)


def module_of(name, source, **given):
    """What a module of this name and source defines."""
    module = types.ModuleType(name)
    vars(module).update(given)
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


@pytest.fixture
def plugged():
    """A primitive of a plugin that has given it a JVP rule and a lowering."""
    p = module_of("a_plugin", "p = Primitive('plugged')", Primitive=core.Primitive).p
    registry = Registry("a_plugin", {})

    def doubled(primals, tangents):
        return p.bind(*primals), tangents[0] * 2.0

    registry.define(
        p,
        abstract_eval=lambda x: x,
        jvp=doubled,
        lowering=mlir.nary("stablehlo.negate"),
    )
    yield p
    registry.roll_back()


def test_what_interpreters_look_up_is_a_plain_dictionary():
    for table in core.rule_tables.values():
        functions = table.functions
        len(table)
        assert table.functions is functions
        assert type(functions) is dict


def tripled(p):
    return lambda primals, tangents: (p.bind(*primals), tangents[0] * 3.0)


FRESH = """
import primax as px
from primax.core import rules
from primax.extend.interpreters import ad, batching, mlir
assert not rules.jvp_rules.functions
{}
"""


def run_fresh(program):
    command = [sys.executable, "-W", "error", "-c", FRESH.format(program)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "look",
    [
        "assert callable(ad.primitive_jvps[px.lax.sin_p])",
        "assert px.lax.sin_p in batching.primitive_batchers",
        "assert callable(ad.primitive_transposes.get(px.lax.mul_p))",
        "assert len(mlir.lowering_rules) > 100",
        "assert px.lax.sin_p in list(ad.primitive_jvps)",
        "assert px.lax.sin_p in dict(ad.primitive_jvps.items())",
        "assert ad.primitive_jvps.provenance[px.lax.sin_p].plugin == 'trigonometry'",
    ],
)
def test_in_a_fresh_process_a_table_shows_every_rule_before_any_bind(look):
    run_fresh(look)


OVERRIDE = """
import pytest
try:
    ad.primitive_jvps[px.lax.sin_p] = lambda xs, ts: (px.lax.sin(xs[0]), ts[0] * 5.0)
    raise SystemExit("replaced in silence")
except px.errors.PluginError as error:
    assert "given by trigonometry" in str(error)
ad.primitive_jvps.register(px.lax.sin_p, lambda xs, ts: (px.lax.sin(xs[0]), ts[0] * 5.0), override=True)
assert float(px.grad(px.lax.sin)(1.0)) == float(px.jvp(px.lax.sin, (1.0,), (1.0,))[1]) == 5.0
assert str(ad.primitive_jvps.provenance[px.lax.sin_p]).startswith("overridden by __main__")
"""


def test_a_rule_written_before_the_plugins_were_loaded_does_not_get_in_their_way():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH.format(OVERRIDE)], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_rule_of_a_plugin_is_not_replaced_in_silence(plugged):
    rule = ad.primitive_jvps[plugged]
    for write in (
        lambda: ad.primitive_jvps.__setitem__(plugged, tripled(plugged)),
        lambda: ad.primitive_jvps.update({plugged: tripled(plugged)}),
        lambda: ad.defjvp(plugged, lambda t, x: t * 3.0),
        lambda: ad.deflinear(plugged, lambda ct: [ct]),
    ):
        with pytest.raises(
            PluginError, match=r"given by a_plugin .*rule_tables\['jvp'\]\.register\(plugged_p, rule, override=True\)"
        ):
            write()
        assert ad.primitive_jvps[plugged] is rule
    with pytest.raises(PluginError, match="abstract_eval rule already"):
        plugged.def_abstract_eval(lambda x: x)


def test_overriding_a_jvp_says_so_and_changes_every_derivative(plugged):
    derivatives = (
        lambda f: px.jvp(f, (X,), (X / X,))[1],
        lambda f: px.grad(f)(X),
        lambda f: px.jit(px.grad(f))(X),
        lambda f: px.linearize(f, X)[1](X / X),
    )
    ad.primitive_transposes[plugged] = lambda ct, x: [ct]
    jitted = px.jit(plugged.bind)
    for f in (plugged.bind, jitted):
        assert {float(derive(f)) for derive in derivatives} == {2.0}
    ad.primitive_jvps.register(plugged, tripled(plugged), override=True)
    for f in (plugged.bind, jitted):
        assert {float(derive(f)) for derive in derivatives} == {3.0}
    assert ad.primitive_jvps.provenance[plugged].origin == "overridden"
    ad.primitive_jvps[plugged] = tripled(plugged)  # the same module again
    ad.primitive_jvps.remove(plugged, override=True)
    ad.primitive_transposes.pop(plugged)


def test_what_a_plugin_did_not_give_anybody_may_and_it_is_recorded(plugged):
    source = "batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dims[0])"
    module_of("elsewhere.rules", source, batching=batching, p=plugged)
    provenance = batching.primitive_batchers.provenance[plugged]
    assert (provenance.plugin, provenance.file, provenance.line) == ("elsewhere.rules", "elsewhere.rules.py", 1)
    assert px.vmap(plugged.bind)(np.ones(3, np.float32)).tolist() == [-1.0] * 3
    with pytest.raises(PluginError, match=r"given by elsewhere\.rules"):
        batching.defvectorized(plugged)
    module_of("elsewhere.rules", "batching.defvectorized(p)", batching=batching, p=plugged)
    assert batching.primitive_batchers.provenance[plugged].file == "elsewhere.rules.py"
    batching.primitive_batchers.remove(plugged, override=True)


def test_the_line_of_a_write_is_recorded_where_the_rule_itself_is_of_another_file():
    p = core.Primitive("lined")
    module_of("elsewhere", "\n\nad.defjvp(p, lambda t, x: t)\nmlir.register_lowering(p, rule)",
              ad=ad, mlir=mlir, p=p, rule=tripled)  # fmt: skip
    found = ad.primitive_jvps.provenance[p], mlir.lowering_rules.provenance[p]
    assert [(each.plugin, each.file, each.line) for each in found] == [
        ("elsewhere", "elsewhere.py", 3),
        ("elsewhere", "elsewhere.py", 4),
    ]


def test_deleting_and_popping_follow_the_same_rules(plugged):
    def delete():
        del ad.primitive_jvps[plugged]

    for remove in (delete, lambda: ad.primitive_jvps.pop(plugged), lambda: ad.primitive_jvps.remove(plugged)):
        with pytest.raises(
            PluginError, match=r"given by a_plugin .*rule_tables\['jvp'\]\.remove\(plugged_p, override=True\)"
        ):
            remove()
    assert plugged in ad.primitive_jvps
    change = ad.primitive_jvps.remove(plugged, override=True)
    assert plugged not in ad.primitive_jvps
    with pytest.raises(KeyError):
        ad.primitive_jvps.remove(plugged, override=True)
    assert ad.primitive_jvps.pop(plugged, None) is None
    ad.primitive_jvps.restore(change)
    assert ad.primitive_jvps[plugged] is change.before[0]


def test_a_primitive_of_no_plugin_is_anybodys():
    p = core.Primitive("free")
    for name in ("one", "other"):
        module_of(name, "ad.primitive_jvps[p] = lambda xs, ts: (xs[0], ts[0])", ad=ad, p=p)
        assert ad.primitive_jvps.provenance[p].plugin == name
    del ad.primitive_jvps[p]


def test_lowerings_are_protected_platform_by_platform(plugged):
    with pytest.raises(PluginError, match=r"plugged has a lowering rule already, given by a_plugin"):
        mlir.register_lowering(plugged, mlir.nary("stablehlo.abs"))
    rule = mlir.nary("stablehlo.abs")
    module_of("elsewhere", "mlir.register_lowering(p, rule, platform='cuda')", mlir=mlir, p=plugged, rule=rule)
    assert mlir.lowering_rules[plugged, "cuda"] is rule
    with pytest.raises(
        PluginError, match=r"rule_tables\['lowering'\]\.register\(\(plugged_p, 'cuda'\), rule, override=True\)"
    ):
        mlir.register_lowering(plugged, rule, platform="cuda")
    mlir.lowering_rules.remove((plugged, "cuda"), override=True)


def test_the_home_module_of_a_primitive_may_replace_what_its_plugin_gave():
    home = module_of(
        "a_plugin.home",
        "p = core.Primitive('homely')\n"
        "def register(registry): registry.define(p, impl=lambda x: x)\n"
        "def again(): p.def_impl(lambda x: -x)\n",
        core=core,
    )
    registry = Registry("a_plugin", {})
    home.register(registry)
    home.again()
    assert home.p.bind(X) == -X
    registry.roll_back()
