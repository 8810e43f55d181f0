"""References: values, transformations, refusals, and programs before and after discharge."""

import copy
from unittest.mock import Mock

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import extend, lax
from primax.experimental.random import stateful_rng
from primax.extend import core
from primax.extend.provisional.references import split_outcome
from primax.memory import Space
from primax.plugins.state import discharge

DOUBLE = pnp.zeros(()).dtype == np.float64
of_32_bits = pytest.mark.skipif(DOUBLE, reason="it shows 32-bit types")


def squares(x):
    """A loop that keeps powers of x in a reference: the sum of their squares, and x ** 4."""
    ref = px.new_ref(pnp.zeros(4))

    def step(power, i):
        ref[i] = power
        return power * x, None

    power, _ = lax.scan(step, 1.0, pnp.arange(4))
    return (ref[...] ** 2).sum() + power


def expected(x):
    return sum(x ** (2 * i) for i in range(4)) + x**4


def slope(x):
    return sum(2 * i * x ** (2 * i - 1) for i in range(1, 4)) + 4 * x**3


@of_32_bits
def test_outside_of_programs_a_reference_is_a_mutable_array():
    x = pnp.zeros(3)
    ref = px.new_ref(x)
    ref[0] = 1.0
    ref[1:] += 2
    assert repr(ref) == "Ref([1., 2., 2.], dtype=float32)"
    assert x.tolist() == [0, 0, 0]
    before = ref[...]
    assert float(px.ref.swap(ref, -1, 5.0)) == 2.0
    px.ref.addupdate(ref, np.array([0, 0]), 1.0)
    ref[px.ds(1, 1)] = 7.0
    assert ref[...].tolist() == [3, 7, 5]
    assert before.tolist() == [1, 2, 2]
    ref[ref[...] > 6] = 0.0
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((3,), np.float32, 1, 3, 3)
    assert np.asarray(ref).tolist() == [float(v) for v in ref] == [3, 0, 5]
    assert isinstance(ref, px.Ref)
    assert not isinstance(x, px.Ref)
    assert str(px.typeof(ref)) == "Ref{f32[3]}"


def test_views_read_and_write_parts():
    ref = px.new_ref(pnp.zeros((3, 4)))
    view = ref.at[1:].at[:, 2]
    view[...] = 1.0
    view[0] += 4.0
    assert view[...].tolist() == [5, 1]
    assert view.shape == (2,)
    assert ref[1].tolist() == [0, 0, 5, 0]
    assert px.jit(lambda: view.at[0][...])() == 5


@of_32_bits
def test_the_program_of_a_function_with_references():
    ref = px.new_ref(pnp.zeros(3))

    def f(ref, i, x):
        ref[0] = x
        ref[i] += 1.0
        px.ref.addupdate(ref, px.ds(1, 2), x)
        return ref[...]

    program = px.make_jaxpr(f)(ref, 1, 2.0)
    assert str(program) == (
        "{ lambda ; a:Ref{f32[3]} b:i32[] c:f32[]. let\n"
        "    d:f32[] = convert_element_type[new_dtype=float32 weak_type=False] c\n"
        "    a[0] <- d\n"
        "    e:f32[] <- a[b]\n"
        "    f:f32[] = add e 1.0:f32[]\n"
        "    a[b] <- f\n"
        "    g:f32[] = convert_element_type[new_dtype=float32 weak_type=False] c\n"
        "    h:f32[2] = broadcast_in_dim[broadcast_dimensions=() shape=(2,)] g\n"
        "    a[ds(1, 2)] += h\n"
        "    i:f32[3] <- a[...]\n"
        "  in (i,) }"
    )
    core.check_jaxpr(program)
    pure, written = discharge(program)
    assert written == (0,)
    assert not pure.effects
    assert all(not v.aval.mutable for v in pure.jaxpr.invars)
    outs = core.eval_jaxpr(pure.jaxpr, pure.consts, pnp.zeros(3), 1, 2.0)
    assert [x.tolist() for x in outs] == [[2, 3, 2], [2, 3, 2]]


def test_compiled_functions_change_their_arguments_and_what_they_close_over():
    ref, other = px.new_ref(pnp.zeros(3)), px.new_ref(1.0)

    @px.jit
    def f(refs, x):
        refs["a"][0] = x
        other[...] *= 2.0
        return refs["a"][...].sum() + other[...]

    assert float(f({"a": ref}, 3.0)) == 5.0
    before = ref[...]
    assert float(f({"a": ref}, 4.0)) == 8.0
    assert ref[...].tolist() == [4, 0, 0]
    assert before.tolist() == [3, 0, 0]
    assert float(other[...]) == 4.0


