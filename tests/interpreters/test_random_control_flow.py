"""Random programs of control flow, calls and custom derivatives within each other: every way to run them agrees."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.programs.smooth import NESTED, close, fill, flat_fun, point, scalar_fun, smooth

import primax as px
from primax.extend import core

jax = pytest.importorskip("jax")
pytest.importorskip("jax.ad_checkpoint")  # which the programs name, and jax does not import by itself

pytestmark = [pytest.mark.any_word_size, pytest.mark.any_release]  # all is in double precision

ROWS = 3
INPUTS = ((3,), (2, 3))


def forward(lib, f, args, directions):
    return lib.jvp(f, tuple(args), tuple(directions))[1]


def gradient(lib, f):
    return lib.grad(f, (0, 1))


def at_a_point(lib, program, direction):
    """A function of arguments and a direction: values, and derivatives of the first and the second order."""
    f, scalar = flat_fun(program, lib), scalar_fun(program, lib)

    def slope(*xs):
        return forward(lib, scalar, xs[:2], xs[2:])

    def dotted(*xs):
        return sum((g * t).sum() for g, t in zip(gradient(lib, scalar)(*xs[:2]), xs[2:], strict=True))

    def run(*xs):
        found = {"value": f(*xs[:2])}
        if direction != "reverse":
            found["jvp"] = forward(lib, f, xs[:2], xs[2:])
        if direction == "forward":
            found["jvp of jvp"] = [forward(lib, lambda *args: slope(*args, *xs[2:]), xs[:2], xs[2:])]
        if direction != "forward":
            found["grad"] = gradient(lib, scalar)(*xs[:2])
        if direction == "reverse":
            found["grad of grad"] = gradient(lib, lambda *args: dotted(*args, *xs[2:]))(*xs[:2])
        if direction == "both":
            found["jvp of grad"] = forward(lib, gradient(lib, scalar), xs[:2], xs[2:])
        if direction == "both" and lib is px:
            found["linearize"] = lib.linearize(f, *xs[:2])[1](*xs[2:])
            found["grad of grad"] = gradient(lib, lambda *args: dotted(*args, *xs[2:]))(*xs[:2])
            found["grad of jvp"] = gradient(lib, lambda *args: slope(*args, *xs[2:]))(*xs[:2])
        return found

    return run


def along_an_axis(program, direction):
    """The same for stacks of arguments and directions, mapped before and after they are differentiated."""
    f, scalar = flat_fun(program), scalar_fun(program)

    def total(*args):
        return px.vmap(scalar)(*args).sum()

    def run(*xs):
        args, ts = xs[:2], xs[2:]
        found = {"value": px.vmap(f)(*args)}
        if direction != "reverse":
            found["jvp"] = px.vmap(lambda *row: forward(px, f, row[:2], row[2:]))(*xs)
            found["jvp of vmap"] = forward(px, px.vmap(f), args, ts)
        if direction != "forward":
            found["grad"] = px.vmap(gradient(px, scalar))(*args)
            found["grad of vmap"] = gradient(px, total)(*args)
        if direction == "both":
            found["jvp of grad"] = px.vmap(lambda *row: forward(px, gradient(px, scalar), row[:2], row[2:]))(*xs)
        return found

    return run


def check(seed, direction):
    """Everything about one program, compiled three times: at a point, along an axis, and by jax."""
    program = smooth(seed, NESTED[direction], 3, INPUTS)
    rows = [[*point(program, 10 * k), *(fill(shape, 50 + k) for shape in program.inputs)] for k in range(ROWS)]
    closed = px.make_jaxpr(flat_fun(program))(*rows[0][:2])
    core.check_jaxpr(closed)
    compiled = px.jit(at_a_point(px, program, direction))
    found = [compiled(*row) for row in rows]
    same = {"jvp": ["linearize"], "jvp of grad": ["grad of grad", "grad of jvp"]}
    for name, others in same.items() if direction == "both" else ():
        for other in others:
            close(found[0][other], found[0][name], 1e-8)
    with jax.enable_x64(True):
        wanted = jax.jit(at_a_point(jax, program, direction))(*rows[1])
    for name, values in wanted.items():
        close(found[1][name], values, 1e-8)
    mapped = px.jit(along_an_axis(program, direction))(*[np.stack(column) for column in zip(*rows, strict=True)])
    for name, values in mapped.items():
        for k, one in enumerate(found):
            close([x[k] for x in values], one[name.removesuffix(" of vmap")], 1e-8)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("direction", NESTED)
def test_every_way_agrees_with_the_others_and_with_jax(direction, seed):
    with px.enable_x64(True):
        check(seed, direction)


def test_programs_that_are_not_compiled_as_a_whole_give_the_same():
    program = smooth(0, NESTED["both"], 3, INPUTS)
    args, ts = point(program), [fill(shape, 50) for shape in program.inputs]
    f, scalar = flat_fun(program), scalar_fun(program)
    with px.enable_x64(True):
        found = px.jit(at_a_point(px, program, "both"))(*args, *ts)
        close(f(*args), found["value"])
        close(forward(px, f, args, ts), found["jvp"])
        close(gradient(px, scalar)(*args), found["grad"])
        close(px.vmap(gradient(px, scalar))(*[x[None] for x in args]), [x[None] for x in found["grad"]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 40))
@pytest.mark.parametrize("direction", NESTED)
def test_every_way_agrees_for_more_programs(direction, seed):
    with px.enable_x64(True):
        check(seed, direction)
