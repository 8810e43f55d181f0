"""What stages tell of arguments, options of the compiler, and keywords that code written for JAX gives."""

from __future__ import annotations

import re

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import stages
from primax.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values, zero_from_primal

OPTIONS = {"xla_embed_ir_in_executable": True}


def test_stages_tell_types_and_donations_of_arguments():
    f = px.jit(lambda x, y: x["a"] + y, donate_argnums=1)
    lowered = f.lower({"a": 1.0}, pnp.ones(2))
    for stage in (f.trace({"a": 1.0}, pnp.ones(2)), lowered, lowered.compile()):
        (first, second), named = stage.args_info
        assert (first["a"].shape, first["a"].donated) == ((), False)
        assert (second.shape, second.dtype, second.donated) == ((2,), pnp.ones(2).dtype, True)
        assert named == {}
        assert stage.donate_argnums == (1,)


def test_what_jit_makes_is_wrapped():
    assert isinstance(px.jit(lambda x: x), stages.Wrapped)
    assert not isinstance(lambda x: x, stages.Wrapped)


def test_the_program_is_shown_in_two_dialects():
    lowered = px.jit(lambda x: x + 1.0).lower(1.0)
    assert "stablehlo.add" in str(lowered.compiler_ir())
    assert "HloModule" in lowered.compiler_ir("hlo").as_hlo_text()
    with pytest.raises(ValueError, match="dialect must be 'stablehlo' or 'hlo', got 'mhlo'"):
        lowered.compiler_ir("mhlo")


def test_options_of_the_compiler_are_taken_by_jit_and_by_compile():
    assert float(px.jit(lambda x: x + 1.0, compiler_options=OPTIONS)(1.0)) == 2.0
    assert float(px.jit(lambda x: x + 1.0).lower(1.0).compile(OPTIONS)(1.0)) == 2.0
    assert float(px.jit(lambda x: x + 1.0, compiler_options=OPTIONS).lower(1.0).compile()(1.0)) == 2.0


@pytest.mark.parametrize("name", ["optimization_level", "memory_fitting_level"])
def test_the_effort_of_the_compiler_is_an_option(name):
    for level in ("O0", "O3", 19):
        assert float(px.jit(lambda x: x + 1.0, compiler_options={name: level, **OPTIONS})(1.0)) == 2.0
    for wrong in ("O9", 7, True, 19.0):
        with pytest.raises(
            ValueError, match=f"compiler_options: {name} must be one of .*'O3'.*, got {re.escape(repr(wrong))}"
        ):
            px.jit(lambda x: x + 1.0).lower(1.0).compile({name: wrong})


def test_an_option_that_xla_does_not_know_is_refused():
    with pytest.raises(px.errors.JaxRuntimeError, match="No such compile option: 'xla_foo'"):
        px.jit(lambda x: x + 1.0, compiler_options={"xla_foo": 1})(1.0)
    with pytest.raises(px.errors.JaxRuntimeError, match="No such compile option: 'xla_foo'"):
        px.jit(lambda x: x + 1.0).lower(1.0).compile(compiler_options={"xla_foo": 1})
    with pytest.raises(TypeError, match="compiler_options must be a dictionary or None"):
        px.jit(lambda x: x, compiler_options=3)
    with pytest.raises(TypeError, match="compiler_options must map strings"):
        px.jit(lambda x: x, compiler_options={1: 3})


def test_options_belong_to_the_outermost_function():
    inner = px.jit(lambda x: x + 1.0, compiler_options=OPTIONS)
    with pytest.raises(ValueError, match="must not be given to a function that is called inside another program"):
        px.jit(lambda x: inner(x) * 2.0)(1.0)
    assert px.vmap(inner)(pnp.ones(2)).tolist() == [2.0, 2.0]


def test_jit_runs_on_a_backend_by_name():
    assert px.jit(lambda x: x + 1.0, backend="cpu")(1.0).devices() == {px.devices("cpu")[0]}
    with pytest.raises(px.errors.XlaError, match="no platform 'moon'"):
        px.jit(lambda x: x, backend="moon")
    with pytest.raises(ValueError, match="device must be None where backend is given"):
        px.jit(lambda x: x, backend="cpu", device=px.devices()[0])


@pytest.mark.parametrize("has_aux", [False, True])
@pytest.mark.parametrize("argnums", [0, (0, 1), [1]])
@pytest.mark.parametrize("jitted", [False, True])
def test_the_two_passes_are_functions_that_compile_once(jitted, argnums, has_aux):
    traced = []

    def f(x, y):
        traced.append(None)
        out = pnp.sin(x) * y
        return (out, x) if has_aux else out

    fwd, bwd = px.fwd_and_bwd(f, argnums, has_aux=has_aux, jitted=jitted)
    for i in (1.0, 2.0):
        out, residuals, *aux = fwd(i, 3.0)
        found = bwd(residuals, 2.0)
        expected = [2.0 * 3.0 * np.cos(i), 2.0 * np.sin(i)]
        wanted = [expected[argnums]] if argnums == 0 else [expected[j] for j in argnums]
        np.testing.assert_allclose([found] if argnums == 0 else list(found), wanted, rtol=1e-6)
        np.testing.assert_allclose(out, np.sin(i) * 3.0, rtol=1e-6)
        assert len(aux) == has_aux
    assert len(traced) == (1 if jitted else 2)


