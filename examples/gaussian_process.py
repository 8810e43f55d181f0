"""Gaussian process regression: fit the parameters of the kernel by Newton's method, then predict."""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

import primax as px
import primax.numpy as pnp

NOISE = 0.15
whiten = partial(px.lax.linalg.triangular_solve, left_side=True, lower=True)


def truth(x):
    return np.sin(3 * x) + 0.3 * x**2


def kernel(parameters, x, y):
    """The covariance of the values at two places: a Gaussian of some height and width."""
    height, width, _ = pnp.exp(parameters)
    return height**2 * pnp.exp(-0.5 * ((x[:, None] - y[None, :]) / width) ** 2)


def factor(parameters, x):
    """The Cholesky factor of the covariance of noisy values."""
    return pnp.linalg.cholesky(kernel(parameters, x, x) + pnp.exp(2 * parameters[2]) * pnp.eye(len(x)))


def negative_log_likelihood(parameters, x, values):
    lower = factor(parameters, x)
    squares, scale = whiten(lower, values[:, None]) ** 2, pnp.diagonal(lower)
    return pnp.sum(squares) / 2 + pnp.sum(pnp.log(scale)) + len(x) * pnp.log(2 * pnp.pi) / 2


@px.jit
def newton(parameters, x, values):
    """A step of Newton's method that goes downhill also where the Hessian is not positive definite."""
    cost, slope = px.value_and_grad(negative_log_likelihood)(parameters, x, values)
    bends, axes = pnp.linalg.eigh(px.hessian(negative_log_likelihood)(parameters, x, values))
    step = axes @ ((axes.T @ slope) / pnp.maximum(pnp.abs(bends), 1.0))
    return parameters - pnp.clip(step, -0.5, 0.5), cost


@px.jit
def predict(parameters, x, values, places):
    """The mean and the standard deviation of the function at places."""
    lower = factor(parameters, x)
    white = whiten(lower, kernel(parameters, x, places))
    mean = white.T @ whiten(lower, values[:, None])[:, 0]
    return mean, pnp.sqrt(pnp.exp(2 * parameters[0]) - pnp.sum(white**2, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=80, help="the number of noisy values")
    options = parser.parse_args()
    px.config.update("enable_x64", True)
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, options.points)
    values = truth(x) + rng.normal(0, NOISE, options.points)
    parameters = pnp.zeros(3)
    for step in range(8):
        parameters, cost = newton(parameters, x, values)
        print(f"step {step:2}: negative log likelihood {float(cost):8.3f}")
    height, width, noise = np.exp(parameters)
    print(f"height {height:.3f}, width {width:.3f}, noise {noise:.3f} (true noise {NOISE})")
    print("    x    truth  prediction")
    places = np.linspace(-2, 2, 9)
    for place, mean, deviation in zip(places, *predict(parameters, x, values, places), strict=True):
        print(f"{place:5.1f}  {truth(place):7.3f}  {mean:7.3f} ± {2 * deviation:.3f}")


if __name__ == "__main__":
    main()
