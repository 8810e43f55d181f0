"""Types that tell how arrays are divided along explicit axes: as in jax, and as the arrays lie."""

from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace

import explicit
import numpy as np
import pytest

import primax as px
import primax.nn
import primax.nn.initializers
import primax.numpy as pnp
import primax.random
from primax import lax
from primax.extend import core, define_primitive, derive
from primax.sharding import AbstractMesh, AxisType, auto_axes, explicit_axes, reshard

ShardingTypeError = core.ShardingTypeError
SIZES, NAMES = zip(*((size, name) for name, size in explicit.MESH), strict=True)

# What primax tells, and jax does not: how stacks of matrices are divided, and that whole operands go with any division.
# (jax 0.12 refuses products of a divided batch and a whole one, which jax 0.10 takes.)
ONLY_HERE = {"cholesky", "concatenate_one_whole", "dynamic_update_slice", "matmul_batch_one", "set_row"}


@pytest.fixture(scope="module")
def mesh():
    return px.make_mesh(SIZES, NAMES, (AxisType.Explicit,) * 2)


def package(module, reshard):
    names = ("numpy", "lax", "nn", "random", "grad", "jvp", "jit", "vmap", "P")
    return SimpleNamespace(reshard=reshard, **{name: getattr(module, name) for name in names})


PRIMAX = package(px, reshard)


def placed(module, mesh, value, *spec):
    return module.device_put(value, module.NamedSharding(mesh, module.P(*spec)))


def told(outs):
    return [(tuple(aval.shape), tuple(aval.sharding.spec)) for aval in outs]


@pytest.mark.parametrize("case", explicit.CASES, ids=lambda case: case.name)
def test_types_are_those_of_jax(case, mesh, jax):
    args = [np.ones(shape, dtype) for shape, dtype, _ in case.args]
    of_jax = jax.make_mesh(SIZES, NAMES, axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    wanted, refusal = None, ""
    with jax.set_mesh(of_jax):
        theirs = [placed(jax, of_jax, x, *spec) for x, (_, _, spec) in zip(args, case.args, strict=True)]
        try:
            outs = jax.eval_shape(lambda *xs: case.run(package(jax, jax.sharding.reshard), *xs), *theirs)
            wanted = told(jax.tree.leaves(outs))
        except Exception as error:
            refusal = type(error).__name__
    with px.set_mesh(mesh):
        ours = [placed(px, mesh, x, *spec) for x, (_, _, spec) in zip(args, case.args, strict=True)]
        if wanted is None and case.name not in ONLY_HERE:
            with pytest.raises(TypeError) as caught:
                px.make_jaxpr(lambda *xs: case.run(PRIMAX, *xs))(*ours)
            assert isinstance(caught.value, ShardingTypeError) == (refusal == "ShardingTypeError")
        else:
            found = told(px.make_jaxpr(lambda *xs: case.run(PRIMAX, *xs))(*ours).out_avals)
            assert wanted is None or found == wanted


VALUES = (
    "add_other_axis mul_vector_divided where sum_0 argmax_divided matmul matmul_contracted_one reshape_merge_both "
    "concatenate_divided slice_divided index_array_free take_along_axis sort_free cond scan_whole_steps while "
    "vmap_free grad_sum_0 grad_matmul grad_of_whole grad_reshape jvp conv random fft_divided"
).split()


@pytest.mark.parametrize("name", VALUES)
def test_arrays_lie_as_types_tell_and_have_the_values_of_one_device(name, mesh):
    case = next(case for case in explicit.CASES if case.name == name)
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype(dtype) for shape, dtype, _ in case.args]
    wanted = case.run(PRIMAX, *map(pnp.asarray, args))
    with px.set_mesh(mesh):
        divided = [placed(px, mesh, x, *spec) for x, (_, _, spec) in zip(args, case.args, strict=True)]
        avals = px.make_jaxpr(lambda *xs: case.run(PRIMAX, *xs))(*divided).out_avals
        outs = px.jit(lambda *xs: case.run(PRIMAX, *xs))(*divided)
    for out, want, aval in zip(px.tree.leaves(outs), px.tree.leaves(wanted), avals, strict=True):
        np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)
        assert px.typeof(out) == aval
        assert out.sharding.is_equivalent_to(px.NamedSharding(mesh, aval.sharding.spec), out.ndim)


