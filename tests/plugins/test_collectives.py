"""Collectives over axes that vmap names: jax and NumPy are what they are compared with."""

from __future__ import annotations

import numpy as np
import pytest

import primax as px
import primax.numpy as pnp
from primax import lax
from primax.extend.core import named_axes

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.sin(np.arange(8, dtype=np.float32)).reshape(4, 2)


def over_i(fun, **options):
    return px.vmap(fun, axis_name="i", **options)


def over_both(fun, x, order):
    """The function mapped over axes i and j of x, the first of which is in front, nested in one order or the other."""
    if order == "ij":
        return np.asarray(px.jit(px.vmap(px.vmap(fun, axis_name="j"), axis_name="i"))(x))
    return np.asarray(px.jit(px.vmap(px.vmap(fun, axis_name="i"), 1, 1, axis_name="j"))(x))


CALLS = {
    "psum": lambda lax, x: lax.psum(x, "i"),
    "psum of axes of both kinds": lambda lax, x: lax.psum(x, ("i", 0)),
    "pmean": lambda lax, x: lax.pmean({"a": x, "b": (x,)}, "i")["b"][0],
    "pmax": lambda lax, x: lax.pmax(x, "i"),
    "pmin": lambda lax, x: lax.pmin(x, "i"),
    "axis_index": lambda lax, x: lax.axis_index("i") * x,
    "all_gather": lambda lax, x: lax.all_gather(x, "i", axis=-1),
    "all_gather, tiled": lambda lax, x: lax.all_gather(x, "i", axis=1, tiled=True),
    "psum_scatter": lambda lax, x: lax.psum_scatter(x, "i", scatter_dimension=1),
    "psum_scatter, tiled": lambda lax, x: lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True),
    "all_to_all": lambda lax, x: lax.all_to_all(x, "i", 1, 1),
    "all_to_all, tiled": lambda lax, x: lax.all_to_all(x, "i", 0, 1, tiled=True),
    "ppermute": lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "pshuffle": lambda lax, x: lax.pshuffle(x, "i", [2, 0, 3, 1]),
    "pswapaxes": lambda lax, x: lax.pswapaxes(x, "i", 1),
}


def test_collectives_and_their_derivatives_are_those_of_jax():
    jax = pytest.importorskip("jax")
    x = np.cos(np.arange(128, dtype=np.float32)).reshape(4, 8, 4)

    def compute(p):
        def apply(name, x):
            return CALLS[name](p.lax, x)

        def results(name, x):
            def inside(x):
                return p.vmap(lambda x: apply(name, x), axis_name="i")(x)

            def scalar(x):
                return p.numpy.sum(p.numpy.sin(apply(name, x)))

            found = [inside(x), p.vmap(inside, 2, -1)(p.numpy.stack([x, -x], 2))]
            if name not in ("pmax", "pmin"):  # which jax does not differentiate
                found.append(p.vmap(p.grad(p.jit(scalar)), axis_name="i")(x))
            return found

        return p.jit(lambda x: {name: results(name, x) for name in CALLS})(x)

    ours, theirs = compute(px), compute(jax)
    for name in CALLS:
        for mine, other in zip(ours[name], theirs[name], strict=True):
            assert mine.dtype == other.dtype, name
            np.testing.assert_allclose(mine, other, atol=4e-6, err_msg=name)


def expected(op, x, groups, options):
    """What each along axis 0 of x gets, by NumPy."""
    results = []
    for i in range(len(x)):
        group = next(group for group in groups if i in group)
        xs, mine = x[list(group)], group.index(i)
        join = np.concatenate if options.get("tiled") else np.stack
        if op == "psum":
            out = xs.sum(0)
        elif op == "pmean":
            out = xs.mean(0)
        elif op == "pmax":
            out = xs.max(0)
        elif op == "all_gather":
            out = join(xs, options["axis"])
        else:
            along = options.get("scatter_dimension", options.get("split_axis"))
            sources = [xs.sum(0)] if op == "psum_scatter" else xs
            parts = [np.split(each, len(group), along)[mine] for each in sources]
            parts = parts if options.get("tiled") else [part.squeeze(along) for part in parts]
            out = parts[0] if op == "psum_scatter" else join(parts, options["concat_axis"])
        results.append(out)
    return np.stack(results)


