"""Steps of random programs that hold functions: control flow, linear solves, roots."""

from __future__ import annotations

from fuzz.programs.maker import Body, is_float, is_key, is_number, strong
from fuzz.programs.operations import index
from fuzz.programs.text import Array, Dict, Tuple, Type, map_leaves
from fuzz.programs.transformations import random_type


def results(body: Body) -> Type:
    """The result type of a function in control flow."""
    if body.random.random() < 0.6:
        return random_type(body)
    return Tuple((random_type(body, deep=False), random_type(body)))


def carry_type(body: Body) -> Type:
    items = tuple(random_type(body, deep=False) for _ in range(body.random.choice([1, 1, 2])))
    if len(items) == 1 and body.random.random() < 0.6:
        return items[0]
    return Tuple(items) if body.random.random() < 0.6 else Dict(items)


def operands(body: Body) -> list[str]:
    """A few values, of any types."""
    count = body.random.choice([0, 1, 1, 2])
    return [body.picked(lambda t: is_number(t) or is_key(t))[0] for _ in range(count)]


def predicate(body: Body) -> str:
    flag = body.pick(lambda t: t == Array((), "bool"))
    if flag and body.random.random() < 0.7:
        return flag
    x, _ = body.picked(lambda t: is_number(t) and t.dtype != "bool" and "complex" not in t.dtype)
    return body.add("(pnp.sum($0) > 0.0617)", Array((), "bool"), x)


def cond(body: Body) -> None:
    wanted, given, p = results(body), operands(body), predicate(body)
    types = [body.types[name] for name in given]
    branches = [body.block(types, wanted, size=1, depth=body.depth - 1 if k == 0 else 0) for k in range(2)]
    places = "".join(f", ${k + 1}" for k in range(len(given)))
    simpler = [f"$F{k}({places[2:]})" for k in range(2)]
    body.add(
        f"px.lax.cond($0, $f0, $f1{places})", wanted, p, *given, functions=branches, simpler=simpler, tags=["cond"]
    )


def switch(body: Body) -> None:
    wanted, given, i = results(body), operands(body), index(body)
    types = [body.types[name] for name in given]
    branches = [body.block(types, wanted, size=1, depth=body.depth - 1 if k == 0 else 0) for k in range(3)]
    places = "".join(f", ${k + 1}" for k in range(len(given)))
    simpler = [f"$F{k}({places[2:]})" for k in range(3)]
    text = f"px.lax.switch($0, [$f0, $f1, $f2]{places})"
    body.add(text, wanted, i, *given, functions=branches, simpler=simpler, tags=["switch"])


def stacked(type: Type, length: int) -> Type:
    return map_leaves(lambda leaf: strong(leaf, (length, *leaf.shape)), type)


def scan(body: Body) -> None:
    choose = body.random
    length = choose.choice([1, 2, 3, 3, 0] if body.context.mixed else [2, 3])
    carry = carry_type(body)
    xs: Type = random_type(body) if choose.random() < 0.65 else Tuple(())
    ys: Type = results(body) if choose.random() < 0.65 else Tuple(())
    turn = body.block([carry, xs], Tuple((carry, ys)), bounded=True)
    start = body.fit(carry)
    options, given = "", [start]
    if xs == Tuple(()):
        options, place = f", length={length}", "None"
    else:
        given.append(body.fit(stacked(xs, length)))
        place = "$1"
    plain = f"px.lax.scan($f0, $0, {place}{options})"
    options += choose.choice(["", ", reverse=True"]) + choose.choice(["", "", ", unroll=2", ", unroll=True"])
    out = Tuple((carry, stacked(ys, length)))
    text = f"px.lax.scan($f0, $0, {place}{options})"
    body.add(text, out, *given, functions=[turn], simpler=[plain] if plain != text else [], tags=["scan"])


def counter(body: Body) -> Array:
    return Array((), "int64" if body.context.x64 else "int32", True)