def test_linear_functions_of_integers_and_of_types_are_transposed():
    (ct,) = px.linear_transpose(lambda x: 2.0 * x, px.ShapeDtypeStruct((3,), pnp.ones(3).dtype))(pnp.ones(3))
    assert ct.tolist() == [2.0, 2.0, 2.0]
    (ct,) = px.linear_transpose(lambda x: x[::-1] * 2, pnp.arange(3))(pnp.arange(3))
    assert ct.tolist() == [4, 2, 0]
    with pytest.raises(TypeError, match="primals must be numbers"):
        px.linear_transpose(lambda x: x, px.random.key(0))


def test_static_arguments_of_checkpoint_need_no_hash():
    f = px.checkpoint(lambda x, scales: pnp.sin(x) * scales[0], static_argnums=1)
    assert float(f(2.0, [3])) == float(pnp.sin(2.0) * 3)
    assert float(px.grad(f)(2.0, [3])) == pytest.approx(3 * np.cos(2.0))
    assert float(px.grad(f)(2.0, [4])) == pytest.approx(4 * np.cos(2.0))
    with pytest.raises(ValueError, match="Non-hashable static arguments are not supported"):
        px.jit(lambda x, y: x, static_argnums=1)(1.0, [2])


@pytest.mark.parametrize("transform", [px.grad, px.value_and_grad, lambda f, **kw: px.vjp(f, 1.0, **kw)])
def test_axes_to_reduce_over_must_be_none(transform):
    transform(lambda x: x * 2.0, reduce_axes=())
    with pytest.raises(NotImplementedError, match=r"reduce_axes must be \(\)"):
        transform(lambda x: x * 2.0, reduce_axes=("batch",))


def test_results_that_should_not_be_mapped_are_summed_if_asked_for():
    x = pnp.arange(6.0).reshape(3, 2)
    f = px.vmap(lambda a: (a, 1.0), in_axes=0, out_axes=(None, None), sum_match=True)
    total, one = f(x)
    assert total.tolist() == [6.0, 9.0]
    assert float(one) == 1.0
    assert (
        float(px.grad(lambda y: px.vmap(lambda a: a * a, out_axes=None, sum_match=True)(y))(pnp.arange(3.0))[2]) == 4.0
    )
    with pytest.raises(ValueError, match="out_axes is None"):
        px.vmap(lambda a: a, out_axes=None)(x)
    with pytest.raises(TypeError, match=r"spmd_axis_name must be hashable, got \[\]"):
        px.vmap(lambda a: a, spmd_axis_name=[])


@pytest.mark.parametrize("value", [1.0, 2, (1.0, np.ones(2, np.float16)), {"a": True}])
def test_zeros_of_primals_are_those_of_jax(value, jax):
    theirs = jax.tree.leaves(jax.custom_derivatives.zero_from_primal(value))
    for ours, expected in zip(px.tree.leaves(zero_from_primal(value)), theirs, strict=True):
        assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
    symbolic = px.tree.leaves(zero_from_primal(value, symbolic_zeros=True))
    assert all(isinstance(x, px.custom_derivatives.SymbolicZero) for x in symbolic)


def test_values_are_taken_out_of_the_primals_of_a_forward_rule():
    primals = {"a": (CustomVJPPrimal(1.0, True), CustomVJPPrimal(2, False))}
    assert custom_vjp_primal_tree_values(primals) == {"a": (1.0, 2)}
    with pytest.raises(TypeError, match="leaves must be CustomVJPPrimals, got 3"):
        custom_vjp_primal_tree_values(3)


class Nameless:
    """A callable whose name is no string, as of a mock or a partial application."""

    __name__ = 3

    def __call__(self, x):
        return pnp.sin(x) * 2.0


@pytest.mark.parametrize(
    "transform",
    [
        px.jit,
        px.grad,
        px.vmap,
        px.checkpoint,
        lambda f: lambda x: px.custom_jvp(f).name,
        px.named_call,
        px.make_jaxpr,
        lambda f: lambda x: px.lax.map(f, pnp.ones(2)),
        lambda f: lambda x: px.lax.cond(x.sum() > 0, f, f, x),
        lambda f: lambda x: px.lax.while_loop(lambda c: False, f, x),
        lambda f: lambda x: px.linearize(f, x)[0],
        lambda f: lambda x: px.eval_shape(f, x),
        lambda f: lambda x: px.pure_callback(lambda y: np.float32(1), px.ShapeDtypeStruct((), "float32"), 1.0),
    ],
)
def test_callables_need_no_name(transform):
    x = pnp.float32(1.0) if transform is not px.vmap else pnp.ones(2)
    px.tree.map(lambda y: y, transform(Nameless())(x))