def test_updates_by_a_compiled_function_reuse_the_buffer():
    ref = px.new_ref(pnp.zeros(1000))

    @px.jit
    def step(ref):
        ref[0] += 1.0

    step(ref)
    step(ref)
    assert len({(step(ref), ref._value.unsafe_buffer_pointer())[1] for _ in range(3)}) == 1
    assert "tf.aliasing_output" in step.lower(ref).as_text()


@pytest.mark.parametrize(
    "transformed",
    [
        px.grad(squares),
        px.jit(px.grad(squares)),
        px.grad(px.jit(squares)),
        px.grad(px.checkpoint(squares)),
        px.jacfwd(squares),
        lambda x: px.vmap(px.grad(squares))(pnp.array([x, 1.0]))[0],
        lambda x: px.grad(lambda x: px.vmap(squares)(pnp.array([0.0, 1.0]) * x)[1])(x),
        lambda x: px.linearize(px.jit(squares), x)[1](1.0),
    ],
)
def test_derivatives_go_through_references(transformed):
    assert float(squares(2.0)) == expected(2.0)
    assert float(transformed(2.0)) == slope(2.0)


def test_second_derivatives_and_linear_transposes():
    assert float(px.hessian(px.jit(squares))(2.0)) == pytest.approx(
        sum(2 * i * (2 * i - 1) * 2.0 ** (2 * i - 2) for i in (1, 2, 3)) + 48
    )

    def doubled(x):
        ref = px.new_ref(x)
        ref[0] *= 2.0
        return ref[...]

    assert px.linear_transpose(doubled, pnp.ones(2))(pnp.ones(2))[0].tolist() == [2, 1]


def test_loops_and_branches_write_to_references():
    ref = px.new_ref(pnp.zeros(3))
    lax.fori_loop(0, 3, lambda i, c: (ref.__setitem__(i, 1.0 * i), c)[1], 0)
    lax.while_loop(lambda c: ref[0] < 5, lambda c: (px.ref.addupdate(ref, 0, 1.0), c + 1)[1], 0)
    assert ref[...].tolist() == [5, 1, 2]
    px.jit(lambda p: lax.cond(p, lambda: ref.__setitem__(1, 7.0), lambda: ref.__setitem__(2, 9.0)))(True)
    assert ref[...].tolist() == [5, 7, 2]
    total, _ = lax.scan(lambda c, x: (c + x[...], x.__setitem__(..., c)), 0.0, ref)
    assert float(total) == 14
    assert ref[...].tolist() == [0, 5, 12]
    assert lax.map(lambda x: x[...] * 2, ref).tolist() == [0, 10, 24]
    px.checkpoint(lambda: ref.__setitem__(0, 1.0))()
    assert float(ref[0]) == 1


def test_vmap_maps_references_and_indices():
    refs = px.new_ref(pnp.arange(6.0).reshape(3, 2))
    px.vmap(lambda ref, i, x: ref.__setitem__(i, x), in_axes=(1, 0, 0))(refs, pnp.array([0, 2]), pnp.array([7.0, 8.0]))
    assert refs[...].tolist() == [[7, 1], [2, 3], [4, 8]]
    assert px.vmap(lambda i: refs[i, 0])(pnp.array([2, 0])).tolist() == [4, 7]
    assert px.vmap(px.jit(lambda x: px.new_ref(x)[...] * refs[0, 1]))(pnp.arange(2.0)).tolist() == [0, 1]

    def either(x):
        ref = px.new_ref(x)
        lax.cond(x > 1, lambda: ref.__setitem__(..., ref[...] * 3), lambda: ref.__setitem__(..., ref[...] * 2))
        return ref[...]

    for f in (either, px.jit(either)):
        assert px.vmap(f)(pnp.array([0.5, 2.0])).tolist() == [1, 6]


def test_jvp_takes_references_with_references_of_tangents():
    ref, tangents = px.new_ref(pnp.ones(2)), px.new_ref(pnp.array([1.0, 2.0]))

    def f(ref, x):
        ref[0] = ref[1] * x
        return ref[...].sum()

    y, dy = px.jvp(f, (ref, 3.0), (tangents, 1.0))
    assert (float(y), float(dy)) == (4.0, 9.0)
    assert ref[...].tolist() == [3, 1]
    assert tangents[...].tolist() == [7, 2]