ALL = ((0, 1, 2, 3, 4, 5),)
PAIRS = ((0, 4), (5, 1), (3, 2))
UNEVEN = ((0, 4, 2), (5,), (1, 3))


@pytest.mark.parametrize(
    "op, groups, shape, options",
    [
        ("psum", ALL, (2,), {}),
        ("psum", UNEVEN, (2,), {}),
        ("pmean", UNEVEN, (2,), {}),
        ("pmax", PAIRS, (2,), {}),
        ("all_gather", ALL, (2, 1), {"axis": 1}),
        ("all_gather", PAIRS, (2, 1), {"axis": 0, "tiled": True}),
        ("psum_scatter", ALL, (2, 6), {"scatter_dimension": 1}),
        ("psum_scatter", PAIRS, (4, 2), {"scatter_dimension": 0, "tiled": True}),
        ("all_to_all", ALL, (6, 2), {"split_axis": 0, "concat_axis": 1}),
        ("all_to_all", PAIRS, (3, 4), {"split_axis": 1, "concat_axis": 0, "tiled": True}),
    ],
)
def test_axes_together_and_groups_are_as_in_numpy(op, groups, shape, options):
    x = np.cos(np.arange(6 * np.prod(shape), dtype=np.float32)).reshape(2, 3, *shape)
    want = expected(op, x.reshape(6, *shape), groups, options)
    if groups is not ALL:
        options = {**options, "axis_index_groups": groups}

    def collective(x):
        return getattr(lax, op)(x, ("i", "j"), **options)

    for order in ("ij", "ji"):
        np.testing.assert_allclose(over_both(collective, x, order).reshape(want.shape), want, atol=1e-5)


def test_permutations_go_along_several_axes_and_leave_zeros():
    x = 1 + np.arange(6, dtype=np.int32).reshape(2, 3)

    def permuted(x):
        return lax.ppermute(x, ("i", "j"), [(0, 3), (3, 1), (2, 5)])

    for order in ("ij", "ji"):
        assert over_both(permuted, x, order).tolist() == [[0, 4, 0], [1, 0, 3]]


def test_the_sum_of_a_constant_is_known_while_the_function_is_traced():
    sizes = []

    def f(x):
        sizes.append((lax.psum(1, "i"), lax.axis_size("i"), lax.psum(2.5, "i"), lax.pmean(3, "i")))
        return pnp.ones(lax.psum(1, "i"))

    assert over_i(f)(X).shape == (4, 4)
    assert sizes == [(4, 4, 10.0, 3.0)]
    assert [type(x) for x in sizes[0]] == [int, int, float, float]


def test_what_is_not_mapped_counts_for_all():
    def f(x):
        return lax.psum(pnp.float32(3), "i"), lax.pmax(pnp.float32(3), "i"), lax.all_gather(pnp.float32(3), "i")

    assert [pnp.max(x).tolist() for x in over_i(f)(X)] == [12, 3, 3]


@pytest.mark.parametrize("concat", [0, 1])
@pytest.mark.parametrize("tiled", [False, True])
def test_what_is_not_mapped_goes_to_all_as_if_it_were(concat, tiled):
    y = np.arange(12, dtype=np.float32).reshape(4, 3)
    mapped = over_i(lambda y: lax.all_to_all(y, "i", 0, concat, tiled=tiled))(np.stack([y] * 4))
    found = over_i(lambda x: lax.all_to_all(y, "i", 0, concat, tiled=tiled))(X)
    np.testing.assert_array_equal(found, mapped)


def uses_in_jit(x):
    return px.jit(lambda: lax.axis_index("i"))()


