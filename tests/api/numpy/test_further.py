"""Selection, polynomials, windows, editing, grids and text against jax.numpy and NumPy."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpycheck import compare, refuses, sample

import primax as px
import primax.numpy as pnp


def test_selection_agrees_with_jax() -> None:
    calls = {
        "where": lambda m, x, n: (m.where(x > 0, x, n), m.where(n, 1, 2.5), m.where(True, x, n), m.where(x > 0, x, 0)),
        "broadcast": lambda m, x, n: (m.where(x[0] > 0, x, n[:, :1]), m.where(m.array(False), x, 1)),
        "shapes": lambda m, x, n: m.where(x > 0, x, n[:, :2]),
        "one": lambda m, x, n: m.where(x > 0, x),
        "select": lambda m, x, n: m.select([x > 1, n > 0], [x, n], -1),
        "select default": lambda m, x, n: m.select([x > 1, x > 0], [n, n * 2]),
        "select lengths": lambda m, x, n: m.select([x > 1], [n, n]),
        "piecewise": lambda m, x, n: m.piecewise(x, [x < 0, x > 1], [lambda y: -y, 3, lambda y: y * 2]),
        "clip": lambda m, x, n: (m.clip(x, -1, 1), m.clip(x, n, None), m.clip(n, 0.5, 2), m.clip(x, max=0), m.clip(x)),
        "clip complex": lambda m, x, n: m.clip(x * 1j, 0, 1),
        "nan_to_num": lambda m, x, n: m.nan_to_num(
            m.array([np.nan, np.inf, -np.inf, 1.0]), nan=2.0, posinf=5, neginf=-5
        ),
        "round": lambda m, x, n: (m.round(x, 1), m.around(x * 100, -1), m.round(n, 2), m.round(x * 1j, 1)),
        "round integers": lambda m, x, n: m.round(n, -1),
        "closeness": lambda m, x, n: (
            m.isclose(x, x + 1e-6),
            m.isclose(x, n, atol=1),
            m.allclose(x, x),
            m.isclose(x, x[:1], rtol=x[1:]),
        ),
        "nan": lambda m, x, n: m.isclose(m.array([np.nan, np.inf]), m.array([np.nan, np.inf]), equal_nan=True),
        "equality": lambda m, x, n: (m.array_equal(x, x), m.array_equal(x, n[:, :2]), m.array_equiv(x, x[None])),
        "nans": lambda m, x, n: m.array_equal(m.array([np.nan]), m.array([np.nan]), equal_nan=True),
    }
    compare(calls, sample("float32"), sample("int32", seed=1))
    assert not pnp.array_equiv(pnp.ones((2, 3)), pnp.ones((2, 2)))


def test_polynomials_agree_with_jax() -> None:
    calls = {
        "polyval": lambda m, p, q, n: (m.polyval(p, q), m.polyval(n, 2), m.polyval(p, n), m.polyval(p[:0], q)),
        "polyadd": lambda m, p, q, n: (m.polyadd(p, q), m.polysub(p, q), m.polyadd(n, p)),
        "polymul": lambda m, p, q, n: (m.polymul(p, q), m.polymul(n, p)),
        "polyder": lambda m, p, q, n: (m.polyder(p), m.polyder(p, 2), m.polyder(n), m.polyder(p, 0), m.polyder(p, 9)),
        "polyder negative": lambda m, p, q, n: m.polyder(p, -1),
        "polyint": lambda m, p, q, n: (
            m.polyint(p),
            m.polyint(p, 2),
            m.polyint(n, 1, 3),
            m.polyint(p, 2, m.array([1.0, 2.0])),
        ),
        "vander": lambda m, p, q, n: (m.vander(p), m.vander(p, 2, increasing=True), m.vander(n, 3), m.vander(p, 0)),
        "unwrap": lambda m, p, q, n: (m.unwrap(p * 4), m.unwrap(q * 5, discont=4.0), m.unwrap(p, period=1.0)),
    }
    compare(calls, sample("float32", (5,)), sample("float32", (3,), seed=1), sample("int32", (4,)), weak=False)


def test_unwrap_takes_one_jump_and_one_turn_for_each_difference():
    p = np.array([[0.0, 4.0], [1.0, -3.0], [7.0, 9.0]], np.float32)
    compare({"unwrap": lambda m, p: m.unwrap(p, m.array([4.0, 5.0]), 0, m.array([[6.0, 5.0]]))}, p)
    with pytest.raises(ValueError, match=r"^unwrap: discont must broadcast to .* shape \(2, 2\), got shape \(3,\)$"):
        px.numpy.unwrap(p, np.ones(3, np.float32), 0)
    with pytest.raises(ValueError, match=r"^unwrap: period must .* shape \(3, 1\), got shape \(1, 3, 1\)$"):
        px.numpy.unwrap(p, period=np.ones((1, 3, 1), np.float32))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float16"])
def test_values_of_polynomials_integrals_and_unwrapped_numbers_have_the_dtypes_of_jax(dtype: str) -> None:
    calls = {
        "trapezoid": lambda m, x, y: (m.trapezoid(x, x), m.trapezoid(x, y), m.trapezoid(y, x), m.trapezoid(x, dx=y[0])),
        "unwrap": lambda m, x, y: (m.unwrap(x, period=4), m.unwrap(x, period=5), m.unwrap(x, 3, period=3), m.unwrap(x)),
        "unwrap stacked": lambda m, x, y: m.unwrap(m.stack([x, y.astype(x.dtype)]), axis=0, period=3),
        "histogramdd": lambda m, x, y: m.histogramdd(m.stack([x, x], 1), 2, weights=m.arange(5))[0],
    }
    if dtype != "bool":  # The newest jax refuses it here.
        calls["polyval"] = lambda m, x, y: (m.polyval(x, x), m.polyval(x, 2.5), m.polyval(x, m.full(2, 2)))
    compare(calls, np.array([3, 1, 0, 2, 5], dtype), np.array([1, 5, 2, 7, 3], "float16"))


def test_polyval_of_truth_values_is_that_of_numpy() -> None:
    x = np.array([True, False, True])
    y = pnp.polyval(x, x)
    assert y.dtype == np.polyval(x, x).dtype
    np.testing.assert_array_equal(y, np.polyval(x, x))


def test_polyval_of_one_dtype_needs_no_promotion() -> None:
    with px.numpy_dtype_promotion("strict"):
        assert pnp.polyval(pnp.array([1.0, 2.0, 3.0]), pnp.array([1.0])).tolist() == [6.0]


def test_rounding_to_more_decimals_than_a_float_has_changes_nothing() -> None:
    x = np.array([1.2345, 60000.0, np.inf])
    for dtype in ("float16", "bfloat16", "float32", "complex64"):
        for decimals in (39, 100, 1000):
            y = pnp.asarray(x, dtype)
            np.testing.assert_array_equal(pnp.round(y, decimals), y)
            np.testing.assert_array_equal(px.jit(lambda y, d=decimals: pnp.round(y, d))(y), y)


def test_rounding_to_whole_numbers_gives_strong_types() -> None:
    assert not round(pnp.array(7)).weak_type
    assert not round(pnp.array(7.5)).weak_type


def test_an_empty_array_is_resized_with_zeros() -> None:
    compare({"resize": lambda m, x: (m.resize(x, (2, 2)), m.resize(x, ()))}, np.zeros((0, 3), np.int8))


def test_no_points_have_a_grid_and_no_step() -> None:
    calls = {
        "mgrid": lambda m: m.mgrid[()],
        "linspace": lambda m: (m.linspace(0, 1, 0, retstep=True), m.linspace(0, 1, 0, endpoint=False, retstep=True)),
    }
    compare(calls)
    assert pnp.ogrid[()] == []


def test_weak_integers_take_infinities_as_strong_ones_do() -> None:
    for a in (1, pnp.array(1), pnp.int32(1)):
        limits = np.iinfo(pnp.asarray(a).dtype)
        assert [int(pnp.full_like(a, value)) for value in (np.inf, -np.inf)] == [limits.max, limits.min]


def test_windows_agree_with_jax() -> None:
    sizes = (0, 1, 2, 7)
    calls: dict[str, Any] = {
        name: lambda m, name=name: [getattr(m, name)(n) for n in sizes]
        for name in ("bartlett", "blackman", "hamming", "hanning")
    }
    compare(calls | {"kaiser": lambda m: [m.kaiser(n, 3.0) for n in sizes]}, rtol=1e-5)


def test_editing_agrees_with_jax() -> None:
    calls = {
        "delete": lambda m, x: (
            m.delete(x, 1),
            m.delete(x, np.array([[0], [2]])),
            m.delete(x, 1, axis=0),
            m.delete(x, slice(0, 2), axis=1),
            m.delete(x, -1, axis=1),
        ),
        "delete many": lambda m, x: (m.delete(x, np.array([0, 2, 2]), axis=1), m.delete(x, slice(None), axis=0)),
        "delete range": lambda m, x: m.delete(x, 5, axis=0),
        "insert": lambda m, x: (m.insert(x, 1, 7), m.insert(x, 1, x[0], axis=0), m.insert(x, 0, 5, axis=1)),
        "insert many": lambda m, x: (
            m.insert(x, np.array([0, 2]), 9, axis=1),
            m.insert(x, np.array([2, 0]), m.array([1, 2]), axis=1),
        ),
        "fill": lambda m, x: (
            m.fill_diagonal(x, 5, inplace=False),
            m.fill_diagonal(x.T, m.array([1, 2]), inplace=False),
        ),
        "fill cube": lambda m, x: m.fill_diagonal(m.zeros((2, 2, 2)), m.arange(4.0), inplace=False),
        "fill vector": lambda m, x: m.fill_diagonal(x[0], 1, inplace=False),
        "packbits": lambda m, x: (
            m.packbits(x > 0),
            m.packbits(x > 0, axis=1),
            m.packbits(x > 0, axis=0, bitorder="little"),
        ),
        "unpackbits": lambda m, x: (
            m.unpackbits(m.array([3, 200], "uint8")),
            m.unpackbits(m.array([[3], [200]], "uint8"), axis=1, count=5),
        ),
        "little": lambda m, x: (
            m.unpackbits(m.array([3, 200], "uint8"), bitorder="little", count=-3),
            m.unpackbits(m.array([3], "uint8"), count=10),
        ),
    }
    compare(calls, sample("float32"), weak=False)
    refuses(
        NotImplementedError, "fill_diagonal: inplace and wrap must be False", pnp.fill_diagonal, pnp.ones((2, 2)), 1
    )


def test_grids_agree_with_jax() -> None:
    calls = {
        "mgrid": lambda m: (m.mgrid[0:3], m.mgrid[0:2, 1:3], m.mgrid[0:1:3j, 2:4]),
        "ogrid": lambda m: (list(m.ogrid[0:2, 1:3]), m.ogrid[1:4]),
        "ix_": lambda m: m.ix_(m.array([0, 1]), m.array([2, 3, 4])),
        "diag_indices": lambda m: (m.diag_indices(3), m.diag_indices_from(m.ones((2, 2)))),
    }
    compare(calls)
    assert pnp.s_[1:2, ...] == np.s_[1:2, ...]
    assert pnp.index_exp[0] == (0,)


@pytest.mark.usefixtures("narrow")
def test_arrays_are_written_and_read(tmp_path: Any) -> None:
    x = pnp.asarray(sample("float32"))
    pnp.save(tmp_path / "x.npy", x)
    assert np.array_equal(pnp.load(tmp_path / "x.npy"), x)
    file = io.BytesIO()
    pnp.savez(file, x=x)
    file.seek(0)
    assert np.array_equal(pnp.load(file)["x"], x)
    assert pnp.fromstring("1 2 3", dtype=int, sep=" ").tolist() == [1, 2, 3]
    assert pnp.array_repr(pnp.array([1.23456]), precision=2) == "Array([1.23], dtype=float32)"
    assert pnp.array_str(pnp.array([1, 2])) == "[1 2]"


DIFFERENTIABLE = {
    "logaddexp": lambda m, x: m.logaddexp(x, x[::-1]).sum(),
    "logaddexp2": lambda m, x: m.logaddexp2(x, 1.0).sum(),
    "hypot": lambda m, x: m.hypot(x, x[::-1] + 1).sum(),
    "sinc": lambda m, x: m.sinc(x).sum(),
    "i0": lambda m, x: m.i0(x).sum(),
    "var": lambda m, x: m.var(x, axis=0).sum(),
    "std": lambda m, x: m.std(x),
    "nanmean": lambda m, x: m.nanmean(x),
    "prod": lambda m, x: m.prod(x, axis=1).sum(),
    "max": lambda m, x: m.max(x, axis=1).sum(),
    "clip": lambda m, x: m.clip(x, -1, 1).sum(),
    "cumprod": lambda m, x: m.cumprod(x, axis=1).sum(),
    "where": lambda m, x: m.where(x > 0, x**2, 3 * x).sum(),
    "mod": lambda m, x: (x % 1.5).sum(),
    "power": lambda m, x: (m.abs(x) ** x).sum(),
    "copysign": lambda m, x: m.copysign(x, -x).sum(),
    "ldexp": lambda m, x: m.ldexp(x, 3).sum(),
    "tile": lambda m, x: (m.tile(x, (2, 2)) ** 2).sum(),
    "roll": lambda m, x: (m.roll(x, 1, 1) * x).sum(),
    "pad": lambda m, x: (m.pad(x, 2, mode="reflect") ** 2).sum(),
    "tril": lambda m, x: (m.tril(x) ** 2).sum(),
    "diag": lambda m, x: (m.diag(x[0]) ** 2).sum() + m.trace(x),
    "kron": lambda m, x: m.kron(x, x).sum(),
    "cross": lambda m, x: (m.cross(x, x[::-1]) ** 2).sum(),
    "polyval": lambda m, x: m.polyval(x[0], x[1]).sum(),
    "polymul": lambda m, x: (m.polymul(x[0], x[1]) ** 2).sum(),
    "interpolation": lambda m, x: m.linspace(x[0], x[1], 4).sum(),
    "cov": lambda m, x: (m.cov(x) ** 2).sum(),
}


def test_derivatives_agree_with_jax() -> None:
    x = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]], np.float32)
    compare(
        {
            name: lambda m, x, call=call: (px if m is pnp else pytest.importorskip("jax")).grad(lambda y: call(m, y))(x)
            for name, call in DIFFERENTIABLE.items()
        },
        x,
        rtol=1e-4,
    )


def test_batches_agree_with_a_loop() -> None:
    x = np.stack([np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]], np.float32) + i for i in range(2)])
    found = px.jit(
        lambda x: {name: px.vmap(lambda y, call=call: call(pnp, y))(x) for name, call in DIFFERENTIABLE.items()}
    )(x)
    looped = px.jit(lambda x: {name: [call(pnp, x[i]) for i in range(2)] for name, call in DIFFERENTIABLE.items()})(x)
    for name in DIFFERENTIABLE:
        assert np.allclose(found[name], np.stack(looped[name]), rtol=1e-4), name


def test_derivatives_at_special_points_are_their_limits() -> None:
    for point, slopes in {
        (0.0, 0.0): (0.5, 0.5),  # each is the longer one as often as the other
        (0.0, 2.0): (0.0, 1.0),
        (2.0, -0.0): (1.0, 0.0),
        (-3.0, 4.0): (-0.6, 0.8),
        (-1.0, 1.0): (-(0.5**0.5), 0.5**0.5),
    }.items():
        np.testing.assert_allclose(px.grad(pnp.hypot, (0, 1))(*point), slopes, rtol=1e-6)
    assert float(px.grad(pnp.sinc)(0.0)) == 0.0
    assert np.isclose(px.grad(px.grad(pnp.sinc))(0.0), -(np.pi**2) / 3, rtol=1e-5)


@pytest.mark.parametrize("function", [pnp.logaddexp, pnp.logaddexp2])
def test_derivatives_of_a_sum_of_exponentials_at_infinity_are_limits(function: Any) -> None:
    for x, y, slopes in (
        (-np.inf, -np.inf, (0.5, 0.5)),
        (np.inf, np.inf, (0.5, 0.5)),
        (np.inf, -np.inf, (1.0, 0.0)),
        (-np.inf, 3.0, (0.0, 1.0)),
        (3.0, -np.inf, (1.0, 0.0)),
        (np.inf, 3.0, (1.0, 0.0)),
    ):
        assert tuple(map(float, px.grad(function, (0, 1))(x, y))) == slopes, (x, y)
        assert float(px.jvp(function, (x, y), (1.0, 1.0))[1]) == 1.0
        of_complex = px.grad(lambda x, y: function(x, y).real, (0, 1))(np.complex64(x), np.complex64(y))
        assert tuple(map(complex, of_complex)) == slopes, (x, y)
    same = np.complex64(complex(-np.inf, 1))
    assert complex(function(same, same)) == complex(same)


def test_derivatives_of_logaddexp_are_right_where_its_arguments_are_equal() -> None:
    assert px.grad(pnp.logaddexp, argnums=(0, 1))(0.0, 0.0) == (0.5, 0.5)
    assert px.grad(px.grad(pnp.logaddexp))(0.0, 0.0) == 0.25


def test_of_several_conditions_that_hold_the_last_counts_as_in_numpy() -> None:
    x = np.arange(5.0, dtype=np.float32)
    for conditions, functions in (
        ([x < 3, x < 4], [1.0, 2.0, 3.0]),
        ([x < 3, x < 2], [lambda v: 2 * v, 7.0]),
        ([x < 3, x >= 0, x == 1], [1.0, lambda v: -v, 5.0]),
    ):
        np.testing.assert_array_equal(pnp.piecewise(x, conditions, functions), np.piecewise(x, conditions, functions))


def test_functions_of_piecewise_get_single_elements_and_do_not_disturb_each_other() -> None:
    x = np.float32([[-1, 0], [1, 4]])
    shapes = []

    def root(x):
        shapes.append(x.shape)
        return pnp.sqrt(x)

    def total(x):
        return pnp.piecewise(x, [x > 0], [root, lambda x: -x]).sum()

    np.testing.assert_allclose(px.grad(total)(x), [[-1, -1], [0.5, 0.25]])
    assert set(shapes) == {()}
    assert pnp.piecewise(x[:0], [x[:0] > 0], [root]).shape == (0, 2)


def test_rows_of_an_array_are_the_conditions_of_piecewise() -> None:
    x = np.arange(-4, 5)
    rows = np.stack([x < 0, x > 2])
    for array in (rows, pnp.asarray(rows)):
        assert pnp.piecewise(x, array, [1, lambda x: x]).tolist() == [1, 1, 1, 1, 0, 0, 0, 3, 4]
        assert pnp.piecewise(x, array, [1, 2, lambda x: 2 * x]).tolist() == [1, 1, 1, 1, 0, 2, 4, 2, 2]
    functions = [lambda x: x * 0, lambda x: x * 10, lambda x: x * 100]
    assert pnp.piecewise(x, np.array([False, True, False]), functions).tolist() == (10 * x).tolist()
    assert (
        px.jit(lambda c: pnp.piecewise(x, c, functions))(np.array([False, False, True])).tolist() == (100 * x).tolist()
    )
    assert int(pnp.piecewise(3, True, [1])) == 1
    with pytest.raises(ValueError, match="must have 9 or 10 entries, as condlist has 9, got 2; put one condition in a"):
        pnp.piecewise(x, x < 0, [1, 2])


SPECIAL = np.float32([0.0, -0.0, 1.0, 2.0, -1.0, -2.5, np.inf, -np.inf, np.nan])
PAIRS = [x.ravel() for x in np.meshgrid(SPECIAL, SPECIAL)]


def derivatives(function: Any) -> Any:
    """A function of a module and two arrays that gives the derivatives with respect to both, by forward mode."""

    def both(m: Any, x: Any, y: Any) -> Any:
        transform = px if m is pnp else pytest.importorskip("jax")
        one = m.ones_like(x)
        by_y = m.zeros_like(x)
        if y.dtype == x.dtype:
            by_y = transform.jvp(lambda y: function(m, x, y), (y,), (one,))[1]
        return [transform.jvp(lambda x: function(m, x, y), (x,), (one,))[1], by_y]

    return both


@pytest.mark.parametrize("name", ["remainder", "fmod", "fmax", "fmin"])
def test_derivatives_at_special_values_agree_with_jax(name: str) -> None:
    compare({name: derivatives(lambda m, x, y: getattr(m, name)(x, y))}, *PAIRS)


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_derivatives_at_special_values_are_those_of_jax_or_numbers_where_those_are_nan(name: str) -> None:
    jnp = pytest.importorskip("jax").numpy
    run = derivatives(lambda m, x, y: getattr(m, name)(x, y))
    for found, wanted in zip(run(pnp, *PAIRS), run(jnp, *PAIRS), strict=True):
        known = ~np.isnan(wanted)
        np.testing.assert_allclose(np.asarray(found)[known], np.asarray(wanted)[known], rtol=1e-5)
    limits = {"power": (0.0, 0.0, 0.0), "arctan2": (1.0, np.inf, 0.0)}
    x, y, limit = limits[name]
    assert float(px.grad(getattr(pnp, name))(x, y)) == limit


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_powers_with_exponents_that_are_integers_have_derivatives_at_0(dtype: str) -> None:
    x, n = (z.ravel() for z in np.meshgrid(SPECIAL, np.array([0, 1, 2, 3]).astype(dtype)))
    compare({"power": derivatives(lambda m, x, y: m.power(x, y)), "value": lambda m, x, y: m.power(x, y)}, x, n)
    found = px.vmap(px.grad(px.grad(lambda x, n: x**n)))(pnp.zeros(4), pnp.asarray([0, 1, 2, 3]))
    assert found.tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32"])
@pytest.mark.parametrize("base", [True, 2, 2.0, 2j])
def test_powers_of_scalars_have_the_types_of_jax(base: complex, dtype: str) -> None:
    compare({"power": lambda m, x: (m.power(base, x), m.power(x, base), base**x)}, np.array([1, 0, 3]).astype(dtype))


def test_a_sum_of_exponentials_is_nan_with_its_derivatives_where_an_operand_is() -> None:
    for function in (pnp.logaddexp, pnp.logaddexp2):
        for x, y in ((np.nan, 1.0), (1.0, np.nan), (np.nan, np.inf)):
            found = px.jvp(function, (x, y), (1.0, 1.0))
            assert np.isnan(found).all()
        value, slope = px.jvp(function, (1.0, np.inf), (1.0, 0.0))
        assert (float(value), float(slope)) == (np.inf, 0.0)
        assert float(function(-np.inf, -np.inf)) == -np.inf


def test_delete_takes_a_mask_of_the_library_as_of_numpy() -> None:
    mask = np.array([True, False, True, False])
    for given in (mask, pnp.asarray(mask)):
        assert pnp.delete(pnp.arange(4), given).tolist() == [1, 3]


def test_repeat_takes_an_axis_of_a_number() -> None:
    compare({"last": lambda m, x: m.repeat(x, 2, axis=-1), "first": lambda m, x: m.repeat(x, 0, axis=0)}, np.float32(3))


def test_bits_of_python_scalars_are_counted_in_arrays() -> None:
    for x in (True, 3, -3, np.uint8(7)):
        compare({"bitwise_count": lambda m, x=x: m.bitwise_count(x)})


def test_a_window_is_as_accurate_as_its_dtype_whatever_that_of_its_shape() -> None:
    with px.enable_x64(True):
        for shape in (np.float32([1, 0]), np.array([1, 0]), np.array([True, False])):
            np.testing.assert_allclose(pnp.kaiser(2, shape)[0], np.kaiser(2, 1.0)[0], rtol=1e-12)


def test_windows_take_numbers_of_points_that_are_floats() -> None:
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        assert getattr(pnp, name)(4.5).tolist() == getattr(pnp, name)(4).tolist()
        with pytest.raises(TypeError, match=f"{name}: M must be an integer"):
            getattr(pnp, name)("a")
    assert pnp.kaiser(np.float32(4), 2.0).tolist() == pnp.kaiser(4, 2.0).tolist()
    assert pnp.hanning(pnp.float16(5)).tolist() == pnp.hanning(5).tolist()
    assert pnp.kaiser(pnp.array(True), 2.0).tolist() == [1.0]


def test_shapes_may_be_single_numbers() -> None:
    assert pnp.broadcast_shapes(2) == (2,)
    assert pnp.broadcast_shapes(2, (3, 1)) == (3, 2)


def test_products_of_polynomials_without_coefficients_are_zero() -> None:
    none, some = np.float32([]), np.float32([1, 2])
    for x, y in ((none, none), (none, some), (some, none)):
        compare({"polymul": lambda m, x, y: m.polymul(x, y)}, x, y)


def test_gradient_promotes_values_and_distances_together():
    with px.enable_x64(True):
        out = pnp.gradient(np.uint8([[0, 3, 254], [3, 0, 0]]), np.int32(-91), np.uint32(4))
        assert [part.dtype for part in out] == [np.float64, np.float64]


def test_gradient_takes_one_array_of_positions_for_one_axis_only():
    x, positions = np.float32([[0, 3], [1, 2]]), np.float32([1, 2])
    with pytest.raises(TypeError, match=r"gradient: varargs must be one number, or .* each of 2 axes, got 1"):
        pnp.gradient(x, positions)
    np.testing.assert_array_equal(pnp.gradient(x, positions, axis=0), [[1, -1], [1, -1]])


@pytest.mark.parametrize("positions", [np.ones((2, 2)), np.ones(3), np.ones(1), np.ones((1, 2))])
def test_gradient_refuses_positions_of_another_shape_than_their_axis(positions):
    with pytest.raises(ValueError, match=r"gradient: the distances along axis 1 must be a number or 2 positions, got"):
        pnp.gradient(np.ones((3, 2), np.float32), 1.0, np.float32(positions))


def test_complex_exponentials_of_infinities_are_zero_and_change_no_sum():
    x = np.complex64([1 + 1j, 2 - 1j])
    assert pnp.exp2(np.complex64(complex(-np.inf, 1))) == 0
    np.testing.assert_allclose(pnp.logaddexp2(np.complex64(-np.inf), x), x, rtol=1e-6)
    np.testing.assert_allclose(np.exp2(pnp.logaddexp2.reduce(x).real), abs((2.0**x).sum()), rtol=1e-5)


@pytest.mark.parametrize("name, sign", [("polyadd", 1), ("polysub", -1)])
def test_the_shorter_of_stacked_polynomials_is_added_to_the_last_rows(name: str, sign: int) -> None:
    long = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    for short in (np.float32([[10, 20]]), np.float32([[1, 2], [3, 4]]), np.float32([5]), np.float32([5, 6])):
        want = long.copy()
        want[-len(short) :] += sign * short
        np.testing.assert_array_equal(getattr(pnp, name)(long, short), want)
        np.testing.assert_array_equal(getattr(pnp, name)(short, long), sign * want)
    with pytest.raises(
        ValueError, match=rf"{name}: the shorter coefficients .* last 2 of the longer, got .*\(3,\) and"
    ):
        getattr(pnp, name)(np.ones(3, np.float32), long[:2])


def test_functions_of_positions_are_mapped_over_them() -> None:
    np.testing.assert_array_equal(pnp.fromfunction(lambda i: (i + 1) * pnp.arange(3), (2,)), [[0, 1, 2], [0, 2, 4]])
    shapes = []
    out = pnp.fromfunction(lambda i, j: shapes.append(i.shape) or {"sum": i + j, "five": 5}, (2, 3), dtype=int)
    assert shapes == [()]
    assert out["sum"].tolist() == [[0, 1, 2], [1, 2, 3]]
    assert out["five"].tolist() == [[5, 5, 5], [5, 5, 5]]
    assert pnp.fromfunction(lambda i, by: i * by.sum(), (3,), by=pnp.ones(2)).tolist() == [0, 2, 4]
    assert px.jit(lambda: pnp.fromfunction(pnp.multiply, (2, 3)))().tolist() == [[0, 0, 0], [0, 1, 2]]
    assert pnp.fromfunction(lambda i, j: i, (2, 0)).shape == (2, 0)


@pytest.mark.parametrize(
    "convert",
    [
        lambda z: z.astype("float32"),
        lambda z: pnp.astype(z, "int32"),
        lambda z: pnp.asarray(z, "float32"),
        lambda z: pnp.sum(z, dtype="float32"),
        lambda z: px.jit(lambda z: z.astype("float32"))(z),
    ],
)
def test_numbers_that_lose_their_imaginary_part_are_warned_of(convert: Any) -> None:
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary part"):
        assert convert(pnp.asarray([3 + 4j])).sum() == 3
    assert pnp.asarray([3 + 4j, 0]).astype(bool).tolist() == [True, False]  # asks a question, and loses nothing


def test_variances_of_complex_numbers_do_not_warn() -> None:
    z = np.asarray([1 + 2j, complex(np.nan, 0), 3 - 1j], np.complex64)
    np.testing.assert_allclose(pnp.nanvar(pnp.asarray(z)), np.nanvar(z), rtol=1e-6)


@pytest.mark.parametrize("name", ["heaviside", "logaddexp2"])
def test_results_of_two_numbers_are_weakly_typed_as_in_jax(name: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    mine, theirs = getattr(pnp, name), getattr(jnp, name)
    for x, y in [(np.arange(3), 0.5), (1, 0.5), (0.5, np.arange(3)), (np.float16(1), 2), (np.ones(2), np.ones(2))]:
        ours, other = mine(pnp.asarray(x) if np.ndim(x) else x, y), theirs(jnp.asarray(x) if np.ndim(x) else x, y)
        assert (ours.dtype, ours.weak_type) == (other.dtype, other.weak_type), (x, y)
        np.testing.assert_allclose(ours, other, rtol=1e-6)


def test_no_derivative_and_no_integral_of_a_number_is_the_number() -> None:
    calls = {name: lambda m, x, name=name: getattr(m, name)(x[0], 0) for name in ("polyder", "polyint")}
    compare(calls, np.float32([2.5]))
