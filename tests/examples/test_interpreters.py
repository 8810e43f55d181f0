"""The interpreters among the examples do what they say, and know public names only."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from checkout import ROOT
from example_modules import example

import primax as px
import primax.numpy as pnp

NAMES = ("inverse", "forward_laplacian", "cost_counter", "interval_analysis")
F32 = np.float32


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(px.config.enable_x64, reason="the scripts are written for 32 bits")
def test_an_example_runs(name, capsys):
    example(name).main()
    printed = capsys.readouterr().out
    if name == "forward_laplacian":
        hessian, forward = (line.split() for line in printed.splitlines())
        assert float(forward[-3]) == pytest.approx(float(hessian[-3]), rel=1e-4)
        assert float(forward[-2]) < 0.7 * float(hessian[-2])
    elif name == "interval_analysis":
        assert [line.split(":")[0].strip() for line in printed.splitlines()] == ["cond", "while", "scan"]
    else:
        assert len(printed.splitlines()) > 5


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_short_and_uses_public_names_only(name):
    lines = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120
    for line in lines:
        if line.startswith(("import", "from")) and "primax" in line:
            assert any(public in line for public in ("primax as px", "primax.numpy", "primax.extend")), line


def messy(x):
    return px.jit(lambda u: -pnp.exp(u) / 2.0)(3.0 - pnp.tanh(x)) + pnp.log(F32(2.0))


def test_an_inverse_undoes_its_function_and_the_other_way_round():
    inverse = example("inverse").inverse
    x = F32(0.25)
    y = messy(x)
    np.testing.assert_allclose(inverse(messy)(y), x, rtol=1e-4)
    np.testing.assert_allclose(inverse(inverse(messy))(x), y, rtol=1e-5)


def test_an_inverse_can_be_transformed():
    inverse = example("inverse").inverse
    xs = np.linspace(-1, 1, 5, dtype=F32)
    ys = pnp.exp(xs) * 2.0
    undo = inverse(lambda x: pnp.exp(x) * 2.0)
    np.testing.assert_allclose(px.jit(px.vmap(undo))(ys), xs, atol=1e-6)
    np.testing.assert_allclose(px.vmap(px.grad(undo))(ys), 1 / ys, rtol=1e-6)


def test_an_inverse_solves_odd_powers_of_negative_numbers():
    inverse = example("inverse").inverse
    np.testing.assert_allclose(inverse(lambda x: x**3)(F32(-8.0)), -2.0, rtol=1e-6)


def test_what_has_no_inverse_is_refused_with_the_reason():
    inverse = example("inverse").inverse
    with pytest.raises(ValueError, match="mul must have the input as one of its operands"):
        inverse(lambda x: x * x)(F32(4.0))
    with pytest.raises(ValueError, match="must depend on the input"):
        inverse(lambda x: F32(1.0))(F32(4.0))
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(NotImplementedError, match="Inverse has no rule for primitive 'floor'") as error:
        inverse(lambda x: pnp.floor(x))(F32(4.0))
    assert f"test_interpreters.py:{line}" in str(error.value)


FUNCTIONS = {
    "a network": lambda x: example("forward_laplacian").network(0, [3, 5, 1])(x),
    "quotients and powers": lambda x: pnp.sum(x / (1.0 + x**2)) ** 2,
    "a maximum, a choice and a sort": lambda x: pnp.max(pnp.where(x > 0, pnp.sin(x) * x[0], x**3)) * pnp.sort(x)[1],
    "a linear function": lambda x: pnp.sum(x) * 2.0,
    "a loop along its elements": lambda x: px.lax.scan(lambda c, e: (pnp.sin(c) * e, c * e), F32(1.0), x)[1][2],
    "a loop with a branch": lambda x: px.lax.while_loop(
        lambda state: state[0] < 3,
        lambda state: (state[0] + 1, px.lax.cond(state[1] > 1.0, pnp.sin, lambda y: 2.0 * y * x[1], state[1])),
        (0, F32(1.0)),
    )[1],
    "a constant": lambda x: pnp.sum(pnp.zeros_like(x)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_forward_laplacian_is_the_trace_of_the_hessian(name):
    f, x = FUNCTIONS[name], np.array([0.3, -1.2, 0.7], F32)
    value, found = px.jit(example("forward_laplacian").laplacian(f))(x)
    hessian = px.jit(px.jacfwd(px.jacfwd(f)))(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-5)
    np.testing.assert_allclose(found, np.trace(np.asarray(hessian)), rtol=1e-4, atol=1e-5)


def test_the_forward_laplacian_goes_through_each_equation_once():
    module = example("forward_laplacian")
    x = np.ones(3, F32)
    visited = []

    class Counting(module.ForwardLaplacian):
        def equation(self, eqn, values):
            visited.append(eqn.primitive.name)
            return super().equation(eqn, values)

    closed = px.make_jaxpr(module.network(0, [3, 5, 1]))(x)
    start = module.Carried(x, np.eye(3, dtype=F32), np.zeros(3, F32))
    px.make_jaxpr(lambda start: Counting(3).interpret(closed, start)[0])(start)
    inside = [eqn.primitive.name for call in closed.eqns if "jaxpr" in call.params for eqn in call.params["jaxpr"].eqns]
    assert sorted(visited) == sorted([eqn.primitive.name for eqn in closed.eqns] + inside)


def test_the_forward_laplacian_keeps_calls():
    module = example("forward_laplacian")
    f, x = module.network(0, [16, 32, 32, 1]), np.ones(16, F32)
    program = px.make_jaxpr(lambda x: module.laplacian(f)(x)[1])(x)
    assert [eqn.params["name"] for eqn in program.eqns if "name" in eqn.params].count("<lambda>") == 3


@pytest.mark.parametrize("shapes", [((5,), (5,)), ((4, 5), (5,)), ((4, 5), (5, 6)), ((2, 4, 5), (2, 5, 3))])
def test_costs_of_products_are_those_that_xla_gives(shapes):
    x, y = (np.ones(shape, F32) for shape in shapes)
    xla = px.jit(pnp.matmul).lower(x, y).cost_analysis()["flops"]
    assert example("cost_counter").cost(pnp.matmul, x, y).by(0)["dot_general"].flops == xla


def test_costs_are_counted_by_call_and_by_line():
    x = np.ones((4, 4), F32)
    line = inspect.currentframe().f_lineno + 1
    square = px.jit(lambda x: x @ x)
    counter = example("cost_counter").cost(lambda x: pnp.sum(square(square(x))), x)
    assert counter.by(0)["dot_general"] == (2 * 2 * 4**3, 2 * 3 * x.nbytes)
    assert counter.by(0)["reduce_sum"] == (16, x.nbytes + 4)
    (at,) = [key for key in counter.by(1) if f"test_interpreters.py:{line} " in key]
    assert counter.by(1)[at].flops == 2 * 2 * 4**3
    assert counter.total.flops == 2 * 2 * 4**3 + 16


def test_costs_of_loops_and_branches_are_counted():
    cost, x = example("cost_counter").cost, F32(1.0)
    assert cost(lambda x: px.lax.scan(lambda c, _: (pnp.sin(c), None), x, length=5)[0], x).total.flops == 5
    assert cost(lambda x: px.lax.scan(lambda c, _: (pnp.sin(c), None), x, length=0)[0], x).total.flops == 0
    assert cost(lambda x: px.lax.while_loop(lambda c: c < 3, pnp.exp, x), x).by(0)["exp"].flops == 1
    branches = [pnp.sin, lambda x: pnp.exp(pnp.exp(x))]
    counter = cost(lambda x: px.lax.switch(0, branches, x), x)
    assert counter.by(0)["exp"].flops == 2
    assert "sin" not in counter.by(0)


def _random_function(rng, depth):
    """A function of a number, with branches and loops that depend on it."""
    a, b = map(F32, rng.uniform(-1.5, 1.5, 2))
    kind = rng.integers(3) if depth == 0 else rng.integers(3, 6)
    if kind < 3:
        return (lambda x: a * x + b, lambda x: pnp.tanh(x - b), lambda x: pnp.sin(x) * a)[kind]
    f, g = _random_function(rng, depth - 1), _random_function(rng, depth - 1)
    xs = rng.uniform(-1, 1, 4).astype(F32)
    if kind == 3:
        return lambda x: px.lax.cond(x > b, f, g, f(x) - x)
    if kind == 4:
        most = rng.choice([3, 12])  # interpreted one by one, or until the bounds settle

        def condition(state):
            return (state[0] < most) & (state[1] < a)

        return lambda x: px.lax.while_loop(condition, lambda s: (s[0] + 1, pnp.tanh(g(s[1]))), (0, x))[1]

    def step(carry, element):
        return f(pnp.clip(carry, -1, 1)) + element, g(carry) * element

    return lambda x: pnp.sum(px.lax.scan(step, x, xs, reverse=bool(a > 0))[1])


@pytest.mark.parametrize("seed", range(8))
def test_intervals_hold_what_programs_compute(seed, monkeypatch):
    intervals = example("interval_analysis")
    monkeypatch.setattr(intervals.Intervals, "rounds", 4)
    rng = np.random.default_rng(seed)
    f = _random_function(rng, 2)
    low, high = np.sort(rng.uniform(-2, 2, 2)).astype(F32)
    got = intervals.bounds(f, intervals.Interval(low, high))
    with px.disable_jit():
        for x in (low, high, *rng.uniform(low, high, 4).astype(F32)):
            y = float(f(x))
            assert float(got.low) - 1e-5 <= y <= float(got.high) + 1e-5
