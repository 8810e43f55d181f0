"""x[...] and x.at[...] with arrays of integers, masks and traced integers, against NumPy and jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpycheck import refuses

import primax as px
import primax.numpy as pnp

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

X = np.arange(1, 61, dtype=np.float32).reshape(3, 4, 5)
OPERATIONS = {
    "set": None,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@st.composite
def indices(draw: Any, shape: tuple[int, ...] = X.shape, unique: bool = False) -> tuple[Any, ...]:
    """An index as NumPy takes it: ints, slices, None, Ellipsis, arrays that broadcast together, and masks."""
    common = draw(st.sampled_from([(2,), (2, 3), (1,), (3, 1)]))
    entries: list[Any] = []
    used = draw(st.integers(0, len(shape)))
    for size in shape[:used]:
        kind = draw(st.sampled_from(["int", "slice", "array", "mask"]))
        if kind == "int":
            entries.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            entries.append(draw(st.slices(size)))
        elif kind == "mask" and len(common) == 1:
            count = draw(st.sampled_from([1, common[0]]))
            chosen = draw(st.permutations(range(size)))[:count]
            entries.append(np.isin(np.arange(size), chosen))
        else:
            one = draw(st.sampled_from([common, common[-1:], (1,) * len(common), ()]))
            count = int(np.prod(one))
            values = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
            entries.append(np.array(values, np.int32).reshape(one))
    for extra in draw(st.lists(st.sampled_from([None, ...]), max_size=2)):
        if extra is None or not any(entry is ... for entry in entries):
            place = draw(st.integers(0, len(entries)))
            if extra is None or place == len(entries):
                entries.insert(place, extra)
    return tuple(entries)


def split(index: tuple[Any, ...], traced: bool) -> tuple[list[Any], Any]:
    """The arrays of integers in an index that are to be traced, and the index from them."""

    def moves(entry: Any) -> bool:
        return traced and isinstance(entry, np.ndarray) and entry.dtype != bool

    def joined(arrays: Any) -> tuple[Any, ...]:
        found = iter(arrays)
        return tuple([next(found) if moves(entry) else entry for entry in index])

    return [entry for entry in index if moves(entry)], joined


@settings(max_examples=8)
@given(st.lists(indices(), min_size=12, max_size=12), st.booleans())
def test_indices_of_all_kinds_read_what_numpy_reads(many: list[Any], traced: bool) -> None:
    x = pnp.asarray(X)
    parts = [split(index, traced) for index in many]
    found = px.jit(lambda x, arrays: [x[join(a)] for a, (_, join) in zip(arrays, parts, strict=True)])(
        x, [arrays for arrays, _ in parts]
    )
    for index, out in zip(many, found, strict=True):
        expected = X[index]
        assert out.shape == expected.shape, index
        np.testing.assert_array_equal(out, expected, err_msg=str(index))
        eager = x[index]
        assert eager.shape == expected.shape, index
        np.testing.assert_array_equal(eager, expected, err_msg=str(index))


@settings(max_examples=8)
@given(st.lists(indices(), min_size=6, max_size=6), st.booleans(), st.randoms(use_true_random=False))
def test_indices_of_all_kinds_change_what_numpy_changes(many: list[Any], traced: bool, random: Any) -> None:
    parts = [split(index, traced) for index in many]
    names = [random.choice(list(OPERATIONS)) for _ in many]
    values = [np.linspace(2, 9, X[index].size, dtype=np.float32).reshape(X[index].shape) for index in many]

    def run(x: Any, arrays: Any, values: Any) -> Any:
        return [
            getattr(x.at[join(a)], name)(v) for a, (_, join), name, v in zip(arrays, parts, names, values, strict=True)
        ]

    found = px.jit(run)(X, [arrays for arrays, _ in parts], values)
    for index, name, value, out in zip(many, names, values, found, strict=True):
        expected = X.copy()
        if OPERATIONS[name] is None:
            places = np.arange(X.size).reshape(X.shape)[index]
            expected[index] = value
            repeated = np.unique(places, return_counts=True)
            several = np.isin(np.arange(X.size), repeated[0][repeated[1] > 1]).reshape(X.shape)
            np.testing.assert_array_equal(np.where(several, 0, out), np.where(several, 0, expected), err_msg=str(index))
        else:
            OPERATIONS[name].at(expected, index, value)
            np.testing.assert_allclose(out, expected, rtol=1e-5, err_msg=f"{name} {index}")


OUTSIDE: list[Any] = [
    7,
    -9,
    (0, 9),
    np.int32([0, 7, -1, -9]),
    (slice(None), np.int32([9, 1]), -1),
    (np.int32([[0], [5]]), slice(1, 3), np.int32([9, -9])),
    (None, 9, slice(None, None, -2)),
]


def test_what_is_out_of_range_is_read_and_written_as_in_jax() -> None:
    jax = pytest.importorskip("jax")

    def run(x: Any, arrays: Any, traced: bool) -> list[Any]:
        out = []
        for index, moving in zip(OUTSIDE, arrays, strict=True):
            index = split(index if isinstance(index, tuple) else (index,), traced)[1](moving)
            at = x.at[index]
            out += [x[index], at.get(), at.set(1.5), at.set(2.5, wrap_negative_indices=False)]
            out += [at.get(mode="fill"), at.get(mode="fill", fill_value=-1, wrap_negative_indices=False)]
            out += [at.get(mode="clip"), at.add(3.0, mode="clip"), at.get(mode="promise_in_bounds")]
            if traced:
                out += [
                    at.multiply(2.0, mode="drop"),
                    at.apply(lambda y: y * y),
                    at.max(30.0, mode="promise_in_bounds"),
                ]
        return out

    for traced in (False, True):
        arrays = [split(index if isinstance(index, tuple) else (index,), traced)[0] for index in OUTSIDE]
        ours = px.jit(run, static_argnums=2)(X, arrays, traced)
        theirs = jax.jit(run, static_argnums=2)(X, arrays, traced)
        for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=str((k, traced)))


def test_derivatives_of_reads_and_writes_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    rows, weights = np.int32([2, 2, 0, 7, -1]), np.linspace(0.3, 1, 60, dtype=np.float32).reshape(X.shape)
    values = np.linspace(1, 2, 100, dtype=np.float32).reshape(5, 4, 5)

    def slopes(m: Any, grad: Any, x: Any, u: Any) -> Any:
        out = []
        for mode in (None, "clip"):
            for name in ("set", "add", "min"):
                out.append(
                    grad(
                        lambda x, u, n=name, mode=mode: (getattr(x.at[rows], n)(u, mode=mode) * weights).sum(), (0, 1)
                    )(x, u)
                )
            out.append(grad(lambda x, u, mode=mode: (m.sin(x.at[rows].get(mode=mode)) * u).sum(), (0, 1))(x, u))
        out.append(grad(lambda x, u: (m.sin(x[rows[:3], :, rows[1:4]]) * u[:3, :, 0]).sum(), (0, 1))(x, u))
        out.append(
            grad(lambda x, u: (x.at[rows[:2], 1:3].multiply(u[:2, 1:3], unique_indices=True) * weights).sum())(x, u)
        )
        return out

    ours = px.jit(lambda x, u: slopes(pnp, px.grad, x, u))(X, values)
    theirs = jax.jit(lambda x, u: slopes(jax.numpy, jax.grad, x, u))(X, values)
    for one, other in zip(px.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_products_of_several_values_on_one_element_have_derivatives() -> None:
    rows = np.int32([1, 1, 3])
    x, u = np.float32([2, 3, 4, 5]), np.float32([2, 4, 8])
    quotient = px.grad(lambda u: pnp.asarray(x).at[rows].divide(u)[1])(u)
    np.testing.assert_allclose(quotient, [-3 / 16, -3 / 32, 0], rtol=1e-6)
    power = px.grad(lambda u: pnp.asarray(x).at[rows].power(u)[3])(u)
    np.testing.assert_allclose(power, [0, 0, np.log(5.0) * 5.0**8], rtol=1e-5)
    applied = px.grad(lambda x: x.at[rows].apply(pnp.exp)[1])(x / 10)
    np.testing.assert_allclose(applied, [0, np.exp(np.exp(0.3)) * np.exp(0.3), 0, 0], rtol=1e-6)


def test_reads_and_writes_may_be_mapped() -> None:
    xs, rows, values = np.stack([X, 2 * X]), np.int32([[0, 2], [1, -1]]), np.float32([10, 20])
    read, added, chosen = px.vmap(lambda x, i, v: (x[i, :, i], x.at[i].add(v), x[i[0]]))(xs, rows, values)
    for k in range(2):
        np.testing.assert_array_equal(read[k], xs[k][rows[k], :, rows[k]])
        expected = xs[k].copy()
        expected[rows[k]] += values[k]
        np.testing.assert_array_equal(added[k], expected)
        np.testing.assert_array_equal(chosen[k], xs[k][rows[k][0]])
    shared = px.vmap(lambda i: pnp.asarray(X).at[i].set(0.0))(rows)
    assert [int((out == 0).sum()) for out in shared] == [40, 40]


def test_integers_that_are_known_cost_no_program_of_their_own() -> None:
    device = px.devices()[0]
    x = px.device_put(X, device)
    count = pnp.size

    def parts() -> list[Any]:
        return [x[i] for i in range(3)] + [px.grad(lambda y, i=i: y[i].sum())(pnp.asarray(X)) for i in range(3)]

    from_slices = [eqn.primitive.name for eqn in px.make_jaxpr(lambda x: x[1])(X).jaxpr.eqns]
    assert from_slices == ["slice", "squeeze"]
    cache = px.lax.dynamic_slice_p.programs
    found = parts()
    before = len(cache)
    assert [part.shape for part in found[:3]] == [(4, 5)] * 3
    assert all(part.committed for part in found[:3])
    parts()
    assert len(cache) == before
    assert count(found[3]) == 60


def test_writes_take_few_equations() -> None:
    def names(change: Any) -> list[str]:
        return [eqn.primitive.name for eqn in px.make_jaxpr(lambda x, i: change(x, i))(X, np.int32([0, 1])).jaxpr.eqns]

    assert names(lambda x, i: x.at[1].set(0.0)) == ["broadcast_in_dim", "dynamic_update_slice"]
    assert names(lambda x, i: x.at[:].set(0.0)) == ["broadcast_in_dim"]
    assert names(lambda x, i: x.at[:].add(x)) == ["add"]
    assert names(lambda x, i: x.at[7].set(0.0))[-1] == "scatter"  # which writes nothing, but can be checked
    assert names(lambda x, i: x.at[1:3, 0].add(1.0)) == ["broadcast_in_dim", "scatter-add"]
    assert names(lambda x, i: x.at[i].add(x[:2])) == [
        "slice",
        "lt",
        "add",
        "select_n",
        "broadcast_in_dim",
        "scatter-add",
    ]
    assert names(lambda x, i: x[np.int32([0, -1])]) == ["gather"]


def test_values_are_converted_and_their_shapes_checked() -> None:
    x = pnp.arange(4)
    with pytest.warns(
        FutureWarning, match="must be of a dtype that promotes to that of the array, got float32 for int32"
    ):
        assert x.at[0].set(1.7).tolist() == [1, 1, 2, 3]
    assert x.at[0].set(np.int8(9)).dtype == np.int32
    assert x.at[3].divide(2).tolist() == [0, 1, 2, 1.5]
    assert x.at[np.int32([3, 3])].power(2).tolist() == [0, 1, 2, 81]
    text = "values must have a shape that broadcasts to that of the elements, (2,), got"
    refuses(ValueError, f"{text} (3,)", x.at[:2].set, np.zeros(3, np.int32))
    refuses(ValueError, f"{text} (1, 2)", x.at[:2].set, np.zeros((1, 2), np.int32))
    refuses(ValueError, "mode must be 'clip', 'fill'", x.at[0].set, 1, mode="foo")
    assert (x > 1).at[np.int32([0])].add(True).tolist() == [True, False, True, True]
    refuses(ValueError, "broadcasts to that of the elements, (), got (1,)", x.at[0].set, [1])
    refuses(IndexError, "must hold elements, got axis 0 of an array of shape (0,)", x[:0].at[0].set, 1)
    assert x[:0].at[np.int32([])].set(1).shape == (0,)
    refuses(IndexError, "must have at most one entry per axis, got 2", x.at[0, 0].get)
    refuses(px.errors.NonConcreteBooleanIndexError, "use where(mask, x, y)", px.jit(lambda x: x.at[x > 1].set(0)), x)


def test_references_say_what_they_refer_to() -> None:
    x = pnp.arange(2)
    assert repr(x.at[0]) == "Reference(Array([0, 1], dtype=int32), 0)"
    assert repr(x.at) == "At(Array([0, 1], dtype=int32))"


@pytest.mark.parametrize("mode", [None, "drop", "fill", "clip", "promise_in_bounds", "one_hot"])
def test_updates_of_an_empty_axis_change_nothing(mode: Any) -> None:
    def update(x: Any, y: Any, i: Any) -> list[Any]:
        at = x.at[i]
        arrays = [at.set, at.add, at.subtract, at.multiply, at.divide, at.power, at.min, at.max]
        return [*[change(y, mode=mode) for change in arrays], at.apply(pnp.sin, mode=mode)]

    x, y, i = pnp.zeros(0), pnp.ones(2), pnp.array([0, 1])
    assert all(out.shape == (0,) for out in update(x, y, i))
    assert all(out.shape == (0,) for out in px.jit(update)(x, 1.0, 0))
    assert px.grad(lambda y: sum(out.sum() for out in update(x, y, i)))(y).tolist() == [0.0, 0.0]
    assert all(out.shape == (2, 3, 0) for out in px.vmap(lambda y: update(pnp.zeros((3, 0)).T, y, i)[1].T)(y)[None])
    assert pnp.zeros((3, 0)).at[i, i].set(1.0, mode=mode).shape == (3, 0)


def test_an_empty_axis_is_read_only_as_a_fill_value() -> None:
    x, i = pnp.zeros(0), pnp.array([0, 1])
    assert np.isnan(x.at[i].get(mode="fill")).tolist() == [True, True]
    assert np.isnan(px.jit(lambda x, i: x.at[i].get(mode="drop"))(x, 0))
    assert pnp.zeros((2, 0), int).at[:, i].get(mode="fill", fill_value=7).tolist() == [[7, 7], [7, 7]]
    assert px.grad(lambda x: x.at[i].get(mode="fill", fill_value=1).sum())(x).shape == (0,)
    assert np.isnan(pnp.take_along_axis(x, i, 0)).all()
    assert x.at[0].add(1.0, mode="drop").shape == (0,)
    refuses(IndexError, "take: a must hold elements along axis 0", pnp.take, x, i)
    for mode in (None, "clip", "promise_in_bounds"):
        refuses(IndexError, "must hold elements", x.at[i].get, mode=mode)
        refuses(IndexError, "mode='drop' updates nothing", x.at[0].set, 1.0, mode=mode)
    numbers = px.lax.ScatterDimensionNumbers((), (0,), (0,))
    assert px.grad(lambda y: px.lax.scatter_add(x, i[:, None], y, numbers).sum())(pnp.ones(2)).tolist() == [0.0, 0.0]
