"""take, take_along_axis, put and their kin, nonzero and positions, against jax.numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpycheck import agree, compare, refuses
from oracle import jax_does

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.usefixtures("in_32_bits")

X = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)
POSITIONS = np.int32([[0, -1, 7], [2, -9, 1]])
WHICH = np.int32([2, 0, 1, 1])


def test_take_agrees_with_jax() -> None:
    calls: dict[str, Any] = {
        f"{axis} {mode}": lambda m, x, i, axis=axis, mode=mode: m.take(x, i, axis, mode=mode)
        for axis in (None, 0, -1)
        for mode in (None, "fill", "wrap", "clip")
    }
    calls |= {
        "one": lambda m, x, i: m.take(x, 2, 1),
        "beyond": lambda m, x, i: m.take(x, -9, 1, fill_value=5.0),
        "known": lambda m, x, i: m.take(x, POSITIONS, 1, fill_value=5),
        "integers": lambda m, x, i: m.take(x.astype("int32"), i, 1),
        "bytes": lambda m, x, i: m.take(x.astype("uint8"), i, 1),
        "truths": lambda m, x, i: m.take(x > 0, i, 1),
        "nothing": lambda m, x, i: m.take(x[:0], i[0, :0], 0),
        "method": lambda m, x, i: x.take(i, 0, mode="clip"),
        "raise": lambda m, x, i: m.take(x, i, mode="raise"),
        "no mode": lambda m, x, i: m.take(x, i, mode="foo"),
        "floats": lambda m, x, i: m.take(x, x),
        "axis": lambda m, x, i: m.take(x, i, 2),
        "out of nothing": lambda m, x, i: m.take(x[:0], i, 0),
    }
    compare(calls, X, POSITIONS)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8"])
@pytest.mark.parametrize("mode", [None, "fill", "clip", "wrap"])
def test_positions_of_any_integer_dtype_may_be_out_of_range(dtype: str, mode: str | None) -> None:
    far = np.array([1, 100 if dtype == "int8" else 200], dtype)
    compare({"take": lambda m, x, i: m.take(x, i, mode=mode)}, np.arange(5, dtype=np.float32), far)


def test_positions_that_are_promised_to_be_in_bounds_count_from_the_end_too() -> None:
    x, i = pnp.arange(12.0).reshape(3, 4), pnp.array([[-1, 0], [3, -4], [-2, 1]])
    agree(pnp.take_along_axis(x, i, 1, mode="promise_in_bounds"), pnp.array([[3.0, 0], [7, 4], [10, 9]]))


def test_elements_are_taken_and_put_along_axes_as_in_jax() -> None:
    counts = jax_does("positions that count from the end are allowed with promise_in_bounds")
    promised = ("promise_in_bounds",) if counts else ()
    calls: dict[str, Any] = {
        f"{shape} {axis} {mode}": lambda m, x, i, shape=shape, axis=axis, mode=mode: m.take_along_axis(
            x[: shape[2]], i.reshape(-1)[: shape[0] * shape[1]].reshape(shape[:2]), axis, mode=mode
        )
        for shape, axis in (((3, 2, 3), 1), ((1, 3, 3), 1), ((3, 1, 3), 1), ((2, 4, 3), 0), ((3, 2, 1), 1))
        for mode in (None, "clip", *promised)
        if i_size(shape) <= 8
    }
    calls |= {
        "raveled": lambda m, x, i: m.take_along_axis(x, i[0], None, fill_value=3.0),
        "not wrapped": lambda m, x, i: m.take_along_axis(x, i[:, :1].T, 0, wrap_negative_indices=False),
        "none": lambda m, x, i: m.take_along_axis(x, i.reshape(4, 2).T[:0], 0),
        "ranks": lambda m, x, i: m.take_along_axis(x, i[0], 1),
        "floats": lambda m, x, i: m.take_along_axis(x, x, 1),
        "mode": lambda m, x, i: m.take_along_axis(x, i[:1], 1, mode="wrap"),
        "put": lambda m, x, i: m.put_along_axis(x, i[:1, :2], 9, 1, inplace=False),
        "put rows": lambda m, x, i: m.put_along_axis(x, i.reshape(2, 4)[:1], x[:1], 0, inplace=False, mode="clip"),
        "put raveled": lambda m, x, i: m.put_along_axis(x, i[0, :2], x[0, :2], None, inplace=False),
        "in place": lambda m, x, i: m.put_along_axis(x, i[:1, :2], 9, 1),
        "put floats": lambda m, x, i: m.put_along_axis(x, x, 9, 1, inplace=False),
    }
    compare(calls, X, np.int32([[0, -1, 7, 2], [2, -9, 1, 0]]))


def i_size(shape: tuple[int, ...]) -> int:
    return shape[0] * shape[1]


def test_put_place_and_choose_agree_with_jax() -> None:
    compare(
        {
            **{
                f"put {mode}": lambda m, x, i, k, mode=mode: m.put(x, i, x[0, :2], mode=mode, inplace=False)
                for mode in ("wrap", "raise", "foo")
            },
            "put": lambda m, x, i, k: m.put(x, m.array([0, -1, 50]), x[0], inplace=False),
            "put clip": lambda m, x, i, k: m.put(x, m.array([3, 50]), x[0], "clip", inplace=False),
            "put nothing": lambda m, x, i, k: m.put(x, i, x[:0], inplace=False),
            "put in place": lambda m, x, i, k: m.put(x, i, 1.0),
            "place": lambda m, x, i, k: m.place(x, x > 0, x[0, :3], inplace=False),
            "place none": lambda m, x, i, k: m.place(x, x > 0, x[:0], inplace=False),
            "place elsewhere": lambda m, x, i, k: m.place(x, x[0] > 0, x[0], inplace=False),
            "choose": lambda m, x, i, k: m.choose(k, (x[0], 7, x), mode="clip"),
            "choose wrap": lambda m, x, i, k: m.choose(k + 2, (x[0], x[1], x[2]), mode="wrap"),
            "choose array": lambda m, x, i, k: m.choose(k - 1, x, mode="clip"),
            "choose method": lambda m, x, i, k: k.choose((1, 2, 3), mode="clip"),
            "choose raise": lambda m, x, i, k: m.choose(k, (1, 2, 3)),
            "choose beyond": lambda m, x, i, k: m.choose(WHICH, (x[0], x[1])),
            "choose foo": lambda m, x, i, k: m.choose(k, (1, 2, 3), mode="foo"),
        },
        X,
        POSITIONS,
        WHICH,
    )
    assert np.array_equal(pnp.choose(WHICH, (X[0], X[1], 1.5)), np.choose(WHICH, (X[0], X[1], np.float32(1.5))))


def test_what_a_condition_selects_agrees_with_jax() -> None:
    some = np.array([True, False, True])
    compare(
        {
            "size": lambda m, x: m.compress(x[:, 0] < 0, x, axis=0, size=2, fill_value=7),
            "short": lambda m, x: m.compress(x[:2, 0] < 0, x, axis=0, size=1),
            "matrix": lambda m, x: m.compress(x, x, axis=0),
            "traced": lambda m, x: m.compress(x[0] > 0, x, axis=1),
            "extract": lambda m, x: m.extract(x > 0.5, x, size=7, fill_value=-1),
            "extract few": lambda m, x: m.extract(x > 0.5, x, size=2),
        },
        X,
    )
    x = pnp.asarray(X)
    assert np.array_equal(px.jit(lambda x: x.compress(some, axis=0))(x), X[some])
    assert np.array_equal(pnp.compress(some, x), X.ravel()[:3][some])
    assert np.array_equal(pnp.compress(np.array([1, 0, 1, 0]), x, axis=0), X[some])
    assert np.array_equal(pnp.extract(x > 0.5, x), X[X > 0.5])
    refuses(ValueError, "must not hold beyond the length of the axis, 3, got length 4", pnp.compress, np.ones(4), x, 0)


def test_positions_of_what_is_not_zero_agree_with_jax() -> None:
    x = np.int32([[0, 3, 0], [5, 0, -1]])
    compare(
        {
            "exactly": lambda m, x: m.nonzero(x, size=3),
            "fewer": lambda m, x: m.nonzero(x, size=2),
            "more": lambda m, x: m.nonzero(x, size=5),
            "filled": lambda m, x: m.nonzero(x, size=5, fill_value=-1),
            "each filled": lambda m, x: m.nonzero(x, size=5, fill_value=(7, 8)),
            "none": lambda m, x: m.nonzero(x, size=0),
            "of nothing": lambda m, x: m.nonzero(x[:0], size=2),
            "method": lambda m, x: x[0].nonzero(size=2, fill_value=9),
            "where": lambda m, x: m.where(x > 1, size=4, fill_value=-2),
            "argwhere": lambda m, x: m.argwhere(x, size=4, fill_value=-2),
            "argwhere of a vector": lambda m, x: m.argwhere(x[0], size=2),
            "flat": lambda m, x: m.flatnonzero(x, size=5, fill_value=50),
            "of rank 0": lambda m, x: m.argwhere(np.float32(3.0)),
            "mask": lambda m, x: (m.mask_indices(3, m.triu, 1), m.mask_indices(3, m.tril, size=8)),
            "no size": lambda m, x: m.nonzero(x),
            "scalar": lambda m, x: m.nonzero(x[0, 0], size=1),
            "fills": lambda m, x: m.nonzero(x, size=5, fill_value=(1, 2, 3)),
            "fill vector": lambda m, x: m.nonzero(x[0], size=5, fill_value=m.array([3])),
            "too much": lambda m, x: m.where(x, x, x, size=3),
        },
        x,
    )
    for ours, theirs in ((pnp.nonzero, np.nonzero), (pnp.argwhere, np.argwhere), (pnp.flatnonzero, np.flatnonzero)):
        assert np.array_equal(ours(pnp.asarray(x)), theirs(x))
    rows, columns = pnp.where(x > 0)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])


def test_positions_are_raveled_and_unraveled_as_in_jax() -> None:
    rows, columns = np.int32([0, 1, 2]), np.int32([0, 3, -1])
    compare(
        {
            **{
                f"ravel {mode}": lambda m, i, j, mode=mode: m.ravel_multi_index((i, j), (2, 3), mode=mode)
                for mode in ("wrap", "clip", "foo", "raise")
            },
            "order": lambda m, i, j: m.ravel_multi_index((i, j), (2, 3), order="F", mode="clip"),
            "beyond": lambda m, i, j: m.ravel_multi_index((np.int32([0, 2]), np.int32([2, 0])), (2, 3)),
            "floats": lambda m, i, j: m.ravel_multi_index((i * 1.0, j), (2, 3), mode="clip"),
            "no order": lambda m, i, j: m.ravel_multi_index((i, j), (2, 3), order="K", mode="clip"),
            "unravel": lambda m, i, j: m.unravel_index(m.array([0, 5, 6, 100, -1, -6, -7]), (2, 3)),
            "unravel 3": lambda m, i, j: m.unravel_index(i * 7, (2, 3, 4)),
            "unravel number": lambda m, i, j: m.unravel_index(4, (2, 3)),
            "unravel vector": lambda m, i, j: m.unravel_index(i, 2),
            "unravel bytes": lambda m, i, j: m.unravel_index(m.array([1, 5], m.uint8), (20, 30)),
            "unravel small": lambda m, i, j: m.unravel_index(m.array([1, -5], m.int8), (2, 3)),
            "unravel nothing": lambda m, i, j: m.unravel_index(i, ()),
        },
        rows,
        columns,
    )
    assert pnp.ravel_multi_index((np.int32([0, 1]), np.int32([2, 0])), (2, 3)).tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"one array per axis, got 1 for dims \(2, 3\)"):
        pnp.ravel_multi_index((rows,), (2, 3))


@pytest.mark.parametrize("mode", ["clip", "wrap", "raise"])
@pytest.mark.parametrize("staged", [False, True])
def test_positions_of_narrow_integers_are_raveled_in_the_dtype_of_the_result(mode, staged):
    indices = np.array([19, 0, 3], np.int8), np.array([100, 127, -1 if mode != "raise" else 5], np.int8)

    def ravel(x, y):
        return pnp.ravel_multi_index((x, y), (20, 200), mode, dtype="int32")

    if staged and mode == "raise":
        with pytest.raises(px.errors.ConcretizationTypeError, match="mode must be 'wrap' or 'clip'"):
            px.jit(ravel)(*indices)
        return
    found = (px.jit(ravel) if staged else ravel)(*indices)
    wide = [x.astype(np.int64) for x in indices]
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.ravel_multi_index(wide, (20, 200), mode=mode))
    with pytest.raises(ValueError, match=r"ravel_multi_index: dims must .* positions int8 can hold, got \(20, 200\)"):
        pnp.ravel_multi_index(indices, (20, 200), mode)


def test_raveled_positions_of_no_axes_and_of_too_many_elements():
    assert pnp.ravel_multi_index((), ()) == 0
    assert pnp.ravel_multi_index(set(), np.ones((0, 3), np.float32)) == 0
    with pytest.raises(ValueError, match="ravel_multi_index: dims must be those of an array whose positions int32"):
        pnp.ravel_multi_index(pnp.arange(2, dtype="int32"), (2**40, 2**40))
    with pytest.raises(TypeError, match="ravel_multi_index: dtype must be one of integers, got float32"):
        pnp.ravel_multi_index((1, 1), (2, 3), dtype="float32")


def test_brackets_join_as_in_numpy() -> None:
    x, y = np.float32([1, 2]), np.float32([[3], [4]])
    for ours, theirs in ((pnp.r_, np.r_), (pnp.c_, np.c_)):
        for key in (
            (slice(1, 3), x),
            slice(0, 1, 5j),
            x,
            ("0,2", x, x),
            ("1,2,0", x, x),
            ("-1", x, x),
            ("0,3,-1", x, x),
            ("0,3,1", x, x),
        ):
            assert np.array_equal(ours[key], np.asarray(theirs[key])), key
    assert np.array_equal(pnp.r_[1:3, x, 5.0], np.r_[1:3, x, 5.0])
    assert np.array_equal(pnp.c_[y, y], np.c_[y, y])
    assert pnp.r_["r", x, x].tolist() == [[1, 2, 1, 2]]
    assert pnp.r_["c", x, x].tolist() == [[1], [2], [1], [2]]
    refuses(ValueError, "a string must be 'r', 'c' or up to three integers, got 'foo'", pnp.r_.__getitem__, ("foo", 1))
    refuses(ValueError, "must be the first entry", pnp.r_.__getitem__, (1, "r"))


def test_masks_work_where_their_values_are_known() -> None:
    x = pnp.asarray(X)
    total, slope = px.value_and_grad(lambda x: (x[x > 0] ** 2).sum() + x.at[x < 0].set(0.0).sum())(x)
    positive = X[X > 0]
    assert np.isclose(total, (positive**2).sum() + positive.sum(), rtol=1e-5)
    np.testing.assert_allclose(slope, np.where(X > 0, 2 * X + 1, 0), rtol=1e-6)
    rows, columns = pnp.ix_(pnp.array([True, False, True]), pnp.array([1, 2]))
    assert np.array_equal(x[rows, columns], X[np.ix_([0, 2], [1, 2])])


def test_elements_are_repeated_rolled_put_in_and_left_out_at_traced_positions_as_in_jax() -> None:
    counts, places = np.int32([1, 0, 2, 1]), np.int32([3, 1])
    compare(
        {
            **{
                f"repeat {total}": lambda m, x, r, p, total=total: m.repeat(x, r, axis=1, total_repeat_length=total)
                for total in (0, 2, 4, 7)
            },
            "repeat all": lambda m, x, r, p: m.repeat(x[0], r[2], total_repeat_length=9),
            "repeat known": lambda m, x, r, p: m.repeat(x[0], counts, total_repeat_length=6),
            "repeat alike": lambda m, x, r, p: m.repeat(x[0], 2, total_repeat_length=7),
            "repeat untold": lambda m, x, r, p: m.repeat(x, r, axis=1),
            "roll": lambda m, x, r, p: (m.roll(x, p[0]), m.roll(x, -p[0], 1), m.roll(x, p, (0, 1))),
            "roll by several": lambda m, x, r, p: (
                m.roll(x, (p[0], -p[1]), (0, 1)),
                m.roll(x, [p[0], 1], (0, 1)),
                m.roll(x, (p[0], p[1]), 1),
                m.roll(x, (p[1],), (0, 1)),
            ),
            "delete": lambda m, x, r, p: m.delete(x, p, 1, assume_unique_indices=True),
            "delete from the end": lambda m, x, r, p: m.delete(x, -p, 1, assume_unique_indices=True),
            "delete equal": lambda m, x, r, p: m.delete(x, p, 1),
            "insert": lambda m, x, r, p: (m.insert(x[0], p[0], 9.0), m.insert(x, -p[1], x[:, 0], axis=1)),
            "insert several": lambda m, x, r, p: m.insert(x, p, x[:, :2], axis=1),
            "insert vector": lambda m, x, r, p: m.insert(x[0], p[1], x[1, :3]),
        },
        X,
        counts,
        places,
    )


def test_many_elements_are_repeated_put_in_and_left_out_by_one_gather() -> None:
    x = np.arange(40, dtype=np.float32)
    counts, places = np.arange(40) % 3, np.arange(0, 40, 3)

    def run(x: Any) -> Any:
        return pnp.repeat(x, counts), pnp.delete(x, places), pnp.insert(x, places, -x[:14])

    repeated, rest, more = px.jit(run)(x)
    np.testing.assert_array_equal(repeated, np.repeat(x, counts))
    np.testing.assert_array_equal(rest, np.delete(x, places))
    np.testing.assert_array_equal(more, np.insert(x, places, -x[:14]))
    names = [eqn.primitive.name for eqn in px.make_jaxpr(run)(x).jaxpr.eqns]
    assert names.count("gather") == 3
    assert names.count("concatenate") == 1


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8"])
def test_positions_of_every_dtype_may_be_out_of_range(dtype: str) -> None:
    out = np.array([1, 7, 120 if dtype == "int8" else 200]).astype(dtype)
    calls = {
        "take": lambda m, x, i: m.take(x, i),
        "take(axis)": lambda m, x, i: m.take(x.reshape(5, 1), i, axis=0),
        "take(clip)": lambda m, x, i: m.take(x, i, mode="clip"),
        "take(wrap)": lambda m, x, i: m.take(x, i, mode="wrap"),
        "take_along_axis": lambda m, x, i: m.take_along_axis(x, i, 0),
        "getitem": lambda m, x, i: x[i],
        "get": lambda m, x, i: x.at[i].get(mode="fill", fill_value=9),
        "set": lambda m, x, i: x.at[i].set(9),
        "add": lambda m, x, i: x.at[i].add(i.astype(x.dtype), mode="clip"),
    }
    compare(calls, np.arange(5, dtype=np.float32), out)
    compare(calls, np.arange(5, dtype=np.float32), np.array(out[2]))
    long = np.arange(1000, dtype=np.float32)
    assert pnp.asarray(long)[out].tolist() == pnp.take(long, out).tolist() == out.tolist()


def test_positions_of_64_bits_may_be_out_of_range() -> None:
    with px.enable_x64(True):
        for x in (pnp.arange(5.0), pnp.arange(5)):
            far = pnp.asarray([1, 2**63 + 1, 2**64 - 1], np.uint64)
            assert x.at[far].get(mode="clip").tolist() == [1, 4, 4]
            assert x.at[np.asarray(far)].set(0, mode="drop").tolist() == [0, 0, 2, 3, 4]


def test_all_of_an_array_set_is_an_array() -> None:
    assert isinstance(pnp.zeros(3).at[:].set(np.ones(3, np.float32)), px.Array)
    assert isinstance(pnp.full(3, np.ones(3, np.float32)), px.Array)


def test_sums_and_products_into_booleans_are_those_of_numpy() -> None:
    i, y = np.array([0, 0, 1]), np.array([True, False, False])
    for x in (np.array([True, False]), np.array([False, False]), np.array([True, True])):
        for name in ("add", "multiply"):
            wanted = x.copy()
            getattr(np, name).at(wanted, i, y)
            assert getattr(pnp.asarray(x).at[i], name)(y).tolist() == wanted.tolist()
            whole = getattr(np, name)(x, y[:2]).tolist()
            assert getattr(pnp.asarray(x).at[:], name)(y[:2]).tolist() == whole


def test_delete_takes_a_boolean_for_each_position():
    x = np.arange(3)
    for mask in ([True, False, True], np.array([True, False, True]), (False,) * 3):
        np.testing.assert_array_equal(pnp.delete(x, mask), np.delete(x, mask))
    for mask in (np.array(True), [True, False], np.ones((3, 1), bool)):
        with pytest.raises(ValueError, match=r"delete: obj must be of shape \(3,\) if it is boolean, got shape"):
            pnp.delete(x, mask)


def test_booleans_are_positions_of_take():
    compare({"one": lambda m, x: m.take(x, True), "array": lambda m, x: m.take(x, np.array([True, False]))}, X)


def test_positions_out_of_range_take_zeros_from_a_product_with_a_one_hot_array() -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]])
    positions = np.array([[0, -1, 3, -4], [2, 1, 9, 0]])
    for dtype in ("bool", "int8", "float32", "complex64"):
        got = pnp.take_along_axis(pnp.asarray(x, dtype), positions, 1, "one_hot")
        np.testing.assert_array_equal(got, np.array([[1, 3, 0, 0], [6, 5, 0, 4]]).astype(dtype))
    slopes = px.grad(lambda x: pnp.take_along_axis(x, positions, 1, mode="one_hot").sum())(x.astype(np.float32))
    np.testing.assert_array_equal(slopes, [[1, 0, 1], [1, 1, 1]])


@pytest.mark.parametrize("total", [None, 0, 2])
def test_repeats_fit_the_array_whatever_the_length_of_the_result(total: int | None) -> None:
    with pytest.raises(ValueError, match="repeat: repeats must be one number or 2, one for each element, got 3"):
        pnp.repeat(np.array([1, 2]), np.array([3, 1, 0]), total_repeat_length=total)
