"""`shard_map`: values and derivatives against jax and against programs without it, laws of communication, refusals."""

from __future__ import annotations

import re

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend.core import check_jaxpr, jaxprs_in_params

pytestmark = pytest.mark.usefixtures("in_32_bits")

P = px.P
H = np.sin(np.arange(32, dtype=np.float32)).reshape(8, 4)
W = np.cos(np.arange(16, dtype=np.float32)).reshape(4, 4) / 2


@pytest.fixture
def mesh() -> px.sharding.Mesh:
    return px.make_mesh((4, 2), ("x", "y"))


def cycle(n: int) -> list[tuple[int, int]]:
    return [(i, (i + 1) % n) for i in range(n)]


# name: (program of one device, specification of the argument, of the result)
PROGRAMS = {
    "elementwise": (lambda lax, np_, x: np_.sin(x) * 2.0, ("x",), ("x",)),
    "psum": (lambda lax, np_, x: lax.psum(np_.sin(x), "x"), ("x",), ()),
    "psum of both axes": (lambda lax, np_, x: lax.psum(x * x, ("x", "y")), ("x", "y"), ()),
    "psum of one of both": (lambda lax, np_, x: lax.psum(x * x, "y"), ("x", "y"), ("x",)),
    "psum of what is the same": (lambda lax, np_, x: lax.psum(x * x, "x"), (), ()),
    "sum times varying": (lambda lax, np_, x: lax.psum(np_.sin(x), "x") * x, ("x",), ("x",)),
    "pmean": (lambda lax, np_, x: lax.pmean(x, "x") - x, ("x",), ("x",)),
    "pmax": (lambda lax, np_, x: lax.pmax(lax.stop_gradient(x), "x") * x, ("x",), ("x",)),
    "pmin of both": (lambda lax, np_, x: x - lax.pmin(lax.stop_gradient(x), ("x", "y")), ("x", "y"), ("x", "y")),
    "all_gather": (lambda lax, np_, x: lax.all_gather(x, "x").sum(0) * x, ("x",), ("x",)),
    "all_gather, tiled": (lambda lax, np_, x: lax.all_gather(x, "y", axis=1, tiled=True), ("x", "y"), ("x", None)),
    "psum_scatter": (lambda lax, np_, x: lax.psum_scatter(x, "y", scatter_dimension=0), ("x",), (("x", "y"),)),
    "psum_scatter, tiled": (
        lambda lax, np_, x: lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True),
        ("x",),
        ("x",),
    ),
    "all_to_all": (lambda lax, np_, x: lax.all_to_all(x, "x", 1, 1), ("x",), ("x",)),
    "all_to_all, tiled": (lambda lax, np_, x: lax.all_to_all(x, "x", 1, 0, tiled=True), ("x",), ("x",)),
    "ppermute": (lambda lax, np_, x: lax.ppermute(x * x, "x", cycle(4)), ("x",), ("x",)),
    "ppermute to some": (lambda lax, np_, x: lax.ppermute(x, "x", [(0, 2)]), ("x",), ("x",)),
    "pshuffle": (lambda lax, np_, x: lax.pshuffle(x, "x", [3, 1, 0, 2]), ("x",), ("x",)),
    "axis_index": (lambda lax, np_, x: x * (lax.axis_index("x") + 10 * lax.axis_index("y")), ("x", "y"), ("x", "y")),
    "scan": (
        lambda lax, np_, x: lax.scan(lambda c, _: (np_.tanh(c @ W) + lax.pmean(c, "x"), None), x, None, length=3)[0],
        ("x",),
        ("x",),
    ),
    "cond": (lambda lax, np_, x: lax.cond(lax.axis_index("x") > 1, np_.sin, lambda x: x * 2.0, x), ("x",), ("x",)),
    "matmul over a divided axis": (lambda lax, np_, x: lax.psum(x @ x.T, "y"), (None, "y"), ()),
}