def test_intermediate_values_are_plumbed_out():
    seen = px.new_ref(0.0)

    def f(x, seen):
        y = pnp.sin(x)
        seen[...] = lax.stop_gradient(y)
        return y * y

    for run in (px.grad(f), px.jit(px.grad(f)), px.grad(px.jit(f))):
        seen[...] = 0.0
        assert float(run(2.0, seen)) == pytest.approx(np.sin(4.0), rel=1e-6)
        assert float(seen[...]) == pytest.approx(np.sin(2.0))


def test_a_backward_rule_writes_to_a_reference():
    @px.custom_vjp
    def tap(x, ref):
        return x

    def backward(ref, ct):
        ref[...] = ct
        return ct, None

    tap.defvjp(lambda x, ref: (x, ref), backward)

    def f(x, ref):
        return 3.0 * tap(pnp.sin(x), ref)

    for run in (px.grad(f), px.jit(px.grad(f)), px.grad(px.jit(f))):
        ref = px.new_ref(0.0)
        assert float(run(2.0, ref)) == pytest.approx(3 * np.cos(2.0))
        assert float(ref[...]) == 3.0
    assert float(px.jit(f)(2.0, ref)) == pytest.approx(3 * np.sin(2.0))


def test_backward_rules_in_loops_and_branches_write_to_references():
    @px.custom_vjp
    def tap(x, ref, i):
        return x

    def backward(residuals, ct):
        ref, i = residuals
        ref[i] += ct
        return ct, None, None

    tap.defvjp(lambda x, ref, i: (x, (ref, i)), backward)
    ref = px.new_ref(pnp.zeros(3))
    whole = px.custom_vjp(lambda x, ref: x)
    whole.defvjp(lambda x, ref: (x, ref), lambda ref, ct: (ct, ref.set(ct)))

    def step(c, i):
        return tap(2.0 * c, ref, i), c

    def loop(x):
        last, all_ = lax.scan(step, x, pnp.arange(3))
        return last + all_.sum()

    for run in (px.grad(loop), px.jit(px.grad(loop)), px.grad(px.jit(loop)), px.grad(px.checkpoint(loop))):
        ref[...] = 0.0
        assert float(run(1.0)) == 15.0
        assert ref[...].tolist() == [7.0, 3.0, 1.0]
    ref[...] = 0.0
    assert float(px.grad(lambda x: lax.cond(x > 0, lambda c: tap(c * c, ref, 0), lambda c: c, x))(2.0)) == 4.0
    assert float(ref[0]) == 1.0
    for length in (257, 300):
        with pytest.raises(core.UnsupportedError, match=f"of more than 256 steps, got {length}"):
            px.grad(lambda x: lax.fori_loop(0, length, lambda i, c: tap(c, ref, 0), x))(1.0)  # noqa: B023
    with pytest.raises(core.UnsupportedError, match="branch whose predicate is not known"):
        px.jit(px.grad(lambda x: lax.cond(x > 0, lambda c: tap(c, ref, 0), lambda c: c, x)))(1.0)
    with pytest.raises(core.UnsupportedError, match="loop over slices of it"):
        px.grad(lambda x: lax.scan(lambda c, r: (whole(c, r), None), x, ref)[0])(1.0)


def test_a_jvp_rule_reads_a_reference():
    @px.custom_jvp
    def scaled(x, ref):
        return x * ref[...]

    @scaled.defjvp
    def rule(primals, tangents):
        x, ref = primals
        assert tangents[1][...] == 0.0
        return scaled(x, ref), 10.0 * tangents[0] * ref[...]

    ref = px.new_ref(3.0)
    for f in (
        lambda x: scaled(x, ref),
        px.jit(lambda x: scaled(x, ref)),
        lambda x: lax.map(lambda y: scaled(y, ref), x),
    ):
        assert px.jvp(f, (pnp.ones(2),), (pnp.ones(2),))[1].tolist() == [30.0, 30.0]


