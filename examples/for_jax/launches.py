"""The probability that a seal of the Challenger would fail: a logistic regression in NumPyro, sampled by NUTS.

primax as-jax examples/for_jax/launches.py --out launches.png
"""

from __future__ import annotations

import argparse
import time

import jax
import matplotlib as mpl
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import summary
from numpyro.infer import MCMC, NUTS, Predictive

mpl.use("agg")
import matplotlib.pyplot as plt

# The 23 earlier launches: degrees Fahrenheit at the start, and whether a seal was damaged.
DEGREES = "66 70 69 68 67 72 73 70 57 63 70 78 67 53 67 75 70 81 76 79 75 76 58"
DAMAGED = "0 1 0 0 0 0 0 0 1 1 1 0 0 1 0 0 0 0 0 0 1 0 1"
TEMPERATURE = np.array(DEGREES.split(), np.float32)
DAMAGE = np.array(DAMAGED.split(), np.int32)
THAT_DAY = 31.0


def model(degrees, damage=None):
    """Damage is a Bernoulli variable with log-odds that are linear in the temperature."""
    level = numpyro.sample("level", dist.Normal(0.0, 3.0))
    slope = numpyro.sample("slope", dist.Normal(0.0, 3.0))
    odds = numpyro.deterministic("odds", level + slope * (degrees - 70.0) / 10.0)
    with numpyro.plate("launches", len(degrees)):
        numpyro.sample("damage", dist.Bernoulli(logits=odds), obs=damage)


def sample(warmup: int, samples: int, chains: int) -> MCMC:
    """Samples of the level and the slope, given the launches."""
    chosen = MCMC(
        NUTS(model),
        num_warmup=warmup,
        num_samples=samples,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    chosen.run(jax.random.key(0), TEMPERATURE, DAMAGE)
    return chosen


def chance(chosen: MCMC, degrees: np.ndarray) -> np.ndarray:
    """Samples of the probability of damage at given temperatures, of shape (samples, len(degrees))."""
    drawn = Predictive(model, chosen.get_samples(), return_sites=["odds"])(jax.random.key(1), degrees)
    return np.asarray(jax.nn.sigmoid(drawn["odds"]))


def draw(grid: np.ndarray, curves: np.ndarray, days: dict[float, np.ndarray], path: str) -> None:
    """Draw the probability of damage by temperature, and its distribution at some temperatures."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(3, 2))
    low, middle, high = np.quantile(curves, [0.05, 0.5, 0.95], axis=0)
    left.fill_between(grid, low, high, color="tab:blue", alpha=0.2, label="90 % of the posterior")
    left.plot(grid, middle, color="tab:blue", label="its median")
    jitter = np.random.default_rng(0).uniform(-0.02, 0.02, len(DAMAGE))
    left.plot(TEMPERATURE, DAMAGE + jitter, "k.", alpha=0.6, label="launches")
    left.axvline(THAT_DAY, color="tab:red", linestyle="--", linewidth=1)
    left.text(THAT_DAY + 0.5, 0.03, "28 January 1986", color="tab:red", fontsize=8)
    left.set(xlabel="temperature at the start, °F", ylabel="chance that a seal is damaged", ylim=(-0.05, 1.05))
    left.legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.1, 0.15))
    for (degrees, samples), color in zip(days.items(), ("tab:red", "tab:orange", "tab:blue"), strict=True):
        right.hist(samples, bins=50, range=(0, 1), density=True, color=color, alpha=0.5, label=f"{degrees:.0f} °F")
    right.set(xlabel="chance that a seal is damaged", ylabel="density of the posterior", ylim=(0, 6))
    right.legend(fontsize=8, loc="upper center")
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--out", default="launches.png")
    options = parser.parse_args()
    print(f"jax means {jax}")
    began = time.perf_counter()
    chosen = sample(options.warmup, options.samples, options.chains)
    print(f"{options.chains} chains of {options.samples} samples in {time.perf_counter() - began:.1f} s")
    found = chosen.get_samples(group_by_chain=True)
    for name, row in summary({name: found[name] for name in ("level", "slope")}).items():
        print(
            f"{name}: {row['mean']:6.2f} +- {row['std']:.2f}, "
            f"{row['n_eff']:.0f} effective samples, R hat {row['r_hat']:.3f}"
        )
    grid = np.linspace(28.0, 85.0, 120, dtype=np.float32)
    days = np.float32([THAT_DAY, 60.0, 70.0])
    found = chance(chosen, days)
    print(f"at {THAT_DAY:.0f} degrees a seal is damaged with probability {found[:, 0].mean():.3f}")
    draw(grid, chance(chosen, grid), dict(zip(days.tolist(), found.T, strict=True)), options.out)


if __name__ == "__main__":
    main()
