"""Exchanges that are not alike for all, on devices and under vmap, against NumPy; derivatives, batches, refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.interpreters.runtime.compile import module_text
from primax.interpreters.runtime.sharding.shardy import SpmdShardings
from primax.interpreters.runtime.stablehlo_module import lower_to_module

pytestmark = pytest.mark.usefixtures("in_32_bits")

P = px.P


def exchange(*args: Any, name: Any = "i", **options: Any) -> Any:
    return lax.ragged_all_to_all(*args, axis_name=name, **options)


def chunks(seed: int, n: int, rest: tuple[int, ...] = ()) -> list[Any]:
    """What n participants have: rows to send, rows to receive into, offsets and sizes that fit."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 3, (n, n)).astype(np.int32)
    gaps = random.integers(0, 2, (2, n, n))
    starts = (np.cumsum(sizes + gaps[0], 1) - sizes).astype(np.int32)
    targets = (np.cumsum(sizes + gaps[1], 0) - sizes).astype(np.int32)
    operand = random.normal(size=(n, int((starts + sizes).max()) + 1, *rest)).astype(np.float32)
    output = random.normal(size=(n, int((targets + sizes).max()) + 1, *rest)).astype(np.float32)
    return [operand, output, starts, sizes, targets, sizes.T.copy()]


def by_numpy(operand: Any, output: Any, starts: Any, sizes: Any, targets: Any, received: Any) -> Any:
    out = output.copy()
    for sender in range(len(operand)):
        for receiver in range(len(operand)):
            length, start, target = (int(x[sender, receiver]) for x in (sizes, starts, targets))
            out[receiver, target : target + length] = operand[sender, start : start + length]
    return out


def on_devices(n: int, **options: Any) -> Any:
    mesh = px.make_mesh((n,), ("i",))

    def part(*args: Any) -> Any:
        return exchange(*(x[0] for x in args), **options)[None]

    return px.shard_map(part, mesh=mesh, in_specs=P("i"), out_specs=P("i"))


@pytest.mark.parametrize("n, rest", [(2, ()), (4, (3,)), (8, (2, 2))])
def test_chunks_go_where_they_are_sent(n, rest):
    args = chunks(n, n, rest)
    want = by_numpy(*args)
    np.testing.assert_array_equal(on_devices(n)(*args), want)
    np.testing.assert_array_equal(px.vmap(exchange, axis_name="i")(*args), want)


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.complex64])
def test_chunks_are_of_any_dtype_and_counts_of_narrow_ones(dtype):
    operand, output, *counts = chunks(0, 4)
    args = [operand.astype(dtype), output.astype(dtype), *(x.astype(np.int8) for x in counts)]
    np.testing.assert_array_equal(on_devices(4)(*args), by_numpy(*args))


def test_groups_exchange_among_themselves():
    groups = ((0, 2), (3, 1))
    parts = [chunks(seed, 2) for seed in (0, 1)]
    for i in (0, 1):  # operands and outputs of both are as long
        length = max(part[i].shape[1] for part in parts)
        for part in parts:
            part[i] = np.resize(part[i], (2, length))
    args = [np.empty((4, *x.shape[1:]), x.dtype) for x in parts[0]]
    want = np.empty_like(args[1])
    for group, part in zip(groups, parts, strict=True):
        for x, own in zip(args, part, strict=True):
            x[list(group)] = own
        want[list(group)] = by_numpy(*part)
    options = {"axis_index_groups": groups}
    np.testing.assert_array_equal(on_devices(4, **options)(*args), want)
    np.testing.assert_array_equal(px.vmap(lambda *xs: exchange(*xs, **options), axis_name="i")(*args), want)


def test_several_axes_are_one_whose_last_varies_fastest():
    args = chunks(5, 4, (2,))
    want = by_numpy(*args)
    mesh = px.make_mesh((2, 2), ("i", "j"))

    def part(*xs: Any) -> Any:
        return exchange(*(x[0] for x in xs), name=("i", "j"))[None]

    both = px.shard_map(part, mesh=mesh, in_specs=P(("i", "j")), out_specs=P(("i", "j")))
    np.testing.assert_array_equal(both(*args), want)
    inner = px.vmap(lambda *xs: exchange(*xs, name=("i", "j")), axis_name="j")
    split = [x.reshape(2, 2, *x.shape[1:]) for x in args]
    np.testing.assert_array_equal(px.vmap(inner, axis_name="i")(*split).reshape(want.shape), want)


def test_derivatives_are_those_of_rows_that_are_copied():
    args = chunks(3, 4, (2,))
    operand, output, *counts = args
    weights = np.cos(np.arange(output.size, dtype=np.float32)).reshape(output.shape)

    def loss(f: Any, operand: Any, output: Any) -> Any:
        return (f(operand, output, *counts) ** 2 * weights).sum()

    def dense(operand: Any, output: Any, starts: Any, sizes: Any, targets: Any, received: Any) -> Any:
        for sender in range(4):
            for receiver in range(4):
                length, start, target = (int(x[sender, receiver]) for x in (sizes, starts, targets))
                rows = operand[sender, start : start + length]
                output = output.at[receiver, target : target + length].set(rows)
        return output

    want = px.grad(lambda *xs: loss(dense, *xs), (0, 1))(pnp.asarray(operand), pnp.asarray(output))
    for f in (on_devices(4), px.vmap(exchange, axis_name="i")):
        got = px.grad(lambda *xs, f=f: loss(f, *xs), (0, 1))(operand, output)
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)
        _, tangent = px.jvp(lambda x, f=f: f(x, output, *counts), (operand,), (operand,))
        np.testing.assert_array_equal(tangent, by_numpy(operand, np.zeros_like(output), *counts))