def test_compiled_programs_take_references():
    held = px.new_ref(pnp.zeros(2))

    def f(ref, x):
        ref[0] += x
        held[1] = x
        return {"a": 2.0 * x, "b": ref[1:]}

    ref = px.new_ref(pnp.zeros(3))
    compiled = px.jit(f).lower(ref, 1.0).compile()
    before = ref[...]
    assert float(compiled(ref, 1.0)["a"]) == 2.0
    compiled(ref, 4.0)
    assert (ref[...].tolist(), held[...].tolist(), before.tolist()) == ([5.0, 0.0, 0.0], [0.0, 4.0], [0.0] * 3)
    assert px.tree.structure(compiled.input_shardings) == compiled.in_tree
    assert px.tree.structure(compiled.output_shardings) == compiled.out_tree
    with pytest.raises(TypeError, match=r"argument\[0\] must be Ref"):
        compiled(pnp.zeros(3), 1.0)
    with pytest.raises(ValueError, match="two names for one reference"):
        px.jit(f).lower(held, 1.0)
    two = px.jit(lambda a, b: a.set(b[...] + 1.0)).lower(px.new_ref(0.0), px.new_ref(0.0)).compile()
    with pytest.raises(ValueError, match="two names for one reference"):
        two(*[px.new_ref(0.0)] * 2)
    donating = px.jit(lambda x, ref: ref.swap(x), donate_argnums=0).lower(pnp.ones(3), ref).compile()
    x = pnp.ones(3)
    assert donating(x, ref).tolist() == [5.0, 0.0, 0.0]
    assert x.is_deleted()


def test_tracers_have_the_methods_of_references():
    @px.jit
    def f(ref, x):
        ref.set(x)
        ref.addupdate(x)
        assert not hasattr(x, "swap")
        return ref.get(), ref.swap(-x)

    ref = px.new_ref(0.0)
    assert list(map(float, f(ref, 3.0))) == [6.0, 6.0]
    assert float(ref[...]) == -3.0


def test_gradients_accumulate_in_references():
    total, bias = px.new_ref(pnp.zeros(2)), px.new_ref(0.0)

    def loss(w, b, x):
        return (w["w"] * x).sum() + b

    @px.jit
    def accumulate(total, x):
        _, pullback = px.vjp(loss, {"w": pnp.ones(2)}, 0.0, x)
        return pullback.with_refs({"w": total}, bias, None)(1.0)

    for i in range(3):
        out = accumulate(total, pnp.array([1.0, i]))
    assert total[...].tolist() == [3, 3]
    assert float(bias[...]) == 3
    assert out[:2] == ({"w": None}, None)
    assert out[2].tolist() == [1, 1]
    _, pullback = px.vjp(lambda x: x * x, np.float32(3.0))
    with pytest.raises(ValueError, match="with_refs: a tuple of length 2 cannot match a tuple of length 1"):
        pullback.with_refs(bias, bias)
    with pytest.raises(TypeError, match=r"with_refs: refs\[0\] must be a reference to f32\[\], got f32\[2\]"):
        pullback.with_refs(pnp.ones(2, np.float32))


def test_devices_have_their_parts_of_a_reference():
    ref = px.new_ref(pnp.zeros(4))
    mesh = px.make_mesh((2,), ("x",))
    spec = px.P("x")

    def f(ref, x):
        ref[0] = 2 * x[1]
        return ref[...]

    mapped = px.shard_map(f, mesh=mesh, in_specs=(spec, spec), out_specs=spec)
    for run in (mapped, px.jit(mapped)):
        ref[...] = 1.0
        assert run(ref, pnp.arange(4.0)).tolist() == ref[...].tolist() == [2, 1, 6, 1]


def test_exported_functions_make_references():
    def f(x):
        ref = px.new_ref(x)
        ref[0] = 3.0
        return ref[...]

    assert px.export.export(px.jit(f))(pnp.zeros(2)).call(pnp.zeros(2)).tolist() == [3, 0]


def test_an_equation_interpreter_runs_programs_with_references():
    program = px.make_jaxpr(px.jit(squares))(2.0)
    assert float(core.jaxpr_as_fun(program)(2.0)[0]) == expected(2.0)


