"""The tutorial program of JAX's documentation, with its imports changed, and the rules it goes on to add."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import primax
import primax.numpy as pnp
from primax.extend import core
from primax.extend.interpreters import ad, batching, mlir


def tutorial():
    """Define the primitive as the tutorial does, line by line."""
    mul_add_p = core.Primitive("mul_add")
    mul_add_p.def_impl(lambda x, y, z: x * y + z)

    @mul_add_p.def_abstract_eval
    def mul_add_abstract(x, y, z):
        return core.ShapedArray(x.shape, x.dtype)

    def mul_add_mlir(ctx, x, y, z):
        return mlir.hlo.AddOp(mlir.hlo.MulOp(x, y), z).results

    mlir.register_lowering(mul_add_p, mul_add_mlir)
    return mul_add_p


def with_rules():
    p = tutorial()

    def jvp(primals, tangents):
        x, y, z = primals
        tx, ty, tz = map(ad.instantiate_zeros, tangents)
        return p.bind(x, y, z), p.bind(tx, y, p.bind(x, ty, tz))

    def transpose(ct, x, y, z):
        if ad.is_undefined_primal(x):
            ct_x, ct_y = p.bind(ct, y, pnp.zeros_like(ct)), None
        else:
            ct_x, ct_y = None, (p.bind(x, ct, pnp.zeros_like(ct)) if ad.is_undefined_primal(y) else None)
        return ct_x, ct_y, ct if ad.is_undefined_primal(z) else None

    def batch(args, dims):
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        front = [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return p.bind(*front), 0

    ad.primitive_jvps[p] = jvp
    ad.primitive_transposes[p] = transpose
    batching.primitive_batchers[p] = batch
    return p


def test_the_tutorial_program_runs_with_only_its_imports_changed():
    mul_add_p = tutorial()
    assert mul_add_p.bind(2, 3, 4) == 10
    out = primax.jit(mul_add_p.bind)(2, 3, 4)
    int_dtype = "int64" if primax.config.enable_x64 else "int32"
    assert repr(out).startswith(f"Array(10, dtype={int_dtype}")
    assert str(primax.make_jaxpr(mul_add_p.bind)(2.0, 3.0, 4.0).eqns[0].primitive) == "mul_add"


def test_what_is_missing_is_said_with_what_is_there():
    mul_add_p = tutorial()
    for transform, kind in (
        (lambda: primax.grad(mul_add_p.bind)(2.0, 3.0, 4.0), "jvp"),
        (lambda: primax.vmap(mul_add_p.bind)(*[np.ones(3, np.float32)] * 3), "batch"),
    ):
        with pytest.raises(NotImplementedError, match=f"no {kind} rule for primitive 'mul_add'") as error:
            transform()
        assert "impl, abstract_eval, lowering" in str(error.value)


def test_a_missing_transpose_is_said_when_it_is_needed():
    p = tutorial()
    ad.primitive_jvps[p] = lambda xs, ts: (p.bind(*xs), p.bind(ts[0], xs[1], ad.instantiate_zeros(ts[2])))
    assert float(primax.jvp(lambda x: p.bind(x, 3.0, 4.0), (2.0,), (1.0,))[1]) == 3.0
    with pytest.raises(NotImplementedError, match="no transpose rule for primitive 'mul_add'"):
        primax.grad(lambda x: p.bind(x, 3.0, 4.0))(2.0)


def test_rules_given_as_in_jax_make_every_transformation_work():
    p = with_rules()

    def f(x, y, z):
        return p.bind(x, y, p.bind(y, y, z))

    def plain(x, y, z):
        return x * y + (y * y + z)

    args = tuple(np.float32(v) for v in (2.0, 3.0, 4.0))
    everything = (0, 1, 2)
    for wrap in (lambda f: f, primax.jit):
        g = wrap(f)
        assert float(g(*args)) == float(plain(*args))
        np.testing.assert_allclose(primax.grad(g, everything)(*args), primax.grad(plain, everything)(*args))
        np.testing.assert_allclose(wrap(primax.grad(g, everything))(*args), primax.grad(plain, everything)(*args))
        second = primax.hessian(g, everything)(*args)
        np.testing.assert_allclose(second, primax.hessian(plain, everything)(*args))
    column = np.arange(3.0, dtype=np.float32)
    for mapped in itertools.product([0, None], repeat=3):
        if mapped == (None,) * 3:
            continue
        given = [column + 1 if axis == 0 else x for axis, x in zip(mapped, args, strict=True)]
        for g in (f, primax.jit(f)):
            want = primax.vmap(plain, in_axes=mapped)(*given)
            np.testing.assert_allclose(primax.vmap(g, in_axes=mapped)(*given), want)
            slopes = primax.vmap(primax.grad(g), in_axes=mapped)(*given)
            np.testing.assert_allclose(slopes, primax.vmap(primax.grad(plain), in_axes=mapped)(*given))
    core.check_jaxpr(primax.make_jaxpr(primax.vmap(primax.grad(primax.jit(f))))(column, column, column))


def test_defjvp_and_defvectorized():
    p = core.Primitive("my_sin")
    p.def_impl(np.sin)
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.nary("stablehlo.sine"))
    ad.defjvp(p, lambda t, x: t * pnp.cos(x))
    batching.defvectorized(p)
    assert float(primax.grad(p.bind)(np.float32(1.0))) == pytest.approx(np.cos(1.0), rel=1e-6)
    x = np.arange(3.0, dtype=np.float32)
    np.testing.assert_allclose(primax.jit(primax.vmap(primax.grad(p.bind)))(x), np.cos(x), rtol=1e-6)


def test_defjvp2_uses_the_result():
    p = core.Primitive("my_exp")
    p.def_impl(np.exp)
    p.def_abstract_eval(lambda x: x)
    ad.defjvp2(p, lambda t, out, x: t * out)
    assert float(primax.grad(p.bind)(np.float32(1.0))) == pytest.approx(np.e, rel=1e-6)


def test_deflinear_and_deflinear2():
    for define, rule in (
        (ad.deflinear, lambda ct, *, factor: [ct * factor]),
        (ad.deflinear2, lambda ct, x, *, factor: [ct * factor]),
    ):
        p = core.Primitive("scaled")
        p.def_impl(lambda x, *, factor: x * factor)
        p.def_abstract_eval(lambda x, *, factor: x)
        define(p, rule)
        x = np.float32(2.0)
        assert float(primax.jvp(lambda x, p=p: p.bind(x, factor=3.0), (x,), (x,))[1]) == 6.0
        assert float(primax.grad(lambda x, p=p: p.bind(x, factor=3.0))(x)) == 3.0
        (ct,) = primax.linear_transpose(lambda x, p=p: p.bind(x, factor=3.0), x)(x)
        assert float(ct) == 6.0


def test_defbilinear():
    p = core.Primitive("product")
    p.def_impl(lambda x, y: x * y)
    p.def_abstract_eval(lambda x, y: x)
    ad.defbilinear(p, lambda ct, x, y: ct * y, lambda ct, x, y: x * ct)
    found = primax.grad(p.bind, (0, 1))(np.float32(2.0), np.float32(3.0))
    assert tuple(map(float, found)) == (3.0, 2.0)
    assert float(primax.grad(lambda x: p.bind(x, x))(np.float32(3.0))) == 6.0


def test_defbroadcasting_and_defreducer():
    p, q = core.Primitive("plus"), core.Primitive("total")
    p.def_impl(np.add)
    p.def_abstract_eval(lambda x, y: x if x.shape else y)
    q.def_impl(lambda x, *, axes: np.sum(x, axis=axes))
    batching.defbroadcasting(p)
    batching.defreducer(q)
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(primax.vmap(p.bind, in_axes=(0, None))(x, x[0]), x + x[0])
    np.testing.assert_array_equal(primax.vmap(p.bind, in_axes=(1, 0), out_axes=1)(x, x.T), x + x)
    np.testing.assert_array_equal(primax.vmap(lambda x: q.bind(x, axes=(0,)), in_axes=1)(x), x.sum(0))


def test_a_lowering_for_an_absent_platform_is_registered_without_a_murmur():
    p = tutorial()
    mlir.register_lowering(p, lambda ctx, x, y, z: 1 / 0, platform="cuda")
    mlir.register_lowering(p, lambda ctx, x, y, z: 1 / 0, platform="a_platform_of_the_future")
    assert int(primax.jit(p.bind)(2, 3, 4)) == 10


def test_a_primitive_lowered_elsewhere_only_says_where():
    p = core.Primitive("elsewhere")
    p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(p, mlir.nary("stablehlo.sine"), platform="cuda")
    if primax.default_backend() == "gpu":
        pytest.skip("it is there")
    with pytest.raises(NotImplementedError, match=r"There are lowerings for \['cuda'\], but .* 'cpu'"):
        primax.jit(p.bind)(1.0)


def test_a_lowering_for_this_platform_wins_over_the_default():
    p = tutorial()
    assert float(primax.jit(p.bind)(2.0, 3.0, 4.0)) == 10.0
    mlir.register_lowering(p, lambda ctx, x, y, z: mlir.hlo.SubtractOp(x, y).results, platform=primax.default_backend())
    assert float(primax.jit(lambda x, y, z: p.bind(x, y, z))(2.0, 3.0, 4.0)) == -1.0
    assert float(primax.jit(p.bind)(2.0, 3.0, 4.0)) == -1.0


def test_lower_fun_lowers_by_a_function_of_arrays():
    p, q = core.Primitive("by_function"), core.Primitive("by_function_of_many")
    p.def_abstract_eval(lambda x, *, n: x)
    mlir.register_lowering(p, mlir.lower_fun(lambda x, *, n: pnp.sin(x) * n, multiple_results=False))
    q.multiple_results = True
    q.def_abstract_eval(lambda x: [x, x])
    mlir.register_lowering(q, mlir.lower_fun(lambda x: [pnp.sin(x), x], multiple_results=True))
    x = np.float32(1.0)
    assert float(p.bind(x, n=2)) == pytest.approx(2 * np.sin(1.0), rel=1e-6)
    assert float(primax.jit(lambda x: p.bind(x, n=3))(x)) == pytest.approx(3 * np.sin(1.0), rel=1e-6)
    assert [float(v) for v in primax.jit(q.bind)(x)] == pytest.approx([np.sin(1.0), 1.0], rel=1e-6)


def test_tables_are_readable_and_writable_mappings():
    p = with_rules()
    assert p in ad.primitive_jvps
    rule = ad.primitive_jvps[p]
    assert callable(rule)
    assert dict(batching.primitive_batchers.items())[p] is batching.primitive_batchers[p]
    del ad.primitive_jvps[p]
    with pytest.raises(NotImplementedError, match="no jvp rule"):
        primax.grad(p.bind)(1.0, 2.0, 3.0)
    ad.primitive_jvps[p] = rule
    assert float(primax.grad(p.bind)(1.0, 2.0, 3.0)) == 2.0
    assert len(ad.primitive_transposes) > 10
    with pytest.raises(TypeError, match="expected a function"):
        ad.primitive_jvps[p] = 3


WRONG = {
    "abstract_eval gives a value": ("abstract_eval", lambda x: 3.0, lambda p: primax.jit(p.bind)(1.0)),
    "abstract_eval gives a list": ("abstract_eval", lambda x: [x], lambda p: primax.jit(p.bind)(1.0)),
    "jvp gives no pair": ("jvp", lambda xs, ts: None, lambda p: primax.jvp(p.bind, (1.0,), (1.0,))),
    "jvp gives None": ("jvp", lambda xs, ts: (xs[0], None), lambda p: primax.jvp(p.bind, (1.0,), (1.0,))),
    "jvp gives a wrong shape": (
        "jvp",
        lambda xs, ts: (xs[0], np.ones(7, np.float32)),
        lambda p: primax.jvp(p.bind, (np.float32(1.0),), (np.float32(1.0),)),
    ),
    "batch gives no pair": ("batch", lambda xs, ds: None, lambda p: primax.vmap(p.bind)(np.ones(3))),
    "batch gives a wrong dim": (
        "batch",
        lambda xs, ds: (xs[0], 1),
        lambda p: primax.vmap(p.bind)(np.ones((3, 2))),
    ),
    "lowering gives two": ("lowering", lambda ctx, x: [x, x], lambda p: primax.jit(p.bind)(1.0)),
    "lowering gives a number": ("lowering", lambda ctx, x: 3.0, lambda p: primax.jit(p.bind)(1.0)),
    "lowering gives a wrong type": (
        "lowering",
        lambda ctx, x: mlir.hlo.BroadcastOp(x, mlir.ir.DenseI64ArrayAttr.get([2])).results,
        lambda p: primax.jit(p.bind)(1.0),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_rules_are_refused_by_name(wrong):
    kind, rule, run = WRONG[wrong]
    p = core.Primitive("mistaken")
    p.def_abstract_eval(lambda x: x)
    if kind != "lowering":
        p.def_impl(lambda x: x)
    table = {
        "abstract_eval": core_tables()["abstract_eval"],
        "jvp": ad.primitive_jvps,
        "batch": batching.primitive_batchers,
        "lowering": mlir.lowering_rules,
    }[kind]
    table[p] = rule
    with pytest.raises(primax.errors.RuleError, match=f"the {kind} rule of mistaken"):
        run(p)


def core_tables():
    from primax.core.rules import rule_tables

    return rule_tables
