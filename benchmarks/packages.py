"""The speed of packages written for JAX: training steps of Equinox and Diffrax on primax and on jax.

    python benchmarks/packages.py --primax build/ecosystem/primax/bin/python --jax build/ecosystem/jax/bin/python

`make ecosystem` makes the environments. The two sides run in turn, each round in new processes. A figure is the best of
all rounds. Processes share no cache on disk. A ratio below 1 means that primax is faster.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

STEPS = ("mlp", "neural_ode")
GOALS = {"trace and lower": 0.3, "first step": 0.8, "warm step": 1.0}


def training_step(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A training step as a function to compile, and its arguments."""
    jax, jnp, eqx, optax = map(importlib.import_module, ("jax", "jax.numpy", "equinox", "optax"))
    key = jax.random.key(0)
    data = jax.random.normal(key, (64, 2))
    model = eqx.nn.MLP(2, 2, 64, 3, activation=jnp.tanh, key=key)
    weights, rest = eqx.partition(model, eqx.is_array)
    optimizer = optax.adam(1e-3)

    def of_mlp(model: Any, data: Any) -> Any:
        return jnp.mean((jax.vmap(model)(data) - jnp.sin(data)) ** 2)

    def of_neural_ode(model: Any, data: Any) -> Any:
        diffrax = importlib.import_module("diffrax")

        def solve(start: Any) -> Any:
            return diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, args: model(y)),
                diffrax.Tsit5(),
                t0=0.0,
                t1=1.0,
                dt0=0.1,
                y0=start,
                stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5),
            ).ys

        return jnp.mean((jax.vmap(solve)(data)[:, 0] - data) ** 2)

    chosen = {"mlp": of_mlp, "neural_ode": of_neural_ode}[name]

    def step(weights: Any, state: Any, data: Any) -> Any:
        value, slopes = jax.value_and_grad(lambda w: chosen(eqx.combine(w, rest), data))(weights)
        updates, state = optimizer.update(slopes, state)
        return optax.apply_updates(weights, updates), state, value

    return step, (weights, optimizer.init(weights), data)


def measure(name: str) -> dict[str, float]:
    """Seconds for tracing and lowering, for the first step of the process, and for a later one."""
    jax = importlib.import_module("jax")
    step, arguments = training_step(name)
    compiled = jax.jit(step)
    began = time.perf_counter()
    jax.block_until_ready(compiled(*arguments))
    first = time.perf_counter() - began
    warm = []
    for _ in range(4000 if name == "mlp" else 50):
        began = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        warm.append(time.perf_counter() - began)
    lowered = []
    for _ in range(5):
        jax.clear_caches()
        fresh = jax.jit(training_step(name)[0])
        began = time.perf_counter()
        fresh.lower(*arguments)
        lowered.append(time.perf_counter() - began)
    return {"trace and lower": min(lowered), "first step": first, "warm step": min(warm)}


def run(python: str, which: str, name: str) -> dict[str, float]:
    """The figures of one process of one side."""
    words = [python, *(["-m", "primax", "as-jax"] if which == "primax" else []), __file__, "--measure", name]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "PRIMAX_", "XLA_"))}
    settings = {"JAX_PLATFORMS": "cpu", "PRIMAX_COMPILATION_CACHE_DIR": "", "JAX_ENABLE_COMPILATION_CACHE": "false"}
    done = subprocess.run(words, env={**kept, **settings}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} on {which}: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Print a row for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = Path(__file__).resolve().parents[1] / "build" / "ecosystem"
    parser.add_argument("--primax", default=str(folder / "primax" / "bin" / "python"))
    parser.add_argument("--jax", default=str(folder / "jax" / "bin" / "python"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        sys.exit()
    sides = {"primax": options.primax, "jax": options.jax}
    print(f"{'training step of':18}{'figure':18}{'primax':>12}{'jax':>12}{'ratio':>8}{'goal':>6}")
    for name in STEPS:
        best: dict[str, dict[str, float]] = {which: {} for which in sides}
        for _ in range(options.rounds):
            for which, python in sides.items():
                for key, value in run(python, which, name).items():
                    best[which][key] = min(value, best[which].get(key, value))
        for key, goal in GOALS.items():
            a, b = best["primax"][key], best["jax"][key]
            print(f"{name:18}{key:18}{1e3 * a:9.2f} ms{1e3 * b:9.2f} ms{a / b:8.2f}{goal:6.1f}", flush=True)


if __name__ == "__main__":
    main()
