"""Bayesian logistic regression by Hamiltonian Monte Carlo: is a tumour malignant, and with what certainty?"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer

import primax as px
import primax.numpy as pnp


def data():
    """Standardized features with a column of ones, and labels: 1 if a tumour is benign. One in four is for tests."""
    x, y = load_breast_cancer(return_X_y=True)
    x = np.column_stack([(x - x.mean(0)) / x.std(0), np.ones(len(x))]).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[: len(y) // 4], order[len(y) // 4 :]
    return x[train], y[train], x[test], y[test]


def energy(weights, x, y):
    """The negative logarithm of the posterior density: weights are normal, outcomes are Bernoulli."""
    scores = x @ weights
    return pnp.sum(px.nn.softplus(scores) - y * scores) + 0.5 * pnp.sum(weights**2)


def transition(weights, key, x, y, size, steps):
    """One step of the chain: leapfrog steps with a random momentum, then acceptance or rejection."""
    slope = px.grad(energy)
    push, decide = px.random.split(key)
    momentum = px.random.normal(push, weights.shape)

    def leapfrog(state, _):
        place, momentum = state
        momentum = momentum - 0.5 * size * slope(place, x, y)
        place = place + size * momentum
        return (place, momentum - 0.5 * size * slope(place, x, y)), None

    (place, pushed), _ = px.lax.scan(leapfrog, (weights, momentum), length=steps)
    before = energy(weights, x, y) + 0.5 * pnp.sum(momentum**2)
    after = energy(place, x, y) + 0.5 * pnp.sum(pushed**2)
    accepted = pnp.log(px.random.uniform(decide)) < before - after
    return pnp.where(accepted, place, weights), accepted


def chain(key, x, y, samples, size=0.05, steps=16):
    start, key = px.random.split(key)
    weights = 0.1 * px.random.normal(start, (x.shape[1],))

    def step(weights, key):
        weights, accepted = transition(weights, key, x, y, size, steps)
        return weights, (weights, accepted)

    return px.lax.scan(step, weights, px.random.split(key, samples))[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=600, help="the number of steps of each of the four chains")
    options = parser.parse_args()
    x, y, new_x, new_y = data()
    run = px.jit(px.vmap(lambda key: chain(key, x, y, options.samples)))
    draws, accepted = (np.asarray(out) for out in run(px.random.split(px.random.key(0), 4)))
    kept = draws[:, options.samples // 3 :]
    within, between = kept.var(1).mean(0), kept.mean(1).var(0)
    print(f"four chains of {options.samples} steps, {accepted.mean():.0%} accepted")
    print(f"R-hat of the chains: {np.sqrt(1 + between / within).max():.3f} (1 means that they agree)")
    chances = np.asarray(px.nn.sigmoid(kept.reshape(-1, x.shape[1]) @ new_x.T))
    mean, spread = chances.mean(0), chances.std(0)
    right = (mean > 0.5) == new_y
    print(f"{right.mean():.1%} of {len(new_y)} test tumours are classified correctly")
    sure = spread < 0.1
    print(f"the posterior is certain about {sure.sum()} of them, and wrong about {(sure & ~right).sum()} of those")


if __name__ == "__main__":
    main()
