"""Draw the pictures of the gallery: `python examples/pictures.py --out docs/images/gallery`, or `make gallery`."""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import forward_laplacian
import gaussian_process
import hmc
import interval_analysis
import matplotlib.pyplot as plt
import numpy as np
import predator_prey

import primax as px
import primax.numpy as pnp

# Text stays text, and the same picture is the same file.
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "primax", "figure.constrained_layout.use": True})


def gaussian(axis, points=40):
    """The function, its noisy values, and what the Gaussian process predicts."""
    with px.enable_x64(True):
        rng = np.random.default_rng(0)
        x = rng.uniform(-2, 2, points)
        values = gaussian_process.truth(x) + rng.normal(0, gaussian_process.NOISE, points)
        parameters = pnp.zeros(3)
        for _ in range(8):
            parameters, _ = gaussian_process.newton(parameters, x, values)
        places = np.linspace(-3, 3, 121)
        mean, deviation = map(np.asarray, gaussian_process.predict(parameters, x, values, places))
    axis.fill_between(places, mean - 2 * deviation, mean + 2 * deviation, color="tab:blue", alpha=0.2, lw=0)
    axis.plot(places, mean, color="tab:blue", label="mean ± 2 deviations")
    axis.plot(places, gaussian_process.truth(places), "--", color="0.4", label="the function")
    axis.plot(x, values, ".", color="black", markersize=4, label="noisy values")
    axis.legend(fontsize=8)


def hares(axis, steps=150):
    """The pelts of each year, and the populations of the fitted equations."""
    parameters = {"start": pnp.asarray(predator_prey.PELTS[0]), "rates": pnp.log(pnp.array([0.5, 0.02, 1.0, 0.02]))}
    mean = square = px.tree.map(pnp.zeros_like, parameters)
    for step in range(1, steps + 1):
        parameters, mean, square, _ = predator_prey.adam(parameters, mean, square, float(step))
    times = np.linspace(0, 20, 201, dtype=np.float32)
    found = px.ode.odeint(predator_prey.growth, parameters["start"], times, parameters["rates"], rtol=1e-4, atol=1e-4)
    for i, (name, color) in enumerate({"hares": "tab:brown", "lynxes": "tab:green"}.items()):
        axis.plot(1900 + times, np.exp(found[:, i]), color=color, label=name)
        axis.plot(1900 + predator_prey.YEARS, np.exp(predator_prey.PELTS[:, i]), "o", color=color, markersize=4)
    axis.set(xlabel="year", ylabel="pelts, in thousands", xticks=range(1900, 1921, 5))
    axis.legend(fontsize=8)


def tumours(axis, samples=200):
    """The chance that each test tumour is benign, against the uncertainty of this chance."""
    x, y, new_x, new_y = hmc.data()
    run = px.jit(px.vmap(lambda key: hmc.chain(key, x, y, samples)))
    draws = np.asarray(run(px.random.split(px.random.key(0), 4))[0])[:, samples // 3 :]
    chances = np.asarray(px.nn.sigmoid(draws.reshape(-1, x.shape[1]) @ new_x.T))
    for label, name, color in ((1, "benign", "tab:blue"), (0, "malignant", "tab:red")):
        chosen = chances[:, new_y == label]
        axis.plot(chosen.mean(0), chosen.std(0), "o", color=color, alpha=0.6, markersize=4, label=name)
    axis.set(xlabel="mean chance that a tumour is benign", ylabel="its standard deviation")
    axis.legend(fontsize=8, title="diagnosis", title_fontsize=8)


def intervals(axis, count=24):
    """A function, and the bounds of its values on short intervals."""

    def f(x):
        return px.lax.cond(x > 0.5, lambda x: pnp.exp(-x) * pnp.tanh(3 * x), lambda x: pnp.sin(4 * x) * 0.5, x)

    ends = np.linspace(-2, 3, count + 1, dtype=np.float32)
    for low, high in pairwise(ends):
        bound = interval_analysis.bounds(f, interval_analysis.Interval(low, high))
        least, most = float(bound.low), float(bound.high)
        axis.fill_between([low, high], least, most, color="tab:orange", alpha=0.4, lw=0.4)
    x = np.linspace(-2, 3, 401, dtype=np.float32)
    axis.plot(x, px.vmap(f)(x), color="black", label="the function")
    axis.set(xlabel="x", title="bounds on 24 intervals", xticks=range(-2, 4))
    axis.legend(fontsize=8)


def laplacians(axis):
    """The operations of a Laplacian in two ways, against the number of inputs."""
    sizes = [4, 8, 16, 32, 64]
    counts = {"trace of the Hessian": [], "forward Laplacian": []}
    for n in sizes:
        f = forward_laplacian.network(0, [n, 32, 32, 1])
        ways = (
            lambda x, f=f: pnp.trace(px.hessian(f)(x)),
            lambda x, f=f: forward_laplacian.laplacian(f)(x)[1],
        )
        for found, way in zip(counts.values(), ways, strict=True):
            found.append(px.jit(way).lower(np.ones(n, np.float32)).compile().cost_analysis()["flops"])
    for name, found in counts.items():
        axis.loglog(sizes, found, "o-", label=name)
    axis.set(xlabel="number of inputs", ylabel="floating-point operations", xticks=sizes, xticklabels=sizes)
    axis.minorticks_off()
    axis.legend(fontsize=8)


PICTURES = {
    "gaussian_process": gaussian,
    "predator_prey": hares,
    "hmc": tumours,
    "interval_analysis": intervals,
    "forward_laplacian": laplacians,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("report"), help="the folder (default: %(default)s)")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(PICTURES)}; all by default")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or PICTURES:
        figure, axis = plt.subplots(figsize=(5.4, 3.4))
        PICTURES[name](axis)
        path = options.out / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
        print(path)


if __name__ == "__main__":
    main()
