"""Hares and lynxes: fit parameters of the Lotka-Volterra equations to a historical record by gradients of odeint."""

from __future__ import annotations

import argparse

import numpy as np

import primax as px
import primax.numpy as pnp
from primax.ode import odeint

# Pelts that the Hudson's Bay Company bought each year from 1900 to 1920, in thousands.
HARES = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNXES = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
PELTS = np.log(np.float32([HARES.split(), LYNXES.split()]).T)
YEARS = np.arange(21.0, dtype=np.float32)


def growth(state, t, rates):
    """The growth rates of the logarithms of both populations."""
    birth, eaten, death, fed = pnp.exp(rates)
    hares, lynxes = pnp.exp(state)
    return pnp.stack([birth - eaten * lynxes, fed * hares - death])


def history(parameters):
    """The logarithms of both populations, year by year."""
    return odeint(growth, parameters["start"], YEARS, parameters["rates"], rtol=1e-4, atol=1e-4)


def loss(parameters):
    return pnp.mean((history(parameters) - PELTS) ** 2)


@px.jit
def adam(parameters, mean, square, step):
    """One step of Adam (Kingma and Ba, 2015)."""
    cost, slope = px.value_and_grad(loss)(parameters)
    mean = px.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
    square = px.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, square, slope)
    rate = 0.03 * pnp.sqrt(1 - 0.99**step) / (1 - 0.9**step)
    parameters = px.tree.map(lambda p, m, v: p - rate * m / (pnp.sqrt(v) + 1e-8), parameters, mean, square)
    return parameters, mean, square, cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150, help="steps of Adam")
    options = parser.parse_args()
    parameters = {"start": pnp.asarray(PELTS[0]), "rates": pnp.log(pnp.array([0.5, 0.02, 1.0, 0.02]))}
    mean = square = px.tree.map(pnp.zeros_like, parameters)
    for step in range(1, options.steps + 1):
        parameters, mean, square, cost = adam(parameters, mean, square, float(step))
        if step in (1, options.steps) or step % 50 == 0:
            print(f"step {step:4}: mean squared error of logarithms {float(cost):.4f}")
    birth, eaten, death, fed = np.exp(parameters["rates"])
    print(f"hares:  birth rate {birth:.3f} a year, rate of being eaten {eaten:.4f} a year for each lynx")
    print(f"lynxes: death rate {death:.3f} a year, birth rate {fed:.4f} a year for each hare")
    print(f"a cycle takes about {2 * np.pi / np.sqrt(birth * death):.1f} years")
    print("year   hares (record)   lynxes (record)")
    for year, model, record in list(zip(YEARS, np.exp(history(parameters)), np.exp(PELTS), strict=True))[::4]:
        print(f"{1900 + year:.0f}   {model[0]:5.1f} ({record[0]:5.1f})    {model[1]:5.1f} ({record[1]:5.1f})")


if __name__ == "__main__":
    main()
