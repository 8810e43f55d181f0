"""A cavity that loses photons: the master equation, the Schrodinger equation, and a gradient through a solver."""

import json

import dynamiqs as dq
import jax
import jax.numpy as jnp

levels = 8
a = dq.destroy(levels)
hamiltonian = a.dag() @ a + 0.1 * (a + a.dag())
times = jnp.linspace(0.0, 1.0, 6)
start = dq.coherent(levels, 1.0)
observed = [a.dag() @ a, a + a.dag()]
lossy = dq.mesolve(hamiltonian, [jnp.sqrt(0.5) * a], start, times, exp_ops=observed)
pure = dq.sesolve(hamiltonian, start, times, exp_ops=observed)


def photons(drive):
    found = dq.sesolve(a.dag() @ a + drive * (a + a.dag()), start, times, exp_ops=[a.dag() @ a])
    return found.expects[0, -1].real


print(
    json.dumps(
        {
            "lossy": lossy.expects.real.tolist(),
            "pure": pure.expects.real.tolist(),
            "fidelity": float(dq.fidelity(lossy.states[-1], pure.states[-1])),
            "gradient": float(jax.grad(photons)(0.1)),
        }
    )
)
