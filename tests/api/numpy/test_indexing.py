"""Static indices against jax.numpy, eagerly and in programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpycheck import compare, refuses

import primax as px
import primax.numpy as pnp
from primax.extend.provisional.avals import arrays_of
from primax.numpy import indexing

X = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)

INDICES: list[Any] = [
    0,
    -1,
    np.int32(1),
    5,
    -7,
    (0, 1, 2),
    (-1, 7, -9),
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(5, 0, -2),
    slice(2, 2),
    slice(np.int64(0), np.uint8(1)),
    ...,
    None,
    (..., 0),
    (None, 0, None),
    (0, ..., None, -1),
    (slice(None), slice(2, 0, -1), 1),
    (slice(None, 1), None, slice(1, 3), ..., slice(None, None, -3)),
    (),
]
REFUSED: list[Any] = [(0, 0, 0, 0), (..., ...), 1.5, "a", slice(None, None, 0), slice(1.5), [0, 1], 1j, {}]


BOOLS: list[Any] = [
    True,
    False,
    (True, 0),
    (0, True),
    (0, None, True),
    (0, slice(None), True),
    (True, False, 1),
    (slice(None), True, 0),
    np.bool_(True),
]


@pytest.mark.parametrize("index", [*BOOLS, *(i for i in INDICES if "7" not in str(i) and i != 5)], ids=str)
def test_static_indices_agree_with_numpy(index: Any) -> None:
    assert np.array_equal(pnp.asarray(X)[index], X[index])


def test_static_indices_agree_with_jax_in_programs() -> None:
    compare({str(index): lambda m, x, index=index: x[index] for index in [*INDICES, *REFUSED]}, X)


@pytest.mark.parametrize("index", [*INDICES, *BOOLS], ids=str)
def test_static_indices_give_the_same_eagerly(index: Any) -> None:
    eager = pnp.asarray(X)[index]
    traced = px.jit(lambda x: x[index])(X)
    assert eager.dtype == traced.dtype
    assert np.array_equal(eager, traced)
    assert eager.shape == traced.shape


@pytest.mark.parametrize("index", REFUSED, ids=str)
def test_bad_indices_are_refused_eagerly(index: Any) -> None:
    with pytest.raises((IndexError, TypeError, ValueError)):
        pnp.asarray(X)[index]


@given(st.data())
def test_slices_agree_with_numpy(data: Any) -> None:
    index = data.draw(st.tuples(*[st.slices(size) for size in X.shape]))
    assert np.array_equal(pnp.asarray(X)[index], X[index])


def test_an_index_out_of_range_is_clamped_as_in_jax() -> None:
    assert pnp.arange(5)[10] == 4
    assert pnp.arange(5)[-7] == 0
    refuses(IndexError, "must hold elements, got axis 0 of an array of shape (0, 2)", pnp.zeros((0, 2)).__getitem__, 0)


def test_arrays_as_indices_of_rank_zero_are_read() -> None:
    x = pnp.asarray(X)
    assert np.array_equal(x[pnp.asarray(1)], X[1])
    assert np.array_equal(x[: pnp.asarray(1), pnp.int32(-1)], X[:1, -1])
    derivative = px.grad(lambda y: y[pnp.asarray(1)] * 2.0)(pnp.arange(3.0))
    assert derivative.tolist() == [0.0, 2.0, 0.0]


def test_what_decides_on_shapes_must_be_known() -> None:
    x = pnp.asarray(X)
    with pytest.raises(px.errors.NonConcreteBooleanIndexError, match="a mask must have a known value, got a value"):
        px.jit(lambda x: x[x > 0])(x)
    with pytest.raises(IndexError, match="a bound of a slice must have a known value"):
        px.jit(lambda x, i: x[:i])(x, 1)
    with pytest.raises(TypeError, match="must be of an integer or boolean dtype"):
        x[pnp.array([1.0])]
    for duration in (np.timedelta64(1, "D"), np.array([1], "m8[D]")):
        with pytest.raises(TypeError, match=r"timedelta64\[D\] is not a valid primax type.*of getitem"):
            x[duration]
    with pytest.raises(IndexError, match=r"must have the shape of the axes it is for, \(2,\), got \(3,\)"):
        x[np.array([True, False, True])]
    with pytest.raises(IndexError, match=r"must broadcast together, got shapes \(2,\), \(3,\)"):
        px.jit(lambda x: x[np.array([0, 1]), np.array([0, 1, 2])])(x)
    with pytest.raises(IndexError):
        x[np.array([0, 1]), np.array([0, 1, 2])]


def test_arrays_are_immutable() -> None:
    x = pnp.zeros(2)
    with pytest.raises(TypeError, match=r"x.at\[index\].set"):
        x[0] = 1.0


def test_weak_types_and_devices_survive_indexing() -> None:
    weak = px.jit(lambda: pnp.full_like(pnp.asarray(2.0), 2.0))() * 1.0
    assert weak[...].weak_type
    placed = px.device_put(pnp.arange(3), px.devices()[0])
    assert placed[1].committed
    assert placed[1:].committed
    assert not pnp.arange(3)[1].committed


def test_indexing_takes_few_equations() -> None:
    def names(index: Any) -> list[str]:
        return [eqn.primitive.name for eqn in px.make_jaxpr(lambda x: x[index])(X).jaxpr.eqns]

    assert names(...) == []
    assert names((slice(None), slice(0, 3))) == []
    assert names(1) == ["slice", "squeeze"]
    assert names((1, None)) == ["slice", "squeeze", "broadcast_in_dim"]
    assert names((None, 1, None)) == ["slice", "squeeze", "broadcast_in_dim"]
    assert names(slice(None, None, -1)) == ["rev"]
    assert names((slice(None), 1, slice(None, None, -2))) == ["slice", "rev", "squeeze"]
    assert names(None) == ["broadcast_in_dim"]


def test_derivatives_of_indexing_are_right() -> None:
    derivative = px.grad(lambda x: (x[0, ::-2, 1:3] ** 2).sum())(X)
    expected = np.zeros_like(X)
    expected[0, ::2, 1:3] = 2 * X[0, ::2, 1:3]
    assert np.array_equal(derivative, expected)
    batched = px.vmap(lambda x: x[1, ::-1, None])(X)
    assert np.array_equal(batched, X[:, 1, ::-1, None])


def test_iteration_and_length() -> None:
    x = pnp.asarray(X)
    assert len(x) == 2
    assert [y.shape for y in x] == [(3, 4), (3, 4)]
    first, second = px.jit(lambda x: tuple(x))(x)
    assert np.array_equal(second, X[1])
    assert np.array_equal(first, X[0])
    refuses(TypeError, "must have an axis to be iterated over, got f32[]", iter, x[0, 0, 0])
    refuses(TypeError, "len() needs an array with an axis", len, x[0, 0, 0])


def test_iteration_over_a_long_array_makes_elements_as_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(indexing, "arrays_of", lambda host, weak: made.append(len(host)) or arrays_of(host, weak))
    x = pnp.arange(150)
    elements = iter(x)
    assert np.iterable(x)
    assert made == []
    assert [int(next(elements)), made] == [0, [64]]
    assert [int(y) for y in elements] == list(range(1, 150))
    assert {(type(y), y.aval) for y in x} == {(type(x), x[0].aval)}
    x.delete()
    refuses(RuntimeError, "deleted", lambda: next(iter(x)))


class Measured:
    """An object of another library that NumPy makes an array of, by one of its protocols."""

    def __init__(self, protocol: str, values: Any) -> None:
        self.kept = np.asarray(values)
        setattr(self, protocol, getattr(self.kept, protocol))


LISTED: list[Any] = [
    [1.0, 2.0],
    (1, 2),
    [[3], [4]],
    [[1, 2], [3, 4]],
    [np.int8(3)],
    range(2),
    memoryview(b"ab"),
    Measured("__array_interface__", [5.0, 6.0]),
    Measured("__array_struct__", [5.0, 6.0]),
]


METHODS = ("set", "add", "multiply", "divide", "power", "min", "max", "subtract")


def test_values_to_write_may_be_sequences_and_objects_of_other_libraries() -> None:
    calls = {
        f"{method} {position}": lambda m, x, method=method, values=values: getattr(m.asarray(x).at[:, 1:], method)(
            values
        )
        for method in METHODS
        for position, values in enumerate(LISTED)
    }
    compare(calls, np.ones((2, 3), np.float32))


def test_sequences_to_write_may_hold_tracers() -> None:
    compare({"add": lambda m, x: m.asarray(x).at[:2].add([x[2], 1.0])}, np.arange(3, dtype=np.float32))
    out = px.jit(lambda x, y: x.at[1:].set([y, 2.0]))(pnp.zeros(3), 7.0)
    assert out.tolist() == [0.0, 7.0, 2.0]
    assert px.grad(lambda y: pnp.zeros(2).at[:].set([y, y * y]).sum())(3.0) == 7.0


def test_sequences_to_write_are_refused_by_shape_and_kind() -> None:
    x = pnp.zeros(3)
    with pytest.raises(ValueError, match=r"values must have a shape that broadcasts to that of the elements, \(\)"):
        x.at[0].set([5.0])
    with pytest.raises(ValueError, match=r"x\.at\[\.\.\.\]: nested sequences must be of the same shape"):
        x.at[:2].set([[1.0], 2.0])
    with pytest.raises(TypeError, match=r"x\.at\[\.\.\.\]: an element of values must be an array or a number, got str"):
        x.at[:2].set(["a", "b"])
    with pytest.raises(TypeError, match=r"x\.at\[\.\.\.\]: values must be an array or a number, got NoneType"):
        x.at[:2].set(None)
    with pytest.raises(TypeError, match=r"x\.at\[\.\.\.\]: the options are indices_are_sorted, .*, got modes"):
        x.at[:2].set(1.0, modes="drop")


def test_values_that_replace_all_elements_keep_the_weak_type_of_the_array() -> None:
    everything = {"...": ..., ":": slice(None), "None": None, "()": (), ":, None": (slice(None), None)}
    for x in (np.arange(3), np.float32(1), 2.0):
        indices = everything if np.ndim(x) else {"...": ..., "()": (), "None": None}
        values = {"number": 5, "weak": lambda m: m.asarray(4), "strong": lambda m: m.int32(6)}
        compare(
            {
                f"{at} {kind}": lambda m, x, i=i, v=v: m.asarray(x).at[i].set(v(m) if callable(v) else v)
                for at, i in indices.items()
                for kind, v in values.items()
            },
            x,
        )


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0,), (0, 0)])
def test_an_empty_axis_of_a_mask_fits_any_axis_as_in_numpy(shape) -> None:
    mask = np.zeros(shape, bool)
    x = np.ones((2, 3), np.float32)
    assert pnp.asarray(x)[mask].shape == px.jit(lambda x: x[mask])(x).shape == x[mask].shape
    np.testing.assert_array_equal(pnp.asarray(x).at[mask].set(2.0), x)
    with pytest.raises(IndexError, match=r"a mask must have the shape of the axes it is for, \(2, 3\), got \(0, 2\)"):
        pnp.asarray(x)[np.zeros((0, 2), bool)]


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6.0, dtype=np.float32).reshape(3, 2),
        np.array([True, False]),
        np.zeros((0, 2), np.float32),
        np.arange(100),
        px.random.split(px.random.key(0), 3),
        pnp.full((2, 2), 1.5),
    ],
    ids=["floats", "booleans", "no elements", "many elements", "keys", "weak"],
)
def test_elements_are_the_same_however_often_arrays_are_split(x):
    x = pnp.asarray(x)
    first, *others = [list(x) for _ in range(40)]
    for elements in others:
        assert [(a.aval, a.committed) for a in elements] == [(a.aval, a.committed) for a in first]
        assert str(elements) == str(first)


def test_a_program_is_compiled_for_arrays_that_are_split_often(caplog):
    x = pnp.arange(7 * 5.0).reshape(7, 5)
    with px.log_compiles(True):
        for _ in range(20):
            a, *_ = x
        assert not caplog.records
        for _ in range(20):
            a, *_ = x
    assert len(caplog.records) == 1
    assert a.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
