"""Products of arrays and Einstein's summation convention against jax.numpy."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpycheck import agree, compare, refuses, sample
from oracle import jax_does

import primax as px
import primax.numpy as pnp

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((1, 1, 2, 3), (1, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (4, 3)),
    ((), (3,)),
    ((2, 0), (0, 3)),
]


def pairs(name: str) -> dict[str, Callable[..., Any]]:
    """A function of two arrays for every pair of shapes."""
    return {
        f"{name} {left} {right}": lambda m, left=left, right=right: getattr(m, name)(
            m.asarray(sample("float32", left)), m.asarray(sample("float32", right, seed=1))
        )
        for left, right in SHAPES
    }


def test_products_agree_with_jax() -> None:
    compare({**pairs("dot"), **pairs("matmul"), **pairs("inner"), **pairs("outer"), **pairs("kron")})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("bool", "bool"),
        ("int8", "uint8"),
        ("int32", "float32"),
        ("bfloat16", "bfloat16"),
        ("float16", "int32"),
        ("complex64", "float32"),
    ],
)
def test_dtypes_of_products_agree_with_jax(left: str, right: str) -> None:
    calls = {
        name: lambda m, x, y, name=name: getattr(m, name)(x, y)
        for name in ("dot", "matmul", "inner", "vdot", "kron", "vecdot", "outer")
    }
    if left == "bool":
        del calls["kron"]  # which jax refuses
    calls |= {
        "operator": lambda m, x, y: x @ y,
        "tensordot": lambda m, x, y: m.tensordot(x, y, 1),
        "preferred": lambda m, x, y: m.matmul(x, y, preferred_element_type="complex64"),
        "einsum": lambda m, x, y: m.einsum("ij,jk", x, y),
    }
    compare(
        calls,
        sample(left, (3, 3)),
        sample(right, (3, 3), seed=1),
        weak=False,
        rtol={"bfloat16": 5e-2, "float16": 1e-2}.get(left),
    )


def test_further_products_agree_with_jax() -> None:
    calls = {
        "tensordot": lambda m, x, y: (
            m.tensordot(x, y, ((1, 2), (0, 1))),
            m.tensordot(x, y[0], (-1, 0)),
            m.tensordot(x, y, 0),
        ),
        "tensordot lengths": lambda m, x, y: m.tensordot(x, y, ((0,), (0,))),
        "tensordot rank": lambda m, x, y: m.tensordot(x, y, 4),
        "vecdot": lambda m, x, y: (m.vecdot(x, x), m.vecdot(x, x[:1], axis=1), m.vecdot(x * 1j, x)),
        "vecdot lengths": lambda m, x, y: m.vecdot(x, y),
        "matvec": lambda m, x, y: (m.matvec(x, x[0, 0]), m.matvec(x, x[:, 0])),
        "vecmat": lambda m, x, y: (m.vecmat(x[:, :, 0], x), m.vecmat(x[0, :, 0], x), m.vecmat(x[:, :, 0] * 1j, x)),
        "vdot": lambda m, x, y: (m.vdot(x, x * 2), m.vdot(x * 1j, x)),
        "vdot sizes": lambda m, x, y: m.vdot(x, y),
        "cross": lambda m, x, y: (m.cross(x[:, 0, :3], x[:, 1, :3]), m.cross(x[0], x[1], axisa=0, axisb=0, axisc=0)),
        "cross lengths": lambda m, x, y: m.cross(x, x),
        "kron": lambda m, x, y: (m.kron(x, y[0]), m.kron(2, x)),
        "scalars": lambda m, x, y: (m.dot(2, x), m.inner(x, 2.5), m.dot(3, 4)),
    }
    if not jax_does("cross takes no vectors of length 2"):
        calls["cross plane"] = lambda m, x, y: (m.cross(x[0, 0, :2], x[0, 1, :2]), m.cross(x[0, 0, :2], x[0, 1, :3]))
    compare(calls, sample("float32", (2, 3, 4)), sample("float32", (3, 4, 2), seed=1), weak=False)


def test_cross_takes_vectors_of_a_plane() -> None:
    x, y, z = np.float32([1, 2]), np.float32([3, 5]), np.float32([3, 5, 7])
    agree(pnp.cross(x, y), pnp.asarray(np.float32(-1)))
    agree(pnp.cross(x, z), pnp.asarray(np.float32([14, -7, -1])))


EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("ba,b", (2, 3), (2,)),
    ("i,i", (3,), (3,)),
    ("i,j->ij", (3,), (4,)),
    ("i,j->ji", (3,), (4,)),
    ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,ji->ij", (2, 3), (3, 2)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bjk->ikb", (2, 3, 4), (2, 4, 5)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("bhqk,bkhd->bqhd", (2, 3, 4, 6), (2, 6, 3, 5)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iii->i", (3, 3, 3)),
    ("iji->j", (3, 2, 3)),
    ("ijij->ji", (2, 3, 2, 3)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ba", (2, 3)),
    ("ii,ij->j", (3, 3), (3, 2)),
    ("ij,k->i", (2, 3), (4,)),
    ("ijk,jk,k->i", (2, 3, 4), (3, 4), (4,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("a,b,c->cab", (2,), (3,), (4,)),
    ("...ij,...jk->...ik", (5, 2, 3), (3, 4)),
    ("...ij,...jk->...ik", (5, 1, 2, 3), (6, 3, 4)),
    ("i...,i...", (3, 2), (3, 2)),
    ("...i->i...", (2, 3, 4)),
    ("...->...", (2, 3)),
    ("...i,i->...", (2, 3), (3,)),
    ("i...->...", (3, 2, 4)),
    ("i,...->i...", (3,), (2, 4)),
    ("ij,jk->ik", (2, 1), (3, 4)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("ij,jk->iik", (2, 3), (3, 4)),
    ("ij,jk->il", (2, 3), (3, 4)),
    ("ij,jk->ik", (2, 3), (4, 4)),
    ("ij->i", (2, 3), (3,)),
    ("ijk->i", (2, 3)),
    ("ii->i", (2, 3)),
]


def einsum_calls(**options: Any) -> dict[str, Callable[..., Any]]:
    return {
        f"{subscripts}{shapes}": lambda m, subscripts=subscripts, shapes=shapes: m.einsum(
            subscripts, *[m.asarray(sample("float32", shape, seed=i)) for i, shape in enumerate(shapes)], **options
        )
        for subscripts, *shapes in EINSUMS
    }


def test_einsum_agrees_with_jax() -> None:
    compare(einsum_calls())


def test_orders_of_multiplication_give_the_same() -> None:
    arrays = [sample("float32", shape, seed=i) for i, shape in enumerate([(2, 3), (3, 4), (4, 5), (5, 2)])]
    expected = np.einsum("ij,jk,kl,lm->im", *arrays)
    path, text = pnp.einsum_path("ij,jk,kl,lm->im", *arrays)
    assert len(path) == 3
    assert "Complete contraction:  ij,jk,kl,lm->im" in str(text)
    assert (text.naive_scale, text.naive_cost, max(text.scale_list)) == (5, 2 * 3 * 4 * 5 * 2 * 4, 3)
    assert text.opt_cost < text.naive_cost
    assert text.largest_intermediate == max(text.size_list)
    assert len(str(text).splitlines()) == 13
    for optimize in (True, False, "greedy", "optimal", path, [(0, 1), (0, 2), (0, 1)]):
        assert np.allclose(pnp.einsum("ij,jk,kl,lm->im", *arrays, optimize=optimize), expected, rtol=1e-5)
    refuses(ValueError, "optimize must be 3 pairs", pnp.einsum, "ij,jk,kl,lm->im", *arrays, optimize=[(0, 1)])


def test_dtypes_of_results_that_are_told_are_strong_and_compared_with_those_of_operands() -> None:
    small, unsigned = sample("int8", (3, 3)), sample("uint16", (3, 3), seed=1)
    calls: dict[str, Any] = {}
    for name in ("dot", "matmul", "inner", "tensordot", "vecdot"):
        calls[name] = lambda m, name=name: getattr(m, name)(
            m.asarray([2.0]),
            m.asarray([3.0]),
            **({"axes": 1} if name == "tensordot" else {}),
            preferred_element_type="float32",
        )
        calls[f"{name} of two dtypes"] = lambda m, name=name: getattr(m, name)(
            small, unsigned, preferred_element_type="float16"
        )
    calls["dot of numbers"] = lambda m: m.dot(2.0, 3.0, preferred_element_type="float32")
    calls["einsum"] = lambda m: m.einsum("i,i", m.asarray([2.0]), m.asarray([3.0]), preferred_element_type="float32")
    compare(calls)


def test_the_optimal_order_takes_the_fewest_operations() -> None:
    arrays = [np.ones(shape, np.float32) for shape in ((2, 8), (8, 2), (2, 16), (16, 3))]
    subscripts = "ij,jk,kl,lm->im"
    orders = [[(i, j), (k, m), (0, 1)] for j in range(4) for i in range(j) for m in range(3) for k in range(m)]
    costs = [pnp.einsum_path(subscripts, *arrays, optimize=order)[1].opt_cost for order in orders]
    for optimize in ("optimal", "auto", True):
        assert pnp.einsum_path(subscripts, *arrays, optimize=optimize)[1].opt_cost == min(costs) < max(costs)
    many = [np.ones((2, 3) if i % 2 == 0 else (3, 2), np.float32) for i in range(11)]
    letters = ",".join("abcdefghijkl"[i : i + 2] for i in range(11))
    assert len(pnp.einsum_path(letters, *many, optimize="optimal")[0]) == 10


def test_optimal_orders_cost_no_more_than_those_of_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    rng = random.Random(0)
    sizes = {label: rng.choice([2, 3, 5, 10]) for label in "abcdefgh"}
    for _ in range(30):
        terms = ["".join(rng.sample("abcdefgh", rng.randint(1, 3))) for _ in range(rng.randint(3, 6))]
        output = "".join(rng.sample(sorted(set("".join(terms))), rng.randint(0, 2)))
        subscripts = f"{','.join(terms)}->{output}"
        arrays = [np.ones([sizes[label] for label in term], np.float32) for term in terms]
        ours, theirs = (m.einsum_path(subscripts, *arrays, optimize="optimal")[1] for m in (pnp, jnp))
        assert ours.opt_cost <= theirs.opt_cost, subscripts


def test_einsum_path_refuses_axes_of_different_lengths() -> None:
    refuses(ValueError, "axes of the same label must have the same length", pnp.einsum_path, "ii", pnp.ones((2, 3)))


def test_einsum_takes_lists_of_integers() -> None:
    x, y = sample("float32", (2, 3)), sample("float32", (3, 4))
    assert np.allclose(pnp.einsum(x, [0, 1], y, [1, 2], [0, 2]), x @ y, rtol=1e-5)
    assert np.allclose(pnp.einsum(x, [0, 1], y, [1, 2]), x @ y, rtol=1e-5)
    assert np.allclose(pnp.einsum(x, [..., 1], y, [1, 2], [..., 2]), x @ y, rtol=1e-5)


def names(function: Any, *shapes: tuple[int, ...]) -> list[str]:
    """The primitives of a function of arrays of these shapes."""
    jaxpr = px.make_jaxpr(function)(*[np.ones(shape, np.float32) for shape in shapes])
    return [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns]


def test_products_are_one_dot_general_and_at_most_a_transpose() -> None:
    assert names(pnp.dot, (2, 3), (3, 4)) == ["dot_general"]
    assert names(pnp.dot, (3,), (3,)) == ["dot_general"]
    assert names(pnp.matmul, (5, 2, 3), (3, 4)) == ["dot_general"]
    assert names(pnp.matmul, (5, 2, 3), (5, 3, 4)) == ["dot_general"]
    assert names(pnp.matmul, (2, 3), (5, 3, 4)) == ["dot_general", "transpose"]
    assert names(pnp.matmul, (5, 3), (6, 3, 4)) == ["dot_general", "transpose"]
    for subscripts, *shapes in EINSUMS[:13]:
        found = names(lambda *xs, subscripts=subscripts: pnp.einsum(subscripts, *xs), *shapes)
        assert found.count("dot_general") + found.count("mul") == 1, (subscripts, found)
        assert set(found) <= {"dot_general", "mul", "transpose"}, (subscripts, found)
        assert found.count("transpose") <= 1, (subscripts, found)
    assert names(lambda x, y: pnp.einsum("ij,jk->ki", x, y), (2, 3), (3, 4)) == ["dot_general"]
    assert names(lambda x, y: pnp.einsum("bij,bkj->bki", x, y), (2, 3, 4), (2, 5, 4)) == ["dot_general"]
    assert names(lambda x: pnp.einsum("ii->i", x), (3, 3)) == ["reshape", "slice"]
    assert names(lambda x: pnp.einsum("ij->j", x), (3, 3)) == ["reduce_sum"]


@pytest.mark.parametrize("name", ["dot", "matmul", "inner", "tensordot", "vecdot", "matvec", "vecmat", "einsum"])
@pytest.mark.parametrize(
    "dtypes", [("int32", "float32"), ("float16", "bfloat16"), ("uint8", "int8"), ("bool", "int32")]
)
def test_products_of_two_dtypes_bind_operands_as_they_are(name: str, dtypes: tuple[str, str]) -> None:
    """As in jax: an interpreter's class of arrays may have a rule for the dtype that it is given."""
    jax = pytest.importorskip("jax")

    def types(package: Any) -> list[Any]:
        function = getattr(package.numpy, name)
        if name == "einsum":
            function = functools.partial(function, "ij,jk->ik")
        one, other = (package.numpy.ones((2, 2), dtype) for dtype in dtypes)
        other = other[0] if name == "matvec" else other
        one = one[0] if name == "vecmat" else one
        eqns = package.make_jaxpr(function)(one, other).jaxpr.eqns
        found = [eqn for eqn in eqns if eqn.primitive.name in ("dot_general", "convert_element_type")]
        if not found:  # jax's vecmat and matvec are compiled
            found = [
                each for eqn in eqns for each in eqn.params["jaxpr"].jaxpr.eqns if each.primitive.name == "dot_general"
            ]
        return [
            (
                eqn.primitive.name,
                sorted(str(v.aval.dtype) for v in eqn.invars),
                str(eqn.params["preferred_element_type"]),
            )
            for eqn in found
        ]

    assert types(px) == types(jax)


