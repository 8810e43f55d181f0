"""Values that are still to be summed over devices (unreduced), and those whose cotangents are (reduced)."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import primax as px
import primax.nn
import primax.numpy as pnp
from primax import lax, reshard
from primax.extend import core, define_primitive, derive
from primax.extend.provisional.sharding import unreduced_params
from primax.sharding import AxisType

pytestmark = pytest.mark.any_word_size

P = px.P
ShardingTypeError = core.ShardingTypeError
U, R = P(None, None, unreduced={"x"}), P(None, None, reduced={"x"})
W = np.random.default_rng(3).normal(size=(4, 4)).astype(np.float32)
A, B = (np.random.default_rng(i).normal(size=(4, 4)).astype(np.float32) for i in (4, 5))


@pytest.fixture
def mesh():
    mesh = px.make_mesh((4, 2), ("x", "y"), AxisType.Explicit)
    with px.set_mesh(mesh):
        yield mesh


def product(a, b):
    return pnp.einsum("ij,jk->ik", a, b, out_sharding=U)


def factors():
    return reshard(A, P(None, "x")), reshard(B, P("x"))


def on(f):
    """The value of a linear function of a product that each device along x has a summand of, and the type of it."""
    seen = []

    def run(a, b):
        out = f(product(a, b))
        seen.append(px.typeof(out))
        return reshard(out, P())

    value = px.jit(run)(*factors())
    return np.asarray(value), seen[0]


def collectives(f, *args):
    text = px.jit(f).lower(*args).compile().as_text()
    names = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
    found = {name: len(re.findall(rf"\b{name}(?:-start)?\(", text)) for name in names}
    return {name: count for name, count in found.items() if count}


def test_types_show_sums_still_to_be_taken_as_jax_does(mesh):
    a, b = factors()
    assert str(px.typeof(px.jit(product)(a, b))) == "float32[4,4]{U:x}"
    assert str(px.typeof(reshard(W, R))) == "float32[4,4]{R:x}"
    both = reshard(W, P("y", unreduced={"x"}))
    assert px.typeof(both).str_short() == "f32[4@y,4]{U:x}"
    assert str(px.typeof(reshard(W, P(unreduced={"x", "y"})))) == "float32[4,4]{U:(x,y)}"
    assert str(px.typeof(reshard(W, P(unreduced={"x"}, reduced={"y"})))) == "float32[4,4]{U:x, R:y}"
    assert px.typeof(both).sharding.spec == P("y", None, unreduced={"x"})
    assert pickle.loads(pickle.dumps(px.typeof(both))) is px.typeof(both)
    assert px.typeof(both).sharding.update(spec=P("y", None)).spec == P("y", None)


def test_each_device_has_its_summand_until_reshard_sums(mesh):
    a, b = factors()
    out = px.jit(product)(a, b)
    assert collectives(product, a, b) == {}
    assert collectives(lambda a, b: reshard(product(a, b), P()), a, b) == {"all-reduce": 1}
    for i, shard in enumerate(out.addressable_shards):
        np.testing.assert_allclose(np.asarray(shard.data), np.outer(A[:, i // 2], B[i // 2]), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(reshard(out, P())), A @ B, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(px.jit(lambda x: reshard(x, P("x")))(out)), A @ B, rtol=1e-5)
    assert str(px.typeof(out + out)) == "float32[4,4]{U:x}"


LINEAR = {
    "neg": lambda u: -u,
    "transpose": lambda u: u.T,
    "add": lambda u: u + u,
    "sub": lambda u: u - 3 * u,
    "sum": lambda u: u.sum(0),
    "mean": lambda u: u.mean(),
    "reshape": lambda u: u.reshape(16),
    "broadcast": lambda u: pnp.broadcast_to(u[None], (3, 4, 4)),
    "slice": lambda u: u[1:3, ::2],
    "index": lambda u: u[1],
    "gather": lambda u: u[np.array([0, 2])],
    "dynamic_slice": lambda u: lax.dynamic_slice(u, (1, 1), (2, 2)),
    "dynamic_update_slice": lambda u: lax.dynamic_update_slice(u, u[:2] * 2, (1, 0)),
    "concatenate": lambda u: pnp.concatenate([u, u]),
    "stack": lambda u: pnp.stack([u, u]),
    "split": lambda u: pnp.split(u, 2)[1],
    "rev": lambda u: u[::-1],
    "pad": lambda u: lax.pad(u, np.float32(5), ((1, 1, 0), (0, 0, 0))),
    "cumsum": lambda u: pnp.cumsum(u, 0),
    "tril": pnp.tril,
    "where": lambda u: pnp.where(np.eye(4) > 0, u, 1.0),
    "scaled": lambda u: u * 2 / 3,
    "real": lambda u: (u * (1 + 2j)).real,
    "fft": lambda u: pnp.fft.fft(u).imag,
    "zeros_like": lambda u: u + pnp.zeros_like(u),
    "ones_like": lambda u: u + pnp.ones_like(u),
    "stop_gradient": lax.stop_gradient,
    "barrier": lax.optimization_barrier,
    "scan": lambda u: lax.scan(lambda c, _: (c + u, None), u, None, length=3)[0],
    "scan_rows": lambda u: lax.scan(lambda c, x: (c + x, x * 3), u[0], u)[1],
    "fori_loop": lambda u: lax.fori_loop(0, 3, lambda i, c: c + u, u),
    "cond": lambda u: lax.cond(pnp.asarray(True), lambda u: -u, lambda u: u, u),
    "jit": px.jit(lambda u: u + u),
    "vmap": px.vmap(lambda u: u + u),
    "checkpoint": px.checkpoint(lambda u: u - 3 * u),
}


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_linear_is_applied_to_summands(mesh, name):
    f = LINEAR[name]
    value, aval = on(f)
    assert aval.str_short().endswith("{U:x}")
    with px.set_mesh(None):
        wanted = f(pnp.asarray(A @ B))
    np.testing.assert_allclose(value, np.asarray(wanted), rtol=2e-5, atol=2e-5)


def test_narrow_summands_are_added_as_such(mesh):
    value, aval = on(lambda u: u.astype("bfloat16"))
    assert aval.str_short() == "bf16[4,4]{U:x}"
    np.testing.assert_allclose(value.astype(np.float32), A @ B, rtol=0.05, atol=0.05)


def test_products_take_one_summand_and_what_is_reduced(mesh):
    with px.set_mesh(None):
        wanted = {"mul": A @ B * W, "div": A @ B / (W + 4), "dot": W @ (A @ B)}
    found = {
        "mul": on(lambda u: u * reshard(W, R)),
        "div": on(lambda u: u / (4 + reshard(W, R))),
        "dot": on(lambda u: reshard(W, R) @ u),
    }
    for name, (value, aval) in found.items():
        assert aval.str_short() == "f32[4,4]{U:x}"
        np.testing.assert_allclose(value, wanted[name], rtol=1e-4, atol=1e-5)


REFUSED = {
    "sin: operands of types .* are unreduced along 'x', and sin is not linear": pnp.sin,
    "abs: .* is not linear": abs,
    "reduce_max: .* is not linear": lambda u: u.max(),
    "sort: .* is not linear": pnp.sort,
    "gt: .* is not linear": lambda u: u > 0,
    "convert_element_type: .* is not linear": lambda u: u.astype("int32"),
    "mul: only one operand may be unreduced along 'x'": lambda u: u * u,
    r"mul: operands must be reduced along 'x' .*primax.reshard\(x, primax.P\(..., reduced=\{'x'\}\)\)": lambda u: u * W,
    "dot_general: operands must be reduced along 'x'": lambda u: u @ W,
    r"add: either all operands or none must be unreduced .*unreduced=\{'x'\}": lambda u: u + W,
    "add: either all operands or none must be unreduced along 'x', got .* and f32": lambda u: u + 1,
    "concatenate: either all operands or none must be": lambda u: pnp.concatenate([u, pnp.asarray(W)]),
    r"mul: .*or sum first, with primax.reshard\(x, primax.P\(\)\)": lambda u: u * reshard(W, P("x")),
    "div: operand 1 .* is not linear in it": lambda u: 1 / u,
    r"with_sharding_constraint: .*primax.reshard": lambda u: lax.with_sharding_constraint(u, P()),
    "XLA cannot choose its sharding; sum first": lambda u: px.sharding.auto_axes(lambda u: u, out_sharding=P())(u),
    r"gather: .* is not linear": lambda u: u.at[np.array([7])].get(mode="fill", fill_value=2.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_linear_is_refused_with_the_remedy(mesh, message):
    with pytest.raises(ShardingTypeError, match=message):
        on(REFUSED[message])


def test_the_sum_that_is_left_open_must_be_there(mesh):
    a, b = factors()
    with pytest.raises(ShardingTypeError, match=r"einsum: unreduced of out_sharding must name .* got \['x'\]"):
        product(W, W)
    with pytest.raises(ShardingTypeError, match=r"ambiguous: .* give out_sharding=.*unreduced=\{'x'\}"):
        pnp.einsum("ij,jk->ik", a, b, out_sharding=P(unreduced={"y"}))
    with pytest.raises(ShardingTypeError, match="reduce_sum: unreduced of out_sharding"):
        lax.reduce_sum(reshard(W, P("y")), (0,), out_sharding=P(None, unreduced={"x"}))


def test_sums_over_divided_dimensions_may_be_left_open(mesh):
    x = reshard(W, P("x"))
    out = lax.reduce_sum(x, (0,), out_sharding=P(None, unreduced={"x"}))
    assert px.typeof(out).str_short() == "f32[4]{U:x}"
    np.testing.assert_allclose(np.asarray(reshard(out, P())), W.sum(0), rtol=1e-5)
    out = lax.dot_general(*factors(), (((1,), (0,)), ((), ())), out_sharding=P("y", None, unreduced={"x"}))
    assert px.typeof(out).str_short() == "f32[4@y,4]{U:x}"
    np.testing.assert_allclose(np.asarray(reshard(out, P())), A @ B, rtol=1e-5)


SPECS = [
    P(),
    P("x"),
    P(None, "x"),
    P("y", "x"),
    P(("x", "y")),
    P(("y", "x")),
    U,
    P("y", unreduced={"x"}),
    P(unreduced={"x", "y"}),
    P("x", unreduced={"y"}),
    R,
    P("y", reduced={"x"}),
    P(unreduced={"x"}, reduced={"y"}),
]


@pytest.mark.parametrize("before", SPECS, ids=str)
def test_reshard_leads_from_each_to_each(mesh, before):
    x = np.arange(64, dtype=np.float32).reshape(8, 8)

    def f(x, after):
        return reshard(reshard(reshard(x, before) * 2, after), P())

    def both(x):
        return [(f(x, after), px.grad(lambda x, after=after: (f(x, after) * x).sum())(x)) for after in SPECS]

    for after, (out, gradient) in zip(SPECS, px.jit(both)(x), strict=True):
        np.testing.assert_array_equal(np.asarray(out), 2 * x, err_msg=str(after))
        np.testing.assert_array_equal(np.asarray(gradient), 4 * x, err_msg=str(after))
        found = reshard(reshard(reshard(x, before), after), P())
        np.testing.assert_array_equal(np.asarray(found), x, err_msg=str(after))


def test_what_devices_have_becomes_summands_without_communication(mesh):
    x = reshard(np.ones((8, 4), np.float32), P("x"))
    assert collectives(lambda x: reshard(x, U), x) == {}
    assert collectives(lambda x: reshard(x, U), reshard(W, P())) == {}
    assert collectives(lambda x: reshard(x, P("x")), reshard(W, R)) == {}


def test_cotangents_of_what_is_reduced_are_unreduced_and_the_reverse(mesh):
    x, w = reshard(np.ones((8, 4), np.float32), P("x")), reshard(W, R)
    gradient = px.jit(px.grad(lambda w, x: (x @ w).sum()))(w, x)
    assert px.typeof(gradient).str_short() == "f32[4,4]{U:x}"
    assert collectives(px.grad(lambda w, x: (x @ w).sum()), w, x) == {}
    np.testing.assert_array_equal(np.asarray(reshard(gradient, P())), np.full((4, 4), 8, np.float32))
    out, pullback = px.vjp(lambda u: reshard(3 * u, P()), reshard(W, U))
    assert px.typeof(pullback(out)[0]).str_short() == "f32[4,4]{R:x}"
    out, pullback = px.vjp(lambda x: reshard(x, U), pnp.asarray(W))
    (ct,) = pullback(pnp.asarray(W))
    assert px.typeof(ct).str_short() == "f32[4,4]"
    np.testing.assert_array_equal(np.asarray(ct), W)
    a, b = factors()
    assert px.typeof(px.grad(lambda a, b: product(a, b).sum())(a, b)).str_short() == "f32[4,4@x]"


def test_programs_of_derivatives_are_those_of_jax(mesh):
    x = reshard(np.ones((8, 4), np.float32), P("x"))
    closed = px.make_jaxpr(px.grad(lambda w, x: (x @ reshard(w, R)).sum()))(W, x)
    names = [(str(eqn.primitive), eqn.outvars[0].aval.str_short()) for eqn in closed.eqns]
    assert [each for each in names if each[0] != "broadcast_in_dim"] == [
        ("reshard", "f32[4,4]{R:x}"),
        ("dot_general", "f32[8@x,4]"),
        ("reduce_sum", "f32[]"),
        ("reshard", "f32[8@x,4]"),
        ("dot_general", "f32[4,4]{U:x}"),
        ("reshard", "f32[4,4]"),
    ]


NONLINEAR = {
    "where": lambda r: pnp.where(r > 0, r, 0.0),
    "max": lambda r: r.max(),
    "softmax": px.nn.softmax,
    "sort": pnp.sort,
    "power": lambda r: r**2,
    "variance": lambda r: r.var(),
    "gather": lambda r: r[np.array([0, 1])],
    "gelu": px.nn.gelu,
    "einsum": lambda r: pnp.einsum("ij,kj->ik", r, r),
    "norm": pnp.linalg.norm,
    "cond": lambda r: lax.cond(pnp.asarray(True), lambda r: r * 2, lambda r: r, r),
    "scan": lambda r: lax.scan(lambda c, x: (c * x, None), r[0], r)[0],
    "fori_loop": lambda r: lax.fori_loop(0, 2, lambda i, c: c * r, r),
    "checkpoint": px.checkpoint(lambda r: pnp.sin(r * 2)),
    "vmap": px.vmap(lambda r: r * r.sum()),
}


@pytest.mark.parametrize("name", NONLINEAR)
def test_anything_may_be_computed_of_what_is_reduced(mesh, name):
    f = NONLINEAR[name]
    assert px.typeof(f(reshard(W, R))).str_short().endswith("{R:x}")
    gradient = px.jit(px.grad(lambda w: pnp.sum(reshard(f(reshard(w, R)), P()) ** 2)))(W)
    wanted = px.grad(lambda w: pnp.sum(f(w) ** 2))(pnp.asarray(W))
    np.testing.assert_allclose(np.asarray(gradient), np.asarray(wanted), rtol=1e-5, atol=1e-5)


def test_what_is_beside_reduced_operands_is_reduced_or_divided(mesh):
    with pytest.raises(ShardingTypeError, match="add: operands must be reduced along 'x' if one is"):
        reshard(W, R) + W
    with pytest.raises(ShardingTypeError, match="operand 0 must be divided along 'x', as operand 1 is"):
        reshard(W, R) + reshard(W, P("x"))
    out = reshard(np.ones((8, 4), np.float32), P("x")) @ reshard(W, R)
    assert px.typeof(out).str_short() == "f32[8@x,4]"


def loss(w, b, x):
    y = x @ reshard(w, R)
    bias = pnp.broadcast_to(reshard(b, P(None, reduced={"x"})), y.shape)
    return (pnp.tanh(y + reshard(bias, P("x"))) ** 2).sum()


def test_gradients_of_parameters_that_are_reduced_need_one_sum(mesh):
    x = np.random.default_rng(6).normal(size=(8, 4)).astype(np.float32)
    found = px.jit(px.grad(loss, (0, 1)))(W, W[0], reshard(x, P("x")))
    wanted = px.grad(lambda w, b: (pnp.tanh(x @ w + b) ** 2).sum(), (0, 1))(W, W[0])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4, atol=1e-5)
    assert collectives(px.grad(loss, (0, 1)), W, W[0], reshard(x, P("x"))).keys() == {"all-reduce"}


def test_gradients_that_are_gathered_over_steps_are_summed_once_after_them(mesh):
    xs = np.random.default_rng(7).normal(size=(3, 8, 4)).astype(np.float32)

    def total(w, xs):
        same = reshard(w, R)

        def step(c, x):
            return c + px.grad(lambda w: (pnp.tanh(x @ w) ** 2).sum())(same), None

        return reshard(lax.scan(step, reshard(pnp.zeros((4, 4)), U), xs)[0], P())

    divided = reshard(xs, P(None, "x"))
    wanted = sum(np.asarray(px.grad(lambda w, x=x: (pnp.tanh(x @ w) ** 2).sum())(pnp.asarray(W))) for x in xs)
    np.testing.assert_allclose(np.asarray(px.jit(total)(W, divided)), wanted, rtol=1e-4, atol=1e-5)
    assert collectives(total, W, divided) == {"all-reduce": 1}
    lowered = px.jit(total).lower(W, divided).compile().as_text()
    body = next(part for part in lowered.split("\n\n") if "all-reduce(" in part)
    assert body.lstrip().startswith("ENTRY")


def test_second_derivatives_pass_through_both(mesh):
    x = np.random.default_rng(8).normal(size=(8, 4)).astype(np.float32)

    def twice(f):
        return px.jit(px.grad(lambda w: (px.grad(f)(w) ** 2).sum()))

    found = twice(lambda w: (pnp.tanh(reshard(x, P("x")) @ reshard(w, R)) ** 2).sum())(W)
    wanted = twice(lambda w: (pnp.tanh(x @ w) ** 2).sum())(W)
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-3, atol=1e-3)


def test_tangents_have_the_types_of_values(mesh):
    out, tangent = px.jvp(lambda u: u * 3, (reshard(W, U),), (reshard(A, U),))
    assert px.typeof(out) is px.typeof(tangent)
    np.testing.assert_allclose(np.asarray(reshard(tangent, P())), 3 * A, rtol=1e-6)


READ = [np.asarray, float, lambda x: x.tolist(), pickle.dumps, px.device_get, lambda x: x[0].item()]


@pytest.mark.parametrize("read", READ)
def test_summands_are_not_read_as_the_value(mesh, read):
    x = reshard(W, U) if read is not float else reshard(np.float32(1), P(unreduced={"x"}))
    with pytest.raises(ValueError, match=r"unreduced along 'x'.*primax.reshard\(x, primax.P\(\)\)"):
        read(x)
    assert "unreduced={'x'}" in repr(x)
    assert str(x) == f"{x}" == repr(x)


def test_arrays_of_summands_are_placed_moved_and_put_together(mesh):
    sharding = px.NamedSharding(mesh, U)
    assert not sharding.is_fully_replicated
    assert sharding.shard_shape((4, 4)) == (4, 4)
    placed = px.device_put(W, sharding)
    assert placed.sharding is sharding
    np.testing.assert_array_equal(np.asarray(reshard(placed, P())), W)
    for where in (P("x"), px.NamedSharding(mesh, P()), px.devices()[1]):
        np.testing.assert_array_equal(np.asarray(px.device_put(placed, where)), W)
    np.testing.assert_array_equal(np.asarray(px.device_put(px.device_put(pnp.asarray(W), U), P())), W)
    assert px.typeof(px.jit(lambda x: px.device_put(x, R))(W)).str_short() == "f32[4,4]{R:x}"
    out = px.jit(lambda x: x, out_shardings=sharding)(W)
    np.testing.assert_array_equal(np.asarray(reshard(out, P())), W)
    np.testing.assert_array_equal(np.asarray(px.jit(lambda x: reshard(x, P()), in_shardings=sharding)(W)), W)
    parts = [px.device_put(W * (i // 2), device) for i, device in enumerate(mesh.devices.flat)]
    made = px.make_array_from_single_device_arrays((4, 4), sharding, parts)
    np.testing.assert_allclose(np.asarray(reshard(made, P())), 6 * W, rtol=1e-6)
    with pytest.raises(ValueError, match="make_array_from_callback: sharding must not be unreduced"):
        px.make_array_from_callback((4, 4), sharding, lambda index: W[index])
    with pytest.raises(ValueError, match="make_array_from_process_local_data: sharding must not be unreduced"):
        px.make_array_from_process_local_data(sharding, W)
    assert px.typeof(made.copy()) is px.typeof(made)
    assert reshard(made, R).is_fully_replicated


def test_a_mesh_of_one_device_needs_no_summands():
    with px.set_mesh(px.make_mesh((1,), ("x",), AxisType.Explicit)):
        value, aval = on(lambda u: (u + u) * reshard(W, R))
        assert aval.str_short() == "f32[4,4]{U:x}"
        np.testing.assert_allclose(value, 2 * (A @ B) * W, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(np.asarray(reshard(reshard(W, U), P())), W)


def test_axes_of_specifications_are_meant_in_one_way(mesh):
    for spec in ({"unreduced": {"x"}}, {"reduced": {"x"}}):
        with pytest.raises(ValueError, match="PartitionSpec: an axis of the mesh must be in one of partitions and"):
            P("x", **spec)
    with pytest.raises(ValueError, match="in one of unreduced and reduced, got 'x' in both"):
        P(unreduced={"x"}, reduced={"x"})
    with pytest.raises(ValueError, match="names the axis 'z'"):
        px.NamedSharding(mesh, P(unreduced={"z"}))
    with pytest.raises(TypeError, match="an unreduced value must be an array of numbers"):
        reshard(np.ones(4, bool), P(unreduced={"x"}))
    automatic = px.make_mesh((4, 2), ("x", "y"))
    message = (
        r"unreduced and reduced must name mesh axes of type Explicit.*Use P\(\); along axes of type Auto XLA chooses"
    )
    with pytest.raises(ValueError, match=message):
        px.NamedSharding(automatic, P(unreduced={"x"}))


def test_axes_of_two_types_go_together():
    mixed = px.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with px.set_mesh(mixed):
        out = px.jit(lambda a, b: -product(a, b))(*factors())
        assert px.typeof(out).str_short() == "f32[4,4]{U:x}"
        np.testing.assert_allclose(np.asarray(reshard(out, P())), -(A @ B), rtol=1e-5)
        with pytest.raises(ValueError, match="must name mesh axes of type Explicit"):
            reshard(W, P(unreduced={"y"}))


# Inside of shard_map.


def mapped(mesh, f, ins, outs, **options):
    return px.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **options)


ONE = P(unreduced={"x"})
SAME = P(reduced={"x"})


def casting(to, axis="x"):
    return lambda x: lax.pcast(x, axis, to=to)


def test_casts_and_collectives_between_what_types_tell(mesh):
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    total = x.reshape(4, 2, 4).sum(0)
    opened = px.jit(mapped(mesh, casting("unreduced"), P("x"), ONE))(reshard(x, P("x")))
    assert px.typeof(opened).str_short() == "f32[2,4]{U:x}"
    np.testing.assert_array_equal(np.asarray(reshard(opened, P())), total)
    np.testing.assert_array_equal(np.asarray(px.jit(mapped(mesh, lambda x: lax.psum(x, "x"), ONE, P()))(opened)), total)
    scatter = mapped(mesh, lambda x: lax.psum_scatter(x, "x", tiled=True), ONE, P("x"))
    w = reshard(W, U)
    np.testing.assert_array_equal(np.asarray(px.jit(scatter)(w)), W)
    scatter = mapped(mesh, lambda x: lax.psum_scatter(x, "x")[None], ONE, P("x"))
    np.testing.assert_array_equal(np.asarray(px.jit(scatter)(w)), W)
    same = px.jit(mapped(mesh, casting("reduced"), P(), SAME))(W)
    assert px.typeof(same).str_short() == "f32[4,4]{R:x}"
    varying = px.jit(mapped(mesh, casting("varying"), SAME, P("x")))(same)
    np.testing.assert_array_equal(np.asarray(varying), np.tile(W, (4, 1)))
    for tiled, shape in ((True, (8, 4)), (False, (4, 2, 4))):
        gathered = mapped(mesh, lambda x, t=tiled: lax.all_gather(x, "x", tiled=t, to="reduced"), P("x"), SAME)
        out = px.jit(gathered)(reshard(x, P("x")))
        assert px.typeof(out).shape == shape
        assert px.typeof(out).sharding.spec.reduced == {"x"}
        np.testing.assert_array_equal(np.asarray(out).reshape(8, 4), x)
    both = reshard(x.reshape(8, 4), P(("x", "y")))
    out = px.jit(mapped(mesh, casting("unreduced", ("x", "y")), P(("x", "y")), P(unreduced={"x", "y"})))(both)
    np.testing.assert_array_equal(np.asarray(reshard(out, P())), x.sum(0, keepdims=True))


def test_summands_are_added_and_scaled_inside(mesh):
    def f(u, r):
        out = lax.scan(lambda c, _: (c + u * 2, None), u * r, None, length=3)[0]
        return out + pnp.ones_like(out)

    found = px.jit(mapped(mesh, f, (ONE, SAME), ONE))(reshard(A, U), reshard(W, R))
    np.testing.assert_allclose(np.asarray(reshard(found, P())), A * W + 6 * A + 1, rtol=1e-5, atol=1e-6)


def test_what_is_reduced_varies_beside_what_varies(mesh):
    x = reshard(np.ones((8, 4), np.float32), P("x"))
    f = mapped(mesh, lambda x, w: x @ w, (P("x"), SAME), P("x"))
    gradient = px.jit(px.grad(lambda w: f(x, w).sum()))(reshard(W, R))
    assert px.typeof(gradient).str_short() == "f32[4,4]{U:x}"
    np.testing.assert_array_equal(np.asarray(reshard(gradient, P())), np.full((4, 4), 8, np.float32))
    assert collectives(px.grad(lambda w: f(x, w).sum()), reshard(W, R)) == {}


PAIRS = {
    "preduced": ("unreduced_psum", casting("reduced"), P(), SAME),
    "unreduced_psum": ("preduced", lambda x: lax.psum(x, "x"), ONE, P()),
    "vary_unreduced_cast": ("reduced_vary_cast", casting("unreduced"), P("x"), ONE),
    "reduced_vary_cast": ("vary_unreduced_cast", casting("varying"), SAME, P("x")),
    "all_gather_reduced": (
        "unreduced_reduce_scatter",
        lambda x: lax.all_gather(x, "x", tiled=True, to="reduced"),
        P("x"),
        SAME,
    ),
    "unreduced_reduce_scatter": (
        "all_gather_reduced",
        lambda x: lax.psum_scatter(x, "x", tiled=True),
        ONE,
        P("x"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_each_transposes_to_its_pair_and_back(mesh, name):
    partner, f, ins, outs = PAIRS[name]
    x = reshard(np.arange(64, dtype=np.float32).reshape(16, 4), ins)
    g = mapped(mesh, f, ins, outs)

    def inner(closed):
        (eqn,) = [eqn for eqn in closed.eqns if str(eqn.primitive) == "shard_map"]
        return [str(each.primitive) for each in eqn.params["jaxpr"].eqns]

    out = px.eval_shape(g, x)
    transposed = px.linear_transpose(g, x)
    ct = reshard(np.ones(out.shape, np.float32), P(*outs.partitions, unreduced=outs.reduced, reduced=outs.unreduced))
    assert inner(px.make_jaxpr(g)(x)) == [name]
    assert inner(px.make_jaxpr(transposed)(ct)) == [partner]
    (back,) = transposed(ct)
    again = px.linear_transpose(lambda ct: transposed(ct)[0], ct)
    assert inner(px.make_jaxpr(again)(back)) == [name]
    found = reshard(g(x), P())
    np.testing.assert_allclose(
        float((found * reshard(ct, P())).sum()), float((reshard(x, P()) * reshard(back, P())).sum()), rtol=1e-6
    )


INSIDE = {
    r"x must be 'varying' along 'x' to be made 'unreduced', .* is 'invarying'": (casting("unreduced"), P(), ONE, W),
    r"x must be 'invarying' along 'x' to be made 'reduced', .* is 'varying'": (casting("reduced"), P("x"), SAME, W),
    r"x must be 'invarying' or 'reduced' along 'x' .* is 'unreduced'; psum": (casting("varying"), ONE, P("x"), W),
    r"x must be 'invarying' or 'reduced' along 'x' .* is 'varying'": (casting("varying"), P("x"), P("x"), W),
    "to must be 'varying', 'unreduced' or 'reduced', got 'invarying'": (casting("invarying"), SAME, P(), W),
    r"is unreduced along 'x', but is used as a varying value": (
        lambda x: x + lax.axis_index("x").astype(x.dtype),
        ONE,
        ONE,
        W,
    ),
    r"sin is not linear in them; sum first, with lax.psum\(x, 'x'\)": (pnp.sin, ONE, ONE, W),
    r"got .*; convert the others with lax.pcast\(x, 'x', to='reduced'\)": (lambda x: x + W, SAME, SAME, W),
    r"lax.pcast\(x, 'x', to='varying'\) and lax.pcast\(..., to='unreduced'\)": (lambda x: x + W, ONE, ONE, W),
    "pmax|used as a varying value": (lambda x: lax.pmax(x, "x"), ONE, P(), W),
    r"x must be unreduced along all of the axes": (lambda x: lax.psum(x, ("x", "y")), ONE, P(), W),
    r"psum_scatter: axis 0 of x must be of length a multiple of 4": (
        lambda x: lax.psum_scatter(x[:3], "x", tiled=True),
        ONE,
        P("x"),
        W,
    ),
    r"out_specs of result 0 is P\(\), which must be unreduced .*lax.psum": (lambda x: x, ONE, P(), W),
    r"result 0 is P\(unreduced=\{'x'\}\), which must be unreduced": (lambda x: x, P("x"), ONE, W),
    r"result 0 is P\(\), which must be reduced .*lax.pcast makes": (lambda x: x, SAME, P(), W),
}


@pytest.mark.parametrize("message", INSIDE)
def test_what_types_do_not_allow_inside_is_refused(mesh, message):
    f, ins, outs, x = INSIDE[message]
    with pytest.raises((ValueError, TypeError), match=message):
        mapped(mesh, f, ins, outs)(reshard(x, ins))


def test_specifications_must_be_those_of_the_arguments(mesh):
    with pytest.raises(ValueError, match=r"in_specs of argument 0 is P\(unreduced=.*primax.reshard\(x, P\(unreduced"):
        mapped(mesh, lambda x: x, ONE, ONE)(W)
    with pytest.raises(ValueError, match=r"in_specs of argument 0 is P.*, which must be unreduced"):
        mapped(mesh, lambda x: x, P(), P())(reshard(W, U))
    with pytest.raises(ValueError, match="with check_vma=False types do not record sums"):
        mapped(mesh, lambda x: lax.psum(x, "x"), ONE, P(), check_vma=False)(reshard(W, U))
    with pytest.raises(ValueError, match="with check_vma=False types do not record sums"):
        mapped(mesh, lambda x: x, P(), SAME, check_vma=False)(W)
    with pytest.raises(ValueError, match="which are not axes of a shard_map with check_vma=True"):
        mapped(mesh, casting("unreduced"), P("x"), P("x"), check_vma=False)(reshard(W, P("x")))


def test_programs_of_part_of_the_mesh_leave_other_sums_open(mesh):
    u = reshard(W, P("y", unreduced={"x"}))
    out = px.jit(mapped(mesh, lambda x: x + x, P("y"), P("y"), axis_names={"y"}))(u)
    assert px.typeof(out).str_short() == "f32[4@y,4]{U:x}"
    np.testing.assert_array_equal(np.asarray(reshard(out, P())), 2 * W)
    out = px.jit(mapped(mesh, lambda x: lax.psum(x, "x"), ONE, P(), axis_names={"x"}))(u)
    np.testing.assert_array_equal(np.asarray(out), W)
    summed = mapped(mesh, lambda x: reshard(x + x, P()), P("y"), P("y"), axis_names={"y"})
    np.testing.assert_array_equal(np.asarray(px.jit(summed)(u)), 2 * W)


def test_sums_may_be_left_open_inside_over_automatic_axes():
    automatic = px.make_mesh((4, 2), ("x", "y"))
    x = np.arange(32, dtype=np.float32).reshape(8, 4)

    def f(w, x):
        return lax.psum((x @ lax.pcast(w, "x", to="reduced")).sum(), "x")

    gradient = px.grad(px.shard_map(f, mesh=automatic, in_specs=(P(), P("x")), out_specs=P()))
    np.testing.assert_array_equal(np.asarray(px.jit(gradient)(W, x)), np.tile(x.sum(0)[:, None], (1, 4)))
    assert collectives(gradient, W, x) == {"all-reduce": 1}


def test_derivatives_inside_to_second_order(mesh):
    x = np.random.default_rng(9).normal(size=(8, 4)).astype(np.float32)

    def f(w):
        def part(x, w):
            return lax.psum((pnp.tanh(x @ w) * w[0]).sum(), "x")

        return mapped(mesh, part, (P("x"), SAME), P())(reshard(x, P("x")), reshard(w, R))

    def g(w):
        return (pnp.tanh(x @ w) * w[0]).sum()

    for one, other in ((f, g), (lambda w: (px.grad(f)(w) ** 2).sum(), lambda w: (px.grad(g)(w) ** 2).sum())):
        np.testing.assert_allclose(
            np.asarray(px.jit(px.grad(one))(W)), np.asarray(px.grad(other)(W)), rtol=1e-3, atol=1e-3
        )


def test_shard_map_is_mapped_over_stacks_of_summands(mesh):
    u = reshard(np.stack([A, B, W]), P(None, None, None, unreduced={"x"}))
    out = px.jit(px.vmap(mapped(mesh, lambda x: lax.psum(x, "x"), ONE, P())))(u)
    np.testing.assert_array_equal(np.asarray(out), np.stack([A, B, W]))


def test_a_linear_primitive_of_a_third_party_takes_summands(mesh):
    twice = define_primitive(
        "twice_of_test", impl=lambda x: lax.add(x, x), lowering=derive.from_impl, elementwise=True, linear=(0,)
    )
    value, aval = on(twice.bind)
    assert aval.str_short() == "f32[4,4]{U:x}"
    np.testing.assert_allclose(value, 2 * (A @ B), rtol=1e-5)


def test_what_is_left_open_in_one_call_is_not_in_others(mesh):
    a, b = factors()
    multiplied = px.jit(lax.dot_general, static_argnums=(2, 3, 4))

    def product_by(x, y, numbers, precision=None, preferred_element_type=None):
        return multiplied(x, y, numbers, precision, preferred_element_type)

    for _ in range(2):
        for f in (pnp.matmul, pnp.dot, lambda a, b, **kw: pnp.tensordot(a, b, 1, **kw)):
            with pytest.raises(ShardingTypeError, match="ambiguous"):
                f(a, b)
            assert px.typeof(f(a, b, out_sharding=U)).str_short() == "f32[4,4]{U:x}"
            assert px.typeof(f(a, b, out_sharding=P())).str_short() == "f32[4,4]"
        with pytest.raises(ShardingTypeError, match="ambiguous"):
            pnp.einsum("ij,jk->ik", a, b, _dot_general=product_by, out_sharding=U)
    assert unreduced_params() == {}


def test_programs_close_over_scalars_that_are_still_to_be_summed(mesh):
    x = reshard(np.float32(3), P(unreduced={"x"}))
    closed = px.make_jaxpr(lambda: x + x)()
    assert closed.out_avals[0].str_short() == "f32[]{U:x}"
    assert float(reshard(px.jit(lambda: x + x)(), P())) == 6


def test_an_artifact_holds_no_sums_still_to_be_taken(mesh):
    a, b = factors()
    makes = px.jit(product)
    for function, args in ((makes, (a, b)), (px.jit(lambda u: reshard(u, P())), (makes(a, b),))):
        with pytest.raises(
            ValueError, match=r"export: .* takes or returns a value of type f32\[4,4\]\{U:x\}.* sum inside"
        ):
            px.export.export(function)(*args)
    exported = px.export.export(px.jit(lambda a, b: reshard(product(a, b), P())))(a, b)
    np.testing.assert_allclose(px.export.deserialize(exported.serialize()).call(a, b), A @ B, rtol=1e-5)


def test_a_sum_stays_pending_only_if_all_factors_are_divided(mesh):
    with pytest.raises(ShardingTypeError, match="divide the dimensions of the sum in all operands"):
        pnp.einsum("ij,jk->ik", reshard(A, P(None, "x")), B, out_sharding=U)