def both(jax, mesh, program, in_spec, out_spec, check_vma=True):
    """The function in primax and in jax."""
    ours = px.shard_map(
        lambda x: program(lax, pnp, x), mesh=mesh, in_specs=P(*in_spec), out_specs=P(*out_spec), check_vma=check_vma
    )
    their_mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
    spec = jax.sharding.PartitionSpec
    theirs = jax.shard_map(
        lambda x: program(jax.lax, jax.numpy, x),
        mesh=their_mesh,
        in_specs=spec(*in_spec),
        out_specs=spec(*out_spec),
        check_vma=check_vma,
    )
    return ours, theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_jax(jax, mesh, name):
    ours, theirs = (
        both(jax, mesh, *PROGRAMS[name])
        if name != "all_gather, tiled"
        else both(jax, mesh, *PROGRAMS[name], check_vma=False)
    )

    def loss(f):
        return lambda x: (f(x) ** 2).sum()

    value, gradient = jax.jit(lambda x: (theirs(x), jax.grad(loss(theirs))(x)))(H)
    for found in (ours(H), px.jit(ours)(H)):
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6)
    for found in (px.grad(loss(ours))(H), px.jit(px.grad(loss(ours)))(H)):
        np.testing.assert_allclose(found, gradient, rtol=1e-4, atol=1e-5)
    check_jaxpr(px.make_jaxpr(px.grad(loss(ours)))(H).jaxpr)


@pytest.mark.parametrize("name", ["psum", "sum times varying", "scan", "ppermute", "all_gather", "axis_index"])
def test_types_that_tell_nothing_change_no_values(mesh, name):
    program, ins, outs = PROGRAMS[name]
    checked, unchecked = (
        px.shard_map(lambda x: program(lax, pnp, x), mesh=mesh, in_specs=P(*ins), out_specs=P(*outs), check_vma=check)
        for check in (True, False)
    )
    np.testing.assert_allclose(checked(H), unchecked(H), rtol=1e-6)
    grads = [px.grad(lambda x, f=f: (f(x) ** 2).sum())(H) for f in (checked, unchecked)]
    np.testing.assert_allclose(*grads, rtol=1e-4, atol=1e-5)


@pytest.mark.any_release
@settings(max_examples=12)
@given(data=st.data())
def test_random_programs_of_parts_equal_those_of_wholes(data):
    """Programs that communicate only by sums are those of one device, to second order, mapped or not."""
    sizes = data.draw(st.sampled_from([(2,), (4,), (2, 2), (4, 2), (2, 4)]))
    names = ("i", "j")[: len(sizes)]
    mesh = px.make_mesh(sizes, names)
    axes = data.draw(st.permutations(names))[: data.draw(st.integers(1, len(names)))]
    steps = data.draw(
        st.lists(st.sampled_from(["sin", "mul", "mean", "weight", "scan", "remat"]), min_size=1, max_size=4)
    )

    def run(x, w, total):
        for step in steps:
            if step == "sin":
                x = pnp.sin(x)
            elif step == "mul":
                x = x * (1.0 + x)
            elif step == "mean":
                x = x - total(x.sum(0)) / 8.0
            elif step == "weight":
                x = x @ w
            elif step == "scan":
                x = lax.scan(lambda c, a: (pnp.tanh(c @ w) + a, None), x, pnp.arange(2.0))[0]
            else:
                x = px.checkpoint(lambda x: pnp.cos(x) * x)(x)
        return total((x**2).sum())

    def whole(x, w):
        return run(x, w, lambda v: v)

    parts = px.shard_map(
        lambda x, w: run(x, w, lambda v: lax.psum(v, axes)), mesh=mesh, in_specs=(P(axes), P()), out_specs=P()
    )
    options = {"rtol": 2e-4, "atol": 2e-4}
    np.testing.assert_allclose(px.jit(parts)(H, W), whole(H, W), **options)
    for argnum in (0, 1):
        np.testing.assert_allclose(px.jit(px.grad(parts, argnum))(H, W), px.grad(whole, argnum)(H, W), **options)
    v = np.ones_like(W)

    def second(f):
        return px.jit(lambda w: px.jvp(px.grad(lambda w: f(H, w)), (w,), (v,))[1])(W)

    np.testing.assert_allclose(second(parts), second(whole), rtol=1e-3, atol=1e-3)
    stacked = np.stack([H, H + 1.0])
    np.testing.assert_allclose(px.vmap(parts, (0, None))(stacked, W), px.vmap(whole, (0, None))(stacked, W), **options)


