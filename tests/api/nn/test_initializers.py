"""Initial values are, bit for bit, those of jax; what cannot be drawn is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import jax_does

import primax as px

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.usefixtures("in_32_bits")

init = px.nn.initializers
DRAWN: dict[str, Any] = {
    "normal": lambda module, key: module.normal(0.1)(key, (3, 5)),
    "uniform": lambda module, key: module.uniform(0.1)(key, (3, 5)),
    "truncated_normal": lambda module, key: module.truncated_normal(0.5, lower=-1.0, upper=3.0)(key, (3, 5)),
    "glorot_normal": lambda module, key: module.glorot_normal()(key, (3, 3, 4, 6)),
    "glorot_uniform": lambda module, key: module.glorot_uniform()(key, (3, 3, 4, 6)),
    "he_normal with axes": lambda module, key: module.he_normal(in_axis=(0, 1), out_axis=2)(key, (2, 3, 4)),
    "he_uniform with a batch": lambda module, key: module.he_uniform(batch_axis=0)(key, (2, 3, 4)),
    "lecun_normal": lambda module, key: module.lecun_normal()(key, (3, 5)),
    "lecun_uniform in halves": lambda module, key: module.lecun_uniform(dtype=np.float16)(key, (3, 5)),
    "normal of the geometric mean": lambda module, key: module.variance_scaling(2.0, "fan_geo_avg", "normal")(
        key, (3, 5)
    ),
    "fan_out": lambda module, key: module.variance_scaling(2.0, "fan_out", "uniform")(key, (3, 5)),
}


def test_values_are_those_of_jax_bit_for_bit() -> None:
    for name, draw in DRAWN.items():
        found, wanted = draw(init, px.random.key(7)), draw(jax.nn.initializers, jax.random.key(7))
        assert found.dtype == wanted.dtype, name
        scaled = "normal" in name and jax_does("initializers scale normal numbers while drawing them")
        np.testing.assert_array_max_ulp(found, wanted, 1 if scaled else 0)


def test_values_in_64_bits_are_those_of_jax() -> None:
    with px.enable_x64(True), jax.enable_x64(True):
        found, wanted = (module.nn.initializers.he_normal()(module.random.key(1), (3, 5)) for module in (px, jax))
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
        np.testing.assert_allclose(px.nn.logsumexp(found), jax.nn.logsumexp(wanted), rtol=1e-13)
        assert px.nn.gelu(1).dtype == px.nn.one_hot(1, 3).dtype == np.float64


@pytest.mark.parametrize("shape, axis", [((4, 6), -1), ((2, 3, 4), 1)])
def test_orthogonal_matrices_are_those_of_jax(shape: tuple[int, ...], axis: int) -> None:
    found, wanted = (
        module.nn.initializers.orthogonal(2.0, column_axis=axis)(module.random.key(3), shape) for module in (px, jax)
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    matrix = np.moveaxis(np.asarray(found), axis, -1).reshape(-1, shape[axis])
    small = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 3, 4, 6), (4, 4, 6)])
def test_delta_orthogonal_kernels_are_those_of_jax(shape: tuple[int, ...]) -> None:
    found, wanted = (module.nn.initializers.delta_orthogonal()(module.random.key(3), shape) for module in (px, jax))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("distribution", ["truncated_normal", "normal", "uniform"])
def test_complex_values_are_those_of_jax(distribution: str) -> None:
    found, wanted = (
        module.nn.initializers.variance_scaling(1.0, "fan_in", distribution)(module.random.key(3), (3, 5), np.complex64)
        for module in (px, jax)
    )
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_constants_have_the_dtype_that_is_asked_for() -> None:
    key = px.random.key(0)
    assert init.zeros(key, (2, 3)).dtype == init.ones(key, (2, 3)).dtype == np.float32
    assert init.ones(key, (2,), np.int8).dtype == np.int8
    np.testing.assert_array_equal(init.constant(3)(key, (2,)), np.float32([3, 3]))
    np.testing.assert_array_equal(init.constant([1, 2], dtype=int)(key, (3, 2)), [[1, 2]] * 3)


def test_names_of_two_authors_mean_the_same() -> None:
    assert init.xavier_normal is init.glorot_normal
    assert init.xavier_uniform is init.glorot_uniform
    assert init.kaiming_normal is init.he_normal
    assert init.kaiming_uniform is init.he_uniform


def test_arguments_that_make_no_sense_are_refused() -> None:
    key = px.random.key(0)
    with pytest.raises(ValueError, match=r"variance_scaling: shape must have 2 axes or more, .* got \(3,\)"):
        init.glorot_normal()(key, (3,))
    with pytest.raises(ValueError, match=r"variance_scaling: mode must be one of fan_in, .*, got 'fan'"):
        init.variance_scaling(1.0, "fan", "normal")
    with pytest.raises(ValueError, match=r"variance_scaling: distribution must be one of .*, got 'even'"):
        init.variance_scaling(1.0, "fan_in", "even")
    with pytest.raises(ValueError, match=r"normal: dtype must be floating or complex, got int32"):
        init.normal()(key, (3,), int)
    with pytest.raises(ValueError, match=r"variance_scaling: in_axis must .* got 5"):
        init.he_normal(in_axis=5)(key, (3, 5))
    with pytest.raises(ValueError, match=r"orthogonal: shape must have 2 axes or more, got \(3,\)"):
        init.orthogonal()(key, (3,))
    with pytest.raises(ValueError, match=r"delta_orthogonal: shape must have 3, 4 or 5 axes, got \(3, 4\)"):
        init.delta_orthogonal()(key, (3, 4))
    with pytest.raises(ValueError, match=r"delta_orthogonal: inputs must not be more than outputs, got 5 and 4"):
        init.delta_orthogonal()(key, (3, 5, 4))