def fori_loop(body: Body) -> None:
    carry = carry_type(body)
    turn = body.block([counter(body), carry], carry, bounded=True)
    start = body.fit(carry)
    traced = body.random.random() < (0.05 * body.context.mixed if body.context.reverse else 0.3)
    given = [start, index(body)] if traced else [start]
    text = f"px.lax.fori_loop(0, {'$1' if traced else 3}, $f0, $0)"
    body.add(text, carry, *given, functions=[turn], simpler=["$F0(1, $0)"], tags=["fori_loop"])


def while_loop(body: Body) -> None:
    if body.context.reverse and body.random.random() < 0.95 + 0.05 * (not body.context.mixed):
        raise LookupError
    carry = carry_type(body)
    turn = body.block([carry], carry, bounded=True)
    start, bound = body.fit(carry), index(body)
    more = body.random.choice(["C[0] < $1", "C[0] < 3", "(C[0] < 4) & (C[0] < $1 + 2)"])
    text = f"px.lax.while_loop(lambda C: {more}, lambda C: (C[0] + 1, $F0(C[1])), (0, $0))[1]"
    body.add(text, carry, start, bound, functions=[turn], simpler=["$F0($0)"], tags=["while_loop"])


def map_step(body: Body) -> None:
    length = body.random.choice([1, 2, 3])
    xs = random_type(body)
    fun = body.block([xs], results(body))
    option = body.random.choice(["", "", ", batch_size=2"])
    text = f"px.lax.map($f0, $0{option})"
    given = body.fit(stacked(xs, length))
    body.add(text, stacked(fun.type, length), given, functions=[fun], simpler=["px.vmap($f0)($0)"], tags=["map"])


def associative_scan(body: Body) -> None:
    x, a = body.picked(lambda t: is_float(t) and len(t.shape) > 0)
    texts = [
        "pnp.add",
        "pnp.multiply",
        "lambda A, B: pnp.maximum(A, B)",
        "lambda A, B: A * B",
        "lambda A, B: A + B - A * B",
    ]
    option = body.random.choice(["", ", reverse=True", f", axis={len(a.shape) - 1}"])
    body.add(
        f"px.lax.associative_scan({body.random.choice(texts)}, $0{option})", strong(a), x, tags=["associative_scan"]
    )


def linear_solve(body: Body) -> None:
    """A diagonal system."""
    x, a = body.picked(lambda t: is_float(t) and t.dtype in ("float32", "float64") and not t.weak)
    d = body.fit(a)
    solve = "lambda M, B: B / M(pnp.ones_like(B))"
    if body.context.closing and body.random.random() < 0.4:
        solve = "lambda M, B: B / (2 + $1 * $1)"
    options = body.random.choice(
        [", symmetric=True", f", transpose_solve={solve}", f", {solve}", f", {solve}, has_aux=False"]
    )
    text = f"px.lax.custom_linear_solve(lambda V: (2 + $1 * $1) * V, $0, {solve}{options})"
    body.add(text, a, x, d, simpler=["($0 / (2 + $1 * $1))"], tags=["custom_linear_solve"])


def root(body: Body) -> None:
    """The root of an equation for each element."""
    x, a = body.picked(lambda t: is_float(t) and t.dtype in ("float32", "float64") and not t.weak)
    solve = "lambda G, I: px.lax.fori_loop(0, 6, lambda N, V: V - G(V), I)"
    if body.context.closing and body.random.random() < 0.4:
        solve = "lambda G, I: px.lax.fori_loop(0, 6, lambda N, V: 0.4 * pnp.tanh(V) + $0, I)"
    tangent = "lambda G, Y: Y / G(pnp.ones_like(Y))"
    text = f"px.lax.custom_root(lambda V: V - 0.4 * pnp.tanh(V) - $0, pnp.zeros_like($0), {solve}, {tangent})"
    body.add(text, a, x, tags=["custom_root"])


FLOW = [
    (cond, 1.5),
    (switch, 1.2),
    (scan, 2.0),
    (fori_loop, 1.0),
    (while_loop, 1.0),
    (map_step, 1.0),
]
SOLVES = [(associative_scan, 0.8), (linear_solve, 1.0), (root, 1.0)]
