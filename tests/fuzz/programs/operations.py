"""Steps of random programs without functions: operations on arrays, and random numbers from keys."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuzz.programs.maker import Body, is_float, is_key, is_number, result_type, strong
from fuzz.programs.text import Array, Type

UNARY = [
    "pnp.sin($0)",
    "pnp.cos($0)",
    "pnp.tanh($0)",
    "pnp.exp(-$0 * $0)",
    "($0 * $0 * 0.5)",
    "(-$0)",
    "pnp.log1p(pnp.exp(pnp.sin($0)))",
    "(1.0 / pnp.sqrt(1.0 + $0 * $0))",
    "pnp.abs($0 + 0.123)",
    "px.nn.sigmoid($0)",
    "px.nn.relu($0 + 0.05)",
    "pnp.arctan($0)",
    "px.lax.integer_pow(pnp.sin($0), 3)",
    "pnp.clip($0, -0.9, 1.1)",
    "pnp.where($0 > 0.1, $0, 0.0)",
]
METHODS = ["$0.clip(-1, 1)", "$0.conj()", "$0.round(1)", "(+$0)", "abs($0)", "$0.copy()"]
BINARY = [
    "($0 + $1)",
    "($0 - $1)",
    "($0 * $1)",
    "($0 / (2.0 + $1 * $1))",
    "pnp.maximum($0, $1 + 0.0617)",
    "pnp.arctan2($0, 2.0 + $1 * $1)",
    "pnp.where($0 > $1 + 0.0617, $0, 2.0 * $1)",
]
SMOOTH_BINARY = BINARY[:4]


def unary(body: Body) -> None:
    x, type = body.picked()
    text = body.random.choice(UNARY if type.weak or not body.context.mixed or body.random.random() < 0.8 else METHODS)
    body.add(text, type, x, simpler=("pnp.sin($0)", "(2.0 * $0)"))


def two(body: Body, fits: Callable[[Type], bool] = is_float) -> tuple[str, str, Array, Array, tuple[int, ...]]:
    """Two values that broadcast, their types, and their common shape."""
    x, a = body.picked(fits)
    for _ in range(6):
        y, b = body.picked(fits)
        try:
            return x, y, a, b, np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            continue
    return x, x, a, a, a.shape


def binary(body: Body) -> None:
    x, y, a, b, shape = two(body)
    dtype, weak = result_type(a, b)
    text = body.random.choice(BINARY)
    body.add(text, Array(shape, dtype, weak), x, y, simpler=("($0 + $1)", "($0 * $1)"))


def mixed(body: Body) -> None:
    """Arithmetic of any numbers: bools, integers, floats and complex numbers."""
    x, y, a, b, shape = two(body, is_number)
    dtype, weak = result_type(a, b)
    texts = ["($0 + $1)", "($0 * $1)", "pnp.add($0, $1)"]
    if dtype != "bool":
        texts += ["($0 * 2 + $1)", "pnp.where($0 != 0, $0, $1)"]
    if "complex" not in dtype and dtype != "bool":
        texts += ["pnp.minimum($0, $1)"]
    body.add(body.random.choice(texts), Array(shape, dtype, weak), x, y, simpler=("($0 + $1)",))


def scalar(body: Body) -> None:
    """Arithmetic with a Python scalar."""
    x, a = body.picked(is_number)
    number, kind = body.random.choice([("2", "int32"), ("0.5", "float32"), ("True", "bool"), ("(1 + 2j)", "complex64")])
    if "complex" in kind and not body.context.mixed:
        return
    default = {"int32": "int64", "float32": "float64", "complex64": "complex128"} if body.context.x64 else {}
    dtype, weak = result_type(a, Array((), default.get(kind, kind), kind != "bool"))
    text = f"($0 * {number})" if body.random.random() < 0.6 else f"({number} + $0)"
    body.add(text, Array(a.shape, dtype, weak and (a.weak or dtype != a.dtype)), x)


def compare(body: Body) -> None:
    x, y, _, _, shape = two(body, lambda t: is_number(t) and "complex" not in t.dtype)
    sign = body.random.choice(["<", ">=", "!="])
    body.add(f"($0 {sign} $1)", Array(shape, "bool"), x, y)


def choose(body: Body) -> None:
    condition, c = body.picked(lambda t: is_number(t) and t.dtype == "bool")
    x, y, a, b, shape = two(body, is_number)
    dtype, weak = result_type(a, b)
    text = "pnp.where($0, $1, $2)" if body.random.random() < 0.7 else "px.lax.select($0, $1, $2)"
    if "select" in text and not (c.shape == a.shape == b.shape and a.dtype == b.dtype):
        text = "pnp.where($0, $1, $2)"
    try:
        shape = np.broadcast_shapes(c.shape, shape)
    except ValueError:
        return
    body.add(text, Array(shape, dtype, weak), condition, x, y)


def cast(body: Body) -> None:
    x, a = body.picked(is_number)
    dtypes = ["float32", "bfloat16", "float16", "int32", "int8", "uint8", "bool", "complex64"]
    if body.context.x64:
        dtypes += ["float64", "int64", "complex128"]
    to = body.random.choice(dtypes)
    if "complex" in a.dtype and "complex" not in to:
        body.add(
            "pnp.real($0)", Array(a.shape, a.dtype.replace("complex64", "float32").replace("complex128", "float64")), x
        )
        return
    if to in ("uint8", "int8", "int32", "int64", "bool") and (a.floating):
        x = body.convert(x, Array(a.shape, to))
        return
    if to == "uint8":
        return
    body.add(f"pnp.asarray($0, '{to}')" if a.weak else f"$0.astype('{to}')", Array(a.shape, to), x)


def whole(body: Body) -> None:
    x, a = body.picked(lambda t: is_number(t) and t.whole)
    text = body.random.choice(["($0 % 3)", "($0 // 2)", "(~$0)", "($0 & 3)", "($0 << 1)", "pnp.abs($0)", "($0 ** 2)"])
    body.add(text, Array(a.shape, a.dtype, a.weak and "~" not in text and "abs" not in text), x)


def complexes(body: Body) -> None:
    x, a = body.picked(lambda t: is_number(t) and "complex" in t.dtype)
    real = "float32" if a.dtype == "complex64" else "float64"
    text = body.random.choice(
        ["pnp.conj($0)", "pnp.real($0)", "$0.imag", "(pnp.abs($0) + 0.1)", "pnp.exp($0 * 0.3)", "($0 * $0)"]
    )
    body.add(text, Array(a.shape, a.dtype if "conj" in text or "exp" in text or "* $0" in text else real), x)


def reduction(body: Body) -> None:
    x, a = body.picked()
    name = body.random.choice(["sum", "sum", "mean", "max", "min", "prod", "std", "logsumexp"])
    axis = body.random.choice([None, *range(len(a.shape))])
    if 0 in a.shape:
        name = "sum"
    if name == "std":
        text = f"pnp.sqrt(1.0 + pnp.var($0, {axis}))"
    elif name == "logsumexp":
        text = f"px.nn.logsumexp($0, {axis})"
    else:
        text = f"pnp.{name}($0, {axis})" if body.random.random() < 0.5 else f"pnp.asarray($0).{name}({axis})"
    keep = body.random.random() < 0.2 and name != "logsumexp"
    if keep:
        text = text.replace(f"{axis})", f"{axis}, keepdims=True)")
    shape = tuple(
        1 if axis is None or i == axis else n for i, n in enumerate(a.shape) if keep or (axis is not None and i != axis)
    )
    body.add(text, strong(a, shape), x, simpler=() if keep else (f"pnp.sum($0, {axis})",))


def running(body: Body) -> None:
    x, a = body.picked(lambda t: is_float(t) and len(t.shape) > 0 and t.size > 0)
    axis = body.random.randrange(len(a.shape))
    texts = [
        "pnp.cumsum($0, {})",
        "pnp.sort($0, {})",
        "pnp.flip($0, {})",
        "px.nn.softmax($0, {})",
        "px.lax.cummax($0, {})",
    ]
    body.add(body.random.choice([*texts, "px.lax.cumlogsumexp($0, {})"]).format(axis), strong(a), x)


def order(body: Body) -> None:
    x, a = body.picked(lambda t: is_float(t) and len(t.shape) > 0 and t.size > 0)
    axis = body.random.randrange(len(a.shape))
    whole = "int64" if body.context.x64 else "int32"
    if body.random.random() < 0.5:
        body.add(f"pnp.argsort($0, {axis})", Array(a.shape, whole), x)
    else:
        body.add(f"pnp.argmax($0, {axis})", Array(a.shape[:axis] + a.shape[axis + 1 :], whole), x)


def shapes(body: Body) -> None:
    """Operations that move elements."""
    x, a = body.picked(is_number)
    texts: list[tuple[str, tuple[int, ...]]] = [("pnp.transpose($0)", a.shape[::-1]), ("$0[None]", (1, *a.shape))]
    texts += [("pnp.ravel($0)", (a.size,)), ("pnp.expand_dims($0, -1)", (*a.shape, 1))]
    if a.shape:
        rest = a.shape[1:]
        texts += [
            ("pnp.concatenate([$0, 2 * $0])", (2 * a.shape[0], *rest)),
            ("$0[::-1]", a.shape),
            ("$0[:2]", (min(2, a.shape[0]), *rest)),
        ]
        if a.shape[0]:
            texts += [("$0[0]", rest), ("$0[-1]", rest), ("$0[np.array([0, -1])]", (2, *rest))]
            texts += [("pnp.repeat($0, 2, axis=0)", (2 * a.shape[0], *rest)), ("$0[1:]", (a.shape[0] - 1, *rest))]
            texts += [
                ("pnp.roll($0, 1, 0)", a.shape),
                ("pnp.pad($0[:1], [(1, 0)] + [(0, 0)] * ($0.ndim - 1))", (2, *rest)),
            ]
    if len(a.shape) == 2:
        texts += [("pnp.swapaxes($0, 0, 1)", a.shape[::-1]), ("$0[:, None, :]", (a.shape[0], 1, a.shape[1]))]
    if len(a.shape) > 2 or a.size > 40:
        texts = [("pnp.ravel($0)[:3]", (min(3, a.size),))]
    text, shape = body.random.choice(texts)
    if a.dtype == "bool" and "2 *" in text:
        return
    if a.weak and text.startswith("$0"):
        text = "pnp.asarray($0)" + text[2:]
    body.add(text, Array(shape, a.dtype, a.weak and "pad" not in text), x)


def product(body: Body) -> None:
    x, a = body.picked(lambda t: is_float(t) and len(t.shape) > 0)
    y, b = body.picked(lambda t: is_float(t) and len(t.shape) > 0)
    try:
        shape = np.matmul(np.zeros(a.shape), np.zeros(b.shape)).shape
    except ValueError:
        y, b = x, a
        if len(a.shape) != 1:
            return
        shape = ()
    dtype, _ = result_type(a, b)
    texts = ["($0 @ $1)", "pnp.matmul($0, $1)"]
    if len(a.shape) == len(b.shape) == 1:
        texts += ["pnp.vdot($0, $1)", "pnp.einsum('i,i->', $0, $1)"]
    body.add(body.random.choice(texts), Array(tuple(shape), dtype), x, y)


def outer(body: Body) -> None:
    x, a = body.picked(lambda t: is_float(t) and len(t.shape) == 1 and t.size < 7)
    body.add("pnp.outer($0, pnp.sin($0))", strong(a, (a.size, a.size)), x)


def solve(body: Body) -> None:
    """Linear algebra of a well-conditioned matrix."""
    x, a = body.picked(
        lambda t: is_float(t) and len(t.shape) == 1 and 1 < t.size < 4 and t.dtype in ("float32", "float64")
    )
    n = a.size
    matrix = f"(3 * pnp.eye({n}, dtype=$0.dtype) + 0.3 * pnp.outer($0, pnp.sin($0)))"
    texts = [
        f"pnp.linalg.solve({matrix}, $0)",
        f"pnp.linalg.inv({matrix})[0]",
        f"pnp.linalg.cholesky({matrix} + {matrix}.T)[-1]",
    ]
    body.add(body.random.choice(texts), strong(a), x, simpler=("pnp.sin($0)",))


def stack(body: Body) -> None:
    x, y, a, b, _ = two(body)
    if a.shape != b.shape or a.size > 12:
        return
    dtype, weak = result_type(a, b)
    body.add("pnp.stack([$0, $1])", Array((2, *a.shape), dtype, weak and False), x, y)


def index(body: Body) -> str:
    """A scalar integer that depends on a value, sometimes out of range."""
    x, a = body.picked(lambda t: is_number(t) and "complex" not in t.dtype and t.dtype != "bool" and t.size > 0)
    if a.whole and a.shape == () and body.random.random() < 0.5:
        return x
    return body.add("pnp.floor(3 * pnp.sin(7 * pnp.sum($0) + 0.0617)).astype('int32')", Array((), "int32"), x)


def take(body: Body) -> None:
    x, a = body.picked(lambda t: is_number(t) and len(t.shape) > 0 and t.size > 0)
    i = index(body)
    texts = [
        ("pnp.asarray($0)[$1]", a.shape[1:]),
        ("px.lax.dynamic_index_in_dim($0, $1, keepdims=False)", a.shape[1:]),
        ("px.lax.dynamic_slice_in_dim($0, $1, 1)", (1, *a.shape[1:])),
        ("pnp.take($0, $1, axis=0, mode='clip')", a.shape[1:]),
        ("pnp.asarray($0).at[$1].get(mode='fill', fill_value=0)", a.shape[1:]),
    ]
    text, shape = body.random.choice(texts)
    body.add(text, strong(a, shape), x, i)


def change(body: Body) -> None:
    x, a = body.picked(lambda t: is_float(t) and len(t.shape) > 0 and t.size > 0)
    i = index(body)
    texts = [
        "$0.at[$1].set(0.3 * $0[0])",
        "$0.at[pnp.stack([$1, 0 * $1])].add(0.3 * $0[-1])",
        "$0.at[$1].multiply(0.3)",
    ]
    texts += ["$0.at[$1].max(0.2)", "px.lax.dynamic_update_index_in_dim($0, 0.3 * $0[0], $1, 0)"]
    body.add(body.random.choice(texts).replace("$0", "pnp.asarray($0)", 1), strong(a), x, i)


def draw(body: Body) -> None:
    key, k = body.picked(is_key)
    if k.shape:
        body.add("$0[0]", Array(k.shape[1:], "key"), key)
        return
    shape = body.random.choice([(), (2,), (3,), (2, 3)])
    texts = [(f"px.random.normal($0, {shape})", Array(shape, body.context.float))]
    texts += [(f"px.random.uniform($0, {shape}, minval=-1)", Array(shape, body.context.float))]
    texts += [("px.random.split($0)", Array((2,), "key")), ("px.random.fold_in($0, 3)", Array((), "key"))]
    texts += [(f"px.random.bernoulli($0, 0.4, {shape})", Array(shape, "bool"))]
    texts += [(f"px.random.randint($0, {shape}, -3, 4)", Array(shape, "int64" if body.context.x64 else "int32"))]
    texts += [
        (
            f"px.random.permutation($0, {shape[0]})" if shape else "px.random.key_data($0)[0] % 7",
            Array(shape[:1], ("int64" if body.context.x64 else "int32") if shape else "uint32"),
        )
    ]
    text, type = body.random.choice(texts[:-1] if not shape else texts)
    body.add(text, type, key)


def keys(body: Body) -> None:
    """A new key, sometimes from a number of the program."""
    if body.random.random() < 0.5:
        body.add("px.random.key($0)", Array((), "key"), index(body))
    else:
        body.add(f"px.random.key({body.random.randrange(5)})", Array((), "key"))


def stopped(body: Body) -> None:
    x, type = body.picked(is_number)
    body.add("px.lax.stop_gradient($0)", type, x)


def barred(body: Body) -> None:
    """Operations that compute nothing, or run outside of the program."""
    x, a = body.picked()
    texts = ["px.lax.optimization_barrier($0)", "px.ad_checkpoint.checkpoint_name($0, 'a')"]
    if not (body.context.reverse or body.context.forward) and body.context.mixed:
        method = body.random.choice(["sequential", "expand_dims", "broadcast_all"])
        struct = "px.ShapeDtypeStruct(pnp.shape($0), pnp.result_type($0))"
        texts += [f"px.pure_callback(lambda V: np.sin(V), {struct}, $0, vmap_method='{method}')"]
    body.add(body.random.choice(texts), a, x)


def sorted_together(body: Body) -> None:
    x, a = body.picked(lambda t: is_float(t) and len(t.shape) > 0 and t.size > 0)
    y = body.fit(a)
    body.add("px.lax.sort(($0, $1), num_keys=1)[1]", strong(a), x, y)


def collective(body: Body) -> None:
    """An operation along a mapped axis."""
    if not body.context.axes:
        raise LookupError
    name, size = body.random.choice(body.context.axes)
    x, a = body.picked()
    texts = [(f"px.lax.{op}($0, '{name}')", strong(a)) for op in ("psum", "pmax", "pmean", "pmin")]
    texts += [(f"px.lax.all_gather($0, '{name}')", strong(a, (size, *a.shape)))]
    texts += [(f"px.lax.axis_index('{name}')", Array((), "int32"))]
    texts += [(f"($0 * px.lax.psum(1, '{name}'))", strong(a)), (f"($0 + px.lax.axis_size('{name}'))", strong(a))]
    turn = [(i, (i + 1) % size) for i in range(size)]
    texts += [(f"px.lax.ppermute($0, '{name}', {turn})", strong(a))]
    if a.shape and a.shape[0] == size:
        # Mapped in any case: for unmapped values, jax's result has too many axes.
        mapped = f"pnp.where(px.lax.axis_index('{name}') >= 0, $0, $0)"
        texts += [(f"px.lax.all_to_all({mapped}, '{name}', 0, 0)", strong(a))]
        texts += [(f"px.lax.psum_scatter($0, '{name}')", strong(a, a.shape[1:]))]
    text, type = body.random.choice(texts)
    body.add(
        text,
        type,
        *([x] if "$0" in text else []),
        simpler=(f"px.lax.psum($0, '{name}')",) if type == a and "$0" in text else (),
    )


SIMPLE = [
    (unary, 6.0),
    (binary, 6.0),
    (reduction, 2.0),
    (running, 1.0),
    (shapes, 2.0),
    (product, 2.0),
    (outer, 0.6),
    (solve, 0.5),
    (stack, 1.0),
    (take, 1.0),
    (change, 1.0),
    (sorted_together, 0.5),
    (stopped, 0.5),
    (barred, 0.8),
    (collective, 3.0),
]
NOT_SMOOTH = (stopped, collective)
"""Simple steps whose derivatives are not those of their values, or that need a mapped axis."""
MIXED = [
    (mixed, 2.0),
    (scalar, 1.5),
    (compare, 1.0),
    (choose, 1.5),
    (cast, 2.0),
    (whole, 1.0),
    (complexes, 1.5),
    (order, 0.7),
    (draw, 2.0),
    (keys, 0.3),
]
