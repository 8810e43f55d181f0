"""px.scipy.stats where arguments are special or not valid, against scipy.stats."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from parts import computed

import primax as px
from primax.scipy import stats

scipy = pytest.importorskip("scipy")
scipy_stats = pytest.importorskip("scipy.stats")

pytestmark = [pytest.mark.usefixtures("in_32_bits"), pytest.mark.any_release]

# Methods of which earlier releases of SciPy than these lose the tails, or take parameters that are not valid for valid.
SINCE = {
    (1, 15): "cauchy.ppf cauchy.isf laplace.logsf laplace.logcdf",
    (1, 17): "bernoulli.ppf",
}
SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))
LOST = {tuple(name.split(".")) for since, names in SINCE.items() if since > SCIPY for name in names.split()}

NAN, INF = np.nan, np.inf
NUMBERS = (NAN, -INF, INF, -0.0, 0.0, 1.0, 0.5, 2.0, -1.0, -40.0, 40.0, 1e-10, 1e10, -1e10, -2.5, 0.8, 6.0)
INTEGERS = (NAN, -INF, INF, -0.0, 0.0, 1.0, 0.5, 2.0, -1.0, 5.0, 6.0, 100.0, 2.7)
PROBABILITIES = (NAN, -INF, INF, -0.0, 0.0, 1.0, 0.5, 0.97, 1e-10, 1e-300, 1 - 1e-10, -1e-10, 1 + 1e-10, -1.0)
PLACES = ((0.0, 1.0), (NAN, 1.0), (0.0, NAN), (0.0, 0.0), (0.0, -1.0), (INF, 1.0), (0.0, INF), (1.0, 2.0))
POSITIVE = (1.5, 1.0, 0.5, 0.0, -1.0, NAN, 1e5)
FRACTION = (0.3, 0.0, 1.0, -0.1, 1.1, NAN)
COUNT = (5.0, 0.0, -1.0, 2.5, NAN)

CONTINUOUS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("norm", "uniform", "expon", "cauchy", "laplace", "logistic", "gumbel_r", "gumbel_l"), ()),
    **dict.fromkeys(("gamma", "chi2", "pareto", "t"), (POSITIVE,)),
    "gennorm": ((2.5, 1.0, 0.3, 0.0, -1.0, NAN),),
    "beta": (POSITIVE, POSITIVE),
}
DISCRETE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("bernoulli", "geom"), (FRACTION,)),
    **dict.fromkeys(("binom", "nbinom"), (COUNT, FRACTION)),
    "poisson": ((2.5, 0.0, -1.0, NAN, 1e5),),
    "betabinom": (COUNT, (1.5, 0.0, -1.0, NAN), (2.5, 0.0)),
}


def has_formula(distribution: Any, method: str) -> bool:
    try:
        return callable(distribution._standard(method))
    except NotImplementedError:
        return False


def calls(families: dict[str, Any], points: Any, methods: str, places: Any) -> dict[tuple[str, str], list[np.ndarray]]:
    """Of each method that has a formula the arguments: points with all parameters, and with all places."""
    made = {}
    for name, axes in families.items():
        first = [axis[0] for axis in axes]
        rows = [
            *itertools.product(points, *axes, places[:1]),
            *itertools.product(points, *([x] for x in first), places),
        ]
        columns = [np.array(column) for column in zip(*((*row[:-1], *row[-1]) for row in rows), strict=True)]
        for method in methods.split():
            if (name, method) not in LOST and has_formula(
                getattr(stats, name), {"pdf": "logpdf", "pmf": "logpmf"}.get(method, method)
            ):
                made[name, method] = columns
    return made


def check(made: dict[tuple[str, str], list[np.ndarray]]) -> None:
    if not made:
        pytest.skip("this release of SciPy says nothing of these")
    with px.enable_x64(True):
        results = computed(
            {key: partial(getattr(getattr(stats, key[0]), key[1]), *args) for key, args in made.items()},
        )
    for (name, method), args in made.items():
        with np.errstate(all="ignore"):
            want = getattr(getattr(scipy_stats, name), method)(*args)
        got = np.asarray(results[name, method])
        if method.startswith("log"):  # SciPy takes the logarithm of what underflows
            got = np.where((got < -700) & (want == -INF), want, got)
        # At infinity SciPy subtracts infinities: the density is 0 there.
        want = np.where(np.isnan(want) & np.isinf(args[0]) & ((got == 0) | (got == -np.inf)), got, want)
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-14, err_msg=f"{name}.{method}")


def test_densities_and_probabilities_are_those_of_scipy():
    check(calls(CONTINUOUS, NUMBERS, "logpdf pdf cdf sf logcdf logsf", PLACES))


def test_quantiles_are_those_of_scipy():
    check(calls(CONTINUOUS, PROBABILITIES, "ppf isf", PLACES))


def test_probabilities_of_integers_are_those_of_scipy():
    check(calls(DISCRETE, INTEGERS, "logpmf pmf cdf sf", ((0.0,), (NAN,), (1.0,), (0.5,))))


def test_the_quantiles_of_bernoulli_are_those_of_scipy():
    check(calls({"bernoulli": DISCRETE["bernoulli"]}, PROBABILITIES, "ppf", ((0.0,), (NAN,), (1.0,))))


def test_tails_do_not_underflow_in_single_precision():
    x = np.float32([-700.0, -60.0, 60.0, 700.0])
    for name, method in (
        *(("laplace", "logsf"), ("laplace", "logcdf"), ("gumbel_r", "logsf"), ("gumbel_l", "logcdf")),
        *(("logistic", "logsf"), ("norm", "logcdf"), ("cauchy", "sf"), ("cauchy", "logcdf")),
    ):
        if (name, method) in LOST:
            continue
        want = getattr(getattr(scipy_stats, name), method)(x.astype(float)).astype(np.float32)
        np.testing.assert_allclose(
            getattr(getattr(stats, name), method)(x), want, rtol=1e-5, err_msg=f"{name}.{method}"
        )


@pytest.mark.skipif(SCIPY < (1, 15), reason="SciPy before 1.15 takes logarithms of probabilities that are rounded")
def test_logarithms_of_probabilities_near_1_are_accurate_in_single_precision():
    names = {"gamma": (2.5,), "chi2": (3.0,), "pareto": (2.0,), "beta": (2.0, 3.0)}
    names |= dict.fromkeys("norm cauchy uniform expon gumbel_r gumbel_l laplace logistic".split(), ())
    missing = np.array([1e-12, 1e-7, 1e-4, 0.01, 0.3, 0.5])
    for name, shapes in names.items():
        theirs, ours = getattr(scipy_stats, name), getattr(stats, name)
        for method, x in ("logcdf", theirs.isf(missing, *shapes)), ("logsf", theirs.ppf(missing, *shapes)):
            x = x.astype(np.float32)
            wanted = getattr(theirs, method)(x.astype(np.float64), *shapes)
            found = getattr(ours, method)(x, *np.float32(shapes))
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-35, err_msg=f"{name}.{method}")


# Where supports begin the derivatives are those inside, or those outside if the former are infinite.
AT_EDGES = {
    "pdf": {
        "uniform": (0, -1),
        "expon": (-1, -1),
        "pareto": (-3.75, 2.25),
        "laplace": (-0.5, -0.5),
        **dict.fromkeys(("gamma", "chi2", "beta"), (0, 0)),
    },
    "cdf": {
        "uniform": (1, 0),
        "expon": (1, 0),
        "pareto": (1.5, -1.5),
        **dict.fromkeys(("gamma", "chi2", "beta"), (0, 0)),
    },
}
AT_EDGES["sf"] = {name: (-x, -scale) for name, (x, scale) in AT_EDGES["cdf"].items()}


def test_derivatives_are_those_of_scipy_in_the_support_and_zero_outside():
    shapes = {name: tuple(axis[0] for axis in axes) for name, axes in CONTINUOUS.items()} | {"chi2": (3.0,)}
    edges = {"uniform": 0.0, "expon": 0.0, "gamma": 0.0, "chi2": 0.0, "beta": 0.0, "pareto": 1.0}

    def slopes(point: Any, method: str) -> dict[str, Any]:
        return {
            name: px.grad(getattr(getattr(stats, name), method), (0, -1))(point, *parameters, 0.0, 1.0)
            for name, parameters in shapes.items()
            if has_formula(getattr(stats, name), method.replace("pdf", "logpdf"))
        }

    def differences(name: str, point: float, method: str) -> list[Any]:
        def of(x: float, scale: float) -> Any:
            return getattr(getattr(scipy_stats, name), method)(x, *shapes[name], 0.0, scale)

        h = 1e-6
        return [(of(point + h, 1) - of(point - h, 1)) / (2 * h), (of(point, 1 + h) - of(point, 1 - h)) / (2 * h)]

    points, methods = np.array([0.0, 0.5, 1.0, 2.0]), ("pdf", "cdf", "sf")
    with px.enable_x64(True):
        inside = {method: px.jit(px.vmap(lambda x, method=method: slopes(x, method)))(points) for method in methods}
        outside = px.jit(lambda: [slopes(-1.0, method) for method in ("logpdf", "pdf", "logcdf", "logsf", "cdf")])()
        far = px.jit(lambda: slopes(1e5, "pdf"))()
    for (method, each), (i, x) in itertools.product(inside.items(), enumerate(points)):
        for name, (of_x, of_scale) in each.items():
            if x == edges.get(name, 0.0) and name in AT_EDGES[method]:
                want = AT_EDGES[method][name]
            elif x == 1.0 and name in ("uniform", "beta"):
                continue  # where these supports end
            else:
                want = differences(name, x, method)
            found = of_x[i], of_scale[i]
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-8, err_msg=f"{name}.{method} at {x}")
    np.testing.assert_allclose(list(far.values()), 0, atol=1e-9)
    slopes_outside = [slope for each in outside for name in edges.keys() & each.keys() for slope in each[name]]
    assert slopes_outside
    assert not any(np.asarray(slope).any() for slope in slopes_outside)


def test_a_density_of_integers_has_a_derivative_where_a_probability_is_0_or_1():
    slopes = px.jit(lambda p: [px.grad(stats.binom.pmf, 2)(0.0, 5.0, p), px.grad(stats.bernoulli.logpmf, 1)(1, 1 - p)])
    np.testing.assert_allclose(slopes(0.0), [-5.0, 1.0], rtol=1e-5)


def test_densities_of_vectors_are_nan_for_nan_and_for_what_is_no_covariance():
    normal = stats.multivariate_normal.logpdf
    eye = np.eye(2, dtype=np.float32)
    assert np.isnan(normal(np.float32([NAN, 0.0]), np.zeros(2, np.float32), eye))
    assert np.isnan(normal(np.zeros(2, np.float32), np.zeros(2, np.float32), -eye))
    assert np.isnan(np.asarray(normal(np.float32([0.0, 1.0]), 0.0, np.float32([-1.0, 0.0])))).all()
    several = normal(np.ones((3, 2), np.float32), np.zeros(2, np.float32), np.stack([eye, 2 * eye, 4 * eye]))
    want = [scipy_stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2), n * np.eye(2)) for n in (1, 2, 4)]
    np.testing.assert_allclose(several, want, rtol=1e-5)
    with pytest.raises(ValueError, match=r"cov must have the shape \(..., 2, 2\), got \(3, 3\)"):
        normal(np.zeros(2, np.float32), np.zeros(2, np.float32), np.eye(3, dtype=np.float32))


def test_a_mean_that_is_not_given_is_a_vector_of_zeros_for_a_matrix_as_in_scipy_and_a_number_otherwise():
    pdf, x, eye = stats.multivariate_normal.pdf, np.ones((3, 2), np.float32), np.eye(2, dtype=np.float32)
    np.testing.assert_allclose(pdf(x, cov=eye), scipy_stats.multivariate_normal.pdf(x, None, eye), rtol=1e-6)
    assert pdf(x, None, eye).shape == (3,)
    assert pdf(x).shape == pdf(x, 0.0).shape == pdf(x, None, np.float32([1.0, 2.0])).shape == (3, 2)
    assert pdf(x[:2], 0.0, eye + 1).shape == pdf(x[0], 0.0, eye[:, :1] + 1).shape == (2, 2)  # variances, as in jax
    for given in (x, x[0]):
        with pytest.raises(ValueError, match="mean must be None or a vector if cov is a matrix, got a number"):
            pdf(given, 0.0, eye)


def test_a_dirichlet_density_is_that_of_scipy_on_edges_and_nan_for_invalid_parameters():
    density = stats.dirichlet.logpdf
    edge, alpha = np.float32([0.0, 0.4, 0.6]), np.float32([1.0, 2.0, 3.0])
    np.testing.assert_allclose(density(edge, alpha), scipy_stats.dirichlet.logpdf([0.0, 0.4, 0.6], alpha), rtol=1e-5)
    assert np.asarray(density(np.float32([-0.1, 0.5, 0.6]), alpha)) == -INF
    assert np.asarray(density(np.float32([0.1, 0.5, 0.6]), alpha)) == -INF
    assert np.isnan(density(np.float32([NAN, 0.4, 0.6]), alpha))
    assert np.isnan(density(edge, np.float32([-1.0, 2.0, 3.0])))
    assert np.isnan(density(edge, np.float32([NAN, 2.0, 3.0])))


def test_tails_of_gamma_distributions_are_logarithms_where_probabilities_underflow():
    # The logarithms of mpmath's incomplete gamma functions.
    x = np.float32([100, 700, np.inf])
    np.testing.assert_allclose(stats.gamma.logsf(x, 2.5), [-93.36197, -690.45592, -np.inf], rtol=1e-6)
    np.testing.assert_allclose(stats.chi2.logsf(2 * x, 2.0), [-100, -700, -np.inf], rtol=1e-6)
    np.testing.assert_allclose(stats.gamma.logcdf(np.float32([1e-25, 0]), 2.5), [-145.11255, -np.inf], rtol=1e-6)
    np.testing.assert_allclose(stats.gennorm.logcdf(np.float32([-15]), 2.0), -228.97577, rtol=1e-6)
    for distribution, a in ((stats.gamma, 2.5), (stats.chi2, 7.0)):
        assert distribution.logpdf(np.inf, a) == -np.inf
        assert distribution.pdf(np.inf, a) == 0


def test_probabilities_of_large_counts_do_not_cancel_out_in_single_precision():
    np.testing.assert_allclose(stats.poisson.logpmf(np.float32(1e4), np.float32(1e4)), -5.5241171, rtol=1e-6)
    want = -2.1688475  # log of 1000! / (11! 989!) 0.01**11 0.99**989
    np.testing.assert_allclose(stats.binom.logpmf(np.float32(11), np.float32(1000), np.float32(0.01)), want, rtol=1e-6)
    slope = px.grad(lambda mu: stats.poisson.logpmf(10.0, mu))(np.float32(8))
    np.testing.assert_allclose(slope, 0.25, rtol=1e-5)


def test_derivatives_of_log_densities_keep_their_digits_near_the_peak_and_far_out():
    near = np.float32(8e-7)
    np.testing.assert_allclose(px.grad(stats.logistic.logpdf)(near), -near / 2, rtol=1e-6)
    z, df = np.float32(6.8e30), np.float32(1.36e-3)
    np.testing.assert_allclose(px.grad(px.grad(stats.t.logpdf), 1)(z, df), -1 / z, rtol=1e-5)
