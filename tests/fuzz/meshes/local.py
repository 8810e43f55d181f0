"""Lines that compute without communication, on a device's part or on a whole array."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.meshes.body import WHOLE, Body, Value

Line = Callable[[Body, Value], Value | None]

ELEMENTWISE = (
    "pnp.sin({0})",
    "pnp.tanh({0})",
    "{0} * {0}",
    "pnp.exp(-{0} * {0})",
    "px.nn.relu({0})",
    "2.0 * {0} - 1.0",
    "pnp.where({0} > 0.1, {0}, 0.5)",
    "{0}.astype('float16').astype('float32')",
    "px.jit(pnp.cos)({0})",
    "px.checkpoint(lambda v: pnp.sin(v) * v)({0})",
    "px.custom_gradient(lambda v: (pnp.sin(v), lambda c: (2 * c,)))({0})",
    "lax.cond({0}.sum() > 0, lambda v: v * 2, pnp.sin, {0})",
    "lax.fori_loop(0, 3, lambda i, c: pnp.sin(c) + i, {0})",
    "lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, pnp.cos(c[1])), (0, {0}))[1]",
    "lax.stop_gradient({0}) * {0}",
    "px.vmap(pnp.sin, axis_name='i')({0}[None])[0]",
    "px.jvp(pnp.sin, ({0},), ({0},))[1]",
    "px.grad(lambda v: (v * v * v).sum())({0})",
    "px.vjp(pnp.tanh, {0})[1]({0})[0]",
    "lax.map(lambda v: v * v, {0}[None])[0]",
    "px.linearize(pnp.cos, {0})[1]({0})",
    "px.named_call(pnp.cos, name='inner')({0})",
)
ALONG = (
    "pnp.flip({0}, {1})",
    "pnp.cumsum({0}, {1})",
    "pnp.sort({0}, axis={1})",
    "pnp.roll({0}, 1, {1})",
    "px.nn.softmax({0}, axis={1})",
    "lax.associative_scan(pnp.add, {0}, axis={1})",
    "lax.cummax({0}, {1})",
    "pnp.take({0}, pnp.arange({2})[::-1], axis={1})",
    "{0}.at[0].add(1.5)",
    "{0}.at[..., :1].multiply(2.0)",
    "pnp.fft.ifft(pnp.fft.fft({0}, axis={1}), axis={1}).real",
)
REDUCTIONS = (
    "{0}.sum({1})",
    "{0}.max({1})",
    "{0}.mean({1})",
    "px.nn.logsumexp({0}, axis={1})",
    "pnp.linalg.norm({0}, axis={1})",
    "lax.scan(lambda c, t: (pnp.tanh(c + t), 0), pnp.zeros_like(pnp.take({0}, 0, {1})), pnp.moveaxis({0}, {1}, 0))[0]",
    "lax.scan(lambda c, t: (c * 0.5 + t, c), pnp.take({0}, 0, {1}), pnp.moveaxis({0}, {1}, 0), reverse=True)[0]",
)


def elementwise(b: Body, v: Value) -> Value:
    """An elementwise function."""
    return b.add(b.rng.choice(ELEMENTWISE).format(v.name), v.shape, v.vary)


def along(b: Body, v: Value) -> Value | None:
    """A function along an axis that keeps the shape."""
    if not v.ndim:
        return None
    axis = b.axis(v)
    return b.add(b.rng.choice(ALONG).format(v.name, axis, v.shape[axis]), v.shape, v.vary)


def reduced(b: Body, v: Value) -> Value | None:
    """A sum or similar reduction along an axis, sometimes by a loop."""
    if not v.ndim:
        return None
    axis = b.axis(v)
    shape = v.shape[:axis] + v.shape[axis + 1 :]
    return b.add(b.rng.choice(REDUCTIONS).format(v.name, axis), shape, v.vary)


def pair(b: Body, v: Value) -> Value | None:
    """An operation of two values, which broadcast."""
    others = [w for w in b.values if w.shape == v.shape or not w.shape or not v.shape]
    w = b.rng.choice(others)
    operation = b.rng.choice(["{0} + {1}", "{0} * {1}", "pnp.maximum({0}, {1})", "{0} - {1}", "pnp.arctan2({0}, {1})"])
    return b.add(operation.format(v.name, w.name), max(v.shape, w.shape, key=len), v.vary | w.vary)


def product(b: Body, v: Value) -> Value | None:
    """A product of matrices."""
    others = [w for w in b.values if w.ndim == 2 and v.ndim == 2 and w.dtype == v.dtype and w.shape[1] == v.shape[1]]
    if not others:
        return None
    w = b.rng.choice(others)
    text = b.rng.choice(["{0} @ {1}.T / 4", "pnp.einsum('ij,kj->ik', {0}, {1}) / 4", "pnp.inner({0}, {1}) / 4"])
    return b.add(text.format(v.name, w.name), (v.shape[0], w.shape[0]), v.vary | w.vary)


def reshaped(b: Body, v: Value) -> Value | None:
    """The same elements in another shape or order."""
    if not v.ndim:
        return b.add(f"{v.name}[None]", (1,), v.vary)
    if v.ndim == 2 and b.rng.random() < 0.5:
        return b.add(f"{v.name}.T", v.shape[::-1], v.vary)
    if v.ndim == 1 and v.shape[0] % 2 == 0:
        return b.add(f"{v.name}.reshape(2, -1)", (2, v.shape[0] // 2), v.vary)
    if v.ndim > 1:
        return b.add(f"{v.name}.reshape(-1, {v.shape[-1]})", (size(v.shape[:-1]), v.shape[-1]), v.vary)
    return None


def joined(b: Body, v: Value) -> Value | None:
    """Concatenated values of the same shape."""
    if not v.ndim or v.shape[0] > 16:
        return None
    w = b.rng.choice([w for w in b.values if w.shape == v.shape])
    shape = (2 * v.shape[0], *v.shape[1:])
    return b.add(f"pnp.concatenate([{v.name}, {w.name}.astype({v.dtype!r})])", shape, v.vary | w.vary)


def random_numbers(b: Body, v: Value) -> Value:
    """Random numbers of the shape of a value."""
    draw = b.rng.choice(["uniform", "normal", "laplace"])
    return b.add(f"{v.name} * px.random.{draw}(px.random.key({b.rng.randrange(9)}), {v.shape})", v.shape, v.vary)


def positions(b: Body, v: Value) -> Value | None:
    """The positions of the greatest elements along an axis."""
    if not v.ndim:
        return None
    axis = b.axis(v)
    shape = v.shape[:axis] + v.shape[axis + 1 :]
    return b.add(f"pnp.argmax({v.name}, {axis})", shape, v.vary, WHOLE)


def size(shape: tuple[int, ...]) -> int:
    """The number of elements of an array."""
    return 1 if not shape else shape[0] * size(shape[1:])


LOCAL: tuple[tuple[Line, float], ...] = (
    (elementwise, 4),
    (along, 2),
    (reduced, 2),
    (pair, 4),
    (product, 2),
    (reshaped, 1),
    (joined, 1),
    (random_numbers, 0.5),
    (positions, 0.3),
)