@pytest.mark.parametrize("name", ["matmul", "einsum"])
def test_products_of_two_dtypes_have_the_derivatives_of_jax(name: str) -> None:
    jax = pytest.importorskip("jax")
    x, y, z = (sample(dtype, (3, 3), seed=i) for i, dtype in enumerate(("int32", "float32", "float16")))

    def f(m: Any, y: Any, z: Any) -> Any:
        product = m.matmul if name == "matmul" else functools.partial(m.einsum, "ij,jk->ik")
        return product(product(x, y), z).sum() + product(z, x).sum()

    ours = px.grad(lambda y, z: f(pnp, y, z), argnums=(0, 1))(y, z)
    theirs = jax.grad(lambda y, z: f(jax.numpy, y, z), argnums=(0, 1))(y, z)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        assert np.allclose(np.asarray(one, np.float32), np.asarray(other, np.float32), rtol=2e-3)


def test_derivatives_of_products_agree_with_jax() -> None:
    jax = pytest.importorskip("jax")
    x, y = sample("float32", (2, 3, 4)), sample("float32", (2, 4, 3), seed=1)

    def f(m: Any, x: Any, y: Any) -> Any:
        return (m.einsum("bij,bjk->ik", x, y) ** 2).sum() + m.matmul(x, y).sum() + m.einsum("bii->", m.matmul(x, y))

    ours = px.grad(lambda x, y: f(pnp, x, y), argnums=(0, 1))(x, y)
    theirs = jax.grad(lambda x, y: f(jax.numpy, x, y), argnums=(0, 1))(x, y)
    for one, other in zip(ours, theirs, strict=True):
        assert np.allclose(one, other, rtol=1e-4, atol=1e-5)