def test_types_show_how_arrays_are_divided(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    assert px.typeof(x).str_short() == "f32[8@x,4]"
    assert px.typeof(placed(px, mesh, np.ones((8, 4), np.float32), ("x", "y"))).str_short() == "f32[8@(x,y),4]"
    assert px.typeof(x).sharding.spec == px.P("x", None)
    assert "f32[8@x,4] = sin" in str(px.make_jaxpr(pnp.sin)(x))


def test_the_sharding_of_a_type_is_a_sharding_over_the_axes_of_the_mesh(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    told = px.typeof(x).sharding
    assert isinstance(told, px.NamedSharding)
    assert told == px.NamedSharding(mesh.abstract_mesh, px.P("x", None))
    assert repr(told) == f"NamedSharding(mesh={mesh.abstract_mesh!r}, spec={px.P('x', None)!r})"
    told_inside = []
    px.jit(lambda x: told_inside.append(px.typeof(x).sharding))(x)
    assert told_inside == [told]
    y = np.zeros((8, 4), np.float32)
    with px.set_mesh(mesh):
        for f in (
            lambda: px.reshard(y, told),
            lambda: px.device_put(y, told),
            lambda: px.lax.with_sharding_constraint(x, told),
            lambda: px.jit(lambda y: y + 1, out_shardings=told)(y),
        ):
            assert px.typeof(f()) == px.typeof(x)
        assert px.ShapeDtypeStruct((8, 4), np.float32, sharding=told).sharding is told
    assert px.typeof(y).sharding.mesh.empty
    assert px.device_put(y, px.typeof(y).sharding).shape == (8, 4)


def test_types_tell_nothing_of_axes_that_are_auto(mesh):
    mixed = px.make_mesh(SIZES, NAMES, (AxisType.Explicit, AxisType.Auto))
    x = placed(px, mixed, np.ones((8, 4), np.float32), "x", "y")
    assert px.typeof(x).str_short() == "f32[8@x,4]"
    out = px.jit(lambda x: pnp.sin(x) * 2)(x)
    assert px.typeof(out).str_short() == "f32[8@x,4]"
    np.testing.assert_allclose(out, np.sin(np.ones((8, 4))) * 2, rtol=1e-6)


def test_eager_operations_give_arrays_that_lie_as_their_types_tell(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    y = placed(px, mesh, np.ones((8, 4), np.float32), None, "y")
    out = x + y
    assert px.typeof(out).str_short() == "f32[8@x,4@y]"
    assert out.sharding.spec == px.P("x", "y")
    with pytest.raises(ShardingTypeError, match=r"add: .* f32\[8@x\] and f32\[8@y\].*reshard"):
        placed(px, mesh, np.ones(8, np.float32), "x") + placed(px, mesh, np.ones(8, np.float32), "y")


def test_derivatives_have_the_division_of_what_they_belong_to(mesh):
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=(16, 4)).astype(np.float32), rng.normal(size=(8, 16)).astype(np.float32)

    def loss(w, x):
        return pnp.sum(pnp.tanh(x @ w) ** 2)

    wanted = px.grad(loss)(w, x), px.grad(lambda w: pnp.sum(px.grad(loss)(w, x) ** 2))(w)
    of_w, of_x = placed(px, mesh, w, None, "y"), placed(px, mesh, x, "x")
    for f, want in zip((px.grad(loss), px.grad(lambda w, x: pnp.sum(px.grad(loss)(w, x) ** 2))), wanted, strict=True):
        for run in (f, px.jit(f)):
            out = run(of_w, of_x)
            assert px.typeof(out).str_short() == "f32[16,4@y]"
            np.testing.assert_allclose(out, want, rtol=1e-3, atol=1e-3)


def test_loops_keep_the_division_of_what_they_carry(mesh):
    x = placed(px, mesh, np.ones((8,), np.float32), "x")
    steps = placed(px, mesh, np.ones((3, 8), np.float32), None, "x")

    def f(x, steps):
        return pnp.sum(lax.scan(lambda c, s: (c * s + pnp.sin(c), c), x, steps)[0])

    found = px.jit(px.grad(f, (0, 1)))(x, steps)
    assert [px.typeof(g).str_short() for g in found] == ["f32[8@x]", "f32[3,8@x]"]
    for got, want in zip(found, px.grad(f, (0, 1))(np.ones(8, np.float32), np.ones((3, 8), np.float32)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_primitive_without_a_rule_takes_whole_operands_and_says_so(mesh):
    p = define_primitive("opaque", impl=lambda x: x, abstract_eval=lambda x: x)
    x = placed(px, mesh, np.ones(8, np.float32), "x")
    with pytest.raises(ShardingTypeError, match=r"opaque: there is no sharding rule .* f32\[8@x\];.*auto_axes"):
        px.make_jaxpr(p.bind)(x)
    with px.set_mesh(mesh):
        assert px.make_jaxpr(lambda x: p.bind(reshard(x, px.P())))(x).out_avals[0].str_short() == "f32[8]"


def test_a_rule_of_a_third_party_tells_types(mesh):
    p = define_primitive(
        "outer_product",
        abstract_eval=lambda x, y: core.ShapedArray((*x.shape, *y.shape), x.dtype),
        sharding="i, j -> i j",
    )
    x, y = placed(px, mesh, np.ones(8, np.float32), "x"), placed(px, mesh, np.ones(8, np.float32), "y")
    assert px.make_jaxpr(p.bind)(x, y).out_avals[0].str_short() == "f32[8@x,8@y]"
    with pytest.raises(ShardingTypeError, match=r"got 'x' for two dimensions"):
        px.make_jaxpr(p.bind)(x, x)


def test_reshard_moves_and_differentiates(mesh):
    x = np.arange(8, dtype=np.float32)
    with px.set_mesh(mesh):
        out = reshard({"a": x}, px.P("x"))["a"]
        assert px.typeof(out).str_short() == "f32[8@x]"
        assert out.sharding.spec == px.P("x")
        gradient = px.jit(px.grad(lambda x: pnp.sum(reshard(x, px.P("y")) ** 2)))(out)
        assert px.typeof(gradient).str_short() == "f32[8@x]"
        np.testing.assert_allclose(gradient, 2 * x)
        assert (
            px.typeof(px.vmap(lambda x: reshard(x, px.P("y")))(np.ones((3, 8), np.float32))).str_short() == "f32[3,8@y]"
        )


@pytest.mark.parametrize(
    "spec, error, message",
    [
        (px.P("z"), ValueError, "names the axis 'z'"),
        (px.P(None, None, "x"), ValueError, "needs arrays of at least 3 axes"),
        (px.P(px.P.UNCONSTRAINED), ValueError, "must give the axes that divide each dimension"),
        ("x", TypeError, "must be a PartitionSpec or a NamedSharding, got 'x'"),
        (px.P(None, "y"), ValueError, "axis 1 of .* must be a multiple of 4"),
    ],
)
def test_reshard_refuses_what_does_not_fit(mesh, spec, error, message):
    with px.set_mesh(mesh), pytest.raises(error, match=message):
        reshard(np.ones((8, 3), np.float32), spec)


def test_reshard_wants_explicit_axes():
    with px.set_mesh(px.make_mesh((2,), ("x",))), pytest.raises(ValueError, match="only along axes of type Explicit"):
        reshard(np.ones(8, np.float32), px.P("x"))
    with pytest.raises(ValueError, match="no mesh is in scope"):
        reshard(np.ones(8, np.float32), px.P("x"))


def test_specifications_without_axes_need_no_explicit_axes():
    x = np.ones(8, np.float32)
    auto = px.make_mesh((2,), ("x",))
    for sharding in (px.P(), px.P(None), px.NamedSharding(auto, px.P())):
        with px.set_mesh(auto):
            assert px.typeof(px.jit(lambda x, s=sharding: reshard(x, s))(x)).str_short() == "f32[8]"
            np.testing.assert_array_equal(reshard(x, sharding), x)


def test_xla_decides_inside_of_auto_axes(mesh):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(8, 16)).astype(np.float32), rng.normal(size=(16, 4)).astype(np.float32)
    seen = []

    @auto_axes(out_sharding=px.P("x", "y"))
    def multiply(x, y):
        seen.append((px.typeof(x).str_short(), px.sharding.get_abstract_mesh().auto_axes))
        return x @ y

    with px.set_mesh(mesh):
        a, b = reshard(x, px.P(None, "x")), reshard(y, px.P("x"))
        out = px.jit(multiply)(a, b)
        gradient = px.jit(px.grad(lambda a, b: pnp.sum(multiply(a, b) ** 2)))(a, b)
    assert seen[0] == ("f32[8,16]", ("x", "y"))
    assert px.typeof(out).str_short() == "f32[8@x,4@y]"
    assert px.typeof(gradient).str_short() == "f32[8,16@x]"
    np.testing.assert_allclose(out, x @ y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(gradient, 2 * x @ y @ y.T, rtol=1e-3, atol=1e-3)


def test_some_axes_may_be_left_to_xla(mesh):
    with px.set_mesh(mesh):
        x = reshard(np.ones((8, 4), np.float32), px.P("x", "y"))
        f = auto_axes(lambda x: pnp.cumsum(x, 0), axes="x", out_sharding=px.P("x", "y"))
        out = px.jit(f)(x)
    assert px.typeof(out).str_short() == "f32[8@x,4@y]"
    np.testing.assert_allclose(out, np.cumsum(np.ones((8, 4)), 0))


def test_types_tell_inside_of_explicit_axes():
    mesh = px.make_mesh((2, 4), ("x", "y"))
    seen = []

    def f(x):
        seen.append(px.typeof(x).str_short())
        return pnp.sin(x)

    with px.set_mesh(mesh):
        out = px.jit(explicit_axes(f, axes="y", in_sharding=px.P(None, "y")))(np.ones((8, 4), np.float32))
    assert seen[0] == "f32[8,4@y]"
    assert px.typeof(out).str_short() == "f32[8,4]"
    np.testing.assert_allclose(out, np.sin(np.ones((8, 4))), rtol=1e-6)


def test_each_call_may_tell_how_results_are_divided(mesh):
    @auto_axes
    def turned(x, *, scale, along=0):
        return pnp.flip(x, along) * scale

    values = np.arange(32, dtype=np.float32).reshape(8, 4)
    with px.set_mesh(mesh):
        x = reshard(values, px.P("x"))
        for spec, shown in ((px.P("x"), "f32[8@x,4]"), (px.P(None, "y"), "f32[8,4@y]")):
            out = px.jit(lambda x, spec=spec: turned(x, scale=2.0, out_sharding=spec))(x)
            assert px.typeof(out).str_short() == shown
            np.testing.assert_array_equal(out, 2 * values[::-1])


def test_what_was_told_first_is_no_argument_of_calls(mesh):
    with px.set_mesh(mesh):
        seen = auto_axes(lambda x, out_sharding: (x, x)[out_sharding == "own"], out_sharding=px.P("x"))
        assert px.typeof(seen(np.ones(8, np.float32), out_sharding="own")).str_short() == "f32[8@x]"


def test_each_call_may_tell_how_arguments_are_divided():
    mesh = px.make_mesh((2, 4), ("x", "y"))
    seen = []

    @explicit_axes
    def f(x, y, *, power):
        seen.append([px.typeof(z).str_short() for z in (x, y)])
        return x**power + y

    with px.set_mesh(mesh):
        out = f(
            np.full((8, 4), 3, np.float32), np.ones(4, np.float32), power=2, in_sharding=(px.P("x", "y"), px.P("y"))
        )
    assert seen == [["f32[8@x,4@y]", "f32[4@y]"]]
    np.testing.assert_array_equal(out, np.full((8, 4), 10))


def test_a_part_of_a_program_may_arrange_the_devices_otherwise(mesh):
    """Types tell of the axes of another mesh of the same devices, in the same order."""
    count = mesh.size
    line = AbstractMesh((count,), ("all",), (AxisType.Explicit,))
    values = np.arange(4.0 * count, dtype=np.float32).reshape(2 * count, 2)

    @px.jit
    def f(x):
        with px.sharding.use_abstract_mesh(line):
            y = reshard(x, px.P("all"))
            return y - 1, pnp.sum(y, 0)

    with px.set_mesh(mesh):
        out, total = f(reshard(values, px.P("x")))
    assert px.typeof(out).str_short() == f"f32[{2 * count}@all,2]"
    assert px.typeof(total).str_short() == "f32[2]"
    assert out.sharding.mesh.device_list == mesh.device_list
    assert [shard.index[0].start for shard in out.addressable_shards] == list(range(0, 2 * count, 2))
    np.testing.assert_array_equal(out, values - 1)
    np.testing.assert_allclose(total, values.sum(0))
    with px.set_mesh(mesh), pytest.raises(ValueError, match=f"mesh must have {count} devices"):
        px.sharding.use_abstract_mesh(AbstractMesh((count + 1,), ("all",)))


def test_what_decides_on_axes_wants_axes_of_the_other_type(mesh):
    with pytest.raises(TypeError, match="out_sharding must be given, at the call or to auto_axes"):
        auto_axes(lambda x: x)(1.0)
    with pytest.raises(TypeError, match="in_sharding must be given, at the call or to explicit_axes"):
        explicit_axes(lambda x: x)(1.0)
    with pytest.raises(ValueError, match="a mesh must be in scope"):
        auto_axes(lambda x: x, out_sharding=px.P())(1.0)
    with px.set_mesh(mesh), pytest.raises(ValueError, match="axes of type Auto"):
        explicit_axes(lambda x: x, in_sharding=px.P())(1.0)


def test_a_constraint_agrees_with_types(mesh):
    x = placed(px, mesh, np.ones(8, np.float32), "x")
    same = px.jit(lambda x: lax.with_sharding_constraint(x, px.NamedSharding(mesh, px.P("x"))))(x)
    assert px.typeof(same).str_short() == "f32[8@x]"
    with pytest.raises(ShardingTypeError, match="with_sharding_constraint: x of type"):
        px.jit(lambda x: lax.with_sharding_constraint(x, px.NamedSharding(mesh, px.P("y"))))(x)


def test_results_of_jit_lie_as_it_is_told(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    out = px.jit(lambda x: x * 2, out_shardings=px.NamedSharding(mesh, px.P(None, "y")))(x)
    assert px.typeof(out).str_short() == "f32[8,4@y]"


def test_what_is_mapped_stays_divided(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    w = placed(px, mesh, np.ones((4, 16), np.float32), None, "y")
    with px.set_mesh(mesh):
        products = px.vmap(lambda row: row @ w)(x)
        joined = px.vmap(lambda row, v: pnp.concatenate([row, v]), (0, None))(x, np.ones(4, np.float32))
        gradients = px.jit(px.vmap(px.grad(lambda row: pnp.sum(pnp.tanh(row @ w)))))(x)
    shown = [px.typeof(y).str_short() for y in (products, joined, gradients)]
    assert shown == ["f32[8@x,16@y]", "f32[8@x,8]", "f32[8@x,4]"]
    np.testing.assert_allclose(gradients, np.full((8, 4), 16 / np.cosh(4.0) ** 2), rtol=1e-3)


def test_custom_rules_and_checkpoints_keep_divisions(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")

    @px.custom_vjp
    def twice(x):
        return 2 * x

    twice.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))
    for f in (twice, px.checkpoint(pnp.sin), lambda x: lax.cond(pnp.sum(x) > 0, pnp.sin, pnp.cos, x)):
        gradient = px.jit(px.grad(lambda x, f=f: pnp.sum(f(x))))(x)
        assert px.typeof(gradient).str_short() == "f32[8@x,4]"


def test_shard_map_takes_what_is_divided_as_it_says(mesh):
    x = placed(px, mesh, np.arange(32, dtype=np.float32).reshape(8, 4), "x")
    f = px.shard_map(lambda x: lax.psum(x * x, "x"), mesh=mesh, in_specs=px.P("x"), out_specs=px.P())
    g = px.shard_map(lambda x: x * 2, mesh=mesh, in_specs=px.P("x"), out_specs=px.P("x"))
    assert px.typeof(px.jit(f)(x)).str_short() == "f32[4,4]"
    for run in (g, px.jit(g)):
        assert px.typeof(run(x)).str_short() == "f32[8@x,4]"
    gradient = px.jit(px.grad(lambda x: pnp.sum(f(x))))(x)
    assert px.typeof(gradient).str_short() == "f32[8@x,4]"
    np.testing.assert_allclose(gradient, 2 * np.arange(32).reshape(8, 4))
    wrong = px.shard_map(lambda x: x, mesh=mesh, in_specs=px.P(None, "y"), out_specs=px.P(None, "y"))
    with pytest.raises(ValueError, match=r"in_specs of argument 0 is P\(None, 'y'\).*f32\[8@x,4\].*reshard"):
        wrong(x)


def test_structs_hold_what_types_tell(mesh):
    with px.set_mesh(mesh):
        x = px.ShapeDtypeStruct((8, 4), np.float32, sharding=px.NamedSharding(mesh, px.P("x")))
        assert px.eval_shape(lambda x: pnp.sin(x).T, x).sharding.spec == px.P(None, "x")
        assert px.jit(pnp.sin).lower(x).compile().output_shardings.spec == px.P("x", None)


def test_keys_are_divided_as_other_arrays(mesh):
    keys = px.random.split(px.random.key(0), 8)
    with px.set_mesh(mesh):
        divided = reshard(keys, px.P("x"))
        assert px.typeof(divided).str_short() == "key<fry>[8@x]"
        numbers = px.jit(px.vmap(lambda key: px.random.normal(key, (4,))))(divided)
    np.testing.assert_array_equal(numbers, px.vmap(lambda key: px.random.normal(key, (4,)))(keys))


def test_programs_without_a_mesh_hold_nothing_of_it():
    aval = px.typeof(np.ones((8, 4), np.float32))
    assert aval.placement is None
    assert tuple(aval.sharding.spec) == (None, None)


PLACES = ("lax", "nn", "numpy", "numpy.fft", "numpy.linalg", "random")


@pytest.mark.parametrize("place", PLACES)
def test_functions_take_out_sharding_where_those_of_jax_do(place, jax):
    ours, theirs = (functools.reduce(getattr, place.split("."), module) for module in (px, jax))
    for name in set(dir(ours)).intersection(dir(theirs)):
        if takes(getattr(theirs, name), "out_sharding"):
            assert takes(getattr(ours, name), "out_sharding"), name


def takes(function, name):
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


DRAWN = {
    "ball": lambda draw, x, **more: draw(3, 2, (8,), **more),
    "categorical": lambda draw, x, **more: draw(pnp.zeros((8, 3)), **more),
    "exponential": lambda draw, x, **more: draw((8,), **more),
    "gamma": lambda draw, x, **more: draw(x, **more),
    "multivariate_normal": lambda draw, x, **more: draw(pnp.zeros((8, 2)), pnp.eye(2), **more),
    "permutation": lambda draw, x, **more: draw(x, **more),
    "poisson": lambda draw, x, **more: draw(x, **more),
    "randint": lambda draw, x, **more: draw((8,), 0, 100, **more),
    "truncated_normal": lambda draw, x, **more: draw(-x, x, **more),
}


@pytest.mark.parametrize("name", DRAWN)
def test_random_numbers_are_the_same_however_out_sharding_divides_them(name, mesh):
    draw = functools.partial(getattr(px.random, name), px.random.key(0))
    wanted = DRAWN[name](draw, pnp.arange(8.0) + 1)
    with px.set_mesh(mesh):
        x = placed(px, mesh, np.arange(8, dtype=pnp.ones(0).dtype) + 1, "x")
        found = DRAWN[name](draw, x, out_sharding=px.P(("x", "y")))
    assert px.typeof(found).sharding.spec[0] == ("x", "y")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


ALL_OUT = {
    "array": lambda x, **more: pnp.array([1.0, 2.0], **more),
    "asarray": lambda x, **more: pnp.asarray(np.ones(8), **more),
    "bincount": lambda x, **more: pnp.bincount(x.astype(int), length=8, **more),
    "empty": lambda x, **more: lax.empty((8,), "float32", **more),
    "initializer": lambda x, **more: px.nn.initializers.ones(px.random.key(0), (8,), **more),
    "one_hot": lambda x, **more: px.nn.one_hot(x, 3, **more),
    "percentile": lambda x, **more: pnp.percentile(x[:, None], 50.0, axis=1, **more),
    "ragged_dot": lambda x, **more: lax.ragged_dot(x[:, None], pnp.ones((2, 1, 3)), pnp.array([4, 4]), **more),
    "reduce": lambda x, **more: lax.reduce(x[:, None], 0.0, lax.add, (1,), **more),
    "reduce_max": lambda x, **more: lax.reduce_max(x[:, None], (1,), **more),
    "reduce_sum": lambda x, **more: lax.reduce_sum(x[:, None], (1,), **more),
    "rng_bit_generator": lambda x, **more: lax.rng_bit_generator(pnp.ones(4, "uint32"), (8,), **more)[1],
    "tensordot": lambda x, **more: pnp.linalg.tensordot(x, x, axes=0, **more),
}


@pytest.mark.parametrize("name", ALL_OUT)
def test_out_sharding_says_how_results_are_divided(name, mesh):
    with px.set_mesh(mesh):
        x = placed(px, mesh, np.arange(8, dtype=pnp.ones(0).dtype), "y")
        found = ALL_OUT[name](x, out_sharding=px.P("x"))
        assert px.typeof(found).sharding.spec[0] == "x"
        np.testing.assert_allclose(found, ALL_OUT[name](pnp.arange(8.0)), rtol=1e-6)
        with pytest.raises(ValueError, match=r"out_sharding: spec names the axis 'z'"):
            ALL_OUT[name](x, out_sharding=px.P("z"))


def test_full_lies_as_its_sharding_says(mesh):
    divided = px.NamedSharding(mesh, px.P("x"))
    assert lax.full((8,), 1.0, sharding=divided).sharding == divided
    one = px.sharding.SingleDeviceSharding(px.devices()[1])
    assert lax.full_like(pnp.ones(3), 2.0, sharding=one).sharding == one
    with pytest.raises(TypeError, match="full: sharding must be a sharding or None, got 'x'"):
        lax.full((8,), 1.0, sharding="x")


def test_auto_axes_takes_the_mesh_of_out_sharding(mesh):
    divided = px.NamedSharding(mesh, px.P("x"))
    x = placed(px, mesh, np.ones((4, 2), np.float32), "x")
    f = auto_axes(pnp.sin, out_sharding=divided)
    for found in (f(x), px.jit(f)(x)):
        assert px.typeof(found) == px.typeof(x)
        np.testing.assert_allclose(found, np.sin(np.ones((4, 2))), rtol=1e-5)
    with pytest.raises(ValueError, match="auto_axes: a mesh must be in scope, or given by out_sharding"):
        auto_axes(pnp.sin, out_sharding=px.P("x"))(x)
    other = px.NamedSharding(px.make_mesh((8,), ("x",), AxisType.Explicit), px.P("x"))
    with pytest.raises(ValueError, match="auto_axes: out_sharding must be over the same mesh"):
        auto_axes(lambda x: (x, x), out_sharding=(divided, other))(x)


def test_explicit_axes_takes_the_mesh_of_in_sharding():
    auto = px.make_mesh((8,), ("x",))
    x = placed(px, auto, np.ones((8, 2), np.float32), "x")
    seen = []

    def f(x):
        seen.append(px.typeof(x).str_short())
        return x * 2

    f = explicit_axes(f, in_sharding=px.NamedSharding(auto, px.P("x")))
    for found in (f(x), px.jit(f)(x)):
        np.testing.assert_array_equal(found, np.full((8, 2), 2.0))
    assert seen == ["f32[8@x,2]"] * 2


MAPPED = {
    "cond": lambda r: lax.cond(pnp.sum(r) > 0, pnp.sin, pnp.cos, r),
    "custom": lambda r: px.nn.softmax(r),
    "fori": lambda r: lax.fori_loop(0, 3, lambda i, c: c + r, pnp.zeros(4, r.dtype)),
    "grad": px.grad(px.jit(lambda r: pnp.sum(pnp.sin(r)))),
    "jit": px.jit(pnp.sin),
    "remat": px.checkpoint(pnp.sin),
    "scan": lambda r: lax.scan(lambda c, x: (c + x, c * x), 0.0, r)[1],
    "while": lambda r: lax.while_loop(lambda c: pnp.sum(c) < 10, lambda c: c * 2 + 1, abs(r)),
}


@pytest.mark.parametrize("name", MAPPED)
def test_vmap_keeps_the_division_of_the_mapped_axis_in_programs_that_are_held(name, mesh):
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    f = px.vmap(MAPPED[name])
    with px.set_mesh(mesh):
        found = f(placed(px, mesh, x, "x"))
    assert px.typeof(found).sharding.spec == px.P("x", None)
    np.testing.assert_allclose(found, f(x), rtol=1e-5, atol=1e-5)


def test_vmap_refuses_mapped_axes_that_are_not_divided_alike(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    with pytest.raises(ShardingTypeError, match="vmap: all mapped axes must be divided along the same mesh axes"):
        px.vmap(lambda a, b: a + b)(x, pnp.ones((8, 4)))


def test_scan_refuses_arrays_that_are_divided_along_its_steps(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    with pytest.raises(ShardingTypeError, match=r"(scan|map): xs must not be divided along axis 0"):
        lax.map(pnp.sin, x)


STACKS = {
    "eig": lambda x: pnp.linalg.eig(x)[0],
    "eigvals": pnp.linalg.eigvals,
    "hessenberg": lambda x: lax.linalg.hessenberg(x)[0],
    "lu": lambda x: lax.linalg.lu(x)[0],
    "pinv": pnp.linalg.pinv,
    "schur": lambda x: lax.linalg.schur(x)[0],
    "solve": lambda x: pnp.linalg.solve(x, x + 1),
    "symmetric_product": lambda x: lax.linalg.symmetric_product(x, x),
    "tridiagonal": lambda x: lax.linalg.tridiagonal(x)[1],
}


@pytest.mark.parametrize("name", STACKS)
def test_stacks_of_matrices_stay_divided(name, mesh):
    x = np.random.default_rng(0).normal(size=(4, 3, 3)).astype(np.float32) + 4 * np.eye(3, dtype=np.float32)
    found = px.jit(STACKS[name])(placed(px, mesh, x, "y"))
    assert px.typeof(found).sharding.spec[0] == "y"
    np.testing.assert_allclose(found, STACKS[name](x), rtol=1e-3, atol=1e-3)
    with pytest.raises(ShardingTypeError, match="must not be divided"):
        STACKS[name](placed(px, mesh, np.ones((4, 8, 8), np.float32), None, "x"))


def test_callbacks_return_whole_arrays_and_get_them(mesh):
    x = placed(px, mesh, np.arange(8, dtype=np.float32), "x")
    shapes = []

    def double(x):
        shapes.append(x.shape)
        return np.asarray(x) * 2

    found = px.jit(lambda x: px.pure_callback(double, px.ShapeDtypeStruct((8,), np.float32), x))(x)
    assert px.typeof(found).str_short() == "f32[8]"
    np.testing.assert_array_equal(found, np.arange(8) * 2)
    assert set(shapes) == {(8,)}


def test_lowerings_that_are_loops_take_what_is_divided(mesh):
    x = np.linspace(0.5, 3.0, 8, dtype=np.float32)
    found = px.jit(lambda x: lax.igamma(x, x))(placed(px, mesh, x, "x"))
    assert px.typeof(found).sharding.spec == px.P("x")
    np.testing.assert_allclose(found, lax.igamma(x, x), rtol=1e-4)


def test_keys_and_what_is_drawn_of_each_are_divided(mesh):
    words = np.arange(16, dtype=np.uint32).reshape(8, 2)

    def draw(words):
        return px.vmap(lambda key: px.random.normal(key, (3,)))(px.random.wrap_key_data(words))

    found = draw(placed(px, mesh, words, "x"))
    assert px.typeof(found).sharding.spec == px.P("x", None)
    np.testing.assert_allclose(found, draw(words), rtol=1e-5, atol=1e-5)


def test_an_element_that_a_function_is_applied_to_leaves_the_rest_divided(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    found = x.at[:, 0].apply(pnp.sin)
    assert px.typeof(found) == px.typeof(x)


def test_collectives_keep_explicit_axes_that_they_do_not_work_along():
    mesh = px.make_mesh((2, 4), ("i", "x"), (AxisType.Auto, AxisType.Explicit))
    x = placed(px, mesh, np.ones((4, 8), np.float32), None, "x")
    seen = []

    def f(x):
        outs = [lax.psum(x, "i"), lax.all_gather(x, "i"), lax.ppermute(x, "i", [(0, 1)]), lax.psum_scatter(x, "i")]
        seen.extend(px.typeof(out).str_short() for out in outs)
        return outs[0]

    px.shard_map(f, mesh=mesh, in_specs=px.P("i"), out_specs=px.P(), axis_names={"i"})(x)
    assert seen == ["f32[2,8@x]", "f32[2,2,8@x]{V:i}", "f32[2,8@x]{V:i}", "f32[8@x]{V:i}"]


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_shard_map_along_one_axis_leaves_explicit_ones_to_types(kind):
    mesh = px.make_mesh((2, 4), ("i", "x"), (kind, AxisType.Explicit))
    value = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    x = placed(px, mesh, value, "i", "x")
    seen = []

    def f(x):
        seen.append(px.typeof(x).str_short())
        y, _ = lax.scan(lambda c, _: (pnp.sin(c) * 2, None), x, None, length=2)
        return lax.psum(px.checkpoint(lambda y: y**3)(y), "i")

    g = px.shard_map(f, mesh=mesh, in_specs=px.P("i"), out_specs=px.P(), axis_names={"i"})
    out = px.jit(g)(x)
    assert seen[0] == "f32[2,8@x]{V:i}"
    assert px.typeof(out).str_short() == "f32[2,8@x]"

    def plain(x):
        return sum(f_of_part for f_of_part in (2 * pnp.sin(2 * pnp.sin(x))).reshape(2, 2, 8) ** 3)

    np.testing.assert_allclose(out, plain(value), rtol=1e-4, atol=1e-4)
    for order in (1, 2):
        ours, wanted = (lambda x: pnp.sum(g(x) ** 2)), (lambda x: pnp.sum(plain(x) ** 2))
        for _ in range(order):
            ours, wanted = (
                (lambda h: lambda x: pnp.sum(px.grad(h)(x) ** 2))(ours),
                (lambda h: lambda x: pnp.sum(px.grad(h)(x) ** 2))(wanted),
            )
        np.testing.assert_allclose(px.jit(ours)(x), wanted(value), rtol=1e-3)
    assert px.typeof(px.grad(lambda x: pnp.sum(g(x)))(x)) == px.typeof(x)


def test_shard_map_refuses_explicit_arrays_that_are_divided_otherwise_along_its_axes(mesh):
    x = placed(px, mesh, np.ones((8, 4), np.float32), "x")
    f = px.shard_map(lambda x: x, mesh=mesh, in_specs=px.P(), out_specs=px.P(), axis_names={"x"})
    with pytest.raises(ValueError, match=r"in_specs of argument 0 is P\(\), .* is divided in another way"):
        f(x)


def test_results_that_do_not_depend_on_a_mapped_axis_are_divided_along_it(mesh):
    with px.set_mesh(mesh):
        x = reshard(np.ones((8, 4), np.float32), px.P(NAMES[0]))
        out = px.vmap(lambda row: pnp.ones(3))(x)
        assert tuple(px.typeof(out).sharding.spec) == (NAMES[0], None)
        np.testing.assert_array_equal(np.asarray(out), np.ones((8, 3), np.float32))


def test_indices_that_are_divided_are_left_to_xla_where_the_result_is_told(mesh):
    with px.set_mesh(mesh):
        x = reshard(np.arange(32, dtype=np.float32).reshape(8, 4), px.P(None, NAMES[1]))
        index = reshard(np.arange(8, dtype=np.int32)[::-1], px.P(NAMES[0]))
        out = px.jit(lambda x, i: x.at[i, :].get(out_sharding=px.P(*NAMES)))(x, index)
        assert tuple(px.typeof(out).sharding.spec) == NAMES
        np.testing.assert_array_equal(np.asarray(out), np.asarray(x)[::-1])


def test_a_derived_type_is_divided_as_the_sharding_rule_says_and_not_the_impl(mesh):
    product = define_primitive(
        "product_of_test",
        impl=lambda a, b: (a.reshape(2, 4, 4) @ b).reshape(8, 4),
        abstract_eval=derive.from_impl,
        lowering=derive.from_impl,
        sharding="i k:sum, k j -> i j",
    )
    first, second = NAMES
    with px.set_mesh(mesh):
        x, y = np.ones((8, 4), np.float32), np.ones((4, 4), np.float32)
        out = px.eval_shape(product.bind, reshard(x, px.P(first)), reshard(y, px.P(None, second)))
        assert tuple(out.sharding.spec) == (first, second)
        with pytest.raises(ShardingTypeError, match=r"product_of_test: .* contracted"):
            px.eval_shape(product.bind, reshard(x, px.P(None, second)), reshard(y, px.P(second)))


def test_updates_have_the_sharding_that_is_asked_for(mesh):
    values = np.arange(32, dtype=np.float32).reshape(4, 8)
    whole, rows = px.P(), px.P(NAMES[0])
    with px.set_mesh(mesh):
        x = reshard(pnp.asarray(values), px.P(*NAMES))
        updates = {
            "set": lambda x, o: x.at[0, 2:4].set(1.0, out_sharding=o),
            "add": lambda x, o: x.at[pnp.array([0, 2])].add(x[:2], out_sharding=o),
            "divide": lambda x, o: x.at[1].divide(2.0, out_sharding=o),
            "power": lambda x, o: x.at[1].power(2.0, out_sharding=o),
            "apply": lambda x, o: x.at[0, 1].apply(pnp.sin, out_sharding=o),
        }
        for update in updates.values():
            for spec in (whole, rows, px.P(*NAMES)):
                for out in (update(x, spec), px.jit(update, static_argnums=1)(x, spec)):
                    assert out.sharding.is_equivalent_to(px.NamedSharding(mesh, spec), 2)
                    np.testing.assert_allclose(out, update(pnp.asarray(values), None), rtol=1e-6)


def test_meshes_with_axes_of_both_kinds_keep_what_types_tell():
    """XLA divides results along `Auto` axes only, also where types leave the division to it."""
    mesh = px.make_mesh((2, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    a, b = np.arange(32, dtype=np.float32).reshape(8, 4), np.ones((4, 8), np.float32)
    with px.set_mesh(mesh):
        x, y = px.device_put(a, px.P("x", "y")), px.device_put(b, px.P("y"))
        gradients = px.grad(lambda x, y: ((x @ y) ** 2).sum(), (0, 1))
        for found in (gradients(x, y), px.jit(gradients)(x, y)):
            for got, expected in zip(found, gradients(a, b), strict=True):
                np.testing.assert_allclose(got, expected)
        assert px.typeof(found[0]).str_short() == "f32[8@x,4]"
        squares = functools.partial(pnp.einsum, "xy,xz->yz", out_sharding=px.P())
        for out in (squares(x, x), px.jit(squares)(x, x)):
            assert px.typeof(out).str_short() == "f32[4,4]"
            np.testing.assert_array_equal(out, a.T @ a)


def test_functions_with_some_axes_left_to_xla_run_outside_of_programs():
    mesh = px.make_mesh((2, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    a = np.arange(32, dtype=np.float32).reshape(8, 4)
    with px.set_mesh(mesh):
        f = auto_axes(lambda y: pnp.matmul(y, y.T, out_sharding=px.P()), axes="x", out_sharding=px.P("x"))
        out = f(px.device_put(a, px.P("x", "y")))
        assert px.typeof(out).str_short() == "f32[8@x,8]"
        np.testing.assert_array_equal(out, a @ a.T)