def generator(x):
    yield x


class Holder:
    @staticmethod
    def doubled(x):
        return 2 * x


@pytest.mark.parametrize("stage", ["trace", "lower", "__call__"])
@pytest.mark.parametrize(
    "argument, error, message",
    [
        (np.ma.masked_array([1.0, 2.0], [True, False]), ValueError, "mask"),
        ("text", TypeError, "text"),
        (object(), TypeError, "object"),
        (np.datetime64("2020-01-01"), TypeError, "datetime64"),
        (np.array(["a"]), TypeError, "<U1"),
    ],
    ids=["masked", "text", "object", "date", "texts"],
)
def test_each_stage_refuses_what_a_call_refuses(stage, argument, error, message):
    with pytest.raises(error, match=message):
        getattr(px.jit(lambda x: x), stage)(argument)


def test_generators_are_refused_and_static_methods_compiled():
    with pytest.raises(TypeError, match="generator"):
        px.jit(generator)
    assert px.jit(Holder.doubled).lower(2.0).compile()(2.0) == px.jit(Holder.doubled)(2.0) == 4.0


def test_dialects_may_be_left_to_the_stage():
    lowered = px.jit(pnp.sin).lower(1.0)
    assert lowered.as_text(None) == lowered.as_text() == lowered.as_text("stablehlo")
    assert str(lowered.compiler_ir(None)) == str(lowered.compiler_ir("stablehlo"))


def test_a_function_is_lowered_for_a_platform_that_is_absent():
    f = px.jit(lambda x: px.lax.platform_dependent(x, cuda=pnp.cos, default=pnp.sin))
    lowered = f.trace(1.0).lower(lowering_platforms=("cuda",))
    assert "stablehlo.cosine" in lowered.as_text()
    with pytest.raises(ValueError, match="must be lowered for cpu, where it would run, got cuda"):
        lowered.compile()
    assert "stablehlo.sine" in f.trace(1.0).lower(lowering_platforms=["cpu"]).as_text()
    with pytest.raises(TypeError, match="lowering_platforms must be a sequence of names"):
        f.trace(1.0).lower(lowering_platforms="cuda")
    with pytest.raises(TypeError, match="lower: lowering_platforms must be str or a sequence of them, got array"):
        f.trace(1.0).lower(lowering_platforms=np.array(1.5))
    with pytest.raises(ValueError, match="must name one platform"):
        f.trace(1.0).lower(lowering_platforms=("cpu", "cuda"))


def test_compiled_functions_tell_how_arrays_lie_in_memory():
    compiled = px.jit(lambda x, y: {"a": x + 1}).lower(pnp.ones((2, 3)), 1.0).compile()
    (first, second), named = compiled.input_formats
    assert first.layout.major_to_minor == compiled.output_formats["a"].layout.major_to_minor == (0, 1)
    assert first.sharding == compiled.input_shardings[0][0]
    assert (second, named) == (None, {})


def test_calls_of_compiled_functions_are_checked_and_then_fast(monkeypatch):
    compiled = px.jit(lambda x, scale: {"a": pnp.log(x) * scale}).lower(pnp.ones(2), scale=2.0).compile()
    x = pnp.array([1.0, np.e])
    for _ in range(3):
        assert compiled(x, scale=3.0)["a"].tolist() == pytest.approx([0.0, 3.0])
    for _ in range(2):
        with pytest.raises(TypeError, match=r"argument\[0\] must be f\d+\[2\], which .* for, got f\d+\[3\]"):
            compiled(pnp.ones(3), scale=3.0)
    with pytest.raises(TypeError, match="a compiled program cannot be transformed"):
        px.grad(lambda x: compiled(x, scale=3.0)["a"].sum())(x)
    assert px.jit(lambda y: y + compiled(x, scale=3.0)["a"])(x).shape == (2,)
    with px.debug_nans(True), pytest.raises(FloatingPointError, match="log: with debug_nans"):
        compiled(-x, scale=3.0)
    monkeypatch.setattr(type(compiled), "_leaves", None)  # not needed for known signatures
    assert compiled(x, scale=3.0)["a"].tolist() == pytest.approx([0.0, 3.0])


def test_only_numbers_of_one_kind_have_a_transpose():
    with pytest.raises(TypeError, match="integers for integer arguments"):
        px.linear_transpose(lambda x: x.astype(np.float32), np.int32(2))(np.float32(5))


def test_traced_functions_can_be_called():
    traced = px.jit(lambda x, n, y=2: {"out": x * n + y}, static_argnums=1).trace(1.0, 3)
    assert traced(2.0) == {"out": 8.0}
    assert px.jit(traced)(2.0) == {"out": 8.0}
    assert px.grad(lambda x: traced(x)["out"])(1.0) == 3.0
    with pytest.raises(TypeError, match=r"<lambda>: args and kwargs must have the structure"):
        traced(2.0, 3)
    with pytest.raises(TypeError, match=r"<lambda>: argument 0 must be f\d+\[\], got i\d+\[\]"):
        traced(2)
