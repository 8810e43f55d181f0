"""An ordinary differential equation, its gradient, and a stochastic one."""

import json

import diffrax
import jax
import jax.numpy as jnp


@jax.jit
def solve(y0, rate):
    term = diffrax.ODETerm(lambda t, y, args: -args * y)
    saveat = diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 4))
    controller = diffrax.PIDController(rtol=1e-5, atol=1e-5)
    solver = diffrax.Dopri5()
    return diffrax.diffeqsolve(
        term, solver, t0=0, t1=3, dt0=0.1, y0=y0, args=rate, saveat=saveat, stepsize_controller=controller
    ).ys


gradient = jax.grad(lambda rate: jnp.sum(solve(jnp.array([2.0, 3.0]), rate)))(0.7)
brownian = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=jax.random.key(0))
terms = diffrax.MultiTerm(
    diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: 0.1 * jnp.asarray(t), brownian)
)
noisy = diffrax.diffeqsolve(terms, diffrax.Euler(), t0=0.0, t1=1.0, dt0=0.05, y0=jnp.array(1.0))
implicit = diffrax.diffeqsolve(
    diffrax.ODETerm(lambda t, y, args: -50 * (y - jnp.cos(t))),
    diffrax.Kvaerno5(),
    t0=0.0,
    t1=1.0,
    dt0=0.01,
    y0=jnp.array(0.0),
    stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4),
)
print(
    json.dumps(
        {
            "ys": solve(jnp.array([2.0, 3.0]), 0.7).tolist(),
            "grad": float(gradient),
            "noisy": noisy.ys.tolist(),
            "implicit": implicit.ys.tolist(),
        }
    )
)