def test_a_generator_is_mapped_compiled_and_differentiated():
    rng, key = stateful_rng(7), px.random.key(7)
    draw = px.jit(lambda rng, x: rng.normal() * x)
    numbers = [float(px.random.normal(px.random.fold_in(key, i))) for i in range(3)]
    assert float(draw(rng, 1.0)) == numbers[0]
    assert float(px.grad(draw, argnums=1)(rng, 1.0)) == numbers[1]
    assert float(lax.scan(lambda c, _: (rng.normal(), None), 0.0, None, length=1)[0]) == numbers[2]
    many = stateful_rng(7).split(2)
    drawn = px.vmap(lambda rng: rng.random())(many)
    keys = px.random.split(px.random.fold_in(key, 0), 2)
    assert drawn.tolist() == [float(px.random.uniform(px.random.fold_in(k, 0))) for k in keys]
    with pytest.raises(ValueError, match=r"a generator of shape \(2,\) draws numbers inside of vmap only"):
        many.key()


def refs():
    return px.new_ref(pnp.zeros(3, np.float32))


def freed():
    ref = refs()
    px.free_ref(ref)
    return ref


two = np.float32(2), np.float32(3)


@px.custom_jvp
def of_contents(x, ref):
    return x * ref[0]


of_contents.defjvp(lambda primals, tangents: (of_contents(*primals), tangents[0] + tangents[1]))


def a_swap_in_an_array():
    program = px.make_jaxpr(lambda ref: ref.__setitem__(0, 1.0))(refs())
    return core.eval_jaxpr(program.jaxpr, program.consts, pnp.zeros(3))


@pytest.mark.parametrize(
    ("run", "kind", "message"),
    [
        (
            lambda r: px.jit(lambda a, b: a[0])(r, r),
            ValueError,
            "got one of type Ref{f32[3]} as argument 0 and as argument 1",
        ),
        (lambda r: px.jit(lambda a: a[0] + r[0])(r), ValueError, "as a value that it closes over and as argument 0"),
        (
            lambda r: px.jit(lambda a: a)(r),
            ValueError,
            "a result must be an array, got a reference of type Ref{f32[3]}",
        ),
        (lambda r: px.jit(lambda: r)(), ValueError, "return its contents, ref[...]"),
        (
            lambda r: lax.scan(lambda c, x: (c, x), r, pnp.arange(2)),
            ValueError,
            "a result must be an array, got a reference",
        ),
        (
            lambda r: px.vmap(lambda x: r.__setitem__(0, x))(pnp.ones(2, np.float32)),
            ValueError,
            "set: a value inside vmap must not be",
        ),
        (
            lambda r: px.grad(lambda x: (r.__setitem__(0, x), x)[1])(1.0),
            ValueError,
            "a value inside differentiation must",
        ),
        (
            lambda r: px.jit(lambda i, s: i, static_argnums=1)(0, r),
            ValueError,
            "static argument 1 must not be a reference",
        ),
        (lambda r: px.vjp(lambda r: r[0], r), TypeError, "argument r must be an array, got a reference of type"),
        (
            lambda r: pnp.sin(r),
            TypeError,
            "sin: its argument must be an array or a number, got a reference; read it by ref[...]",
        ),
        (lambda r: px.jit(lambda r: r + 1)(r), TypeError, "add: operands must be arrays or numbers, got a reference"),
        (lambda r: r.__setitem__(0, r), TypeError, "set: value must be an array, got a reference"),
        (lambda r: px.new_ref(r), TypeError, "new_ref: value must be an array or a number, got a reference"),
        (
            lambda r: px.new_ref(np.int32(0)).__setitem__(..., 1.5),
            TypeError,
            "value must be of dtype int32, as the reference",
        ),
        (
            lambda r: r.__setitem__(..., pnp.ones(2, np.float32)),
            ValueError,
            "set: value must have the shape of the elements, (3,)",
        ),
        (lambda r: px.jit(lambda r: r[r[...] > 0])(r), ValueError, "must not be indexed by a mask that is not known"),
        (
            lambda r: pnp.asarray(r),
            TypeError,
            "asarray: a must be an array or a number, got a reference; read it by ref",
        ),
        (lambda r: px.new_ref(pnp.zeros(2, bool)).__setitem__(0, 1), TypeError, "value must be of dtype bool"),
        (lambda r: px.jit(lambda v: v[...])(r.at[0]), TypeError, "a view of a reference is read by view[...]"),
        (lambda r: lax.scan(lambda c, x: (c, x), r.at[0], pnp.arange(2)), TypeError, "pass the reference itself"),
        (lambda r: copy.deepcopy(r), TypeError, "copy: a reference is not copied"),
        (lambda r: px.vjp(lambda x, y: x * y, *two)[1].with_refs(s := px.new_ref(two[0]), s), ValueError, "twice"),
        (lambda r: px.grad(of_contents)(1.0, r), TypeError, "got a reference"),
        (lambda r: a_swap_in_an_array(), TypeError, "swap: the first operand must be a reference, got"),
        (lambda r: r[True], TypeError, "an index of a reference must not be a bool"),
        (lambda r: freed()[0], ValueError, "must not be used any more: free_ref was called on it"),
        (
            lambda r: px.jit(lambda x: (px.freeze(s := px.new_ref(x)), s[...])[1])(1.0),
            ValueError,
            "freeze was called on it",
        ),
        (lambda r: px.jit(lambda: px.freeze(r))(), ValueError, "freeze: a reference must be ended where it was made"),
        (
            lambda r: r.__setitem__(slice(2), np.ones(3, "f")),
            ValueError,
            "set: value must have the shape of the elements, (2,), or",
        ),
        (lambda r: px.jit(px.freeze)(r), ValueError, "freeze: a reference must be ended where it was made, not inside"),
        (lambda r: px.grad(lambda s: s[0])(r), TypeError, "must not be an argument that is differentiated"),
        (lambda r: bool(r), TypeError, "a reference has no truth value"),
        (
            lambda r: lax.while_loop(lambda c: (r.__setitem__(0, 1.0), c < 1)[1], lambda c: c + 1, 0),
            core.UnsupportedError,
            "while: the condition must not write",
        ),
        (
            lambda r: px.export.export(px.jit(lambda x: r[0] + x))(1.0),
            ValueError,
            "export: an exported function must not take or close over a reference, got one of type Ref{",
        ),
        (lambda r: px.new_ref(px.ShapeDtypeStruct((2,), "float32")), TypeError, "new_ref: value must be an array or a"),
        (
            lambda r: r.set(px.ShapeDtypeStruct((3,), "float32")),
            TypeError,
            "set: value must be an array or a number, got",
        ),
        (lambda r: px.empty_ref(np.array([1, "a"], object)), TypeError, "empty_ref: "),
        (lambda r: r[[1.0, [2.0]]], TypeError, "an index of a reference must be an array or a list of one, got a list"),
        (lambda r: px.ref.get(3.0), TypeError, "get: ref must be a reference, as px.new_ref makes it, got 3.0"),
        (lambda r: px.empty_ref(3), TypeError, "empty_ref: ty must have a shape and a dtype"),
    ],
)
def test_misuse_is_refused(run, kind, message):
    ref = refs()
    with pytest.raises(kind) as caught:
        run(ref)
    assert message in str(caught.value)
    ref[0] = 1.0
    assert ref[...].tolist() == [1, 0, 0]


