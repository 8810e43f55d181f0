"""`px.numpy.pad` agrees with NumPy's in every mode, at options drawn at random."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from rulecheck import assert_close

import primax as px
import primax.numpy as pnp

pytestmark = pytest.mark.usefixtures("in_32_bits")

MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "maximum", "mean", "minimum", "linear_ramp", "median"]
X = np.random.default_rng(0).integers(-9, 9, (2, 3)).astype(np.int32)


def drawn(mode: str, rng: random.Random) -> tuple[Any, dict[str, Any]]:
    """Widths and options for an array of two axes."""

    def pairs(low: int, high: int) -> Any:
        return [(rng.randint(low, high), rng.randint(low, high)) for _ in range(2)]

    options: dict[str, Any] = {}
    if mode in ("reflect", "symmetric"):
        options["reflect_type"] = rng.choice(["even", "odd"])
    elif mode in ("maximum", "minimum", "mean", "median"):
        options["stat_length"] = rng.choice([1, 2, 5])
    elif mode == "constant":
        options["constant_values"] = rng.choice([7, (1, 2), pairs(-5, 5)])
    elif mode == "linear_ramp":
        options["end_values"] = rng.choice([7, (1, 2), pairs(-5, 5)])
    return pairs(0, 4), options


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_arrays_are_padded_as_by_numpy(dtype: Any) -> None:
    rng = random.Random(str(dtype))
    cases = [(mode, *drawn(mode, rng)) for mode in MODES for _ in range(2)]
    x = X.astype(dtype)
    outs = px.jit(lambda x: [pnp.pad(x, widths, mode, **options) for mode, widths, options in cases])(x)
    for out, (mode, widths, options) in zip(outs, cases, strict=True):
        assert_close(out, np.pad(x, widths, mode, **options), 1e-5, str((mode, widths, options)))


def test_ramps_of_narrow_integers_do_not_wrap() -> None:
    for dtype, ends in ((np.uint8, (250, 3)), (np.int8, (-120, 120))):
        x = np.array([100, 7], dtype)
        assert_close(pnp.pad(x, 4, "linear_ramp", end_values=ends), np.pad(x, 4, "linear_ramp", end_values=ends))


def test_a_function_fills_what_is_put_around() -> None:
    def fill(vector: Any, widths: Any, axis: int, options: Any) -> Any:
        return pnp.concatenate([vector[: -widths[1]], pnp.full(widths[1], axis + options["base"], vector.dtype)])

    out = pnp.pad(X, ((0, 1), (0, 2)), fill, base=5)
    assert np.asarray(out)[-1].tolist() == [5, 5, 5, 6, 6]
    assert np.asarray(out)[:2, :3].tolist() == X.tolist()


def test_constants_may_be_traced() -> None:
    def around(x: Any, value: Any) -> Any:
        return pnp.pad(x, 1, constant_values=((value, 2), (3, value)))

    assert_close(px.jit(around)(X, 8), np.pad(X, 1, constant_values=((8, 2), (3, 8))))
    assert float(px.grad(lambda v: around(X.astype(np.float32), v).sum())(1.0)) == 7.0


@pytest.mark.parametrize("mode", ["constant", "linear_ramp", "maximum", "mean", "median", "minimum", "edge", "wrap"])
def test_weak_types_stay(mode: str) -> None:
    for value in (1, 1.0):
        assert pnp.pad(pnp.full(3, value), 1, mode).weak_type
        assert not pnp.pad(pnp.full(3, value, "int8"), 1, mode).weak_type
    assert pnp.pad(pnp.full(3, 1.0), 1, constant_values=(1, 2)).weak_type


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"pad: mode must be one of .* got 'spiral'"):
        pnp.pad(X, 1, "spiral")
    with pytest.raises(ValueError, match="pad: mode 'median' has no option 'end_values'"):
        pnp.pad(X, 1, "median", end_values=1)
    with pytest.raises(ValueError, match="pad: pad_width must not be negative, got -1"):
        pnp.pad(X, -1)