def test_precision_reaches_the_equation() -> None:
    for function in (pnp.dot, pnp.matmul, pnp.inner, pnp.vdot, lambda x, y, **k: pnp.einsum("ij,jk", x, y, **k)):
        jaxpr = px.make_jaxpr(lambda x, y, f=function: f(x, y, precision="highest", preferred_element_type="float32"))(
            np.ones((3, 3), np.float16), np.ones((3, 3), np.float16)
        )
        (eqn,) = [eqn for eqn in jaxpr.jaxpr.eqns if eqn.primitive.name == "dot_general"]
        assert eqn.params["precision"] == (px.lax.Precision.HIGHEST,) * 2
        assert eqn.outvars[0].aval.dtype == np.float32


def test_names_of_precisions_become_precisions_as_in_jax() -> None:
    jax = pytest.importorskip("jax")
    for name in (
        "default",
        "fastest",
        "bfloat16",
        "high",
        "bfloat16_3x",
        "tensorfloat32",
        "highest",
        "float32",
        None,
        2,
    ):
        ours, theirs = px.lax.Precision(name), jax.lax.Precision(name)
        assert (str(ours), repr(ours), ours.value) == (str(theirs), repr(theirs), theirs.value)
    for wrong in ("HIGHEST", "x", 3, 1.5, ("high",)):
        with pytest.raises(ValueError, match="is not a valid Precision"):
            px.lax.Precision(wrong)
    assert str(px.lax.DotAlgorithmPreset.F32_F32_F32) == str(jax.lax.DotAlgorithmPreset.F32_F32_F32)