def test_other_axes_are_mapped_with_counts_that_are_alike_or_not():
    args = chunks(1, 4)
    more = [np.stack([x, x[::-1] if i < 2 else x]) for i, x in enumerate(args)]
    want = np.stack([by_numpy(*(x[k] for x in more)) for k in range(2)])
    devices = on_devices(4)
    np.testing.assert_array_equal(px.vmap(devices)(*more), want)
    alike = px.vmap(devices, (0, 0, None, None, None, None))(*more[:2], *args[2:])
    np.testing.assert_array_equal(alike, want)
    np.testing.assert_array_equal(px.vmap(px.vmap(exchange, axis_name="i"))(*more), want)


def test_chunks_that_are_sent_may_overlap():
    operand, output, starts, *rest = chunks(7, 4)
    args = [operand, output, np.minimum(starts, 2), *rest]
    np.testing.assert_array_equal(on_devices(4)(*args), by_numpy(*args))


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_gpus_have_operations_of_their_own(platform):
    mesh = px.make_mesh((2,), ("i",))
    args = chunks(1, 2)
    f = px.shard_map(
        lambda *xs: lax.pbroadcast(exchange(*(x[0] for x in xs))[None], "i", 1),
        mesh=mesh,
        in_specs=P("i"),
        out_specs=P("i"),
    )
    shardings = (px.NamedSharding(mesh, P()),) * 6
    spread = SpmdShardings(mesh, (), shardings, (None,))
    text = module_text(lower_to_module(px.make_jaxpr(f)(*args), "f", platform, spread=spread))
    there = [name in text for name in ("@ragged_all_to_all", "collective_broadcast", "replica_groups", "all_gather")]
    assert there == ([True, True, True, False] if platform == "cuda" else [False, False, True, True])


@pytest.mark.parametrize("names, source", [("i", 3), (("i", "j"), 5), (("j", "i"), 5)])
def test_one_is_broadcast_to_all(names, source):
    x = np.cos(np.arange(24, dtype=np.float32)).reshape(4, 2, 3)
    x[0, 0, 0] = -0.0
    mesh = px.make_mesh((4, 2), ("i", "j"))
    f = px.shard_map(lambda x: lax.pbroadcast(x, names, source), mesh=mesh, in_specs=P("i", "j"), out_specs=P("i", "j"))
    if names == "i":
        want = np.broadcast_to(x[source], x.shape)
        g = px.vmap(px.vmap(lambda x: lax.pbroadcast(x, names, source), axis_name="j"), axis_name="i")
    else:
        flat = x.reshape(8, 3) if names == ("i", "j") else x.swapaxes(0, 1).reshape(8, 3)
        want = np.broadcast_to(flat[source], x.shape)
        g = px.vmap(px.vmap(lambda x: lax.pbroadcast(x, names, source), axis_name="j"), axis_name="i")
    weights = np.sin(np.arange(24, dtype=np.float32)).reshape(x.shape)
    grads = [px.grad(lambda x, f=f: (f(x) * weights).sum())(x) for f in (f, g)]
    np.testing.assert_array_equal(f(x), want)
    np.testing.assert_array_equal(g(x), want)
    np.testing.assert_allclose(*grads, rtol=1e-5)
    np.testing.assert_allclose(np.sum(grads[0] * x), np.sum(want * weights), rtol=1e-5)


def test_types_vary_as_in_jax():
    mesh = px.make_mesh((2,), ("i",))

    def types(*args: Any) -> Any:
        out = exchange(*(x[0] for x in args[:2]), *args[2:])
        assert px.typeof(out).vma == px.typeof(lax.pbroadcast(out, "i", 0)).vma == {"i"}
        return out[None]

    args = chunks(1, 2)
    same = [x[0] for x in args[2:]]
    px.shard_map(types, mesh=mesh, in_specs=(P("i"), P("i"), P(), P(), P(), P()), out_specs=P("i"))(*args[:2], *same)


BAD = [
    (
        lambda a: exchange(a[0], a[1].astype(np.int32), *a[2:]),
        TypeError,
        "operand and output must be of the same dtype",
    ),
    (lambda a: exchange(a[0][:, None], *a[1:]), ValueError, "operand and output must have rows of the same shape"),
    (lambda a: exchange(*a[:3], a[3].astype(np.float32), *a[4:]), TypeError, "send_sizes must be integers, got f32[2]"),
    (lambda a: exchange(*a[:5], a[5][:1]), ValueError, "recv_sizes must be of shape (2,), one number for each index"),
    (lambda a: exchange(*a, name="k"), NameError, "ragged_all_to_all: axis_name must name an axis"),
    (lambda a: exchange(*a, axis_index_groups=((0,),)), ValueError, "axis_index_groups must hold each index"),
    (lambda a: lax.pbroadcast(a[0], "i", 2), ValueError, "pbroadcast: source must be an index in [0, 2), got 2"),
    (lambda a: lax.pbroadcast(a[0], "i", 0.5), TypeError, "pbroadcast: source must be an int"),
]


@pytest.mark.parametrize("call, kind, message", BAD)
def test_what_does_not_fit_is_refused(call, kind, message):
    args = chunks(1, 2)
    with pytest.raises(kind, match=re.escape(message)):
        px.vmap(lambda *xs: call(xs), axis_name="i")(*args)