def uses_in_nested_jit(x):
    return px.jit(lambda: px.jit(lambda: lax.psum(lax.axis_index("i"), "i") + lax.axis_index("i"))() - 6)()


def uses_in_cond(x):
    return lax.cond(True, lambda: lax.axis_index("i"), lambda: 0)


def uses_in_switch(x):
    return lax.switch(lax.axis_index("i") % 2, [lambda: lax.psum(1, "i") - 4, lambda: 1]) + 2 * (
        lax.axis_index("i") // 2
    )


def uses_in_scan(x):
    return lax.scan(lambda carry, _: (carry + lax.axis_index("i"), None), np.int32(0), None, length=1)[0]


def uses_in_ys_of_scan(x):
    return lax.scan(lambda carry, _: (carry, lax.axis_index("i")), np.int32(0), None, length=1)[1][0]


def uses_in_while(x):
    return lax.while_loop(lambda n: n < lax.axis_index("i"), lambda n: n + 1, np.int32(0))


def uses_in_body_of_while(x):
    return lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, lax.axis_index("i")), (0, 0))[1]


def uses_in_custom_jvp(x):
    f = px.custom_jvp(lambda y: y + lax.axis_index("i"))
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f(pnp.float32(0))


def uses_in_custom_vjp(x):
    f = px.custom_vjp(lambda y: y + lax.axis_index("i"))
    f.defvjp(lambda y: (f(y), None), lambda _, ct: (ct,))
    return f(pnp.float32(0))


def uses_in_custom_vmap(x):
    f = px.custom_batching.custom_vmap(lambda y: y + lax.axis_index("i"))
    return f(pnp.float32(0))


def uses_in_checkpoint(x):
    return px.checkpoint(lambda y: y + lax.axis_index("i"))(pnp.float32(0))


USES = [fun for name, fun in list(globals().items()) if name.startswith("uses_in_")]


@pytest.mark.parametrize("fun", USES, ids=lambda fun: fun.__name__)
def test_programs_that_are_given_nothing_mapped_still_use_the_axis(fun):
    first, second = px.jit(lambda x: (over_i(fun)(x), over_i(px.jit(fun))(x)))(X)
    assert first.tolist() == second.tolist() == [0, 1, 2, 3]


def test_the_backward_rule_of_a_custom_vjp_may_sum_over_the_axis():
    f = px.custom_vjp(lambda y: y)
    f.defvjp(lambda y: (y, y), lambda y, ct: (lax.psum(ct * y, "i"),))
    found = over_i(px.grad(lambda x: pnp.sum(f(x))))(X)
    np.testing.assert_allclose(found, np.broadcast_to(X.sum(0), X.shape), rtol=1e-6)


def test_extrema_share_their_tangent_among_those_that_attain_them():
    x = pnp.array([2.0, 5.0, 5.0, 1.0])
    assert over_i(px.grad(lambda x: lax.pmax(x, "i")))(x).tolist() == [0, 2, 2, 0]
    assert px.grad(lambda x: over_i(lambda x: lax.pmin(x, "i"))(x)[0])(x).tolist() == [0, 0, 0, 1]