def communications(fun, *args):
    """How often each kind of communication stands in the StableHLO of a function."""
    text = px.jit(fun).lower(*args).as_text()
    kinds = re.findall(r"stablehlo\.(all_reduce|all_gather|reduce_scatter|collective_permute|all_to_all)", text)
    return {kind: kinds.count(kind) for kind in set(kinds)}


def sums_in_loops(jaxpr, inside=False):
    """How many sums over devices stand in the loops of a program."""
    own = sum(inside and eqn.primitive.name == "psum_invariant" for eqn in jaxpr.eqns)
    held = ((eqn, inner) for eqn in jaxpr.eqns for inner in jaxprs_in_params(eqn.params))
    return own + sum(sums_in_loops(inner, inside or eqn.primitive.name == "scan") for eqn, inner in held)


def test_the_transpose_of_a_sum_of_divided_values_does_not_communicate(mesh):
    f = px.shard_map(lambda x: lax.psum(pnp.sin(x), "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
    assert communications(f, H) == {"all_reduce": 1}
    out, pull = px.vjp(f, H)
    assert communications(pull, out) == {}


def test_the_identity_of_what_all_have_transposes_to_itself(mesh):
    f = px.shard_map(lambda x: x, mesh=mesh, in_specs=P(), out_specs=P())
    once = px.linear_transpose(f, H)
    twice = px.linear_transpose(lambda ct: once(ct)[0], H)
    for g in (once, twice):
        (eqn,) = px.make_jaxpr(g)(H).jaxpr.eqns
        assert eqn.params["jaxpr"].eqns == []


@pytest.mark.parametrize(
    "program, ins, outs",
    [
        (lambda x: lax.psum(x, "x"), P("x"), P()),
        (lambda x: lax.all_gather(x, "x", tiled=True), P("x"), P("x")),
        (lambda x: lax.all_gather(x, "x", tiled=True, to="invarying"), P("x"), P()),
        (lambda x: lax.psum_scatter(x, "x", scatter_dimension=1, tiled=True), P("x"), P("x")),
        (lambda x: lax.ppermute(x, "x", [(0, 1), (2, 3)]), P("x"), P("x")),
        (lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True), P("x"), P("x")),
        (lambda x: lax.pcast(x, "x", to="varying"), P(), P("x")),
    ],
)
def test_transposing_twice_gives_the_program_again(mesh, program, ins, outs):
    f = px.shard_map(program, mesh=mesh, in_specs=ins, out_specs=outs)
    out = px.eval_shape(f, H)
    once = px.linear_transpose(f, H)
    twice = px.linear_transpose(lambda ct: once(ct)[0], out)
    assert str(px.make_jaxpr(lambda x: twice(x)[0])(H)) == str(px.make_jaxpr(f)(H))
    np.testing.assert_allclose(twice(H)[0], f(H), rtol=1e-6)


def test_a_sum_times_a_varying_value_is_summed_once_each_way(mesh):
    f = px.shard_map(lambda x, y: lax.psum(pnp.sin(x), "x") * y, mesh=mesh, in_specs=(P("x"), P("x")), out_specs=P("x"))
    assert communications(f, H, H) == {"all_reduce": 1}
    out, pull = px.vjp(f, H, H)
    assert communications(pull, out) == {"all_reduce": 1}


def test_gradients_of_a_mean_over_a_data_axis_are_summed_once_for_each_parameter(mesh):
    layers = {"w": np.stack([W, W, W]), "b": np.ones((3, 4), np.float32)}

    def loss(params, x):
        x, _ = lax.scan(lambda x, p: (pnp.tanh(x @ p["w"] + p["b"]) + x @ p["w"], None), x, params)
        return lax.pmean((x**2).mean(), ("x", "y"))

    f = px.shard_map(loss, mesh=mesh, in_specs=(P(), P(("x", "y"))), out_specs=P())
    grad = px.shard_map(px.grad(loss), mesh=mesh, in_specs=(P(), P(("x", "y"))), out_specs=P())
    for program in (px.grad(f), grad):
        assert communications(program, layers, H)["all_reduce"] <= 3
        assert sums_in_loops(px.make_jaxpr(program)(layers, H).jaxpr) == 0
    np.testing.assert_allclose(grad(layers, H)["w"], px.grad(f)(layers, H)["w"], rtol=1e-5)


def test_forward_derivatives_and_batches_communicate_no_more(mesh):
    f = px.shard_map(lambda x: lax.psum(x * x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
    assert communications(lambda x: px.linearize(f, x)[1](x), H) == {"all_reduce": 1}
    assert communications(lambda x: px.jvp(f, (x,), (x,))[1], H) == {"all_reduce": 1}
    assert communications(px.vmap(f), np.stack([H, H])) == {"all_reduce": 1}


def test_a_mesh_of_one_device_adds_nothing():
    one = px.make_mesh((1,), ("i",))
    f = px.shard_map(lambda x: lax.psum(pnp.sin(x), "i"), mesh=one, in_specs=P("i"), out_specs=P())
    text = px.jit(f).lower(H).as_text()
    assert "manual" not in text
    assert communications(f, H) == {}
    np.testing.assert_allclose(f(H), np.sin(H), rtol=1e-6)


def test_partly_manual_programs_leave_the_rest_to_the_partitioner(mesh):
    def f(x):
        return x * lax.axis_index("x") + lax.psum(x, "x")

    partly = px.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    wholly = px.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_allclose(px.jit(partly)(H), wholly(H), rtol=1e-6)
    x = px.device_put(H, px.NamedSharding(mesh, P(None, "y")))
    np.testing.assert_allclose(px.jit(partly)(x), wholly(H), rtol=1e-6)
    np.testing.assert_allclose(
        px.grad(lambda x: (partly(x) ** 2).sum())(H), px.grad(lambda x: (wholly(x) ** 2).sum())(H), rtol=1e-5
    )


def test_nested_over_disjoint_axes_equals_one_over_both(mesh):
    def inner(x):
        return x * (lax.axis_index("y") + 3 * lax.axis_index("x")) + lax.psum(x, "y")

    nested = px.shard_map(
        lambda x: px.shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(x),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        axis_names={"x"},
    )
    flat = px.shard_map(inner, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"))
    np.testing.assert_allclose(nested(H), flat(H), rtol=1e-6)
    np.testing.assert_allclose(px.grad(lambda x: nested(x).sum())(H), px.grad(lambda x: flat(x).sum())(H), rtol=1e-6)


def test_closures_over_arrays_and_over_mapped_and_differentiated_values(mesh):
    def outer(w):
        return px.shard_map(lambda x: lax.psum((x @ w).sum(), "x"), mesh=mesh, in_specs=P("x"), out_specs=P())(H)

    np.testing.assert_allclose(outer(W), (H @ W).sum(), rtol=1e-5)
    np.testing.assert_allclose(px.grad(outer)(W), px.grad(lambda w: (H @ w).sum())(W), rtol=1e-5)
    np.testing.assert_allclose(px.vmap(outer)(np.stack([W, 2 * W])), [(H @ W).sum(), 2 * (H @ W).sum()], rtol=1e-5)


def test_custom_derivatives_work_on_parts(mesh):
    @px.custom_vjp
    def f(x):
        return pnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2.0 * ct * pnp.cos(x),))

    @px.custom_jvp
    def g(x):
        return pnp.sin(x)

    g.defjvp(lambda xs, ts: (g(*xs), 3.0 * ts[0] * pnp.cos(*xs)))
    for fun, factor in ((f, 2.0), (g, 3.0)):
        mapped = px.shard_map(lambda x, fun=fun: lax.psum(fun(x), "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
        np.testing.assert_allclose(px.grad(lambda x, m=mapped: m(x).sum())(H), factor * np.cos(H), rtol=1e-5)


def test_loops_on_parts(mesh):
    f = px.shard_map(
        lambda x: lax.while_loop(
            lambda s: (s[1] < 3).all(), lambda s: (s[0] * 2.0, s[1] + 1), (x, lax.axis_index("x"))
        )[0],
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    steps = np.repeat([3, 2, 1, 0], 2)[:, None]
    np.testing.assert_allclose(f(H), H * 2.0**steps, rtol=1e-6)
    g = px.shard_map(
        lambda x: lax.fori_loop(
            0, 3, lambda i, c: c + lax.psum(x, "x") * i, lax.pcast(pnp.zeros((2, 4)), "x", to="varying")
        ),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    np.testing.assert_allclose(g(H), np.tile(3 * H.reshape(4, 2, 4).sum(0), (4, 1)), rtol=1e-5)


def test_a_mesh_in_scope_and_decorators(mesh):
    with px.set_mesh(mesh):

        @px.shard_map(in_specs=P("x"), out_specs=P())
        def f(x):
            """Sums."""
            return lax.psum(x, "x")

        np.testing.assert_allclose(f(H), H.reshape(4, 2, 4).sum(0), rtol=1e-5)
        assert f.__doc__ == "Sums."
        s = px.smap(lambda x: x * lax.axis_index("y"), in_axes=1, out_axes=1, axis_name="y")
        np.testing.assert_allclose(s(H), H * np.repeat([0, 1], 2), rtol=1e-6)


def test_results_of_eager_calls_have_the_specification_that_was_given(mesh):
    names = mesh.axis_names
    for spec in (px.P(None), px.P(names[0], None), px.P(names[0]), px.P(None, names[1])):
        f = px.shard_map(lambda x: x, mesh=mesh, in_specs=spec, out_specs=spec)
        x = pnp.arange(64.0).reshape(8, 8)
        out = f(x)
        assert out.sharding.spec == spec
        np.testing.assert_array_equal(out, x)
        assert px.jit(f)(x).sharding.is_equivalent_to(out.sharding, 2)


def test_eager_calls_trace_and_compile_once(mesh):
    traced = []

    def f(x):
        traced.append(1)
        return x * 2.0

    mapped = px.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    for _ in range(3):
        np.testing.assert_allclose(mapped(H), 2 * H)
    assert len(traced) == 1


def test_a_function_that_is_mapped_anew_is_not_traced_anew(mesh):
    traced = []

    def f(x):
        traced.append(1)
        return x * 2.0

    for _ in range(3):
        np.testing.assert_allclose(px.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(H), 2 * H)
    assert len(traced) == 1


def test_effects_happen_on_each_part(mesh, capfd):
    px.shard_map(
        lambda x: px.debug.print("{}", x.shape[0] * lax.axis_index("x")), mesh=mesh, in_specs=P("x"), out_specs=None
    )(H)
    px.effects_barrier()
    assert sorted(capfd.readouterr().out.split()) == sorted(["0", "2", "4", "6"] * 2)


def test_pmap_is_shard_map_over_an_axis_of_its_own(jax):
    for axes in ({}, {"in_axes": (1,), "out_axes": 1}):
        x = H if not axes else H.T
        ours = px.pmap(lambda x: lax.psum(x, "i") * x, "i", **axes)
        theirs = jax.pmap(lambda x: jax.lax.psum(x, "i") * x, "i", **axes)
        np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-5)
    out, total = px.pmap(lambda x, k: (x * k, lax.psum(x, "i")), "i", in_axes=(0, None), out_axes=(0, None))(H, 2.0)
    np.testing.assert_allclose(out, 2 * H)
    np.testing.assert_allclose(total, H.sum(0), rtol=1e-5)
    assert px.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(H[:2], 3).shape == (2, 4)
    np.testing.assert_allclose(
        px.grad(lambda x: px.pmap(lambda v: lax.psum(v**2, "i"), "i")(x).sum())(H), 16 * H, rtol=1e-5
    )
    with pytest.raises(ValueError, match="not be longer than there are devices, 8, got 9"):
        px.pmap(lambda x: x)(np.zeros(9))


def test_types_print_along_which_axes_values_vary(mesh):
    text = str(
        px.make_jaxpr(px.shard_map(lambda x, y: x * y, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x")))(H, H[:2])
    )
    assert "pvary[axes=('x',)]" in text
    assert "f32[2,4]{V:x} = mul" in text


REFUSED = [
    (
        lambda s: s(lambda x: x, out_specs=P()),
        ValueError,
        r"result 0 of type f32\[2,4\]\{V:x\} may differ along 'x'.*psum",
    ),
    (lambda s: s(lambda x: x, in_specs=P("z")), ValueError, "names the axis 'z'"),
    (lambda s: s(lambda x: x, in_specs=P(None, ("x", "y"))), ValueError, "length 4 is no multiple of 8"),
    (lambda s: s(lambda x: x, in_specs=P("x", None, "y")), ValueError, "at least 3 axes"),
    (
        lambda s: s(lambda x: x.sum(), out_specs=P("x")),
        ValueError,
        r"result 0 is P\('x',\), which needs at least 1 axes",
    ),
    (lambda s: s(lambda x: x, in_specs="x"), TypeError, "in_specs must hold PartitionSpecs"),
    (lambda s: s(lambda x: x, axis_names={"z"}), ValueError, "axis_names must be axes of"),
    (
        lambda s: s(lambda x: x, in_specs=P("y"), axis_names={"x"}),
        ValueError,
        "must name only axes that this shard_map maps, 'x', got .* with 'y'$",
    ),
    (
        lambda s: s(lambda x: x, in_specs=P("x", "x")),
        ValueError,
        "shard_map of <lambda>: in_specs: .* 'x' twice .* it can",
    ),
    (
        lambda s: s(lambda x: x, in_specs=(P("x"), P())),
        ValueError,
        "shard_map of <lambda>: in_specs: a tuple of length 2 cannot match a tuple of length 1",
    ),
    (lambda s: s(lambda x: lax.psum(x, "k")), NameError, "axis_name must name an axis"),
    (lambda s: s(lambda x: lax.pcast(x, "x", to="varying")), ValueError, "must be 'invarying' or 'reduced' along 'x'"),
    (lambda s: s(lambda x: lax.pcast(x, "y", to="reduced")), ValueError, "which must be reduced along"),
    (
        lambda s: s(lambda x: lax.scan(lambda c, a: (c + a, None), pnp.zeros(4), x)[0][None]),
        TypeError,
        r"lax.pcast\(x, \('x',\), to='varying'\)",
    ),
    (
        lambda s: s(lambda x: px.shard_map(lambda x: x, in_specs=P("x"), out_specs=P("x"))(x)),
        ValueError,
        "must name only axes that this shard_map maps",
    ),
    (lambda s: px.shard_map(lambda x: x, in_specs=P(), out_specs=P())(H), ValueError, "no mesh is in scope"),
    (lambda s: px.shard_map(3, in_specs=P(), out_specs=P()), TypeError, "f must be callable"),
    (
        lambda s: px.shard_map(lambda x: x, mesh=px.make_mesh((8,), "x"), out_specs=P("x"))(H),
        TypeError,
        "in_specs must be given, .* the axes 'x' of Mesh",
    ),
    (lambda s: px.shard_map(lambda x: x, in_specs=P()), TypeError, "out_specs must be given"),
    (lambda s: px.shard_map(in_specs=P()), TypeError, "out_specs must be given"),
]


def test_none_for_in_specs_gives_all_devices_the_same(mesh):
    for specs in (None, (None,), P()):
        out = px.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=specs, out_specs=P())(H)
        np.testing.assert_array_equal(out, 2 * H)


@pytest.mark.parametrize("call, kind, message", REFUSED)
def test_what_does_not_fit_is_refused_with_names_and_remedy(mesh, call, kind, message):
    def mapped(f, **options):
        return px.shard_map(f, **{"mesh": mesh, "in_specs": P("x"), "out_specs": P("x"), **options})(H)

    with pytest.raises(kind, match=message):
        call(mapped)


@pytest.mark.parametrize("axis_names", [(), ("x",)], ids=["all axes", "one of both"])
def test_types_of_arguments_tell_how_they_are_divided(axis_names):
    told = px.make_mesh((4, 2), ("x", "y"), px.sharding.AxisType.Explicit)
    seen = []

    @px.shard_map(out_specs=P("x"), axis_names=axis_names)
    def product(weights, h):
        seen.extend([px.typeof(z).str_short() for z in (weights["w"], weights["scale"], h)])
        return h @ weights["w"] * weights["scale"]

    with px.set_mesh(told):
        h = px.reshard(H, P("x"))
        outs = product({"w": W, "scale": 2.0}, h), px.jit(product)({"w": W, "scale": 2.0}, h)
        gradient = px.grad(lambda h: pnp.sum(product({"w": W, "scale": 2.0}, h)))(h)
    assert seen[:3] == ["f32[4,4]", "f32[]", "f32[2,4]{V:x}"]
    for out in outs:
        assert px.typeof(out).str_short() == "f32[8@x,4]"
        np.testing.assert_allclose(out, 2 * H @ W, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient, np.tile(2 * W.sum(1), (8, 1)), rtol=1e-5)


def test_unreduced_and_reduced_arguments_stay_so():
    told = px.make_mesh((4, 2), ("x", "y"), px.sharding.AxisType.Explicit)
    seen = []

    @px.shard_map(out_specs=P())
    def f(*parts):
        seen.extend([px.typeof(x).manual_axis_type for x in parts])
        return lax.psum(parts[0], "x")

    with px.set_mesh(told):
        h = px.reshard(H, P("x"))
        later = pnp.matmul(h.T, h, out_sharding=P(unreduced={"x"}))
        out = f(later, px.reshard(pnp.ones(3), P(reduced={"y"})), h)
    none = frozenset()
    assert seen == [(none, {"x"}, none), (none, none, {"y"}), ({"x"}, none, none)]
    assert [x.varying for x in seen] == [none, none, {"x"}]
    np.testing.assert_allclose(out, H.T @ H, rtol=1e-5)


def axes_of_result(mesh, f):
    """The axes along which what `f` makes of a part that varies along "x" may vary."""
    types = []
    px.shard_map(lambda x: [x, types.append(px.typeof(f(x)))][0], mesh=mesh, in_specs=P("x"), out_specs=P("x"))(H)
    return types[0].vma


@pytest.mark.parametrize(
    "f",
    [
        pnp.zeros_like,
        pnp.empty_like,
        lambda x: pnp.full_like(x, 2.0),
        lambda x: pnp.ones_like(x, shape=(3,)),
        lambda x: lax.full_like(x, 1),
        pnp.imag,
        lambda x: pnp.isnan(x.astype("int32")),
        px.grad(lambda x: (x**1).sum()),
        lambda x: px.vjp(lambda v: v * 1.0, x)[1](pnp.ones(x.shape))[0],
        lambda x: px.jvp(lambda v: v * 1.0, (x,), (pnp.ones(x.shape),))[1],
        lambda x: px.linearize(lambda v: v * 1.0, x)[1](pnp.ones(x.shape)),
    ],
)
def test_constants_and_derivatives_vary_like_the_array_that_they_are_made_for(mesh, f):
    assert axes_of_result(mesh, f) == {"x"}


def test_a_carry_may_begin_with_zeros_like_a_part(mesh):
    total = px.shard_map(
        lambda x: lax.scan(lambda c, row: (c + row, None), pnp.zeros_like(x[0]), x)[0],
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    np.testing.assert_allclose(total(H), H.reshape(4, 2, 4).sum(1).reshape(-1), rtol=1e-6)


def test_random_numbers_of_keys_that_vary_are_those_of_each_device(mesh):
    key = px.random.key(3)
    draw = px.shard_map(
        lambda: px.random.normal(px.random.fold_in(key, lax.axis_index("x")), (2,)),
        mesh=mesh,
        in_specs=(),
        out_specs=P("x"),
    )
    wanted = np.concatenate([px.random.normal(px.random.fold_in(key, i), (2,)) for i in range(4)])
    for numbers in (draw(), px.jit(draw)()):
        np.testing.assert_array_equal(numbers, wanted)


@pytest.mark.parametrize("wrap", [lambda g: g, px.jit, px.checkpoint])
def test_the_derivative_of_a_number_that_all_devices_have_is_summed_over_them(mesh, wrap):
    def loss(f):
        return lambda s: pnp.sum(pnp.sin(f(s)))

    parts = px.shard_map(lambda s: (s * (1 + lax.axis_index("x")))[None], mesh=mesh, in_specs=P(), out_specs=P("x"))
    exact = sum(k * np.cos(0.5 * k) for k in range(1, 5))
    assert float(px.grad(loss(wrap(parts)))(np.float32(0.5))) == pytest.approx(exact, rel=1e-5)
    forward = px.jvp(loss(wrap(parts)), (np.float32(0.5),), (np.float32(1.0),))[1]
    assert float(forward) == pytest.approx(exact, rel=1e-5)


def test_negative_axes_of_pmap_count_from_the_end_as_in_vmap():
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

    def both(x, y):
        return {"product": x * y, "x": x}

    for own, out in [(-3, -1), (-1, -3), (1, -2)]:
        axes = {"in_axes": (own, None), "out_axes": {"product": out, "x": 1}}
        ours, theirs = px.pmap(both, **axes)(x, 2.0), px.vmap(both, **axes)(x, 2.0)
        assert np.array_equal(ours["product"], theirs["product"])
        assert np.array_equal(ours["x"], theirs["x"])
    out = px.pmap(lambda x: x, in_axes=-3, out_axes=-1)(x)
    assert out.sharding.spec == px.P(None, None, out.sharding.mesh.axis_names[0])
    with pytest.raises(ValueError, match=r"pmap: in_axes has axis -4 for leaf 0 of type f32\[2,3,4\]"):
        px.pmap(lambda x: x, in_axes=-4)(x)
    with pytest.raises(ValueError, match=r"pmap: out_axes has axis -4 for result 0, whose type is f32\[2,3,4\]"):
        px.pmap(lambda x: x, out_axes=-4)(x)


def test_axes_of_pmap_are_ints_and_no_bools():
    with pytest.raises(TypeError, match="pmap: in_axes must consist of None and of ints, got False"):
        px.pmap(lambda x: x, in_axes=False)(np.zeros((1, 2), np.float32))


def test_a_mesh_without_devices_stands_for_that_of_the_arguments(mesh):
    x = px.device_put(H, px.NamedSharding(mesh, P("x", "y")))
    f = px.shard_map(lambda x, y: x + y.sum(), mesh=mesh.abstract_mesh, in_specs=(P("x"), P()), out_specs=P("x"))
    assert f(x, W).sharding.is_equivalent_to(px.NamedSharding(mesh, P("x")), 2)
    np.testing.assert_allclose(f(x, W), H + W.sum(), rtol=1e-5, atol=1e-6)
    with pytest.raises(
        ValueError, match="shard_map: mesh must be a Mesh with devices, or the axes of the mesh in scope"
    ):
        f(H, W)
    other = px.device_put(W, px.NamedSharding(px.make_mesh((8,), ("z",)), P()))
    with pytest.raises(ValueError, match="shard_map: mesh must be a Mesh with devices"):
        f(x, other)
