"""Primitives and functions of primax in the real jax, with jax and primax itself as judges."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from checkout import ROOT

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend import core, define_primitive, derive, to_jax
from primax.extend.core.primitives import cond_p
from primax.extend.interpreters import mlir
from primax.interpreters.runtime.sharding.spmd import all_divided

jax = pytest.importorskip("jax")
jnp = jax.numpy

M = np.linspace(-3, 3, 7, dtype=np.float32)
E = np.linspace(0.1, 0.9, 7, dtype=np.float32)
X = np.array([0.5, 1.2, 0.7], np.float32)
KEPLER = str(ROOT / "examples" / "primax-kepler" / "src")


@pytest.fixture(scope="module")
def package():
    """The package of the examples, active as long as the tests of this module run."""
    sys.path.insert(0, KEPLER)
    try:
        module = importlib.import_module("primax_kepler")
        px.plugins.register(module.equation, name="kepler in a test")
        yield module
        px.plugins.unregister("kepler in a test")
    finally:
        sys.path.remove(KEPLER)
        for name in [name for name in sys.modules if name.startswith("primax_kepler")]:
            del sys.modules[name]


def same(ours, theirs, rtol=1e-5, atol=1e-6):
    """Results of jax agree with those of primax in structure, values and dtypes."""
    ours, theirs = px.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(b, a, rtol=rtol, atol=atol)
        assert a.dtype == b.dtype


@pytest.mark.parametrize("x64", [False, True])
def test_the_kepler_package_runs_under_transformations_of_jax(package, x64):
    kepler = package.kepler
    solve = to_jax(kepler)
    dtype = np.float64 if x64 else np.float32
    Ms, es = M.astype(dtype), E.astype(dtype)
    with px.enable_x64(x64), jax.enable_x64(x64):
        same(kepler(Ms, es), solve(Ms, es))
        same(kepler(1.0, 0.5), jax.jit(solve)(1.0, 0.5))
        same(px.grad(kepler, (0, 1))(1.0, 0.5), jax.grad(solve, (0, 1))(1.0, 0.5))
        same(px.vmap(px.grad(kepler))(Ms, es), jax.jit(jax.vmap(jax.grad(solve)))(Ms, es))
        same(px.vmap(kepler, (None, 0))(0.3, es), jax.vmap(solve, (None, 0))(0.3, es))
        same(px.hessian(kepler, (0, 1))(1.0, 0.5), jax.hessian(solve, (0, 1))(1.0, 0.5))
        same(px.jacfwd(kepler)(Ms, es), jax.jacfwd(solve)(Ms, es))
        total = to_jax(lambda m, e: pnp.sum(kepler(m, e)))
        same(px.grad(lambda m: pnp.sum(kepler(m, es)))(Ms), jax.grad(jax.checkpoint(total))(Ms, es))
        same(px.jvp(kepler, (Ms, es), (es, Ms)), jax.jvp(solve, (Ms, es), (es, Ms)))


def test_orbits_are_functions_of_pytrees_in_jax(package):
    orbit = package.Orbit(17.93, 0.967, 2.83, 1.03, 1.95, 0.2)
    position = to_jax(package.orbit_position)
    assert position.__name__ == "orbit_position"
    same(package.orbit_position(100.0, orbit), position(100.0, orbit), rtol=1e-4)
    velocity = jax.jit(jax.jacfwd(position, argnums=1))(100.0, orbit)
    assert type(velocity) is package.Orbit
    same(px.jacfwd(package.orbit_position, argnums=1)(100.0, orbit), velocity, rtol=1e-3, atol=1e-3)


def test_a_primitive_keeps_its_name_its_parameters_and_its_identity(package):
    theirs = to_jax(package.kepler_p)
    assert isinstance(theirs, jax.extend.core.Primitive)
    assert theirs.name == "kepler"
    assert to_jax(package.kepler_p) is theirs
    jaxpr = jax.make_jaxpr(theirs.bind)(M, E)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [theirs]
    assert jaxpr.out_avals[0].shape == (7,)
    rounded = to_jax(core.primitives.round_p)
    (eqn,) = jax.make_jaxpr(lambda x: rounded.bind(x, rounding_method=lax.RoundingMethod.TO_NEAREST_EVEN))(X).eqns
    assert eqn.params == {"rounding_method": lax.RoundingMethod.TO_NEAREST_EVEN}


def test_gradients_hold_primitives_of_primax_equation_by_equation(package):
    jaxpr = jax.make_jaxpr(jax.grad(to_jax(package.kepler)))(1.0, 0.5)
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names.count("kepler") == 1
    assert {"sin", "div"} <= set(names)


def test_results_without_tangents_have_none_in_jax():
    split = define_primitive(
        "split_sign",
        multiple_results=True,
        impl=lambda x: [pnp.abs(x), (x > 0).astype("int32")],
        abstract_eval=derive.from_impl,
        jvp=derive.from_impl,
        batch=derive.from_impl,
        lowering=derive.from_impl,
    )
    theirs = to_jax(split)
    values, tangents = jax.jvp(theirs.bind, (X,), (X,))
    same(split.bind(X), values)
    assert tangents[1].dtype == jax.dtypes.float0
    same(np.sign(X), jax.grad(lambda x: theirs.bind(x)[0].sum())(X))
    same(split.bind(X), jax.vmap(theirs.bind)(X))


def test_a_linear_primitive_is_transposed_by_jax():
    triple = define_primitive(
        "triple_it", impl=lambda x: 3 * x, abstract_eval=derive.from_impl, linear=(0,), lowering=derive.from_impl
    )
    (ct,) = jax.linear_transpose(to_jax(triple).bind, X)(X)
    same(3 * X, ct)


custom_jvp = px.custom_jvp(lambda x: x * 2)
custom_jvp.defjvp(lambda primals, tangents: (custom_jvp(primals[0]), tangents[0] * 3 * primals[0]))
custom_vjp = px.custom_vjp(lambda x, n: x * 2 * n)
custom_vjp.defvjp(lambda x, n: (x * 2 * n, (x, n)), lambda kept, ct: (ct * 5 * kept[0], None))

FUNCTIONS = {
    "cond": lambda x: lax.cond(x.sum() > 0, pnp.sin, lambda y: -y, x),
    "scan": lambda x: lax.scan(lambda c, y: (c * pnp.sin(y), c), 1.0, x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, x),
    "custom_jvp": custom_jvp,
    "custom_vjp": lambda x: custom_vjp(x, 3),
    "checkpoint": px.checkpoint(lambda x: pnp.sin(pnp.cos(x))),
    "reduce": lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b, (0,)),
    "inverse": lambda x: pnp.linalg.inv(pnp.outer(x, x) + pnp.eye(3)),
    "pytree": lambda x: {"a": px.nn.softmax(x), "b": (pnp.asarray(x).at[1].add(x[0] ** 2),)},
}


def total(numpy, tree, f):
    return lambda x: sum(numpy.sum(numpy.sin(leaf)) for leaf in tree.leaves(f(x)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_with_programs_are_translated(name):
    ours = FUNCTIONS[name]
    theirs = to_jax(ours)
    ours_total, theirs_total = total(pnp, px.tree, ours), total(jnp, jax.tree, theirs)
    rows = np.stack([X, X / 2])
    same(px.vmap(px.grad(ours_total))(rows), jax.jit(jax.vmap(jax.grad(theirs_total)))(rows))
    if name.startswith("custom"):
        second = jax.jit(jax.jacrev(jax.grad(theirs_total)))(X)
        same(px.jacrev(px.grad(ours_total))(X), second, rtol=1e-4, atol=1e-5)


def test_loops_of_unknown_length_and_callbacks_are_translated():
    doubled = to_jax(lambda x: lax.while_loop(lambda y: pnp.all(y < 3), lambda y: y * 2, x))
    same(X * 4, jax.jit(doubled)(X))
    shape = px.ShapeDtypeStruct((3,), "float32")
    sine = to_jax(lambda x: px.pure_callback(lambda y: np.sin(y), shape, x))
    same(np.sin(X), jax.jit(sine)(X))


def test_lowerings_of_platforms_are_chosen_by_jax():
    two = define_primitive(
        "one_or_other",
        abstract_eval=lambda x: x,
        lowering={"cuda": lambda ctx, x: [mlir.hlo.negate(x)], None: lambda ctx, x: [mlir.hlo.add(x, x)]},
    )
    theirs = to_jax(two)
    same(2 * X, jax.jit(theirs.bind)(X))
    text = jax.jit(theirs.bind).trace(X).lower(lowering_platforms=("cuda",)).as_text()
    assert "stablehlo.negate" in text
    assert "stablehlo.add" not in text


def test_a_primitive_without_lowering_is_evaluated_by_primax():
    host = define_primitive("on_the_host", impl=lambda x: np.asarray(x) + 1, abstract_eval=lambda x: x)
    same(X + 1, to_jax(host).bind(X))
    with pytest.raises(NotImplementedError, match="no lowering rule for primitive 'on_the_host'"):
        jax.jit(to_jax(host).bind)(X)


def test_values_in_shard_map_of_jax_vary_as_their_operands():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    spec = jax.sharding.PartitionSpec("i")
    scaled = to_jax(lambda x, y: pnp.sin(x) * y)
    spread = jax.shard_map(scaled, mesh=mesh, in_specs=(spec, jax.sharding.PartitionSpec()), out_specs=spec)
    same(np.cos(X) * 2, jax.jit(jax.grad(lambda x: spread(x, 2.0).sum()))(X))


def test_refusals_name_what_jax_cannot_have_and_the_remedy():
    with pytest.raises(TypeError, match="to_jax: what must be a primitive or a function of primax, got 3"):
        to_jax(3)
    with pytest.raises(NotImplementedError, match=r"to_jax: values must be arrays of numbers, got key<fry>\[\]"):
        to_jax(lambda k: k)(jax.random.key(0))
    with pytest.raises(NotImplementedError, match=r"random_seed must return arrays of numbers, got .*pass the data of"):
        to_jax(lambda seed: px.random.key(seed))(3)
    with pytest.raises(
        NotImplementedError, match=r"check must have no effects.*apply primax.experimental.checkify.checkify"
    ):
        to_jax(lambda x: px.experimental.checkify.check(x > 0, "negative"))(1.0)
    io = core.primitives.io_callback_p
    with pytest.raises(NotImplementedError, match="io_callback must have no effects, got IO; call to_jax with a func"):
        to_jax(io).bind(callback=print, result_avals=(), ordered=False)
    ran = []
    silent_p = define_primitive(
        "silent", effectful_abstract_eval=lambda x, program: (x, program.effects), impl=lambda x, program: np.sin(x)
    )
    program = px.make_jaxpr(lambda x: px.debug.callback(ran.append, x))(X)
    refused = to_jax(lambda x: (px.debug.callback(ran.append, x), silent_p.bind(x, program=program))[1])
    with pytest.raises(NotImplementedError, match=r"silent must .* got Debug, used at .*test_to_jax.*from_impl"):
        refused(X)
    assert not ran


def counted(x, n, *, kind="sum"):
    return pnp.sum(x) * n if kind == "sum" else pnp.zeros(n)


def test_static_arguments_are_part_of_the_program():
    static = {"static_argnums": 1, "static_argnames": "kind"}
    for carried in (to_jax(counted, **static), to_jax(px.jit(counted, **static))):
        same(np.zeros(3, np.float32), jax.jit(carried, **static)(X, 3, kind="zeros"))
        same(counted(X, 2), carried(X, 2))
    same(np.float32([3, 3, 3]), jax.grad(to_jax(counted))(X, n=3.0))
    with pytest.raises(TypeError, match=r"counted: argument kind must be an array.*static_argnums makes an argument"):
        to_jax(counted)(X, 3, kind="zeros")
    with pytest.raises(ValueError, match=r"static_argnums must be positions of arguments of counted, .* got 7"):
        to_jax(counted, static_argnums=7)
    with pytest.raises(TypeError, match="to_jax: static_argnums and static_argnames must be None for a primitive, sin"):
        to_jax(core.primitives.sin_p, static_argnums=0)


@pytest.mark.parametrize("ordered", [False, True])
def test_prints_and_callbacks_are_those_of_jax(ordered):
    seen = []

    def step(c, x):
        px.debug.callback(lambda x, text: seen.append((text, float(x))), x, "step", ordered=ordered)
        return c + px.io_callback(
            lambda x: np.float32(x) * 2, px.ShapeDtypeStruct((), "float32"), x, ordered=ordered
        ), c

    carried = to_jax(px.jit(lambda x: lax.cond(x[0] > 0, lambda x: lax.scan(step, pnp.float32(0), x)[0], pnp.sum, x)))
    same(2 * X.sum(), jax.jit(carried)(X))
    jax.effects_barrier()
    assert [text for text, _ in seen] == ["step"] * 3
    assert [x for _, x in (seen if ordered else sorted(seen, key=lambda pair: X.tolist().index(pair[1])))] == X.tolist()
    printed = to_jax(lambda x: (px.debug.callback(lambda x: seen.append(x), x, ordered=ordered), pnp.sin(x))[1])
    seen.clear()
    same(np.cos(X), jax.jit(jax.grad(lambda x: printed(x).sum()))(X))
    jax.effects_barrier()
    assert len(seen) == 1


LOOP = str(ROOT / "examples" / "primax-bounded-while" / "src")


@pytest.fixture(scope="module")
def bounded_while():
    """The loop of another package, with rules of its own, active as long as the tests of this module run."""
    sys.path.insert(0, LOOP)
    try:
        package = importlib.import_module("primax_bounded_while")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            px.plugins.register(importlib.import_module("primax_bounded_while.plugin"), name="bounded_while in a test")
        yield package.bounded_while
        px.plugins.unregister("bounded_while in a test")
    finally:
        sys.path.remove(LOOP)
        for name in [name for name in sys.modules if name.startswith("primax_bounded_while")]:
            del sys.modules[name]


@pytest.mark.parametrize("prints", [False, True])
def test_a_loop_of_another_package_keeps_its_rules_in_jax(bounded_while, prints):
    seen = []

    def step(x):
        if prints:
            px.debug.callback(seen.append, x[0])
        return x * pnp.cos(0.1 * x) * 1.5

    def f(x):
        return pnp.sum(bounded_while(lambda x: pnp.all(x < 5), step, x, max_steps=6) ** 2)

    carried = to_jax(f)
    gradient = px.grad(f)(X)
    count = len(seen)
    seen.clear()
    same(gradient, jax.jit(jax.grad(jax.checkpoint(carried)))(X))
    jax.effects_barrier()
    assert len(seen) in (count, 2 * count)  # jax's checkpoint computes it again
    same(px.jvp(f, (X,), (X,)), jax.jit(lambda x: jax.jvp(carried, (x,), (x,)))(X))
    if not prints:
        rows = np.stack([X, X / 3])
        same(px.vmap(px.grad(f))(rows), jax.jit(jax.vmap(jax.grad(carried)))(rows))


def test_programs_in_parameters_are_transformed_by_the_rules_of_their_primitive():
    solve = lambda x: lax.custom_linear_solve(lambda y: 2 * y, x, lambda mv, b: b / 2, symmetric=True)  # noqa: E731
    same(px.grad(lambda x: pnp.sum(solve(x) ** 2))(X), jax.grad(lambda x: jnp.sum(to_jax(solve)(x) ** 2))(X))
    fun = px.custom_batching.custom_vmap(lambda x: x * 2)
    fun.def_vmap(lambda size, batched, x: (x * 5, True))
    same(X * 5, jax.jit(jax.vmap(to_jax(fun)))(X))
    branches = (px.make_jaxpr(pnp.sin)(X), px.make_jaxpr(pnp.cos)(X))
    choose = lambda x: to_jax(cond_p).bind(1, x, branches=branches)[0]  # noqa: E731
    same(-np.sin(X), jax.jit(jax.grad(lambda x: choose(x).sum()))(X))
    labelled = core.Primitive("labelled", multiple_results=True)
    labelled.def_impl(lambda *args, program: core.jaxpr_as_fun(program)(*args))
    labelled.def_abstract_eval(lambda *avals, program: program.out_avals)
    program = px.make_jaxpr(lambda x: x * x)(X)
    same(2 * X, jax.jit(jax.grad(lambda x: to_jax(lambda x: labelled.bind(x, program=program)[0])(x).sum()))(X))


def jax_mesh():
    return jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))


def test_collectives_communicate_along_axes_of_jax():
    share_p = define_primitive(
        "share",
        impl=lambda x, *, name: x / lax.psum(x, name),
        abstract_eval=derive.from_impl,
        axis_batch=derive.from_impl,
        lowering=derive.from_impl,
    )

    def f(lax, share, x):
        last = lax.axis_size("i") - 1
        turned = lax.ppermute(x, "i", [(i, last - i) for i in range(last + 1)])
        return share(x) + turned * lax.axis_index("i") + lax.all_gather(x, "i").sum() + lax.pmax(x, "i")

    ours = to_jax(lambda x: f(lax, lambda x: share_p.bind(x, name="i"), x))
    theirs = lambda x: f(jax.lax, lambda x: x / jax.lax.psum(x, "i"), x)  # noqa: E731
    x = np.arange(1, 9, dtype=np.float32)
    by_vmap = [jax.jit(jax.vmap(g, axis_name="i"))(x) for g in (ours, theirs)]
    same(*by_vmap)
    spec = jax.sharding.PartitionSpec("i")
    divided = jax.shard_map(ours, mesh=jax_mesh(), in_specs=spec, out_specs=spec)
    same(by_vmap[1], jax.jit(divided)(x))
    mesh = px.make_mesh((8,), ("i",))
    inside = to_jax(
        px.shard_map(lambda x: pnp.sin(x * lax.psum(x, "i")), mesh=mesh, in_specs=px.P("i"), out_specs=px.P("i"))
    )
    same(np.sin(36 * x), jax.jit(inside)(x), rtol=1e-3, atol=1e-4)
    gradient = jax.grad(lambda x: jnp.sum(jnp.sin(x * x.sum())))(x)
    found = jax.jit(jax.grad(lambda x: inside(x).sum()))(x)
    np.testing.assert_allclose(found, gradient, rtol=1e-3, atol=1e-2)


def test_a_sharding_rule_divides_foreign_calls_and_reduces_over_devices():
    def factor(ctx, a):
        (aval,) = ctx.avals_in
        codes = mlir.aval_to_ir_type(core.ShapedArray(aval.shape[:1], np.dtype(np.int32)))
        return mlir.custom_call(
            mlir.lapack_target("potrf", aval.dtype),
            operands=[a],
            result_types=[mlir.aval_to_ir_type(aval), codes],
            backend_config={"uplo": np.uint8(ord("L"))},
            api_version=4,
            operand_output_aliases={0: 0},
            operand_layouts=[(1, 2, 0)],
            result_layouts=[(1, 2, 0), (0,)],
        ).results[:1]

    factor_p = define_primitive("factor", abstract_eval=lambda a: a, lowering=factor, sharding="b n! m! -> b n! m!")
    theirs = jax.jit(lambda a: jnp.tril(to_jax(factor_p).bind(a)))
    matrices = np.tile(np.float32([[4, 2], [2, 5]]), (16, 1, 1)) * np.arange(1, 17, dtype=np.float32)[:, None, None]
    divided = jax.device_put(matrices, jax.sharding.NamedSharding(jax_mesh(), jax.sharding.PartitionSpec("i")))
    text = theirs.lower(divided).compile().as_text()
    assert "f32[2,2,2]" in text
    assert "all-gather" not in text
    for a in (matrices, divided):
        np.testing.assert_allclose(theirs(a), np.linalg.cholesky(matrices), rtol=1e-5)

    largest_p = define_primitive(
        "largest",
        impl=lambda x: pnp.max(x, 1),
        abstract_eval=derive.from_impl,
        lowering=derive.from_impl,
        sharding="i k:max -> i",
    )
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    with all_divided():
        columns = jax.sharding.NamedSharding(jax_mesh(), jax.sharding.PartitionSpec(None, "i"))
        program = jax.jit(to_jax(largest_p).bind).lower(jax.device_put(x, columns)).compile()
        assert "all-reduce" in program.as_text()
        same(x[:, 7], program(jax.device_put(x, columns)))


def test_without_jax_the_error_says_what_needs_it():
    program = (
        "import sys; sys.modules['jax'] = None\n"
        "import primax as px\n"
        "from primax.extend import to_jax\n"
        "try:\n    to_jax(px.numpy.sin)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "to_jax: jax must be installed" in done.stdout, done.stderr


def test_transforms_sorts_and_indices_are_translated():
    def f(x, i):
        return pnp.abs(pnp.fft.fft(x)) ** 2, pnp.sort(x)[::-1], pnp.asarray(x).at[i].add(1.0), pnp.asarray(x)[i]

    g = to_jax(f)
    x = np.float32([3.0, 1.0, 2.0, 5.0])
    for ours, theirs in zip(f(x, 1), jax.jit(g)(x, 1), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5)
    found = jax.grad(lambda x: sum(out.sum() for out in g(x, 1)))(x)
    np.testing.assert_allclose(found, px.grad(lambda x: sum(out.sum() for out in f(x, 1)))(x), rtol=1e-5)
    assert jax.vmap(g, in_axes=(None, 0))(x, np.arange(2))[2].shape == (2, 4)


def test_the_program_of_the_page_prints_what_the_page_shows(capsys):
    page = (ROOT / "docs" / "authors" / "in-jax.md").read_text(encoding="utf-8")
    program, printed = (
        re.search(rf"^```{kind}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[1] for kind in ("python", "text")
    )
    exec(program, {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