def test_messages_name_function_and_numbers() -> None:
    x = pnp.ones((2, 3))
    refuses(TypeError, "dot: the last axis of a and axis 0 of b must have the same length, got 3 and 2", pnp.dot, x, x)
    refuses(TypeError, "matmul: arguments must have an axis", pnp.matmul, 2, x)
    refuses(ValueError, "einsum: subscripts must have a part for each operand, got 1 parts", pnp.einsum, "ij", x, x)
    refuses(
        ValueError, "einsum: axes of the same label must have the same length, got 2 and 3 for 'i'", pnp.einsum, "ii", x
    )
    refuses(ValueError, "einsum: subscripts must have a letter for each axis, got 'i'", pnp.einsum, "i", x)
    refuses(ValueError, "each label of the result must be a label of an operand", pnp.einsum, "ij->k", x)
    refuses(ValueError, "cross: vectors must be of length 2 or 3, got 4", pnp.cross, pnp.ones(4), pnp.ones(3))


@pytest.mark.parametrize(
    "subscripts", ["ij->", "ij->i", "ii", "ii->i", "ij,jk->ik", "ij,jk->", "ij,ij->ij", "ij,ij,jk->k"]
)
def test_sums_of_products_of_booleans_agree_with_jax(subscripts: str) -> None:
    x = np.array([[True, False], [True, True]])
    count = subscripts.split("->")[0].count(",") + 1
    compare({subscripts: lambda m, x: m.einsum(subscripts, *[x] * count)}, x)
    compare({subscripts: lambda m, x: m.einsum(subscripts, *[x] * count, preferred_element_type=np.int32)}, x)


@pytest.mark.parametrize("subscripts", ["bij,bjk->bik", "bij,bjk->bki", "bij,bjk->", "bij,bij->bij"])
def test_einsum_multiplies_by_what_it_is_given(subscripts):
    calls = []

    def multiply(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None):
        calls.append(preferred_element_type)
        return px.lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)

    x = np.arange(32, dtype=np.float32).reshape(2, 4, 4)
    found = pnp.einsum(subscripts, x, x, _dot_general=multiply)
    np.testing.assert_allclose(found, np.einsum(subscripts, x, x), rtol=1e-5)
    assert calls == [np.float32]


def test_einsum_takes_names_of_axes_in_lists():
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    found = pnp.einsum(x, ["rows", "inner"], y, ["inner", "columns"], ["columns", "rows"])
    np.testing.assert_allclose(found, (x @ y).T)
    # Without a list for the result its axes are in the order of the names.
    np.testing.assert_allclose(pnp.einsum(x, ["z", "b"], y, ["b", "a"]), (x @ y).T)
    np.testing.assert_allclose(pnp.einsum(x, [..., "b"], [...]), x.sum(1))
    with pytest.raises(TypeError, match="names that can be ordered"):
        pnp.einsum(x, ["rows", 3])