def test_a_reference_does_not_outlive_its_transformation():
    kept = []
    px.vmap(lambda x: kept.append(px.new_ref(x)))(pnp.ones(2))
    with pytest.raises(core.UnexpectedTracerError, match="after the end of the transformation that made it"):
        kept[0][...]


def test_a_third_partys_primitive_takes_references():
    push_p = extend.define_primitive(
        "push",
        abstract_eval=lambda ref, x: x,
        mutates=(0,),
        discharge=lambda refs, ref, x: (ref[-1], {0: pnp.concatenate([x[None], ref[:-1]])}),
    )

    def push(ref, x):
        return push_p.bind(ref, pnp.asarray(x))

    ref = px.new_ref(pnp.arange(3.0))
    assert float(push(ref, 5.0)) == 2.0
    assert float(px.jit(push)(ref, 6.0)) == 1.0
    assert ref[...].tolist() == [6, 5, 0]
    assert "push a b" in str(px.make_jaxpr(push)(ref, 6.0))
    assert float(px.grad(lambda x: (push(r := px.new_ref(pnp.zeros(2)), x), r[0] * x)[1])(3.0)) == 6.0


def test_pmap_gives_each_device_a_view_of_its_part():
    ref = px.new_ref(pnp.zeros((2, 3)))

    def f(ref, x):
        ref[0] = x
        return ref[...].sum()

    assert px.pmap(f)(ref, pnp.array([1.0, 5.0])).tolist() == [1, 5]
    assert ref[...].tolist() == [[1, 0, 0], [5, 0, 0]]


class Cell:
    """The contents of a reference as a value that pure updates replace: the law that references follow."""

    def __init__(self, value):
        self.value = value

    def __getitem__(self, index):
        return self.value[index]

    def __setitem__(self, index, value):
        self.value = self.value.at[index].set(value)


