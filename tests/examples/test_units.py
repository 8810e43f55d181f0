"""The example transformation checks units, alone and with every other one, and takes rules from plugins."""

from __future__ import annotations

import inspect
import sys
from fractions import Fraction

import numpy as np
import pytest
from checkout import ROOT
from example_modules import example
from packages import run

import primax as px
import primax.numpy as pnp
from primax.extend import core, hookimpl
from primax.extend.host.plugin_host import host

FOLDER = ROOT / "examples" / "units"
units = example("units/units")
core.rule_tables.pop("units")  # which other tests know nothing of
NONE, Quantity, Unit, UnitError, with_units = (
    getattr(units, name) for name in ("NONE", "Quantity", "Unit", "UnitError", "with_units")
)
m, s, kg = units.m, units.s, units.kg
F32 = np.float32
TWO = F32(2.0)


@pytest.fixture(autouse=True)
def kind_of_rules(monkeypatch):
    monkeypatch.setitem(core.rule_tables, "units", units.units_rules)


def this_line() -> int:
    return inspect.currentframe().f_back.f_lineno


def unit_of(fun, *given):
    out = with_units(fun)(*(Quantity(TWO, unit) for unit in given))
    return out.unit if isinstance(out, Quantity) else NONE


def test_units_multiply_and_print():
    assert m * s / s == m
    assert (m**2) ** Fraction(1, 2) == m
    assert m / m == NONE
    assert str(kg * m / s**2) == "kg m s^-2"
    assert str(NONE) == "no unit"


