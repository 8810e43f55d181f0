"""A neural ODE learns a spiral from a few noisy orbits, with Diffrax, Equinox and Optax.

primax as-jax examples/for_jax/neural_ode.py --out neural_ode.png
"""

from __future__ import annotations

import argparse
import time

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import optax

mpl.use("agg")
import matplotlib.pyplot as plt

TIMES = np.linspace(0.0, 6.0, 40, dtype=np.float32)
TURN = np.array([[-0.15, 1.5], [-1.5, -0.15]], np.float32)


class NeuralODE(eqx.Module):
    """dy/dt = MLP(y), solved by a Runge-Kutta method of fifth order."""

    field: eqx.nn.MLP

    def __init__(self, width: int, key: jax.Array) -> None:
        self.field = eqx.nn.MLP(2, 2, width, 2, activation=jnp.tanh, key=key)

    def __call__(self, times: jax.Array, start: jax.Array) -> jax.Array:
        """The states at the times, of shape (len(times), 2)."""
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: self.field(y)),
            diffrax.Tsit5(),
            t0=times[0],
            t1=times[-1],
            dt0=0.1,
            y0=start,
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-4),
            saveat=diffrax.SaveAt(ts=times),
        )
        return solution.ys


def orbits(count: int, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Noisy orbits of a slightly bent spiral, and the same orbits without noise."""
    starts_key, noise_key = jax.random.split(key)
    angles = jax.random.uniform(starts_key, (count,), maxval=2 * jnp.pi)
    starts = 2.0 * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    term = diffrax.ODETerm(lambda t, y, args: TURN @ (y * (1 + 0.2 * jnp.abs(y))))

    def orbit(start: jax.Array) -> jax.Array:
        saved = diffrax.SaveAt(ts=TIMES)
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), TIMES[0], TIMES[-1], 0.02, start, saveat=saved).ys

    exact = jax.jit(jax.vmap(orbit))(starts)
    return exact + 0.05 * jax.random.normal(noise_key, exact.shape), exact


def train(model: NeuralODE, data: jax.Array, steps: int, rate: float) -> tuple[NeuralODE, list[float]]:
    """Fit the model to orbits of shape (orbits, times, 2): first to their beginnings, then to whole orbits."""
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(rate, steps)))

    @eqx.filter_jit
    def step(model, state, times, data):
        def loss(model):
            return jnp.mean((jax.vmap(model, (None, 0))(times, data[:, 0]) - data) ** 2)

        value, slopes = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(slopes, state)
        return eqx.apply_updates(model, updates), state, value

    state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
    losses = []
    for i in range(steps):
        length = len(TIMES) // 4 if i < steps // 4 else len(TIMES)
        model, state, value = step(model, state, jnp.asarray(TIMES[:length]), data[:, :length])
        losses.append(float(value))
        if i % 50 == 0 or i == steps - 1:
            print(f"step {i:4}: mean squared error {losses[-1]:.4f} over {TIMES[length - 1]:.1f} s")
    return model, losses


def draw(model: NeuralODE, data: jax.Array, exact: jax.Array, losses: list[float], path: str) -> None:
    """Draw two orbits with the learned field, and the error at each step."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    grid = np.linspace(-2.6, 2.6, 24, dtype=np.float32)
    places = np.stack(np.meshgrid(grid, grid), axis=-1)
    field = np.asarray(jax.vmap(jax.vmap(model.field))(places))
    left.streamplot(grid, grid, field[..., 0], field[..., 1], color="0.8", linewidth=0.7, arrowsize=0.7)
    fine = jnp.linspace(TIMES[0], TIMES[-1], 200)
    for i, color in enumerate(("tab:blue", "tab:orange")):
        path_learned = np.asarray(model(fine, exact[i, 0]))
        left.plot(data[i, :, 0], data[i, :, 1], "o", color=color, markersize=3, label=f"orbit {i + 1}, data")
        left.plot(path_learned[:, 0], path_learned[:, 1], color=color, label=f"orbit {i + 1}, neural ODE")
    left.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal", title="the field that was learned")
    left.legend(fontsize=7, loc="upper right", framealpha=0.9)
    right.semilogy(losses, color="tab:green")
    right.axhline(0.05**2, color="0.5", linestyle="--", linewidth=1)
    right.text(len(losses) * 0.98, 0.05**2 * 1.1, "variance of the noise", ha="right", fontsize=8, color="0.4")
    right.axvline(len(losses) // 4, color="0.8", linewidth=1)
    right.set(xlabel="step of Adam", ylabel="mean squared error", title="training")
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--orbits", type=int, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--out", default="neural_ode.png")
    options = parser.parse_args()
    print(f"jax means {jax}")
    data_key, model_key = jax.random.split(jax.random.key(0))
    data, exact = orbits(options.orbits, data_key)
    began = time.perf_counter()
    model, losses = train(NeuralODE(options.width, model_key), data, options.steps, 1e-2)
    print(f"{options.steps} steps in {time.perf_counter() - began:.1f} s")
    learned = jax.vmap(model, (None, 0))(jnp.asarray(TIMES), exact[:, 0])
    error = float(jnp.sqrt(jnp.mean((learned - exact) ** 2)))
    print(f"root mean square distance from the orbits without noise: {error:.3f}")
    draw(model, data, exact, losses, options.out)


if __name__ == "__main__":
    main()