def random_program(seed):
    """A function that makes random accesses to a reference or a cell of shape (3, 4), and returns a number."""
    draw = np.random.default_rng(seed)
    indices = [0, -1, slice(1, None), (slice(None), 2), (1, slice(0, 3, 2)), (np.array([2, 0]),), ...]
    steps = [(indices[draw.integers(len(indices))], draw.integers(4), draw.integers(3)) for _ in range(6)]

    def run(ref, x, i):
        total = 0.0
        for index, kind, at in steps:
            if kind == 0:
                ref[index] = x * (at + 1)
            elif kind == 1:
                ref[index] += pnp.sin(x) + at
            elif kind == 2:
                ref[(i + at) % 3] *= x
            else:
                total = total * 0.5 + ref[index].sum() * x
        return total + (ref[...] ** 2).sum()

    return run


@pytest.mark.parametrize("seed", range(6))
def test_random_accesses_are_those_of_pure_updates(seed):
    program, start = random_program(seed), pnp.arange(12.0).reshape(3, 4) / 10

    def with_(kind):
        def f(x, i):
            held = kind(start * x)
            return program(held, x, i), held[...]

        return f

    def both(kind):
        f = with_(kind)
        xs, positions = pnp.array([0.3, 1.2]), pnp.array([2, 1])
        return px.jit(
            lambda: (
                f(0.7, 1),
                px.vmap(f)(xs, positions),
                px.vmap(px.grad(lambda x, i: f(x, i)[0]))(xs, positions),
                px.jvp(lambda x: px.jit(f)(x, 2), (0.4,), (1.0,)),
            )
        )()

    for got, want in zip(px.tree.leaves(both(px.new_ref)), px.tree.leaves(both(Cell)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    ref, x = px.new_ref(start), pnp.float32(0.6)
    result = px.jit(program)(ref, x, 1)
    cell = Cell(start)
    np.testing.assert_allclose(result, program(cell, x, 1), rtol=1e-5)
    np.testing.assert_allclose(ref[...], cell.value, rtol=1e-5)


def test_what_only_reads_writes_nothing_back():
    ref = px.new_ref(pnp.ones((2, 3)))
    program = px.make_jaxpr(lambda ref: px.vmap(lambda row: row[0] * 2.0)(ref))(ref)
    assert "<- a" in str(program)
    assert "a[...] <-" not in str(program)
    assert px.jit(lambda x, mock: x, static_argnums=1)(1.0, Mock()) == 1.0


def test_what_a_discharge_rule_returns_is_checked():
    def bound(result):
        kept_p = extend.define_primitive(
            "kept", abstract_eval=lambda ref: ref.inner_aval, mutates=(0,), discharge=lambda refs, x: result(x)
        )
        return kept_p.bind(px.new_ref(pnp.zeros(2)))

    assert bound(lambda x: (x, {0: x + 1})).shape == (2,)
    with pytest.raises(TypeError, match="kept: the discharge rule must return a tuple of the results and of"):
        bound(lambda x: x)
    with pytest.raises(TypeError, match=r"references only, which are the operands \[0\], got contents of operand 1"):
        bound(lambda x: (x, {1: x}))
    with pytest.raises(TypeError, match=r"new contents of operand 0 of type f\d\d\[2\], got f\d\d\[\]"):
        bound(lambda x: (x, {0: x.sum()}))
    with pytest.raises(ValueError, match=r"new contents of the operands \[0, 2\], got 1 results"):
        split_outcome([1.0], (0, 2))


@of_32_bits
def test_a_reference_names_its_memory_and_its_kind():
    def f(x):
        ref = px.new_ref(x, memory_space=Space.Host, kind="scratch")
        ref[...] += 1.0
        return ref[...]

    assert "b:Ref<Space.Host>{f32[]} = new_ref[kind=scratch memory_space=Space.Host] a" in str(px.make_jaxpr(f)(1.0))
    assert float(px.jit(f)(1.0)) == 2.0
    assert px.new_ref(1.0, memory_space=Space.Device).aval.memory_space is Space.Device
    with pytest.raises(core.UnsupportedError, match=r"memory_space must be None or Space\.Device outside of programs"):
        px.new_ref(1.0, memory_space=Space.Host)
    with pytest.raises(TypeError, match=r"new_ref: kind must be hashable, got \[\]"):
        px.new_ref(1.0, kind=[])
