"""Lines in which devices communicate."""

from __future__ import annotations

from fuzz.meshes.body import WHOLE, Body, Value, written
from fuzz.meshes.local import Line


def total(b: Body, v: Value) -> Value | None:
    """psum and similar functions: the result is the same along the axes."""
    names = b.names_of(v.vary if b.rng.random() < 0.9 else b.axes)
    if not names:
        return None
    function = b.rng.choice(["psum"] * 4 + ["pmean"] * 3 + ["pmax", "pmin"])
    text = b.rng.choice(
        [
            "lax.{0}({1}, {2})",
            "lax.{0}({1}, {2})",
            "px.jit(lambda u: lax.{0}(u, {2}))({1})",
            "px.checkpoint(lambda u: lax.{0}(pnp.sin(u), {2}))({1})",
            "px.vmap(lambda u: lax.{0}(u, {2}))({1}[None])[0]",
            "lax.{0}({{'a': {1}}}, {2})['a']",
            "lax.scan(lambda c, t: (c, lax.{0}(t * t, {2})), 0, {1}[None])[1][0]",
            "lax.cond({3}, lambda u: lax.{0}(u, {2}), lambda u: lax.{0}(u * u, {2}), {1})",
        ]
    )
    known = b.rng.choice(["True", "pnp.array(False)", f"lax.axis_size({names[0]!r}) > 2"])
    return b.add(text.format(function, v.name, written(names), known), v.shape, v.vary - set(names))


def gathered(b: Body, v: Value) -> Value | None:
    """all_gather along one axis or several."""
    names = b.names_of(v.vary)
    if not names or (count := b.size(names)) * max(1, *v.shape, 1) > 64:
        return None
    if v.ndim and b.rng.random() < 0.6:
        axis = b.axis(v)
        shape = (*v.shape[:axis], v.shape[axis] * count, *v.shape[axis + 1 :])
        return b.add(f"lax.all_gather({v.name}, {written(names)}, axis={axis}, tiled=True)", shape, v.vary)
    axis = b.rng.randint(0, v.ndim)
    shape = (*v.shape[:axis], count, *v.shape[axis:])
    return b.add(f"lax.all_gather({v.name}, {written(names)}, axis={axis})", shape, v.vary)


def scattered(b: Body, v: Value) -> Value | None:
    """psum_scatter: a part of the sum."""
    name = b.name_of(v.vary)
    axes = [axis for axis in range(v.ndim) if name is not None and v.shape[axis] % b.axes[name] == 0]
    if not axes:
        return None
    axis, count = b.rng.choice(axes), b.axes[name]
    rest = f"{v.name}, {name!r}, scatter_dimension={axis}"
    if v.shape[axis] == count and b.rng.random() < 0.5:
        return b.add(f"lax.psum_scatter({rest})", v.shape[:axis] + v.shape[axis + 1 :], v.vary)
    shape = (*v.shape[:axis], v.shape[axis] // count, *v.shape[axis + 1 :])
    return b.add(f"lax.psum_scatter({rest}, tiled=True)", shape, v.vary)


def exchanged(b: Body, v: Value) -> Value | None:
    """all_to_all: each device sends a part to each other."""
    name = b.name_of(v.vary)
    axes = [axis for axis in range(v.ndim) if name is not None and v.shape[axis] % b.axes[name] == 0]
    if not axes:
        return None
    split, join, count = b.rng.choice(axes), b.axis(v), b.axes[name]
    shape = list(v.shape)
    shape[split] //= count
    shape[join] *= count
    return b.add(f"lax.all_to_all({v.name}, {name!r}, {split}, {join}, tiled=True)", shape, v.vary)


def permuted(b: Body, v: Value) -> Value | None:
    """ppermute, also with devices that receive nothing."""
    name = b.name_of(v.vary)
    if name is None:
        return None
    targets = list(range(b.axes[name]))
    b.rng.shuffle(targets)
    pairs = list(enumerate(targets))[: b.rng.randint(1, len(targets)) if b.rng.random() < 0.3 else None]
    text = b.rng.choice(
        ["lax.ppermute({0}, {1}, {2})", "lax.fori_loop(0, 2, lambda i, c: lax.ppermute(c, {1}, {2}) + i, {0})"]
    )
    return b.add(text.format(v.name, repr(name), pairs), v.shape, v.vary)


def cast(b: Body, v: Value) -> Value | None:
    """pcast: an invarying value becomes varying."""
    names = b.names_of(set(b.axes) - v.vary)
    return names and b.add(f"lax.pcast({v.name}, {written(names)}, to='varying')", v.shape, v.vary | set(names))


def place(b: Body, v: Value) -> Value | None:
    """A value that depends on the index of the device."""
    names = b.names_of(b.axes)
    index = f"lax.axis_index({written(names)})"
    vary = v.vary | set(names)
    texts = [
        f"{v.name} * (1 + {index})",
        f"pnp.where({index} == 0, {v.name}, 0.0)",
        f"{v.name} + px.random.normal(px.random.fold_in(px.random.key(0), {index}), {v.shape})",
    ]
    if v.vary >= set(names):
        texts.append(f"lax.cond({index} % 2 == 0, lambda u: u * 2, pnp.sin, {v.name})")
        texts.append(f"lax.switch({index} % 3, [pnp.sin, pnp.cos, lambda u: u * u], {v.name})")
        texts.append(f"lax.fori_loop(0, {index}, lambda i, c: pnp.sin(c) + i, {v.name})")
    if v.ndim and b.rng.random() < 0.3:
        text = f"lax.dynamic_slice_in_dim({v.name}, {index} % {v.shape[0]}, 1, 0)"
        return b.add(text, (1, *v.shape[1:]), vary)
    if b.rng.random() < 0.15:
        return b.add(index, (), frozenset(names), WHOLE)
    return b.add(b.rng.choice(texts), v.shape, vary)


def derivative(b: Body, v: Value) -> Value | None:
    """Derivatives inside the program, of functions that communicate or vary along more axes than the argument."""
    name = b.name_of(v.vary)
    others = [w for w in b.values if w.shape == v.shape and w.dtype == v.dtype]
    w = b.rng.choice(others)
    if name is None or b.rng.random() < 0.5:
        return b.add(f"px.grad(lambda u: pnp.sum(pnp.sin(u) * {w.name}))({v.name})", v.shape, v.vary)
    text = f"px.grad(lambda u: pnp.sum(lax.psum(u * u, {name!r}) * {w.name}))({v.name})"
    return b.add(text, v.shape, v.vary)


def mapped(b: Body, v: Value) -> Value | None:
    """Collectives over a mapped axis and over an axis of the mesh."""
    name = b.name_of(v.vary)
    if name is None or not v.ndim:
        return None
    function = b.rng.choice(["psum", "pmean"])
    text = f"px.vmap(lambda u: lax.{function}(u, ('i', {name!r})), axis_name='i')({v.name})"
    return b.add(text, v.shape, v.vary - {name})


COLLECTIVE: tuple[tuple[Line, float], ...] = (
    (total, 5),
    (gathered, 2),
    (scattered, 2),
    (exchanged, 2),
    (permuted, 2),
    (cast, 1),
    (place, 3),
    (derivative, 2),
    (mapped, 0.7),
)