FORCE = kg * m / s**2
RESULTS = {
    "sum": (lambda x, y: x + y - y, (m, m), m),
    "product": (lambda x, y: x * y, (m, s), m * s),
    "quotient": (lambda x, y: x / y, (m, s), m / s),
    "plain factor": (lambda x: -3.0 * x, (m,), m),
    "power": (lambda x: x**3, (m,), m**3),
    "root": (lambda x: pnp.sqrt(x), (m**2 / s**2,), m / s),
    "odd root": (lambda x: pnp.sqrt(x), (m,), m ** Fraction(1, 2)),
    "comparison": (lambda x, y: x < y, (m, m), NONE),
    "choice": (lambda x, y: pnp.where(x > y, x, y), (m, m), m),
    "shapes": (lambda x: pnp.sum(pnp.stack([x, x])[::-1]), (m,), m),
    "dot product": (lambda x, y: pnp.dot(pnp.stack([x, x]), pnp.stack([y, y])), (FORCE, m), FORCE * m),
    "ratio in a sine": (lambda x, y: pnp.sin(x / y), (m, m), NONE),
    "branches": (lambda x, y: px.lax.cond(x > y, lambda: x * y, lambda: y * y), (m, m), m**2),
    "sum along an axis": (lambda x: px.lax.scan(lambda c, e: (c + e, c * e), x, pnp.stack([x, x]))[0], (m,), m),
    "results along an axis": (
        lambda x: px.lax.scan(lambda c, e: (c + e, c * e), x, pnp.stack([x, x]))[1][0],
        (m,),
        m**2,
    ),
    "repetition": (lambda x, y: px.lax.while_loop(lambda c: c < 9.0 * x, lambda c: c + y, y), (m, m), m),
    "sign": (lambda x: pnp.sign(x), (m,), NONE),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("wrap", [lambda f: f, px.jit], ids=["plain", "jit"])
def test_units_follow_values(name, wrap):
    fun, given, wanted = RESULTS[name]
    assert unit_of(wrap(fun), *given) == wanted


def test_values_are_those_of_the_function_itself():
    out = with_units(lambda x, y: x * y + x * y)(Quantity(F32(3.0), m), Quantity(F32(5.0), s))
    assert float(out.value) == 30.0
    assert isinstance(out.value, px.Array)


def fallen(t, g):
    return 0.5 * g * t**2


T, G = Quantity(TWO, s), Quantity(F32(10.0), m / s**2)


@pytest.mark.parametrize("wrap", [lambda f: f, px.jit], ids=["plain", "jit"])
def test_derivatives_have_the_units_of_a_quotient(wrap):
    speed, by_g = with_units(wrap(px.grad(wrap(fallen), (0, 1))))(T, G)
    assert (float(speed.value), speed.unit) == (20.0, m / s)
    assert (float(by_g.value), by_g.unit) == (2.0, s**2)
    value, change = with_units(wrap(lambda t, g, dt: px.jvp(lambda t: fallen(t, g), (t,), (dt,))))(T, G, T)
    assert (value.unit, change.unit, float(change.value)) == (m, m, 40.0)


def test_mapping_keeps_units():
    out = with_units(px.vmap(fallen, (0, None)))(Quantity(np.arange(3, dtype=F32), s), G)
    assert out.unit == m
    np.testing.assert_allclose(out.value, [0.0, 5.0, 20.0])


def test_a_checked_function_can_be_transformed_in_turn():
    def way(t):
        return with_units(px.jit(fallen))(Quantity(t, s), G).value

    assert float(px.jit(way)(TWO)) == 20.0
    assert float(px.grad(px.jit(way))(TWO)) == 20.0
    np.testing.assert_allclose(px.jit(px.vmap(px.grad(way)))(np.arange(3, dtype=F32)), [0.0, 10.0, 20.0])


WRAPS = {
    "plain": lambda f: f,
    "jit": px.jit,
    "grad": px.grad,
    "vmap": lambda f: px.vmap(f, in_axes=(None, None), axis_size=2),
    "jit of grad of jit": lambda f: px.jit(px.grad(px.jit(f))),
}


@pytest.mark.parametrize("name", WRAPS)
def test_an_error_names_both_units_and_the_line(name):
    line = this_line() + 3

    def wrong(x, t):
        return x * x + t

    with pytest.raises(UnitError, match=r"add: units must agree, got m\^2 and s") as error:
        with_units(WRAPS[name](wrong))(Quantity(TWO, m), Quantity(TWO, s))
    assert f"test_units.py:{line} (" in str(error.value)


def test_what_must_be_a_pure_number_is_refused_with_its_unit():
    with pytest.raises(UnitError, match="sin: the operand must have no unit, got m"):
        unit_of(pnp.sin, m)
    with pytest.raises(UnitError, match="add: units must agree, got m and no unit"):
        unit_of(lambda x: x + 1.0, m)
    with pytest.raises(UnitError, match="lt: units must agree"):
        unit_of(lambda x, t: x < t, m, s)


BROKEN = {
    "cond": lambda x, t: px.lax.cond(x > 2.0 * x, lambda: x, lambda: t),
    "scan": lambda x, t: px.lax.scan(lambda c, _: (c * t, None), x, length=3)[0],
    "while": lambda x, t: px.lax.while_loop(lambda c: c < x, lambda c: c * t, x),
}


@pytest.mark.parametrize("name", BROKEN)
def test_branches_must_agree_and_loops_keep_their_units(name):
    with pytest.raises(UnitError, match=f"{name}: units must agree, got .* and .*m.*, at .*test_units.py"):
        unit_of(BROKEN[name], m, s)


def test_python_may_decide_by_a_checked_value():
    assert unit_of(lambda x, y: x if x > 3.0 * x else y * y, m, m) == m**2


def test_a_value_must_not_escape_from_the_checking():
    kept = []
    with_units(kept.append)(Quantity(TWO, m))
    with pytest.raises(px.errors.UnexpectedTracerError, match="escaped from the checking of units"):
        pnp.sin(kept[0])


area_p = core.Primitive("test_circle_area")
area_p.def_impl(lambda r: np.pi * r * r)
area_p.def_abstract_eval(lambda r: r)


@pytest.mark.parametrize("given", [True, False])
def test_a_plugin_gives_the_rule_for_its_own_primitive(given):
    rules = {"units": lambda eqn, r: r**2} if given else {}

    class Circles:
        @staticmethod
        @hookimpl
        def primax_register(registry):
            registry.define(area_p, **rules)

    host.register_module(Circles, name="test_circles")
    try:
        if given:
            assert unit_of(area_p.bind, m) == m**2
            assert units.units_rules.provenance[area_p].plugin == "test_circles"
        else:
            line = this_line() + 2
            with pytest.raises(NotImplementedError, match="no units rule for primitive 'test_circle_area'") as error:
                unit_of(lambda r: area_p.bind(r), m)
            assert "registry.define(test_circle_area_p, units=rule)" in str(error.value)
            assert f"test_units.py:{line} (" in error.value.__notes__[0]
    finally:
        host.unregister("test_circles")


def test_the_example_runs_as_a_script(tmp_path):
    printed = run([sys.executable, "-W", "error", FOLDER / "stone.py"], tmp_path).stdout
    assert "19.62 m s^-1" in printed
    assert "add: units must agree, got s and m, at" in printed
    assert "stone.py:" in printed


def test_the_example_uses_public_names_only():
    public = ("import primax as px", "import primax.numpy", "from primax.extend")
    for path in FOLDER.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        lines = [line for line in source.splitlines() if line.startswith(("import primax", "from primax"))]
        assert lines
        assert all(line.startswith(public) for line in lines), lines
        assert "._" not in source.replace("super().__init__", "")