def test_normalizing_over_the_batch_has_the_gradient_of_the_same_without_names():
    def normalized(x):
        centered = x - lax.pmean(x, "i")
        return centered / pnp.sqrt(lax.pmean(centered**2, "i") + 0.1)

    def plain(x):
        centered = x - pnp.mean(x, 0)
        return centered / pnp.sqrt(pnp.mean(centered**2, 0) + 0.1)

    def of(f):
        return px.jit(px.value_and_grad(lambda x: pnp.sum(f(x) * pnp.cos(x))))(X)

    for one, other in zip(of(over_i(normalized)), of(plain), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_no_collective_is_left_outside_of_the_axis():
    closed = px.make_jaxpr(px.grad(lambda x: pnp.sum(over_i(px.jit(lambda x: lax.psum(x * x, "i")))(x))))(X)
    assert named_axes(closed) == set()


def test_programs_know_the_axes_that_they_name():
    seen = []

    def f(x):
        seen.append(px.make_jaxpr(lambda x: px.jit(lambda x: lax.psum(x, ("i", "j")))(x) + 1)(x))
        return x

    px.vmap(over_i(f), axis_name="j")(X[None])
    assert named_axes(seen[0]) == {"i", "j"}
    assert "psum[" in str(seen[0])


def test_inner_axes_hide_outer_ones_of_their_name():
    found = over_i(lambda x: over_i(lambda y: lax.psum(y, "i"))(x))(X)
    np.testing.assert_allclose(found, np.broadcast_to(X.sum(1, keepdims=True), X.shape), rtol=1e-6)


def test_axes_that_are_not_in_scope_are_refused_with_those_that_are():
    with pytest.raises(NameError, match=r"psum: .* got 'j'; in scope: 'i' of size 4\. vmap\(f, axis_name='j'\)"):
        over_i(lambda x: lax.psum(x, "j"))(X)
    with pytest.raises(NameError, match=r"all_gather: .* got 'i'; no axis with a name is in scope"):
        lax.all_gather(X, "i")
    with pytest.raises(NameError, match=r"axis_index: .* got 'i'"):
        px.jit(lambda: lax.axis_index("i"))()


def test_a_collective_bound_outside_of_its_axis_says_why_it_cannot_be_computed():
    with pytest.raises(ValueError, match=r"psum: 'i' must be a mapped axis in scope"):
        lax.psum_p.bind(X, axes=("i",), axis_index_groups=None)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda x: lax.psum(x, ("i", "i")), ValueError, r"psum: axis_name must name each axis once, got \('i', 'i'\)"),
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [1, 2]]), ValueError, "each index along"),
        (
            lambda x: lax.psum(x, ("i", 0), axis_index_groups=[[0, 1, 2, 3]]),
            ValueError,
            "axis_index_groups must be None",
        ),
        (lambda x: lax.psum(x, "i", axis_index_groups=3), TypeError, "axis_index_groups must be a sequence"),
        (lambda x: lax.all_gather(x, "i", axis_index_groups=[[0], [1, 2, 3]]), ValueError, "must be of the same size"),
        (lambda x: lax.all_gather(x, "i", axis=2), ValueError, r"all_gather: axis must be in \[-2, 2\), got 2"),
        (lambda x: lax.psum_scatter(x, "i"), ValueError, r"as long as .* size 4, got axis 0 of length 2 for f32\[2\]"),
        (lambda x: lax.psum_scatter(x, "i", tiled=True), ValueError, "psum_scatter: .* must be a multiple of"),
        (lambda x: lax.psum_scatter(pnp.tile(x > 0, 2), "i"), TypeError, "psum_scatter: x must be"),
        (lambda x: lax.all_to_all(x, "i", 0, 0), ValueError, "all_to_all: split_axis must be as long as"),
        (lambda x: lax.ppermute(x, "i", [(0, 4)]), ValueError, r"pairs of indices in \[0, 4\)"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), ValueError, "no source and no destination twice"),
        (lambda x: lax.pshuffle(x, "i", [0, 1, 2]), ValueError, r"pshuffle: perm must hold each index in \[0, 4\)"),
    ],
)
def test_bad_arguments_are_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        over_i(call)(X)


def test_many_elements_are_permuted_by_one_gather():
    order = np.random.default_rng(0).permutation(40)
    pairs = [(int(source), int(to)) for to, source in enumerate(order) if to % 3]
    x = np.arange(40.0, dtype=np.float32)

    def permuted(x):
        return px.vmap(lambda x: lax.ppermute(x, "i", pairs), axis_name="i")(x)

    expected = np.where(np.arange(40) % 3, x[order], 0)
    np.testing.assert_array_equal(permuted(x), expected)
    assert str(px.make_jaxpr(permuted)(x)).count("gather") == 1
    np.testing.assert_array_equal(px.linear_transpose(permuted, x)(expected)[0][order], expected)
