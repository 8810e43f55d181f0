"""Random programs over meshes."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any

from fuzz.meshes.body import Body, Value
from fuzz.meshes.collective import COLLECTIVE
from fuzz.meshes.local import LOCAL, Line

MESHES = ((8,), (2, 4), (4, 2), (2, 2, 2), (4,), (2,), (2, 2), (1, 8), (2, 1, 4), (3,), (2, 3), (7,), (1,))
HEADER = "import numpy as np; import primax as px, primax.numpy as pnp; from primax import lax  # or of jax"
COUNT = 'px.config.update("num_cpu_devices", 8)  # "jax_num_cpu_devices" in jax'
SPREAD = "A = lambda shape, k=0: np.sin(1.7 * np.arange(np.prod(shape)) + k).reshape(shape).astype('float32')"
TOTAL = "sum(pnp.sum(pnp.sin(r)) for r in px.tree.leaves({0}) if r.dtype == 'float32')"

Spec = tuple[tuple[str, ...], ...]
"""For each axis of an array the axes of the mesh that divide it."""


@dataclasses.dataclass(frozen=True)
class Program:
    """Lines that bind `result`, their elements, and whether they must be refused."""

    name: str
    lines: tuple[str, ...]
    refused: bool = False
    placed: bool = False  # whether the program determines the sharding of each result

    @property
    def text(self) -> str:
        """The text of the program, with the preceding lines for primax."""
        return "\n".join((HEADER, COUNT, *self.lines, "print(result)"))


def mesh_of(rng: random.Random) -> dict[str, int]:
    """The axes of a mesh of at most eight devices."""
    return dict(zip("abc", rng.choice(MESHES), strict=False))


def mesh_line(axes: dict[str, int], kind: str = "Auto") -> str:
    """The statement that makes a mesh, with axes of a type."""
    sizes, names = tuple(axes.values()), tuple(axes)
    return f"{SPREAD}; mesh = px.make_mesh({sizes}, {names}, axis_types=(px.sharding.AxisType.{kind},) * {len(names)})"


def a_spec(rng: random.Random, axes: Sequence[str], ndim: int) -> Spec:
    """The axes of a mesh that divide the axes of an array: any subset, each at most once."""
    left = [name for name in axes if rng.random() < 0.75]
    rng.shuffle(left)
    parts: list[tuple[str, ...]] = [()] * ndim
    for name in left if ndim else ():
        axis = rng.randrange(ndim)
        parts[axis] = (*parts[axis], name)
    return tuple(parts)


def spec_text(spec: Spec, rng: random.Random) -> str:
    """A specification as users write it, sometimes without the None at the end."""
    entries = [None if not names else names[0] if len(names) == 1 else names for names in spec]
    while entries and entries[-1] is None and rng.random() < 0.5:
        entries.pop()
    return f"px.P({', '.join(map(repr, entries))})"


def whole_shape(shape: Sequence[int], spec: Spec, axes: dict[str, int]) -> tuple[int, ...]:
    """The shape of an array, from the shape of its parts."""
    sizes = list(shape)
    for axis, names in enumerate(spec):
        for name in names:
            sizes[axis] *= axes[name]
    return tuple(sizes)


def grow(body: Body, kinds: Sequence[tuple[Line, float]], count: int) -> None:
    """Add lines of some kinds."""
    lines, weights = [line for line, _ in kinds], [weight for _, weight in kinds]
    for _ in range(20):
        value = body.floating()
        if value is None or len(body.lines) >= count:
            return
        body.rng.choices(lines, weights)[0](body, value)


def results_of(body: Body) -> list[Value]:
    """The results of the function: its last value, and sometimes others."""
    chosen = [body.values[-1]]
    if body.rng.random() < 0.4:
        chosen.append(body.rng.choice(body.values))
    return chosen


def tupled(texts: Sequence[str]) -> str:
    """One text, or several as a tuple."""
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def function_line(body: Body, count: int, results: Sequence[str]) -> str:
    """The function as one line."""
    statements = [*body.lines, f"return {tupled(results)}"]
    return f"def f({', '.join('xyzw'[:count])}): {'; '.join(statements)}"


def arguments_line(rng: random.Random, shapes: Sequence[tuple[int, ...]], shardings: Sequence[str | None]) -> str:
    """The statement that makes the arguments, placed where a sharding is given."""
    arrays = [f"A({shape}, {k + rng.randrange(3)})" for k, shape in enumerate(shapes)]
    placed = [a if s is None else f"px.device_put({a}, {s})" for a, s in zip(arrays, shardings, strict=True)]
    return f"args = ({', '.join(placed)},)"


def transformed(rng: random.Random, count: int) -> tuple[str, str]:
    """A transformation of g at the arguments, and its name."""
    k = rng.randrange(count)
    total = TOTAL.format("g(*a)")
    tangents = "tuple(pnp.cos(a) for a in args)"
    stacked = "tuple(np.stack([a, a + 1, 2 * a]) for a in args)"
    axes = tuple(rng.choice([0, 0, None]) for _ in range(count))
    axes = axes if any(axis == 0 for axis in axes) else (0,) * count
    mapped = f"tuple(np.stack([a, a + 1, 2 * a]) if i == 0 else a for a, i in zip(args, {axes}))"
    choices = {
        "grad": f"px.grad(lambda *a: {total}, argnums={k})(*args)",
        "jit.grad": f"px.jit(px.grad(lambda *a: {total}, argnums={tuple(range(count))}))(*args)",
        "jvp": f"px.jvp(g, args, {tangents})",
        "linearize": f"px.linearize(g, *args)[1](*{tangents})",
        "vjp": "[bwd(px.tree.map(pnp.ones_like, out)) for out, bwd in "
        "[px.vjp(lambda *a: px.tree.map(lambda r: r * 1.0, g(*a)), *args)]]",
        "vmap": f"px.vmap(g, in_axes={axes})(*{mapped})",
        "vmap.grad": f"px.vmap(px.grad(lambda *a: {total}, argnums={k}))(*{stacked})",
        "jvp.grad": f"px.jvp(px.grad(lambda *a: {total}, argnums={k}), args, {tangents})[1]",
        "grad.jit": f"px.grad(lambda *a: {TOTAL.format('px.jit(g)(*a)')}, argnums={k})(*args)",
        "checkpoint": f"px.grad(lambda *a: {TOTAL.format('px.checkpoint(g)(*a)')}, argnums={k})(*args)",
        "scan": "px.lax.scan(lambda c, t: (c, g(*t)), 0, tuple(pnp.stack([a, -a]) for a in args))[1]",
        "eval_shape": "px.tree.map(lambda r: np.zeros(r.shape, r.dtype), px.eval_shape(g, *args))",
    }
    name = rng.choice(["grad", "grad", "jit.grad", *choices])
    return choices[name], name


def ended(rng: random.Random, lines: list[str], count: int, name: str, refused: bool = False) -> Program:
    """A program that calls, compiles, or transforms g."""
    choice = rng.random()
    if choice < 0.25:
        return Program(name, (*lines, "result = g(*args)"), refused, placed=True)
    if choice < 0.4:
        return Program(f"{name}.jit", (*lines, "result = px.jit(g)(*args)"), refused)
    text, how = transformed(rng, count)
    return Program(f"{name}.{how}", (*lines, f"result = {text}"), refused)


def of_shard_map(rng: random.Random) -> Program:
    """A function as a per-device program, whose results have specifications that the types allow."""
    axes = mesh_of(rng)
    manual = dict(axes)
    if len(axes) > 1 and rng.random() < 0.12:
        manual = {name: axes[name] for name in rng.sample(sorted(axes), len(axes) - 1)}
    body = Body(rng, manual)
    shapes, specs = [], []
    for _ in range(rng.randint(1, 3)):
        local = rng.choice([(2,), (3,), (4,), (2, 3), (4, 2), (2, 2), (1, 4), (8,), (), (2, 1, 2), (3, 3)])
        spec = a_spec(rng, list(manual), len(local))
        body.parameter(local, {name for names in spec for name in names})
        shapes.append(whole_shape(local, spec, axes))
        specs.append(spec)
    grow(body, [*LOCAL, *COLLECTIVE], rng.randint(1, 6))
    results, out_specs = [], []
    for value in results_of(body):
        results.append(value.name if value.ndim or not value.vary else f"{value.name}[None]")
        spec = a_spec_of(rng, value, max(value.ndim, bool(value.vary)), manual)
        out_specs.append(spec)
    wrong = rng.random() < 0.07 and spoil(rng, shapes, specs, out_specs)
    rest = f", axis_names={{{', '.join(map(repr, sorted(manual)))}}}" if len(manual) < len(axes) else ""
    # Without the check, derivatives by values that all devices have are not summed, so they may differ.
    differs = any("px.grad(lambda u" in line for line in body.lines)
    rest += ", check_vma=False" if not wrong and not rest and not differs and rng.random() < 0.06 else ""
    in_texts, out_texts = [spec_text(s, rng) for s in specs], [spec_text(s, rng) for s in out_specs]
    made = f"g = px.shard_map(f, mesh=mesh, in_specs=({', '.join(in_texts)},), out_specs={tupled(out_texts)}{rest})"
    places = [f"px.NamedSharding(mesh, {s})" if not wrong and rng.random() < 0.3 else None for s in in_texts]
    lines = [mesh_line(axes), function_line(body, len(shapes), results), made, arguments_line(rng, shapes, places)]
    name = "meshes.shard_map" + (".partly" if len(manual) < len(axes) else "") + (".unchecked" if "vma" in rest else "")
    if len(manual) < len(axes):  # jax can only compile such programs
        lines[2] += "; g = px.jit(g)"
    return ended(rng, lines, len(shapes), name + (".wrong" if wrong else ""), wrong)


def a_spec_of(rng: random.Random, value: Value, ndim: int, axes: dict[str, int]) -> Spec:
    """A specification with all axes along which a value may differ, and rarely others."""
    names = [*value.vary, *(name for name in axes if name not in value.vary and rng.random() < 0.1)]
    names.sort()
    rng.shuffle(names)
    parts: list[tuple[str, ...]] = [()] * ndim
    for name in names if ndim else ():
        axis = rng.randrange(ndim)
        parts[axis] = (*parts[axis], name)
    return tuple(parts)


def spoil(rng: random.Random, shapes: list[tuple[int, ...]], specs: list[Spec], out_specs: list[Spec]) -> bool:
    """Make a program invalid; returns whether it was possible."""
    way = rng.choice(["leave out", "unknown", "odd", "twice", "long"])
    divided = [k for k, spec in enumerate(specs) if any(spec)]
    if way == "leave out" and any(out_specs[0]):
        out_specs[0] = tuple(() for _ in out_specs[0])
    elif way == "unknown" and specs[0]:
        specs[0] = (("q",), *specs[0][1:])
    elif way == "long":
        specs[0] = (*specs[0], (), ("a",))
    elif way == "twice" and divided:
        specs[divided[0]] = (*specs[divided[0]][:-1], ("a", "a"))
    elif way == "odd" and divided:
        k = divided[0]
        shapes[k] = tuple(n + 1 if names else n for n, names in zip(shapes[k], specs[k], strict=True))
        return False  # a part may belong to one device
    else:
        return False
    return True


def a_sharding(rng: random.Random, axes: dict[str, int], shape: tuple[int, ...]) -> str:
    """A sharding over the mesh that can divide a shape."""
    spec = a_spec(rng, list(axes), len(shape))
    fitting: list[tuple[str, ...]] = []
    for n, names in zip(shape, spec, strict=True):
        count = 1
        for name in names:
            count *= axes[name]
        fitting.append(names if n % count == 0 else ())
    return f"px.NamedSharding(mesh, {spec_text(tuple(fitting), rng)})"


def of_jit(rng: random.Random) -> Program:
    """A function of whole arrays over a mesh, compiled or not, with constraints inside."""
    axes = mesh_of(rng)
    body = Body(rng, {})
    shapes = []
    for _ in range(rng.randint(1, 3)):
        shapes.append(rng.choice([(8,), (16,), (4, 8), (8, 8), (6, 4), (2, 4, 2), (12,), (8, 1), ()]))
        body.parameter(shapes[-1])
    for _ in range(rng.randint(1, 5)):
        grow(body, LOCAL, len(body.lines) + 1)
        value = body.values[-1]
        if value.ndim and rng.random() < 0.3:
            sharding = a_sharding(rng, axes, value.shape)
            body.add(f"lax.with_sharding_constraint({value.name}, {sharding})", value.shape, dtype=value.dtype)
    results = results_of(body)
    line = function_line(body, len(shapes), [value.name for value in results])
    eager = rng.random() < 0.3
    options = ""
    if not eager and rng.random() < 0.5:
        options += f", in_shardings=({', '.join(a_sharding(rng, axes, shape) for shape in shapes)},)"
    if not eager and (placed := rng.random() < 0.5):
        options += f", out_shardings={tupled([a_sharding(rng, axes, v.shape) for v in results])}"
    else:
        placed = False
    committed = "in_shardings" not in options
    places = [a_sharding(rng, axes, shape) if committed and rng.random() < 0.8 else None for shape in shapes]
    made = "g = f" if eager else f"g = px.jit(f{options})"
    lines = [mesh_line(axes), line, made, arguments_line(rng, shapes, places)]
    program = ended(rng, lines, len(shapes), "meshes.eager" if eager else "meshes.jit")
    return dataclasses.replace(program, placed=program.placed and placed)


def resharded(body: Body, axes: dict[str, int]) -> None:
    """A line that reshards the last value."""
    value = body.values[-1]
    spec = a_sharding(body.rng, axes, value.shape).removeprefix("px.NamedSharding(mesh, ").removesuffix(")")
    body.add(f"px.reshard({value.name}, {spec})", value.shape, dtype=value.dtype)


def of_explicit(rng: random.Random) -> Program:
    """A function of whole arrays on an explicit mesh, whose types determine the shardings of results."""
    axes = mesh_of(rng)
    body = Body(rng, {})
    shapes = []
    for _ in range(rng.randint(1, 2)):
        shapes.append(rng.choice([(8,), (16,), (4, 8), (8, 8), (6, 4), (2, 4, 2), (8, 1), ()]))
        body.parameter(shapes[-1])
    for _ in range(rng.randint(1, 4)):
        grow(body, LOCAL, len(body.lines) + 1)
        if body.values[-1].ndim and rng.random() < 0.25:
            resharded(body, axes)
    results = results_of(body)
    line = function_line(body, len(shapes), [value.name for value in results])
    places = [a_sharding(rng, axes, shape) for shape in shapes]
    lines = [mesh_line(axes, "Explicit"), line, "g = f", arguments_line(rng, shapes, places)]
    program = ended(rng, lines, len(shapes), "meshes.explicit")
    *rest, last = program.lines
    # A gradient with respect to an array of NumPy is undivided, as the array is; jax divides it as the rules say.
    placed = not program.name.endswith("vmap.grad")
    return Program(program.name, (*rest, f"with px.set_mesh(mesh): {last}"), placed=placed)


def of_pmap(rng: random.Random) -> Program:
    """A function mapped over devices."""
    size = rng.choice([8, 4, 2, 1])
    body = Body(rng, {"i": size})
    shapes, in_axes = [], []
    for _ in range(rng.randint(1, 2)):
        local = rng.choice([(2,), (4,), (), (2, 3), (8,)])
        mapped = rng.random() < 0.8 or not in_axes
        body.parameter(local, {"i"} if mapped else ())
        shapes.append((size, *local) if mapped else local)
        in_axes.append(0 if mapped else None)
    grow(body, [*LOCAL, *((line, weight) for line, weight in COLLECTIVE if line.__name__ != "cast")], rng.randint(1, 4))
    results = results_of(body)
    line = function_line(body, len(shapes), [value.name for value in results])
    made = f"g = px.pmap(f, axis_name='i', in_axes={tuple(in_axes)}, devices=px.devices()[:{size}])"
    lines = [SPREAD, line, made, arguments_line(rng, shapes, [None] * len(shapes))]
    return ended(rng, lines, len(shapes), "meshes.pmap")


FORMS: tuple[tuple[Any, float], ...] = ((of_shard_map, 6), (of_jit, 3), (of_explicit, 1.5), (of_pmap, 0.7))


def random_program(rng: random.Random) -> Program:
    """A program of one of the forms."""
    form: Any = rng.choices([form for form, _ in FORMS], [weight for _, weight in FORMS])[0]
    return form(rng)
